"""The shapes of states, actions and outcomes, read off the annotations of their dataclasses.

A shape says how a value is written and read: JSON (`trace_json`), ITF (`trace_itf`) and the
published schema (`trace_schema`) walk the same shapes. The set is closed: strings, numbers, truth
values, None, enums, frozen dataclasses, tuples and frozensets of one kind of item, and choices
among these that a reader can tell apart. A name in a file is looked up among the few that a place
allows, and nowhere else; nothing is imported or evaluated.
"""

import types
from dataclasses import MISSING, dataclass, fields, is_dataclass
from enum import EnumType, StrEnum
from functools import lru_cache
from typing import Any, Union, get_args, get_origin, get_type_hints

import model.admission_vocabulary
import model.reservation_vocabulary


class TraceFormatError(ValueError):
    """A file, or a value to be written, is no trace; `place` says where: "steps[2].action"."""

    def __init__(self, place: str, problem: str) -> None:
        super().__init__(f"{place}: {problem}" if place else problem)
        self.place = place
        self.problem = problem


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The types of a machine's values."""

    state: Any
    action: Any
    outcome: Any


VOCABULARIES = {
    "admission": Vocabulary(
        model.admission_vocabulary.State,
        model.admission_vocabulary.Action,
        model.admission_vocabulary.Outcome,
    ),
    "reservation": Vocabulary(
        model.reservation_vocabulary.State,
        model.reservation_vocabulary.Action,
        model.reservation_vocabulary.Outcome,
    ),
}


@dataclass(frozen=True, slots=True)
class Scalar:
    """A string, a number or a truth value."""

    kind: type[Any]


@dataclass(frozen=True, slots=True)
class Nothing:
    """None."""


@dataclass(frozen=True, slots=True)
class Words:
    """A member of an enum, written as its value."""

    kind: type[StrEnum]


@dataclass(frozen=True, slots=True)
class Items:
    """A tuple in its order, or a frozenset, written in a fixed order."""

    kind: type[Any]
    item: "Shape"


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a record; one that is not required is left out where it has its default."""

    name: str
    shape: "Shape"
    is_required: bool = True
    default: Any = None


@dataclass(frozen=True, slots=True)
class Fields:
    """A dataclass; a tagged one carries its name, because others may stand in its place."""

    kind: type[Any]
    fields: tuple[Field, ...]
    is_tagged: bool = False


@dataclass(frozen=True, slots=True)
class Choice:
    """One of several shapes that a reader can tell apart."""

    options: "tuple[Shape, ...]"


Shape = Scalar | Nothing | Words | Items | Fields | Choice


@lru_cache(maxsize=256)
def find_shape(hint: Any) -> Shape:
    """Return the shape of an annotation; a `TypeError` if no shape can tell its values apart."""
    if isinstance(hint, EnumType) and issubclass(hint, StrEnum):
        return Words(hint)
    if hint in (str, int, bool):
        return Scalar(hint)
    if hint in (None, type(None)):
        return Nothing()
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (types.UnionType, Union):
        return find_choice(tuple(find_shape(each) for each in arguments))
    if origin is tuple and len(arguments) == 2 and arguments[1] is Ellipsis:  # noqa: PLR2004 -- tuple[X, ...]
        return Items(tuple, find_shape(arguments[0]))
    if origin is tuple and arguments and Ellipsis not in arguments:
        raise TypeError(f"{hint} has items of several kinds; make it a dataclass")
    if origin is frozenset:
        return Items(frozenset, find_shape(arguments[0]))
    if isinstance(hint, type) and is_dataclass(hint):
        return find_fields(hint)
    raise TypeError(f"{hint} is no part of a machine's vocabulary")


def find_fields(kind: type[Any], **shapes: Shape) -> Fields:
    """Return the shape of a dataclass; `shapes` stand for its fields that are annotated Any."""
    hints = get_type_hints(kind)
    found = []
    for each in fields(kind):
        shape = shapes.get(each.name) or find_shape(hints[each.name])
        found.append(Field(each.name, shape))
    return Fields(kind, tuple(found))


def with_defaults(shape: Fields) -> Fields:
    """Return the shape of a class of the format: what equals its default is left out."""
    defaults = {each.name: each.default for each in fields(shape.kind)}
    found = tuple(
        each
        if defaults[each.name] is MISSING
        else Field(each.name, each.shape, is_required=False, default=defaults[each.name])
        for each in shape.fields
    )
    return Fields(shape.kind, found, shape.is_tagged)


def find_choice(options: tuple[Shape, ...]) -> Shape:
    """Return a choice, its records tagged unless one stands beside None alone."""
    flat: list[Shape] = []
    for option in options:
        flat += option.options if isinstance(option, Choice) else [option]
    unique = tuple(dict.fromkeys(flat))
    others = [option for option in unique if not isinstance(option, Nothing)]
    if len(others) > 1:
        unique = tuple(
            Fields(o.kind, o.fields, is_tagged=True) if isinstance(o, Fields) else o for o in unique
        )
    _check_told_apart(unique)
    return unique[0] if len(unique) == 1 else Choice(unique)


def _check_told_apart(options: tuple[Shape, ...]) -> None:
    """Refuse a choice in which one text could stand for two values."""
    words = [member.value for o in options if isinstance(o, Words) for member in o.kind]
    names = [o.kind.__name__ for o in options if isinstance(o, Fields)]
    lists = [o.kind.__name__ for o in options if isinstance(o, Items)]
    has_text = any(isinstance(o, Scalar) and o.kind is str for o in options)
    is_clear = len(set(words)) == len(words) and len(set(names)) == len(names)
    if not is_clear or len(lists) > 1 or (words and has_text):
        raise TypeError(f"values of {[getattr(o, 'kind', None) for o in options]} look alike")


def join_place(place: str, part: str | int) -> str:
    """Return the place of a part: "steps" and 2 make "steps[2]", and "crash" "steps.crash"."""
    if isinstance(part, int):
        return f"{place}[{part}]"
    return f"{place}.{part}" if place else part


def adopt(value: Any, shape: Shape, place: str = "") -> Any:
    """Return a value as one of this shape, whose classes it has by name if not by identity."""
    match shape:
        case Choice():
            for option in shape.options:
                if is_called_as(value, option):
                    return adopt(value, option, place)
        case Fields() if is_called_as(value, shape):
            found = {
                each.name: adopt(
                    getattr(value, each.name, None), each.shape, join_place(place, each.name)
                )
                for each in shape.fields
            }
            return shape.kind(**found)
        case Items() if is_called_as(value, shape):
            return shape.kind(
                adopt(each, shape.item, join_place(place, i)) for i, each in enumerate(value)
            )
        case Words() if is_called_as(value, shape) and value in list(shape.kind):
            return shape.kind(value)
        case Scalar() | Nothing() if is_called_as(value, shape):
            return value
    raise TraceFormatError(place, f"the protocol has no place for {value!r}")


def is_called_as(value: Any, shape: Shape) -> bool:
    """Tell whether a value's class has the name of this shape's class."""
    if isinstance(shape, Nothing):
        return value is None
    return not isinstance(shape, Choice) and type(value).__name__ == shape.kind.__name__

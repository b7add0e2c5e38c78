"""How values of a trace are said to a person: names, texts, counts, and what a step changed.

Each machine has a `Narrator` of its own (`trace_admission`, `trace_reservation`);
here is what the two share.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from model.checking.trace import Trace
from model.machine import in_words, outcome_name

MOST_CHARACTERS = 24
MOST_NAME_CHARACTERS = 40
_PLAIN_NAME = re.compile(r"[\w.:@/-]+")
_NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_ENUM_MEMBER = re.compile(r"\b[A-Z][A-Za-z]+\.([A-Z_]+)\b")
_NONE = re.compile(r"\bNone\b")


class Implied(str):
    """A field that the others of its entity imply: it is said only where it is not as they say."""

    __slots__ = ()


Entities = dict[str, dict[str, str]]
"""What a state is made of, by name: "r1" → its fields, each said in a word or two."""


@dataclass(frozen=True, slots=True)
class Hop:
    """One message of a sequence diagram: who calls, who answers, and what is asked.

    Where both are the same it happens within one process, as a crash does.
    """

    caller: str
    store: str
    text: str


@dataclass(frozen=True, slots=True)
class Narrator:
    """How one machine is told.

    `explain_outcome` says why the specification gives this outcome in this state, as a clause
    that can follow "because". `lessons` have for some properties, by name, what is false after
    the last step of a trace, said with its values; they return None where nothing is.
    `find_hops` has the messages of one step of a trace. `describe_store` says in a few words what a
    state is like.
    """

    describe_action: Callable[[Any], str]
    describe_outcome: Callable[[Any], str]
    list_entities: Callable[[Any], Entities]
    explain_outcome: Callable[[Any, Any, Any], str]
    lessons: Mapping[str, Callable[[Trace], str | None]]
    find_hops: Callable[[Trace, int], tuple[Hop, ...]]
    describe_store: Callable[[Any], str]


def quote(text: str) -> str:
    """Return a text in quotes with its size: long ones are cut, and nothing in them is obeyed."""
    size_bytes = len(text.encode(errors="replace"))
    shown = text if len(text) <= MOST_CHARACTERS else text[: MOST_CHARACTERS - 1] + "…"
    return f'"{make_printable(shown)}" ({count(size_bytes, "byte", is_in_digits=True)})'


def say_name(name: str) -> str:
    """Return a name as it is, or in quotes where it would read as something else."""
    shown = name if len(name) <= MOST_NAME_CHARACTERS else name[: MOST_NAME_CHARACTERS - 1] + "…"
    return shown if _PLAIN_NAME.fullmatch(name) else f'"{make_printable(shown)}"'


def make_printable(text: str) -> str:
    """Return a text without control characters: a terminal must not obey what is in a trace."""
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def count(number: int, noun: str, *, is_in_digits: bool = False) -> str:
    """Return a number with its noun: "one record", "three records", "13 records"."""
    in_words = not is_in_digits and 0 <= number < len(_NUMBERS)
    return f"{_NUMBERS[number] if in_words else number} {noun}{'' if number == 1 else 's'}"


def join_words(words: Iterable[str]) -> str:
    """Return words as a sentence lists them: "a, b and c"."""
    *first, last = words
    return f"{', '.join(first)} and {last}" if first else last


def say_value(value: object) -> str:
    """Return a plain value in a word: None is "none", True is "yes"."""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)


def say_plain_outcome(outcome: Any) -> str:
    """Return an outcome by its name in the protocol."""
    return outcome.value if isinstance(outcome, StrEnum) else outcome_name(outcome)


def tell_apart(narrator: Narrator, expected: Any, found: Any) -> tuple[str, str]:
    """Return two outcomes in words, or with all their values where the words are the same."""
    said = narrator.describe_outcome(expected), narrator.describe_outcome(found)
    if said[0] != said[1] or expected == found:
        return said
    return in_words(expected), in_words(found)


def tidy_clause(clause: str) -> str:
    """Return a clause with enum members as their words, and None as "none"."""
    return _NONE.sub("none", _ENUM_MEMBER.sub(lambda member: member[1].lower(), clause))


def put_entity(entities: Entities, name: str, fields: dict[str, str]) -> None:
    """Add an entity under its name; a second one of that name is a mistake that must show."""
    twin = 2
    unique = name
    while unique in entities:
        unique = f"{name}, the same again ({twin})"
        twin += 1
    entities[unique] = fields


def list_state(narrator: Narrator, state: Any) -> list[str]:
    """Return what a state is made of, a line for each entity."""
    entities = narrator.list_entities(state)
    return [f"{name}{_list_fields(fields)}" for name, fields in entities.items()]


def describe_changes(narrator: Narrator, before: Any, after: Any) -> list[str]:
    """Return what differs between two states, a line for each entity; none if nothing does."""
    if before == after:
        return []
    old, new = narrator.list_entities(before), narrator.list_entities(after)
    lines = []
    for name, fields in new.items():
        if name not in old:
            lines.append(f"+ {name}{_list_fields(fields)}")
            continue
        both = dict.fromkeys((*fields, *old[name]))
        pairs = [(field, old[name].get(field, "none"), fields.get(field, "none")) for field in both]
        changed = [f"{field} {then} → {now}" for field, then, now in pairs if then != now]
        if changed:
            lines.append(f"{name}: {', '.join(changed)}")
    lines += [f"− {name}{_list_fields(old[name])}" for name in old if name not in new]
    return lines or [_describe_order(list(old), list(new)).replace(", specified ", ", it was ")]


def describe_differences(narrator: Narrator, specified: Any, found: Any) -> list[str]:
    """Return how a state differs from the one that is specified, a line for each entity."""
    if specified == found:
        return []
    right, wrong = narrator.list_entities(specified), narrator.list_entities(found)
    lines = []
    for name, fields in right.items():
        if name not in wrong:
            lines.append(f"{name} is missing")
            continue
        both = dict.fromkeys((*fields, *wrong[name]))
        pairs = [(f, fields.get(f, "none"), wrong[name].get(f, "none")) for f in both]
        unlike = [
            f"{f} is {theirs}, specified {ours}" for f, ours, theirs in pairs if ours != theirs
        ]
        if unlike:
            lines.append(f"{name}: {'; '.join(unlike)}")
    lines += [f"too much: {n}{_list_fields(wrong[n])}" for n in wrong if n not in right]
    return lines or [_describe_order(list(right), list(wrong))]


def _describe_order(right: list[str], wrong: list[str]) -> str:
    """Return how the same things stand in another order, as far as names can say it."""
    moved = [(ours, theirs) for ours, theirs in zip(right, wrong, strict=True) if ours != theirs]
    if not moved:
        return "it differs in what has no words here"
    specified, found = ([pair[side] for pair in moved] for side in (0, 1))
    return f"the order is {join_words(found)}, specified {join_words(specified)}"


def _list_fields(fields: Mapping[str, str]) -> str:
    said = leave_implied(fields).items()
    present = [f"{name} {value}" for name, value in said if value not in ("none", "no")]
    return f": {', '.join(present)}" if present else ""


def imply(value: str, *, is_implied: bool) -> str:
    """Return a value of a field, marked where the other fields imply it."""
    return Implied(value) if is_implied else value


def leave_implied(fields: Mapping[str, str]) -> dict[str, str]:
    """Return the fields that the others do not imply."""
    return {name: value for name, value in fields.items() if not isinstance(value, Implied)}

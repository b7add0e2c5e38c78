"""Traces as JSON: written and read through the shapes of the machines' own vocabularies.

The published schema is `docs/trace.schema.json`; `docs/traces.md` explains it.
Reading is strict: a key too many or too few, a word that no machine knows, a number that is no
integer, each is a `TraceFormatError` that names the place. Nothing in a file is evaluated.
"""

import json
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from model.checking.trace import CrashPoint, NoAnswer, Observed, Trace, TraceStep, Turn
from model.checking.trace_report import Failure, TraceReport, Versions
from model.checking.trace_shapes import (
    VOCABULARIES,
    Choice,
    Fields,
    Items,
    Nothing,
    Scalar,
    Shape,
    TraceFormatError,
    Words,
    find_choice,
    find_fields,
    find_shape,
    join_place,
    with_defaults,
)

FORMAT = "admit-one trace"
FORMAT_VERSION = 1
TAG = "type"

_NAMES = {str: "a string", int: "an integer", bool: "true or false"}

# ── The shape of a report ─────────────────────────────────────────────────────────────────


@lru_cache(maxsize=8)
def find_report_shape(machine: str) -> Fields:
    """Return the shape of a report about this machine."""
    if machine not in VOCABULARIES:
        known = " or ".join(VOCABULARIES)
        raise TraceFormatError("trace.machine", f"expected {known}, found {machine!r}")
    vocabulary = VOCABULARIES[machine]
    state = find_shape(vocabulary.state)
    outcome = find_shape(vocabulary.outcome)
    observed = with_defaults(
        find_fields(
            Observed,
            outcome=find_choice((outcome, Nothing())),
            state=find_choice((state, Nothing())),
        )
    )
    step = find_fields(
        TraceStep,
        action=find_shape(vocabulary.action),
        outcome=find_choice((outcome, find_shape(NoAnswer))),
        after=find_choice((state, Nothing())),
        crash=find_choice((with_defaults(find_fields(CrashPoint)), Nothing())),
        observed=find_choice((observed, Nothing())),
    )
    trace = find_fields(
        Trace,
        initial=state,
        steps=Items(tuple, with_defaults(step)),
        schedule=Items(tuple, with_defaults(find_fields(Turn))),
    )
    report = find_fields(
        TraceReport,
        trace=with_defaults(trace),
        failures=Items(tuple, with_defaults(find_fields(Failure))),
        versions=find_fields(Versions),
    )
    return with_defaults(report)


def encode_report(report: TraceReport) -> dict[str, Any]:
    """Return a report as JSON has it."""
    body = encode(report, find_report_shape(report.trace.machine), "")
    return {"format": FORMAT, "version": FORMAT_VERSION, **body}


def decode_report(values: Any) -> TraceReport:
    """Return the report that JSON values stand for; `TraceFormatError` names the wrong place."""
    rest = dict(_expect_object(values, ""))
    for key, expected in (("format", FORMAT), ("version", FORMAT_VERSION)):
        found = rest.pop(key, None)
        if found != expected or isinstance(found, bool):
            raise TraceFormatError(key, f"expected {expected!r}, found {_show(found)}")
    trace = _expect_object(rest.get("trace"), "trace")
    machine = trace.get("machine")
    if not isinstance(machine, str):
        raise TraceFormatError("trace.machine", f"expected a string, found {_show(machine)}")
    report: TraceReport = decode(rest, find_report_shape(machine), "")
    for number, turn in enumerate(report.trace.schedule):
        if not 1 <= turn.step <= len(report.trace):
            place = f"trace.schedule[{number}].step"
            raise TraceFormatError(place, f"there is no step {turn.step}")
    for number, failure in enumerate(report.failures):
        if failure.turn is not None and not 1 <= failure.turn <= len(report.trace.schedule):
            raise TraceFormatError(f"failures[{number}].turn", f"there is no turn {failure.turn}")
    return report


def dump_report(report: TraceReport) -> str:
    """Return a report as the text of a file."""
    return json.dumps(encode_report(report), indent=2, ensure_ascii=False) + "\n"


def load_report(text: str) -> TraceReport:
    """Return the report in the text of a file; `TraceFormatError` names the wrong place."""
    return decode_report(load_strictly(text))


def load_strictly(text: str) -> Any:
    """Return JSON values; a key that stands twice, NaN and the like are errors."""
    try:
        return json.loads(text, object_pairs_hook=_refuse_twins, parse_constant=_refuse_constant)
    except TraceFormatError:
        raise
    except json.JSONDecodeError as error:
        place = f"line {error.lineno} column {error.colno}"
        raise TraceFormatError(place, f"no JSON: {error.msg}") from error
    except RecursionError as error:
        raise TraceFormatError("", "nested too deeply") from error
    except ValueError as error:  # a number of thousands of digits
        raise TraceFormatError("", str(error)) from error


def _refuse_twins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) != len(pairs):
        names = [name for name, _ in pairs]
        twin = next(name for name in names if names.count(name) > 1)
        raise TraceFormatError("", f"the key {twin!r} stands twice in one object")
    return values


def _refuse_constant(name: str) -> Any:
    raise TraceFormatError("", f"{name} is no JSON")


# ── Writing ───────────────────────────────────────────────────────────────────────────────


def encode(value: Any, shape: Shape, place: str = "") -> Any:
    """Return a value as JSON has it; `TraceFormatError` if it is not of this shape."""
    match shape:
        case Nothing() | Scalar():
            _require(has_shape(value, shape), value, shape, place)
            return value
        case Words():
            _require(has_shape(value, shape), value, shape, place)
            return value.value
        case Items():
            _require(has_shape(value, shape), value, shape, place)
            items = [encode(each, shape.item, join_place(place, i)) for i, each in enumerate(value)]
            return sorted(items, key=json.dumps) if shape.kind is frozenset else items
        case Fields():
            _require(has_shape(value, shape), value, shape, place)
            values = {TAG: shape.kind.__name__} if shape.is_tagged else {}
            for each in shape.fields:
                found = getattr(value, each.name)
                if each.is_required or found != each.default:
                    values[each.name] = encode(found, each.shape, join_place(place, each.name))
            return values
        case Choice():
            return encode(value, _find_option(value, shape, place), place)


def has_shape(value: Any, shape: Shape) -> bool:
    """Tell whether a value is of this very kind, its parts aside: `True` is no number."""
    if isinstance(shape, Nothing):
        return value is None
    return not isinstance(shape, Choice) and type(value) is shape.kind


def _find_option(value: Any, shape: Choice, place: str) -> Shape:
    for option in shape.options:
        if has_shape(value, option):
            return option
    raise TraceFormatError(place, f"expected {describe_shape(shape)}, found {_show(value)}")


def _require(is_right: bool, value: Any, shape: Shape, place: str) -> None:  # noqa: FBT001 -- what is required
    if not is_right:
        raise TraceFormatError(place, f"expected {describe_shape(shape)}, found {_show(value)}")


# ── Reading ───────────────────────────────────────────────────────────────────────────────


def decode(values: Any, shape: Shape, place: str = "") -> Any:
    """Return the value that JSON values stand for; `TraceFormatError` names the wrong place."""
    match shape:
        case Nothing():
            _require(values is None, values, shape, place)
            return None
        case Scalar():
            _require(type(values) is shape.kind, values, shape, place)
            return _decode_text(values, place) if shape.kind is str else values
        case Words():
            known = {member.value: member for member in shape.kind}
            _require(isinstance(values, str) and values in known, values, shape, place)
            return known[values]
        case Items():
            _require(isinstance(values, list), values, shape, place)
            return shape.kind(
                decode(each, shape.item, join_place(place, i)) for i, each in enumerate(values)
            )
        case Fields():
            return _decode_fields(values, shape, place)
        case Choice():
            return _decode_choice(values, shape, place)


def _decode_text(text: str, place: str) -> str:
    """Refuse half of a surrogate pair: no text of a machine has one (A16)."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise TraceFormatError(place, "the string has a lone surrogate") from error
    return text


def _decode_fields(values: Any, shape: Fields, place: str) -> Any:
    rest = dict(_expect_object(values, place))
    if shape.is_tagged:
        rest.pop(TAG)
    found = {}
    for each in shape.fields:
        if each.name in rest:
            found[each.name] = decode(rest.pop(each.name), each.shape, join_place(place, each.name))
        elif each.is_required:
            raise TraceFormatError(place, f"{each.name} is missing")
    if rest:
        name = shape.kind.__name__
        raise TraceFormatError(join_place(place, min(rest)), f"{name} has no such field")
    return shape.kind(**found)


def _decode_choice(values: Any, shape: Choice, place: str) -> Any:
    if isinstance(values, dict):
        records = [option for option in shape.options if isinstance(option, Fields)]
        for option in records:
            if not option.is_tagged or values.get(TAG) == option.kind.__name__:
                return decode(values, option, place)
        if records:
            names = " or ".join(option.kind.__name__ for option in records)
            found = _show(values[TAG]) if TAG in values else "nothing"
            raise TraceFormatError(join_place(place, TAG), f"expected {names}, found {found}")
    for plain in _options_of(values, shape):
        return decode(values, plain, place)
    raise TraceFormatError(place, f"expected {describe_shape(shape)}, found {_show(values)}")


def _options_of(values: Any, shape: Choice) -> Iterator[Shape]:
    """Yield the option that a value without a name can only be."""
    for option in shape.options:
        is_it = (
            (isinstance(option, Nothing) and values is None)
            or (isinstance(option, Scalar) and type(values) is option.kind)
            or (isinstance(option, Items) and isinstance(values, list))
            or (isinstance(option, Words) and values in [m.value for m in option.kind])
        )
        if is_it:
            yield option


def _expect_object(values: Any, place: str) -> dict[str, Any]:
    if not isinstance(values, dict):
        raise TraceFormatError(place, f"expected an object, found {_show(values)}")
    return values


# ── Words for messages ────────────────────────────────────────────────────────────────────

MOST_SHOWN = 60


def describe_shape(shape: Shape) -> str:
    """Return what a shape expects, for a message."""
    match shape:
        case Nothing():
            return "null"
        case Scalar():
            return _NAMES[shape.kind]
        case Words():
            return f"one of {', '.join(member.value for member in shape.kind)}"
        case Items():
            return "a list"
        case Fields():
            return f"an object, {shape.kind.__name__}"
        case Choice():
            return " or ".join(describe_shape(option) for option in shape.options)


def _show(value: Any) -> str:
    """Return a value for a message, cut short."""
    try:
        text = json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError):
        text = repr(value)
    return text if len(text) <= MOST_SHOWN else text[: MOST_SHOWN - 1] + "…"

"""Traces in the Informal Trace Format of Apalache and Quint, and back.

Source: ADR 015 of Apalache; the copy of its rules that tests use is `docs/itf.schema.json`.
The variables are the fields of the machine's state. A dataclass is a record, a tuple a list, a
frozenset a set in a fixed order, a word a string. ITF has no null: a field that may be None is a
set with one element or none. Every integer is a `#bigint`, those of the notes too.
What ITF has no place for (actions, outcomes, failures) stands in `#meta`, as `trace_json` has it.
There is no `loop` key: our traces end.
"""

import json
from typing import Any

from model.checking.trace_explanation import NARRATORS
from model.checking.trace_json import decode, decode_report, encode, encode_report, has_shape
from model.checking.trace_report import TraceReport
from model.checking.trace_shapes import (
    VOCABULARIES,
    Choice,
    Fields,
    Items,
    Nothing,
    Scalar,
    Shape,
    TraceFormatError,
    find_shape,
    join_place,
)
from model.checking.trace_text import say_answer

DESCRIPTION = "https://apalache-mc.org/docs/adr/015adr-trace.html"
NOT_OBSERVED = {"#unserializable": "nobody looked at the state here"}


def to_itf(report: TraceReport) -> dict[str, Any]:
    """Return a report as ITF."""
    trace = report.trace
    shape = _state_shape(trace.machine)
    bare = encode_report(report)
    steps = bare["trace"].pop("steps")
    del bare["trace"]["initial"]
    states = []
    for index, state in enumerate(trace.states):
        meta: dict[str, Any] = {"index": index}
        if index:
            rest = {key: value for key, value in steps[index - 1].items() if key != "after"}
            meta |= {"step": rest, "words": _say_step(report, index - 1)}
        states.append({"#meta": _with_bigints(meta), **_write_state(state, shape)})
    about = {"format": "ITF", "format-description": DESCRIPTION, "source": "admit-one"}
    return {
        "#meta": {**about, "report": _with_bigints(bare)},
        "params": [],
        "vars": [each.name for each in shape.fields],
        "states": states,
    }


def from_itf(values: dict[str, Any]) -> TraceReport:
    """Return the report that `to_itf` has written; `TraceFormatError` names the wrong place."""
    try:
        bare = _without_bigints(values["#meta"]["report"])
        metas = [_without_bigints(state["#meta"]) for state in values["states"]]
        shape = _state_shape(bare["trace"]["machine"])
        steps: list[dict[str, Any]] = [dict(meta["step"]) for meta in metas[1:]]
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise TraceFormatError("", f"this ITF was not written by admit-one: {error!r}") from error
    states = [
        _read_state(state, shape, f"states[{index}]")
        for index, state in enumerate(values["states"])
    ]
    for step, state in zip(steps, states[1:], strict=True):
        step["after"] = state if state is None else encode(state, shape)
    trace = {**bare["trace"], "initial": encode(states[0], shape, "states[0]"), "steps": steps}
    return decode_report({**bare, "trace": trace})


def dump_itf(report: TraceReport) -> str:
    """Return a report as the text of an ITF file."""
    return json.dumps(to_itf(report), indent=2, ensure_ascii=False) + "\n"


def _state_shape(machine: str) -> Fields:
    shape = find_shape(VOCABULARIES[machine].state)
    if not isinstance(shape, Fields):
        raise TypeError(f"the state of {machine} is no dataclass")
    return shape


def _say_step(report: TraceReport, index: int) -> str:
    trace = report.trace
    step = trace.steps[index]
    action = NARRATORS[trace.machine].describe_action(step.action)
    return f"{action} → {say_answer(trace.machine, step)}"


def _write_state(state: Any, shape: Fields) -> dict[str, Any]:
    if state is None:
        return {each.name: NOT_OBSERVED for each in shape.fields}
    return {each.name: write_value(getattr(state, each.name), each.shape) for each in shape.fields}


def _read_state(values: dict[str, Any], shape: Fields, place: str) -> Any:
    if all(values.get(each.name) == NOT_OBSERVED for each in shape.fields):
        return None
    return read_value({k: v for k, v in values.items() if k != "#meta"}, shape, place)


# ── Values ────────────────────────────────────────────────────────────────────────────────


def write_value(value: Any, shape: Shape) -> Any:
    """Return a value of a state as ITF has it."""
    match shape:
        case Fields() if has_shape(value, shape) and not shape.is_tagged:
            return {e.name: write_value(getattr(value, e.name), e.shape) for e in shape.fields}
        case Items() if has_shape(value, shape):
            items = [write_value(each, shape.item) for each in value]
            return items if shape.kind is tuple else {"#set": sorted(items, key=json.dumps)}
        case Choice():
            inner = _optional(shape)
            return {"#set": [] if value is None else [write_value(value, inner)]}
        case Scalar() if shape.kind is int and has_shape(value, shape):
            return {"#bigint": str(value)}
    return encode(value, shape)


def read_value(values: Any, shape: Shape, place: str = "") -> Any:
    """Return the value of a state that ITF stands for."""
    match shape:
        case Fields() if isinstance(values, dict):
            names = [each.name for each in shape.fields]
            if sorted(values) != sorted(names):
                raise TraceFormatError(place, f"expected the fields {', '.join(names)}")
            found = {
                each.name: read_value(values[each.name], each.shape, join_place(place, each.name))
                for each in shape.fields
            }
            return shape.kind(**found)
        case Items() if shape.kind is tuple and isinstance(values, list):
            return tuple(_read_items(values, shape.item, place))
        case Items() if _is_set(values):
            return frozenset(_read_items(values["#set"], shape.item, place))
        case Choice() if _is_set(values) and len(values["#set"]) <= 1:
            found_items = _read_items(values["#set"], _optional(shape), place)
            return found_items[0] if found_items else None
        case Scalar() if shape.kind is int:
            return _read_bigint(values, place)
    return decode(values, shape, place)


def _read_items(values: list[Any], shape: Shape, place: str) -> list[Any]:
    return [read_value(each, shape, join_place(place, i)) for i, each in enumerate(values)]


def _is_set(values: Any) -> bool:
    return (
        isinstance(values, dict) and list(values) == ["#set"] and isinstance(values["#set"], list)
    )


def _optional(shape: Choice) -> Shape:
    """Return the shape of what is there if anything is: the one choice that ITF can carry."""
    others = [option for option in shape.options if not isinstance(option, Nothing)]
    if len(others) != 1 or len(others) == len(shape.options):
        raise TypeError(f"a state holds one of several shapes: {shape}")
    return others[0]


def _read_bigint(values: Any, place: str) -> int:
    if isinstance(values, dict) and list(values) == ["#bigint"]:
        try:
            return int(values["#bigint"])
        except (TypeError, ValueError):
            pass
    raise TraceFormatError(place, 'expected an integer as {"#bigint": "…"}')


# ── Notes ─────────────────────────────────────────────────────────────────────────────────


def _with_bigints(values: Any) -> Any:
    """Return JSON values with every integer as a `#bigint`."""
    if isinstance(values, dict):
        return {key: _with_bigints(value) for key, value in values.items()}
    if isinstance(values, list):
        return [_with_bigints(value) for value in values]
    is_number = isinstance(values, int) and not isinstance(values, bool)
    return {"#bigint": str(values)} if is_number else values


def _without_bigints(values: Any) -> Any:
    if isinstance(values, dict):
        if list(values) == ["#bigint"]:
            return int(values["#bigint"])
        return {key: _without_bigints(value) for key, value in values.items()}
    if isinstance(values, list):
        return [_without_bigints(value) for value in values]
    return values

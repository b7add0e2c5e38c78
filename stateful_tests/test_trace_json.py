"""The trace file: what is written can be read, and nothing else can."""

import copy
import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from model.checking.trace import UNKNOWN, CrashPoint, Ending, Observed, Trace, TraceStep, Turn
from model.checking.trace_json import (
    decode,
    decode_report,
    dump_report,
    encode,
    encode_report,
    load_report,
)
from model.checking.trace_report import TraceReport, from_violation
from model.checking.trace_schema import build_schema
from model.checking.trace_shapes import VOCABULARIES, TraceFormatError, find_shape
from model.scopes import MACHINES
from stateful_tests.trace_examples import TINY, VERSIONS, list_reports

ROOT = Path(__file__).parent.parent
SCHEMA = json.loads((ROOT / "docs" / "trace.schema.json").read_text("utf-8"))
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)


@lru_cache(maxsize=2)
def list_calls(machine: str) -> tuple[tuple[Any, Any, Any, Any], ...]:
    """Return every call of TINY: the state, the action, the outcome and the state after."""
    model, scope = MACHINES[machine], TINY[machine]
    level = list(model.initial_states(scope))
    seen = set(level)
    calls = []
    while level:
        state = level.pop()
        for action in model.offered_actions(scope, state):
            after, outcome = model.step(state, action)
            calls.append((state, action, outcome, after))
            if after not in seen:
                seen.add(after)
                level.append(after)
    return tuple(calls)


def crashed_report() -> TraceReport:
    """Return a report with everything that the format has."""
    example = list_reports()["violation"]
    first, second, *rest = example.trace.steps
    crash = CrashPoint("admit / after commit", Ending.POWER_LOSS, None, True, ("a lost write",))  # noqa: FBT003 -- every field
    observed = Observed("crash", "one", "another", second.outcome, second.after)
    steps = (
        replace(first, process="worker 1"),
        TraceStep(second.action, UNKNOWN, None, "worker 2", crash, observed),
        *rest,
    )
    schedule = (Turn(1, "begin immediate"), Turn(2, "begin immediate", "blocked"))
    trace = Trace(example.trace.machine, "TINY", example.trace.initial, steps, schedule)
    failures = tuple(replace(each, turn=2) for each in example.failures)
    return TraceReport(trace, "admit-one crash", failures, VERSIONS)


REPORTS = {**list_reports(), "everything": crashed_report()}


@pytest.mark.parametrize("machine", VOCABULARIES)
def test_every_value_of_tiny_comes_back_as_it_was(machine: str) -> None:
    """Each state, action and outcome of TINY is read as it was written, type by type."""
    vocabulary = VOCABULARIES[machine]
    values = {
        find_shape(hint): {each for call in list_calls(machine) for each in parts(call)}
        for hint, parts in (
            (vocabulary.state, lambda call: (call[0], call[3])),
            (vocabulary.action, lambda call: (call[1],)),
            (vocabulary.outcome, lambda call: (call[2],)),
        )
    }

    for shape, every in values.items():
        assert len(every) > 5
        for value in every:
            text = json.dumps(encode(value, shape))
            back = decode(json.loads(text), shape)
            assert back == value
            assert type(back) is type(value)
            assert repr(back) == repr(value)


@pytest.mark.parametrize("machine", VOCABULARIES)
def test_no_outcome_is_called_unknown(machine: str) -> None:
    """The outcome of a call that never answered can't be taken for one of the protocol."""
    assert UNKNOWN not in [outcome for _, outcome in MACHINES[machine].pairs()]


@pytest.mark.parametrize("name", REPORTS)
def test_a_report_comes_back_as_it_was(name: str) -> None:
    """A report that was written is read again, crash, schedule and unknown outcome included."""
    report = REPORTS[name]

    assert load_report(dump_report(report)) == report


@pytest.mark.parametrize("name", REPORTS)
def test_a_report_obeys_the_published_schema(name: str) -> None:
    """What is written is what the schema in docs/ says."""
    VALIDATOR.validate(json.loads(dump_report(REPORTS[name])))


def test_the_published_schema_is_the_one_of_the_code() -> None:
    """`python -m model.checking.trace_schema > docs/trace.schema.json` writes it anew."""
    jsonschema.Draft202012Validator.check_schema(SCHEMA)

    assert build_schema() == SCHEMA


def _find_places(values: Any) -> Iterator[Any]:
    if isinstance(values, dict):
        yield values
        for each in values.values():
            yield from _find_places(each)
    if isinstance(values, list):
        for each in values:
            yield from _find_places(each)


def test_every_object_is_closed_for_reader_and_schema() -> None:
    """One key more, in any object of a file, is refused by both."""
    whole = encode_report(REPORTS["everything"])

    for number in range(len(list(_find_places(whole)))):
        changed = copy.deepcopy(whole)
        list(_find_places(changed))[number]["surprise"] = 1
        assert not VALIDATOR.is_valid(changed)
        with pytest.raises(TraceFormatError, match="surprise"):
            decode_report(changed)


def _at(*path: str | int) -> Callable[[Any, Any], None]:
    def put(values: Any, value: Any) -> None:
        for part in path[:-1]:
            values = values[part]
        values[path[-1]] = value

    return put


@pytest.mark.parametrize(
    ("put", "value", "place", "problem"),
    [
        (_at("format"), "a trace", "format", "expected 'admit-one trace'"),
        (_at("version"), 2, "version", "expected 1, found 2"),
        (_at("trace"), [], "trace", "expected an object, found []"),
        (_at("trace", "machine"), "elevator", "trace.machine", "admission or reservation"),
        (_at("trace", "machine"), 1, "trace.machine", "expected a string"),
        (_at("trace", "steps"), {}, "trace.steps", "expected a list"),
        (_at("trace", "initial", "clock"), "0", "trace.initial.clock", "expected an integer"),
        (_at("trace", "initial", "clock"), True, "trace.initial.clock", "expected an integer"),
        (_at("trace", "initial", "clock"), 0.0, "trace.initial.clock", "expected an integer"),
        (_at("trace", "steps", 1, "outcome"), "refused", "trace.steps[1].outcome", "accepted"),
        (
            _at("trace", "steps", 1, "action", "type"),
            "Reserve",
            "trace.steps[1].action.type",
            'found "Reserve"',
        ),
        (
            _at("trace", "steps", 1, "action", "type"),
            "__import__",
            "trace.steps[1].action.type",
            "expected Init or Admit",
        ),
        (_at("trace", "steps", 1, "action"), None, "trace.steps[1].action", "found null"),
        (
            _at("trace", "steps", 1, "action", "payload"),
            "\ud800",
            "trace.steps[1].action.payload",
            "lone surrogate",
        ),
        (
            _at("trace", "steps", 1, "after", "records", 0, "state"),
            "lost",
            "trace.steps[1].after.records[0].state",
            "one of queued, inflight",
        ),
        (_at("trace", "schedule"), [{"step": 9, "statement": ""}], "schedule[0].step", "no step 9"),
        (_at("failures", 0, "kind"), None, "failures[0].kind", "expected a string"),
        (_at("failures", 0, "turn"), 1, "failures[0].turn", "no turn 1"),
    ],
)
def test_a_wrong_value_is_refused_with_its_place(
    put: Callable[[Any, Any], None], value: Any, place: str, problem: str
) -> None:
    """The reader says where a file is wrong, and what was expected there."""
    values = encode_report(REPORTS["violation"])
    put(values, value)

    with pytest.raises(TraceFormatError) as raised:
        decode_report(values)

    assert place in raised.value.place
    assert problem in raised.value.problem


def test_a_missing_field_is_refused_with_its_place() -> None:
    """A field that every file must have is named if it isn't there."""
    values = encode_report(REPORTS["violation"])
    del values["trace"]["steps"][2]["action"]["tenant"]

    with pytest.raises(TraceFormatError, match=r"trace\.steps\[2\]\.action: tenant is missing"):
        decode_report(values)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "line 1 column 1: no JSON"),
        ('{"format": 1, "format": 1}', "'format' stands twice"),
        ('{"format": NaN}', "NaN is no JSON"),
        ("[" * 100_000, "nested too deeply"),
        (f'{{"version": {"9" * 5000}}}', "digits"),
        ("[]", "expected an object"),
    ],
)
def test_what_is_no_json_is_refused(text: str, problem: str) -> None:
    """Text that is no JSON object, or one that reads in two ways, is an error that says so."""
    with pytest.raises(TraceFormatError, match=problem):
        load_report(text)


def test_a_value_of_another_kind_is_never_written() -> None:
    """A text where a word must stand, or a number for a truth value, is refused by the writer."""
    shape = find_shape(VOCABULARIES["admission"].outcome)

    with pytest.raises(TraceFormatError, match="found"):
        encode("accepted", shape)


def test_a_choice_that_no_reader_could_tell_apart_has_no_shape() -> None:
    """A vocabulary with a word that is also a free text is refused when it is first used."""
    with pytest.raises(TypeError, match="look alike"):
        find_shape(str | Ending)


def test_a_changed_copy_of_a_model_is_told_in_the_real_words() -> None:
    """The values of a changed copy, whose classes are others, become the real ones by name."""
    from conformance.changed_source import (  # noqa: PLC0415 -- only this test needs a copy
        Change,
        load_changed_specification,
    )
    from model.checking.explore import explore  # noqa: PLC0415 -- the same

    change = Change(
        "model/admission.py",
        "return put_record(state, move_record(held, QUARANTINED)), Answer.QUARANTINED",
        "return put_record(state, move_record(held, CANCELLED)), Answer.QUARANTINED",
    )
    copied = load_changed_specification([change])
    machine, scope = copied.machines["admission"], copied.scopes["admission"]["TINY"]
    violation = explore(machine, scope).violations[0]

    report = from_violation(violation)

    assert type(report.trace.initial) is VOCABULARIES["admission"].state
    assert type(violation.trace.initial) is not type(report.trace.initial)
    assert load_report(dump_report(report)) == report

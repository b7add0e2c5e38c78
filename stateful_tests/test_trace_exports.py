"""Traces for people and for other programs: text, ITF, Mermaid, a test."""

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import itf_py
import jsonschema
import pytest

import conformance.sqlite
from conformance.implementation import Implementation
from model.admission_vocabulary import QUEUED, Limits, Record, State
from model.checking.trace import UNKNOWN, CrashPoint, Ending, Trace, TraceStep, Turn
from model.checking.trace_explanation import NARRATORS
from model.checking.trace_itf import dump_itf, from_itf, read_value, to_itf, write_value
from model.checking.trace_mermaid import format_mermaid
from model.checking.trace_pytest import NotExportable, format_pytest
from model.checking.trace_report import TraceReport
from model.checking.trace_shapes import VOCABULARIES, TraceFormatError, find_shape
from model.checking.trace_text import format_report
from model.checking.trace_words import describe_changes, describe_differences, list_state
from model.machine import outcome_name
from model.scopes import MACHINES, SCOPES
from stateful_tests.trace_examples import (
    FAULTY_ADMISSION,
    TINY,
    find_divergence,
    find_faulty,
    find_violation,
    list_reports,
)

ROOT = Path(__file__).parent.parent
REPORTS = list_reports()
ITF_SCHEMA = json.loads((ROOT / "docs" / "itf.schema.json").read_text("utf-8"))

# ── Text ──────────────────────────────────────────────────────────────────────────────────

VIOLATION_TEXT = """\
FAIL: the invariant outstanding_work_stays_within_the_limits
  The outstanding work stays within all four limits: slots and bytes, global and tenant.

admission TINY, three steps from an absent store:

  1. init with limits 1, 3, 1, 3, 3 → ready
       + limits: global_slots 1, global_bytes 3, tenant_slots 1, tenant_bytes 3, item_bytes 3
  2. admit r1 of A, "中" (3 bytes) → accepted
       + r1: state queued, tenant A, payload "中" (3 bytes), sequence 1, generation 0
  3. admit r2 of A, "中" (3 bytes) → accepted
       + r2: state queued, tenant A, payload "中" (3 bytes), sequence 2, generation 0
       ✗ specified is → global_full

False after step 3: global_slots is 1 and global_bytes is 3, but 2 records with 6 bytes are
  outstanding: r1 (queued, 3 bytes), r2 (queued, 3 bytes).
Explanation:
  global_slots is 1, and after step 3 two records are outstanding: r1 (queued), r2 (queued).
  The mistake is in step 3, admit r2 of A, "中" (3 bytes). The specification answers global_full,
  because global_slots is 1, and one record is outstanding: r1 (queued). Here the answer was
  accepted.

repeat: admit-one explore admission TINY
with:   admit-one 0.1.0, Python 3.13.0, SQLite 3.50.4
"""

DIVERGENCE_TEXT = """\
  4. resolve r1 under generation 1 at tick 5
       specification:  → stale
         clock: tick 0 → 5
       implementation: → done
         clock: tick 0 → 5
         r1: state inflight → done, lease 5 → none
         + effect of r1: value synthetic-completed, sequence 1
"""


def test_a_violation_reads_as_a_teacher_would_tell_it() -> None:
    """Steps in short words with what they changed, then the claim, the values and the mistake."""
    assert format_report(find_violation()) == VIOLATION_TEXT


def test_a_divergence_shows_both_sides_of_its_step() -> None:
    """What is specified and what was done stand below each other, with the reason."""
    text = format_report(find_divergence("admission"))

    assert DIVERGENCE_TEXT in text
    assert "because the lease of\n  r1 ended at tick 5, and it is tick 5." in text
    assert "FAIL: the step property only_the_current_token_finishes_a_record" in text


def test_the_page_on_traces_shows_this_text_and_this_diagram() -> None:
    """The examples in docs/traces.md are what the exports write."""
    page = (ROOT / "docs" / "traces.md").read_text("utf-8")

    assert f"```text\n{VIOLATION_TEXT}```" in page
    assert f"```mermaid\n{format_mermaid(find_violation())}```" in page


@pytest.mark.parametrize("machine", MACHINES)
def test_every_call_can_be_told_and_explained(machine: str) -> None:
    """Each call of TINY has words and a reason, and exactly its changes are said."""
    model, scope, narrator = MACHINES[machine], TINY[machine], NARRATORS[machine]
    level = list(model.initial_states(scope))
    seen = set(level)
    told = set()
    while level:
        state = level.pop()
        for action in model.offered_actions(scope, state):
            after, outcome = model.step(state, action)
            changes = describe_changes(narrator, state, after)
            assert bool(changes) is (after != state)
            assert bool(describe_differences(narrator, after, state)) is (after != state)
            assert narrator.describe_action(action)
            assert narrator.describe_outcome(outcome).startswith(outcome_name(outcome))
            assert narrator.explain_outcome(state, action, outcome)
            told.add(outcome)
            if after not in seen:
                seen.add(after)
                level.append(after)

    assert len(told) > 10


def test_both_values_of_a_field_are_said_where_it_differs() -> None:
    """A size that is not the payload's is said with the right one, which is nowhere else."""
    limits = Limits(1, 3, 1, 3, 3)
    right = State(limits, records=(Record("r1", "A", "中", 3, 1, QUEUED, 0, None),))
    wrong = State(limits, records=(Record("r1", "A", "中", 1, 1, QUEUED, 0, None),))

    narrator = NARRATORS["admission"]

    assert describe_differences(narrator, right, wrong) == ["r1: size_bytes is 1, specified 3"]
    assert describe_changes(narrator, wrong, right) == ["r1: size_bytes 1 → 3"]
    assert not any("size_bytes" in line for line in list_state(narrator, right))


@pytest.mark.parametrize("machine", MACHINES)
def test_every_start_has_a_name(machine: str) -> None:
    """The states that TINY starts from are told apart by a few words."""
    starts = MACHINES[machine].initial_states(SCOPES[machine]["TINY"])

    names = [NARRATORS[machine].describe_store(start) for start in starts]

    assert names[0] == "an absent store"
    assert len(set(names)) == len(names)


def test_a_store_at_the_start_is_shown_below_the_title() -> None:
    """The title says what it is like; what it holds has a line for each thing."""
    start = MACHINES["admission"].initial_states(SCOPES["admission"]["TINY"])[1]
    trace = Trace("admission", "TINY", start, ())

    text = format_report(TraceReport(trace, ""))

    title = "no steps from a store with one queued record near the generation limit:"
    assert (
        f"admission TINY, {title}\n\n  The store at the start:\n    limits: global_slots 1" in text
    )
    assert "\n    r1: state queued, tenant A" in text


def test_nothing_in_a_trace_is_obeyed_by_a_terminal() -> None:
    """Control characters of a file come out as escapes."""
    report = find_violation()
    bell = TraceReport(report.trace, "\x1b]0;owned\x07", report.failures, report.versions)

    assert "\x1b" not in format_report(bell)
    assert r"\x1b]0;owned\x07" in format_report(bell)


def test_a_crash_and_a_missing_answer_are_told() -> None:
    """The boundary, and that nobody knows, stand at the step; turns stand below the steps."""
    report = crashed_report()

    text = format_report(report)

    assert "[worker 2] admit r1 of A" in text
    assert "→ no answer: nobody knows" in text
    assert "✗ exit at: admit / after commit, one commit before it" in text
    assert "step 2  begin immediate  (blocked)" in text


def test_a_step_that_never_answered_is_explained_without_an_answer() -> None:
    """Nobody can say what it answered, so the explanation says what it left."""
    report = find_divergence("reservation")
    *before, last = report.trace.steps
    trace = replace(report.trace, steps=(*before, replace(last, outcome=UNKNOWN)))

    text = " ".join(format_report(replace(report, trace=trace)).split())

    assert "ended before its answer arrived. What is left is wrong: i1 in L1: spent is 0" in text
    assert "the answer is no answer" not in text


def crashed_report() -> TraceReport:
    """Return a trace that ends in a crash, with two turns of a schedule."""
    example = find_violation().trace
    first, second = example.steps[:2]
    crash = CrashPoint("admit / after commit", commits=1)
    last = TraceStep(second.action, UNKNOWN, None, "worker 2", crash)
    turns = (Turn(1, "begin immediate"), Turn(2, "begin immediate", "blocked"))
    trace = Trace(example.machine, "TINY", example.initial, (first, last), turns)
    return TraceReport(trace, "admit-one crash", (), find_violation().versions)


# ── ITF ───────────────────────────────────────────────────────────────────────────────────


def _find_numbers(values: Any) -> Iterator[Any]:
    if isinstance(values, dict):
        values = list(values.values())
    if isinstance(values, list):
        for each in values:
            yield from _find_numbers(each)
    if isinstance(values, int | float) and not isinstance(values, bool):
        yield values


@pytest.mark.parametrize("name", REPORTS)
def test_itf_obeys_its_schema_and_has_no_bare_number(name: str) -> None:
    """The text is ITF, every integer is a `#bigint`, and there is no loop."""
    values = json.loads(dump_itf(REPORTS[name]))

    jsonschema.Draft202012Validator(ITF_SCHEMA).validate(values)
    assert list(_find_numbers(values)) == []
    assert "loop" not in values


@pytest.mark.parametrize("report", [*REPORTS.values(), crashed_report()])
def test_itf_comes_back_as_it_was(report: TraceReport) -> None:
    """A report that was written as ITF is read again, states that nobody saw included."""
    assert from_itf(json.loads(dump_itf(report))) == report


@pytest.mark.parametrize("name", REPORTS)
def test_another_reader_reads_our_itf(name: str) -> None:
    """itf-py finds the same variables, states and values."""
    report = REPORTS[name]

    read = itf_py.trace_from_json(json.loads(dump_itf(report)))

    state, last = report.trace.states[-1], read.states[-1].values
    assert read.loop is None
    assert len(read.states) == len(report.trace) + 1
    assert read.vars == list(last)
    if report.trace.machine == "admission":
        assert last["clock"] == state.clock
        assert [r.request_id for r in last["records"]] == [r.request_id for r in state.records]
        assert [r.lease for r in last["records"]] == [
            frozenset() if r.lease is None else frozenset({r.lease}) for r in state.records
        ]
    else:
        assert [i.spent for i in last["ledgers"][0].intents] == [
            i.spent for i in state.ledgers[0].intents
        ]


def test_a_set_is_written_in_a_fixed_order() -> None:
    """Equal sets give equal text, whatever order they were made in."""
    shape = find_shape(frozenset[str])
    words = [f"w{number}" for number in range(20)]

    texts = {json.dumps(write_value(frozenset(order), shape)) for order in (words, words[::-1])}

    assert len(texts) == 1
    assert read_value(json.loads(texts.pop()), shape) == frozenset(words)


@pytest.mark.parametrize("broken", [{}, {"#meta": {}, "states": []}, {"#meta": {"report": 1}}])
def test_itf_of_others_is_refused(broken: dict[str, Any]) -> None:
    """A trace that we did not write lacks the actions, and is told so."""
    with pytest.raises(TraceFormatError, match="not written by admit-one"):
        from_itf(broken)


def test_a_wrong_number_in_itf_is_refused_with_its_place() -> None:
    """A bare number where a `#bigint` must stand is named."""
    values = to_itf(find_violation())
    values["states"][1]["clock"] = 0

    with pytest.raises(TraceFormatError, match=r"states\[1\]\.clock: expected an integer"):
        from_itf(values)


# ── Mermaid ───────────────────────────────────────────────────────────────────────────────

MERMAID_LINE = re.compile(
    r"sequenceDiagram"
    r"|    (?:actor|participant) p\d+ as [^;{}<>%]+"
    r"|    p\d+(?:->>|-->>|--x)p\d+: .+"
    r"|    Note over p\d+(?:,p\d+)?: .+"
)


@pytest.mark.parametrize("report", [*REPORTS.values(), crashed_report()])
def test_a_diagram_has_only_lines_that_mermaid_knows(report: TraceReport) -> None:
    """Every line is a lane, a message or a note, and its text has none of Mermaid's own signs."""
    lines = format_mermaid(report).splitlines()

    for line in lines:
        assert MERMAID_LINE.fullmatch(line), line
        assert not re.search(r";(?<!#\d\d;)(?<!#\d\d\d;)", line), line


def test_a_worker_and_the_token_that_it_claimed_share_a_lane() -> None:
    """What is done with a token stands in the lane of the claim that handed it out."""
    diagram = format_mermaid(find_divergence("admission"))

    assert "actor p3 as worker 1" in diagram
    assert "p3->>p4: 3. claim at tick 0" in diagram
    assert "p3->>p4: 4. resolve r1 under generation 1 at tick 5" in diagram
    assert "participant p4 as store" in diagram


# ── A test ────────────────────────────────────────────────────────────────────────────────


def run_generated(text: str) -> None:
    """Run the one test of a generated module."""
    names: dict[str, Any] = {}
    exec(compile(text, "generated", "exec"), names)  # noqa: S102 -- what is tested is that it runs
    (test,) = (value for name, value in names.items() if name.startswith("test_"))
    test()


@pytest.mark.parametrize("machine", MACHINES)
def test_a_generated_test_passes_on_the_right_version_and_fails_on_the_faulty(
    machine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same text tells the two implementations apart."""
    text = format_pytest(find_divergence(machine))
    faulty = find_faulty(machine)

    def load_faulty() -> Implementation:
        return faulty

    run_generated(text)
    monkeypatch.setattr(conformance.sqlite, "load_implementation", load_faulty)
    with pytest.raises(AssertionError, match="parts from the specification"):
        run_generated(text)


def test_a_generated_test_of_a_violation_fails_on_the_faulty_model(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A model that admits beyond its slots fails the test that its trace became."""
    text = format_pytest(find_violation())

    run_generated(text)
    monkeypatch.setitem(MACHINES, "admission", FAULTY_ADMISSION)
    with pytest.raises(AssertionError, match="FAIL"):
        run_generated(text)


@pytest.mark.parametrize("ending", [Ending.IO_ERROR, Ending.POWER_LOSS])
def test_a_crash_that_no_test_can_repeat_is_refused(ending: Ending) -> None:
    """An error of the storage, and a power loss before the last call."""
    crashed = crashed_report().trace
    crash = CrashPoint("init / before commit", ending)
    steps = (replace(crashed.steps[0], crash=crash), replace(crashed.steps[1], crash=None))
    trace = replace(crashed, steps=steps, schedule=())

    with pytest.raises(NotExportable, match="repeats by the command"):
        format_pytest(TraceReport(trace, ""))


def test_an_exit_becomes_a_test_of_every_boundary() -> None:
    """What was done before and after it is taken as it was."""
    crashed = replace(crashed_report().trace, schedule=())

    text = format_pytest(TraceReport(crashed, ""))

    assert "from crash_harness.exit_replaying import replay_with_exits" in text
    assert "def test_an_exit_at_every_boundary() -> None:" in text
    assert 'action = Admit(request_id="r1"' in text
    assert "after = ()" in text


def test_every_vocabulary_has_a_narrator() -> None:
    """A machine that can be written can be told."""
    assert NARRATORS.keys() == VOCABULARIES.keys() == MACHINES.keys()

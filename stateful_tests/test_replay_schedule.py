"""A trace of operations that ran at the same time is run again, turn by turn, or is refused."""

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest

from conformance.changed_source import ROOT, load_changed_implementation
from conformance.implementation import Implementation
from conformance.mutants.catalogue import find_mutant
from conformance.replay import Replay, ReplayVerdict, replay
from conformance.replayable import ReplayImpossible
from crash_harness.schedules.as_trace import build_report
from crash_harness.schedules.replaying import judge_recording, run_schedule
from crash_harness.schedules.single import explore_scene
from model.admission_vocabulary import Admit, Claim, Init, Tick
from model.checking.trace import CrashPoint, Trace, TraceStep, Turn
from model.checking.trace_json import dump_report
from model.checking.trace_report import Failure, TraceReport
from model.reservation_vocabulary import (
    IDEMPOTENT,
    Enter,
    InitLedger,
    InitReceiver,
    OpenIntent,
    Reserve,
)
from model.scopes import ADMISSION_TINY

OUTSIDE, BUSY = "admit-checks-outside-the-transaction", "busy-reported-as-full"
ONE_SLOT = (Init(ADMISSION_TINY.limits),)
LAST_SLOT = (Admit("r1", "A", "中"), Admit("r2", "B", "中"))
ONE_UNIT = (
    InitLedger("L1", "L1"),
    InitReceiver(),
    OpenIntent("L1", "i1", "p", IDEMPOTENT, 1),
)


@lru_cache(maxsize=8)
def load(name: str) -> Implementation:
    """Return the implementation with a planted mistake."""
    return load_changed_implementation(find_mutant(name).changes)


@lru_cache(maxsize=8)
def find_report(name: str) -> TraceReport:
    """Return a schedule on which a planted mistake is seen."""
    scenes: dict[str, tuple[Any, ...]] = {
        OUTSIDE: ("admission", ONE_SLOT, LAST_SLOT, ()),
        BUSY: ("admission", (*ONE_SLOT, LAST_SLOT[0]), (LAST_SLOT[0], Claim(0)), (1,)),
        "reserve-checks-outside-the-transaction": (
            "reservation",
            ONE_UNIT,
            (Reserve("a", "i1"), Reserve("b", "i1")),
            (),
        ),
    }
    machine, setup, actions, hurried = scenes[name]
    found = explore_scene(machine, setup, actions, hurried=hurried, implementation=load(name))
    assert found.failure is not None
    return build_report(found.failure, "admit-one race --schedules")


NAMES = (OUTSIDE, BUSY, "reserve-checks-outside-the-transaction")


def run_again(trace: Trace, name: str | None = None) -> Replay:
    """Replay a trace on the implementation, or on one with a planted mistake."""
    version = None if name is None else load(name)
    return replay(trace, implementation=version, schedule_runner=run_schedule)


def with_turn(trace: Trace, number: int, **values: Any) -> Trace:
    """Return a trace with one turn edited."""
    turns = list(trace.schedule)
    turns[number] = replace(turns[number], **values)
    return replace(trace, schedule=tuple(turns))


def with_step(trace: Trace, number: int, **values: Any) -> Trace:
    """Return a trace with one step edited."""
    steps = list(trace.steps)
    steps[number] = replace(steps[number], **values)
    return replace(trace, steps=tuple(steps))


# ── On an implementation ──────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("name", NAMES)
def test_a_schedule_fails_again_on_the_faulty_version_and_turn_by_turn(name: str) -> None:
    """The same statements, results, answers, final state and failures."""
    report = find_report(name)

    again = run_again(report.trace, name)

    assert again.verdict is ReplayVerdict.DIFFERS
    assert again.failures == report.failures
    assert again.trace == report.trace
    assert again.notes == (f"All {len(report.trace.schedule)} turns were as they were recorded.",)


def test_the_same_turns_on_the_right_version_are_explained() -> None:
    """A mistake in what a caller is told leaves the statements as they are: the trace passes."""
    again = run_again(find_report(BUSY).trace)

    assert again.verdict is ReplayVerdict.SAME
    assert "turns were as they were recorded" in again.notes[0]


def test_an_implementation_with_other_statements_is_no_pass() -> None:
    """The turn at which it has another statement is named, and there is no verdict."""
    with pytest.raises(ReplayImpossible, match=r"turn 1: .*'begin deferred'.*'begin immediate'"):
        run_again(find_report(OUTSIDE).trace)


def test_another_answer_of_sqlite_is_told_and_the_rest_is_judged() -> None:
    """From that turn on the operations go on one after another, and still fail."""
    trace = find_report(OUTSIDE).trace
    last = len(trace.schedule) - 1
    number = next(n for n, turn in enumerate(trace.schedule) if "insert" in turn.statement)
    edited = with_turn(trace, number, result="SQLITE_FULL")

    again = run_again(edited, OUTSIDE)

    assert last > number
    assert again.verdict is ReplayVerdict.DIFFERS
    assert f"Turn {number + 1}, " in again.notes[0]
    assert "recorded is SQLITE_FULL, found was ran" in again.notes[0]


def test_a_difference_before_the_operations_at_the_same_time_is_found_there() -> None:
    """The steps of the setup are held against the model one by one."""
    setup = (*ONE_SLOT, LAST_SLOT[0], Claim(0), LAST_SLOT[1])
    found = explore_scene("admission", setup, (Claim(0), Claim(0)), stops_at_failure=False)
    ((_, final, _), _) = found.results.most_common(1)[0]
    alone = [TraceStep(action, None, None) for action in setup]
    together = (TraceStep(Claim(0), None, None, "1"), TraceStep(Claim(0), None, final, "2"))
    turns = (Turn(5, "begin immediate"),)
    start = find_report(OUTSIDE).trace
    trace = replace(start, steps=(*alone, *together), schedule=turns)

    again = run_again(trace, "slot-released-at-claim")

    assert again.verdict is ReplayVerdict.DIFFERS
    assert len(again.trace) == 4
    assert again.failures[0].kind == "conformance"


def test_without_a_schedule_runner_nothing_is_run() -> None:
    """One after another the operations would prove nothing."""
    with pytest.raises(ReplayImpossible, match="same time"):
        replay(find_report(OUTSIDE).trace)


# ── On the model ──────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("name", NAMES)
def test_the_model_does_not_explain_what_was_recorded(name: str) -> None:
    """The recording alone shows the failure."""
    report = find_report(name)

    judged = judge_recording(report.trace)

    assert judged.verdict is ReplayVerdict.DIFFERS
    assert judged.failures[0].name in {report.failures[0].name, "unexplained"}


def test_the_model_explains_what_the_right_version_does() -> None:
    """Answers and final state fit an order, with an operation that gave up among them."""
    right = run_again(find_report(BUSY).trace)

    assert judge_recording(right.trace).verdict is ReplayVerdict.SAME


def test_an_answer_edited_by_hand_is_explained_by_no_order() -> None:
    """A recording in which the last slot is handed out twice fails on the model."""
    right = run_again(find_report(BUSY).trace).trace
    edited = with_step(right, len(right) - 1, outcome=right.steps[1].outcome)

    assert judge_recording(edited).failures[0].name == "unexplained"


# ── Edited by hand ────────────────────────────────────────────────────────────────────────

Edit = Callable[[Trace], Trace]
EDITS: dict[str, tuple[Edit, str]] = {
    "unknown scope": (lambda t: replace(t, scope="VAST"), "no scope 'VAST'; there are TINY"),
    "a turn after the end": (
        lambda t: replace(t, schedule=(*t.schedule, t.schedule[-1])),
        "has ended before it",
    ),
    "turns that end too early": (
        lambda t: replace(t, schedule=t.schedule[:-1]),
        "before the operations do",
    ),
    "another statement": (
        lambda t: with_turn(t, 1, statement="select 1"),
        r"turn 2: recorded is 'select 1'",
    ),
    "another lane": (lambda t: with_turn(t, 1, step=3), "turn 2: recorded is"),
    "a lane that waits": (
        lambda t: replace(t, schedule=t.schedule[:12] + t.schedule[17:]),
        "turn 13: operation 1 can't go on there",
    ),
    "a turn after the exit": (
        lambda t: with_turn(t, 1, statement="exit", result="exit"),
        "a turn, 3, after its exit",
    ),
    "too many operations": (
        lambda t: replace(t, steps=(*t.steps, *t.steps[-2:])),
        "4 at the same time; 3 at most",
    ),
    "no call": (lambda t: with_step(t, 2, action=Tick()), "no calls of different workers"),
    "a call of the other kind of value": (
        lambda t: with_step(t, 2, action=Claim(-1)),
        "now can't be -1",
    ),
    "a crash before": (
        lambda t: with_step(t, 0, crash=CrashPoint("init / before commit")),
        "every call must have answered",
    ),
    "a tick before": (lambda t: with_step(t, 0, action=Tick()), "calls alone"),
}


@pytest.mark.parametrize("edit", EDITS)
def test_what_is_no_schedule_of_these_operations_is_refused(edit: str) -> None:
    """Each edit of a file is told with its place, and is never taken for a pass."""
    change, reason = EDITS[edit]

    with pytest.raises(ReplayImpossible, match=reason):
        run_again(change(find_report(OUTSIDE).trace), OUTSIDE)


@pytest.mark.parametrize(
    ("action", "reason"),
    [(Reserve("z", "i1"), "no worker 'z'"), (Reserve("a", "i1"), "different workers")],
)
def test_a_worker_is_known_and_is_in_one_place(action: Reserve, reason: str) -> None:
    """A worker that the scope doesn't have is refused, and one that would be in two lanes."""
    trace = find_report("reserve-checks-outside-the-transaction").trace

    with pytest.raises(ReplayImpossible, match=reason):
        run_again(with_step(trace, len(trace) - 1, action=action))


def test_a_call_before_that_no_process_can_make_ends_the_replay() -> None:
    """The permit that it needs is in no hand, so that the operations are never reached."""
    trace = find_report("reserve-checks-outside-the-transaction").trace

    with pytest.raises(ReplayImpossible, match=r"step 3: .*not_held"):
        run_again(with_step(trace, 2, action=Enter("a", "i1", 1)))


def test_other_files_than_those_of_the_scope_are_refused() -> None:
    """The initial state names the files, and the scope must have the same."""
    trace = find_report("reserve-checks-outside-the-transaction").trace
    ledger = replace(trace.initial.ledgers[0], file="L9")

    with pytest.raises(ReplayImpossible, match="other ledgers or workers"):
        run_again(replace(trace, initial=replace(trace.initial, ledgers=(ledger,))))


@pytest.mark.parametrize(
    ("edit", "reason"),
    [
        (lambda t: with_step(t, len(t) - 1, after=None), "operations left is not recorded"),
        (lambda t: with_step(t, t.alone, crash=None), "how many commits"),
    ],
)
def test_the_model_judges_only_what_was_recorded(edit: Edit, reason: str) -> None:
    """Without the final state, or the commits of an operation that gave up, there is no verdict."""
    right = run_again(find_report(BUSY).trace).trace

    with pytest.raises(ReplayImpossible, match=reason):
        judge_recording(edit(right))


# ── The command ───────────────────────────────────────────────────────────────────────────


def run_command(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run `admit-one replay`."""
    command = [sys.executable, "-m", "workbench.cli", "replay", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)


def write(folder: Path, report: TraceReport) -> str:
    """Write a report to a file, and return its name."""
    path = folder / "schedule.json"
    path.write_text(dump_report(report), "utf-8")
    return str(path)


def test_the_command_tells_the_three_verdicts_apart(tmp_path: Path) -> None:
    """It fails as recorded, fails otherwise, or is explained by the model now."""
    report = find_report(BUSY)
    file = write(tmp_path, report)

    same = run_command(file, "--subject", BUSY)
    explained = run_command(file)
    other = replace(report, failures=(Failure("schedule", "deadlock", "", ""),))
    otherwise = run_command(write(tmp_path, other), "--subject", BUSY)

    assert (same.returncode, explained.returncode, otherwise.returncode) == (1, 0, 1)
    assert "It fails as it was recorded: unexplained." in same.stdout
    assert "is not seen here" in explained.stdout
    assert "otherwise than it was recorded: now unexplained, then deadlock" in otherwise.stdout


def test_the_command_says_when_turns_can_not_be_taken(tmp_path: Path) -> None:
    """Another implementation is wrong usage (exit code 2), in words and without a traceback."""
    shown = run_command(write(tmp_path, find_report(OUTSIDE)))

    assert shown.returncode == 2
    assert "another implementation" in shown.stderr
    assert "Traceback" not in shown.stderr


def test_the_command_writes_json_that_is_a_trace_again(tmp_path: Path) -> None:
    """The notes and the replayed trace are in it."""
    shown = run_command(
        write(tmp_path, find_report(OUTSIDE)), "--subject", OUTSIDE, "--format", "json"
    )

    values = json.loads(shown.stdout)
    assert values["verdict"] == "differs"
    assert values["subject"] == f"impl.sqlite.admission with {OUTSIDE}"
    assert len(values["notes"]) == 2
    assert values["report"]["trace"]["schedule"]


@pytest.mark.parametrize(
    ("subject", "problem"),
    [("no-such-mistake", "no mutant"), ("model-sequence-from-zero", "changes the model")],
)
def test_an_unknown_subject_is_wrong_usage(tmp_path: Path, subject: str, problem: str) -> None:
    """A subject is the model, the implementation, or it with a planted mistake."""
    shown = run_command(write(tmp_path, find_report(OUTSIDE)), "--subject", subject)

    assert shown.returncode == 2
    assert problem in shown.stderr


def test_a_lane_that_does_not_exist_is_told_with_its_place(tmp_path: Path) -> None:
    """The file is refused when it is read."""
    report = find_report(OUTSIDE)
    text = dump_report(report).replace('"step": 3,', '"step": 9,', 1)
    path = tmp_path / "edited.json"
    path.write_text(text, "utf-8")

    shown = run_command(str(path))

    assert shown.returncode == 2
    assert "there is no step 9" in shown.stderr

"""A trace runs again: on the model, on SQLite, through a crash, and by the command."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from conformance.replay import (
    Replay,
    ReplayVerdict,
    replay,
    replay_actions,
    replay_on_model,
)
from conformance.replayable import ReplayImpossible
from conformance.subject import Subject
from model.admission_vocabulary import (
    ABSENT,
    Admit,
    CancelUnstarted,
    Claim,
    Init,
    Limits,
    Resolve,
    State,
    Tick,
    Token,
)
from model.checking.trace import UNKNOWN, CrashPoint, Ending, Trace, TraceStep, Turn
from model.checking.trace_json import dump_report, load_report
from model.checking.trace_report import TraceReport
from model.reservation_vocabulary import (
    IDEMPOTENT,
    Attempt,
    Crash,
    Enter,
    InitLedger,
    InitReceiver,
    OpenIntent,
    Reserve,
    Send,
)
from model.scopes import MACHINES
from stateful_tests.trace_examples import TINY, find_divergence, find_faulty, find_violation

COMMAND = """
import typer
from workbench.commands.replay import replay

app = typer.Typer(pretty_exceptions_enable=False, rich_markup_mode=None)
app.command("replay")(replay)
app()
"""
LEDGER_START = MACHINES["reservation"].initial_states(TINY["reservation"])[0]
OPENED = (
    InitReceiver(),
    InitLedger("L1", "L1"),
    OpenIntent("L1", "i1", "p", IDEMPOTENT, 2),
    Reserve("a", "i1"),
)


def run(*arguments: str, text: str = "") -> subprocess.CompletedProcess[str]:
    """Run the command in a pipe."""
    return subprocess.run(
        [sys.executable, "-c", COMMAND, *arguments],
        input=text,
        capture_output=True,
        encoding="utf-8",
        timeout=60,
        check=False,
    )


# ── On an implementation ──────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("machine", MACHINES)
def test_a_divergence_is_found_again_where_it_was(machine: str) -> None:
    """The faulty version differs in the same step and way, the right one does not."""
    report = find_divergence(machine)

    again = replay(report.trace, implementation=find_faulty(machine))
    right = replay(report.trace)

    assert again.verdict is ReplayVerdict.DIFFERS
    assert again.failures == report.failures
    assert again.trace.steps[-1] == report.trace.steps[-1]
    assert right == Replay(right.subject, right.trace, (), ())


@pytest.mark.parametrize("machine", MACHINES)
def test_witnesses_replay_on_sqlite_and_on_the_model(machine: str) -> None:
    """Every shortest trace that a search of TINY records is what both do."""
    from model.checking.explore import explore  # noqa: PLC0415 -- a search takes its time

    witnesses = explore(MACHINES[machine], TINY[machine]).witnesses

    for trace in witnesses.values():
        assert replay(trace).verdict is ReplayVerdict.SAME
        assert replay_on_model(trace).verdict is ReplayVerdict.SAME


def test_a_trace_of_a_faulty_model_is_not_what_the_model_does() -> None:
    """On the model the first step that is not as recorded is named, with the broken property."""
    found = replay_on_model(find_violation().trace)

    assert found.verdict is ReplayVerdict.DIFFERS
    assert found.failures[0].kind == "replay"
    assert found.failures[0].clause == (
        "the specification answers global_full, and recorded is accepted"
    )


def test_a_trace_of_a_faulty_model_is_noted_on_an_implementation() -> None:
    """The implementation is judged by the model as it is; that the recording is not, is a note."""
    found = replay(find_violation().trace)

    assert found.verdict is ReplayVerdict.SAME
    assert found.notes[0].startswith("Step 3 is not as it was recorded")


def test_a_permit_that_nobody_holds_ends_the_replay() -> None:
    """A step that no process can take is no difference."""
    found = replay_actions("reservation", LEDGER_START, [*OPENED, Enter("b", "i1", 7)])

    assert found.verdict is ReplayVerdict.SAME
    assert len(found.trace) == len(OPENED)
    assert "not_held" in found.notes[0]


# ── Without an answer ─────────────────────────────────────────────────────────────────────


def unanswered(action: Any, crash: CrashPoint | None = None, after: Any = None) -> TraceStep:
    """Return a step whose answer nobody heard."""
    return TraceStep(action, UNKNOWN, after, crash=crash)


def test_after_an_unknown_outcome_a_replay_goes_on_from_what_it_finds() -> None:
    """A send without an answer has taken effect here, and the next attempt finds its receipt."""
    steps = [*OPENED, unanswered(Send("a", "i1", 1)), Crash("a"), Attempt("b", "i1")]

    found = replay_actions("reservation", LEDGER_START, steps)

    assert found.verdict is ReplayVerdict.SAME
    assert found.trace.steps[4].outcome is UNKNOWN
    assert len(found.trace.states[-1].receiver.effects) == 1


@pytest.mark.parametrize("answer", ["accepted", "replay"])
def test_on_the_model_an_unknown_outcome_is_a_set_of_states(answer: str) -> None:
    """After an admit without an answer, the same admit may be told either outcome."""
    machine = MACHINES["admission"]
    limits = Limits()
    admit = Admit("r1", "A", "aa")
    created, ready = machine.step(ABSENT, Init(limits))
    admitted, accepted = machine.step(created, admit)
    steps = (
        TraceStep(Init(limits), ready, created),
        unanswered(admit),
        TraceStep(
            admit, accepted if answer == "accepted" else machine.step(admitted, admit)[1], admitted
        ),
    )

    found = replay_on_model(Trace("admission", "", ABSENT, steps))

    assert found.verdict is ReplayVerdict.SAME


def test_on_the_model_no_unknown_outcome_explains_everything() -> None:
    """An outcome that none of the possible states has is a difference."""
    machine = MACHINES["admission"]
    created, ready = machine.step(ABSENT, Init())
    conflict = replace(Admit("r1", "A", "aa"), payload="bb")
    _, refused = machine.step(created, CancelUnstarted("r1"))
    steps = (
        TraceStep(Init(), ready, created),
        unanswered(Admit("r1", "A", "aa")),
        TraceStep(conflict, refused, None),
    )

    found = replay_on_model(Trace("admission", "", ABSENT, steps))

    assert found.verdict is ReplayVerdict.DIFFERS
    assert "accepted or conflict" in found.failures[0].clause


# ── Crashes ───────────────────────────────────────────────────────────────────────────────


class RunnerThatDies:
    """A crash runner without processes: it takes the action, or stops before it."""

    def __init__(self, *, completes: bool) -> None:
        self.completes = completes
        self.ran: list[CrashPoint] = []

    def __call__(self, subject: Subject, action: Any, crash: CrashPoint, /) -> None:
        """Take the action if its commit lies before the exit."""
        self.ran.append(crash)
        if self.completes:
            subject.apply(action)


@pytest.mark.parametrize("commits", [0, 1])
@pytest.mark.parametrize("completes", [False, True])
def test_a_crash_is_run_by_the_runner_and_judged_by_its_commits(
    commits: int, *, completes: bool
) -> None:
    """Before the commit the state is unchanged, after it the step is complete, and nothing else."""
    runner = RunnerThatDies(completes=completes)
    crash = CrashPoint("admit / somewhere", Ending.EXIT, commits)

    found = replay_actions(
        "admission",
        ABSENT,
        [Init(), unanswered(Admit("r1", "A", "aa"), crash)],
        crash_runner=runner,
    )

    assert runner.ran == [crash]
    assert (found.verdict is ReplayVerdict.SAME) is (completes == bool(commits))
    if found.failures:
        assert found.failures[0].name == "crash"
        assert "specified" in found.explain() or "crash" in found.explain()


@pytest.mark.parametrize("completes", [False, True])
def test_inside_a_commit_both_states_are_allowed(*, completes: bool) -> None:
    """Where nobody can tell how many commits there were, either state passes."""
    runner = RunnerThatDies(completes=completes)
    crash = CrashPoint("admit / inside commit", Ending.KILL)

    found = replay_actions(
        "admission",
        ABSENT,
        [Init(), unanswered(Admit("r1", "A", "aa"), crash), Claim(0)],
        crash_runner=runner,
    )

    assert found.verdict is ReplayVerdict.SAME
    assert len(found.trace.states[-1].records) == int(completes)


@pytest.mark.parametrize(
    ("machine", "initial", "steps", "reason"),
    [
        ("admission", ABSENT, [unanswered(Init(), CrashPoint("init"))], "no crash runner"),
        ("admission", ABSENT, [Tick()], "scopes of the model alone"),
        ("admission", replace(ABSENT, lease_ticks=2), [], "can't be brought into"),
        ("admission", ABSENT, [Claim(-1)], "now can't be -1"),
        ("admission", ABSENT, [Claim(10**9 + 1)], "now can't be"),
        ("admission", ABSENT, [Admit("", "A", "")], "request_id can't be"),
        ("admission", ABSENT, [Resolve(Token("r\0", 1), 0)], "request_id can't be"),
        ("reservation", LEDGER_START, [Reserve("z", "i1")], "no worker 'z'"),
        (
            "reservation",
            replace(LEDGER_START, ledgers=(replace(LEDGER_START.ledgers[0], file="../L"),)),
            [],
            "no file can be called",
        ),
    ],
)
def test_what_a_subject_can_not_do_is_told_apart_from_a_difference(
    machine: str, initial: Any, steps: list[Any], reason: str
) -> None:
    """A replay that is not possible raises, and is never taken for a pass or a failure."""
    with pytest.raises(ReplayImpossible, match=reason):
        replay_actions(machine, initial, steps)


def test_a_schedule_is_not_replayed_step_by_step() -> None:
    """Operations that ran at the same time would prove nothing one after another."""
    trace = replace(find_violation().trace, schedule=(Turn(1, "begin immediate"),))

    with pytest.raises(ReplayImpossible, match="same time"):
        replay(trace)


# ── The command ───────────────────────────────────────────────────────────────────────────


@pytest.fixture
def violation_file(tmp_path: Path) -> str:
    """Return a file with the trace of a faulty model."""
    path = tmp_path / "violation.json"
    path.write_text(dump_report(find_violation()), "utf-8")
    return str(path)


def test_the_command_says_same_with_exit_code_0(violation_file: str) -> None:
    """On the right implementation the old failure is not seen."""
    shown = run(violation_file)

    assert shown.returncode == 0
    assert shown.stdout.startswith("same: impl.sqlite.admission")
    assert "is not seen here" in shown.stdout


def test_the_command_says_where_it_differs_with_exit_code_1(violation_file: str) -> None:
    """On the model the recording is no longer true, and the text explains why."""
    shown = run(violation_file, "--subject", "model")

    assert shown.returncode == 1
    assert "The mistake is in step 3" in shown.stdout
    assert f"repeat: admit-one replay {violation_file} --subject model" in shown.stdout


def test_the_command_reads_standard_input_and_writes_json() -> None:
    """`-` is standard input, and JSON holds a report that can be replayed again."""
    shown = run("-", "--subject", "model", "--format", "json", text=dump_report(find_violation()))

    values = json.loads(shown.stdout)
    assert shown.returncode == 1
    assert values["verdict"] == "differs"
    assert values["steps"] == 3
    assert load_report(json.dumps(values["report"])).failures[0].kind == "replay"


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"{", "no JSON"),
        (b"\xff", "byte 0 is not UTF-8"),
        (b'{"format": "admit-one trace", "version": 1, "trace": 3}', "trace: expected an object"),
    ],
)
def test_a_malformed_file_is_wrong_usage_with_its_place(
    tmp_path: Path, content: bytes, problem: str
) -> None:
    """The message names the file and the place in it, and the exit code is 2."""
    path = tmp_path / "broken.json"
    path.write_bytes(content)

    shown = run(str(path))

    assert shown.returncode == 2
    assert problem in shown.stderr


def test_a_missing_file_is_wrong_usage(tmp_path: Path) -> None:
    """A file that isn't there is told as such."""
    shown = run(str(tmp_path / "nothing.json"))

    assert shown.returncode == 2
    assert "No such file" in shown.stderr


def test_an_impossible_replay_is_wrong_usage(tmp_path: Path) -> None:
    """A trace of a scope of the model alone can't be run on SQLite."""
    trace = Trace("admission", "X", State(limits=None, lease_ticks=2), ())
    path = tmp_path / "model-alone.json"
    path.write_text(dump_report(TraceReport(trace, "")), "utf-8")

    shown = run(str(path))

    assert shown.returncode == 2
    assert "can't be replayed here" in shown.stderr

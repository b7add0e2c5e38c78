"""Real processes die at every boundary of every operation, and what they leave is judged."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from conformance.changed_source import Change
from conformance.place import RealFile, scratch_folder
from conformance.replay import replay
from conformance.replayable import ReplayImpossible
from conformance.sqlite import make_subject
from crash_harness.cases import find_starts
from crash_harness.child import OPERATIONS
from crash_harness.crasher import Crasher
from crash_harness.exit_profiles import PROFILES
from crash_harness.exit_report import PLACES_FOUND, CaseName, ExitReport, UnknownName
from crash_harness.exits import run_exits
from model.admission_vocabulary import Admit, Claim, Init
from model.checking.explore import Verdict
from model.checking.trace import UNKNOWN, CrashPoint, Ending, Trace, TraceStep
from model.machine import action_name
from model.reservation_vocabulary import (
    IDEMPOTENT,
    Attempt,
    InitLedger,
    InitReceiver,
    OpenIntent,
    Reserve,
    find_worker,
)
from model.scopes import MACHINES, SCOPES

STORE = "impl/sqlite/admission_store.py"
COMMITS = {"attempt": 4, "send": 2}


@pytest.fixture(scope="module", params=MACHINES)
def quick(request: pytest.FixtureRequest) -> ExitReport:
    """What the quick profile shows on the implementation in the tree."""
    return run_exits(request.param)


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder in memory."""
    with scratch_folder() as path:
        yield path


def test_the_implementation_passes_at_every_boundary(quick: ExitReport) -> None:
    """No death and no error leaves anything that the model does not allow."""
    assert quick.problems == ()
    assert [str(each.case) for each in quick.failures] == []
    assert quick.verdict is Verdict.PASS
    assert quick.failed_cases == 0


def test_every_operation_of_the_machine_is_covered(quick: ExitReport) -> None:
    """Every action that is a call, and the opening of each store."""
    machine = MACHINES[quick.machine]
    kinds = {"admission"} if quick.machine == "admission" else {"ledger", "receiver"}
    expected = {action_name(kind) for kind in machine.steps} & set(OPERATIONS)
    expected |= {f"open {kind}" for kind in kinds}

    assert {row.operation for row in quick.rows} == expected


def test_before_the_first_commit_nothing_is_found_and_after_the_last_everything(
    quick: ExitReport,
) -> None:
    """The commit lines are where the found state changes."""
    for row in quick.rows:
        found = {place for place in PLACES_FOUND if row.found[place]}
        if row.operation in {"enter", "perform", "send"}:
            continue  # a second death of these is one of an attempt
        if row.commits == 0:
            assert found <= {"before", "unchanged"}, row
        if row.commits == COMMITS.get(row.operation, 1):
            assert found <= {"after", "unchanged"}, row


def test_an_attempt_leaves_exactly_the_steps_that_had_committed() -> None:
    """At each commit of an attempt the next of its steps is found, on either database."""
    report = run_exits("reservation", operation="attempt")

    commits = [row.commits for row in report.rows if row.follows_commit]

    assert set(commits) == {1, 2, 3, 4}
    assert report.row("attempt", "receiver: before commit").found["partly"]
    assert report.row("attempt", "ledger: after commit (2)").found["after"]


def test_what_is_sampled_is_told_with_its_share(quick: ExitReport) -> None:
    """A sample never looks like the whole."""
    profile = PROFILES["quick"]
    shares = {sample.what: sample.taken / sample.of for sample in quick.samples}

    assert len(shares) == 3
    assert [share for what, share in shares.items() if "from which the repeated" in what] == [1.0]
    assert 0 < profile.survivors < 1
    assert all(0 < share <= 1 for share in shares.values())


def test_a_statement_added_tomorrow_gets_its_cases_with_no_edit() -> None:
    """Boundaries are found by running the operation."""
    insert = (
        '            connection.execute(\n                """\n                insert into task'
    )
    counting = '            connection.execute("select count(*) from effect")\n'
    added = Change(STORE, insert, counting + insert)

    report = run_exits("admission", operation="admit", changes=[added])

    boundaries = [row.boundary for row in report.rows]
    place = boundaries.index("between insert intent and select effect")
    assert boundaries[place + 1] == "between select effect and insert task"
    assert report.row("admit", boundaries[place]).deaths
    assert report.verdict is Verdict.PASS


def test_process_exit_does_not_see_a_missing_sync() -> None:
    """The known limit: the operating system keeps what was written, synced or not.

    With `synchronous` off every case passes all the same. Only the power-loss side can see it.
    """
    report = run_exits("admission", operation="resolve", pragmas={"synchronous": "off"})

    assert report.verdict is Verdict.PASS
    assert report.deaths > 50


def test_the_same_seed_takes_the_same_cases() -> None:
    """Everything that is drawn is drawn by the seed and the name."""
    first, second = (run_exits("admission", operation="redrive", seed=7) for _ in range(2))

    assert [(row.boundary, row.deaths, row.faults) for row in first.rows] == [
        (row.boundary, row.deaths, row.faults) for row in second.rows
    ]


def test_several_workers_find_what_one_finds() -> None:
    """The cases are the same, in whatever process they are judged."""
    one = run_exits("reservation", operation="confirm")
    two = run_exits("reservation", operation="confirm", workers=2)

    assert {(row.boundary, row.deaths, row.faults) for row in one.rows} == {
        (row.boundary, row.deaths, row.faults) for row in two.rows
    }
    assert two.verdict is Verdict.PASS


def test_a_boundary_alone_is_run_by_its_name() -> None:
    """Nothing else dies first; what is left there is repeated and dies at every boundary."""
    report = run_exits("admission", operation="claim", boundary="before commit")

    assert {row.boundary for row in report.rows if not report.second_deaths} <= {"before commit"}
    assert report.row("claim", "before commit").deaths


def test_a_case_with_a_second_death_is_run_alone_by_its_name() -> None:
    """The repeated call dies on what the first death left, and nothing else is counted."""
    start = next(
        each
        for each in find_starts("admission", "TINY").starts
        if each.pair == ("admit", "accepted")
    )
    case = CaseName(
        *("admission", "TINY", "admit", start.digest, "after commit"), second="before commit"
    )

    report = run_exits("admission", case=case)

    assert (report.cases, report.second_deaths) == (1, 1)
    assert report.row("admit", "before commit").found["unchanged"] == 1


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ({"machine": "nothing"}, "no machine 'nothing'"),
        ({"machine": "admission", "profile": "huge"}, "no profile 'huge'"),
        ({"machine": "admission", "operation": "send"}, "no operation 'send'"),
        (
            {"machine": "admission", "operation": "redrive", "boundary": "before lunch"},
            "redrive has no boundary 'before lunch'; there are before it returns",
        ),
    ],
)
def test_a_name_that_leads_nowhere_is_wrong_usage(names: dict[str, str], message: str) -> None:
    """It is never an empty pass."""
    with pytest.raises(UnknownName, match=message):
        run_exits(**names)  # type: ignore[arg-type]


def test_a_run_that_has_used_up_its_time_is_undetermined() -> None:
    """It passes only if everything was shown."""
    report = run_exits("admission", operation="admit", budget_seconds=0.0)

    assert report.verdict is Verdict.UNDETERMINED


def test_a_crash_can_be_one_operation_among_others(folder: Path) -> None:
    """A call dies at every boundary in turn, and work goes on from what it left."""
    machine, scope = MACHINES["admission"], SCOPES["admission"]["SMALL"]
    subject = make_subject("admission", scope, folder)
    subject.apply(Init(scope.limits))
    state = subject.observe()
    names = []

    with Crasher() as crasher:
        for boundary in range(30):
            action = Admit("r1", "A", "aa") if boundary < 15 else Claim(5)
            crashed = crasher.crash(subject, action, boundary % 15, way="kill")
            names.append(crashed.name)
            found = subject.observe()
            assert found in machine.allowed_after_exit(state, action, crashed.commits)
            state = found
    subject.close()

    assert "admit / between insert intent and insert task" in names
    assert "claim / after commit" in names
    assert [record.request_id for record in state.records] == ["r1"]


def test_a_crash_drops_what_its_worker_holds(folder: Path) -> None:
    """Permits live in the process that got them, and die with it."""
    scope = SCOPES["reservation"]["TINY"]
    subject = make_subject("reservation", scope, folder)
    opening = OpenIntent("L1", "i1", "p", IDEMPOTENT, 2)
    for action in (InitLedger("L1", "L1"), InitReceiver(), opening, Reserve("a", "i1")):
        subject.apply(action)
    assert find_worker(subject.observe(), "a").hand

    with Crasher() as crasher:
        crashed = crasher.crash(subject, Attempt("a", "i1"), 99)

    state = subject.observe()
    subject.close()
    assert crashed.is_last
    assert find_worker(state, "a").hand == ()
    assert len(state.receiver.effects) == 1


@pytest.mark.parametrize("ending", [Ending.EXIT, Ending.KILL])
def test_a_trace_with_a_crash_is_replayed_at_the_boundary_that_it_names(ending: Ending) -> None:
    """A `Crasher` is what a replay needs to run such a trace."""
    scope = SCOPES["admission"]["TINY"]
    machine = MACHINES["admission"]
    (initial, *_) = machine.initial_states(scope)
    ready, outcome = machine.step(initial, Init(scope.limits))
    action = Admit("r1", "A", "中")
    crash = CrashPoint("admit / between insert intent and insert task", ending, commits=0)
    steps = (
        TraceStep(Init(scope.limits), outcome, ready),
        TraceStep(action, UNKNOWN, ready, crash=crash),
        TraceStep(action, *reversed(machine.step(ready, action))),
    )

    elsewhere = replace(steps[1], crash=CrashPoint("admit / before lunch", ending))
    edited = (steps[0], elsewhere, steps[2])

    with Crasher() as crasher:
        replayed = replay(Trace("admission", "TINY", initial, steps), crash_runner=crasher)
        with pytest.raises(ReplayImpossible, match="step 2: there is no boundary"):
            replay(Trace("admission", "TINY", initial, edited), crash_runner=crasher)

    assert replayed.failures == ()
    assert len(replayed.trace) == 3


def test_a_trace_that_names_no_boundary_of_the_call_is_refused(folder: Path) -> None:
    """The error lists the boundaries that there are."""
    scope = SCOPES["admission"]["TINY"]
    subject = make_subject("admission", scope, folder)
    subject.apply(Init(scope.limits))

    with Crasher() as crasher:
        with pytest.raises(UnknownName, match="claim / before commit"):
            crasher(subject, Claim(0), CrashPoint("claim / before lunch"))
        with pytest.raises(UnknownName, match="behind 0 commits here, not 1"):
            crasher(subject, Claim(0), CrashPoint("claim / before commit", commits=1))
    subject.close()


def test_an_open_store_survives_the_crash_of_another_process(folder: Path) -> None:
    """The subject's own connection stays open over it, and reads what was committed."""
    scope = SCOPES["admission"]["TINY"]
    subject = make_subject("admission", scope, folder)
    subject.apply(Init(scope.limits))
    connection = subject.place.observer()  # type: ignore[attr-defined]

    with Crasher() as crasher:
        crasher.crash(subject, Admit("r1", "A", "中"), 99)

    found = connection.execute("select request_id from task").fetchall()
    place = subject.place  # type: ignore[attr-defined]
    assert isinstance(place, RealFile)
    assert place.observer() is connection
    assert found == [("r1",)]
    subject.close()

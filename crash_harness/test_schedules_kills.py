"""Schedules find what only two callers at once can show: always, fast, with the fewest switches."""

import time

import pytest

from conformance.changed_source import load_changed_implementation
from conformance.implementation import Implementation
from conformance.mutants.catalogue import find_mutant
from crash_harness.schedules.as_trace import build_report
from crash_harness.schedules.engine import find_failure, run_schedules
from crash_harness.schedules.failure import (
    ScheduleFailure,
    count_switches,
    format_failure,
    replay_schedule,
)
from crash_harness.schedules.single import explore_scene
from model.admission_vocabulary import Admit, Claim, Init
from model.checking.explore import Verdict
from model.checking.trace_text import format_report
from model.reservation_vocabulary import (
    IDEMPOTENT,
    NON_IDEMPOTENT,
    Attempt,
    InitLedger,
    InitReceiver,
    OpenIntent,
    Reserve,
)
from model.scopes import ADMISSION_TINY

ONE_SLOT = (Init(ADMISSION_TINY.limits),)
LAST_SLOT = (Admit("r1", "A", "中"), Admit("r2", "B", "中"))
FILES = (InitLedger("L1", "L1"), InitReceiver())
ONE_UNIT = (*FILES, OpenIntent("L1", "i1", "p", IDEMPOTENT, 1))
LAST_UNIT = (Reserve("a", "i1"), Reserve("b", "i1"))
MOST_SECONDS = 1.0


def load_mutant(name: str) -> Implementation:
    """Return the implementation with a mistake of the catalogue."""
    return load_changed_implementation(find_mutant(name).changes)


def demand(failure: ScheduleFailure | None) -> ScheduleFailure:
    """Return a failure that must be there."""
    assert failure is not None, "no schedule fails"
    return failure


def kill(
    machine: str, setup: tuple[object, ...], actions: tuple[object, ...], changed: Implementation
) -> ScheduleFailure:
    """Return the failure that schedules of this scene find, in time."""
    started = time.process_time()
    report = explore_scene(machine, setup, actions, implementation=changed)
    assert time.process_time() - started < MOST_SECONDS
    failure = demand(report.failure)
    assert failure.has_fewest_switches
    return failure


def test_a_capacity_read_before_the_transaction_lets_two_take_the_last_slot() -> None:
    """Both decide, then both write: the observer sees two records in one slot."""
    changed = load_mutant("admit-checks-outside-the-transaction")

    failure = kill("admission", ONE_SLOT, LAST_SLOT, changed)

    assert failure.problems[0].kind == "outstanding_work_stays_within_the_limits"
    assert failure.outcomes == ("accepted", "accepted")
    assert failure.switches == 2


def test_a_budget_read_before_the_transaction_spends_the_last_unit_twice() -> None:
    """Both see the last unit; the schema refuses the second one, and the caller gets an error."""
    changed = load_mutant("reserve-checks-outside-the-transaction")

    failure = kill("reservation", ONE_UNIT, LAST_UNIT, changed)

    assert failure.problems[0].kind == "error"
    assert "IntegrityError" in failure.problems[0].clause
    assert failure.switches == 2


def test_an_unknown_read_before_the_transaction_gives_a_non_idempotent_intent_two_permits() -> None:
    """Both see no reservation; the schema refuses the second unit (B8)."""
    changed = load_mutant("unknown-checked-outside-the-transaction")
    setup = (*FILES, OpenIntent("L1", "i1", "p", NON_IDEMPOTENT, 3))

    failure = kill("reservation", setup, LAST_UNIT, changed)

    assert failure.switches == 2


@pytest.mark.parametrize(
    ("machine", "setup", "actions"),
    [
        ("admission", ONE_SLOT, LAST_SLOT),
        ("admission", ONE_SLOT, (Claim(5), Claim(5))),
        ("reservation", ONE_UNIT, LAST_UNIT),
        ("reservation", ONE_UNIT, (Attempt("a", "i1"), Reserve("b", "i1"))),
    ],
    ids=["admit", "claim", "reserve", "attempt"],
)
def test_a_deferred_transaction_that_writes_is_turned_away_whatever_its_timeout(
    machine: str, setup: tuple[object, ...], actions: tuple[object, ...]
) -> None:
    """It has read, and now wants to write while another one does: SQLite answers BUSY at once."""
    changed = load_mutant("deferred-for-immediate")

    failure = kill(machine, setup, actions, changed)

    assert failure.problems[0].kind == "error"
    assert "SQLITE_BUSY" in failure.problems[0].clause
    assert failure.switches == 2


def test_a_permit_handed_out_before_the_commit_is_seen_by_the_observer() -> None:
    """At the turn at which the call is logged, the ledger has committed no reservation."""
    changed = load_mutant("permit-before-the-commit")

    failure = kill("reservation", ONE_UNIT, (Attempt("a", "i1"), Reserve("b", "i1")), changed)

    problem = failure.problems[0]
    assert problem.kind == "calls_stay_within_spent_and_spent_within_the_cap"
    assert failure.switches == 1
    assert problem.turn is not None
    assert [turn.statement for turn in failure.turns[problem.turn - 2 : problem.turn]] == [
        "insert into call (ledger, intent_id, seq) values (:ledger, :intent_id, :seq)",
        "commit",
    ]
    text = format_report(build_report(failure, "again"))
    assert f"False after turn {problem.turn}: i1 in ledger L1 has calls 1, spent 0" in text
    assert f"Turn {problem.turn}, commit of step " in text


def test_an_exit_at_a_turn_finds_a_call_without_a_reservation() -> None:
    """The sender exits after the call and before its commit, and nobody has paid for the call."""
    changed = load_mutant("permit-before-the-commit")
    after_the_call = 7

    report = explore_scene(
        "reservation",
        ONE_UNIT,
        (Attempt("a", "i1"), Reserve("b", "i1")),
        exits=((1, after_the_call),),
        implementation=changed,
    )

    failure = demand(report.failure)
    assert failure.outcomes[0] == "unknown"
    assert len(failure.final.receiver.calls) == 1


def test_a_lock_timeout_that_is_told_as_a_refusal_has_no_place_in_any_order() -> None:
    """A known id is a replay, also for a caller whose lock timeout is over."""
    changed = load_mutant("busy-reported-as-full")
    setup = (*ONE_SLOT, LAST_SLOT[0])

    report = explore_scene(
        "admission", setup, (LAST_SLOT[0], Claim(0)), hurried=(1,), implementation=changed
    )

    failure = demand(report.failure)
    assert failure.outcomes[0] == "global_full"
    assert failure.switches == 2


@pytest.mark.parametrize(
    "name",
    [
        "admit-checks-outside-the-transaction",
        "busy-reported-as-full",
        "deferred-for-immediate",
        "permit-before-the-commit",
        "reserve-checks-outside-the-transaction",
        "unknown-checked-outside-the-transaction",
    ],
)
def test_the_quick_profile_finds_it_without_being_told_where(name: str) -> None:
    """The quick profile fails on each mistake that needs two callers."""
    mutant = find_mutant(name)

    failure = find_failure(mutant.machine, implementation=load_mutant(name))

    assert demand(failure).has_fewest_switches


def test_a_failing_schedule_replays_exactly_and_prints_as_lanes() -> None:
    """The list of turns alone gives the same statements, results, outcomes and problems again."""
    changed = load_mutant("admit-checks-outside-the-transaction")
    failure = kill("admission", ONE_SLOT, LAST_SLOT, changed)

    again = replay_schedule(failure.scene, failure.schedule, implementation=changed)
    mended = replay_schedule(failure.scene, (1,))

    assert (again.turns, again.outcomes, again.final, again.problems) == (
        failure.turns,
        failure.outcomes,
        failure.final,
        failure.problems,
    )
    assert mended.problems == ()
    assert count_switches(failure.schedule) == failure.switches
    lines = format_failure(failure)
    assert any("insert into intent" in line and " │ " in line for line in lines)
    assert f"schedule: {' '.join(map(str, failure.schedule))}" in lines


def test_an_implementation_that_can_not_reach_a_state_alone_fails() -> None:
    """It raises where nobody else is about: told as that, with the error."""
    mutant = find_mutant("characters-for-bytes-in-the-size")
    version = load_changed_implementation(mutant.changes)

    report = run_schedules("admission", "quick", seed=1, implementation=version)

    assert report.verdict is Verdict.FAIL
    assert any("IntegrityError" in problem for problem in report.problems)

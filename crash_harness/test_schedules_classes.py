"""One schedule of each class shows all that every schedule shows, and the argument for it holds."""

import sqlite3
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from conformance.changed_source import load_changed_implementation
from conformance.mutants.catalogue import find_mutant
from conformance.place import scratch_folder
from crash_harness.schedules.access import Choice, Kind, Standing, are_independent, read_words
from crash_harness.schedules.judge import Judge
from crash_harness.schedules.pairs import find_nearest_pairs, has_absent_store, list_pairs
from crash_harness.schedules.runner import NotIndependent, Runner
from crash_harness.schedules.scenery import Scenery
from crash_harness.schedules.search import Search, by_switches, every_schedule, one_of_each_class
from crash_harness.schedules.single import explore_scene
from crash_harness.schedules.stage import Stage
from model.admission_vocabulary import Admit, Init
from model.reservation_vocabulary import (
    IDEMPOTENT,
    Attempt,
    InitLedger,
    InitReceiver,
    OpenIntent,
    Send,
)
from model.scopes import ADMISSION_TINY, MACHINES, SCOPES

REPRESENTATIVE_STATES = {"admission": 3, "reservation": 8}
TIMEOUT_MS = 60
ONE_SLOT = (Init(ADMISSION_TINY.limits),)
LAST_SLOT = (Admit("r1", "A", "中"), Admit("r2", "B", "中"))
FILES = (InitLedger("L1", "L1"), InitReceiver())
ATTEMPTS = (Attempt("a", "i1"), Attempt("b", "i1"))


def open_intent(cap: int) -> tuple[Any, ...]:
    """Return the way to an intent with this cap."""
    return (*FILES, OpenIntent("L1", "i1", "p", IDEMPOTENT, cap))


def collect(search: Search, judge: Judge) -> tuple[set[Any], int]:
    """Return everything that the runs of a search show, and how many there were."""
    shown = set()
    for run in search.runs():
        problems = tuple(problem.kind for problem in judge.judge(run))
        outcomes = tuple(repr(ending.outcome) for ending in run.endings)
        shown.add((outcomes, run.final, problems))
    return shown, search.tally.complete


def pick_states(scenery: Scenery) -> Iterator[Any]:
    """Yield states in which pairs of different outcomes meet first, the last ones found."""
    states = dict.fromkeys(state for state, _ in find_nearest_pairs(scenery))
    there = [state for state in states if not has_absent_store(state)]
    yield from there[-REPRESENTATIVE_STATES[scenery.stage.machine.name] :]


@pytest.mark.parametrize("machine", MACHINES)
def test_pairs_of_single_actions_show_the_same_reduced_and_in_full(machine: str) -> None:
    """From representative states, every pair of single actions: the same answers and verdicts.

    Bounded: actions of one transaction on open stores. Opening adds up to seventeen statements,
    and with them more orders than can be run.
    """
    compared = 0
    scope = SCOPES[machine]["TINY"]
    with scratch_folder() as folder, Stage(machine, scope, folder) as stage:
        scenery, runner, judge = Scenery(stage), Runner(stage), Judge(machine)
        longer = (Init, InitLedger, InitReceiver, Attempt, Send)
        for state in pick_states(scenery):
            for pair in list_pairs(scenery, state, changes=0):
                if any(isinstance(action, longer) for action in pair):
                    continue
                scene, image = scenery.make_scene(state, pair), scenery.image(state)
                full, _ = collect(every_schedule(runner, scene, image), judge)
                reduced, _ = collect(one_of_each_class(runner, scene, image), judge)
                assert reduced == full, pair
                compared += 1

    assert compared > 100


@pytest.mark.parametrize("name", ["admit-checks-outside-the-transaction", "deferred-for-immediate"])
def test_a_mistake_shows_the_same_reduced_and_in_full(name: str) -> None:
    """Where many orders differ in what they show, one of each class shows all of it."""
    changed = load_changed_implementation(find_mutant(name).changes)

    reduced, full = (
        explore_scene(
            "admission",
            ONE_SLOT,
            LAST_SLOT,
            implementation=changed,
            searches=searches,
            stops_at_failure=False,
        )
        for searches in (one_of_each_class, every_schedule)
    )

    assert full.is_complete
    assert reduced.is_complete
    assert set(reduced.results) == set(full.results)
    assert len(full.results) > 2
    assert full.tally.complete > 10 * reduced.tally.complete


def test_a_pair_of_attempts_for_one_unit_shows_the_same_reduced_and_in_full() -> None:
    """Every order of two attempts of which one finds the budget spent or the intent confirmed."""
    reduced, full = (
        explore_scene("reservation", open_intent(1), ATTEMPTS, searches=searches)
        for searches in (one_of_each_class, every_schedule)
    )

    assert full.is_complete
    assert full.failure is reduced.failure is None
    assert set(reduced.results) == set(full.results)
    assert full.tally.complete > reduced.tally.complete


def test_two_attempts_with_two_units_have_26_classes() -> None:
    """What tells orders apart is who is first at the ledger and at the receiver, each time.

    Serial orders: 2. Otherwise both reserve before either confirms: 4 orders at the ledger, times
    6 at the receiver. Bounded: in full only the orders with at most three switches are run.
    """
    reduced = explore_scene("reservation", open_intent(2), ATTEMPTS)
    bounded = explore_scene(
        "reservation",
        open_intent(2),
        ATTEMPTS,
        searches=lambda runner, scene, image: by_switches(runner, scene, image, 3),
    )

    assert reduced.tally.complete == 26
    assert reduced.failure is bounded.failure is None
    assert set(bounded.results) <= set(reduced.results)


Program = tuple[tuple[str, bool, bool], ...]


def make_program(*transactions: tuple[str, int]) -> Program:
    """Return statements with their file, and whether they take or give back its lock."""
    return tuple(
        (file, number == 0, number == length - 1)
        for file, length in transactions
        for number in range(length)
    )


def count_schedules(one: Program, other: Program) -> int:
    """Return how many orders of two programs the locks allow."""

    def holds(program: Program, done: int) -> str | None:
        return None if done == 0 or program[done - 1][2] else program[done - 1][0]

    @cache
    def count(done: int, too: int) -> int:
        total = int((done, too) == (len(one), len(other)))
        if done < len(one) and not (one[done][1] and holds(other, too) == one[done][0]):
            total += count(done + 1, too)
        if too < len(other) and not (other[too][1] and holds(one, done) == other[too][0]):
            total += count(done, too + 1)
        return total

    return count(0, 0)


def test_the_number_of_schedules_grows_with_the_statements_and_that_of_classes_does_not() -> None:
    """Four transactions of three statements have 16,216 orders, those of our attempts millions."""
    three_each = make_program(("ledger", 3), ("receiver", 3), ("receiver", 3), ("ledger", 3))
    first = make_program(("ledger", 5), ("receiver", 3), ("receiver", 5), ("ledger", 6))
    second = make_program(("ledger", 5), ("receiver", 3), ("receiver", 4), ("ledger", 5))

    assert count_schedules(three_each, three_each) == 16_216
    assert count_schedules(first, second) == 3_285_778


# ── The argument ──────────────────────────────────────────────────────────────────────────


def test_only_locks_snapshots_and_publication_tell_orders_apart() -> None:
    """Statements of two lanes conflict as the docstring of `access` says, on one file only."""

    def conflict(one: Kind, other: Kind, file: str = "f") -> bool:
        return not are_independent(Choice(1, "f", one), Choice(2, file, other))

    assert conflict(Kind.LOCK, Kind.LOCK)
    assert conflict(Kind.LOCK, Kind.RELEASE)
    assert conflict(Kind.SNAPSHOT, Kind.PUBLISH)
    assert not conflict(Kind.SNAPSHOT, Kind.LOCK)
    assert not conflict(Kind.SNAPSHOT, Kind.RELEASE)
    assert not conflict(Kind.LOCK, Kind.PUBLISH, file="another")
    for kind in Kind:
        assert not conflict(Kind.PRIVATE, kind)
        for other in Kind:
            assert conflict(kind, other) is conflict(other, kind)


def test_a_call_and_the_end_of_another_operation_never_change_places() -> None:
    """Real time orders operations by them, on different files too."""
    call = Choice(1, "f", Kind.PRIVATE, starts=True)
    end = Choice(2, "g", Kind.PRIVATE, may_end=True)

    assert not are_independent(call, end)
    assert not are_independent(end, call)


@pytest.mark.parametrize(
    ("earlier", "statement", "kind"),
    [
        ((), "begin deferred", Kind.PRIVATE),
        ((), "begin immediate", Kind.LOCK),
        ((), "select 1 from t", Kind.SNAPSHOT),
        ((), "insert into t values (1)", Kind.ANYTHING),
        ((), "pragma journal_mode = wal", Kind.ANYTHING),
        ((), "pragma wal_checkpoint", Kind.ANYTHING),
        ((), "savepoint s", Kind.ANYTHING),
        (("begin deferred",), "select 1 from t", Kind.SNAPSHOT),
        (("begin deferred", "select 1 from t"), "select 2 from t", Kind.PRIVATE),
        (("begin deferred", "select 1 from t"), "update t set a = 1", Kind.LOCK),
        (("begin deferred", "select 1 from t"), "commit", Kind.PRIVATE),
        (("begin immediate",), "select 1 from t", Kind.PRIVATE),
        (("begin immediate",), "update t set a = 1", Kind.PRIVATE),
        (("begin immediate",), "commit", Kind.RELEASE),
        (("begin immediate", "update t set a = 1"), "commit", Kind.PUBLISH),
        (("begin immediate", "update t set a = 1"), "rollback", Kind.RELEASE),
    ],
)
def test_a_statement_is_classified_by_what_its_transaction_has_taken(
    earlier: tuple[str, ...], statement: str, kind: Kind
) -> None:
    """What is not known to be harmless touches everything."""
    standing = Standing()
    for each in earlier:
        standing.pass_by(read_words(each), in_transaction=True, rows_changed=1)

    assert standing.classify(read_words(statement), strict=False) is kind


def test_a_statement_that_publishes_against_its_kind_ends_the_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The classes rest on the kinds, so the observer checks them at every turn."""
    monkeypatch.setattr(Standing, "classify", lambda *_, **__: Kind.PRIVATE)

    with pytest.raises(NotIndependent, match="has published something"):
        explore_scene("admission", ONE_SLOT, LAST_SLOT)


def wait_for_lock(path: Path, *statements: str) -> tuple[str, float]:
    """Run statements against a file that another connection has locked for writing.

    Return the name of the error, and how many milliseconds SQLite waited before it.
    """
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("pragma journal_mode = wal")
    holder.execute("create table t (a)")
    late = sqlite3.connect(path, isolation_level=None, timeout=TIMEOUT_MS / 1000)
    holder.execute("begin immediate")
    holder.execute("insert into t values (1)")
    try:
        *first, last = statements
        for statement in first:
            late.execute(statement).fetchall()
        started = time.perf_counter()
        with pytest.raises(sqlite3.OperationalError) as raised:
            late.execute(last)
        return raised.value.sqlite_errorname, (time.perf_counter() - started) * 1000
    finally:
        late.close()
        holder.close()


def test_sqlite_waits_for_a_lock_only_before_a_transaction_has_read(tmp_path: Path) -> None:
    """`begin immediate` and a write as the first statement wait; a write after a read doesn't."""
    for number, statements in enumerate(
        [("begin immediate",), ("begin deferred", "insert into t values (2)")]
    ):
        name, waited_ms = wait_for_lock(tmp_path / f"waits{number}.db", *statements)
        assert name == "SQLITE_BUSY"
        assert waited_ms >= TIMEOUT_MS * 0.9

    name, waited_ms = wait_for_lock(
        tmp_path / "fails.db", "begin deferred", "select * from t", "insert into t values (2)"
    )
    assert name == "SQLITE_BUSY"
    assert waited_ms < TIMEOUT_MS * 0.5


def test_a_write_on_a_snapshot_that_is_not_the_last_one_is_turned_away(tmp_path: Path) -> None:
    """It has read before another one committed, and no waiting helps (`SQLITE_BUSY_SNAPSHOT`)."""
    path = tmp_path / "snapshot.db"
    one = sqlite3.connect(path, isolation_level=None)
    one.execute("pragma journal_mode = wal")
    one.execute("create table t (a)")
    other = sqlite3.connect(path, isolation_level=None, timeout=10)
    other.execute("begin deferred")
    other.execute("select * from t").fetchall()
    one.execute("insert into t values (1)")

    with pytest.raises(sqlite3.OperationalError) as raised:
        other.execute("insert into t values (2)")

    assert raised.value.sqlite_errorname == "SQLITE_BUSY_SNAPSHOT"
    other.close()
    one.close()

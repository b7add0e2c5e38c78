"""Whatever the storage does to an operation, its error comes out as itself and nothing is torn.

Each statement of each operation fails once, in three ways; the rules of the machines are the
judges, called as plain programs.
"""

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from conformance.changed_source import Change, load_changed_implementation
from model import admission_vocabulary as admission
from model import reservation_vocabulary as reservation
from model.machine import action_name
from stateful_tests.admission_machine import AdmissionMachine
from stateful_tests.conformance_machine import ConformanceMachine
from stateful_tests.failing_program import Parted
from stateful_tests.faults import (
    FAULT_NAMES,
    Busy,
    Fault,
    FaultyStorage,
    Full,
    IoError,
    IoErrorAtCommit,
    Moment,
    name_fault,
)
from stateful_tests.reservation_machine import ReservationMachine
from stateful_tests.values import NUMBER_MAX

MOST_STATEMENTS = 100
CONNECTION = "impl/sqlite/connection.py"
STORE = "impl/sqlite/admission_store.py"

ADMISSIONS = (
    admission.Init(),
    admission.Admit("r4", "B", "中"),
    admission.Claim(1),
    admission.Resolve(admission.Token("r1", 1), 1),
    admission.Quarantine(admission.Token("r1", 1), 1),
    admission.Redrive("r2", 1),
    admission.CancelUnstarted("r3"),
)
RECEIPT = reservation.Receipt("i", "p", 1)
DISPATCHES = (
    reservation.InitLedger("L1", "L1"),
    reservation.InitReceiver(),
    reservation.OpenIntent("L1", "i2", "p", reservation.IDEMPOTENT, 2),
    reservation.Reserve("b", "i"),
    reservation.Enter("a", "i", 1),
    reservation.Perform("a", "i", 2),
    reservation.Send("a", "i", 1),
    reservation.Confirm("L1", "i", 3, RECEIPT),
    reservation.Attempt("b", "i"),
)


@contextmanager
def running(machine: ConformanceMachine) -> Iterator[ConformanceMachine]:
    """Tear the machine down at the end."""
    try:
        yield machine
    finally:
        machine.teardown()


def prepare_admission(*, is_absent: bool) -> AdmissionMachine:
    """Return a machine with one record inflight, one quarantined and one queued; or with none."""
    machine = AdmissionMachine()
    if is_absent:
        return machine
    machine.begin(early=[], invalid=[], faults=[], limits=admission.Limits())
    for action in (
        admission.Admit("r1", "A", "aaa"),
        admission.Admit("r2", "A", "中"),
        admission.Admit("r3", "B", ""),
        admission.Claim(0),
        admission.Claim(0),
        admission.Quarantine(admission.Token("r2", 1), 0),
    ):
        machine.take(action)
    machine.subject.reopen()  # so that the operation opens its store, and that can fail as well
    return machine


def prepare_dispatch(*, is_absent: bool) -> ReservationMachine:
    """Return a machine with a permit unused, one entered, one that has a receipt; or with none."""
    machine = ReservationMachine()
    if is_absent:
        return machine
    machine.begin(early=[], invalid=[], faults=[], is_receiver_late=False)
    for action in (
        reservation.OpenIntent("L1", "i", "p", reservation.IDEMPOTENT, 9),
        reservation.Reserve("a", "i"),
        reservation.Reserve("a", "i"),
        reservation.Reserve("b", "i"),
        reservation.Enter("a", "i", 2),
        reservation.Send("b", "i", 3),
    ):
        machine.take(action)
    machine.subject.reopen()
    return machine


def fail_each_statement(
    prepare: Callable[[], ConformanceMachine], action: object, moment: Moment
) -> list[str]:
    """Let the statements of an action fail one after another; return them.

    After each failure the same action is taken again: the store works, as the model says.
    """
    failed: list[str] = []
    for number in range(MOST_STATEMENTS):
        with running(prepare()) as machine:
            machine.take_under_fault(action, IoError(number, moment))
            watched = machine.storage.watched
            if watched.raised is None:
                return failed
            failed.append(watched.raised_by)
            try:
                machine.take(action)
            except LookupError:  # the worker died of the error, and its permit with it
                machine.compare_state()
    raise AssertionError(f"{action} has more than {MOST_STATEMENTS} statements")


@pytest.mark.parametrize("moment", Moment)
@pytest.mark.parametrize("action", ADMISSIONS, ids=lambda action: action_name(type(action)))
def test_an_io_error_at_any_statement_of_admission_tears_nothing(
    action: admission.Action, moment: Moment
) -> None:
    """State before or state after, by the number of commits; the error as itself; it goes on."""
    is_absent = isinstance(action, admission.Init)

    failed = fail_each_statement(lambda: prepare_admission(is_absent=is_absent), action, moment)

    assert failed[0] == "open"
    assert failed[-1] == "commit"
    assert "begin immediate" in failed


@pytest.mark.parametrize("moment", Moment)
@pytest.mark.parametrize("action", DISPATCHES, ids=lambda action: action_name(type(action)))
def test_an_io_error_at_any_statement_of_dispatch_tears_nothing(
    action: reservation.Action, moment: Moment
) -> None:
    """Exactly the steps that had committed; a permit that may have been sent stays used."""
    is_absent = isinstance(action, reservation.InitLedger | reservation.InitReceiver)

    failed = fail_each_statement(lambda: prepare_dispatch(is_absent=is_absent), action, moment)

    assert failed[0] == "open"
    assert failed[-1] == "commit"
    commits = 4 if isinstance(action, reservation.Attempt) else 1
    commits += isinstance(action, reservation.Send)
    assert failed.count("begin immediate") == commits


def test_a_lock_that_is_held_is_an_error_and_not_a_refusal() -> None:
    """Every operation of a store whose write lock is taken raises SQLite's own "busy"."""
    for action in ADMISSIONS:
        with running(prepare_admission(is_absent=False)) as machine:
            machine.take_under_fault(action, Busy("admission"))

            assert read_code(machine) == sqlite3.SQLITE_BUSY


def test_a_full_disk_is_an_error_and_not_a_refusal() -> None:
    """A payload for which the disk has no room raises SQLite's own "full", and leaves nothing."""
    machine = AdmissionMachine()
    with running(machine):
        machine.begin(early=[], invalid=[], faults=[], limits=admission.Limits(*[NUMBER_MAX] * 5))
        machine.meet(action=admission.Admit("r1", "A", "a" * 900), fault=Full("admission"))

        assert read_code(machine) == sqlite3.SQLITE_FULL
        assert machine.take(admission.Admit("r1", "A", "a" * 900)) is admission.Answer.ACCEPTED


def test_a_busy_receiver_costs_a_reservation() -> None:
    """Spent is not refunded when the send that it was for can't even enter (B3)."""
    machine = prepare_dispatch(is_absent=False)
    with running(machine):
        machine.meet(action=reservation.Attempt("b", "i"), fault=Busy("receiver"))

        assert read_code(machine) == sqlite3.SQLITE_BUSY
        assert machine.state.ledgers[0].intents[0].spent == 4


def read_code(machine: ConformanceMachine) -> int:
    """Return the primary error code that came out of the storage last."""
    error = machine.storage.watched.raised
    assert isinstance(error, sqlite3.OperationalError)
    return error.sqlite_errorcode & 0xFF


COMMIT = '        connection.execute("commit")\n'
ROLLBACK = (
    "            if connection.in_transaction:\n"
    '                connection.execute("rollback")\n'
    "        raise\n"
)
SWALLOWED_COMMIT = Change(
    CONNECTION,
    COMMIT,
    f"        with contextlib.suppress(sqlite3.OperationalError):\n    {COMMIT}",
)
NO_ROLLBACK = Change(CONNECTION, ROLLBACK, "            pass\n        raise\n")
NO_LATE_ROLLBACK = Change(
    CONNECTION,
    '        if connection.in_transaction:\n            connection.execute("rollback")\n',
    "",
)
HIDING_ROLLBACK = Change(
    CONNECTION,
    f"        with contextlib.suppress(Exception):\n{ROLLBACK}",
    '        connection.execute("rollback")\n        raise\n',
)
BUSY_AS_REFUSAL = Change(
    STORE,
    "        with transaction(connection):\n            known = ",
    "        try:\n"
    '            connection.execute("begin immediate")\n'
    "        except Exception:\n"
    "            return AdmitOutcome.GLOBAL_FULL\n"
    '        connection.execute("rollback")\n'
    "        with transaction(connection):\n            known = ",
)
PERMIT_IS_MARKED_TOO_LATE = (
    Change(
        "impl/sqlite/receiver.py",
        "        permit.use()\n",
        "        if permit.is_used:\n            permit.use()\n",
    ),
    Change(
        "impl/sqlite/receiver.py",
        "        return call\n",
        "        permit.use()\n        return call\n",
    ),
)


@pytest.mark.parametrize(
    ("mistake", "fault", "message"),
    [
        ([SWALLOWED_COMMIT], IoErrorAtCommit(), "disk I/O error.*from 'commit', found accepted"),
        ([NO_ROLLBACK, NO_LATE_ROLLBACK], IoErrorAtCommit(), "within a transaction"),
        # SQLite may have rolled back by itself; a second rollback then hides the cause.
        ([HIDING_ROLLBACK], IoErrorAtCommit(moment=Moment.ROLLED_BACK), "cannot rollback"),
        ([BUSY_AS_REFUSAL], Busy("admission"), "expected accepted, found global_full"),
    ],
    ids=["swallowed commit", "no rollback", "hiding rollback", "busy as a refusal"],
)
def test_an_admission_that_mistreats_an_error_is_caught(
    mistake: Sequence[Change], fault: Fault, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Errors that are swallowed, hidden, left half done or turned into a refusal don't pass."""
    monkeypatch.setattr(AdmissionMachine, "implementation", load_changed_implementation(mistake))
    with (
        running(prepare_admission(is_absent=False)) as machine,
        pytest.raises(Parted, match=message),
    ):
        machine.take_under_fault(admission.Admit("r4", "B", "a"), fault)


def test_a_permit_that_is_marked_too_late_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """The call is logged, and its sender knows nothing: the permit must be used all the same."""
    changed = load_changed_implementation(PERMIT_IS_MARKED_TOO_LATE)
    monkeypatch.setattr(ReservationMachine, "implementation", changed)
    fault = IoErrorAtCommit(moment=Moment.AFTER)
    with (
        running(prepare_dispatch(is_absent=False)) as machine,
        pytest.raises(Parted, match="its permit is not used"),
    ):
        machine.take_under_fault(reservation.Enter("a", "i", 1), fault)


def test_the_name_of_every_fault_is_listed() -> None:
    """What a fault is counted as stands in the list against which coverage is checked."""
    kinds = (IoError, IoErrorAtCommit)
    faults = [Busy("f"), Full("f"), *(kind(0, moment) for kind in kinds for moment in Moment)]

    assert sorted(map(name_fault, faults)) == sorted(FAULT_NAMES)


def test_a_watch_counts_statements_and_write_commits(tmp_path: Path) -> None:
    """Only a commit that ends a write transaction counts as one."""
    storage = FaultyStorage()
    uri = f"{(tmp_path / 'file.db').as_uri()}?mode=rwc"
    with storage.watch() as watched, closing(storage.open(uri)) as connection:
        connection.execute("begin deferred")
        connection.execute("commit")
        connection.execute("begin immediate")
        connection.execute("create table t (x)")
        connection.execute("commit")

    assert watched.statements[0] == "open"
    assert len(watched.statements) == 6
    assert watched.commits == 1
    assert watched.raised is None

"""The quick profile finds mistakes that were planted where a pair in the nearest state is blind.

Each is one that two callers can show, and that once survived: two that both get something new, a
forged receipt in the middle, a store that has lived long, a neighbour that explains a wrong answer,
a reader. None needs to be told where to look.
"""

import pytest

from conformance.changed_source import Change, load_changed_implementation
from conformance.mutants.catalogue import find_mutant
from crash_harness.schedules.as_trace import build_report, has_trace
from crash_harness.schedules.engine import find_failure, run_schedules
from crash_harness.schedules.failure import format_failure
from crash_harness.schedules.judge import UNEXPLAINED
from crash_harness.schedules.lanes import BLOCKED
from crash_harness.schedules.reads import ReadSnapshot
from crash_harness.schedules.single import explore_scene
from crash_harness.schedules.triples import TRIPLES
from model.admission_vocabulary import Admit, Init
from model.checking.explore import Verdict
from model.checking.trace_text import format_report
from model.scopes import ADMISSION_TINY

ADMISSION = "impl/sqlite/admission_store.py"
RESERVATION = "impl/sqlite/reservation.py"
RECEIVER = "impl/sqlite/receiver.py"
ONE_SLOT = (Init(ADMISSION_TINY.limits),)
LAST_SLOT = (Admit("r1", "A", "中"), Admit("r2", "B", "中"))

SEQUENCE_READ_OUTSIDE = (
    Change(
        ADMISSION,
        "        with transaction(connection):\n            known = ",
        "        next_sequence = connection.execute(\n"
        '            "select coalesce(max(sequence), 0) + 1 from task"\n'
        "        ).fetchone()[0]\n"
        "        with transaction(connection):\n            known = ",
    ),
    Change(
        ADMISSION,
        "values ((select coalesce(max(sequence), 0) + 1 from task),\n",
        "values (:next_sequence,\n",
    ),
    Change(
        ADMISSION,
        "                        :request_id, :tenant, :size, 'queued', 0, null)\n"
        '                """,\n                row,',
        "                        :request_id, :tenant, :size, 'queued', 0, null)\n"
        '                """,\n                {**row, "next_sequence": next_sequence},',
    ),
)
TICKET_READ_OUTSIDE = (
    Change(
        RECEIVER,
        "        with transaction(connection):\n            identity = ",
        "        next_ticket = connection.execute(\n"
        '            "select coalesce(max(ticket), 0) + 1 from effect"\n'
        "        ).fetchone()[0]\n"
        "        with transaction(connection):\n            identity = ",
    ),
    Change(
        RECEIVER,
        "values ((select coalesce(max(ticket), 0) + 1 from effect),",
        "values (:next_ticket,",
    ),
    Change(
        RECEIVER,
        'returning ticket\n                """,\n                row,',
        'returning ticket\n                """,\n'
        '                {**row, "next_ticket": next_ticket},',
    ),
)
REJECTION_SWALLOWED = (
    Change(
        RESERVATION,
        "    if ledger.confirm(intent_id, reserved.seq, answer) is ConfirmOutcome.REJECTED:\n"
        "        return AttemptRefusal.REJECTED\n",
        "    ledger.confirm(intent_id, reserved.seq, answer)\n",
    ),
)
TOKEN_READ_AFTER_COMMIT = (
    Change(
        ADMISSION,
        "        return Token(request_id, generation + 1)\n",
        "        row = connection.execute(\n"
        '            "select generation from task where request_id = :id", {"id": request_id}\n'
        "        ).fetchone()\n"
        "        return Token(request_id, row[0])\n",
    ),
)
BUSY_AS_NOTHING_DUE = (
    Change(
        ADMISSION,
        "        with transaction(connection):\n"
        "            self._advance_clock(now)\n            due =",
        "        import sqlite3\n"
        "        try:\n"
        '            connection.execute("begin immediate")\n'
        '            connection.execute("rollback")\n'
        "        except sqlite3.OperationalError:\n"
        "            return None\n"
        "        with transaction(connection):\n"
        "            self._advance_clock(now)\n            due =",
    ),
)
STORE_READ_IN_PARTS = (
    Change(
        ADMISSION,
        "        with reading(connection):\n            limits = read_limits(connection)\n"
        "            clock =",
        "        if True:\n            limits = read_limits(connection)\n            clock =",
    ),
)
LEDGER_READ_IN_PARTS = (
    Change(
        RESERVATION,
        "        with reading(connection):\n            intents = ",
        "        if True:\n            intents = ",
    ),
)
RECEIVER_READ_IN_PARTS = (
    Change(
        RECEIVER,
        "        with reading(connection):\n            calls = ",
        "        if True:\n            calls = ",
    ),
)
LIMITS_KEPT_BY_THE_STORE = (
    Change(
        ADMISSION,
        "limits = read_limits(connection)\n            if size",
        'limits = self._limits = getattr(self, "_limits", None) or read_limits(connection)\n'
        "            if size",
    ),
)
"""Right, since limits never change; but the first call of a store runs one statement more."""
EVERY_THIRD_CALL_READS_TWICE = (
    Change(
        ADMISSION,
        "limits = read_limits(connection)\n            if size",
        "limits = read_limits(connection)\n"
        '            AdmissionStore.calls = getattr(AdmissionStore, "calls", 0) + 1\n'
        "            if AdmissionStore.calls % 3 == 0:\n"
        "                read_limits(connection)\n"
        "            if size",
    ),
)


@pytest.mark.parametrize(
    ("machine", "changes", "kind", "outcomes"),
    [
        ("admission", SEQUENCE_READ_OUTSIDE, "error", {"IntegrityError", "accepted"}),
        ("reservation", TICKET_READ_OUTSIDE, "error", {"IntegrityError", "confirmed"}),
        ("reservation", REJECTION_SWALLOWED, UNEXPLAINED, {"confirmed"}),
        ("admission", TOKEN_READ_AFTER_COMMIT, UNEXPLAINED, {"claimed"}),
        ("admission", BUSY_AS_NOTHING_DUE, UNEXPLAINED, {"nothing_due", "ready"}),
        ("admission", STORE_READ_IN_PARTS, UNEXPLAINED, {"accepted", "snapshot"}),
        ("reservation", LEDGER_READ_IN_PARTS, UNEXPLAINED, {"reserved", "snapshot"}),
        ("reservation", RECEIVER_READ_IN_PARTS, UNEXPLAINED, {"confirmed", "snapshot"}),
    ],
    ids=[
        "sequence-read-outside",
        "ticket-read-outside",
        "rejection-swallowed",
        "token-read-after-commit",
        "busy-as-nothing-due",
        "store-read-in-parts",
        "ledger-read-in-parts",
        "receiver-read-in-parts",
    ],
)
def test_the_quick_profile_finds_what_two_callers_can_show(
    machine: str, changes: tuple[Change, ...], kind: str, outcomes: set[str]
) -> None:
    """Two calls and two switches are enough for each."""
    failure = find_failure(machine, implementation=load_changed_implementation(changes))

    assert failure is not None
    assert failure.problems[0].kind == kind
    assert set(failure.outcomes) == outcomes
    assert len(failure.scene.actions) == 2
    assert failure.switches == 2


def test_what_a_reader_shows_is_told_as_lanes_and_has_no_trace() -> None:
    """A reading is no action of the model, so that no file can say it; the report says it whole."""
    version = load_changed_implementation(STORE_READ_IN_PARTS)

    report = explore_scene(
        "admission", ONE_SLOT, (LAST_SLOT[0], ReadSnapshot()), implementation=version
    )

    failure = report.failure
    assert failure is not None
    assert not has_trace(failure)
    text = "\n".join(format_failure(failure))
    assert "operation 2: snapshot of the store" in text
    assert "select request_id, intent.tenant" in text


@pytest.mark.parametrize("first", [1, 2])
def test_a_reader_sees_the_state_before_a_change_or_the_one_after(first: int) -> None:
    """In the unchanged implementation, whoever begins, every class of orders is explained."""
    actions = (LAST_SLOT[0], ReadSnapshot())

    report = explore_scene("admission", ONE_SLOT, actions[:: 1 if first == 1 else -1])

    assert report.failure is None
    assert report.tally.complete > 2


def test_three_operations_are_reported_only_where_two_do_not_fail_so() -> None:
    """It is found among three; and a turn that only found a lock held is no switch in the text."""
    mutant = find_mutant("unknown-checked-outside-the-transaction")
    version = load_changed_implementation(mutant.changes)
    initial, setup, actions = TRIPLES[mutant.machine][-1]

    report = explore_scene(mutant.machine, setup, actions, initial=initial, implementation=version)

    failure = report.failure
    assert failure is not None
    assert len(failure.scene.actions) == 2
    assert failure.switches == 2
    assert any(turn.result == BLOCKED for turn in failure.turns)
    text = format_report(build_report(failure, ""))
    assert "the turn passed from one to another two times" in " ".join(text.split())


def test_a_store_that_keeps_what_never_changes_is_opened_anew_and_passes() -> None:
    """What it has kept in one schedule would be a statement less in the next one."""
    version = load_changed_implementation(LIMITS_KEPT_BY_THE_STORE)

    report = explore_scene("admission", ONE_SLOT, LAST_SLOT, implementation=version)

    assert report.failure is None
    assert report.is_complete
    assert {outcomes for outcomes, _, _ in report.results} == {
        ("accepted", "global_full"),
        ("global_full", "accepted"),
    }


def test_an_implementation_that_never_does_the_same_twice_is_told_as_that() -> None:
    """Opening its stores anew does not help where the process itself remembers."""
    version = load_changed_implementation(EVERY_THIRD_CALL_READS_TWICE)

    report = run_schedules("admission", "quick", seed=1, implementation=version)

    assert report.verdict is Verdict.FAIL
    assert report.failures == []
    assert any("other statements in the same schedule" in problem for problem in report.problems)

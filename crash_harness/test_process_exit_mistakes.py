"""Planted mistakes: each makes the exits fail, and the failure names the boundary."""

from dataclasses import dataclass, replace

import pytest

from conformance.changed_source import Change
from crash_harness.exit_report import CaseName, ExitReport
from crash_harness.exits import run_exits
from model.checking.explore import Verdict
from model.checking.trace_json import dump_report, load_report
from model.checking.trace_text import format_report

STORE = "impl/sqlite/admission_store.py"
CONNECTION = "impl/sqlite/connection.py"
LEDGER = "impl/sqlite/reservation.py"
RECEIVER = "impl/sqlite/receiver.py"
SPLIT = """\
            connection.execute("commit")
            connection.execute("begin immediate")
"""
INSERT_TASK = (
    '            connection.execute(\n                """\n                insert into task'
)
INSERT_EFFECT = (
    '            effect = connection.execute(\n                """\n'
    "                insert into effect"
)
CANCEL = """\
                \"\"\"
                update task
                set state = 'cancelled'"""
LOCK = '            connection.execute("rollback")\n        connection.execute(begin)'
CLOSE = "        self._connection.close()\n\n    def __enter__"
READ_INTENT = """\
        with transaction(connection):
            intent = connection.execute(
                \"\"\"
                select payload, safety, cap, spent, ticket"""
INIT = "def init(path: StorePath, name"
FIND_OLD = '''\
def _find_old(ledger: Ledger, intent_id: str) -> Permit | None:
    row = ledger._connection.execute(
        """
        select seq, payload, safety from reservation join intent using (intent_id)
        where intent_id = :intent_id and reservation.ticket is null
        """,
        {"intent_id": intent_id},
    ).fetchone()
    if row is None:
        return None
    seq, payload, safety = row
    return Permit(
        ledger=ledger.name, intent_id=intent_id, seq=seq, payload=payload.decode(),
        safety=Safety(safety),
    )


'''


@dataclass(frozen=True, slots=True)
class Mistake:
    """A mistake as text changes, and the operation and the boundaries that have to be named."""

    machine: str
    operation: str
    boundaries: tuple[str, ...]
    changes: tuple[Change, ...]


MISTAKES = {
    "intent and task in two transactions": Mistake(
        "admission",
        "admit",
        ("after commit", "between begin (2) and insert task", "before commit (2)"),
        (
            Change(STORE, INSERT_TASK, SPLIT + INSERT_TASK),
            Change(CONNECTION, "foreign_keys: bool = True", "foreign_keys: bool = False"),
        ),
    ),
    "intent and task in two transactions, and the schema refuses": Mistake(
        "admission",
        "admit",
        ("after rollback",),
        (Change(STORE, INSERT_TASK, SPLIT + INSERT_TASK),),
    ),
    "effect and done in two transactions": Mistake(
        "admission",
        "resolve",
        ("after commit", "between begin (2) and update task", "before commit (2)"),
        (
            Change(
                STORE,
                "                return ResolveOutcome.STALE\n",
                f"                return ResolveOutcome.STALE\n{SPLIT}",
            ),
        ),
    ),
    "deduplication row and effect in two transactions": Mistake(
        "reservation",
        "perform",
        ("after commit", "between begin (2) and insert effect", "before commit (2)"),
        (Change(RECEIVER, INSERT_EFFECT, SPLIT + INSERT_EFFECT),),
    ),
    "permit returned before the commit": Mistake(
        "reservation",
        "reserve",
        ("after insert reservation",),
        (
            Change(LEDGER, READ_INTENT, READ_INTENT.replace("transaction", "lazily")),
            Change(LEDGER, "    reading,\n    trans", "    lazily,\n    reading,\n    trans"),
            Change(
                CONNECTION,
                "def closing_on_error(",
                "def lazily(connection: Connection) -> Iterator[None]:\n"
                '    connection.execute("begin immediate")\n    yield\n\n\n'
                "@contextlib.contextmanager\ndef closing_on_error(",
            ),
            Change(CONNECTION, LOCK, LOCK.replace("rollback", "commit")),
            Change(
                "impl/sqlite/store.py",
                CLOSE,
                "        if self._connection.in_transaction:\n"
                f'            self._connection.execute("commit")\n{CLOSE}',
            ),
        ),
    ),
    "a commit moved one statement earlier": Mistake(
        "admission",
        "cancel_unstarted",
        ("after commit",),
        (
            Change(
                STORE,
                CANCEL,
                '                "commit"\n            )\n'
                f"            updated = connection.execute(\n{CANCEL}",
            ),
            Change(
                CONNECTION,
                '        connection.execute("commit")\n    except',
                "        if connection.in_transaction:\n"
                '            connection.execute("commit")\n    except',
            ),
        ),
    ),
    "the error of a commit is swallowed": Mistake(
        "admission",
        "cancel_unstarted",
        ("before commit", "after commit"),
        (
            Change(
                CONNECTION,
                '        connection.execute("commit")\n    except',
                "        with contextlib.suppress(sqlite3.OperationalError):\n"
                '            connection.execute("commit")\n    except',
            ),
        ),
    ),
    "an old reservation is sent again after a restart": Mistake(
        "reservation",
        "attempt",
        ("ledger: after commit", "receiver: before commit"),
        (
            Change(
                LEDGER,
                "def init(path: StorePath, name",
                f"{FIND_OLD}def init(path: StorePath, name",
            ),
            Change(
                LEDGER,
                "    reserved = ledger.reserve(intent_id)\n",
                "    reserved = _find_old(ledger, intent_id) or ledger.reserve(intent_id)\n",
            ),
        ),
    ),
}


def _run(mistake: Mistake, **options: object) -> ExitReport:
    return run_exits(
        mistake.machine,
        operation=mistake.operation,
        changes=mistake.changes,
        **options,  # type: ignore[arg-type]
    )


@pytest.mark.parametrize("name", MISTAKES)
def test_a_planted_mistake_fails_and_its_boundary_is_named(name: str) -> None:
    """Operation and boundary are those at which the mistake shows, and nothing else is broken."""
    mistake = MISTAKES[name]

    report = _run(mistake)

    failed = {row.boundary for row in report.rows if row.failures}
    assert report.verdict is Verdict.FAIL
    assert report.problems == ()
    assert set(mistake.boundaries) <= failed
    assert {each.case.operation for each in report.failures} == {mistake.operation}


def test_a_failure_is_a_trace_that_a_file_can_hold() -> None:
    """It starts at the beginning, ends at the crash, and can be read back."""
    mistake = MISTAKES["effect and done in two transactions"]

    report = _run(mistake, stops_at_failure=True)

    failure = report.failures[0]
    last = failure.report.trace.steps[-1]
    text = format_report(failure.report)
    assert last.crash is not None
    assert last.crash.boundary.startswith("resolve / ")
    assert load_report(dump_report(failure.report)) == failure.report
    assert "r1: state is inflight, specified done" in text
    assert failure.case.command in text


def test_one_case_alone_is_repeated_by_its_name() -> None:
    """The name that stands in a failure brings the same failure again, and runs nothing else."""
    mistake = MISTAKES["effect and done in two transactions"]
    case = _run(mistake, stops_at_failure=True).failures[0].case

    again = run_exits(mistake.machine, case=CaseName.parse(str(case)), changes=mistake.changes)
    whole = run_exits(mistake.machine, case=case)

    assert [each.case for each in again.failures] == [case]
    assert again.cases == 1
    assert (whole.cases, whole.verdict) == (1, Verdict.PASS)


def test_a_mistake_in_the_repeated_call_is_a_step_of_its_own() -> None:
    """The crash left what it may leave; what came of the repeated call is wrong."""
    mistake = MISTAKES["an old reservation is sent again after a restart"]

    report = _run(mistake, boundary="ledger: after commit", stops_at_failure=True)

    crashed, repeated = report.failures[0].report.trace.steps[-2:]
    assert crashed.crash is not None
    assert crashed.observed is None
    assert repeated.crash is None
    assert repeated.observed is not None
    assert replace(crashed.action, meanwhile=None) == repeated.action


def test_only_a_failing_statement_shows_that_its_error_is_swallowed() -> None:
    """No death can show it: that is what the errors at each boundary are for."""
    mistake = MISTAKES["the error of a commit is swallowed"]

    report = _run(mistake)

    assert {each.case.ending for each in report.failures} == {"busy", "io_error"}

"""Files that an earlier version has written are opened, and a changed schema has a new number.

`formats/` has a dump of each kind of store, with work in every state. A file is never changed: a
schema that changes takes another number, and gets a file of its own.
"""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from impl.sqlite import admission, receiver, reservation
from impl.sqlite.admission_store import AdmissionStore, Limits
from impl.sqlite.receiver import Receiver
from impl.sqlite.reservation import Ledger
from impl.sqlite.vocabulary import Receipt, Safety

FOLDER = Path(__file__).with_name("formats")
LIMITS = Limits(global_slots=4, global_bytes=40, tenant_slots=3, tenant_bytes=30, item_bytes=20)
NOW = 7


def work_on_admission(path: Path) -> None:
    """Leave a record in each of the five states, one of them redriven."""
    admission.init(path, LIMITS)
    with AdmissionStore(path) as store:
        for request_id in ("done", "quarantined", "inflight", "redriven"):
            store.admit(request_id, "A", "中")
            token = store.claim(NOW)
            assert token is not None
            if request_id == "done":
                store.resolve(token, NOW)
            elif request_id != "inflight":
                store.quarantine(token, NOW)
        store.redrive("redriven", 1)
        store.admit("cancelled", "B", "")
        store.cancel_unstarted("cancelled")
        store.admit("queued", "B", "b")


def work_on_ledger(path: Path) -> None:
    """Leave an intent that is confirmed, one that is unknown, and one with nothing spent."""
    reservation.init(path, "L1")
    with Ledger(path) as ledger:
        ledger.open_intent("confirmed", "p", Safety.IDEMPOTENT, 2)
        ledger.reserve("confirmed")
        ledger.reserve("confirmed")
        ledger.confirm("confirmed", 2, Receipt("confirmed", "p", 1))
        ledger.open_intent("unknown", "中", Safety.NON_IDEMPOTENT, 3)
        ledger.reserve("unknown")
        ledger.open_intent("opened", "", Safety.IDEMPOTENT, 0)


def work_on_receiver(path: Path) -> None:
    """Leave two calls of an idempotent id, one of them deduplicated, and a call without effect."""
    receiver.init(path)
    ledger = path.with_name("ledger")
    work_on_ledger(ledger)
    with Ledger(ledger) as source, Receiver(path) as target:
        source.open_intent("sent", "p", Safety.IDEMPOTENT, 3)
        for _ in range(3):
            permit = source.reserve("sent")
            assert not isinstance(permit, str)
            call = target.enter(permit)
            if permit.seq > 1:
                target.perform(call)


KINDS: dict[str, tuple[Callable[[Path], None], Callable[[Path], Any]]] = {
    "admission-101": (work_on_admission, admission.snapshot),
    "ledger-201": (work_on_ledger, reservation.snapshot),
    "receiver-301": (work_on_receiver, receiver.snapshot),
}
every_kind = pytest.mark.parametrize("kind", KINDS)


@every_kind
def test_a_file_of_an_earlier_version_is_read_as_it_was_written(kind: str, tmp_path: Path) -> None:
    """The snapshot of the dumped file is that of a store in which the same work is done today."""
    work, snapshot = KINDS[kind]
    old, new = restore(kind, tmp_path / "old"), tmp_path / "new"
    work(new)

    assert snapshot(old) == snapshot(new)


@every_kind
def test_a_file_is_written_today_as_its_number_says(kind: str, tmp_path: Path) -> None:
    """Another schema under the same number would leave two kinds of files that look alike."""
    old, new = restore(kind, tmp_path / "old"), tmp_path / "new"
    KINDS[kind][0](new)

    assert read(old) == read(new)
    assert read(old)[1] == int(kind.rpartition("-")[2])


def test_work_goes_on_in_a_file_of_an_earlier_version(tmp_path: Path) -> None:
    """The oldest record whose lease has ended is claimed, and its generation goes on."""
    path = restore("admission-101", tmp_path / "old")

    token = admission.claim(path, NOW + 5)

    assert token == admission.Token("inflight", 2)


def restore(kind: str, path: Path) -> Path:
    """Make a file from its dump."""
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript((FOLDER / f"{kind}.sql").read_text("utf-8"))
    return path


def read(path: Path) -> list[Any]:
    """Return all of a file: the numbers that say what it is, the schema, and the rows."""
    with closing(sqlite3.connect(path)) as connection:
        found = [
            connection.execute(f"pragma {name}").fetchone()[0]
            for name in ("application_id", "user_version")
        ]
        schema = connection.execute(
            "select name, type, sql from sqlite_schema order by 1"
        ).fetchall()
        tables = [name for name, kind, _ in schema if kind == "table"]
        selects = [f'select * from "{name}"' for name in tables]  # noqa: S608 - names of our own
        rows = [sorted(connection.execute(select), key=repr) for select in selects]
        return [*found, schema, rows]

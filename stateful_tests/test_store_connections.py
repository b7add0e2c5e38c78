"""What a store does where its connection has other settings, or fails at the edges."""

import contextlib
import sqlite3
from contextlib import closing
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from impl.sqlite import admission, reservation
from impl.sqlite.admission_store import AdmissionStore
from impl.sqlite.connection import (
    PRAGMAS,
    Connection,
    PragmaMismatch,
    connect,
    expect_one_row,
    open_database,
    reading,
    transaction,
)
from impl.sqlite.errors import SchemaMismatch
from impl.sqlite.reservation import Ledger
from model.admission_vocabulary import Limits


def test_a_connection_has_the_settings_that_stand_in_the_pragmas(tmp_path: Path) -> None:
    """Each is read back from SQLite, not from what was set."""
    path = tmp_path / "store"
    admission.init(path)

    with closing(connect(path, create=False)) as connection:
        found = {
            name: connection.execute(f"pragma {name}").fetchone()
            for name in ("journal_mode", "synchronous", "foreign_keys", "busy_timeout")
        }

    assert found == {
        "journal_mode": ("wal",),
        "synchronous": (2,),
        "foreign_keys": (1,),
        "busy_timeout": (10_000,),
    }
    assert PRAGMAS.busy_timeout_ms == 10_000


@pytest.mark.parametrize(
    ("synchronous", "code"), [("off", 0), ("normal", 1), ("full", 2), ("extra", 3)]
)
def test_each_word_for_synchronous_is_the_setting_of_that_name(
    synchronous: str, code: int, tmp_path: Path
) -> None:
    """SQLite reads the setting back as a number; `connect` compares it with its own."""
    pragmas = replace(PRAGMAS, synchronous=synchronous)
    path = tmp_path / "store"
    admission.init(path)

    with closing(connect(path, create=False, pragmas=pragmas)) as connection:
        assert connection.execute("pragma synchronous").fetchone() == (code,)


def test_the_defaults_are_those_of_the_protocol(tmp_path: Path) -> None:
    """A store that is created without limits has them, on both sides."""
    path = tmp_path / "store"
    admission.init(path)

    found = admission.snapshot(path)["limits"]

    assert found == {
        "global_slots": 4,
        "global_bytes": 256,
        "tenant_slots": 2,
        "tenant_bytes": 128,
        "item_bytes": 96,
    }
    assert asdict(Limits()) == found


def test_an_open_ledger_says_its_name(tmp_path: Path) -> None:
    """Whoever has it open can ask whose permits it hands out."""
    path = tmp_path / "ledger"
    reservation.init(path, "L1")

    with Ledger(path) as ledger:
        assert ledger.name == "L1"


class Failing:
    """A connection that fails, or lies about, statements that begin with some words."""

    def __init__(
        self,
        connection: Connection,
        *,
        fails: tuple[str, ...] = (),
        answers: dict[str, int] | None = None,
        close_fails: bool = False,
    ) -> None:
        self.connection = connection
        self.fails = fails
        self.answers = answers or {}
        self.close_fails = close_fails
        self.has_closed = False

    @property
    def in_transaction(self) -> bool:
        """Whether a transaction is open."""
        return self.connection.in_transaction

    def execute(self, sql: str, parameters: Any = None, /) -> Any:
        """Run a statement, or fail it, or give another answer."""
        if sql.startswith(self.fails) and self.fails:
            raise sqlite3.OperationalError(f"{sql} fails")
        if sql in self.answers:
            return self.connection.execute("select :answer", {"answer": self.answers[sql]})
        return self.connection.execute(sql, parameters or {})

    def close(self) -> None:
        """Close, and fail all the same if that is wanted."""
        self.has_closed = True
        self.connection.close()
        if self.close_fails:
            raise sqlite3.OperationalError("the close fails")


def test_an_error_of_the_close_is_told_if_it_is_the_only_one(tmp_path: Path) -> None:
    """A block that ends well ends in the error; one that raises keeps its own."""
    path = tmp_path / "store"
    admission.init(path)
    opened: list[Failing] = []

    def open_failing(path: Any, /, *, create: bool) -> Failing:
        opened.append(Failing(connect(path, create=create), close_fails=True))
        return opened[-1]

    store = AdmissionStore(path, connect=open_failing)
    with pytest.raises(sqlite3.OperationalError, match="the close fails"), store:
        pass
    with pytest.raises(ZeroDivisionError), AdmissionStore(path, connect=open_failing):
        raise ZeroDivisionError

    assert [each.has_closed for each in opened] == [True, True]


def test_a_connection_that_is_refused_is_closed(tmp_path: Path) -> None:
    """Nobody else could: the caller gets an error and no connection, whatever the close does."""
    path = tmp_path / "foreign"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("create table t (a)")
    opened: list[Failing] = []

    def driver(uri: str) -> Failing:
        opened.append(Failing(open_database(uri), close_fails=True))
        return opened[-1]

    with pytest.raises(SchemaMismatch):
        connect(path, create=False, driver=driver)

    assert [each.has_closed for each in opened] == [True]


@pytest.mark.parametrize("name", ["busy_timeout", "synchronous", "foreign_keys"])
def test_a_setting_that_sqlite_did_not_take_is_an_error_of_the_storage(
    name: str, tmp_path: Path
) -> None:
    """A commit that is not durable must not look as if it were."""
    path = tmp_path / "store"
    admission.init(path)

    def driver(uri: str) -> Failing:
        return Failing(open_database(uri), answers={f"pragma {name}": 7})

    with pytest.raises(PragmaMismatch, match=name):
        connect(path, create=False, driver=driver)


def test_a_transaction_that_could_not_be_rolled_back_is_by_the_next_one(tmp_path: Path) -> None:
    """The first error passes, and what it left open is undone before anything else is done."""
    path = tmp_path / "store"
    admission.init(path)
    failing = Failing(connect(path, create=False), fails=("rollback",))
    with pytest.raises(ZeroDivisionError):
        _update_and_raise(failing)
    is_open = [failing.in_transaction]

    failing.fails = ()
    with reading(failing):
        clock = failing.execute("select clock from store").fetchone()

    is_open.append(failing.in_transaction)
    assert clock == (0,)
    assert is_open == [True, False]
    failing.close()


def _update_and_raise(connection: Connection) -> None:
    with transaction(connection):
        connection.execute("update store set clock = 9")
        raise ZeroDivisionError


def test_a_commit_that_fails_passes_its_error_and_leaves_no_transaction(tmp_path: Path) -> None:
    """The outcome is unknown to the caller (C2); the connection can be used again."""
    path = tmp_path / "store"
    admission.init(path)
    failing = Failing(connect(path, create=False), fails=("commit",))

    with pytest.raises(sqlite3.OperationalError, match="commit fails"), transaction(failing):
        failing.execute("update store set clock = 9")

    assert not failing.in_transaction
    failing.fails = ()
    with transaction(failing):
        failing.execute("update store set clock = 1")
    failing.close()


@pytest.mark.parametrize(
    "code", [None, sqlite3.SQLITE_PERM, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_NOTADB]
)
@pytest.mark.parametrize("is_there", [True, False])
def test_an_error_of_the_storage_at_the_open_is_no_missing_store(
    code: int | None,
    is_there: bool,  # noqa: FBT001
    tmp_path: Path,
) -> None:
    """It passes as it is, and is not tried again: only "can't open" may mean that nothing is."""
    path = tmp_path / "store"
    if is_there:
        admission.init(path)
    error = sqlite3.OperationalError("the storage fails")
    if code is not None:  # one that a driver raises by itself has none
        error.sqlite_errorcode = code
    errors = [error]

    def driver(uri: str) -> Connection:
        if errors:
            raise errors.pop()
        return open_database(uri)

    with pytest.raises(sqlite3.OperationalError, match="the storage fails"):
        connect(path, create=False, driver=driver)


@pytest.mark.parametrize("rows", [0, 1, 2])
def test_a_statement_that_must_change_one_row_changes_one(rows: int) -> None:
    """Neither none nor two."""
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute("create table t as select 1 as a union all select 2 union all select 3")
        cursor = connection.execute("update t set a = 0 where a <= :rows", {"rows": rows})

        with (
            contextlib.nullcontext() if rows == 1 else pytest.raises(AssertionError, match="1 row")
        ):
            expect_one_row(cursor)


def test_a_file_can_be_switched_from_one_journal_mode_to_another_and_back(tmp_path: Path) -> None:
    """What the pragmas ask for is what the file has then, whichever it had."""
    path = tmp_path / "store"
    admission.init(path)

    for mode in ("delete", "truncate", "wal", "persist", "wal"):
        pragmas = replace(PRAGMAS, journal_mode=mode)
        with closing(connect(path, create=False, pragmas=pragmas)) as connection:
            assert connection.execute("pragma journal_mode").fetchone() == (mode,)


def test_an_error_while_the_file_is_looked_at_is_no_foreign_file(tmp_path: Path) -> None:
    """Only "not a database" says whose the file is; an error of a driver has no code at all."""
    path = tmp_path / "store"
    admission.init(path)

    def driver(uri: str) -> Failing:
        return Failing(open_database(uri), fails=("pragma application_id",))

    with pytest.raises(sqlite3.OperationalError, match="application_id fails"):
        connect(path, create=False, driver=driver)


def test_an_update_of_no_row_where_one_must_change_commits_nothing(tmp_path: Path) -> None:
    """Something that is not in the schema holds the row back: the claim fails, and nothing stays.

    A claim that committed all the same would hand out a token of no record.
    """
    path = tmp_path / "store"
    admission.init(path)
    opened: list[Connection] = []

    def keep(path: Any, /, *, create: bool) -> Connection:
        opened.append(connect(path, create=create))
        return opened[0]

    with closing(AdmissionStore(path, connect=keep)) as store:
        store.admit("r1", "A", "x")
        before = store.snapshot()
        opened[0].execute(
            "create temp trigger hold before update on task begin select raise(ignore); end"
        )

        with pytest.raises(AssertionError, match="must change 1 row changed 0"):
            store.claim(7)

        assert store.snapshot() == before
        opened[0].execute("drop trigger hold")
        assert store.claim(7) is not None


def test_switching_to_wal_waits_for_another_process_and_not_for_ever(tmp_path: Path) -> None:
    """SQLite answers BUSY at once there; within the busy timeout we ask again, then we tell."""
    path = tmp_path / "store"
    busy = sqlite3.OperationalError("database is locked")
    busy.sqlite_errorcode = sqlite3.SQLITE_BUSY_RECOVERY  # an extended code of BUSY
    refusals = [busy] * 3

    class Busy(Failing):
        """Refuses to switch as often as there are refusals."""

        def execute(self, sql: str, parameters: Any = None, /) -> Any:
            """Run a statement, or refuse it."""
            if sql == "pragma journal_mode = wal" and refusals:
                raise refusals.pop()
            return super().execute(sql, parameters)

    def open_busy(path: Any, /, *, create: bool, busy_timeout_ms: int = 30) -> Connection:
        pragmas = type(PRAGMAS)(busy_timeout_ms=busy_timeout_ms)
        return connect(
            path, create=create, pragmas=pragmas, driver=lambda uri: Busy(open_database(uri))
        )

    open_busy(path, create=True, busy_timeout_ms=900).close()
    assert refusals == []
    refusals = [busy] * 3
    open_busy(tmp_path / "seconds", create=True, busy_timeout_ms=10_000).close()
    assert refusals == []
    refusals = [busy] * 1_000_000
    with pytest.raises(sqlite3.OperationalError, match="locked"):
        open_busy(tmp_path / "other", create=True)
    refusals = [sqlite3.OperationalError("disk I/O error")]
    with pytest.raises(sqlite3.OperationalError, match="I/O"):
        open_busy(tmp_path / "third", create=True)

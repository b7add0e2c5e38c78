"""The seam between the stores and SQLite: how a connection is opened, set up and used.

Everything that the stores ask of a connection is in `Connection` and `Cursor`; nothing else of
`sqlite3` is used. A harness passes `functools.partial(connect, driver=..., pragmas=...)`, or a
function of its own with the shape `Connect`, and so sees, delays or fails each statement.

Not here: the schemas and the decision which kind of store a file is (`store.py`).

Reading hint: `connect` first, then `transaction`. The order inside `connect` matters: nothing
about a file may change before it is known to be ours.
"""

import contextlib
import os
import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Protocol

from impl.sqlite.errors import InvalidInput, SchemaMismatch, StoreMissing

StorePath = str | os.PathLike[str]

APPLICATION_ID: Final = 0x41444D31  # "ADM1" in the header of each of our database files
RETRY_PAUSE_SECONDS: Final = 0.005
SYNCHRONOUS_CODES: Final = {"off": 0, "normal": 1, "full": 2, "extra": 3}


class Cursor(Protocol):
    """What a statement leaves behind: its rows, or the number of rows that it changed."""

    @property
    def rowcount(self) -> int:
        """Rows changed by an insert, update or delete."""

    def fetchone(self) -> tuple[Any, ...] | None:
        """Return the next row, or None after the last."""

    def fetchall(self) -> list[tuple[Any, ...]]:
        """Return the rows that are left."""


class Connection(Protocol):
    """The whole of the interface that the stores use; it never opens a transaction by itself."""

    @property
    def in_transaction(self) -> bool:
        """Whether a transaction is open."""

    def execute(self, sql: str, parameters: Mapping[str, Any] = ..., /) -> Cursor:
        """Run one statement with named parameters."""

    def close(self) -> None:
        """Close the connection; an open transaction is rolled back."""


Driver = Callable[[str], Connection]
"""Opens a raw connection from a `file:` URI, in autocommit mode, and raises what `sqlite3` raises
(an adapter for another binding translates its errors, `sqlite_errorcode` included)."""


class Connect(Protocol):
    """Opens a connection that is ready for use; `create` allows a missing or blank file."""

    def __call__(self, path: StorePath, /, *, create: bool) -> Connection:
        """Return the connection, or raise `StoreMissing` or `SchemaMismatch`."""


@dataclass(frozen=True, slots=True)
class Pragmas:
    """The settings of a connection: each value stands here once, to be set and to be checked.

    `full` makes a commit in WAL mode durable before it is acknowledged (C4).
    """

    journal_mode: str = "wal"
    synchronous: str = "full"
    foreign_keys: bool = True
    busy_timeout_ms: int = 10_000


PRAGMAS: Final = Pragmas()


class PragmaMismatch(sqlite3.OperationalError):
    """SQLite did not take a setting, for example WAL on a file system without shared memory.

    It is an error of the storage, not one of the protocols, and so a class of SQLite's family.
    """


@dataclass(frozen=True, slots=True)
class Identity:
    """What a database file says about its origin."""

    application_id: int
    user_version: int
    table_count: int

    @property
    def is_blank(self) -> bool:
        """Whether the file carries no mark and no schema of anyone."""
        return self.application_id == self.user_version == self.table_count == 0


def open_database(uri: str) -> Connection:
    """Open a raw connection with the standard `sqlite3`; the busy timeout is set by pragma."""
    return sqlite3.connect(uri, uri=True, isolation_level=None, timeout=0)


def connect(
    path: StorePath, /, *, create: bool, driver: Driver = open_database, pragmas: Pragmas = PRAGMAS
) -> Connection:
    """Open the file, make sure that it is one of ours, then apply and check the settings.

    With `create`, a missing file is created empty and a blank one accepted. Without it both are
    `StoreMissing`, and nothing is created. Any other file is `SchemaMismatch` and stays as it is.
    """
    connection = _open(path, create=create, driver=driver)
    with closing_on_error(connection):
        # First of all: from here on, each statement may have to wait for another process.
        _set_and_check(connection, "busy_timeout", pragmas.busy_timeout_ms)
        with reading(connection):
            identity = read_identity(connection, path)
        if identity.is_blank and not create:
            raise StoreMissing(f"{os.fspath(path)!r} holds no schema; init creates the store")
        if not identity.is_blank and identity.application_id != APPLICATION_ID:
            raise SchemaMismatch(
                f"{os.fspath(path)!r} is a database of application {identity.application_id:#x}; "
                f"{APPLICATION_ID:#x} is needed"
            )
        _set_journal_mode(connection, pragmas)
        _set_and_check(
            connection, "synchronous", pragmas.synchronous, SYNCHRONOUS_CODES[pragmas.synchronous]
        )
        _set_and_check(connection, "foreign_keys", int(pragmas.foreign_keys))
    return connection


def read_identity(connection: Connection, path: StorePath) -> Identity:
    """Read what the file says about its origin, inside the caller's transaction.

    A transaction, because another process may be creating the store. And plain pragmas, not the
    table-valued functions of the same names: those crash SQLite once a connection's content has
    been replaced by `sqlite3_deserialize`.
    """
    try:
        return Identity(
            application_id=_read(connection, "application_id"),
            user_version=_read(connection, "user_version"),
            table_count=expect_row(
                connection.execute("select count(*) from sqlite_master").fetchone()
            )[0],
        )
    except sqlite3.DatabaseError as error:
        if _primary_code(error) != sqlite3.SQLITE_NOTADB:
            raise
        raise SchemaMismatch(f"{os.fspath(path)!r} is not an SQLite database") from error


@contextlib.contextmanager
def transaction(connection: Connection) -> Iterator[None]:
    """Run the block as one write transaction: all of it is committed, or none.

    `begin immediate` takes the write lock before anything is read, so what the block decides on
    can't change under it. Any exception rolls back and is passed on. If the commit itself raises,
    its outcome is unknown (C2); the connection can be used again.
    """
    with _bracket(connection, "begin immediate"):
        yield


@contextlib.contextmanager
def reading(connection: Connection) -> Iterator[None]:
    """Run the block on one consistent state; it writes nothing and waits for no writer."""
    with _bracket(connection, "begin deferred"):
        yield


@contextlib.contextmanager
def closing_on_error(connection: Connection) -> Iterator[None]:
    """Close the connection if the block raises; an error of the close never hides the first."""
    try:
        yield
    except BaseException:
        with contextlib.suppress(Exception):
            connection.close()
        raise


def expect_row(row: tuple[Any, ...] | None) -> tuple[Any, ...]:
    """Return a row that must be there; its absence is a defect of this package, said loudly."""
    if row is None:
        raise AssertionError("a query that always has a row returned none")
    return row


def expect_one_row(cursor: Cursor) -> None:
    """Demand that a statement changed exactly one row; otherwise nothing may be committed."""
    if cursor.rowcount != 1:
        raise AssertionError(f"a statement that must change 1 row changed {cursor.rowcount}")


@contextlib.contextmanager
def _bracket(connection: Connection, begin: str) -> Iterator[None]:
    try:
        # A transaction is still open here only if its rollback failed the last time.
        if connection.in_transaction:
            connection.execute("rollback")
        connection.execute(begin)
        yield
        connection.execute("commit")
    except BaseException:
        with contextlib.suppress(Exception):
            if connection.in_transaction:
                connection.execute("rollback")
        raise


def _open(path: StorePath, *, create: bool, driver: Driver) -> Connection:
    uri = f"{_absolute(path).as_uri()}?mode={'rwc' if create else 'rw'}"
    try:
        return driver(uri)
    except sqlite3.OperationalError as error:
        if create or _primary_code(error) != sqlite3.SQLITE_CANTOPEN:
            raise
        if _is_absent(path):
            name = os.fspath(path)
            raise StoreMissing(f"{name!r} does not exist; init creates the store") from error
    # The file is there; it may have been created since SQLite looked for it. A second failure
    # is the storage's own and passes.
    return driver(uri)


def _absolute(path: StorePath) -> Path:
    name = os.fspath(path)
    # SQLite would open the file named by the part before the NUL.
    if "\0" in name:
        raise InvalidInput(f"path {name!r} holds a NUL")
    return Path(name).absolute()


def _is_absent(path: StorePath) -> bool:
    # Asked only after SQLite failed to open. The file itself must never be opened past SQLite:
    # closing it would drop the locks that this process holds on it.
    try:
        Path(path).stat()
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError:
        return False
    return False


def _primary_code(error: sqlite3.Error) -> int | None:
    code: int | None = getattr(error, "sqlite_errorcode", None)
    return None if code is None else code & 0xFF


def _set_journal_mode(connection: Connection, pragmas: Pragmas) -> None:
    """Switch to the journal mode unless the file is in it already.

    The switch is itself a transaction with a rollback journal. `extra` syncs the deletion of that
    journal: otherwise a power loss could bring it back, and it would undo the switch and, with
    it, what was committed since. SQLite answers BUSY at once when several processes switch a new
    file together, so we try again within the busy timeout.
    """
    wanted = pragmas.journal_mode
    deadline_seconds = time.monotonic() + pragmas.busy_timeout_ms / 1000
    while _read(connection, "journal_mode") != wanted:
        connection.execute("pragma synchronous = extra")
        try:
            _set_and_check(connection, "journal_mode", wanted)
        except sqlite3.OperationalError as error:
            is_busy = _primary_code(error) == sqlite3.SQLITE_BUSY
            if not is_busy or time.monotonic() >= deadline_seconds:
                raise
            time.sleep(RETRY_PAUSE_SECONDS)


def _set_and_check(
    connection: Connection, name: str, value: str | int, code: int | None = None
) -> None:
    expected = value if code is None else code
    connection.execute(f"pragma {name} = {value}")
    actual = _read(connection, name)
    if actual != expected:
        raise PragmaMismatch(f"pragma {name} is {actual!r} after it was set to {expected!r}")


def _read(connection: Connection, name: str) -> Any:
    return expect_row(connection.execute(f"pragma {name}").fetchone())[0]

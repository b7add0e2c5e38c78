"""Faults of the storage, through the seam that every store has: the driver of its connections.

Modelled: an I/O error that a statement returns, the commit included, before it did anything,
after all of it was done, or after SQLite has rolled the transaction back by itself; a write lock
in another connection's hand; a disk that is full (`max_page_count`). Lock and full disk are the
real ones. One fault at a time, for one operation.

Not modelled: the exit of a process and the loss of power, bytes that are damaged, a commit that
raises at its sync and is found committed later, an error of `close`.

Reading hint: the faults are data, so that a failing program prints them; `FaultyStorage` makes
them happen.
"""

import contextlib
import sqlite3
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, Final

PAGE_BYTES: Final = 512
"""Small pages, so that a full disk is met by small stores."""
MOST_PAGES: Final = 1_073_741_823
"""SQLite's own default of `max_page_count`."""
NO_PARAMETERS: Final[Mapping[str, Any]] = {}


class Moment(StrEnum):
    """When, seen from the statement that returns the error."""

    BEFORE = "before"
    AFTER = "after"
    ROLLED_BACK = "rolled_back"


@dataclass(frozen=True, slots=True)
class IoError:
    """The n-th statement of the operation returns an I/O error; opening a file is one as well."""

    statement: int
    moment: Moment = Moment.BEFORE


@dataclass(frozen=True, slots=True)
class IoErrorAtCommit:
    """The commit of the n-th write transaction of the operation returns an I/O error."""

    transaction: int = 0
    moment: Moment = Moment.BEFORE


@dataclass(frozen=True, slots=True)
class Busy:
    """Another connection holds the write lock of the file during the operation."""

    file: str


@dataclass(frozen=True, slots=True)
class Full:
    """The disk has room for so many more pages of the file during the operation."""

    file: str
    spare_pages: int = 0


Fault = IoError | IoErrorAtCommit | Busy | Full


KINDS: Final[Mapping[type[Fault], str]] = {
    IoError: "I/O error",
    IoErrorAtCommit: "I/O error at commit",
    Busy: "busy",
    Full: "disk full",
}


def name_fault(fault: Fault) -> str:
    """Return what a fault is counted as: its kind, and its moment where it has one."""
    kind = KINDS[type(fault)]
    return f"{kind}, {fault.moment}" if isinstance(fault, IoError | IoErrorAtCommit) else kind


FAULT_NAMES: Final = (
    *(name_fault(IoError(0, moment)) for moment in Moment),
    *(name_fault(IoErrorAtCommit(0, moment)) for moment in Moment),
    name_fault(Busy("")),
    name_fault(Full("")),
)
"""Everything that `name_fault` returns."""


@dataclass(slots=True)
class Watched:
    """What one operation did at the storage.

    `commits` counts the write transactions that were committed. `raised` is the first error that
    came out of the storage, and `raised_by` the statement that it came from.
    """

    opened: int = 0
    statements: list[str] = field(default_factory=list)
    commits_begun: int = 0
    commits: int = 0
    is_commit_uncertain: bool = False
    raised: Exception | None = None
    raised_by: str = ""

    def note(self, error: Exception, statement: str) -> None:
        """Keep an error if it is the first; what comes of it later is not the cause."""
        if self.raised is None:
            self.raised, self.raised_by = error, statement


class FaultyStorage:
    """The driver of all connections of one subject, and the fault that one operation meets."""

    def __init__(self) -> None:
        self.watched = Watched()
        self.connections: list[FaultyConnection] = []
        self._fault: Fault | None = None
        self._path: Path | None = None

    def open(self, uri: str) -> "FaultyConnection":
        """Open a raw connection, as a driver does."""
        self.watched.opened += 1
        moment = self.arrive("open", is_write_commit=False)
        if moment is not None:
            raise self.fail("open")
        raw = sqlite3.connect(uri, uri=True, isolation_level=None, timeout=0)
        raw.execute(f"pragma page_size = {PAGE_BYTES}")
        connection = FaultyConnection(self, raw, uri)
        self.connections.append(connection)
        self._fill(connection)
        return connection

    @contextlib.contextmanager
    def watch(self, fault: Fault | None = None, path: Path | None = None) -> Iterator[Watched]:
        """Record what an operation does, and let it meet the fault, on the file that it names."""
        self.watched = Watched()
        self._fault, self._path = fault, path
        lock = None
        if isinstance(fault, Busy) and path is not None and path.exists():
            lock = sqlite3.connect(path, isolation_level=None, timeout=0)
            lock.execute("begin immediate")
        for connection in self.connections:
            self._fill(connection)
        try:
            yield self.watched
        finally:
            self._fault = None
            if lock is not None:
                lock.execute("rollback")
                lock.close()
            for connection in self.connections:
                connection.raw.execute(f"pragma max_page_count = {MOST_PAGES}")

    def _fill(self, connection: "FaultyConnection") -> None:
        """Leave this connection as many more pages as the fault says, if it is about its file."""
        if not isinstance(self._fault, Full) or self._path is None:
            return
        if connection.uri.startswith(self._path.absolute().as_uri() + "?"):
            pages = connection.raw.execute("pragma page_count").fetchone()[0]
            most = pages + self._fault.spare_pages
            connection.raw.execute(f"pragma max_page_count = {max(most, 1)}")

    def arrive(self, statement: str, *, is_write_commit: bool) -> Moment | None:
        """Count a statement, and return when it fails if it is the one that does."""
        watched, fault = self.watched, self._fault
        number = len(watched.statements)
        watched.statements.append(statement)
        commit = watched.commits_begun
        watched.commits_begun += is_write_commit
        if isinstance(fault, IoError) and fault.statement == number:
            return fault.moment
        if isinstance(fault, IoErrorAtCommit) and is_write_commit and fault.transaction == commit:
            return fault.moment
        return None

    def fail(self, statement: str) -> sqlite3.OperationalError:
        """Return the I/O error of this statement."""
        error = sqlite3.OperationalError("disk I/O error")
        error.sqlite_errorcode = sqlite3.SQLITE_IOERR
        error.sqlite_errorname = "SQLITE_IOERR"
        self.watched.note(error, statement)
        return error


class FaultyConnection:
    """A connection of the implementation: all that a store asks of one, and no more."""

    def __init__(self, storage: FaultyStorage, raw: sqlite3.Connection, uri: str) -> None:
        self.raw = raw
        self.uri = uri
        self._storage = storage
        self._is_writing = False

    @property
    def in_transaction(self) -> bool:
        """Whether a transaction is open."""
        return self.raw.in_transaction

    def execute(self, sql: str, parameters: Mapping[str, Any] = NO_PARAMETERS, /) -> sqlite3.Cursor:
        """Run one statement, or return the error that it is to meet."""
        storage, watched = self._storage, self._storage.watched
        statement = " ".join(sql.split()).lower()
        is_write_commit = statement == "commit" and self._is_writing and self.in_transaction
        moment = storage.arrive(statement, is_write_commit=is_write_commit)
        if moment is Moment.ROLLED_BACK and self.in_transaction:
            self.raw.execute("rollback")
        if moment in (Moment.BEFORE, Moment.ROLLED_BACK):
            raise storage.fail(statement)
        try:
            cursor = self.raw.execute(sql, parameters)
        except sqlite3.Error as error:
            watched.note(error, statement)
            watched.is_commit_uncertain |= is_write_commit
            raise
        if statement.startswith("begin"):
            self._is_writing = "deferred" not in statement
        watched.commits += is_write_commit
        if moment is Moment.AFTER:
            cursor.close()  # a statement under way would outlive the connection
            raise storage.fail(statement)
        return cursor

    def close(self) -> None:
        """Close the connection; an open transaction is rolled back."""
        if self in self._storage.connections:
            self._storage.connections.remove(self)
        self.raw.close()

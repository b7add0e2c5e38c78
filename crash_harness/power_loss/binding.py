"""APSW behind the seam of the implementation: its connections look like those of `sqlite3`.

The implementation runs unchanged on a `Driver` of this module. Errors of APSW become the
exceptions that `sqlite3` raises, with their codes. Rows are fetched at once, so that no statement
stays open behind the back of a transaction.
"""

import contextlib
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import apsw

OPEN_FLAGS = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE | apsw.SQLITE_OPEN_URI
_CODES: Mapping[type[sqlite3.Error], tuple[int, ...]] = {
    sqlite3.InternalError: (sqlite3.SQLITE_INTERNAL, sqlite3.SQLITE_NOTFOUND),
    sqlite3.OperationalError: (
        sqlite3.SQLITE_ERROR,
        sqlite3.SQLITE_PERM,
        sqlite3.SQLITE_ABORT,
        sqlite3.SQLITE_BUSY,
        sqlite3.SQLITE_LOCKED,
        sqlite3.SQLITE_READONLY,
        sqlite3.SQLITE_INTERRUPT,
        sqlite3.SQLITE_IOERR,
        sqlite3.SQLITE_FULL,
        sqlite3.SQLITE_CANTOPEN,
        sqlite3.SQLITE_PROTOCOL,
        sqlite3.SQLITE_EMPTY,
        sqlite3.SQLITE_SCHEMA,
    ),
    sqlite3.DataError: (sqlite3.SQLITE_TOOBIG,),
    sqlite3.IntegrityError: (sqlite3.SQLITE_CONSTRAINT, sqlite3.SQLITE_MISMATCH),
    sqlite3.InterfaceError: (sqlite3.SQLITE_MISUSE, sqlite3.SQLITE_RANGE),
}
_CLASSES = {code: kind for kind, codes in _CODES.items() for code in codes}

Observer = Callable[[bool], None]
"""Told when a commit of a write transaction starts (False), and when it has returned (True)."""


def translate_error(error: apsw.Error) -> sqlite3.Error:
    """Return the exception that `sqlite3` would have raised, its extended code included."""
    code: int = getattr(error, "result", sqlite3.SQLITE_MISUSE)
    extended: int = getattr(error, "extendedresult", code)
    translated = _CLASSES.get(code & 0xFF, sqlite3.DatabaseError)(str(error))
    translated.sqlite_errorcode = extended
    names = apsw.mapping_extended_result_codes | apsw.mapping_result_codes
    translated.sqlite_errorname = str(names.get(extended, "SQLITE_ERROR"))
    return translated


@contextlib.contextmanager
def translated_errors() -> Iterator[None]:
    """Raise what `sqlite3` would raise for whatever APSW raises in the block."""
    try:
        yield
    except apsw.Error as error:
        raise translate_error(error) from error


class BoundCursor:
    """What a statement has left behind."""

    __slots__ = ("_rows", "rowcount")

    def __init__(self, rows: list[tuple[Any, ...]], rowcount: int) -> None:
        self._rows = rows
        self.rowcount = rowcount

    def fetchone(self) -> tuple[Any, ...] | None:
        """Return the next row, or None after the last."""
        return self._rows.pop(0) if self._rows else None

    def fetchall(self) -> list[tuple[Any, ...]]:
        """Return the rows that are left."""
        rows, self._rows = self._rows, []
        return rows


class BoundConnection:
    """A connection of APSW with the part of `sqlite3.Connection` that the stores use."""

    __slots__ = ("_connection", "_is_writing", "_observe_commit")

    def __init__(self, connection: apsw.Connection, observe_commit: Observer | None) -> None:
        self._connection = connection
        self._observe_commit = observe_commit
        self._is_writing = False

    @property
    def in_transaction(self) -> bool:
        """Whether a transaction is open."""
        return self._connection.in_transaction

    def execute(self, sql: str, parameters: Mapping[str, Any] | None = None, /) -> BoundCursor:
        """Run one statement with named parameters, and fetch its rows."""
        verb = sql[:16].lower()
        is_commit = verb == "commit" and self._is_writing
        observe = self._observe_commit if is_commit else None
        if observe is not None:
            observe(False)  # noqa: FBT003 - the shape of `Observer`
        before = self._connection.total_changes()
        try:
            rows = self._connection.execute(sql, parameters).fetchall()
        except apsw.Error as error:
            raise translate_error(error) from error
        if verb.startswith("begin"):
            self._is_writing = verb == "begin immediate"
        if observe is not None:
            observe(True)  # noqa: FBT003 - the shape of `Observer`
        has_changed = self._connection.total_changes() != before
        self._is_writing = self._is_writing or has_changed  # a deferred transaction may write
        return BoundCursor(rows, self._connection.changes() if has_changed else 0)

    def close(self) -> None:
        """Close the connection; an open transaction is rolled back."""
        with translated_errors():
            self._connection.close()


def open_bound(
    uri: str,
    vfs: str,
    *,
    setup: tuple[str, ...] = (),
    observe_commit: Observer | None = None,
) -> BoundConnection:
    """Open a connection over a VFS, and run the statements of `setup` on it before anyone else."""
    with translated_errors():
        connection = apsw.Connection(uri, flags=OPEN_FLAGS, vfs=vfs)
        for statement in setup:
            connection.execute(statement).fetchall()
    return BoundConnection(connection, observe_commit)

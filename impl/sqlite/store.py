"""What the three kinds of store have in common: their schema file, their creation, their opening.

No rule of a protocol is decided here.
A store owns one connection, keeps nothing else in memory, and is for one thread.
"""

import contextlib
import os
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import ClassVar, Self

from impl.sqlite.connection import (
    APPLICATION_ID,
    Connect,
    Connection,
    StorePath,
    closing_on_error,
    connect,
    read_identity,
    reading,
    transaction,
)
from impl.sqlite.errors import SchemaMismatch, StoreMissing


@dataclass(frozen=True, slots=True)
class Schema:
    """A kind of store: the file with its tables, beside this module, and its number.

    The number (kind and version in one) is stored as SQLite's `user_version`.
    """

    file: str
    user_version: int

    def statements(self) -> Iterator[str]:
        """Yield the statements of the file one by one, without its lines of comment."""
        statement = ""
        for line in Path(__file__).with_name(self.file).read_text("utf-8").splitlines():
            if line.lstrip().startswith("--"):
                continue
            statement += line + "\n"
            if sqlite3.complete_statement(statement):
                yield statement.strip()
                statement = ""


class Store:
    """An open store of one kind; a context manager that closes its connection."""

    schema: ClassVar[Schema]

    def __init__(self, path: StorePath, *, connect: Connect = connect) -> None:
        """Open an existing store.

        `StoreMissing` if there is none, and nothing is created; `SchemaMismatch` if the file is
        something else or a store of another kind or version.
        """
        self._connection = connect(path, create=False)
        with closing_on_error(self._connection):
            with reading(self._connection):
                is_there = has_schema(self._connection, self.schema, path)
            if not is_there:
                raise StoreMissing(f"{os.fspath(path)!r} holds no schema; init creates the store")

    def close(self) -> None:
        """Close the connection; the store can't be used after it."""
        self._connection.close()

    def __enter__(self) -> Self:
        """Return the store itself."""
        return self

    def __exit__(
        self,
        exception_type: type[BaseException] | None,
        exception: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Close the store; an error of the close never hides one that is under way."""
        if exception is None:
            self.close()
            return
        with contextlib.suppress(Exception):
            self.close()


def has_schema(connection: Connection, schema: Schema, path: StorePath) -> bool:
    """Say, inside the caller's transaction, whether the store exists or the file is blank.

    `SchemaMismatch` if the file holds anything else.
    """
    identity = read_identity(connection, path)
    if identity.is_blank:
        return False
    found = (identity.application_id, identity.user_version)
    if found != (APPLICATION_ID, schema.user_version):
        raise SchemaMismatch(
            f"{os.fspath(path)!r} has application id and version {found}; "
            f"{(APPLICATION_ID, schema.user_version)} is needed for {schema.file}"
        )
    return True


@contextlib.contextmanager
def creation(
    path: StorePath, schema: Schema, connect: Connect
) -> Iterator[tuple[Connection, bool]]:
    """Run the block in the transaction that makes sure of the schema.

    Yields the connection and whether the store is new. The block fills a new store or compares an
    existing one. Tables and first rows are committed together, so a half-made store is never
    seen; of several processes that create at once, one does and the others find it done.
    """
    connection = connect(path, create=True)
    with closing_on_error(connection), transaction(connection):
        is_new = not has_schema(connection, schema, path)
        if is_new:
            for statement in schema.statements():
                connection.execute(statement)
            connection.execute(f"pragma user_version = {schema.user_version}")
            connection.execute(f"pragma application_id = {APPLICATION_ID}")
        yield connection, is_new
    connection.close()

"""Where a database of a subject lives: a file as in production, or one whose content is put back.

`RealFile` is used through the implementation's own `connect`, WAL and all.
`ImageFile` serves the exhaustive walk, which restores a database tens of thousands of times:
it writes an earlier content into the file under a connection that stays open, and gives it a
change counter that the connection has never seen, as another process that had written would.
SQLite then drops its cached pages and keeps the schema and the prepared statements.

`sqlite3.Connection.deserialize` would be the plain way, but in SQLite 3.40.1 a prepared statement
that outlives it reads freed memory (docs/track_record.md).
"""

import functools
import os
import sqlite3
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

from conformance.implementation import Implementation
from conformance.run_end import MEMORY, begin_scratch_name

PAGE_BYTES = 512
COUNTERS = (slice(24, 28), slice(92, 96))
"""Header fields "file change counter" and "version-valid-for", which must be equal."""
FIRST_FRESH_COUNTER = 1 << 20
"""Above every value that a store reaches by its own commits."""
COUNTER_STRIDE = 1 << 10
"""More than any number of commits between two restores."""


class Place(Protocol):
    """A database file of a subject."""

    path: Path

    def connect(self, path: Any, /, *, create: bool) -> Any:
        """Open a connection for the implementation, through its own `connect`."""

    def observer(self) -> sqlite3.Connection | None:
        """Return the second connection that reads durable state, None while there is no schema."""

    def image(self) -> bytes:
        """Return the content of the file."""

    def restore(self, image: bytes) -> None:
        """Put an earlier content back."""

    def has_open_transaction(self) -> bool:
        """Tell whether the implementation has left a transaction open, where one can see it."""

    def close(self) -> None:
        """Close what is open."""


def _has_schema(connection: sqlite3.Connection) -> bool:
    count: int = connection.execute("select count(*) from sqlite_master").fetchone()[0]
    return count > 0


class RealFile:
    """A database file as in production."""

    def __init__(
        self,
        path: Path,
        implementation: Implementation,
        **options: Any,
    ) -> None:
        """Name the file; nothing is created. `options` go to the implementation's `connect`."""
        self.path = path
        self._connect = functools.partial(implementation.connection.connect, **options)
        self._observer: sqlite3.Connection | None = None

    def connect(self, path: Any, /, *, create: bool) -> Any:
        """Open a connection of the implementation."""
        return self._connect(path, create=create)

    def observer(self) -> sqlite3.Connection | None:
        """Return the second connection, opened when the file first has a schema."""
        if self._observer is None and self.path.exists() and self.path.stat().st_size:
            connection = sqlite3.connect(
                f"{self.path.absolute().as_uri()}?mode=rw", uri=True, isolation_level=None
            )
            if not _has_schema(connection):
                connection.close()
                return None
            self._observer = connection
        return self._observer

    def image(self) -> bytes:
        """Return the content as one file, the write-ahead log included."""
        observer = self.observer()
        return b"" if observer is None else observer.serialize()

    def restore(self, image: bytes) -> None:
        """Replace the file; for a place that nobody has open."""
        self.close()
        for suffix in ("", "-wal", "-shm", "-journal"):
            Path(f"{self.path}{suffix}").unlink(missing_ok=True)
        if image:
            self.path.write_bytes(image)

    def has_open_transaction(self) -> bool:
        """Nothing is seen of a connection that the implementation closed itself."""
        return False

    def close(self) -> None:
        """Close the second connection."""
        if self._observer is not None:
            self._observer.close()
            self._observer = None


class _Lent:
    """A connection that its borrower can't close; the rest of the seam's interface passes."""

    __slots__ = ("_connection", "execute")

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self.execute = connection.execute

    @property
    def in_transaction(self) -> bool:
        """Whether a transaction is open."""
        return self._connection.in_transaction

    def close(self) -> None:
        """Keep the connection open for the next borrower."""


class ImageFile:
    """A small database file whose whole content is read and put back many times a second.

    It has a rollback journal in memory and no syncs: it is for behaviour, not for crashes.
    """

    def __init__(self, path: Path, implementation: Implementation) -> None:
        """Create an empty file, which the implementation takes for an absent store."""
        self.path = path
        pragmas = replace(
            implementation.connection.PRAGMAS, journal_mode="memory", synchronous="off"
        )
        self._connect = functools.partial(
            implementation.connection.connect, driver=self._open, pragmas=pragmas
        )
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC)
        self._shared: sqlite3.Connection | None = None
        self._observer: sqlite3.Connection | None = None
        self._counter = FIRST_FRESH_COUNTER

    @staticmethod
    def _open(uri: str) -> sqlite3.Connection:
        # Without file locks: the two connections take turns, and a lock is a system call.
        connection = sqlite3.connect(f"{uri}&nolock=1", uri=True, isolation_level=None, timeout=0)
        connection.execute(f"pragma page_size = {PAGE_BYTES}")
        return connection

    def connect(self, path: Any, /, *, create: bool) -> Any:
        """Lend the connection that stays open; before there is a schema, open a real one."""
        if self.observer() is None:
            return self._connect(path, create=create)
        if self._shared is None:
            self._shared = self._connect(path, create=False)
        return _Lent(self._shared)

    def has_open_transaction(self) -> bool:
        """Tell whether the implementation has left a transaction open."""
        return self._shared is not None and self._shared.in_transaction

    def observer(self) -> sqlite3.Connection | None:
        """Return the second connection, opened when the file first has a schema."""
        if self._observer is None and os.fstat(self._file).st_size:
            connection = self._open(f"{self.path.absolute().as_uri()}?mode=rw")
            if not _has_schema(connection):
                connection.close()
                return None
            self._observer = connection
        return self._observer

    def image(self) -> bytes:
        """Return the content of the file, change counters included."""
        return os.pread(self._file, 1 << 24, 0)

    def restore(self, image: bytes) -> None:
        """Write an earlier content into the file, with a change counter nobody has seen."""
        if not image or self.has_open_transaction():
            self._close_connections()
        os.ftruncate(self._file, len(image))
        if image:
            self._counter += COUNTER_STRIDE
            content = bytearray(image)
            for field in COUNTERS:
                content[field] = self._counter.to_bytes(4, "big")
            os.pwrite(self._file, content, 0)

    def _close_connections(self) -> None:
        for connection in (self._shared, self._observer):
            if connection is not None:
                connection.close()
        self._shared = self._observer = None

    def close(self) -> None:
        """Close connections and file."""
        self._close_connections()
        os.close(self._file)


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """Yield a folder that is removed afterwards, in memory where the system has such a place."""
    where = MEMORY if os.access(MEMORY, os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix=begin_scratch_name(), dir=where) as folder:
        yield Path(folder)


Rows = list[tuple[Any, ...]]


def dump(connection: sqlite3.Connection | None) -> Mapping[str, Rows]:
    """Return every row of every table, counters and schema included, in a stable order."""
    if connection is None:
        return {}
    tables = connection.execute(
        "select name from sqlite_master where type = 'table' order by name"
    ).fetchall()
    return {
        name: sorted(connection.execute(f'select * from "{name}"').fetchall(), key=repr)  # noqa: S608 - a name that SQLite gave
        for (name,) in [*tables, ("sqlite_master",)]
    }

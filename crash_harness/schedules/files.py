"""A database file whose rows are put back before each schedule, under connections that stay open.

The file is one as in production, with its write-ahead log and its locks. One more connection reads
what is durable at every turn; the same one puts earlier rows back, in a transaction like any other,
so that connections, prepared statements and the schema live on over thousands of schedules.

Reading hint: an image is the rows of every table, with their rowids, as bytes.
"""

import marshal
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from conformance.implementation import Implementation
from conformance.place import RealFile
from crash_harness.schedules.lanes import Lane, LaneConnection

RESTORES_PER_CHECKPOINT = 200
"""A log that never grows long, so that no operation meets a checkpoint of its own."""


@dataclass(frozen=True, slots=True)
class _Table:
    """The statements that read, empty and fill a table."""

    select: str
    delete: str
    insert: str


class ScheduledFile(RealFile):
    """A database file of a stage; its connections belong to the lane that is running."""

    def __init__(
        self, path: Path, implementation: Implementation, find_lane: Callable[[], Lane]
    ) -> None:
        """Name the file; nothing is created."""
        super().__init__(path, implementation, driver=self._open)
        self.is_kept = False  # whether lanes keep stores of it open
        self._find_lane = find_lane
        self._version: int | None = None
        self._tables: tuple[_Table, ...] | None = None
        self._whole = b""  # some content of the file, for the schema that it has
        self._restored: bytes | None = None
        self._restores = 0

    def _open(self, uri: str) -> LaneConnection:
        return LaneConnection(self._find_lane(), self, uri)

    @property
    def exists(self) -> bool:
        """Whether the file has a schema."""
        return self.observer() is not None

    @property
    def is_there(self) -> bool:
        """Whether the file had a schema when it was last looked at."""
        return self._tables is not None

    def observer(self) -> sqlite3.Connection | None:
        """Return the connection that reads what is durable; None before there is a schema."""
        try:
            connection = super().observer()
        except sqlite3.OperationalError:
            return None  # a switch of the journal mode is under way, and nothing is there yet
        if connection is not None and self._tables is None:
            connection.execute("pragma synchronous = off")
            self._tables = _find_tables(connection)
            self._version = None
        return connection

    def has_new_version(self) -> bool:
        """Tell whether another connection has committed since this was asked last."""
        connection = self.observer()
        if connection is None:
            return False
        version: int = connection.execute("pragma data_version").fetchone()[0]
        has_changed = version != self._version
        self._version = version
        if has_changed:
            self._restored = None
        return has_changed

    def image(self) -> bytes:
        """Return the rows of every table."""
        connection = self.observer()
        if connection is None or self._tables is None:
            return b""
        connection.execute("begin")
        try:
            rows = [connection.execute(table.select).fetchall() for table in self._tables]
        finally:
            connection.execute("commit")
        if not self._whole:
            self._whole = connection.serialize()
        return marshal.dumps(rows)

    def restore(self, image: bytes) -> None:
        """Put earlier rows back; an absent store needs that nobody has the file open."""
        if not image:
            super().restore(image)
            self._tables = self._restored = None
            return
        if not self.exists:
            super().restore(self._whole)
        self.has_new_version()
        if image == self._restored:
            return
        connection = self.observer()
        if connection is None or self._tables is None:
            raise LookupError(f"{self.path.name} does not exist, and rows alone don't make it")
        rows: list[list[tuple[Any, ...]]] = marshal.loads(image)  # noqa: S302 - made by `image`
        connection.execute("pragma foreign_keys = off")
        connection.execute("begin immediate")
        for table, of_table in zip(self._tables, rows, strict=True):
            connection.execute(table.delete)
            if of_table:
                connection.executemany(table.insert, of_table)
        connection.execute("commit")
        self._restored = image
        self._restores += 1
        if self._restores % RESTORES_PER_CHECKPOINT == 0:
            connection.execute("pragma wal_checkpoint(truncate)").fetchall()


def _find_tables(connection: sqlite3.Connection) -> tuple[_Table, ...]:
    """Return every table, with the rowid where no column stands for it."""
    names = connection.execute(
        "select name from sqlite_master where type = 'table' order by name"
    ).fetchall()
    tables = []
    for (name,) in names:
        described = connection.execute(f"pragma table_info({name})").fetchall()
        columns = [column[1] for column in described]
        if not any(column[2].lower() == "integer" and column[5] for column in described):
            columns.insert(0, "rowid")
        listed, marks = ", ".join(columns), ", ".join("?" for _ in columns)
        tables.append(
            _Table(
                select=f"select {listed} from {name}",  # noqa: S608 - names that SQLite gave
                delete=f"delete from {name}",  # noqa: S608 - the same
                insert=f"insert into {name} ({listed}) values ({marks})",  # noqa: S608 - the same
            )
        )
    return tuple(tables)

"""The recorder: a VFS over `unix` that writes down what SQLite asks of the storage.

The files are real; SQLite's locks and its wal-index go through in C, so that several connections
work as in production. For repeatable bytes the recorder is the default VFS while it lives:
SQLite then takes the seed of its random numbers (salts, nonces) from it.

The sync of a directory happens inside `unix` and is inferred: the first sync of a log or journal
that was opened with the right to create it, and the deletion that asks for it.
A `gate` may stop, halve or fail an operation; `death` uses it.
"""

import contextlib
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import apsw

from crash_harness.power_loss.binding import BoundConnection, open_bound
from crash_harness.power_loss.log import (
    CommitReturned,
    CommitStarted,
    Created,
    Deleted,
    DirectorySynced,
    Event,
    StorageEvent,
    Synced,
    Truncated,
    Written,
)

VFS_NAME = "admit-one-recorder"
_LOGS = apsw.SQLITE_OPEN_WAL | apsw.SQLITE_OPEN_MAIN_JOURNAL
_KINDS = _LOGS | apsw.SQLITE_OPEN_MAIN_DB
JULIAN_DAY = 2_451_545.0
"""A day for SQLite's clock, which must not differ between two recordings."""

Perform = Callable[[], Any]


Gate = Callable[[StorageEvent, Perform, "RecordedFile | None"], None]
"""Decides what becomes of an operation on the storage: it calls `perform`, or does other things."""


def carry_out(event: StorageEvent, perform: Perform, file: "RecordedFile | None") -> None:  # noqa: ARG001 - the shape of `Gate`
    """Do what SQLite asks for."""
    perform()


class RecordedFile(apsw.VFSFile):
    """A file of `unix` whose writes, truncations and syncs are written down."""

    def __init__(self, recorder: "Recorder", name: Any, flags: list[int]) -> None:
        path = Path(name.filename() if isinstance(name, apsw.URIFilename) else name)
        is_new = not path.exists()
        self.file = path.name
        self._recorder = recorder
        wanted = flags[0]
        super().__init__("unix", name, flags)
        self._syncs_directory = bool(wanted & _LOGS and wanted & apsw.SQLITE_OPEN_CREATE)
        if is_new:
            recorder.log.append(Created(self.file))

    def xWrite(self, data: Any, offset: int) -> None:  # noqa: N802 - a name of SQLite
        """Write, and write down."""
        self._recorder.record(
            Written(self.file, offset, bytes(data)), lambda: self.write(data, offset), self
        )

    def write(self, data: bytes, offset: int) -> None:
        """Write without a record."""
        super().xWrite(data, offset)

    def xTruncate(self, newsize: int) -> None:  # noqa: N802 - a name of SQLite
        """Truncate, and write down."""
        truncate = super().xTruncate
        self._recorder.record(Truncated(self.file, newsize), lambda: truncate(newsize), self)

    def xSync(self, flags: int) -> None:  # noqa: N802 - a name of SQLite
        """Sync, and write down; the directory too, where `unix` does."""
        sync = super().xSync
        self._recorder.record(Synced(self.file), lambda: sync(flags), self)
        if self._syncs_directory:
            self._syncs_directory = False
            self._recorder.log.append(DirectorySynced(self.file))


class Recorder(apsw.VFS):
    """The VFS and its log; `log` also takes the marks of the workload.

    `setup` are statements for each new connection, `parameters` are added to its URI.
    """

    def __init__(
        self,
        *,
        seed: int = 0,
        gate: Gate = carry_out,
        setup: tuple[str, ...] = (),
        parameters: str = "",
    ) -> None:
        self.log: list[Event] = []
        self.gate = gate
        self._setup = setup
        self._parameters = parameters
        self._chance = random.Random(seed)
        super().__init__(VFS_NAME, "unix", makedefault=True)
        apsw.randomness(0)  # forget the old seed; the next number asks this VFS for one

    def restart(self, seed: int) -> None:
        """Begin a new recording, whose bytes depend on this seed alone."""
        self.log = []
        self._chance = random.Random(seed)
        apsw.randomness(0)

    def record(
        self, event: StorageEvent, perform: Perform, file: RecordedFile | None = None
    ) -> None:
        """Let the gate carry an operation out, and write it down if it did."""
        self.gate(event, perform, file)
        self.log.append(event)

    def xOpen(self, name: Any, flags: list[int]) -> apsw.VFSFile:  # noqa: N802 - a name of SQLite
        """Open a file; only those that outlive a process are recorded."""
        if name is None or not flags[0] & _KINDS:
            return apsw.VFSFile("unix", name, flags)
        return RecordedFile(self, name, flags)

    def xDelete(self, filename: str, syncdir: bool) -> None:  # noqa: FBT001, N802 - given by SQLite
        """Delete, and write down."""
        file = Path(filename).name
        delete = super().xDelete
        self.record(Deleted(file), lambda: delete(filename, syncdir))
        if syncdir:
            self.log.append(DirectorySynced(file))

    def xRandomness(self, numbytes: int) -> bytes:  # noqa: N802 - a name of SQLite
        """Return the bytes that the seed gives."""
        return self._chance.randbytes(numbytes)

    def xCurrentTime(self) -> float:  # noqa: N802 - a name of SQLite
        """Return the same day always."""
        return JULIAN_DAY

    def xCurrentTimeInt64(self) -> int:  # noqa: N802 - a name of SQLite
        """Return the same millisecond always."""
        return int(JULIAN_DAY * 86_400_000)

    def connect(self, uri: str) -> BoundConnection:
        """Open a connection whose commits are marked in the log: a `Driver` of the seam."""
        return open_bound(
            f"{uri}{self._parameters}",
            VFS_NAME,
            setup=self._setup,
            observe_commit=self._mark_commit,
        )

    def watch(self, uri: str) -> BoundConnection:
        """Open a connection that marks nothing: for whoever looks on."""
        return open_bound(f"{uri}{self._parameters}", VFS_NAME)

    def _mark_commit(self, has_returned: bool, /) -> None:  # noqa: FBT001 - the shape of `Observer`
        self.log.append(CommitReturned() if has_returned else CommitStarted())


@contextlib.contextmanager
def recording(**options: Any) -> Iterator[Recorder]:
    """Yield a recorder, and take it from SQLite's list of VFSs afterwards."""
    recorder = Recorder(**options)
    try:
        yield recorder
    finally:
        recorder.unregister()
        apsw.randomness(0)

"""Storage in memory, behind a VFS of its own: fast enough to recover thousands of states a second.

One process and one connection at a time: locks do nothing, and the wal-index is in the memory of
the connection (`locking_mode = exclusive`).
"""

import functools
from collections.abc import Mapping
from typing import Any

import apsw

from crash_harness.power_loss.binding import BoundConnection, open_bound

VFS_NAME = "admit-one-memory"
FOLDER = "/admit-one-memory-storage"
"""No such folder is ever made: the files are in memory."""
SECTOR_BYTES = 4096
IN_MEMORY = ("pragma locking_mode = exclusive",)


class MemoryFile:
    """A file of the VFS: the part of `apsw.VFSFile` that SQLite calls."""

    __slots__ = ("_content",)

    def __init__(self, content: bytearray) -> None:
        self._content = content

    def xRead(self, amount: int, offset: int) -> bytes:  # noqa: N802 - a name of SQLite
        """Return the bytes, fewer at the end of the file."""
        return bytes(self._content[offset : offset + amount])

    def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802 - a name of SQLite
        """Write; a gap before the offset is filled with zeros."""
        gap = offset - len(self._content)
        if gap > 0:
            self._content.extend(bytes(gap))
        self._content[offset : offset + len(data)] = data

    def xTruncate(self, newsize: int) -> None:  # noqa: N802 - a name of SQLite
        """Cut the file."""
        del self._content[newsize:]

    def xSync(self, flags: int) -> None:  # noqa: N802 - a name of SQLite
        """Nothing is pending here."""

    def xFileSize(self) -> int:  # noqa: N802 - a name of SQLite
        """Return the size."""
        return len(self._content)

    def xLock(self, level: int) -> None:  # noqa: N802 - a name of SQLite
        """Nobody else is there."""

    def xUnlock(self, level: int) -> None:  # noqa: N802 - a name of SQLite
        """Nobody else is there."""

    def xCheckReservedLock(self) -> bool:  # noqa: N802 - a name of SQLite
        """Nobody else is there."""
        return False

    def xFileControl(self, op: int, ptr: int) -> bool:  # noqa: ARG002, N802 - a name of SQLite
        """Know no file control."""
        return False

    def xSectorSize(self) -> int:  # noqa: N802 - a name of SQLite
        """Return what `unix` returns."""
        return SECTOR_BYTES

    def xDeviceCharacteristics(self) -> int:  # noqa: N802 - a name of SQLite
        """Return what `unix` returns."""
        return apsw.SQLITE_IOCAP_POWERSAFE_OVERWRITE

    def xClose(self) -> None:  # noqa: N802 - a name of SQLite
        """Keep the content."""


class MemoryStorage(apsw.VFS):
    """The VFS and its files, by base name."""

    def __init__(self) -> None:
        self.files: dict[str, bytearray] = {}
        super().__init__(VFS_NAME, "unix")

    def load(self, files: Mapping[str, bytes]) -> None:
        """Replace everything by these files; no connection may be open."""
        self.files.clear()
        for name, content in files.items():
            self.files[f"{FOLDER}/{name}"] = bytearray(content)

    def content(self, file: str) -> bytes:
        """Return the content of a file, nothing if there is none."""
        return bytes(self.files.get(f"{FOLDER}/{file}", b""))

    def xOpen(self, name: Any, flags: list[int]) -> Any:  # noqa: N802 - a name of SQLite
        """Open a file by its name."""
        path = name.filename() if isinstance(name, apsw.URIFilename) else name
        if path not in self.files:
            if not flags[0] & apsw.SQLITE_OPEN_CREATE:
                raise apsw.exception_for(apsw.SQLITE_CANTOPEN)
            self.files[path] = bytearray()
        flags[1] = flags[0]
        return MemoryFile(self.files[path])

    def xAccess(self, pathname: str, flags: int) -> bool:  # noqa: ARG002, N802 - a name of SQLite
        """Tell whether the file exists."""
        return pathname in self.files

    def xDelete(self, filename: str, syncdir: bool) -> None:  # noqa: ARG002, FBT001, N802 - given by SQLite
        """Delete a file."""
        if self.files.pop(filename, None) is None:
            raise apsw.exception_for(apsw.SQLITE_IOERR_DELETE_NOENT)

    def xFullPathname(self, name: str) -> str:  # noqa: N802 - a name of SQLite
        """Return the name, which is full."""
        return name

    def connect(self, uri: str) -> BoundConnection:
        """Open a connection: a `Driver` of the seam."""
        return open_bound(uri, VFS_NAME, setup=IN_MEMORY)

    def open(self, file: str) -> apsw.Connection:
        """Open a plain connection for reading what SQLite recovers."""
        connection = apsw.Connection(f"{FOLDER}/{file}", vfs=VFS_NAME)
        connection.execute(IN_MEMORY[0]).fetchall()
        return connection

    def recover(self, file: str) -> None:
        """Have SQLite recover a database, and close it.

        The write lock is enough: with it a hot journal is played back, or the log is recovered, and
        the close checkpoints it. No schema is read.
        """
        connection = apsw.Connection(f"{FOLDER}/{file}", vfs=VFS_NAME)
        try:
            connection.execute(f"{IN_MEMORY[0]}; begin immediate").fetchall()
        finally:
            connection.close()


@functools.cache
def memory_storage() -> MemoryStorage:
    """Return the one storage of this process."""
    return MemoryStorage()

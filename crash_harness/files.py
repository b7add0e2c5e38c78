"""The files of databases as values: written before a case, read back after a process has died.

Two sets of files are equal in content if main files, journals and the frames of the write-ahead
logs are equal. The salts and checksums of a log are random and tell nothing; an empty log, and a
shared-memory index that no process has mapped, hold nothing.
"""

import contextlib
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

LOG, INDEX, JOURNAL = "-wal", "-shm", "-journal"
LOG_HEADER_BYTES = 32
FRAME_HEADER_BYTES = 24


@dataclass(frozen=True, slots=True)
class StoreFiles:
    """One database: its name, and its files; one that is absent has no bytes."""

    name: str
    main: bytes
    log: bytes = b""
    journal: bytes = b""


Files = tuple[StoreFiles, ...]


def write_files(folder: Path, files: Files, *, present: Files = ()) -> None:
    """Make the folder hold exactly these databases; nobody may have one of them open.

    `present` are those that it is known to hold: a main file that is the same is not written.
    """
    mains = {store.name: store.main for store in present}
    for store in files:
        path = f"{folder}/{store.name}.db"
        if mains.get(store.name) != store.main:
            _write(path, store.main)
        for suffix, content in ((LOG, store.log), (JOURNAL, store.journal), (INDEX, b"")):
            _write(path + suffix, content)


def _write(path: str, content: bytes) -> None:
    if not content:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)  # noqa: PTH108 - four times as fast, and four times a case
        return
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.write(descriptor, content)
    os.close(descriptor)


def read_files(folder: Path, names: Iterable[str], *, like: Files = ()) -> Files:
    """Return the databases of these names as they are in the folder.

    Main files that are equal to those of `like` are the same objects, which compares faster.
    Reading a file that this process has open through SQLite drops the locks that it holds there.
    """
    known = {store.name: store.main for store in like}
    stores = []
    for name in names:
        main, log, journal = (_read(f"{folder}/{name}.db{end}") for end in ("", LOG, JOURNAL))
        if main == known.get(name):
            main = known[name]
        stores.append(StoreFiles(name, main, log, journal))
    return tuple(stores)


def _read(path: str) -> bytes:
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except FileNotFoundError:
        return b""
    try:
        return os.read(descriptor, os.fstat(descriptor).st_size)
    finally:
        os.close(descriptor)


def content_of(files: Files) -> Any:
    """Return what a new process would make of the files, up to what is random in them."""
    return tuple((store.name, store.main, store.journal, _frames_of(store.log)) for store in files)


def _frames_of(log: bytes) -> tuple[bytes, ...]:
    """Return the valid frames of a log: page number, size after commit, and the page."""
    if len(log) < LOG_HEADER_BYTES:
        return ()
    page_bytes = int.from_bytes(log[8:12], "big")
    salts = log[16:24]
    frames = []
    for start in range(LOG_HEADER_BYTES, len(log), FRAME_HEADER_BYTES + page_bytes):
        header = log[start : start + FRAME_HEADER_BYTES]
        if header[8:16] != salts:  # left over from before the log was last started anew
            break
        frames.append(header[:8] + log[start + FRAME_HEADER_BYTES :][:page_bytes])
    return tuple(frames)

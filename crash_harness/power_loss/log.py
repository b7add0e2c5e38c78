"""The log of a recording: what reached the storage, in order, and what was promised meanwhile.

Any recorder may write it: the VFS of `recorder`, or one that watches system calls of a program
in another language. Files are named by their base name; the files of one database are its name
and its name with `-wal` or `-journal` behind it.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Created:
    """A name was added to the directory, for a new and empty file."""

    file: str


@dataclass(frozen=True, slots=True)
class Written:
    """Bytes were written; they may stay in memory until the file is synced."""

    file: str
    offset: int
    data: bytes


@dataclass(frozen=True, slots=True)
class Truncated:
    """The file was cut, or grown with zeros, to a size."""

    file: str
    size: int


@dataclass(frozen=True, slots=True)
class Synced:
    """The content of the file is on the storage."""

    file: str


@dataclass(frozen=True, slots=True)
class DirectorySynced:
    """The names in the directory of this file are on the storage."""

    file: str


@dataclass(frozen=True, slots=True)
class Deleted:
    """A name was taken from the directory."""

    file: str


@dataclass(frozen=True, slots=True)
class OperationStarted:
    """The caller began an operation; operations are numbered 0, 1, 2 … in a recording."""

    number: int


@dataclass(frozen=True, slots=True)
class CommitStarted:
    """The operation asked for the commit of a write transaction."""


@dataclass(frozen=True, slots=True)
class CommitReturned:
    """The commit returned without an error: from here on it has to be durable (C4)."""


@dataclass(frozen=True, slots=True)
class OperationAcknowledged:
    """The caller got the answer."""

    number: int


StorageEvent = Created | Written | Truncated | Synced | DirectorySynced | Deleted
Mark = OperationStarted | CommitStarted | CommitReturned | OperationAcknowledged
Event = StorageEvent | Mark


class UnsoundLog(Exception):
    """The log can't be one of a store that keeps its promises: a fault of the recording."""


def require_sound(log: Sequence[Event]) -> None:
    """Refuse a log that proves nothing: an empty one, or one that writes and never syncs.

    A recorder that misses the writes or the syncs would otherwise let everything pass.
    """
    if not any(isinstance(event, Written) for event in log):
        raise UnsoundLog("the log holds no write: nothing was recorded")
    if not any(isinstance(event, Synced) for event in log):
        raise UnsoundLog("the log holds writes and no sync: the recorder has missed the syncs")


def sync_numbers(log: Iterable[Event]) -> tuple[int, ...]:
    """Return the places of the syncs in a log, those of the directory included."""
    return tuple(
        number for number, event in enumerate(log) if isinstance(event, Synced | DirectorySynced)
    )


def without_event(log: Sequence[Event], number: int) -> tuple[Event, ...]:
    """Return the log as if the event in this place had never reached the storage."""
    return (*log[:number], *log[number + 1 :])


def database_of(file: str) -> str:
    """Return the database that a file belongs to: itself, or the one whose log or journal it is."""
    for suffix in ("-wal", "-journal"):
        if file.endswith(suffix):
            return file.removesuffix(suffix)
    return file

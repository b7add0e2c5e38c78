"""What the storage holds: durable bytes, durable names, and what is pending until a sync.

`Disk` replays a log. Each write, truncation, creation and deletion is pending until a sync settles
it; a power loss keeps some of the pending operations and loses the others. `image` gives the files
for one such choice.

Every database is taken to be in a directory of its own: the sync of one database's directory
settles nothing for another. That is the harder case.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from crash_harness.power_loss.log import (
    Created,
    Deleted,
    DirectorySynced,
    StorageEvent,
    Synced,
    Truncated,
    Written,
    database_of,
)
from crash_harness.power_loss.profiles import Part, StorageProfile

LOST, KEPT, FIRST_PART = 0, 1, 2
"""What a power loss does to a pending operation; `FIRST_PART + n` does its part number n."""
GARBAGE = b"\xa5"
Choice = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Content:
    """The bytes of a file, with their hash: many states are told apart by it."""

    data: bytes
    digest: int


Image = dict[str, Content]


@dataclass(slots=True, eq=False)
class Pending:
    """An operation that a power loss may undo; `inode` is the file that had the name at the time.

    `parts` are what may become of a write but kept and lost, each a few ranges [start, end) of the
    file: these alone are kept or, with `is_damage`, they are garbage.
    """

    number: int
    event: StorageEvent
    inode: int
    parts: tuple[Part, ...] = ()
    is_damage: bool = False

    @property
    def is_name(self) -> bool:
        """Whether it changes the directory, and no content."""
        return isinstance(self.event, Created | Deleted)


@dataclass(slots=True)
class Disk:
    """The storage of a recording at one point of its log."""

    profile: StorageProfile
    pending: list[Pending] = field(default_factory=list)
    _durable: dict[int, bytes] = field(default_factory=dict)
    _durable_names: dict[str, int] = field(default_factory=dict)
    _names: dict[str, int] = field(default_factory=dict)
    _made: dict[tuple[int, Choice], Content] = field(default_factory=dict)

    def load(self, files: Mapping[str, bytes]) -> None:
        """Begin with these files, all of them durable."""
        for inode, (name, content) in enumerate(sorted(files.items())):
            self._durable[inode] = content
            self._durable_names[name] = self._names[name] = inode

    def replay(self, event: StorageEvent, number: int) -> None:
        """Take in the next event of the log."""
        match event:
            case Created(file):
                inode = self._names[file] = len(self._durable)
                self._durable[inode] = b""
                self.pending.append(Pending(number, event, inode))
            case Written() | Truncated():
                inode = self._names[event.file]
                parts = self.profile.parts_of(event) if isinstance(event, Written) else ()
                damages = self.profile.damages
                self.pending.append(Pending(number, event, inode, parts, damages))
            case Deleted(file):
                self.pending.append(Pending(number, event, self._names.pop(file)))
            case Synced(file):
                self._sync(self._names[file])
            case DirectorySynced(file):
                self._sync_names(database_of(file))

    def _sync(self, inode: int) -> None:
        """Make the content of a file durable, and its name where the file system does that."""
        mine = [each for each in self.pending if each.inode == inode and not each.is_name]
        self._durable[inode] = _apply(self._durable[inode], mine, [KEPT] * len(mine))
        settled = set(map(id, mine))
        if self.profile.sync_settles_creation:
            creations = [
                each
                for each in self.pending
                if each.inode == inode and isinstance(each.event, Created)
            ]
            for creation in creations:
                settled |= self._settle_name(creation.event.file, creation.number)
        self._forget(settled)

    def _sync_names(self, database: str) -> None:
        settled: set[int] = set()
        for file in {each.event.file for each in self.pending if each.is_name}:
            if database_of(file) == database:
                settled |= self._settle_name(file, self.pending[-1].number)
        self._forget(settled)

    def _settle_name(self, file: str, until: int) -> set[int]:
        """Make what happened to a name durable, up to an event; return what is settled by it."""
        settled = set()
        for each in self.pending:
            if each.is_name and each.event.file == file and each.number <= until:
                settled.add(id(each))
                self._rename(self._durable_names, each)
        return settled

    @staticmethod
    def _rename(names: dict[str, int], pending: Pending) -> None:
        if isinstance(pending.event, Created):
            names[pending.event.file] = pending.inode
        else:
            names.pop(pending.event.file, None)

    def _forget(self, settled: set[int]) -> None:
        kept = [each for each in self.pending if id(each) not in settled]
        named = {each.inode for each in kept if each.is_name} | set(self._durable_names.values())
        # What no name can lead to any more is gone, whatever was pending for it.
        self.pending = [each for each in kept if each.inode in named]
        self._made.clear()

    def image(self, choice: Sequence[int]) -> Image:
        """Return the files that are left when a power loss makes this choice."""
        names = dict(self._durable_names)
        mine: defaultdict[int, list[Pending]] = defaultdict(list)
        fates: defaultdict[int, list[int]] = defaultdict(list)
        for each, fate in zip(self.pending, choice, strict=True):
            if each.is_name:
                if fate != LOST:
                    self._rename(names, each)
            else:
                mine[each.inode].append(each)
                fates[each.inode].append(fate)
        image = {}
        for name, inode in names.items():
            key = (inode, tuple(fates[inode]))
            content = self._made.get(key)
            if content is None:
                data = _apply(self._durable[inode], mine[inode], fates[inode])
                content = self._made[key] = Content(data, hash(data))
            image[name] = content
        return image


def _apply(base: bytes, operations: Sequence[Pending], fates: Sequence[int]) -> bytes:
    """Return the content after these operations on it, each with its fate."""
    content = bytearray(base)
    damaged: list[tuple[int, int]] = []
    for operation, fate in zip(operations, fates, strict=True):
        event = operation.event
        if fate == LOST:
            continue
        if isinstance(event, Truncated):
            del content[event.size :]
            content.extend(bytes(max(0, event.size - len(content))))
        elif isinstance(event, Written):
            if fate == KEPT:
                _write(content, event.offset, event.data)
                continue
            part = operation.parts[fate - FIRST_PART]
            if operation.is_damage:
                _write(content, event.offset, event.data)
                damaged += part
                continue
            for low, high in part:
                _write(content, low, event.data[low - event.offset : high - event.offset])
    for start, stop in damaged:
        high = min(stop, len(content))
        content[start:high] = GARBAGE * (high - start)
    return bytes(content)


def _write(content: bytearray, offset: int, data: bytes) -> None:
    gap = offset - len(content)
    if gap > 0:
        content.extend(bytes(gap))
    content[offset : offset + len(data)] = data

"""Storage profiles: what a file system and a disk may do with what was not synced.

In all of them a sync is kept, and what nobody wrote is not damaged but under `no-psow`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise

from crash_harness.power_loss.log import Written

SECTOR_BYTES = 512
"""The unit that a disk writes as a whole or not at all."""
DAMAGED_SECTOR_BYTES = 4096
"""The unit that is damaged as a whole where an overwrite is not safe: what `unix` tells SQLite."""

Part = tuple[tuple[int, int], ...]
"""Ranges [start, end) of a file."""


class Tear(StrEnum):
    """What may become of a single write, but kept and lost."""

    NOTHING = "nothing"
    ENDS = "its first or last part is kept"
    SECTORS = "any of its sectors are kept"
    DAMAGE = "every sector that it touches is garbage"


@dataclass(frozen=True, slots=True)
class StorageProfile:
    """What a power loss may do.

    `is_ordered`: nothing is lost but what comes after a point: the end of a process.
    `sync_settles_creation`: the sync of a file keeps its name too, as ext4 and XFS do; otherwise
    only the sync of the directory does.
    """

    name: str
    sentence: str
    is_ordered: bool = False
    sync_settles_creation: bool = True
    tear: Tear = Tear.ENDS

    @property
    def damages(self) -> bool:
        """Whether a torn write damages bytes that it was not writing."""
        return self.tear is Tear.DAMAGE

    def parts_of(self, write: Written) -> tuple[Part, ...]:
        """Return what may become of this write, but kept and lost."""
        start, end = write.offset, write.offset + len(write.data)
        if self.tear is Tear.DAMAGE:
            low = start - start % DAMAGED_SECTOR_BYTES
            return (((low, end + -end % DAMAGED_SECTOR_BYTES),),)
        cuts = range(start + SECTOR_BYTES - start % SECTOR_BYTES, end, SECTOR_BYTES)
        if self.tear is Tear.NOTHING or not cuts:
            return ()
        ends = [part for cut in (cuts[0], cuts[-1]) for part in (((start, cut),), ((cut, end),))]
        if self.tear is Tear.ENDS:
            return tuple(dict.fromkeys(ends))
        edges = (start, *cuts, end)
        sectors = list(pairwise(edges))
        heads = [((start, cut),) for cut in cuts]
        alone = [(sector,) for sector in sectors]
        without = [tuple(other for other in sectors if other != sector) for sector in sectors]
        every_other = [tuple(sectors[::2]), tuple(sectors[1::2])]
        return tuple(dict.fromkeys((*ends, *heads, *alone, *without, *every_other)))


PROFILES: Mapping[str, StorageProfile] = {
    profile.name: profile
    for profile in (
        StorageProfile(
            "process",
            "a process ends: the operating system keeps every write that it was given",
            is_ordered=True,
            tear=Tear.NOTHING,
        ),
        StorageProfile("ext4", "any unsynced write is lost or torn; a sync keeps a file's name"),
        StorageProfile(
            "posix-strict",
            "as ext4, but a new name is lost until its directory is synced",
            sync_settles_creation=False,
        ),
        StorageProfile("sector", "as ext4, but any sectors of a write are lost", tear=Tear.SECTORS),
        StorageProfile(
            "no-psow",
            "as ext4, but a torn write leaves garbage in every sector that it touches",
            tear=Tear.DAMAGE,
        ),
    )
}
DEFAULT_PROFILE = "ext4"

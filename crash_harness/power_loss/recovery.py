"""Recovery: SQLite opens what a power loss has left, and this is the content that it then reads.

The fast way takes the write lock and closes: that plays a hot journal back, or recovers the
write-ahead log and checkpoints it into the database file. It reads no schema. Equal contents read
the same, so whatever is asked of a content is asked once.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import apsw

from crash_harness.power_loss.log import database_of
from crash_harness.power_loss.memory import MemoryStorage, memory_storage
from crash_harness.power_loss.storage import Content, Image

Key = tuple[str, tuple[tuple[str, int], ...]]


@dataclass(frozen=True, slots=True)
class Recovered:
    """What SQLite made of the files of one database: its content, or the error that it raised."""

    content: Content
    error: str | None = None


class Recovery:
    """Recovers databases, each image once."""

    def __init__(self, databases: tuple[str, ...]) -> None:
        """Remember recoveries of these databases, until `forget`."""
        self.databases = databases
        self.recoveries = 0
        self._storage: MemoryStorage = memory_storage()
        self._known: dict[Key, Recovered] = {}

    def forget(self) -> None:
        """Forget what was recovered: another recording has other images."""
        self._known.clear()

    def recover(self, image: Image) -> tuple[Recovered, ...]:
        """Return what becomes of each database of the image."""
        return tuple(
            self._recover_one(database, files) for database, files in self.split(image).items()
        )

    def split(self, image: Image) -> dict[str, dict[str, Content]]:
        """Return the files of each database."""
        parts: dict[str, dict[str, Content]] = {database: {} for database in self.databases}
        for file, content in image.items():
            parts[database_of(file)][file] = content
        return parts

    def _recover_one(self, database: str, files: Mapping[str, Content]) -> Recovered:
        key = (database, tuple((file, content.digest) for file, content in files.items()))
        recovered = self._known.get(key)
        if recovered is None:
            self.recoveries += 1
            recovered = self._known[key] = self._run(database, files)
        return recovered

    def _run(self, database: str, files: Mapping[str, Content]) -> Recovered:
        storage = self._storage
        storage.load({file: content.data for file, content in files.items()})
        error = None
        try:
            storage.recover(database)
        except apsw.Error as raised:
            error = f"{type(raised).__name__}: {raised}"
        data = storage.content(database)
        return Recovered(Content(data, hash(data)), error)

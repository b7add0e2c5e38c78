"""Where the databases of a subject lie: in a folder under the recorder, or in memory.

The two subjects of `conformance` bind to these as they bind to any other place.
"""

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

from conformance.implementation import Implementation
from conformance.place import Place
from conformance.sqlite_admission import AdmissionSubject
from conformance.sqlite_reservation import ReservationSubject
from conformance.subject import Subject
from crash_harness.power_loss.binding import BoundConnection
from crash_harness.power_loss.memory import FOLDER, MemoryStorage
from crash_harness.power_loss.recorder import Recorder

COMPANIONS = ("-wal", "-shm", "-journal")


class BoundPlace:
    """A database file that is reached through APSW alone."""

    def __init__(
        self,
        path: Path,
        implementation: Implementation,
        driver: Callable[[str], BoundConnection],
        pragmas: Any,
    ) -> None:
        """Name the file; nothing is created."""
        self.path = path
        self._connect = functools.partial(
            implementation.connection.connect, driver=driver, pragmas=pragmas
        )
        self._observer: BoundConnection | None = None

    def connect(self, path: Any, /, *, create: bool) -> Any:
        """Open a connection of the implementation."""
        return self._connect(path, create=create)

    def watch(self) -> BoundConnection:
        """Open a connection that looks on."""
        raise NotImplementedError

    def has_content(self) -> bool:
        """Tell whether the file is there, and not empty."""
        raise NotImplementedError

    def observer(self) -> Any:
        """Return the second connection, None while there is no schema."""
        if self._observer is None and self.has_content():
            connection = self.watch()
            if connection.execute("select count(*) from sqlite_master").fetchone() == (0,):
                connection.close()
                return None
            self._observer = connection
        return self._observer

    def image(self) -> bytes:
        """Return the content of the file, for which all has to be closed."""
        raise NotImplementedError

    def restore(self, image: bytes) -> None:
        """Replace the file; for a place that nobody has open."""
        raise NotImplementedError

    def has_open_transaction(self) -> bool:
        """Nothing is seen of a connection that the implementation closed itself."""
        return False

    def close(self) -> None:
        """Close the second connection."""
        if self._observer is not None:
            observer, self._observer = self._observer, None
            observer.close()


class RecordedPlace(BoundPlace):
    """A real file under the recorder."""

    def __init__(
        self, path: Path, implementation: Implementation, recorder: Recorder, pragmas: Any
    ) -> None:
        super().__init__(path, implementation, recorder.connect, pragmas)
        self._recorder = recorder

    def watch(self) -> BoundConnection:
        """Open a connection that looks on, through the same VFS."""
        return self._recorder.watch(f"{self.path.absolute().as_uri()}?mode=rw")

    def has_content(self) -> bool:
        """Tell whether the file is there, and not empty."""
        return self.path.exists() and self.path.stat().st_size > 0

    def image(self) -> bytes:
        """Return the content of the file, for which all has to be closed."""
        return self.path.read_bytes() if self.path.exists() else b""

    def restore(self, image: bytes) -> None:
        """Replace the file; for a place that nobody has open."""
        self.close()
        for suffix in ("", *COMPANIONS):
            Path(f"{self.path}{suffix}").unlink(missing_ok=True)
        if image:
            self.path.write_bytes(image)


class MemoryPlace(BoundPlace):
    """A file in memory, for one connection at a time."""

    def __init__(
        self, file: str, implementation: Implementation, storage: MemoryStorage, pragmas: Any
    ) -> None:
        super().__init__(Path(FOLDER, file), implementation, storage.connect, pragmas)
        self._storage = storage

    def connect(self, path: Any, /, *, create: bool) -> Any:
        """Open a connection of the implementation, and no other beside it."""
        self.close()
        return super().connect(path, create=create)

    def watch(self) -> BoundConnection:
        """Open a connection that looks on."""
        return self._storage.connect(f"{self.path.as_uri()}?mode=rw")

    def has_content(self) -> bool:
        """Tell whether the file is there, and not empty."""
        return bool(self._storage.files.get(str(self.path)))

    def image(self) -> bytes:
        """Return the content of the file."""
        return self._storage.content(self.path.name)

    def restore(self, image: bytes) -> None:
        """Replace the file."""
        self.close()
        self._storage.files[str(self.path)] = bytearray(image)


def database_names(machine: str, scope: Any) -> tuple[str, ...]:
    """Return the database files of a subject, in the order of its images."""
    if machine == "admission":
        return ("admission.db",)
    return (*(f"ledger-{file}.db" for file in scope.ledgers), "receiver.db")


def bind_subject(
    machine: str,
    scope: Any,
    implementation: Implementation,
    make_place: Callable[[str], Place],
) -> Subject:
    """Return the subject of a machine; a place is made for the name of each database."""
    places = [make_place(name) for name in database_names(machine, scope)]
    if machine == "admission":
        return AdmissionSubject(places[0], implementation)
    ledgers = dict(zip(scope.ledgers, places, strict=False))
    return ReservationSubject(ledgers, places[-1], dict(scope.workers), implementation)

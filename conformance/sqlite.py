"""The two SQLite subjects, made for a folder: one for each machine.

`make_subject` is what an engine uses; the bindings themselves are in `sqlite_admission` and
`sqlite_reservation`.
"""

from pathlib import Path
from typing import Any

from conformance.implementation import Implementation, load_implementation
from conformance.place import ImageFile, Place, RealFile
from conformance.sqlite_admission import AdmissionSubject
from conformance.sqlite_reservation import ReservationSubject
from conformance.subject import Subject


def make_subject(
    machine: str,
    scope: Any,
    folder: Path,
    *,
    implementation: Implementation | None = None,
    has_images: bool = False,
    **options: Any,
) -> Subject:
    """Return a subject whose databases lie in the folder; none exists yet.

    With `has_images` the databases are restored many times (`ImageFile`), without it they are
    files as in production (`RealFile`).
    """
    version = implementation or load_implementation()

    def place(name: str) -> Place:
        path = folder / f"{name}.db"
        return ImageFile(path, version) if has_images else RealFile(path, version, **options)

    if machine == "admission":
        return AdmissionSubject(place("admission"), version)
    if machine == "reservation":
        ledgers = {file: place(f"ledger-{file}") for file in scope.ledgers}
        workers = dict(scope.workers)
        return ReservationSubject(ledgers, place("receiver"), workers, version)
    raise LookupError(f"there is no SQLite subject for {machine!r}")

"""Replays a power loss of a trace: the `CrashRunner` of this engine.

The call is recorded anew on the subject's own files, the power is lost at the same event, the same
writes are lost, and the subject finds the files that are left. Only a power loss in the first call
of its recording can be replayed so; a sequence repeats by the command that found it.
"""

import re
from dataclasses import dataclass
from typing import Any

from conformance.implementation import Implementation, load_implementation
from conformance.place import RealFile
from conformance.sqlite_reservation import ReservationSubject
from conformance.subject import Subject
from crash_harness.power_loss.examination import Point, points_of
from crash_harness.power_loss.loss import describe_fates
from crash_harness.power_loss.places import COMPANIONS
from crash_harness.power_loss.profiles import DEFAULT_PROFILE, PROFILES
from crash_harness.power_loss.recording import Recording, WorkloadDiverged
from crash_harness.power_loss.storage import FIRST_PART, KEPT, LOST, Choice, Pending
from crash_harness.power_loss.workloads import Settings, Start, open_workshop
from model.checking.trace import CrashPoint
from model.reservation_vocabulary import Crash

DEFAULT_SETTINGS = Settings()
_BOUNDARY = re.compile(r"before event (\d+) of (\d+)")
_DETAIL = re.compile(r"lost event (\d+): .*?(?:; (?:garbage from|kept only) ([\d to,]+))?")


class PowerLossNotFound(LookupError):
    """The same call does not ask the storage for the same any more: this loss can't happen here."""


@dataclass(frozen=True, slots=True)
class _Layout:
    """What a workshop must know of a scope."""

    ledgers: tuple[str, ...]
    workers: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class PowerLossRunner:
    """Loses the power in a call; `settings` are those of the connections that make it."""

    settings: Settings = DEFAULT_SETTINGS
    storage_profile: str = DEFAULT_PROFILE
    implementation: Implementation | None = None

    def __call__(self, subject: Subject, action: Any, crash: CrashPoint, /) -> None:
        """Take the call on the subject's files, and leave what the power loss leaves."""
        places = find_places(subject)
        state = subject.observe()
        for place in places:
            place.close()
        images = tuple(p.path.read_bytes() if p.path.exists() else b"" for p in places)
        machine, layout = _find_layout(subject)
        version = self.implementation or load_implementation()
        with open_workshop(machine, layout, version, self.settings) as workshop:
            start = Start(state, images, state)
            try:
                recording = workshop.record("a replay", start, (action,), seed=0)
            except WorkloadDiverged as error:
                raise PowerLossNotFound(str(error)) from error
        files = self._lose(recording, crash)
        names = [f"{place.path.name}{suffix}" for place in places for suffix in ("", *COMPANIONS)]
        for name in names:
            path = places[0].path.parent / name
            path.unlink(missing_ok=True)
            if name in files:
                path.write_bytes(files[name])
        for worker, _ in layout.workers:
            subject.apply(Crash(worker))

    def _lose(self, recording: Recording, crash: CrashPoint) -> dict[str, bytes]:
        """Return the files that this power loss leaves of the recording."""
        boundary = _BOUNDARY.search(crash.boundary)
        if boundary is None or int(boundary[2]) != len(recording.log):
            events = f"here the call has {len(recording.log)} events"
            raise PowerLossNotFound(f"{crash.boundary!r}: {events}; it is another implementation")
        for point in points_of(recording, PROFILES[self.storage_profile]):
            if point.event == int(boundary[1]):
                choice = _find_choice(point, crash.details)
                image = point.disk.image(choice)
                return {file: content.data for file, content in image.items()}
        raise PowerLossNotFound(f"{crash.boundary!r} is no place at which the power may go")


def find_places(subject: Any) -> list[RealFile]:
    """Return the places of a subject's databases."""
    if isinstance(subject, ReservationSubject):
        places: list[Any] = [*subject.ledgers.values(), subject.receiver]
    else:
        places = [subject.place]
    return places


def _find_layout(subject: Subject) -> tuple[str, _Layout]:
    if isinstance(subject, ReservationSubject):
        return "reservation", _Layout(tuple(subject.ledgers), tuple(subject.workers.items()))
    return "admission", _Layout((), ())


def _find_choice(point: Point, details: tuple[str, ...]) -> Choice:
    """Return the choice that the details of a crash point name, checked word for word."""
    fates = {}
    for detail in details:
        named = _DETAIL.fullmatch(detail)
        if named is None:
            raise PowerLossNotFound(f"{detail!r} names no event")
        fates[int(named[1])] = named[2]
    choice = tuple(
        _find_fate(each, fates[each.number]) if each.number in fates else KEPT
        for each in point.pending
    )
    _, lost = describe_fates(point, choice)
    if tuple(f"lost {each}" for each in lost) != details:
        raise PowerLossNotFound(f"what can be lost here is {lost}, and not {details}")
    return choice


def _find_fate(pending: Pending, ranges: str | None) -> int:
    if ranges is None:
        return LOST
    for number, part in enumerate(pending.parts):
        if ", ".join(f"{low} to {high}" for low, high in part) == ranges:
            return FIRST_PART + number
    raise PowerLossNotFound(f"no part of event {pending.number} is {ranges}")

"""Examines a recording: every state in which a power loss may leave it, recovered and judged.

States are enumerated where something is about to be settled or promised: before each sync, before
a commit returns, at the end. What could be lost earlier can be lost then too, and with as little
promised. Under `process` each event is a point.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from crash_harness.power_loss.enumerator import enumerate_choices, is_exhaustive
from crash_harness.power_loss.judge import Judge, Reading
from crash_harness.power_loss.log import (
    CommitReturned,
    CommitStarted,
    DirectorySynced,
    OperationAcknowledged,
    OperationStarted,
    Synced,
)
from crash_harness.power_loss.profiles import StorageProfile
from crash_harness.power_loss.recording import Moment, Recording, all_states, allowed_states
from crash_harness.power_loss.recovery import Recovered, Recovery
from crash_harness.power_loss.storage import Choice, Disk, Image, Pending

MARKS = (OperationStarted, CommitStarted, CommitReturned, OperationAcknowledged)
DECISIVE = (Synced, DirectorySynced, CommitStarted, CommitReturned)


@dataclass(frozen=True, slots=True)
class Point:
    """A place in the log at which the power may go, what is pending there, and what was promised.

    `event` is the number of the next event. The disk goes on with the log, so that a point is good
    only until the next one is asked for.
    """

    recording: Recording
    event: int
    moment: Moment
    allowed: tuple[Any, ...]
    disk: Disk

    @property
    def pending(self) -> tuple[Pending, ...]:
        """What a power loss may undo."""
        return tuple(self.disk.pending)


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a state is refused: the kind, and what the judge said unless the state says it all.

    `lost`: an acknowledged step is gone. `premature`: a step is there whose commit had not begun.
    `mixture`: no state that ever was. `unreadable`: damaged, or rows of no state.
    `repeat`: the repeated call got a wrong answer.
    """

    kind: str
    said: str | None


@dataclass(frozen=True, slots=True)
class Examined:
    """A state of the storage, what is read from it, and what is wrong with that, if anything."""

    point: Point
    choice: Choice
    image: Image
    is_new: bool
    reading: Reading
    failure: Failure | None
    digest: int


@dataclass(slots=True)
class Tally:
    """What was counted over many recordings: points and states, the latter before duplicates."""

    recordings: int = 0
    exhaustive_points: int = 0
    sampled_points: int = 0
    exhaustive_states: int = 0
    sampled_states: int = 0
    seen: set[int] = field(default_factory=set)


def points_of(recording: Recording, profile: StorageProfile) -> Iterator[Point]:
    """Yield the points of a recording, one after another."""
    disk = Disk(profile)
    disk.load(recording.files)
    moment = Moment()
    allowed = allowed_states(recording, moment)
    is_examined = False
    for number, event in enumerate(recording.log):
        is_decisive = profile.is_ordered or isinstance(event, DECISIVE)
        if is_decisive and not is_examined:
            yield Point(recording, number, moment, allowed, disk)
            is_examined = True
        if isinstance(event, MARKS):
            moment = moment.advance(event)
            promised = allowed_states(recording, moment)
            is_examined &= promised == allowed
            allowed = promised
        else:
            disk.replay(event, number)
            is_examined = False
    if not is_examined:
        yield Point(recording, len(recording.log), moment, allowed, disk)


class Examiner:
    """Makes the states of recordings, has them recovered, and judges them."""

    def __init__(self, judge: Judge, profile: StorageProfile, seed: int) -> None:
        """Judge with this judge, under this storage profile."""
        self.judge = judge
        self.profile = profile
        self.seed = seed
        self.recovery = Recovery(judge.databases)
        self.tally = Tally()
        self._ordered: Recording | None = None
        self._order: Mapping[Any, int] = {}

    def examine(self, recording: Recording) -> Iterator[Examined]:
        """Yield each state that was never made before, and each that is refused."""
        self.tally.recordings += 1
        self.recovery.forget()
        for point in points_of(recording, self.profile):
            for choice in self._choose(point):
                examined = self.examine_state(point, choice)
                self.tally.seen.add(examined.digest)
                if examined.is_new or examined.failure is not None:
                    yield examined

    def _choose(self, point: Point) -> tuple[Choice, ...]:
        """Return the choices at a point, and count them."""
        tally = self.tally
        seed = self.seed * 1_000_003 + tally.recordings * 1009 + point.event
        choices = enumerate_choices(point.pending, self.profile, seed)
        if is_exhaustive(point.pending, self.profile):
            tally.exhaustive_points += 1
            tally.exhaustive_states += len(choices)
        else:
            tally.sampled_points += 1
            tally.sampled_states += len(choices)
        return choices

    def examine_state(self, point: Point, choice: Choice) -> Examined:
        """Make one state, recover it, and compare what is read with what was promised."""
        image = point.disk.image(choice)
        digest = hash(tuple(sorted((file, each.digest) for file, each in image.items())))
        recovered = self.recovery.recover(image)
        reading = self.judge.read(recovered)
        failure = self._find_failure(point, reading, recovered)
        is_new = digest not in self.tally.seen
        return Examined(point, choice, image, is_new, reading, failure, digest)

    def _find_failure(
        self, point: Point, reading: Reading, recovered: tuple[Recovered, ...]
    ) -> Failure | None:
        if reading.state in point.allowed and reading.problem is None:
            if point.moment.operation < 0:
                return None
            action = point.recording.steps[point.moment.operation].action
            wrong = self.judge.repeat(recovered, reading.state, action)
            return None if wrong is None else Failure("repeat", wrong)
        if reading.state is None:
            return Failure("unreadable", str(reading.problem))
        chain = self._order_states(point.recording)
        if reading.state not in chain:
            return Failure("mixture", reading.problem)
        is_older = chain[reading.state] < chain[point.allowed[0]]
        return Failure("lost" if is_older else "premature", reading.problem)

    def _order_states(self, recording: Recording) -> Mapping[Any, int]:
        """Return the place of each state in the order of the commits."""
        if recording is not self._ordered:
            self._ordered = recording
            self._order = {state: place for place, state in enumerate(all_states(recording))}
        return self._order

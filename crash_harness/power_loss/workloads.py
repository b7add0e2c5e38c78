"""The workshop, where recordings are made: the recorder, the real files, and the subject on them.

Where a recording starts and what is taken there is drawn in `starts`.
"""

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from conformance.implementation import Implementation
from conformance.place import scratch_folder
from conformance.subject import Subject, describe_error
from crash_harness.power_loss.binding import BoundConnection
from crash_harness.power_loss.log import OperationAcknowledged, OperationStarted, Written
from crash_harness.power_loss.places import RecordedPlace, bind_subject
from crash_harness.power_loss.recorder import Recorder, recording
from crash_harness.power_loss.recording import Recording, WorkloadDiverged
from model.checking.trace import TraceStep
from model.machine import Machine
from model.scopes import MACHINES

Images = tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """An entry of a workload that is no action: another connection runs a checkpoint."""

    mode: str


@dataclass(frozen=True, slots=True)
class Start:
    """A state to record from: its databases, and the way there from an initial state."""

    state: Any
    images: Images
    origin: Any
    way: tuple[TraceStep, ...] = ()

    def then(self, step: TraceStep, images: Images) -> "Start":
        """Return the start that is one step on."""
        return Start(step.after, images, self.origin, (*self.way, step))


@dataclass(frozen=True, slots=True)
class Settings:
    """How the recorded connections are set up.

    None leaves the implementation's own setting. `autocheckpoint_pages` is small where a commit is
    to checkpoint by itself.
    """

    synchronous: str | None = None
    journal: str | None = None
    parameters: str = ""
    autocheckpoint_pages: int | None = None

    @property
    def setup(self) -> tuple[str, ...]:
        """The statements that each connection begins with."""
        if self.autocheckpoint_pages is None:
            return ()
        return (f"pragma wal_autocheckpoint = {self.autocheckpoint_pages}",)

    def pragmas_of(self, implementation: Implementation) -> Any:
        """Return the implementation's pragmas, with what is set here in their place."""
        wanted = {"synchronous": self.synchronous, "journal_mode": self.journal}
        changed = {name: value for name, value in wanted.items() if value is not None}
        return replace(implementation.connection.PRAGMAS, **changed)


@dataclass(slots=True)
class Workshop:
    """Records workloads of one machine on real files."""

    machine: Machine[Any, Any, Any]
    scope: Any
    recorder: Recorder
    subject: Subject
    places: list[RecordedPlace]
    synchronous: str
    absent: Images = field(default=())

    def images(self) -> Images:
        """Return the content of each database; all must be closed."""
        return tuple(place.image() for place in self.places)

    def restore(self, images: Images, state: Any) -> None:
        """Put contents and hands back."""
        if self.machine.name == "admission":
            self.subject.restore(images[0], state)
        else:
            self.subject.restore((images, ()), state)

    def record(
        self,
        title: str,
        start: Start,
        entries: Sequence[Any],
        *,
        seed: int,
        keeps_open: bool = False,
    ) -> Recording:
        """Run the entries from a start, and return what was recorded.

        With `keeps_open`, another connection to each existing database stays open throughout, so
        that no close checkpoints and deletes the log.
        """
        state = start.state
        self.restore(start.images, state)
        self.recorder.restart(seed)
        steps: list[TraceStep] = []
        with contextlib.ExitStack() as others:
            keepers = self._keep_open(others) if keeps_open else []
            for entry in entries:
                if isinstance(entry, Checkpoint):
                    for keeper in keepers:
                        keeper.execute(f"pragma wal_checkpoint({entry.mode})")
                    continue
                state = self._take(state, entry, steps)
        self._close_observers()
        log = tuple(self.recorder.log)
        if not any(isinstance(event, Written) for event in log):
            self._require_content(state, title)
        return Recording(
            machine=self.machine.name,
            scope=self.scope,
            initial=start.state,
            files={p.path.name: c for p, c in zip(self.places, start.images, strict=True) if c},
            log=log,
            steps=tuple(steps),
            title=title,
            origin=start.origin,
            way=start.way,
        )

    def record_recovery(
        self, title: str, start: Start, files: Mapping[str, bytes], action: Any, *, seed: int
    ) -> Recording:
        """Record a fresh process on files that a power loss has left: it repeats a call.

        SQLite recovers them while the store is opened; the power may go again meanwhile.
        """
        self.restore(self.absent, start.state)
        for file, content in files.items():
            (self.places[0].path.parent / file).write_bytes(content)
        self.recorder.restart(seed)
        steps: list[TraceStep] = []
        self._take(start.state, action, steps)
        return Recording(
            machine=self.machine.name,
            scope=self.scope,
            initial=start.state,
            files=files,
            log=tuple(self.recorder.log),
            steps=tuple(steps),
            title=title,
            origin=start.origin,
            way=start.way,
            is_recovery=True,
        )

    def _keep_open(self, others: contextlib.ExitStack) -> list[BoundConnection]:
        keepers = []
        for place in self.places:
            if place.has_content():
                keeper = place.watch()
                keeper.execute(f"pragma synchronous = {self.synchronous}")
                keeper.execute("select count(*) from sqlite_master")
                others.callback(keeper.close)
                keepers.append(keeper)
        return keepers

    def install(self, state: Any) -> None:
        """Let the implementation make an initial state; `WorkloadDiverged` if it can't."""
        try:
            self.subject.install(state)
        except Exception as error:
            raise WorkloadDiverged(f"the initial state {state}: {describe_error(error)}") from error

    def take(self, state: Any, action: Any) -> TraceStep:
        """Take one action on both sides; `WorkloadDiverged` if the two part."""
        after, outcome = self.machine.step(state, action)
        try:
            found = self.subject.apply(action)
        except Exception as error:
            said = f"{action}: expected {outcome}, found {describe_error(error)}"
            raise WorkloadDiverged(said) from error
        if found != outcome:
            raise WorkloadDiverged(f"{action}: expected {outcome}, found {found!s}")
        return TraceStep(action, outcome, after)

    def _take(self, state: Any, action: Any, steps: list[TraceStep]) -> Any:
        """Take one action on both sides; the log gets its marks."""
        number = len(steps)
        self.recorder.log.append(OperationStarted(number))
        step = self.take(state, action)
        self.recorder.log.append(OperationAcknowledged(number))
        steps.append(step)
        return step.after

    def _require_content(self, state: Any, title: str) -> None:
        """Demand that the files hold the model's state where nothing was recorded as written."""
        observed = self.subject.observe()
        self._close_observers()
        if observed != state:
            raise WorkloadDiverged(f"{title}: expected the state {state}, found {observed}")

    def _close_observers(self) -> None:
        for place in self.places:
            place.close()


@contextlib.contextmanager
def open_workshop(
    machine: str, scope: Any, implementation: Implementation, settings: Settings
) -> Iterator[Workshop]:
    """Yield a workshop with empty files in a folder of its own."""
    pragmas = settings.pragmas_of(implementation)
    with (
        scratch_folder() as folder,
        recording(setup=settings.setup, parameters=settings.parameters) as recorder,
    ):
        places: list[RecordedPlace] = []

        def make_place(name: str) -> RecordedPlace:
            place = RecordedPlace(Path(folder, name), implementation, recorder, pragmas)
            places.append(place)
            return place

        subject = bind_subject(machine, scope, implementation, make_place)
        workshop = Workshop(
            MACHINES[machine], scope, recorder, subject, places, pragmas.synchronous
        )
        workshop.absent = workshop.images()
        try:
            yield workshop
        finally:
            subject.close()

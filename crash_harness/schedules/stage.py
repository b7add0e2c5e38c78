"""A stage: the stores of a machine, lanes that act on them, and the state that can be read.

The subjects are those of `conformance`, with one difference: a store is opened once in each lane
and kept, since what opening reads never changes once the store exists. Where a file is absent, or
an action creates it, opening is part of the operation, and each of its statements is a turn.

What workers hold lives in the subject, as in `conformance`; each worker acts in one lane at most,
because a process is not in two places at once.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from conformance.implementation import Implementation, load_implementation
from conformance.sqlite_admission import AdmissionSubject
from conformance.sqlite_reservation import ReservationSubject
from conformance.subject import Subject
from crash_harness.schedules.files import ScheduledFile
from crash_harness.schedules.lanes import Lane
from crash_harness.schedules.reads import RECEIVER, ReadSnapshot, freeze_snapshot
from model.admission_vocabulary import Tick
from model.reservation_vocabulary import Answer, Crash
from model.scopes import MACHINES

MOST_LANES = 3
NO_CALLS = (Crash, Tick)
"""What the environment does without a call: an exit is a turn of a schedule, and a tick is none."""


class _StagedAdmission(AdmissionSubject):
    """The admission subject, with a store kept open in each lane."""

    def __init__(self, stage: "Stage", file: ScheduledFile, implementation: Implementation) -> None:
        super().__init__(file, implementation)
        self._stage = stage
        self._file = file

    def read_store(self, _store: str) -> Any:
        """Return the snapshot of the only store."""
        return self._with_store(lambda store: store.snapshot())

    def _with_store(self, use: Callable[[Any], Any]) -> Any:
        with self._stage.lend(self._file, self._open) as store:
            return use(store)

    def _open(self) -> Any:
        return self._admission.AdmissionStore(self.place.path, connect=self.place.connect)


class _StagedReservation(ReservationSubject):
    """The reservation subject, with a ledger and a receiver kept open in each lane."""

    def __init__(
        self,
        stage: "Stage",
        ledgers: dict[str, ScheduledFile],
        receiver: ScheduledFile,
        workers: dict[str, str],
        implementation: Implementation,
    ) -> None:
        super().__init__(ledgers, receiver, workers, implementation)
        self._stage = stage
        self._files = {**ledgers, "": receiver}

    def read_store(self, store: str) -> Any:
        """Return the snapshot of a ledger or of the receiver."""
        with self._open_receiver() if store == RECEIVER else self._open_ledger(store) as opened:
            return opened.snapshot()

    def _open(self, key: tuple[str, str], open_store: Callable[[], Any]) -> Any:
        return self._stage.lend(self._files[key[1]], open_store)


class Stage:
    """The stores of a machine in a folder, and the lanes that may act on them."""

    def __init__(
        self, machine: str, scope: Any, folder: Path, implementation: Implementation | None = None
    ) -> None:
        """Name the files; nothing is created."""
        self.machine = MACHINES[machine]
        self.scope = scope
        self.lanes = tuple(Lane(number + 1) for number in range(MOST_LANES))
        self._setter = Lane(0)  # makes states, in no schedule
        self.running = self._setter
        self.opens_anew = False  # whether lanes open their stores again for each schedule
        version = implementation or load_implementation()

        def file(name: str) -> ScheduledFile:
            return ScheduledFile(folder / f"{name}.db", version, lambda: self.running)

        self.files: tuple[ScheduledFile, ...]
        self.subject: Subject
        self._read_store: Callable[[str], Any]
        if machine == "admission":
            store = file("admission")
            self.files = (store,)
            admission = _StagedAdmission(self, store, version)
            self.subject, self._read_store = admission, admission.read_store
        else:
            ledgers = {name: file(f"ledger-{name}") for name in scope.ledgers}
            receiver = file("receiver")
            self.files = (*ledgers.values(), receiver)
            workers = dict(scope.workers)
            reservation = _StagedReservation(self, ledgers, receiver, workers, version)
            self.subject, self._read_store = reservation, reservation.read_store
        self.absent = self.subject.image()

    def __enter__(self) -> Self:
        """Return the stage itself."""
        return self

    def __exit__(
        self,
        exception_type: type[BaseException] | None,
        exception: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Close every connection."""
        self.close_lanes()
        for file in self.files:
            file.close()

    def apply(self, operation: Any) -> Any:
        """Carry out an operation of a scene: an action, or a reading."""
        if isinstance(operation, ReadSnapshot):
            return freeze_snapshot(self._read_store(operation.store))
        return self.subject.apply(operation)

    @contextmanager
    def lend(self, file: ScheduledFile, make: Callable[[], Any]) -> Iterator[Any]:
        """Lend the store that the running lane keeps; a fresh one while the file is absent."""
        lane = self.running
        if lane.number == 0 or not file.is_kept:
            with make() as store:
                yield store
        else:
            yield lane.keep(file.path.name, make)

    def close_lanes(self) -> None:
        """Close what the lanes keep."""
        for lane in (self._setter, *self.lanes):
            lane.close()

    def restore(self, image: Any, state: Any) -> None:
        """Put a state back: rows into every file, and permits into hands."""
        contents = image if isinstance(image, bytes) else image[0]
        listed = (contents,) if isinstance(contents, bytes) else contents
        if self.opens_anew:
            self.close_lanes()
        for file, content in zip(self.files, listed, strict=True):
            if not content and file.path.exists():
                self.close_lanes()
            file.is_kept = bool(content)
        self.running = self._setter
        self.subject.restore(image, state)

    def forget(self, worker: str | None) -> None:
        """Lose what a worker holds, whose lane has exited."""
        if worker is not None:
            self.subject.apply(Crash(worker))

    def has_new_version(self) -> bool:
        """Tell whether anything has been committed since this was asked last."""
        changed = [file.has_new_version() for file in self.files]
        return any(changed)


def find_worker_name(action: Any) -> str | None:
    """Return the worker that acts, None where the action names nobody."""
    return getattr(action, "worker", None)


def lose_hands(machine: str, state: Any, workers: tuple[str, ...]) -> Any:
    """Return the state as it is once these workers' processes are gone."""
    if machine == "reservation":
        steps = MACHINES[machine].steps[Crash]
        for worker in workers:
            state, _ = steps(state, Crash(worker))
    return state


def can_race(machine: str, state: Any, actions: tuple[Any, ...]) -> bool:
    """Tell whether these actions can be under way together: calls, by different workers.

    A call that no process can make here (`NOT_HELD`) is none.
    """
    workers = [name for name in map(find_worker_name, actions) if name is not None]
    if len(set(workers)) < len(workers) or any(isinstance(a, NO_CALLS) for a in actions):
        return False
    step = MACHINES[machine].step
    return all(step(state, action)[1] is not Answer.NOT_HELD for action in actions)

"""Death inside COMMIT, by real deaths: before, half-way through and after each storage operation.

What is found afterwards is one of two states, the one before the step and the one after it (C1),
and both are really seen. With a survivor, another connection that stays open, every reader may see
the old state and a later opener the new one: a ghost commit.
"""

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from conformance.implementation import load_implementation
from conformance.place import scratch_folder
from conformance.run_end import starting_processes
from crash_harness.power_loss.death_cases import DeathCase, find_death_cases
from crash_harness.power_loss.judge import read_real_files
from crash_harness.power_loss.log import (
    CommitReturned,
    CommitStarted,
    DirectorySynced,
    Event,
    StorageEvent,
    Written,
)
from crash_harness.power_loss.places import COMPANIONS, database_names
from crash_harness.power_loss.profiles import PROFILES
from crash_harness.power_loss.recording import forget_hands
from crash_harness.power_loss.storage import KEPT, Disk
from crash_harness.power_loss.workloads import Settings, Start, open_workshop
from model.checking.explore import Verdict
from model.scopes import SCOPES

DIED = 75
GRACE_SECONDS = 10.0


class DeathNotCertain(Exception):
    """A child did not die where it was told to: nothing is shown."""


@dataclass(frozen=True, slots=True)
class PreparedCase:
    """A case with the files before it, its recorded log, and the operations of its COMMIT."""

    number: int
    case: DeathCase
    files: dict[str, bytes]
    log: tuple[Event, ...]
    operations: tuple[StorageEvent, ...]

    def deaths(self) -> Iterator[tuple[int, str]]:
        """Yield each place to die at, with the mode: only a write can be halved."""
        for place, event in enumerate(self.operations):
            yield place, "before"
            if isinstance(event, Written):
                yield place, "half"
            yield place, "after"

    def foretell(self, place: int, mode: str) -> dict[str, bytes]:
        """Return the files that a death leaves, rebuilt from the log alone."""
        disk = Disk(PROFILES["process"])
        disk.load(self.files)
        left = place + (mode == "after")
        is_inside = False
        for number, event in enumerate(self.log):
            is_inside |= isinstance(event, CommitStarted)
            is_counted = is_inside and isinstance(event, StorageEvent)
            if is_counted and not left and not isinstance(event, DirectorySynced):
                if mode == "half" and isinstance(event, Written):
                    half = event.data[: len(event.data) // 2]
                    disk.replay(Written(event.file, event.offset, half), number)
                break
            left -= is_counted and not isinstance(event, DirectorySynced)
            if isinstance(event, StorageEvent):
                disk.replay(event, number)
            elif isinstance(event, CommitReturned):
                break
        image = disk.image((KEPT,) * len(disk.pending))
        return {file: content.data for file, content in image.items()}


@dataclass(frozen=True, slots=True)
class Aftermath:
    """What was read after a death: by whoever survived, by a fresh opener beside it, and at last.

    The first two are None without a survivor. Each is "before", "after", or what else was found.
    """

    place: int
    mode: str
    survivor: str | None
    beside: str | None
    last: str

    @property
    def is_ghost(self) -> bool:
        """Whether the new state came up only when everyone who read the old one was gone."""
        return self.beside == "before" and self.last == "after"


def prepare_cases(machine: str) -> tuple[PreparedCase, ...]:
    """Make the files of each case with the implementation, and list what its COMMIT asks for."""
    scope, implementation = SCOPES[machine]["TINY"], load_implementation()
    prepared = []
    with open_workshop(machine, scope, implementation, Settings()) as workshop:
        for number, case in enumerate(find_death_cases(machine)):
            state = workshop.machine.initial_states(scope)[0]
            workshop.restore(workshop.absent, state)
            for action in case.way:
                workshop.subject.apply(action)
            here = Start(case.before, workshop.images(), state)
            recording = workshop.record(case.name, here, (case.action,), seed=0)
            start, end = (recording.log.index(mark()) for mark in (CommitStarted, CommitReturned))
            operations = tuple(
                event
                for event in recording.log[start:end]
                if isinstance(event, StorageEvent) and not isinstance(event, DirectorySynced)
            )
            files = dict(recording.files)
            prepared.append(PreparedCase(number, case, files, recording.log, operations))
    return tuple(prepared)


class DeathHouse:
    """The process that forks the children and survivors; a context manager.

    `folder` holds the databases of the case at hand.
    """

    def __init__(self, machine: str, folder: Path) -> None:
        """Start it."""
        self.machine = machine
        self.folder = folder
        with starting_processes():
            self._process = subprocess.Popen(
                [sys.executable, "-m", "crash_harness.power_loss.death_parent"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                cwd=Path(__file__).resolve().parents[2],
            )
        self.versions: list[str] = self._read()

    def _read(self) -> Any:
        line = self._process.stdout.readline() if self._process.stdout else ""
        if not line:
            raise DeathNotCertain("the forking process has ended")
        return json.loads(line)

    def ask(self, **order: Any) -> Any:
        """Send an order and return the answer; the children are bounded by an alarm."""
        stdin = self._process.stdin
        if stdin is None:
            raise DeathNotCertain("the forking process has no input")
        stdin.write(json.dumps(order) + "\n")
        stdin.flush()
        return self._read()

    def lay_out(self, files: dict[str, bytes]) -> None:
        """Put the files of a case into the folder, and nothing else."""
        for file in database_names(self.machine, SCOPES[self.machine]["TINY"]):
            for suffix in ("", *COMPANIONS):
                (self.folder / f"{file}{suffix}").unlink(missing_ok=True)
        for file, content in files.items():
            (self.folder / file).write_bytes(content)

    def survive(self) -> str:
        """Start the survivor; return the state that it reads."""
        state: str = self.ask(do="survive", machine=self.machine, folder=str(self.folder))
        return state

    def die(self, prepared: PreparedCase, place: int, mode: str) -> None:
        """Have a child take the case's call and die; it has to say where."""
        found = self.ask(
            do="die",
            machine=self.machine,
            case=prepared.number,
            folder=str(self.folder),
            place=place,
            mode=mode,
        )
        event = prepared.operations[place]
        words = f"{type(event).__name__} {event.file}"
        if found != {"code": DIED, "words": words}:
            raise DeathNotCertain(f"expected a death at {words}, {mode}; found {found}")

    def read(self) -> Any:
        """Return the state that a fresh opener reads with the standard `sqlite3`."""
        scope, implementation = SCOPES[self.machine]["TINY"], load_implementation()
        return read_real_files(self.machine, scope, implementation, self.folder, None).state

    def end_survivor(self, *, is_clean: bool = False) -> None:
        """End the survivor, as a kill does unless it is to close first."""
        self.ask(do="end", is_clean=is_clean)

    def __enter__(self) -> Self:
        """Return the house itself."""
        return self

    def __exit__(
        self,
        exception_type: type[BaseException] | None,
        exception: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """End the process."""
        if self._process.stdin is not None:
            self._process.stdin.close()
        try:
            self._process.wait(GRACE_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        if self._process.stdout is not None:
            self._process.stdout.close()


def run_deaths(
    machine: str, prepared: tuple[PreparedCase, ...], *, has_survivor: bool
) -> Iterator[tuple[PreparedCase, Aftermath]]:
    """Yield what is left of each death inside the COMMIT of each case."""
    with scratch_folder() as folder, DeathHouse(machine, folder) as house:
        for case in prepared:
            for place, mode in case.deaths():
                house.lay_out(case.files)
                yield case, _die_once(house, case, place, mode, has_survivor=has_survivor)


def _die_once(
    house: DeathHouse, case: PreparedCase, place: int, mode: str, *, has_survivor: bool
) -> Aftermath:
    """Let one child die, and read what is left: beside the survivor, and when all are gone."""
    survivor = beside = None
    if has_survivor:
        house.survive()
    house.die(case, place, mode)
    if has_survivor:
        survivor = name_state(case.case, house.ask(do="look"))
        beside = name_state(case.case, repr(house.read()))
        house.end_survivor()
    return Aftermath(place, mode, survivor, beside, name_state(case.case, repr(house.read())))


def name_state(case: DeathCase, state: str) -> str:
    """Return "before" or "after" for the two states that are allowed, and any other as it is."""
    for name, allowed in (("before", case.before), ("after", case.after)):
        if state == repr(forget_hands(case.machine, allowed)):
            return name
    return state


@dataclass(frozen=True, slots=True)
class DeathReport:
    """What the deaths inside COMMIT have left: how often the state before, and the one after.

    `ghosts` came up only when the survivor was gone. `problems` are states that are neither, and
    cases of which only one of the two was seen.
    """

    machine: str
    cases: int
    deaths: int
    before: int
    after: int
    ghosts: int
    problems: tuple[str, ...]

    @property
    def verdict(self) -> Verdict:
        """Pass if both states were seen of every case, and no other; undetermined without any."""
        if self.problems:
            return Verdict.FAIL
        return Verdict.PASS if self.deaths else Verdict.UNDETERMINED


def check_deaths(machine: str, *, most_cases: int | None = None) -> DeathReport:
    """Have children die at each place inside COMMIT, alone and beside a survivor."""
    prepared = prepare_cases(machine)[:most_cases]
    seen: dict[tuple[str, int, bool], set[str]] = {}
    found: list[Aftermath] = []
    problems = []
    for has_survivor in (False, True):
        for case, each in run_deaths(machine, prepared, has_survivor=has_survivor):
            found.append(each)
            seen.setdefault((case.case.name, case.number, has_survivor), set()).add(each.last)
            problems += [
                f"{case.case.name}, {each.mode} {each.place}: {state}"
                for state in (each.survivor, each.beside, each.last)
                if state not in {None, "before", "after"}
            ]
    for (name, _, has_survivor), states in seen.items():
        if not states >= {"before", "after"}:
            beside = "beside a survivor" if has_survivor else "alone"
            problems.append(f"{name}, {beside}: only {', '.join(sorted(states))} was seen")
    return DeathReport(
        machine=machine,
        cases=len(prepared),
        deaths=len(found),
        before=sum(each.last == "before" for each in found),
        after=sum(each.last == "after" for each in found),
        ghosts=sum(each.is_ghost for each in found),
        problems=tuple(problems),
    )

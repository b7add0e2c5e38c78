"""The judge: what a new process reads after a power loss has to be what the model allows.

`integrity_check` is ok; the durable rows are those of a state of the model, and all its invariants
hold (for dispatch, of ledgers and receiver together); the state is one that was promised or under
way; and the call is repeated, and gets the model's answer.
Each content is read once, and each call is repeated once on it: equal bytes read the same.
"""

import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import apsw

from conformance.implementation import Implementation
from conformance.lockstep import find_broken
from conformance.place import RealFile
from conformance.subject import Subject, Unreadable, describe_error
from crash_harness.power_loss.memory import MemoryStorage, memory_storage
from crash_harness.power_loss.places import MemoryPlace, bind_subject, database_names
from crash_harness.power_loss.recording import forget_hands, repeated_action
from crash_harness.power_loss.recovery import Recovered
from model.machine import property_sentence
from model.scopes import MACHINES


@dataclass(frozen=True, slots=True)
class Reading:
    """What a new process reads: a state, or why it can't be one."""

    state: Any = None
    problem: str | None = None


class Judge:
    """Reads what was recovered, and repeats calls on it."""

    def __init__(
        self, machine: str, scope: Any, implementation: Implementation, pragmas: Any
    ) -> None:
        """Bind a subject in memory, whose contents change from case to case."""
        self.machine = machine
        self.scope = scope
        self.implementation = implementation
        self.databases = database_names(machine, scope)
        self.repeated = 0
        self._storage: MemoryStorage = memory_storage()
        self._places: list[MemoryPlace] = []
        self._readings: dict[tuple[int, ...], Reading] = {}
        self._repeats: dict[tuple[tuple[int, ...], Any], str | None] = {}

        def make_place(file: str) -> MemoryPlace:
            place = MemoryPlace(file, implementation, self._storage, pragmas)
            self._places.append(place)
            return place

        self._subject: Subject = bind_subject(machine, scope, implementation, make_place)

    def read(self, recovered: tuple[Recovered, ...]) -> Reading:
        """Return what the recovered databases say together."""
        for database, each in zip(self.databases, recovered, strict=True):
            if each.error is not None:
                return Reading(problem=f"{database} can't be opened: {each.error}")
        key = tuple(each.content.digest for each in recovered)
        reading = self._readings.get(key)
        if reading is None:
            files = {
                database: each.content.data
                for database, each in zip(self.databases, recovered, strict=True)
            }
            reading = self._readings[key] = self.read_files(files)
        return reading

    def read_files(self, files: Mapping[str, bytes]) -> Reading:
        """Return what files say that nobody has opened yet: SQLite recovers them on the way."""
        self._storage.load(files)
        try:
            for database in self.databases:
                if files.get(database):
                    _check_integrity(self._storage.open(database))
            state = self._observe()
        except (Unreadable, apsw.Error) as error:
            return Reading(problem=describe_error(error))
        except Exception as error:  # noqa: BLE001 - a damaged database raises anything
            return Reading(problem=describe_error(error))
        return Reading(state, _find_false_invariant(self.machine, state))

    def _observe(self) -> Any:
        try:
            return self._subject.observe()
        finally:
            for place in self._places:
                place.close()

    def repeat(self, recovered: tuple[Recovered, ...], state: Any, action: Any) -> str | None:
        """Repeat a call on what was recovered; return what is wrong with its answer."""
        key = (tuple(each.content.digest for each in recovered), action)
        if key not in self._repeats:
            files = {
                database: each.content.data
                for database, each in zip(self.databases, recovered, strict=True)
            }
            self._repeats[key] = self.repeat_on_files(files, state, action)
        return self._repeats[key]

    def repeat_on_files(self, files: Mapping[str, bytes], state: Any, action: Any) -> str | None:
        """Repeat a call on files that nobody has opened yet, in a fresh process' shoes."""
        self.repeated += 1
        self._storage.load({file: content for file, content in files.items() if content})
        call = repeated_action(action)
        after, outcome = MACHINES[self.machine].step(state, call)
        try:
            found = self._subject.apply(call)
            observed = self._observe()
        except Exception as error:  # noqa: BLE001 - whatever comes out is what is being judged
            return f"{call} was repeated and raised {describe_error(error)}"
        finally:
            self._subject.restore(*_empty_hands(self._places, state))
        if found != outcome:
            return f"{call} was repeated: expected {outcome}, found {found}"
        expected = forget_hands(self.machine, after)
        if forget_hands(self.machine, observed) != expected:
            return f"{call} was repeated: expected the state {expected}, found {observed}"
        broken = find_broken(MACHINES[self.machine], state, call, found, observed)
        return None if not broken else f"{call} was repeated and breaks {broken[0].name}"


def _empty_hands(places: list[MemoryPlace], state: Any) -> tuple[Any, Any]:
    """Return what restores a subject to empty files and empty hands."""
    if len(places) == 1:
        return b"", state
    return (tuple(b"" for _ in places), ()), state


def _check_integrity(connection: apsw.Connection) -> None:
    try:
        found = connection.execute("pragma integrity_check").fetchall()
    finally:
        connection.close()
    if found != [("ok",)]:
        raise Unreadable(f"integrity_check says {'; '.join(str(row[0]) for row in found)}")


def _find_false_invariant(machine: str, state: Any) -> str | None:
    for check in MACHINES[machine].invariants:
        clause = check(state)
        if clause is not None:
            return f"{check.__name__}: {property_sentence(check)} It is false: {clause}"
    return None


def read_real_files(
    machine: str,
    scope: Any,
    implementation: Implementation,
    folder: Path,
    files: Mapping[str, bytes] | None,
) -> Reading:
    """Return what files say to the standard `sqlite3`, written into a folder as they are.

    None reads what is in the folder already.
    """
    if files is not None:
        for old in folder.iterdir():
            old.unlink()
        for file, content in files.items():
            (folder / file).write_bytes(content)
    subject = bind_subject(
        machine, scope, implementation, lambda name: RealFile(folder / name, implementation)
    )
    try:
        state = subject.observe()
        for file in database_names(machine, scope):
            path = folder / file
            if path.exists() and path.stat().st_size:
                _check_integrity_of_file(path)
    except Exception as error:  # noqa: BLE001 - a damaged database raises anything
        return Reading(problem=describe_error(error))
    finally:
        subject.close()
    return Reading(state, _find_false_invariant(machine, state))


def _check_integrity_of_file(path: Path) -> None:
    connection = sqlite3.connect(path)
    try:
        found = connection.execute("pragma integrity_check").fetchall()
    finally:
        connection.close()
    if found != [("ok",)]:
        raise Unreadable(f"integrity_check says {'; '.join(str(row[0]) for row in found)}")

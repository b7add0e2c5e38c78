"""The process that forks those who die inside COMMIT, and survivors; it opens no database itself.

A process with an open SQLite connection must not fork (POSIX locks are per process), so this one
only reads orders, forks and waits. An order is a line of JSON, and so is the answer.
`death` starts it, and says what the orders mean.
"""

import json
import os
import select
import signal
import sqlite3
import sys
from pathlib import Path
from typing import Any, NoReturn

import apsw

from conformance.implementation import load_implementation
from conformance.place import RealFile
from conformance.subject import Subject
from crash_harness.power_loss.death_cases import DeathCase, find_death_cases
from crash_harness.power_loss.log import CommitReturned, CommitStarted, StorageEvent, Written
from crash_harness.power_loss.places import RecordedPlace, bind_subject
from crash_harness.power_loss.recorder import Perform, RecordedFile, Recorder
from model.scopes import SCOPES

DIED = 75
SURVIVED = 0
CHILD_SECONDS = 20.0


class FatalGate:
    """Ends the process at an operation of the storage inside COMMIT.

    `place` counts the operations from 0; `mode` is "before", "half" or "after".
    """

    def __init__(self, recorder: Recorder, place: int, mode: str, words: int) -> None:
        self._recorder = recorder
        self._left = place
        self._mode = mode
        self._words = words

    def __call__(self, event: StorageEvent, perform: Perform, file: RecordedFile | None) -> None:
        """Carry the operation out, or as much of it as the mode says, and die."""
        log = self._recorder.log
        is_inside = CommitStarted() in log and CommitReturned() not in log
        if not is_inside or self._left:
            self._left -= is_inside
            perform()
            return
        if self._mode == "after":
            perform()
        elif self._mode == "half" and isinstance(event, Written) and file is not None:
            file.write(event.data[: len(event.data) // 2], event.offset)
        os.write(self._words, f"{type(event).__name__} {event.file}".encode())
        os._exit(DIED)


class _HeldPlace(RecordedPlace):
    """A place whose files are there already: restoring a subject fills its hands alone."""

    def restore(self, image: bytes) -> None:
        """Leave the file as it is."""


def run_case(case: DeathCase, folder: Path, place: int, mode: str, words: int) -> None:
    """Take the case's action on the files in the folder, and die at a place inside its COMMIT."""
    implementation = load_implementation()
    recorder = Recorder()
    recorder.gate = FatalGate(recorder, place, mode, words)
    subject = bind_subject(
        case.machine,
        SCOPES[case.machine]["TINY"],
        implementation,
        lambda name: _HeldPlace(
            folder / name, implementation, recorder, implementation.connection.PRAGMAS
        ),
    )
    if case.machine == "reservation":
        subject.restore((("",) * 2, ()), case.before)
    subject.apply(case.action)


class Survivor:
    """A process that keeps a connection of the standard `sqlite3` to each database."""

    def __init__(self, machine: str, folder: Path) -> None:
        self._orders, theirs = os.pipe()
        answers, self._answers = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            os.close(theirs)  # or it would never see the end of its orders
            os.close(answers)
            _serve(machine, folder, self._orders, self._answers)
        os.close(self._orders)
        os.close(self._answers)
        self._orders, self._answers = theirs, answers

    def ask(self, order: dict[str, Any]) -> Any:
        """Send an order and return the answer; bounded."""
        os.write(self._orders, json.dumps(order).encode())
        ready, _, _ = select.select([self._answers], [], [], CHILD_SECONDS)
        if not ready:
            raise TimeoutError("the survivor does not answer")
        return json.loads(os.read(self._answers, 1 << 16))

    def end(self, *, is_clean: bool) -> None:
        """End it: with its connections closed, or as a kill does."""
        if is_clean:
            self.ask({"do": "close"})
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        os.close(self._orders)
        os.close(self._answers)


def _serve(machine: str, folder: Path, orders: int, answers: int) -> NoReturn:
    """Be the survivor: answer orders until the end."""
    try:
        implementation = load_implementation()
        places: list[RealFile] = []

        def make_place(name: str) -> RealFile:
            places.append(RealFile(folder / name, implementation))
            return places[-1]

        subject: Subject = bind_subject(
            machine, SCOPES[machine]["TINY"], implementation, make_place
        )
        while order := os.read(orders, 1 << 16):
            os.write(answers, json.dumps(_answer(json.loads(order), subject, places)).encode())
    finally:
        os._exit(1)


def _answer(order: dict[str, Any], subject: Subject, places: list[RealFile]) -> Any:
    if order["do"] == "look":
        return repr(subject.observe())
    if order["do"] == "close":
        subject.close()
        return "closed"
    for place in places:
        observer = place.observer()
        if observer is not None:
            for statement in order["statements"]:
                observer.execute(statement).fetchall()
    return "done"


def _fork_child(order: dict[str, Any]) -> dict[str, Any]:
    """Fork one who dies, and return how it ended and its last words."""
    case = find_death_cases(order["machine"])[order["case"]]
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            signal.alarm(int(CHILD_SECONDS))
            run_case(case, Path(order["folder"]), order["place"], order["mode"], writing)
            os.write(writing, b"the end")
            os._exit(SURVIVED)
        except BaseException as error:  # noqa: BLE001 - its words are the only trace of it
            os.write(writing, f"{type(error).__name__}: {error}".encode())
        finally:
            os._exit(1)
    os.close(writing)
    words = os.read(reading, 1 << 16).decode()
    os.close(reading)
    _, status = os.waitpid(pid, 0)
    return {"code": os.waitstatus_to_exitcode(status), "words": words}


def main() -> None:
    """Answer orders until standard input ends; Ctrl-C is for the process that gives them."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    survivor: Survivor | None = None
    for line in sys.stdin:
        order = json.loads(line)
        answer: Any = "done"
        match order["do"]:
            case "die":
                answer = _fork_child(order)
            case "survive":
                survivor = Survivor(order["machine"], Path(order["folder"]))
                answer = survivor.ask({"do": "look"})
            case "end" if survivor is not None:
                survivor.end(is_clean=order["is_clean"])
                survivor = None
            case _:
                answer = None if survivor is None else survivor.ask(order)
        print(json.dumps(answer), flush=True)  # noqa: T201 - the answers are this program's output


if __name__ == "__main__":
    print(json.dumps([apsw.sqlite_lib_version(), sqlite3.sqlite_version]), flush=True)  # noqa: T201
    try:
        main()
    except BrokenPipeError:  # whoever has asked is gone
        os._exit(0)

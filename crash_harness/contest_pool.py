"""The parent's side of the worker processes: to start, tell, hear and end them, all within bounds.

The parent has no database open, ever: what is to be read of one, a worker reads.
Workers are borrowed and given back, since a new interpreter costs more than a whole contest.

Not here: what the workers do (`contest_worker`).
"""

import contextlib
import itertools
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from multiprocessing.connection import Connection, Pipe
from pathlib import Path
from types import TracebackType
from typing import Any, NoReturn, Self

from conformance.changed_source import Change, load_changed_implementation
from conformance.run_end import begin_scratch_name, starting_processes
from crash_harness.contest_worker import (
    GO,
    LEFT,
    Call,
    Execute,
    Leave,
    Look,
    Order,
    Raised,
    Seen,
)

LIMIT_SECONDS = 15.0
"""More than SQLite's own wait for a lock: it only keeps a hung worker from hanging the run."""
GRACE_SECONDS = 5.0
"""How long the parent waits beyond the worker's own limit, at which the worker ends itself."""
LAST_WORDS_BYTES = 4000
ROOT = Path(__file__).resolve().parents[1]
PROGRAM = """
import sys
sys.path.insert(0, sys.argv[1])
from crash_harness.contest_worker import main
main(int(sys.argv[2]))
"""


class WorkerLost(Exception):
    """A worker did not answer: it hung beyond its limit, or it ended; with its last words."""

    def __init__(self, message: str, *, has_hung: bool) -> None:
        super().__init__(message)
        self.has_hung = has_hung


class WorkerProcess:
    """A worker process as its parent sees it."""

    def __init__(
        self, number: int, folder: Path, limit_seconds: float, changes: Sequence[Change]
    ) -> None:
        """Start a fresh interpreter; it needs no answer before it is told something."""
        self.number = number
        self.is_lost = False
        self._limit_seconds = limit_seconds
        self._heard = "nothing"
        self._words = folder / f"worker-{number}.txt"
        ours, theirs = Pipe()
        self._connection: Connection = ours
        with theirs, self._words.open("wb") as words, starting_processes():
            self._process = subprocess.Popen(
                # Alone: without site packages, since a worker needs the standard library only.
                [sys.executable, "-I", "-S", "-c", PROGRAM, str(ROOT), str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                stdout=words,
                stderr=words,
                pass_fds=(theirs.fileno(),),
            )
        self._send((limit_seconds, tuple(changes)))

    def tell(self, order: Order) -> None:
        """Give an order, and do not wait."""
        self._send(order)

    def release(self) -> None:
        """Say GO to a worker that is READY or HELD."""
        self._send(GO)

    def hear(self) -> Any:
        """Return the worker's next word; `WorkerLost` if there is none within the bound."""
        try:
            if not self._connection.poll(self._limit_seconds + GRACE_SECONDS):
                self._lose("is silent", has_hung=True)
            said = self._connection.recv()
        except (EOFError, OSError):
            code = self._wait()
            has_hung = "Timeout (" in self._read_words()
            self._lose(f"ended with exit code {code}", has_hung=has_hung)
        self._heard = said if isinstance(said, str) else type(said).__name__
        return said

    def expect(self, word: str) -> None:
        """Hear this word and no other."""
        said = self.hear()
        if said != word:
            trace = said.trace if isinstance(said, Raised) else repr(said)
            self._lose(f"should have said {word}, and said: {trace}", has_hung=False)

    def call(self, order: Call) -> Any:
        """Have a call carried out, and return its outcome, or what it raised."""
        self.tell(order)
        said = self.hear()
        return said if isinstance(said, Raised) else said.outcome

    def look(self) -> Seen | Raised:
        """Return what a fresh connection reads."""
        self.tell(Look())
        seen: Seen | Raised = self.hear()
        return seen

    def execute(self, order: Execute) -> None:
        """Have SQL run past the protocols."""
        self.tell(order)
        said = self.hear()
        if isinstance(said, Raised):
            self._lose(said.trace, has_hung=False)

    def leave(self) -> None:
        """Have the worker close what it has open."""
        self.tell(Leave())
        self.expect(LEFT)

    def wait_for_exit(self) -> int | Any:
        """Return the exit code of a worker that was told to end itself, or what it said instead."""
        try:
            return self.hear()
        except WorkerLost as lost:
            if lost.has_hung:
                raise
            return self._wait()

    def last_words(self) -> str:
        """Return the last message of the worker, and the end of what it wrote."""
        written = self._read_words().strip()
        lines = "".join(f"\n    {line}" for line in written.splitlines()) or " it wrote nothing"
        return f"worker {self.number} last said {self._heard};{lines}"

    def wait_for_last_words(self, limit_seconds: float) -> None:
        """Give a worker that hangs the time to reach its own limit, and to say where it hangs."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(limit_seconds)

    def kill(self) -> None:
        """End the process at once; one that waits for an order has no database open."""
        self.is_lost = True
        self._connection.close()
        self._process.kill()
        self._process.wait()

    def _send(self, message: Any) -> None:
        # A worker that has ended can't hear; the next `hear` finds that out.
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            self._connection.send(message)

    def _wait(self) -> int:
        try:
            return self._process.wait(GRACE_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            return self._process.wait(GRACE_SECONDS)

    def _lose(self, what: str, *, has_hung: bool) -> NoReturn:
        self.is_lost = True
        message = f"worker {self.number} {what}"
        if has_hung:
            message = f"worker {self.number} did not answer within {self._limit_seconds:g} s"
        raise WorkerLost(f"{message}\n  {self.last_words()}", has_hung=has_hung)

    def _read_words(self) -> str:
        return self._words.read_bytes()[-LAST_WORDS_BYTES:].decode(errors="replace")


class Pool:
    """Workers to borrow; a lost one is not given out again. Several threads may borrow at once."""

    def __init__(
        self, *, changes: Sequence[Change] = (), limit_seconds: float = LIMIT_SECONDS
    ) -> None:
        """Start no process yet; `ChangeError` if the changes can't be made."""
        if changes:
            load_changed_implementation(changes)
        self._changes = tuple(changes)
        self._limit_seconds = limit_seconds
        self._idle: list[WorkerProcess] = []
        self._all: list[WorkerProcess] = []
        self._numbers = itertools.count(1)
        self._lock = threading.Lock()
        self._words = tempfile.TemporaryDirectory(prefix=f"{begin_scratch_name()}words-")

    @contextlib.contextmanager
    def borrow(self, count: int) -> Iterator[list[WorkerProcess]]:
        """Lend this many workers; after an error none of them is used again."""
        with self._lock:
            workers = [self._idle.pop() for _ in range(min(count, len(self._idle)))]
        workers += [self._start() for _ in range(count - len(workers))]
        try:
            yield workers
        except BaseException:
            for worker in workers:
                worker.kill()
            raise
        for worker in workers:
            if worker.is_lost:
                worker.kill()
        with self._lock:
            self._idle += [worker for worker in workers if not worker.is_lost]

    def _start(self) -> WorkerProcess:
        with self._lock:
            number = next(self._numbers)
        worker = WorkerProcess(number, Path(self._words.name), self._limit_seconds, self._changes)
        with self._lock:
            self._all.append(worker)
        return worker

    def close(self) -> None:
        """End every worker."""
        for worker in self._all:
            worker.kill()
        self._words.cleanup()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        exception_type: type[BaseException] | None,
        exception: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

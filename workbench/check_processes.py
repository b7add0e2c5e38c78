"""Runs checks in processes of their own, several at a time; none of them can end another one.

A process takes one check after another. If it ends during one, or is not done in time, that check
has failed, and another process takes the next one. What the checked code prints goes to standard
error: standard output is for the report alone.
"""

import contextlib
import multiprocessing
import os
import queue
import signal
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess

from conformance.run_end import starting_processes
from model.checking.explore import Verdict
from workbench.check import Check, Finding, run_check
from workbench.progress import progress_bar

SPAWN = multiprocessing.get_context("spawn")
"""No process here forks with a database open."""
MOST_SECONDS_TO_END = 5.0


def run_checks(checks: Sequence[Check], most_seconds: float) -> Iterator[Finding]:
    """Yield the findings in the order of the checks; the longest checks start first."""
    count = os.cpu_count() or 1
    lanes: queue.SimpleQueue[Lane] = queue.SimpleQueue()

    def run(check: Check) -> Finding:
        lane = lanes.get()
        try:
            return lane.run(check, most_seconds)
        finally:
            lanes.put(lane)

    with (
        contextlib.ExitStack() as stack,
        ThreadPoolExecutor(count) as threads,
        progress_bar("checks", len(checks)) as advance,
    ):
        for _ in range(count):
            lanes.put(stack.enter_context(contextlib.closing(Lane())))
        order = sorted(range(len(checks)), key=lambda number: -checks[number].weight)
        futures = {number: threads.submit(run, checks[number]) for number in order}
        for number in range(len(checks)):
            finding = futures[number].result()
            advance(number + 1)
            yield finding


class Lane:
    """A process that runs checks, and another one where it has ended."""

    def __init__(self) -> None:
        """Start nothing yet."""
        self._process: BaseProcess | None = None
        self._connection: Connection | None = None

    def run(self, check: Check, most_seconds: float) -> Finding:
        """Run a check; one whose process ends, or has no end in time, has failed."""
        connection = self._connection or self._start()
        try:
            connection.send(check)
            if connection.poll(most_seconds):
                finding: Finding = connection.recv()
                return finding
            problem = f"no end in {most_seconds:,.0f} s"
        except (EOFError, OSError):
            problem = f"the process of this check ended by itself{self._describe_end()}"
        self._kill()
        return Finding(Verdict.FAIL, "nothing was shown", {}, (problem,), name=check.name)

    def _start(self) -> Connection:
        ours, theirs = SPAWN.Pipe()
        self._process = SPAWN.Process(target=_serve, args=(theirs,))
        with starting_processes():
            self._process.start()
        theirs.close()
        self._connection = ours
        return ours

    def _describe_end(self) -> str:
        """Return the exit code of a process that is about to be gone."""
        if self._process is None:
            return ""
        self._process.join(MOST_SECONDS_TO_END)
        code = self._process.exitcode
        return "" if code is None else f", exit code {code}"

    def _kill(self) -> None:
        """End the process with all that it has started."""
        if self._process is not None and self._process.pid is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.kill()
        self.close()

    def close(self) -> None:
        """Let the process end: nobody gives it another check."""
        if self._connection is not None and self._process is not None:
            self._connection.close()
            self._process.join()
        self._connection = self._process = None


def _serve(connection: Connection) -> None:
    """Run the checks that come, until none can come any more."""
    os.setpgid(0, 0)  # so that this process and its children can be ended together
    os.dup2(2, 1)
    with connection, contextlib.suppress(EOFError):
        while True:
            connection.send(run_check(connection.recv()))

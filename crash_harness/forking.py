"""The judge's side of the lean parent: starts it, hands it cases, and believes only proofs.

A child has to die where it was told to: its last words name the place, and its exit code or signal
is the one that was asked for. Anything else is a `HarnessError`, and never a pass.

Not here: what a parent does (`parent`), and whether what is found is right (`judge`).
"""

import json
import marshal
import select
import signal
import subprocess
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

from conformance.changed_source import Change
from conformance.run_end import starting_processes
from crash_harness.boundaries import Statement
from crash_harness.child import END, EXIT_CODE

ROOT = Path(__file__).resolve().parents[1]
CHILD_SECONDS = 30.0
GRACE_SECONDS = 10.0
PROGRAM = """
import os, sys
os.register_at_fork = lambda **hooks: None  # a child that dies needs no bookkeeping of `threading`
sys.path.insert(0, sys.argv[1])
from crash_harness.parent import main
main()
"""
ENDINGS = {"exit": EXIT_CODE, "kill": -signal.SIGKILL}


class HarnessError(Exception):
    """The harness has shown nothing: a child did not die at its boundary, or its parent failed."""


@dataclass(frozen=True, slots=True)
class Call:
    """A call on the implementation in plain values: `paths` by kind of store."""

    operation: str
    arguments: tuple[Any, ...]
    paths: Mapping[str, str]
    pragmas: Mapping[str, Any] = field(default_factory=dict)

    @property
    def names_stores(self) -> bool:
        """Whether the boundaries say which store a statement is for."""
        return self.operation == "attempt"


@dataclass(frozen=True, slots=True)
class Death:
    """How a child ended: after these statements, before `following`, None at the very end.

    `answer` is what the call was about to return, in plain values.
    """

    statements: tuple[Statement, ...]
    following: Statement | None
    answer: Any


class ForkingParent:
    """A running lean parent; a context manager."""

    def __init__(self, changes: Iterable[Change] = (), *, seconds: float = CHILD_SECONDS) -> None:
        """Start it with these changes to the implementation; each child gets so many seconds."""
        self.seconds = seconds
        with starting_processes():
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-S", "-c", PROGRAM, str(ROOT)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                bufsize=0,
            )
        self._buffer = b""
        try:
            reply = self._ask([[each.file, each.old, each.new] for each in changes])
            self.pid: int = reply["ready"]
        except BaseException:
            self.close()
            raise

    def run(self, call: Call, boundary: int, *, way: str = "exit", or_last: bool = False) -> Death:
        """Have a child run the call and die at a boundary, counted from 0; -1 is the last.

        With `or_last`, a boundary that does not exist is the last one.
        """
        reply = self._ask(
            {
                "operation": call.operation,
                "arguments": call.arguments,
                "paths": call.paths,
                "pragmas": call.pragmas,
                "boundary": boundary,
                "way": way,
                "or_last": or_last,
                "seconds": self.seconds,
            }
        )
        return _certify(reply, boundary, way, or_last=or_last)

    def _ask(self, order: Any) -> dict[str, Any]:
        """Send a line, and return the answer; bounded."""
        stdin, stdout = _pipes(self._process)
        try:
            stdin.write(json.dumps(order).encode() + b"\n")
            while b"\n" not in self._buffer:
                ready, _, _ = select.select([stdout], [], [], self.seconds + GRACE_SECONDS)
                if not ready:
                    self._process.kill()
                    raise HarnessError("the forking parent does not answer")
                chunk = stdout.read(1 << 16)
                if not chunk:
                    raise HarnessError("the forking parent has ended")
                self._buffer += chunk
        except BrokenPipeError as error:
            raise HarnessError("the forking parent has ended") from error
        line, _, self._buffer = self._buffer.partition(b"\n")
        reply: dict[str, Any] = json.loads(line)
        if "error" in reply:
            raise HarnessError(reply["error"])
        return reply

    def close(self) -> None:
        """End the parent."""
        stdin, stdout = _pipes(self._process)
        stdin.close()
        try:
            self._process.wait(GRACE_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        stdout.close()

    def __enter__(self) -> Self:
        """Return the parent itself."""
        return self

    def __exit__(
        self,
        exception_type: type[BaseException] | None,
        exception: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """End the parent."""
        self.close()


def _pipes(process: subprocess.Popen[bytes]) -> tuple[IO[bytes], IO[bytes]]:
    if process.stdin is None or process.stdout is None:
        raise HarnessError("the forking parent was started without pipes")
    return process.stdin, process.stdout


def _certify(reply: Mapping[str, Any], boundary: int, way: str, *, or_last: bool) -> Death:
    """Turn the last words and the end of a child into its death, if they prove it."""
    words = reply["marker"].encode("latin-1")
    statements, following, answer = marshal.loads(words) if words else ((), None, None)  # noqa: S302 - our own child's
    if reply["code"] != ENDINGS[way]:
        raise HarnessError(
            f"a child that was to die by {way} at boundary {boundary} ended with code "
            f"{reply['code']}, after {len(statements)} statements"
        )
    is_at_the_end = following is None and (boundary == END or or_last)
    if len(statements) != boundary and not is_at_the_end:
        raise HarnessError(
            f"a child that was to die at boundary {boundary} died at {len(statements)}"
        )
    return Death(
        statements=tuple(Statement(store, sql) for store, sql in statements),
        following=None if following is None else Statement(*following),
        answer=answer,
    )

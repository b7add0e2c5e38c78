"""The lean parent: a fresh interpreter that forks a child for each case, and says how it ended.

It imports the implementation and nothing heavy, because a fork costs what the parent has in
memory. No SQLite connection may be open in a process that forks: a child would inherit its locks,
and lose commits. So the parent never opens one, and makes sure of that before each fork.

The protocol: a case comes as a line of JSON on standard input, an answer leaves as one on standard
output. The first line names the changes to the implementation, if any.

Not here: the other side (`forking`), what a child does (`child`), and any judgement.
"""

import contextlib
import gc
import json
import os
import signal
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any, Never

from conformance.implementation import Implementation, load_implementation
from crash_harness.child import Death

DATABASE_SUFFIXES = (".db", "-wal", "-shm", "-journal")
OPEN_FILES = Path("/proc/self/fd")
CHUNK_BYTES = 1 << 16
BROKEN_CODE = 98
"""The child raised something that is no answer of its call."""


class StillOpen(Exception):
    """The process that is about to fork has, or had, a database open."""


class TookTooLong(Exception):
    """A child did not end within its time."""


class Watch:
    """Knows of every connection that this process has ever opened, from the time it is set up."""

    def __init__(self) -> None:
        self.opened = 0
        sys.addaudithook(self._note)

    def _note(self, event: str, _arguments: tuple[Any, ...]) -> None:
        if event == "sqlite3.connect":
            self.opened += 1

    def refuse_open_databases(self) -> None:
        """Raise `StillOpen` if this process has opened a connection, or has a database file open.

        The second covers what was opened in another way, where the system can tell.
        """
        if self.opened:
            raise StillOpen(f"the process that forks has opened {self.opened} connections")
        refuse_open_files()


def refuse_open_files() -> None:
    """Raise `StillOpen` if this process has a file of a database open, where one can see it."""
    try:
        descriptors = os.listdir(OPEN_FILES)  # noqa: PTH208 - four times as fast, once a case
    except OSError:  # this system does not tell
        return
    for name in descriptors:
        try:
            target = os.readlink(f"{OPEN_FILES}/{name}")  # noqa: PTH115 - the same
        except OSError:  # the descriptor of the folder itself
            continue
        if target.removesuffix(" (deleted)").endswith(DATABASE_SUFFIXES):
            raise StillOpen(f"{target} is open in the process that forks")


def fork_child(version: Implementation, case: Mapping[str, Any], watch: Watch) -> dict[str, Any]:
    """Fork a child that runs the case, wait for its end, and return how that was."""
    death = Death(version, case)
    watch.refuse_open_databases()
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        _become_child(death, writer)
    os.close(writer)
    marker = b""
    signal.setitimer(signal.ITIMER_REAL, case["seconds"])
    try:
        while chunk := os.read(reader, CHUNK_BYTES):
            marker += chunk
        _, status = os.waitpid(child, 0)
        signal.setitimer(signal.ITIMER_REAL, 0)
    except TookTooLong:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        return {"error": f"the child did not end within {case['seconds']} s"}
    finally:
        os.close(reader)
    return {"code": os.waitstatus_to_exitcode(status), "marker": marker.decode("latin-1")}


def _become_child(death: Death, writer: int) -> Never:
    """Run the case; whatever goes wrong, never come back into the parent's loop."""
    try:
        death.die(writer)
    finally:
        os._exit(BROKEN_CODE)


def load_version(changes: list[list[str]]) -> Implementation:
    """Return the implementation in the tree, or a changed copy of it."""
    if not changes:
        return load_implementation()
    from conformance.changed_source import (  # noqa: PLC0415 - only a changed copy needs it
        Change,
        load_changed_implementation,
    )

    return load_changed_implementation(Change(*change) for change in changes)


def serve(orders: IO[str], replies: IO[str]) -> None:
    """Answer each line of orders until there are no more."""

    def end_wait(_signal: int, _frame: object) -> None:
        raise TookTooLong

    signal.signal(signal.SIGALRM, end_wait)
    watch = Watch()
    try:
        version = load_version(json.loads(orders.readline()))
    except Exception as error:  # noqa: BLE001 - told to the judge
        replies.write(json.dumps({"error": f"{type(error).__name__}: {error}"}) + "\n")
        replies.flush()
        return
    replies.write(json.dumps({"ready": os.getpid()}) + "\n")
    replies.flush()
    gc.collect()
    gc.freeze()  # a collection in a child would touch, and so copy, every page
    gc.disable()
    for line in orders:
        try:
            reply = fork_child(version, json.loads(line), watch)
        except StillOpen as error:
            reply = {"error": str(error)}
        replies.write(json.dumps(reply) + "\n")
        replies.flush()


def main() -> None:
    """Serve on standard input and output, which no child may write to.

    It ends when its input does; Ctrl-C is for the process at the other end, and so it is ignored.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    replies = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    with contextlib.suppress(BrokenPipeError):  # whoever has asked is gone
        serve(sys.stdin, replies)
    os._exit(0)

"""The end of a run: at Ctrl-C, or when nobody reads it any more, all of it ends at once.

A run is a process that a person has started, with all that it starts itself. A terminal sends
Ctrl-C to each of these. Only the first one listens: it kills the others, removes the scratch
folders of all, and exits. It raises no exception, since somebody could swallow that: SQLite does,
in a callback of a VFS.

Not here: the processes that end when their standard input or their connection does, which it is
when the one that started them is gone.
"""

import contextlib
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

RUN = "ADMIT_ONE_RUN"
"""The environment variable with the name of a run, which its processes inherit."""
MEMORY = Path("/dev/shm")  # noqa: S108 - a folder made in it gets a name of its own
INTERRUPTED = 128 + signal.SIGINT
"""The exit code after Ctrl-C, as a shell has it."""
UNREAD = 128 + signal.SIGPIPE
"""The exit code where nobody reads standard output any more, as a shell has it."""
MOST_SECONDS = 1.5
"""How long the end of a run may take."""
MOST_REMOVALS = 10
REMOVAL_PAUSE_SECONDS = 0.02
CLEAN_LINE = "\r\x1b[2K\x1b[?25h"
"""Erases what a progress bar has drawn, and shows the cursor again."""

_starting = threading.RLock()
_leave = os._exit  # as it is here: later it may be watched, since code under test may call it


@contextlib.contextmanager
def starting_processes() -> Iterator[None]:
    """Start processes within this: they never hear of Ctrl-C, and none is started in a run's end.

    The mask of signals is inherited, so that they are deaf from the first moment.
    """
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        with _starting:
            yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)


def begin_run() -> None:
    """Give the run a name, and end it at Ctrl-C from now on."""
    os.environ[RUN] = os.urandom(4).hex()
    signal.signal(signal.SIGINT, lambda _signal, _frame: end_run(INTERRUPTED, "interrupted"))


def end_run(code: int, words: str = "") -> NoReturn:
    """End this process and those that it has started, soon; never come back."""
    try:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        if words:
            _say(words)
        limit = threading.Timer(MOST_SECONDS, _leave, (code,))
        limit.daemon = True
        limit.start()
        _starting.acquire()
        _kill_children()
        _remove_scratch_folders()
    finally:
        _leave(code)


def _say(words: str) -> None:
    """Write a line past Python's buffers: whoever was interrupted may be writing there."""
    start = CLEAN_LINE if os.isatty(2) else ""
    with contextlib.suppress(OSError):
        os.write(2, f"{start}{words}\n".encode())


def _kill_children() -> None:
    """Kill the processes of every pool, and wait until they and their semaphores are gone."""
    multiprocessing = sys.modules.get("multiprocessing")
    if multiprocessing is None:  # not imported for this alone: most commands start without it
        return
    children = multiprocessing.active_children()
    for child in children:
        child.kill()
    for child in children:
        child.join()
    multiprocessing.util._run_finalizers(0)  # noqa: SLF001 - as at the end of any other process


def begin_scratch_name() -> str:
    """Return how the names of scratch folders begin: the same in all processes of a run."""
    return f"admit-one-{os.environ.get(RUN, 'none')}-"


def _remove_scratch_folders() -> None:
    """Remove the run's scratch folders; the last of its processes may still be at work in them."""
    import shutil  # noqa: PLC0415 - needed at the end alone, and every command would wait for it
    import tempfile  # noqa: PLC0415 - the same

    if RUN not in os.environ:  # without a name nobody can tell whose they are
        return
    for _ in range(MOST_REMOVALS):
        left = [
            folder
            for where in (MEMORY, Path(tempfile.gettempdir()))
            for folder in where.glob(f"{begin_scratch_name()}*")
        ]
        if not left:
            return
        for folder in left:
            shutil.rmtree(folder, ignore_errors=True)
        time.sleep(REMOVAL_PAUSE_SECONDS)

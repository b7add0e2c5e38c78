"""How a run ends that is not to go on: Ctrl-C ends all of it at once, and so does a closed pipe."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from conformance.run_end import INTERRUPTED, UNREAD

MOST_SECONDS = 60
SECONDS_TO_BEGIN = 3.0
MOST_SECONDS_TO_END = 2.0
SWALLOWS = """
import signal
from conformance.run_end import begin_run

class Swallows:
    def __del__(self):  # Python prints what is raised here, and goes on
        signal.raise_signal(signal.SIGINT)

begin_run()
Swallows()
print("pass")
"""

SLEEPS = """
import time
from conformance.place import scratch_folder
from conformance.run_end import begin_run

begin_run()
with scratch_folder() as folder:
    print(folder, flush=True)
    time.sleep(60)
"""


def start(*command: str) -> subprocess.Popen[str]:
    """Start a Python program as a terminal does: Ctrl-C goes to all of its processes."""
    return subprocess.Popen(
        [sys.executable, *command],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        process_group=0,
    )


@pytest.mark.parametrize(
    "arguments",
    [
        ("verify",),
        ("mutants", "run", "--engine", "crash"),
        ("crash",),
        ("race",),
        ("power-loss",),
    ],
    ids=lambda arguments: arguments[0],
)
def test_an_interrupt_ends_every_process_of_a_run(arguments: tuple[str, ...]) -> None:
    """It takes two seconds at most, says one word, and leaves neither processes nor a verdict."""
    run = start("-m", "workbench.cli", *arguments)
    time.sleep(SECONDS_TO_BEGIN)

    interrupted = time.monotonic()
    os.killpg(run.pid, signal.SIGINT)
    printed, said = run.communicate(timeout=MOST_SECONDS)  # until the last process has closed both

    assert time.monotonic() - interrupted < MOST_SECONDS_TO_END
    assert run.returncode == INTERRUPTED
    assert said == "interrupted\n"
    assert "pass:" not in printed


def test_an_interrupt_that_somebody_would_swallow_ends_the_run() -> None:
    """What is raised in a callback of SQLite is printed and forgotten; the end of a run is not."""
    run = start("-c", SWALLOWS)

    printed, said = run.communicate(timeout=MOST_SECONDS)

    assert run.returncode == INTERRUPTED
    assert said == "interrupted\n"
    assert printed == ""


def test_an_interrupt_leaves_no_scratch_folder() -> None:
    """The one that listens removes what all of them have made."""
    run = start("-c", SLEEPS)
    assert run.stdout is not None
    folder = Path(run.stdout.readline().strip())
    assert folder.is_dir()

    run.send_signal(signal.SIGINT)
    run.communicate(timeout=MOST_SECONDS)

    assert not folder.exists()


@pytest.mark.parametrize(
    "arguments",
    [
        ("--help",),
        ("verify", "--only", "model reservation TINY"),
        ("mutants", "show", "slot-released-at-claim"),
        ("lesson", "identity-first"),
    ],
    ids=lambda arguments: arguments[0],
)
def test_a_closed_pipe_is_no_failed_check(arguments: tuple[str, ...]) -> None:
    """Whoever reads the first line alone finds no exit code of a verdict, and no traceback."""
    with start("-m", "workbench.cli", *arguments) as run:
        assert run.stdout is not None
        run.stdout.close()
        assert run.stderr is not None
        said = run.stderr.read()

    assert run.returncode == UNREAD
    assert said == ""

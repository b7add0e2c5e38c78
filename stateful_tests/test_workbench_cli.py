"""The command `admit-one` as a person meets it: commands, exit codes, pipes and terminals."""

import os
import pty
import subprocess
import sys

import pytest

SHOWS_A_BAR = """
import time
from workbench.progress import progress_bar

with progress_bar("counting", 3, delay_seconds=0.0) as advance:
    for done in range(1, 4):
        advance(done)
        time.sleep(0.2)
"""


def run_command(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run `admit-one` in a pipe."""
    return subprocess.run(
        [sys.executable, "-m", "workbench.cli", *arguments],
        capture_output=True,
        encoding="utf-8",
        timeout=60,
        check=False,
    )


def read_terminal(program: str) -> str:
    """Run a program with its standard error on a terminal, and return what it draws there."""
    controller, terminal = pty.openpty()
    child = subprocess.Popen(
        [sys.executable, "-c", program],
        stdout=subprocess.DEVNULL,
        stderr=terminal,
        env={**os.environ, "TERM": "xterm"},
    )
    os.close(terminal)
    drawn = b""
    try:
        while chunk := os.read(controller, 4096):
            drawn += chunk
    except OSError:  # the terminal's other end is closed
        pass
    finally:
        os.close(controller)
    assert child.wait(timeout=60) == 0
    return drawn.decode("utf-8", "replace")


def test_help_names_every_command_and_exit_code() -> None:
    """The help lists the commands and says what an exit code means."""
    shown = run_command("--help")

    assert shown.returncode == 0
    assert "explore" in shown.stdout
    assert "scopes" in shown.stdout
    assert "0 pass, 1 fail, 2 wrong usage, 3 undetermined" in shown.stdout


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("no-such-command",),
        ("explore",),
        ("explore", "admission"),
        ("explore", "no-such-machine", "TINY"),
        ("explore", "admission", "NO-SUCH-SCOPE"),
        ("explore", "admission", "TINY", "--budget", "0"),
        ("explore", "admission", "TINY", "--mermaid", "--dot"),
        ("scopes", "--no-such-option"),
    ],
    ids=" ".join,
)
def test_wrong_usage_ends_with_2(arguments: tuple[str, ...]) -> None:
    """A command that can't be understood ends with 2, not with a verdict."""
    assert run_command(*arguments).returncode == 2


def test_wrong_usage_names_what_there_is() -> None:
    """An unknown machine or scope is answered with the known ones."""
    assert "admission, reservation" in run_command("explore", "nothing", "TINY").stderr
    assert "TINY, SMALL, " in run_command("explore", "reservation", "HUGE").stderr


def test_a_pipe_gets_plain_text_and_no_progress_bar() -> None:
    """In a pipe no escape sequence is printed, and standard error stays empty."""
    shown = run_command("explore", "admission", "TINY")

    assert "\x1b" not in shown.stdout
    assert shown.stderr == ""


def test_a_terminal_gets_a_progress_bar_that_is_gone_at_the_end() -> None:
    """On a terminal the bar is drawn on standard error, and erased when the work is done."""
    drawn = read_terminal(SHOWS_A_BAR)

    assert "counting" in drawn
    assert "3/3" in drawn
    assert drawn.rstrip().endswith("\x1b[2K")


def test_quick_work_draws_no_progress_bar() -> None:
    """Work that ends before the delay leaves the terminal alone."""
    program = SHOWS_A_BAR.replace("delay_seconds=0.0", "delay_seconds=60.0")

    assert read_terminal(program) == ""

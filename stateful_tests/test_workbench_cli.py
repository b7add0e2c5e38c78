"""The command `admit-one` as a person meets it: commands, exit codes, pipes and terminals."""

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from conformance.changed_source import ROOT

SHOWS_A_BAR = """
import time
from workbench.progress import progress_bar

with progress_bar("counting", 3, delay_seconds=0.0) as advance:
    for done in range(1, 4):
        advance(done)
        time.sleep(0.2)
"""


def run_command(
    *arguments: str, folder: Path = ROOT, encoding: str = "utf-8"
) -> subprocess.CompletedProcess[str]:
    """Run `admit-one` in a pipe, in a folder and with the encoding of its environment."""
    return subprocess.run(
        [sys.executable, "-m", "workbench.cli", *arguments],
        capture_output=True,
        encoding="utf-8",
        timeout=60,
        check=False,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": encoding},
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


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("verify", "--profile", "huge"), "'--profile': 'huge' is not one of 'quick'"),
        (("verify", "--only", "contests", "--only", "nosuch"), "--only nosuch: no check of the"),
        (("verify", "--machine", "admission", "--only", "contests"), "to no single machine"),
        (("verify", "--machine", "admission", "--only", "crash reservation"), "another machine"),
        (("verify", "--json", "--only", "experiment"), "it takes a file, and --only is none"),
        (("verify", "--json", "/no-such-folder/a"), "/no-such-folder/a: no such file or directory"),
        (("explore", "admission", "TINY", "--html", "."), "can't write .: is a directory"),
        (("lesson", "--html", "/dev/null/pages"), "can't write /dev/null/pages: not a directory"),
        (("power-loss", "--keep", "/dev/null"), "can't write /dev/null: not a directory"),
        (("race", "--judge", "/no-such-file"), "--judge /no-such-file: no such file or directory"),
        (("diff", "."), ". holds no copy of this project"),
        (("trace", "claim-without-an-order"), "is equivalent: nothing finds it"),
        (("trace", "slot-released-at-claim", "--engine", "walk"), "'walk' is not one of 'explore'"),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, tuple) else None,
)
def test_wrong_usage_is_told_in_a_sentence_before_any_work(
    arguments: tuple[str, ...], said: str, tmp_path: Path
) -> None:
    """What can't be understood or written is named once, with the reason, in plain words."""
    shown = run_command(*arguments, folder=tmp_path)

    assert shown.returncode == 2
    assert said in shown.stderr
    assert "Errno" not in shown.stderr
    assert "Value error" not in shown.stderr
    assert "Traceback" not in shown.stderr
    assert shown.stdout == ""


def test_a_file_is_tried_without_a_trace_of_it(tmp_path: Path) -> None:
    """Where a command comes to nothing, no empty file is left, and an old one is as it was."""
    old, new = tmp_path / "old.html", tmp_path / "new.html"
    old.write_text("old", "utf-8")

    for file in (old, new):
        assert run_command("explore", "admission", "HUGE", "--html", str(file)).returncode == 2

    assert old.read_text("utf-8") == "old"
    assert not new.exists()


@pytest.mark.parametrize("encoding", ["latin-1", "ascii", "utf-8"])
def test_what_is_printed_is_utf_8_in_every_environment(encoding: str) -> None:
    """An arrow is no reason to end with a traceback."""
    shown = run_command("trace", "slot-released-at-claim", encoding=encoding)

    assert shown.returncode == 0, shown.stderr
    assert "claim at tick 0 → claimed" in shown.stdout


def test_the_help_cuts_no_sentence() -> None:
    """Each command has a line of its own, whole on a narrow terminal too."""
    commands = run_command("--help").stdout.partition("Commands:\n")[2].splitlines()

    assert len(commands) > 10
    assert all(line.endswith(".") and not line.endswith("...") for line in commands)


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


SELECTED = """
from workbench.commands.verify import select_checks
from workbench.profiles import Profile

for only in (["model admission X"], ["model admission X-"], ["walk", "model admission X"]):
    print(*(check.name for check in select_checks(Profile.FULL, None, only, 1)), sep=", ")
"""
REPEATED = """
from workbench.check import name_repeat

print(name_repeat("walk admission SMALL", "quick", 3))
print(name_repeat("exhaustive admission TINY", "full"))
"""


def run_program(program: str) -> list[str]:
    """Run a program, and return its lines."""
    return subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=ROOT
    ).stdout.splitlines()


def test_the_whole_name_of_a_check_asks_for_that_check_alone() -> None:
    """A name that is no whole one asks for all checks that begin so."""
    assert run_program(SELECTED) == [
        "model admission X",
        "model admission X-ids-tenants, model admission X-ids",
        "model admission X, walk admission SMALL, walk reservation SMALL",
    ]


def test_the_command_that_repeats_a_check_names_its_profile() -> None:
    """Another profile has other checks, and takes other numbers of steps."""
    assert run_program(REPEATED) == [
        "admit-one verify --only 'walk admission SMALL' --seed 3",
        "admit-one verify --profile full --only 'exhaustive admission TINY'",
    ]

"""What a command says where the code under test prints, closes or leaves, and streams are closed.

Its standard output is for the report alone, and its exit code for the verdict.
"""

import json
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from conformance.changed_source import ROOT
from model.admission_vocabulary import ABSENT, Admit, CancelUnstarted, Init
from model.checking.trace_json import dump_report
from model.checking.trace_report import TraceReport
from model.scopes import MACHINES, SCOPES
from stateful_tests.html_pages import take
from stateful_tests.project_copies import plant_line, run_command

NO_VERDICT = "The code under test has ended the program: there is no verdict."
TINY = SCOPES["admission"]["TINY"]
ADMITTED = [
    Init(TINY.limits),
    Admit("r1", "A", "中"),
    CancelUnstarted("r1"),
]
CANCELLED = dump_report(TraceReport(take(MACHINES["admission"], ABSENT, ADMITTED), "again"))
"""The file of a trace that ends in a cancellation."""


@pytest.mark.parametrize("command", ["replay", "diff", "race"])
def test_a_command_fails_where_the_implementation_leaves_past_python(
    command: str, tmp_path: Path
) -> None:
    """A command that calls the implementation in its own process says so, and exits with 1."""
    folder = plant_line(tmp_path / "copy", "import os; os._exit(0)")
    kept = tmp_path / "trace.json"
    kept.write_text(CANCELLED, "utf-8")
    arguments = {
        "replay": [str(kept)],
        "diff": [str(ROOT), "--machine", "admission", "--subject", "implementation"],
        "race": ["--schedules", "--machine", "admission"],
    }

    done = run_command(folder, command, *arguments[command])

    assert done.returncode == 1, done.stdout + done.stderr
    assert done.stderr.splitlines()[-1] == NO_VERDICT
    assert "cancel_unstarted" in done.stderr
    assert done.stdout == ""


@pytest.mark.parametrize(
    ("line", "streams", "code"),
    [
        ("pass", ">&-", 0),
        ("pass", "2>&-", 0),
        ("pass", ">&- 2>&-", 0),
        ("pass", ">/dev/full", 3),
        ("import os; os._exit(0)", "2>&-", 1),
        ("import os; os._exit(0)", "2>/dev/full", 1),
        ("import posix; posix._exit(0)", "", 1),
        ("import sys; sys.stdout.close()", "", 0),
    ],
)
def test_an_exit_code_is_right_whatever_the_streams_are(
    line: str, streams: str, code: int, tmp_path: Path
) -> None:
    """Closed ones take everything; a report that nobody can write leaves the run undetermined."""
    folder = plant_line(tmp_path / "copy", line)
    kept = tmp_path / "trace.json"
    kept.write_text(CANCELLED, "utf-8")
    command = f'exec "$0" -m workbench.cli replay "$1" {streams}'

    done = subprocess.run(
        ["/bin/sh", "-c", command, sys.executable, str(kept)],
        cwd=folder,
        capture_output=True,
        encoding="utf-8",
        timeout=60,
        check=False,
    )

    assert done.returncode == code, done.stdout + done.stderr
    assert "raises" not in done.stdout + done.stderr
    assert "Traceback" not in done.stdout + done.stderr


PRINTING = "import os; print('said'); os.write(1, b'written')"


@pytest.mark.parametrize(
    "arguments",
    [
        ("diff", "ORIGINAL", "--machine", "admission", "--format", "json"),
        ("lesson", "cancel", "--json"),
        ("mutants", "run", "--mutant", "clock-may-go-back", "--engine", "exhaustive", "--json"),
        ("replay", "TRACE", "--format", "json"),
        ("race", "--schedules", "--machine", "admission", "--json"),
        ("race", "--histories", "--machine", "admission", "--json"),
        ("race", "--contest", "cancel-against-claim", "--json"),
        ("crash", "--operation", "cancel_unstarted", "--json"),
        ("power-loss", "--machine", "admission", "--json"),
        ("experiment", "--scenario", "admission/cancel_only_when_never_claimed", "--json"),
    ],
    ids=" ".join,
)
def test_standard_output_has_the_report_alone(arguments: Sequence[str], tmp_path: Path) -> None:
    """What an implementation prints, or writes past Python, is among the errors: JSON is JSON."""
    folder = plant_line(tmp_path, PRINTING)

    (folder / "TRACE").write_text(CANCELLED, "utf-8")
    shutil.copytree(ROOT / "docs", folder / "docs")  # the lessons quote it

    done = run_command(folder, *(each.replace("ORIGINAL", str(ROOT)) for each in arguments))

    json.loads(done.stdout)
    assert done.returncode == 0, done.stdout + done.stderr

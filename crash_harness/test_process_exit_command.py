"""The command shows every boundary of an operation with its commit line, and repeats one case."""

import json
import subprocess
import sys

import pytest

from crash_harness.cases import find_starts

EXIT_WRONG_USAGE = 2


def _run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "workbench.cli", "crash", *arguments],
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_table_shows_the_commit_line_between_before_and_after() -> None:
    """In a pipe it is plain text, and the marks change at the line."""
    done = _run("--operation", "cancel_unstarted", "--workers", "1")

    lines = done.stdout.splitlines()
    line = next(number for number, text in enumerate(lines) if "─ commit ─" in text)
    assert done.returncode == 0
    assert done.stderr == ""
    assert lines[line - 1].startswith("○·    before commit")
    assert lines[line + 1].startswith("●·    after commit")
    assert "\x1b" not in done.stdout
    assert lines[-1].startswith("pass: ")


def test_json_has_a_row_for_each_boundary() -> None:
    """Counts, states found, shares of what was sampled, and the versions."""
    done = _run("--operation", "reserve", "--workers", "1", "--json")

    values = json.loads(done.stdout)
    (machine,) = values["machines"]
    rows = {row["boundary"]: row for row in machine["rows"]}
    assert done.returncode == 0
    assert machine["verdict"] == "pass"
    assert rows["before commit"]["found"]["after"] == 0
    assert rows["after commit"]["found"]["after"] > 0
    assert rows["after commit"]["commits"] == 1
    assert machine["samples"]
    assert values["versions"]


def test_one_case_is_repeated_by_its_name() -> None:
    """Exactly that one is run."""
    start = next(
        each for each in find_starts("admission", "TINY").starts if each.operation == "claim"
    )
    name = f"admission TINY / claim from {start.digest} / before it returns / kill"

    done = _run("--case", name, "--workers", "1", "--json")

    (machine,) = json.loads(done.stdout)["machines"]
    assert (done.returncode, machine["deaths"], machine["errors"]) == (0, 1, 0)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--machine", "nothing"), "no machine"),
        (("--operation", "nothing"), "no operation"),
        (("--operation", "claim", "--boundary", "before lunch"), "no boundary"),
        (("--case", "nothing"), "no name of a case"),
        (("--case", "admission TINY / claim from 00000000 / before commit"), "no case"),
    ],
)
def test_a_name_that_leads_nowhere_is_wrong_usage(arguments: tuple[str, ...], message: str) -> None:
    """The exit code is 2, and the error names what there is."""
    done = _run(*arguments, "--workers", "1")

    assert done.returncode == EXIT_WRONG_USAGE
    assert message in " ".join(done.stderr.replace("│", " ").split())

"""A check that ends its process, or never ends, fails; no other one suffers from it.

So does an implementation that asks for the end of the program: only a verdict can pass.
"""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from conformance.changed_source import ROOT
from conformance.exhaustive import check_exhaustively
from conformance.implementation import load_implementation
from conformance.sqlite import make_subject
from conformance.subject import Ended, Unreadable, reading
from conformance.versions import Version, VersionError, load_specification
from model.admission_vocabulary import CancelUnstarted, Claim
from model.checking.explore import Verdict
from model.scopes import MACHINES, SCOPES
from stateful_tests.project_copies import copy_project, plant_line, run_command, run_verify

STORE = "impl/sqlite/admission_store.py"
TINY = SCOPES["admission"]["TINY"]
OLD_STORE = MACHINES["admission"].initial_states(TINY)[1]
CHECKS = """
import os, subprocess, sys
from model.checking.explore import Verdict
from workbench.check import Check, Finding

def pass_at_once():
    print("from the code under test")
    return Finding(Verdict.PASS, "all", {})

def leave():
    os._exit(0)

def ask_for_the_end():
    raise SystemExit(0)

def wait_for_ever():
    subprocess.run([sys.executable, "-c", "import time; time.sleep(600)"])
"""
RUN_CHECKS = """
import json, sys
from workbench.check import Check
from workbench.check_processes import run_checks

checks = [Check(name, f"planted_checks:{name}", {}, 1.0) for name in sys.argv[2:]]
found = run_checks(checks, most_seconds=float(sys.argv[1]))
print(json.dumps([[each.name, each.verdict, each.report] for each in found]))
"""


@dataclass(frozen=True)
class Ran:
    """What some checks have found: verdicts and reports by name, and what was printed beside."""

    verdicts: list[tuple[str, str]]
    reports: list[list[str]]
    printed: str


def run_checks(folder: Path, *names: str, most_seconds: int = 60) -> Ran:
    """Run checks of `CHECKS`, in a process that has standard output to itself."""
    (folder / "planted_checks.py").write_text(CHECKS, "utf-8")
    paths = os.pathsep.join([str(ROOT), str(folder)])
    done = subprocess.run(
        [sys.executable, "-c", RUN_CHECKS, str(most_seconds), *names],
        capture_output=True,
        encoding="utf-8",
        timeout=120,
        check=True,
        env={**os.environ, "PYTHONPATH": paths},
    )
    found = json.loads(done.stdout)
    verdicts = [(name, verdict) for name, verdict, _ in found]
    return Ran(verdicts, [report for *_, report in found], done.stderr)


def test_a_process_that_ends_fails_its_own_check_alone(tmp_path: Path) -> None:
    """The check that has ended its process has failed, and says how; the others pass."""
    ran = run_checks(tmp_path, "pass_at_once", "leave", *["pass_at_once"] * 4)

    passed = ("pass_at_once", "pass")
    assert ran.verdicts == [passed, ("leave", "fail"), *[passed] * 4]
    assert ran.reports[1] == ["the process of this check ended by itself, exit code 0"]


def test_a_check_without_an_end_fails_in_time(tmp_path: Path) -> None:
    """A check that is not done in time is ended with its children, and fails."""
    ran = run_checks(tmp_path, "wait_for_ever", "pass_at_once", most_seconds=5)

    assert ran.verdicts == [("wait_for_ever", "fail"), ("pass_at_once", "pass")]
    assert ran.reports[0] == ["no end in 5 s"]


def test_a_check_that_asks_for_the_end_fails(tmp_path: Path) -> None:
    """`SystemExit` is an error like another one, whatever code it carries."""
    ran = run_checks(tmp_path, "ask_for_the_end")

    assert ran.verdicts == [("ask_for_the_end", "fail")]
    assert ran.reports[0][-1] == "SystemExit: 0"


def test_what_a_check_prints_is_kept_from_standard_output(tmp_path: Path) -> None:
    """Standard output holds the report alone."""
    ran = run_checks(tmp_path, "pass_at_once")

    assert ran.verdicts == [("pass_at_once", "pass")]
    assert "from the code under test" in ran.printed


@pytest.mark.parametrize("error", [SystemExit, GeneratorExit])
def test_a_call_that_asks_for_the_end_is_a_divergence(
    error: type[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What an implementation raises is what is judged, also where it would end the process."""

    def cancel(*_arguments: object) -> None:
        raise error(0)

    store = load_implementation().admission.AdmissionStore
    monkeypatch.setattr(store, "cancel_unstarted", cancel)

    found = check_exhaustively("admission", TINY)

    assert found.verdict is Verdict.FAIL
    divergence = found.found[0].divergence
    assert isinstance(divergence.action, CancelUnstarted)
    assert divergence.found == f"Ended: {error.__name__}(0)"


def test_a_snapshot_that_asks_for_the_end_raises_a_plain_error(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Reading can't end the process either."""

    def end(*_arguments: object) -> None:
        raise SystemExit(0)

    subject = make_subject("admission", TINY, tmp_path)
    subject.install(OLD_STORE)
    monkeypatch.setattr(load_implementation().admission.AdmissionStore, "snapshot", end)

    with pytest.raises(Ended, match=r"SystemExit\(0\)"):
        subject.read()
    subject.close()


def test_verify_and_race_fail_where_the_implementation_asks_for_the_end(tmp_path: Path) -> None:
    """Every engine that calls it has failed, with a report and pages; none exits with 0."""
    folder = plant_line(tmp_path, "raise SystemExit(0)")

    done = run_verify(
        folder,
        "exhaustive admission TINY",
        "walk admission",
        "hypothesis admission",
        "crash admission",
        "schedules admission",
    )
    raced = run_command(folder, "race", "--schedules", "--machine", "admission")

    assert done.returncode == 1, done.stdout + done.stderr
    assert done.stdout.count("FAIL") >= 2
    assert "0 of 5 checks passed" in done.stdout
    assert "page:" in done.stdout
    assert raced.returncode == 1, raced.stdout + raced.stderr


def test_verify_fails_where_the_implementation_leaves_past_python(tmp_path: Path) -> None:
    """The check has failed, has a page, and the others have their verdicts."""
    folder = plant_line(tmp_path, "import os; os._exit(0)")

    done = run_verify(folder, "exhaustive admission TINY", "model admission TINY")

    assert done.returncode == 1, done.stdout + done.stderr
    assert "ended by itself, exit code 0" in done.stdout
    assert "1 of 2 checks passed" in done.stdout
    assert "page:" in done.stdout
    assert (folder / "found.json").exists()


def test_a_command_that_the_code_under_test_ends_does_not_pass(tmp_path: Path) -> None:
    """A module that asks for the end at its import leaves no verdict, and exit code 1."""
    store = copy_project(tmp_path) / STORE
    store.write_text(f"{store.read_text('utf-8')}\nraise SystemExit(0)\n", "utf-8")

    done = run_command(tmp_path, "experiment")

    assert done.returncode == 1, done.stdout + done.stderr


def test_another_version_that_asks_for_the_end_is_a_typed_error(tmp_path: Path) -> None:
    """A version whose import would end the program can't be compared."""
    package = tmp_path / "model"
    package.mkdir()
    (package / "__init__.py").write_text("raise SystemExit(0)\n", "utf-8")

    with pytest.raises(VersionError, match="SystemExit: 0"):
        load_specification(Version("another version", tmp_path))


@pytest.mark.parametrize("has_images", [True, False], ids=["images", "files"])
def test_a_damaged_file_is_unreadable(has_images: bool, tmp_path: Path) -> None:  # noqa: FBT001
    """What the implementation has left is no database any more: no state, and no broken check."""
    subject = make_subject("admission", TINY, tmp_path, has_images=has_images)
    subject.install(OLD_STORE)
    subject.apply(Claim(0))
    subject.observe()
    content = bytearray(subject.image())
    size = 512 if has_images else 4096
    content[size:] = b"\xff" * (len(content) - size)
    subject.restore(bytes(content), OLD_STORE)

    with pytest.raises(Unreadable, match=r"malformed|not a database"):
        subject.observe()
    subject.close()


class Absent:
    """A place without a database."""

    def observer(self) -> None:
        """Return no connection."""


def test_nothing_is_read_where_there_is_no_store() -> None:
    """An absent store has no rows."""
    with reading(Absent()) as connection:
        assert connection is None

"""Mistakes that only races and power losses show give their traces in every format."""

import json
import os
import shutil
import subprocess
import sys
from functools import lru_cache
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from conformance.changed_source import ROOT, apply_changes, load_changed_implementation
from conformance.implementation import MODULES
from conformance.mutants.catalogue import MUTANTS, find_mutant
from conformance.mutants.mutant import Engine
from model.checking.trace import ANY, Ending
from model.checking.trace_itf import dump_itf, from_itf
from model.checking.trace_json import dump_report, load_report
from model.checking.trace_mermaid import format_mermaid
from model.checking.trace_pytest import format_pytest
from model.checking.trace_report import TraceReport
from model.checking.trace_text import format_report

NAMES = [m.name for m in MUTANTS if m.engine in (Engine.RACE, Engine.POWER_LOSS)]
MOST_SECONDS = 30.0
"""Of processor time, which a busy machine changes less than the time that passes.

The longest search, for a race that only the scenes with room for two show, takes a third of it.
"""
SCHEMA = json.loads((ROOT / "docs" / "trace.schema.json").read_text("utf-8"))


def run_trace(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run `admit-one trace`."""
    command = [sys.executable, "-m", "workbench.cli", "trace", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)


@lru_cache(maxsize=16)
def find_report(name: str) -> TraceReport:
    """Return the trace of a planted mistake, as the command writes it."""
    before = os.times().children_user
    shown = run_trace(name, "--format", "json")
    assert os.times().children_user - before < MOST_SECONDS
    assert shown.returncode == 0, shown.stderr
    return load_report(shown.stdout)


def run_generated(text: str) -> None:
    """Run the one test of a generated module."""
    names: dict[str, Any] = {}
    exec(compile(text, "generated", "exec"), names)  # noqa: S102 -- what is tested is that it runs
    (test,) = (value for name, value in names.items() if name.startswith("test_"))
    test()


def plant(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Put an implementation with a planted mistake in the place of the right one."""
    version = load_changed_implementation(find_mutant(name).changes)
    for module in MODULES:
        monkeypatch.setitem(sys.modules, f"impl.sqlite.{module}", getattr(version, module))


@pytest.mark.parametrize("name", NAMES)
def test_the_exported_test_fails_on_the_faulty_version_and_passes_on_the_right_one(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same text tells the two apart, whatever statements the right one has."""
    report = find_report(name)
    text = format_pytest(report)

    run_generated(text)
    plant(name, monkeypatch)
    with pytest.raises(AssertionError, match="FAIL: ") as raised:
        run_generated(text)

    assert report.failures[0].sentence.split()[0] in str(raised.value)


def test_the_exported_test_of_an_exit_tells_the_two_apart_in_a_tree_of_its_own(
    tmp_path: Path,
) -> None:
    """A mistake planted on the disk fails it, in the processes that exit too."""
    name = "effect-in-a-second-transaction"
    for package in ("conformance", "crash_harness", "impl", "model"):
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / package, tmp_path / package, ignore=ignored)
    (tmp_path / "test_exported.py").write_text(format_pytest(find_report(name)), "utf-8")

    right = run_in(tmp_path)
    for file, text in apply_changes(find_mutant(name).changes).items():
        (tmp_path / file).write_text(text, "utf-8")
    faulty = run_in(tmp_path)

    assert "1 passed" in right, right
    assert "1 failed" in faulty, faulty
    assert "a crash" in faulty


def run_in(folder: Path) -> str:
    """Run the exported test on the packages in a folder."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_exported.py"]
    environment = {**os.environ, "PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(
        command, capture_output=True, text=True, check=False, cwd=folder, env=environment
    ).stdout


@pytest.mark.parametrize("name", NAMES)
def test_every_format_says_what_was_and_reads_back(name: str) -> None:
    """JSON obeys the schema, JSON and ITF come back as they were, and no text has a bare None."""
    report = find_report(name)

    jsonschema.Draft202012Validator(SCHEMA).validate(json.loads(dump_report(report)))
    assert load_report(dump_report(report)) == report
    assert from_itf(json.loads(dump_itf(report))) == report
    for text in (format_report(report), format_mermaid(report)):
        assert "None" not in text.replace("meanwhile=None", "")


@pytest.mark.parametrize("name", NAMES)
def test_an_operation_that_raised_says_so_in_every_format(name: str) -> None:
    """Its outcome is one that any order may give, and the error stands where the answer would."""
    report = find_report(name)
    raised = [step for step in report.trace.steps if step.outcome is ANY]
    errors = [step.observed.found for step in raised if step.observed is not None]

    assert len(errors) == len(raised)
    assert bool(errors) is (report.failures[0].name == "error")
    for error in errors:
        first = error.partition(":")[0]
        assert f"raises {first}" in format_report(report)
        assert f"raises {first}" in format_mermaid(report)
        assert f"raises {first}" in dump_itf(report)
        assert f"raises {first}" in format_pytest(report)


def test_the_page_of_a_schedule_shows_the_error() -> None:
    """The implementation's side of the step has the error, and the other one no made-up answer."""
    shown = run_trace("deferred-for-immediate", "--format", "html")

    assert shown.returncode == 0, shown.stderr
    assert "raises OperationalError: database is locked (SQLITE_BUSY)" in shown.stdout
    assert "no answer: nobody knows" not in shown.stdout


def test_the_trace_of_a_lost_power_is_a_shortest_one() -> None:
    """Already the first call of all is lost, and the trace names the write."""
    report = find_report("synchronous-normal")

    crash = report.trace.steps[-1].crash
    assert len(report.trace) == 1
    assert crash is not None
    assert crash.ending is Ending.POWER_LOSS
    assert crash.details
    observed = report.trace.steps[-1].observed
    assert observed is not None
    assert observed.expected.endswith("which returned before its answer")


@pytest.mark.parametrize(
    ("name", "engine", "said"),
    [
        ("synchronous-normal", "exhaustive", "survives"),
        ("init-takes-other-limits", "power-loss", "survives"),
        ("intent-and-task-in-two-transactions", "power-loss", "shows itself to a lone caller"),
    ],
)
def test_an_engine_that_does_not_see_a_mistake_exits_with_one(
    name: str, engine: str, said: str
) -> None:
    """It says whether it found nothing, or never came to its work."""
    shown = run_trace(name, "--engine", engine)

    assert shown.returncode == 1
    assert said in shown.stderr
    assert "Traceback" not in shown.stderr


def test_the_exported_test_runs_under_pytest(tmp_path: Path) -> None:
    """The text is a module like any other."""
    text = format_pytest(find_report("deferred-for-immediate"))
    (tmp_path / "test_exported.py").write_text(text, "utf-8")

    assert "1 passed" in run_in(tmp_path)

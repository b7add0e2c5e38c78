"""`admit-one trace` shows a shortest counterexample of a planted mistake, in every format."""

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

from conformance.changed_source import ROOT
from conformance.replay import ReplayVerdict, replay
from model.checking.trace_itf import from_itf
from model.checking.trace_json import load_report

NAME = "slot-released-at-claim"


def run_trace(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the command."""
    command = [sys.executable, "-m", "workbench.cli", "trace", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)


def test_a_slot_released_at_claim_is_shown_in_four_steps_within_five_seconds() -> None:
    """The shortest trace creates a store, fills it, claims, and admits once too often."""
    started = time.perf_counter()

    shown = run_trace(NAME)

    assert time.perf_counter() - started < 5
    assert shown.returncode == 0, shown.stderr
    steps = [line for line in shown.stdout.splitlines() if line[:5].strip().rstrip(".").isdigit()]
    assert [step.split()[1] for step in steps] == ["init", "admit", "claim", "admit"]
    assert "global_slots is 1, and after step 4 two records are outstanding" in shown.stdout
    assert "repeat: admit-one trace slot-released-at-claim" in shown.stdout


def test_the_json_is_a_trace_file_that_replays() -> None:
    """The file says what happened, and the right version does not do it."""
    shown = run_trace(NAME, "--format", "json")

    report = load_report(shown.stdout)

    assert len(report.trace) == 4
    assert replay(report.trace).verdict is ReplayVerdict.SAME


def test_the_itf_is_read_back() -> None:
    """The trace in ITF holds the same states."""
    itf = run_trace(NAME, "--format", "itf")
    plain = run_trace(NAME, "--format", "json")

    report = from_itf(json.loads(itf.stdout))

    assert report.trace.states == load_report(plain.stdout).trace.states


def test_the_mermaid_diagram_has_a_lane_for_each_side() -> None:
    """The sequence diagram begins as one and names the store."""
    shown = run_trace(NAME, "--format", "mermaid")

    assert shown.stdout.startswith("sequenceDiagram")
    assert "as store" in shown.stdout


def test_the_pytest_function_passes_on_the_right_version(tmp_path: Path) -> None:
    """The exported test runs, and passes on the implementation as it is."""
    shown = run_trace(NAME, "--format", "pytest")
    (tmp_path / "test_exported.py").write_text(shown.stdout, "utf-8")

    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
    )

    assert run.returncode == 0, run.stdout
    assert "1 passed" in run.stdout


@pytest.mark.parametrize(
    "arguments",
    [
        ["no-such-mistake"],
        [NAME, "--engine", "explore"],
        [NAME, "--engine", "walk"],
        [NAME, "--format", "song"],
    ],
)
def test_wrong_usage_exits_with_two(arguments: list[str]) -> None:
    """An unknown name, an engine that doesn't look there, and an unknown format are refused."""
    shown = run_trace(*arguments)

    assert shown.returncode == 2
    assert shown.stdout == ""

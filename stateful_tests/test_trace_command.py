"""`admit-one trace` shows a shortest counterexample of a planted mistake, in every format."""

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

from conformance.changed_source import ROOT
from conformance.mutants.catalogue import find_mutant
from conformance.replay import ReplayVerdict, replay
from model.checking.trace_itf import from_itf
from model.checking.trace_json import load_report
from stateful_tests.project_copies import copy_project, run_command

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


def test_a_start_that_is_wrong_itself_is_no_test() -> None:
    """No version of the implementation could pass it, since no call is made."""
    shown = run_trace("model-an-old-record-sized-in-characters", "--format", "pytest")

    assert shown.returncode == 2, shown.stdout
    assert "the state at the start is wrong" in shown.stderr


@pytest.mark.parametrize("command", ["trace", "replay"])
def test_a_mistake_that_can_not_be_planted_any_more_is_wrong_usage(
    command: str, tmp_path: Path
) -> None:
    """In a tree in which the text is another one, a sentence says so."""
    folder = copy_project(tmp_path)
    recorded = run_trace(NAME, "--format", "json").stdout
    (folder / "trace.json").write_text(recorded, "utf-8")
    for file in {change.file for change in find_mutant(NAME).changes}:
        path = folder / file
        path.write_text(path.read_text("utf-8").replace("inflight", "in_flight"), "utf-8")
    arguments = [NAME] if command == "trace" else ["trace.json", "--subject", NAME]

    done = run_command(folder, command, *arguments)

    assert done.returncode == 2, done.stdout + done.stderr
    assert "can't be planted in this tree" in " ".join(done.stderr.split())

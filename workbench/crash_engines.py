"""The engines of the crash harness as `verify` calls them: each returns a `Finding`."""

from collections.abc import Sequence
from typing import Any

from crash_harness.contests import run_contests
from crash_harness.exits import run_exits
from crash_harness.histories import HistoryReport, run_histories
from crash_harness.scenarios import SCENARIOS, check_scenarios
from crash_harness.schedules.engine import (
    build_schedule_counts,
    format_schedules,
    run_schedules,
)
from model.checking.history import format_timeline
from model.checking.trace_json import encode_report
from model.machine import Word
from model.scopes import MACHINES
from stateful_tests.admission_machine import run_admission_machine
from stateful_tests.reservation_machine import run_reservation_machine
from workbench.check import Finding
from workbench.commands.experiment import build_experiment_values, format_experiment
from workbench.commands.race import build_race_values, format_race
from workbench.crash_report import build_exit_values, format_exits

SHOWN_FAILURES = 3
SHOWN_HISTORIES = 1
MACHINE_RUNS = {"admission": run_admission_machine, "reservation": run_reservation_machine}


def check_contests(profile: Word, *, seed: int) -> Finding:
    """Let real processes race, and explain each result by the model."""
    report = run_contests(profile, seed=seed)
    repetitions = sum(result.repetitions for result in report.results)
    met = sum(result.met for result in report.results) / max(len(report.results), 1)
    return Finding(
        verdict=report.verdict,
        covered=(
            f"{len(report.results)} contests, {repetitions} repetitions in real processes, "
            f"{met:.0%} of the calls met, seed {seed}"
        ),
        counts=build_race_values(report),
        report=tuple(format_race(report)),
    )


def check_frozen_scenarios() -> Finding:
    """Run the frozen scenarios, and compare them field by field with what is stored."""
    report = check_scenarios()
    chosen = tuple(SCENARIOS)
    return Finding(
        verdict=report.verdict,
        covered=f"{len(chosen)} scenarios in real processes, compared field by field",
        counts=build_experiment_values(report),
        report=tuple(format_experiment(report, chosen)),
    )


def check_histories(machine: str, *, runs: int, seed: int) -> Finding:
    """Record histories of real processes, some of which die, and judge them by the model."""
    report = run_histories(machine, runs=runs, seed=seed)
    covered, counts = describe_histories(report)
    return Finding(
        verdict=report.verdict,
        covered=covered,
        counts=counts,
        report=tuple(format_failed_histories(report)),
    )


def describe_histories(report: HistoryReport) -> tuple[str, dict[str, Any]]:
    """Return what histories have covered, in a line and as values."""
    pairs = set(MACHINES[report.machine].pairs())
    seen = sum(pair in pairs for pair in report.outcomes)
    covered = (
        f"{report.runs} histories, {report.operations:,} calls, {report.overlaps:,} inside "
        f"another one, {report.unanswered} unanswered, {seen} outcomes, seed {report.seed}"
    )
    counts = {
        "runs": report.runs,
        "operations": report.operations,
        "overlaps": report.overlaps,
        "unanswered": report.unanswered,
        "steps": report.steps,
        "outcomes": {" ".join(pair): count for pair, count in report.outcomes.items()},
    }
    return covered, counts


def check_exits(machine: str, *, profile: str, seed: int) -> Finding:
    """Let real processes die at every boundary of every operation, and judge what they leave."""
    report = run_exits(machine, profile, seed=seed)
    sampled = "; ".join(f"{each.taken:,} of {each.of:,} {each.what}" for each in report.samples)
    return Finding(
        verdict=report.verdict,
        covered=(
            f"{report.deaths:,} deaths at {len(report.rows)} boundaries from {report.starts:,} "
            f"starts, {report.second_deaths:,} second ones, {report.watched_deaths:,} with a "
            f"survivor, {report.faults:,} errors returned, seed {seed}"
            + (f"; sampled: {sampled}" if sampled else "")
        ),
        counts=build_exit_values(report),
        report=tuple(format_exits([report])),
        traces=tuple(encode_report(each.report) for each in report.failures[:SHOWN_FAILURES]),
    )


def check_schedules(machine: str, *, profile: str, seed: int) -> Finding:
    """Run every interleaving of two or three calls on real connections."""
    report = run_schedules(machine, profile, seed=seed)
    shares = ", ".join(
        f"{family} {each.done:,} of {each.planned:,}" for family, each in report.coverage.items()
    )
    return Finding(
        verdict=report.verdict,
        covered=f"{report.schedules:,} schedules; {shares}; seed {seed}",
        counts=build_schedule_counts(report),
        report=tuple(format_schedules(report)),
    )


def check_machine(machine: str, *, examples: int, steps: int, seed: int) -> Finding:
    """Run the rule-based machine: edge values, restarts and failing storage on real files."""
    report = MACHINE_RUNS[machine](
        max_examples=examples, stateful_step_count=steps, seed=seed, implementation=None
    )
    seen = sum(map(bool, report.outcomes.values()))
    events = sum(report.events.values())
    return Finding(
        verdict=report.verdict,
        covered=(
            f"{report.examples:,} runs, {report.steps:,} steps, {seen} of {len(report.outcomes)} "
            f"outcomes, {events:,} faults and restarts of {len(report.events)} kinds, seed {seed}"
        ),
        counts={
            "examples": report.examples,
            "steps": report.steps,
            "outcomes": {" ".join(pair): count for pair, count in report.outcomes.items()},
            "events": dict(report.events),
        },
        report=((report.failure or ""), *(report.program or "").splitlines()),
    )


def format_failed_histories(report: HistoryReport) -> Sequence[str]:
    """Return the timeline of a history that failed, and why it has no explanation."""
    lines: list[str] = []
    for failed in report.failed[:SHOWN_HISTORIES]:
        order = ", ".join(str(index + 1) for index in failed.judged.order) or "none"
        lines += [
            f"{failed.judged.verdict}: history {failed.run} of {report.machine}",
            *format_timeline(failed.history),
            f"longest explained prefix, by number: {order}",
            *failed.judged.reason.splitlines(),
        ]
    return lines

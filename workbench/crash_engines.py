"""The engines that let real processes die and race, as `verify` calls them.

Each returns a `Finding`. None of them needs a package that only an extra brings: those that do are
in `schedule_engine`, `hypothesis_engine` and `commands.power_loss`.
"""

from collections.abc import Sequence
from typing import Any

from crash_harness.contests import run_contests
from crash_harness.exits import run_exits
from crash_harness.histories import HistoryReport, run_histories
from crash_harness.scenarios import SCENARIOS, check_scenarios
from model.checking.history import History, format_timeline
from model.checking.linearizability import JudgedHistory, Linearizability
from model.checking.trace_json import encode_report
from model.machine import Word
from model.scopes import MACHINES
from workbench.check import Finding
from workbench.commands.experiment import build_experiment_values, format_experiment
from workbench.commands.race import build_race_values, format_race
from workbench.crash_report import build_exit_values, format_found
from workbench.tables import count

SHOWN_FAILURES = 3
SHOWN_HISTORIES = 1


def check_contests(profile: Word, *, seed: int) -> Finding:
    """Let real processes race, and explain each result by the model."""
    report = run_contests(profile, seed=seed)
    repetitions = sum(result.repetitions for result in report.results)
    met = sum(result.met for result in report.results) / max(len(report.results), 1)
    return Finding(
        verdict=report.verdict,
        covered=(
            f"{count(len(report.results), 'contest')}, {count(repetitions, 'repetition')} "
            "in real processes, "
            f"{met:.0%} of the calls met, seed {seed}"
        ),
        counts=build_race_values(report),
        report=tuple(format_race(report)),
        histories=tuple(each for _, each in report.unexplained[:SHOWN_FAILURES]),
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
    return find_in_histories(run_histories(machine, runs=runs, seed=seed))


def find_in_histories(report: HistoryReport) -> Finding:
    """Return what histories have shown."""
    covered, counts = describe_histories(report)
    failed = report.failed[:SHOWN_HISTORIES]
    return Finding(
        verdict=report.verdict,
        covered=covered,
        counts=counts,
        report=tuple(format_failed_histories(report)),
        histories=tuple(JudgedHistory(each.history, each.judged) for each in failed),
    )


def describe_histories(report: HistoryReport) -> tuple[str, dict[str, Any]]:
    """Return what histories have covered, in a line and as values."""
    pairs = set(MACHINES[report.machine].pairs())
    seen = sum(pair in pairs for pair in report.outcomes)
    covered = (
        f"{count(report.runs, 'history', 'histories')}, {count(report.operations, 'call')}, "
        f"{report.overlaps:,} inside "
        f"another one, {report.unanswered} unanswered, {seen} outcomes, seed {report.seed}"
    )
    counts = {
        "runs": report.runs,
        "operations": report.operations,
        "overlaps": report.overlaps,
        "unanswered": report.unanswered,
        "steps": report.steps,
        "outcomes": {" ".join(pair): times for pair, times in report.outcomes.items()},
    }
    return covered, counts


def check_exits(machine: str, *, profile: str, seed: int) -> Finding:
    """Let real processes die at every boundary of every operation, and judge what they leave."""
    report = run_exits(machine, profile, seed=seed)
    sampled = "; ".join(f"{each.taken:,} of {each.of:,} {each.what}" for each in report.samples)
    return Finding(
        verdict=report.verdict,
        covered=(
            f"{count(report.deaths, 'death')} at "
            f"{count(len(report.rows), 'boundary', 'boundaries')} from "
            f"{count(report.starts, 'start')}, {count(report.second_deaths, 'second one')}, "
            f"{report.watched_deaths:,} with a survivor, {count(report.faults, 'error')} returned, "
            f"seed {seed}" + (f"; sampled: {sampled}" if sampled else "")
        ),
        counts=build_exit_values(report),
        report=tuple(format_found(report)),
        traces=tuple(encode_report(each.report) for each in report.failures[:SHOWN_FAILURES]),
    )


def format_failed_histories(report: HistoryReport) -> Sequence[str]:
    """Return the timeline of a history that failed, and why it has no explanation."""
    lines: list[str] = []
    for failed in report.failed[:SHOWN_HISTORIES]:
        lines.append(f"{failed.judged.verdict}: history {failed.run} of {report.machine}")
        lines += format_judged(failed.history, failed.judged)
    return lines


def format_judged(history: History, judged: Linearizability) -> list[str]:
    """Return the timeline of a history, and why it has no explanation."""
    order = ", ".join(str(index + 1) for index in judged.order) or "none"
    return [
        *format_timeline(history),
        f"as far as an order explains the answers, by number: {order}",
        *judged.reason.splitlines(),
    ]

"""The engines of the crash harness as `verify` calls them: each returns a `Finding`."""

from collections.abc import Sequence

from crash_harness.contests import run_contests
from crash_harness.histories import HistoryReport, run_histories
from crash_harness.scenarios import SCENARIOS, check_scenarios
from model.checking.history import format_timeline
from model.machine import Word
from model.scopes import MACHINES
from workbench.check import Finding
from workbench.commands.experiment import build_experiment_values, format_experiment
from workbench.commands.race import build_race_values, format_race

SHOWN_HISTORIES = 1


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
    seen = {pair for pair in report.outcomes if pair in set(MACHINES[machine].pairs())}
    return Finding(
        verdict=report.verdict,
        covered=(
            f"{report.runs} histories, {report.operations:,} calls, {report.overlaps:,} inside "
            f"another one, {report.unanswered} unanswered, {len(seen)} outcomes, seed {seed}"
        ),
        counts={
            "runs": report.runs,
            "operations": report.operations,
            "overlaps": report.overlaps,
            "unanswered": report.unanswered,
            "steps": report.steps,
            "outcomes": {" ".join(pair): count for pair, count in report.outcomes.items()},
        },
        report=tuple(format_failed_histories(report)),
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

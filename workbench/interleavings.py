"""Schedules and histories as `admit-one race` runs them: a verdict, values and lines."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from crash_harness.histories import judge_kept, keep_history, run_histories
from crash_harness.schedules.engine import (
    build_schedule_counts,
    format_schedules,
    run_schedules,
)
from model.checking.explore import Verdict
from model.checking.history import load_history
from workbench.crash_engines import describe_histories, format_failed_histories
from workbench.profiles import HISTORIES, Profile
from workbench.progress import progress_bar
from workbench.verdicts import conclude

FOLDER = Path("admit-one-failures")
Result = tuple[Verdict, Any, list[str]]


def race_schedules(machines: Sequence[str], profile: Profile, seed: int) -> Result:
    """Run every interleaving of the profile."""
    verdicts, values, lines = [], {}, []
    for machine in machines:
        with progress_bar(f"{machine}, schedules") as advance:
            report = run_schedules(machine, str(profile), seed=seed, progress=advance)
        verdicts.append(report.verdict)
        lines += [*format_schedules(report), f"{report.schedules:,} in {report.seconds:.1f} s"]
        values[machine] = {
            "verdict": str(report.verdict),
            "seconds": round(report.seconds, 3),
            "repeat": report.repeat,
            "families": build_schedule_counts(report),
        }
    return conclude(verdicts), values, lines


def race_histories(machines: Sequence[str], profile: Profile, seed: int) -> Result:
    """Record and judge the histories of the profile; one that failed is kept in a file."""
    verdicts, values, lines = [], {}, []
    for machine in machines:
        runs = HISTORIES[profile]
        with progress_bar(f"{machine}, histories", runs) as advance:
            report = run_histories(machine, runs=runs, seed=seed, progress=advance)
        verdicts.append(report.verdict)
        covered, counts = describe_histories(report)
        lines += [f"{machine}: {covered}, {report.seconds:.1f} s", *format_failed_histories(report)]
        for failed in report.failed:
            path = keep_history(FOLDER, failed)
            lines.append(f"history: {path}; judge it again: admit-one race --judge {path}")
        values[machine] = {"verdict": str(report.verdict), **counts}
    return conclude(verdicts), values, lines


def judge_file(path: Path) -> Result:
    """Judge a kept history again."""
    text = path.read_text("utf-8")
    report = judge_kept(text)
    history = load_history(text)
    lines = [f"{history.machine}: {len(history.operations)} operations"]
    lines += format_failed_histories(report)
    values = {"verdict": str(report.verdict), "steps": report.steps}
    return report.verdict, values, lines

"""Schedules and histories as `admit-one race` runs them: a verdict, values and lines."""

import shlex
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from crash_harness.histories import judge_kept, run_histories
from model.checking.explore import Verdict
from model.checking.verdicts import conclude
from workbench.check import Finding
from workbench.crash_engines import find_in_histories, format_judged
from workbench.failure_files import keep_failure
from workbench.profiles import HISTORIES, Profile
from workbench.progress import progress_bar

Result = tuple[Verdict, Any, list[str]]


def race_schedules(machines: Sequence[str], profile: Profile, seed: int) -> Result:
    """Run every interleaving of the profile; one that failed is kept in a file and as a page."""
    from crash_harness.schedules.engine import run_schedules  # noqa: PLC0415 - needs greenlet
    from workbench.schedule_engine import find_in_schedules  # noqa: PLC0415 - the same

    verdicts, values, lines = [], {}, []
    for machine in machines:
        with progress_bar(f"{machine}, schedules") as advance:
            report = run_schedules(machine, str(profile), seed=seed, progress=advance)
        verdicts.append(report.verdict)
        finding = replace(find_in_schedules(report), name=f"race schedules {machine}")
        lines += [*finding.report, f"{report.schedules:,} in {report.seconds:.1f} s"]
        lines += _keep(replace(finding, repeat=report.repeat))
        values[machine] = {
            "verdict": str(report.verdict),
            "seconds": round(report.seconds, 3),
            "repeat": report.repeat,
            "families": finding.counts,
        }
    return conclude(verdicts), values, lines


def race_histories(machines: Sequence[str], profile: Profile, seed: int) -> Result:
    """Record and judge the histories of the profile; one that failed is kept, and as a page."""
    verdicts, values, lines = [], {}, []
    for machine in machines:
        runs = HISTORIES[profile]
        with progress_bar(f"{machine}, histories", runs) as advance:
            report = run_histories(machine, runs=runs, seed=seed, progress=advance)
        verdicts.append(report.verdict)
        repeat = ["admit-one", "race", "--histories", "--machine", machine]
        repeat += ["--profile", profile, "--seed", str(seed)]
        finding = replace(find_in_histories(report), name=f"race histories {machine}")
        finding = replace(finding, repeat=shlex.join(repeat))
        lines += [f"{machine}: {finding.covered}, {report.seconds:.1f} s", *finding.report]
        lines += _keep(finding)
        values[machine] = {"verdict": str(report.verdict), **finding.counts}
    return conclude(verdicts), values, lines


def _keep(finding: Finding) -> list[str]:
    """Write the files of what has not passed, and say where they are."""
    if finding.verdict is Verdict.PASS:
        return []
    return [*keep_failure(finding), f"repeat: {finding.repeat}"]


def judge_file(path: Path) -> Result:
    """Judge a kept history again."""
    text = path.read_text("utf-8")
    kept = judge_kept(text)
    history, judged = kept.history, kept.judged
    lines = [f"{history.machine}: {len(history.operations)} operations"]
    if judged.verdict is not Verdict.PASS:
        lines += [f"{judged.verdict}: this history", *format_judged(history, judged)]
    values = {"verdict": str(judged.verdict), "steps": judged.steps, "reason": judged.reason}
    return judged.verdict, values, lines

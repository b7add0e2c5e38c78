"""The schedules as `verify` and `admit-one race` call them."""

from crash_harness.schedules.as_trace import build_report, has_trace
from crash_harness.schedules.engine import (
    ScheduleReport,
    build_schedule_counts,
    format_schedules,
    run_schedules,
)
from model.checking.trace_json import encode_report
from workbench.check import Finding, leave_out_repeats


def check_schedules(machine: str, *, profile: str, seed: int) -> Finding:
    """Run every interleaving of two or three calls on real connections."""
    return find_in_schedules(run_schedules(machine, profile, seed=seed))


def find_in_schedules(report: ScheduleReport) -> Finding:
    """Return what schedules have shown."""
    shares = ", ".join(
        f"{family} {each.describe_share()}" for family, each in report.coverage.items()
    )
    reports = [
        build_report(failure, report.repeat) for failure in report.failures if has_trace(failure)
    ]
    return Finding(
        verdict=report.verdict,
        covered=f"{report.schedules:,} schedules; {shares}; seed {report.seed}",
        counts=build_schedule_counts(report),
        report=tuple(leave_out_repeats(format_schedules(report))),
        traces=tuple(map(encode_report, reports)),
    )

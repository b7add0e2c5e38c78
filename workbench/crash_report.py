"""The table of process exits: operation × boundary, with the commit line that separates them.

On a terminal in colour, in a pipe as plain text. Above a commit line everything must be as before
the call, below the last one everything as after it.
"""

import sys
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from conformance.environment import describe_versions
from crash_harness.exit_report import (
    AFTER,
    BEFORE,
    PARTLY,
    UNCHANGED,
    ExitReport,
    FailedCase,
    Row,
)
from model.checking.trace_json import encode_report
from model.checking.trace_text import format_report
from model.checking.verdicts import conclude
from workbench.tables import PIPE_WIDTH, count

SHOWN_FAILURES = 3
MARKS = {
    BEFORE: ("○", "cyan"),
    PARTLY: ("◐", "yellow"),
    AFTER: ("●", "green"),
    UNCHANGED: ("·", ""),
}
NOTHING = "–"
LINE = "─" * 12
HEADINGS = ("deaths", "before", "partly", "after", "unchanged", "errors")


def format_exits(reports: Sequence[ExitReport]) -> list[str]:
    """Return the whole report as lines."""
    first = reports[0]
    title = f"admit-one crash, profile {first.profile}, seed {first.seed}"
    lines = [title, *describe_versions()]
    for report in reports:
        lines += ["", *_draw(report), "", *format_found(report)]
    verdict = conclude([report.verdict for report in reports])
    cases = sum(report.cases for report in reports)
    seconds = sum(report.seconds for report in reports)
    return [*lines, "", f"{verdict}: {count(cases, 'case')} in {seconds:.1f} s"]


def format_found(report: ExitReport) -> list[str]:
    """Return what a machine has shown, without the table: in few words, then the failures."""
    lines = _summarize(report)
    for failed in report.failures[:SHOWN_FAILURES]:
        lines += ["", *format_report(failed.report).splitlines()]
    return [*lines, *(f"problem: {problem}" for problem in report.problems[:SHOWN_FAILURES])]


def _draw(report: ExitReport) -> list[str]:
    """Return the table of a machine."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("", no_wrap=True)
    table.add_column(report.machine, no_wrap=True)
    for heading in HEADINGS:
        table.add_column(heading, justify="right")
    for operation, rows in groupby(report.rows, key=lambda row: row.operation):
        table.add_row("", Text(operation, style="bold"))
        for row in rows:
            if row.follows_commit:
                table.add_row("", Text(f"{LINE} commit {LINE}", style="bold"))
            table.add_row(*_cells(row))
    is_terminal = sys.stdout.isatty()
    console = Console(
        width=None if is_terminal else PIPE_WIDTH,
        highlight=False,
        markup=False,
        color_system="auto" if is_terminal else None,
    )
    with console.capture() as capture:
        console.print(table)
    return [line.rstrip() for line in capture.get().splitlines()]


def _cells(row: Row) -> Iterator[Text]:
    """Yield the cells of a boundary: the state that was found, at a glance and in numbers."""
    seen = [place for place in MARKS if row.found[place]]
    marks = Text()
    for place in seen:
        mark, style = MARKS[place]
        marks.append(mark, style=style)
    yield marks if not row.failures else Text("✗", style="bold red")
    yield Text(f"  {row.boundary}", style="bold red" if row.failures else "")
    yield Text(_number(row.deaths))
    for place, (_, style) in MARKS.items():
        yield Text(_number(row.found[place]), style=style if row.found[place] else "dim")
    yield Text(_number(row.faults))


def _number(cases: int) -> str:
    return f"{cases:,}" if cases else NOTHING


def _summarize(report: ExitReport) -> list[str]:
    """Return what was covered, and what of it by lot."""
    rate = report.cases / report.seconds / report.workers if report.seconds else 0
    covered = (
        f"{count(report.starts, 'start')}, {count(report.pairs, 'outcome')}, "
        f"{count(len(report.rows), 'boundary', 'boundaries')}, {count(report.deaths, 'death')} "
        f"({count(report.second_deaths, 'second one')}, {report.watched_deaths:,} with a "
        f"survivor), {count(report.faults, 'error')}"
    )
    lines = [
        f"{report.verdict} {report.machine}: {covered}, {report.failed_cases:,} failed",
        f"{report.seconds:.1f} s, {rate:,.0f} cases/s a core",
    ]
    for sample in report.samples:
        if sample.taken < sample.of:
            share = sample.taken / sample.of
            lines.append(f"sampled: {sample.taken:,} of {sample.of:,} ({share:.0%}) {sample.what}")
    return lines


def build_exit_values(report: ExitReport) -> dict[str, Any]:
    """Return the report as JSON has it."""
    return {
        "machine": report.machine,
        "profile": report.profile,
        "seed": report.seed,
        "verdict": str(report.verdict),
        "seconds": round(report.seconds, 3),
        "workers": report.workers,
        "starts": report.starts,
        "outcomes": report.pairs,
        "deaths": report.deaths,
        "second_deaths": report.second_deaths,
        "watched_deaths": report.watched_deaths,
        "errors": report.faults,
        "failed": report.failed_cases,
        "samples": [
            {"what": sample.what, "taken": sample.taken, "of": sample.of}
            for sample in report.samples
        ],
        "rows": [
            {
                "operation": row.operation,
                "boundary": row.boundary,
                "commits": row.commits,
                "deaths": row.deaths,
                "found": dict(row.found),
                "errors": row.faults,
                "failed": row.failures,
                "seconds": round(row.seconds, 3),
            }
            for row in report.rows
        ],
        "failures": [build_failure_values(failed) for failed in report.failures],
        "problems": list(report.problems),
    }


def build_failure_values(failed: FailedCase) -> dict[str, Any]:
    """Return a failed case as JSON has it, with its trace."""
    return {
        "case": str(failed.case),
        "operation": failed.case.operation,
        "boundary": failed.case.boundary,
        "kind": failed.divergence.kind,
        "expected": failed.divergence.expected,
        "found": failed.divergence.found,
        "repeat": failed.case.command,
        "trace": encode_report(failed.report),
    }

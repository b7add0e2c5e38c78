"""The files of a check that has failed: a page for the check, and one for each counterexample.

They stand in one folder and begin with the check's name. What the check left there when it failed
before is removed first, so that its files are of one run. A check that passes removes nothing: a
history that failed may never be seen again.
"""

import json
import re
import shlex
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from conformance.environment import describe_versions
from model.checking.history import dump_history
from model.checking.linearizability import JudgedHistory
from model.checking.trace_json import decode_report
from model.checking.trace_shapes import TraceFormatError
from workbench.check import Finding
from workbench.html.history_page import format_history_html
from workbench.html.report_page import format_check_html
from workbench.html.trace_page import format_trace_html
from workbench.wrong_usage import say_reason

FOLDER = Path("admit-one-failures")


def keep_failure(finding: Finding, folder: Path = FOLDER) -> list[str]:
    """Do `write_failure`; where that can't be done, the line that is returned says why."""
    try:
        return write_failure(finding, folder)
    except OSError as error:
        return [f"can't write pages into {folder}: {say_reason(error)}"]


def write_failure(finding: Finding, folder: Path = FOLDER) -> list[str]:
    """Write the files of a check that has not passed; return the lines that say where they are."""
    name = name_files(finding.name)
    folder.mkdir(exist_ok=True)
    _remove_files(folder, name)
    lines: list[str] = []
    pages: list[Path] = []
    for number, values in enumerate(finding.traces, start=1):
        file = folder / f"{name}-{number}.json"
        file.write_text(json.dumps(values, indent=2, ensure_ascii=False), "utf-8")
        lines.append(f"trace: {file}")
        pages += _write_trace_page(file.with_suffix(".html"), values)
    for number, each in enumerate(finding.histories, start=1):
        page = folder / f"{name}-history-{number}.html"
        page.write_text(format_history_html(each.history, each.judged, finding.repeat), "utf-8")
        lines += _write_history(page.with_suffix(".json"), each)
        pages.append(page)
    check = folder / f"{name}.html"
    links = [page.name for page in pages]
    check.write_text(format_check_html(finding, links, _describe_run()), "utf-8")
    return [*lines, *(f"page:  {page}" for page in (check, *pages))]


def name_files(check: str) -> str:
    """Return what the names of a check's files begin with."""
    return re.sub(r"[^a-z0-9]+", "-", check.lower())


def _remove_files(folder: Path, name: str) -> None:
    """Remove the files that this check, and no other one, has left."""
    own = re.compile(rf"{re.escape(name)}(-history)?(-\d+)?\.(json|html)")
    for file in folder.iterdir():
        if own.fullmatch(file.name):
            file.unlink()


def _write_trace_page(page: Path, values: Any) -> list[Path]:
    """Write the page of a trace; what has another form than a trace has none."""
    try:
        report = decode_report(values)
    except TraceFormatError:
        return []
    page.write_text(format_trace_html(report), "utf-8")
    return [page]


def _write_history(file: Path, each: JudgedHistory) -> list[str]:
    """Write a history that can be judged again from its file alone."""
    if not each.is_whole:
        return []
    file.write_text(dump_history(each.history), "utf-8")
    judge = shlex.join(["admit-one", "race", "--judge", str(file)])
    return [f"history: {file}; judge it again: {judge}"]


def _describe_run() -> str:
    """Return when and with what a check has failed."""
    now = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    return ", ".join([now, *(line for line in describe_versions() if "warning" not in line)])

"""`admit-one replay`: run the trace in a file again, on an implementation or on the model."""

import json
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from conformance.changed_source import ChangeError, load_changed_implementation
from conformance.implementation import Implementation
from conformance.mutants.catalogue import UnknownMutant, find_mutant
from conformance.mutants.mutant import Mutant
from conformance.replay import CrashRunner, Replay, ReplayVerdict, replay_on_model
from conformance.replay import replay as replay_on_implementation
from conformance.replayable import ReplayImpossible
from model.checking.trace import Ending, Trace
from model.checking.trace_json import encode_report, load_report
from model.checking.trace_report import TraceReport
from model.checking.trace_shapes import TraceFormatError
from model.checking.trace_text import format_report
from model.checking.trace_words import count, make_printable
from model.machine import Word
from workbench.output import kept_for_the_report

MOST_FILE_BYTES = 64 * 1024 * 1024
EXIT_CODES = {ReplayVerdict.SAME: 0, ReplayVerdict.DIFFERS: 1}


MODEL, SQLITE = "model", "sqlite"


class Format(Word):
    """How the result is written."""

    TEXT = "text"
    JSON = "json"


def replay(
    file: Annotated[str, typer.Argument(help="A trace file, or - for standard input.")],
    *,
    subject: Annotated[
        str,
        typer.Option(
            help="Run it on sqlite, on sqlite with a planted mistake (its name), or on the model, "
            "which shows whether it is as recorded."
        ),
    ] = SQLITE,
    format_: Annotated[
        Format, typer.Option("--format", help="Text for a person, or JSON.")
    ] = Format.TEXT,
) -> None:
    """Run a trace step by step, and say where it first differs and how (exit code 1)."""
    mutant = None if subject in (MODEL, SQLITE) else find_planted(subject)
    report = read_report(file)
    try:
        if subject == MODEL:
            replayed = run_on_model(report.trace)
        else:
            with kept_for_the_report():
                replayed = run_on_sqlite(report.trace, mutant)
    except ReplayImpossible as error:
        raise typer.BadParameter(
            make_printable(f"{file} can't be replayed here: {error}")
        ) from error
    replayed = compare_with_recorded(replayed, report)
    repeat = shlex.join(["admit-one", "replay", file, "--subject", subject])
    if format_ is Format.JSON:
        values = build_replay_values(replayed, repeat)
        typer.echo(json.dumps(values, indent=2, ensure_ascii=False))
    else:
        typer.echo(format_replay(replayed, report, repeat), nl=False)
    raise typer.Exit(EXIT_CODES[replayed.verdict])


def find_planted(name: str) -> Mutant:
    """Return a planted mistake of the implementation; wrong usage if there is none of this name."""
    try:
        mutant = find_mutant(name)
    except UnknownMutant as error:
        raise typer.BadParameter(f"{error}; other subjects are {MODEL} and {SQLITE}") from error
    if mutant.is_of_the_model:
        raise typer.BadParameter(f"{name} changes the model, and a trace runs on implementations")
    return mutant


def load_planted(mutant: Mutant | None) -> Implementation | None:
    """Return the implementation with a planted mistake; None stands for the one in the tree."""
    if mutant is None:
        return None
    try:
        return load_changed_implementation(mutant.changes)
    except ChangeError as error:
        raise typer.BadParameter(f"{mutant.name} can't be planted in this tree: {error}") from error


def run_on_model(trace: Trace) -> Replay:
    """Compare a trace with the model as it is now."""
    if not trace.schedule:
        return replay_on_model(trace)
    from crash_harness.schedules.replaying import judge_recording  # noqa: PLC0415 - needs greenlet

    return judge_recording(trace)


def run_on_sqlite(trace: Trace, mutant: Mutant | None) -> Replay:
    """Run a trace on the implementation, or on one with a planted mistake."""
    version = load_planted(mutant)
    if trace.schedule:
        from crash_harness.schedules.replaying import run_schedule  # noqa: PLC0415 - needs greenlet

        replayed = replay_on_implementation(
            trace, implementation=version, schedule_runner=run_schedule
        )
    else:
        with open_crash_runner(trace, mutant) as runner:
            replayed = replay_on_implementation(trace, implementation=version, crash_runner=runner)
    if mutant is None:
        return replayed
    return replace(replayed, subject=f"{replayed.subject} with {mutant.name}")


def compare_with_recorded(replayed: Replay, report: TraceReport) -> Replay:
    """Note whether operations at the same time fail as they did when they were recorded."""
    if not (report.trace.schedule and replayed.failures and report.failures):
        return replayed
    found, recorded = replayed.failures[0], report.failures[0]
    said = f"It fails as it was recorded: {found.name}."
    if (found.kind, found.name) != (recorded.kind, recorded.name):
        said = f"It fails otherwise than it was recorded: now {found.name}, then {recorded.name}."
    return replace(replayed, notes=(*replayed.notes, said))


@contextmanager
def open_crash_runner(trace: Trace, mutant: Mutant | None = None) -> Iterator[CrashRunner | None]:
    """Yield what brings about the crashes of a trace; None where it has none that can be."""
    endings = {step.crash.ending for step in trace.steps if step.crash is not None}
    if endings == {Ending.POWER_LOSS}:
        from crash_harness.power_loss.replaying import (  # noqa: PLC0415 - needs apsw
            PowerLossRunner,
        )

        yield PowerLossRunner(implementation=load_planted(mutant))
    elif endings and endings <= {Ending.EXIT, Ending.KILL}:
        from crash_harness.crasher import Crasher  # noqa: PLC0415 - starts a process

        with Crasher(() if mutant is None else mutant.changes) as crasher:
            yield crasher
    else:
        yield None


def read_report(file: str) -> TraceReport:
    """Return the report in a file; one that can't be read is wrong usage, with the place named."""
    try:
        content = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
    except OSError as error:
        raise typer.BadParameter(f"{file}: {error.strerror}") from error
    if len(content) > MOST_FILE_BYTES:
        raise typer.BadParameter(f"{file} is larger than {MOST_FILE_BYTES} bytes")
    try:
        return load_report(content.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise typer.BadParameter(f"{file}: byte {error.start} is not UTF-8") from error
    except TraceFormatError as error:
        raise typer.BadParameter(make_printable(f"{file}: {error}")) from error


def format_replay(replayed: Replay, report: TraceReport, repeat: str) -> str:
    """Return what a replay has shown as text; `report` is what was in the file."""
    if replayed.verdict is ReplayVerdict.DIFFERS:
        found = replayed.to_report(repeat)
        return "\n".join([format_report(found), *replayed.notes]).rstrip("\n") + "\n"
    recorded = report.failures[0] if report.failures else None
    lines = [replayed.explain().rstrip("\n")]
    if recorded is not None:
        steps = count(len(report.trace), "step")
        lines.append(f"What was found then ({recorded.name}, {steps}) is not seen here.")
    return make_lines(lines)


def make_lines(lines: list[str]) -> str:
    """Return lines as text that a terminal shows and doesn't obey."""
    text = "\n".join(lines)
    return "\n".join(make_printable(line) for line in text.splitlines()) + "\n"


def build_replay_values(replayed: Replay, repeat: str) -> dict[str, Any]:
    """Return what a replay has shown as JSON has it."""
    return {
        "verdict": str(replayed.verdict),
        "subject": replayed.subject,
        "steps": len(replayed.trace),
        "notes": list(replayed.notes),
        "report": encode_report(replayed.to_report(repeat)),
    }

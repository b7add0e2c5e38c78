"""`admit-one replay`: run the trace in a file again, on an implementation or on the model."""

import json
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from conformance.replay import (
    CrashRunner,
    Replay,
    ReplayImpossible,
    ReplayVerdict,
    replay_on_model,
)
from conformance.replay import replay as replay_on_implementation
from model.checking.trace import Ending, Trace
from model.checking.trace_json import encode_report, load_report
from model.checking.trace_report import TraceReport
from model.checking.trace_shapes import TraceFormatError
from model.checking.trace_text import format_report
from model.checking.trace_words import count, make_printable
from model.machine import Word

MOST_FILE_BYTES = 64 * 1024 * 1024
EXIT_CODES = {ReplayVerdict.SAME: 0, ReplayVerdict.DIFFERS: 1}


class SubjectName(Word):
    """On what a trace is run."""

    MODEL = "model"
    SQLITE = "sqlite"


class Format(Word):
    """How the result is written."""

    TEXT = "text"
    JSON = "json"


def replay(
    file: Annotated[str, typer.Argument(help="A trace file, or - for standard input.")],
    *,
    subject: Annotated[
        SubjectName, typer.Option(help="Run it on this; the model shows whether it is as recorded.")
    ] = SubjectName.SQLITE,
    format_: Annotated[
        Format, typer.Option("--format", help="Text for a person, or JSON.")
    ] = Format.TEXT,
) -> None:
    """Run a trace step by step, and say where it first differs and how (exit code 1)."""
    report = read_report(file)
    try:
        if subject is SubjectName.MODEL:
            replayed = replay_on_model(report.trace)
        else:
            with open_crash_runner(report.trace) as runner:
                replayed = replay_on_implementation(report.trace, crash_runner=runner)
    except ReplayImpossible as error:
        raise typer.BadParameter(
            make_printable(f"{file} can't be replayed here: {error}")
        ) from error
    repeat = shlex.join(["admit-one", "replay", file, "--subject", subject])
    if format_ is Format.JSON:
        values = build_replay_values(replayed, repeat)
        typer.echo(json.dumps(values, indent=2, ensure_ascii=False))
    else:
        typer.echo(format_replay(replayed, report, repeat), nl=False)
    raise typer.Exit(EXIT_CODES[replayed.verdict])


@contextmanager
def open_crash_runner(trace: Trace) -> Iterator[CrashRunner | None]:
    """Yield what brings about the crashes of a trace; None where it has none that can be."""
    endings = {step.crash.ending for step in trace.steps if step.crash is not None}
    if endings == {Ending.POWER_LOSS}:
        from crash_harness.power_loss.replaying import (  # noqa: PLC0415 - needs apsw
            PowerLossRunner,
        )

        yield PowerLossRunner()
    elif endings and endings <= {Ending.EXIT, Ending.KILL}:
        from crash_harness.crasher import Crasher  # noqa: PLC0415 - starts a process

        with Crasher() as crasher:
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

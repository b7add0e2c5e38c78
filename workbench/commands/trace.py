"""`admit-one trace`: a shortest counterexample for a planted mistake, in any of the formats."""

import shlex
from collections.abc import Callable
from enum import StrEnum
from typing import Annotated

import typer

from conformance.changed_source import ChangeError, load_changed_implementation
from conformance.mutants.catalogue import UnknownMutant, find_mutant
from conformance.mutants.kills import Survived, explore_mutant, kill_by_exhaustive
from conformance.mutants.mutant import Engine, Mutant
from conformance.replay_report import from_found
from model.checking.trace_itf import dump_itf
from model.checking.trace_json import dump_report
from model.checking.trace_mermaid import format_mermaid
from model.checking.trace_pytest import NotExportable, format_pytest
from model.checking.trace_report import TraceReport, from_violation
from model.checking.trace_text import format_report
from model.machine import Word
from workbench.output import kept_for_the_report

DEFAULT_SEED = 1


class Format(Word):
    """How a trace is written."""

    TEXT = "text"
    JSON = "json"
    ITF = "itf"
    MERMAID = "mermaid"
    PYTEST = "pytest"
    HTML = "html"


class Finder(StrEnum):
    """An engine that writes traces: those that draw lots find no shortest one."""

    EXPLORE = Engine.EXPLORE.value
    EXHAUSTIVE = Engine.EXHAUSTIVE.value
    CRASH = Engine.CRASH.value
    RACE = Engine.RACE.value
    POWER_LOSS = Engine.POWER_LOSS.value


def trace(
    name: Annotated[str, typer.Argument(help="A planted mistake; see `admit-one mutants list`.")],
    *,
    engine: Annotated[
        Finder | None, typer.Option(help="What is to find it; the one that it names otherwise.")
    ] = None,
    output: Annotated[Format, typer.Option("--format", help="How to write it.")] = Format.TEXT,
    seed: Annotated[int, typer.Option(help="The seed of what is drawn by chance.")] = DEFAULT_SEED,
) -> None:
    """Show a shortest trace on which a planted mistake is seen (exit code 1: none was found)."""
    try:
        mutant = find_mutant(name)
    except UnknownMutant as error:
        raise typer.BadParameter(str(error)) from error
    chosen = engine or choose_finder(mutant)
    if mutant.is_of_the_model is not (chosen is Finder.EXPLORE):
        side = "the model" if mutant.is_of_the_model else "the implementation"
        raise typer.BadParameter(f"{name} changes {side}, and {chosen} does not look there")
    repeat = shlex.join(["admit-one", "trace", name] + ["--engine", chosen] * (engine is not None))
    try:
        with kept_for_the_report():
            report = FINDERS[chosen](mutant, repeat, seed)
    except Survived as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(1) from error
    except ChangeError as error:
        raise typer.BadParameter(f"{name} can't be planted in this tree: {error}") from error
    typer.echo(write_report(report, output).rstrip())


def choose_finder(mutant: Mutant) -> Finder:
    """Return the engine that a planted mistake names; wrong usage if that writes no traces."""
    if mutant.engine is None:
        raise typer.BadParameter(f"{mutant.name} is equivalent: nothing finds it")
    try:
        return Finder(mutant.engine)
    except ValueError as error:
        message = f"{mutant.engine} writes no traces; use --engine {Finder.EXHAUSTIVE}"
        raise typer.BadParameter(message) from error


def write_report(report: TraceReport, output: Format) -> str:
    """Return the report in a format; wrong usage if it can't be written so."""
    if output is Format.HTML:
        from workbench.html.trace_page import format_trace_html  # noqa: PLC0415 - only if asked for

        return format_trace_html(report)
    try:
        return WRITERS[output](report)
    except NotExportable as error:
        raise typer.BadParameter(str(error)) from error


WRITERS: dict[Format, Callable[[TraceReport], str]] = {
    Format.TEXT: format_report,
    Format.JSON: dump_report,
    Format.ITF: dump_itf,
    Format.MERMAID: format_mermaid,
    Format.PYTEST: format_pytest,
}


def _find_by_exhaustive(mutant: Mutant, repeat: str, seed: int) -> TraceReport:  # noqa: ARG001
    return from_found(kill_by_exhaustive(mutant), repeat)


def _find_by_explore(mutant: Mutant, repeat: str, seed: int) -> TraceReport:  # noqa: ARG001
    violations = explore_mutant(mutant).violations
    named = [each for each in violations if each.property_name == mutant.killer]
    if not violations:
        raise Survived(f"{mutant.name} survives {mutant.scope}")
    return from_violation(min(named or violations, key=lambda each: len(each.trace)), repeat)


def _find_by_crash(mutant: Mutant, repeat: str, seed: int) -> TraceReport:
    from crash_harness.exits import run_exits  # noqa: PLC0415 - starts processes, only if asked for

    failures = run_exits(mutant.machine, seed=seed, changes=mutant.changes).failures
    if not failures:
        raise Survived(f"{mutant.name} survives every exit of the quick profile")
    report: TraceReport = min(failures, key=lambda each: len(each.report.trace)).report
    return TraceReport(report.trace, repeat, report.failures, report.versions)


def _find_by_race(mutant: Mutant, repeat: str, seed: int) -> TraceReport:
    # Needs greenlet, so that it is imported only if asked for.
    from crash_harness.schedules.as_trace import build_report  # noqa: PLC0415
    from crash_harness.schedules.engine import find_failure  # noqa: PLC0415
    from crash_harness.schedules.scenery import SettingDiffers  # noqa: PLC0415

    version = load_changed_implementation(mutant.changes)
    try:
        failure = find_failure(mutant.machine, implementation=version, seed=seed)
    except SettingDiffers as error:
        raise Survived(_tell_alone(mutant, error)) from error
    if failure is None:
        raise Survived(f"{mutant.name} survives every schedule of the quick profile")
    return build_report(failure, repeat)


def _find_by_power_loss(mutant: Mutant, repeat: str, seed: int) -> TraceReport:
    # Needs apsw, so that it is imported only if asked for.
    from crash_harness.power_loss.loss import build_report  # noqa: PLC0415
    from crash_harness.power_loss.recording import WorkloadDiverged  # noqa: PLC0415
    from crash_harness.power_loss.single import MOST_CALLS, find_shortest_loss  # noqa: PLC0415

    version = load_changed_implementation(mutant.changes)
    try:
        loss = find_shortest_loss(mutant.machine, version, seed=seed)
    except WorkloadDiverged as error:
        raise Survived(_tell_alone(mutant, error)) from error
    if loss is None:
        calls = f"the nearest {MOST_CALLS} calls of TINY"
        raise Survived(f"{mutant.name} survives every power loss in {calls}")
    return build_report(loss, repeat)


def _tell_alone(mutant: Mutant, error: Exception) -> str:
    """Say that a lone caller sees the mistake, so that this engine never comes to its work."""
    return f"{mutant.name} shows itself to a lone caller (--engine exhaustive): {error}"


FINDERS: dict[Finder, Callable[[Mutant, str, int], TraceReport]] = {
    Finder.EXPLORE: _find_by_explore,
    Finder.EXHAUSTIVE: _find_by_exhaustive,
    Finder.CRASH: _find_by_crash,
    Finder.RACE: _find_by_race,
    Finder.POWER_LOSS: _find_by_power_loss,
}

"""`admit-one crash`: real processes that die at every boundary of every operation."""

import json
import os
from typing import Annotated, Any

import typer

from conformance.environment import describe_versions
from crash_harness.exit_report import CaseName, ExitReport, UnknownName
from crash_harness.exits import run_exits
from model.checking.verdicts import conclude
from workbench.crash_report import build_exit_values, format_exits
from workbench.exit_codes import EXIT_CODES
from workbench.output import kept_for_the_report
from workbench.profiles import MACHINES, Profile
from workbench.progress import progress_bar

DEFAULT_SEED = 1


def crash(
    *,
    machine: Annotated[
        str | None, typer.Option(help="Only this machine: admission or reservation.")
    ] = None,
    operation: Annotated[
        str | None, typer.Option(help="Only this operation: admit, attempt, 'open ledger' …")
    ] = None,
    boundary: Annotated[
        str | None,
        typer.Option(help="Only this boundary: 'between insert intent and insert task' …"),
    ] = None,
    case: Annotated[
        str | None, typer.Option(help="One case alone, by the name that a failure has.")
    ] = None,
    profile: Annotated[Profile, typer.Option(help="How much to check.")] = Profile.QUICK,
    seed: Annotated[int, typer.Option(help="The seed of what is drawn by lot.")] = DEFAULT_SEED,
    workers: Annotated[
        int, typer.Option(min=1, help="Processes that judge, each with a forking parent.")
    ] = os.cpu_count() or 1,
    budget_seconds: Annotated[
        float | None, typer.Option(help="Give up after so many seconds (exit code 3).")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, for machines.")] = False,
) -> None:
    """Let processes die at every boundary, and judge what they leave behind."""
    try:
        reports = _run(
            _choose_machines(machine, case),
            profile=str(profile),
            seed=seed,
            operation=operation,
            boundary=boundary,
            case=None if case is None else CaseName.parse(case),
            workers=workers,
            budget_seconds=budget_seconds,
        )
    except UnknownName as error:
        raise typer.BadParameter(str(error)) from error
    if as_json:
        values = {
            "versions": describe_versions(),
            "machines": [build_exit_values(report) for report in reports],
        }
        typer.echo(json.dumps(values, indent=2, ensure_ascii=False))
    else:
        typer.echo("\n".join(format_exits(reports)))
    raise typer.Exit(EXIT_CODES[conclude([report.verdict for report in reports])])


def _choose_machines(machine: str | None, case: str | None) -> tuple[str, ...]:
    if machine is not None and machine not in MACHINES:
        raise UnknownName(f"there is no machine {machine!r}; there are {', '.join(MACHINES)}")
    if case is not None:
        return (CaseName.parse(case).machine,)
    return MACHINES if machine is None else (machine,)


def _run(machines: tuple[str, ...], **options: Any) -> list[ExitReport]:
    """Run each machine; a name that none of them knows is wrong usage."""
    reports = []
    unknown = []
    for machine in machines:
        with kept_for_the_report(), progress_bar(f"starts of {machine}") as advance:
            try:
                reports.append(
                    run_exits(machine, progress=lambda done, _: advance(done), **options)
                )
            except UnknownName as error:
                unknown.append(error)
    if not reports:
        raise UnknownName("; ".join(f"{error}" for error in unknown))
    return reports

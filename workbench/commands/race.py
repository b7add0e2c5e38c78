"""`admit-one race`: contests between real processes, schedules of calls, judged histories."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from conformance.environment import describe_versions
from crash_harness.contests import (
    REPETITIONS,
    ContestReport,
    ContestResult,
    run_contests,
    select_contests,
)
from model.checking.explore import Verdict
from workbench.exit_codes import EXIT_CODES
from workbench.output import kept_for_the_report
from workbench.profiles import MACHINES, Profile
from workbench.progress import progress_bar
from workbench.tables import format_table
from workbench.wrong_usage import say_reason

DEFAULT_SEED = 1


def race(
    *,
    contest: Annotated[
        list[str] | None, typer.Option(help="Only this contest; may be given several times.")
    ] = None,
    schedules: Annotated[
        bool, typer.Option("--schedules", help="Every interleaving of two or three calls instead.")
    ] = False,
    histories: Annotated[
        bool, typer.Option("--histories", help="Judged histories of real processes instead.")
    ] = False,
    judge: Annotated[
        Path | None, typer.Option(help="Judge the history in this file again, and nothing else.")
    ] = None,
    machine: Annotated[
        str | None, typer.Option(help="With --schedules or --histories, only this machine.")
    ] = None,
    profile: Annotated[Profile, typer.Option(help="How often to repeat.")] = Profile.QUICK,
    seed: Annotated[int, typer.Option(help="Deals the parts to the processes.")] = DEFAULT_SEED,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, for machines.")] = False,
) -> None:
    """Let real processes race for the same store, and explain each result by the model."""
    if sum((bool(contest), schedules, histories, judge is not None)) > 1:
        raise typer.BadParameter("--contest, --schedules, --histories and --judge exclude another")
    if machine is not None and (machine not in MACHINES or not (schedules or histories)):
        raise typer.BadParameter(
            f"--machine takes {' or '.join(MACHINES)}, with --schedules or --histories"
        )
    if schedules or histories or judge is not None:
        machines = tuple(MACHINES) if machine is None else (machine,)
        raise typer.Exit(
            race_otherwise(
                machines,
                profile,
                seed,
                judged=judge,
                with_schedules=schedules,
                as_json=as_json,
            )
        )
    try:
        chosen = select_contests(contest)
    except LookupError as error:
        raise typer.BadParameter(str(error)) from error
    total = len(chosen) * REPETITIONS[profile]
    with kept_for_the_report(), progress_bar("repetitions", total) as advance:
        report = run_contests(profile, seed=seed, names=contest, progress=advance)
    if as_json:
        typer.echo(json.dumps(build_race_values(report), indent=2, ensure_ascii=False))
    else:
        typer.echo("\n".join(format_race(report)))
    raise typer.Exit(EXIT_CODES[report.verdict])


def race_otherwise(
    machines: Sequence[str],
    profile: Profile,
    seed: int,
    *,
    judged: Path | None,
    with_schedules: bool,
    as_json: bool,
) -> int:
    """Run schedules or histories, or judge a kept history; return the exit code."""
    from workbench import interleavings  # noqa: PLC0415 - the engines start only if asked for

    if judged is not None:
        try:
            verdict, values, lines = interleavings.judge_file(judged)
        except OSError as error:
            raise typer.BadParameter(f"--judge {judged}: {say_reason(error)}") from error
        except (ValueError, LookupError) as error:
            raise typer.BadParameter(f"{judged}: {error}") from error
    elif with_schedules:
        with kept_for_the_report():
            verdict, values, lines = interleavings.race_schedules(machines, profile, seed)
    else:
        with kept_for_the_report():
            verdict, values, lines = interleavings.race_histories(machines, profile, seed)
    if as_json:
        typer.echo(json.dumps(values, indent=2, ensure_ascii=False))
    else:
        typer.echo("\n".join([*describe_versions(), "", *lines, "", f"verdict: {verdict}"]))
    return EXIT_CODES[verdict]


def format_race(report: ContestReport) -> list[str]:
    """Return a line for each contest, and all that is known of those that did not pass."""
    headings = ("", "contest", "times#", "winners#", "orders#", "met#", "outcomes")
    rows = [
        (
            result.verdict,
            result.name,
            result.repetitions,
            result.winners,
            result.orders,
            f"{result.met:.0%}",
            "; ".join(f"{tally} ({number}×)" for tally, number in result.tallies.items()),
        )
        for result in report.results
    ]
    lines = [f"admit-one race, profile {report.profile}, seed {report.seed}", *describe_versions()]
    lines += ["", *format_table(headings, rows)]
    for result in report.results:
        if result.verdict is not Verdict.PASS:
            lines += ["", *_format_failures(result), f"repeat: {report.repeat(result.name)}"]
    passed = sum(result.verdict is Verdict.PASS for result in report.results)
    shown = f"{passed} of {len(report.results)} contests passed"
    return [*lines, "", f"{report.verdict}: {shown} in {report.seconds:.1f} s"]


def build_race_values(report: ContestReport) -> dict[str, Any]:
    """Return the report as JSON has it."""
    return {
        "profile": report.profile,
        "seed": report.seed,
        "versions": describe_versions(),
        "verdict": report.verdict,
        "seconds": round(report.seconds, 3),
        "contests": [
            {
                **asdict(result),
                "verdict": result.verdict,
                "seconds": round(result.seconds, 3),
                "repeat": report.repeat(result.name),
            }
            for result in report.results
        ],
    }


def _format_failures(result: ContestResult) -> list[str]:
    lines = [f"{result.name} claims: {result.claim}."]
    for failure in result.failures:
        lines += [f"{failure.verdict} in repetition {failure.repetition + 1}: {failure.problem}"]
        lines += [f"  {line}" for line in failure.history]
        lines += ["  closest:"] * bool(failure.closest)
        lines += [f"    {line}" for line in failure.closest]
    return lines

"""`admit-one power-loss`: every state in which a power loss may leave the storage, judged."""

import json
import shlex
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from conformance.environment import describe_versions
from crash_harness.power_loss.death import check_deaths
from crash_harness.power_loss.loss import build_report, format_loss
from crash_harness.power_loss.profiles import DEFAULT_PROFILE, PROFILES
from crash_harness.power_loss.report import PowerLossReport
from crash_harness.power_loss.run import run_power_loss
from model.checking.explore import Verdict
from model.checking.trace_json import encode_report
from model.checking.verdicts import conclude
from model.scopes import MACHINES
from workbench.check import Finding
from workbench.exit_codes import EXIT_CODES
from workbench.output import kept_for_the_report
from workbench.profiles import Profile
from workbench.progress import progress_bar
from workbench.tables import count, format_table
from workbench.wrong_usage import refuse_unwritable, require_folder

DEFAULT_SEED = 1
SHOWN_DISAGREEMENTS = 3


class Synchronous(StrEnum):
    """How often SQLite syncs."""

    OFF = "off"
    NORMAL = "normal"
    FULL = "full"
    EXTRA = "extra"


class Journal(StrEnum):
    """How SQLite makes a transaction atomic."""

    WAL = "wal"
    DELETE = "delete"


def power_loss(
    *,
    profile: Annotated[Profile, typer.Option(help="How much to check.")] = Profile.QUICK,
    machine: Annotated[
        str | None, typer.Option(help="Only this machine: admission or reservation.")
    ] = None,
    storage: Annotated[
        str, typer.Option(help=f"What a power loss may do: {', '.join(PROFILES)}.")
    ] = DEFAULT_PROFILE,
    synchronous: Annotated[
        Synchronous | None,
        typer.Option(help="SQLite's setting of that name. [default: the implementation's]"),
    ] = None,
    journal: Annotated[
        Journal | None, typer.Option(help="SQLite's journal mode. [default: the implementation's]")
    ] = None,
    psow: Annotated[
        bool, typer.Option(help="Whether SQLite takes an overwrite to be powersafe.")
    ] = True,
    seed: Annotated[int, typer.Option(help="The seed of what is drawn by chance.")] = DEFAULT_SEED,
    keep: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            callback=require_folder,
            help="Keep the files of each loss shown in this folder.",
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, for machines.")] = False,
) -> None:
    """Lose the power at every place of a recording, and judge what is recovered."""
    if machine is not None and machine not in MACHINES:
        raise typer.BadParameter(f"no machine {machine!r}; there are {', '.join(MACHINES)}")
    if storage not in PROFILES:
        raise typer.BadParameter(f"no storage {storage!r}; there are {', '.join(PROFILES)}")
    reports = []
    for name in MACHINES if machine is None else (machine,):
        with kept_for_the_report(), progress_bar(f"{name}, distinct states") as advance:
            report = run_power_loss(
                name,
                profile,
                storage_profile=storage,
                synchronous=synchronous,
                journal=journal,
                powersafe_overwrite=psow,
                seed=seed,
                progress=advance,
            )
        reports.append(report)
        if keep is not None:
            with refuse_unwritable(keep):
                keep_files(report, keep)
    if as_json:
        values = [build_power_loss_values(report, profile) for report in reports]
        typer.echo(json.dumps(values, indent=2, ensure_ascii=False))
    else:
        typer.echo("\n".join(format_power_loss(reports, profile)))
    raise typer.Exit(EXIT_CODES[conclude([report.verdict for report in reports])])


def check_power_loss(machine: str, profile: str, seed: int = DEFAULT_SEED) -> Finding:
    """Run the engine as one check of `verify`: WAL, FULL and the default storage."""
    report = run_power_loss(machine, profile, seed=seed)
    values = build_power_loss_values(report, profile)
    return Finding(
        verdict=report.verdict,
        covered=report.covered,
        counts={key: value for key, value in values.items() if key != "losses"},
        report=tuple(_format_failures(report)),
        traces=tuple(each["trace"] for each in values["losses"]),
    )


def check_deaths_inside_commit(machine: str, most_cases: int | None = None) -> Finding:
    """Run real deaths inside COMMIT as one check of `verify`."""
    report = check_deaths(machine, most_cases=most_cases)
    return Finding(
        verdict=report.verdict,
        covered=(
            f"{count(report.deaths, 'death')} inside COMMIT of {count(report.cases, 'call')}: "
            f"{report.before:,} left the state before, {report.after:,} the one after, "
            f"{report.ghosts:,} of these as ghost commits"
        ),
        counts={**asdict(report), "problems": list(report.problems)},
        report=report.problems,
    )


def format_power_loss(reports: list[PowerLossReport], profile: str) -> list[str]:
    """Return a line for each machine, and all that is known of the losses."""
    options = reports[0].options
    settings = (
        f"storage {options.storage_profile}, journal {options.journal}, "
        f"synchronous {options.synchronous}, psow {int(options.powersafe_overwrite)}"
    )
    lines = [
        f"admit-one power-loss, profile {profile}, {settings}, seed {options.seed}",
        f"{options.storage_profile}: {PROFILES[options.storage_profile].sentence}",
        f"recorded and recovered with SQLite {reports[0].sqlite_recorded}; on real files with",
        *describe_versions(),
        "",
    ]
    headings = (
        "",
        "machine",
        "recordings#",
        "states#",
        "exhaustive#",
        "sampled#",
        "distinct#",
        "second losses#",
        "real files#",
        "losses#",
    )
    rows = [
        (
            report.verdict,
            report.options.machine,
            report.recordings,
            report.states,
            report.exhaustive_states,
            report.sampled_states,
            report.distinct,
            report.second_losses,
            report.real_files,
            report.loss_count,
        )
        for report in reports
    ]
    lines += format_table(headings, rows)
    for report in reports:
        if report.verdict is not Verdict.PASS:
            lines += ["", *_format_failures(report), f"repeat: {name_command(report, profile)}"]
    seconds = sum(report.seconds for report in reports)
    verdict = conclude([report.verdict for report in reports])
    losses = sum(report.loss_count for report in reports)
    return [
        *lines,
        "",
        f"{verdict}: {count(losses, 'loss', 'losses')}, {seconds:.1f} s",
    ]


def _format_failures(report: PowerLossReport) -> list[str]:
    lines = []
    if report.divergence is not None:
        lines += ["before any power was lost, the two part:", f"  {report.divergence}"]
    if report.failures:
        kinds = ", ".join(f"{number:,} {kind}" for kind, number in report.failures.items())
        lines.append(f"{report.options.machine}: {kinds}; the first of each kind:")
    for loss in report.losses:
        lines += format_loss(loss)
    for disagreement in report.disagreements[:SHOWN_DISAGREEMENTS]:
        lines.append(f"two versions of SQLite read different things: {disagreement}")
    return lines


def name_command(report: PowerLossReport, profile: str) -> str:
    """Return the command that makes the same states again."""
    options = report.options
    words = ["admit-one", "power-loss", "--profile", profile, "--machine", options.machine]
    words += ["--storage", options.storage_profile, "--synchronous", options.synchronous]
    words += ["--journal", options.journal, "--seed", str(options.seed)]
    words += ["--no-psow"] * (not options.powersafe_overwrite)
    return shlex.join(words)


def keep_files(report: PowerLossReport, folder: Path) -> None:
    """Write the files of each loss that is shown into a folder of its own."""
    for loss in report.losses:
        loss.write_files(folder / f"{report.options.machine}-{loss.kind}")


def build_power_loss_values(report: PowerLossReport, profile: str) -> dict[str, Any]:
    """Return a report as JSON has it; a loss has its trace, which can be replayed."""
    command = name_command(report, profile)
    left_out = {"options", "losses", "disagreements", "failures"}
    return {
        "profile": profile,
        **asdict(report.options),
        "verdict": str(report.verdict),
        "states": report.states,
        "loss_count": report.loss_count,
        **{
            name: round(value, 3) if isinstance(value, float) else value
            for name in type(report).__dataclass_fields__
            if name not in left_out
            for value in (getattr(report, name),)
        },
        "failures": dict(report.failures),
        "disagreements": list(report.disagreements),
        "losses": [
            {
                "kind": loss.kind,
                "property": loss.property_name,
                "sentence": loss.sentence,
                "clause": loss.clause,
                "workload": loss.title,
                "power_lost": loss.boundary,
                "promised": loss.acknowledged,
                "lost": list(loss.lost),
                "pending": list(loss.pending),
                "trace": encode_report(build_report(loss, command)),
            }
            for loss in report.losses
        ],
        "repeat": command,
    }

"""`admit-one verify`: every engine against the SQLite implementation, and one verdict."""

import json
import shlex
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from conformance.environment import describe_versions
from model.checking.explore import Verdict
from model.checking.history import encode_history
from model.checking.verdicts import conclude
from workbench.check import Check, Finding
from workbench.check_processes import run_checks
from workbench.exit_codes import EXIT_CODES
from workbench.failure_files import keep_failure
from workbench.profiles import MACHINES, MOST_SECONDS, Profile, plan_checks
from workbench.wrong_usage import refuse_unwritable, require_file

DEFAULT_SEED = 1


def require_json_file(path: Path | None) -> Path | None:
    """Refuse an option in the place of the file to write to, and what `require_file` refuses."""
    if path is not None and str(path).startswith("-"):
        raise typer.BadParameter(f"it takes a file, and {path} is none")
    return require_file(path)


def verify(
    *,
    profile: Annotated[Profile, typer.Option(help="How much to check.")] = Profile.QUICK,
    machine: Annotated[
        str | None, typer.Option(help="Only this machine: admission or reservation.")
    ] = None,
    seed: Annotated[int, typer.Option(help="The seed of what is drawn by chance.")] = DEFAULT_SEED,
    only: Annotated[
        list[str] | None, typer.Option(help="Only the check of this name, or all that begin so.")
    ] = None,
    json_file: Annotated[
        Path | None,
        typer.Option(
            "--json",
            metavar="FILE",
            callback=require_json_file,
            help="Write what was found to this file as well, as JSON.",
        ),
    ] = None,
) -> None:
    """Hold the SQLite implementation against the specification."""
    checks = select_checks(profile, machine, only or (), seed)
    started = time.perf_counter()
    for line in (f"admit-one verify, profile {profile}, seed {seed}", *describe_versions(), ""):
        typer.echo(line)
    findings = []
    for finding in run_checks(checks, MOST_SECONDS[profile]):
        repeat = ["admit-one", "verify", "--profile", profile, "--only", finding.name]
        repeat += ["--seed", str(seed)] * (seed != DEFAULT_SEED)
        finding = replace(finding, repeat=shlex.join(repeat))  # noqa: PLW2901 - the same, completed
        findings.append(finding)
        for line in format_finding(finding):
            typer.echo(line)
    verdict = conclude([finding.verdict for finding in findings])
    seconds = time.perf_counter() - started
    typer.echo(f"\n{verdict}: {_count(findings)} in {seconds:.0f} s")
    if json_file is not None:
        with refuse_unwritable(json_file):
            json_file.write_text(_as_json(profile, seed, verdict, findings), "utf-8")
    raise typer.Exit(EXIT_CODES[verdict])


def select_checks(
    profile: Profile, machine: str | None, only: Sequence[str], seed: int
) -> tuple[Check, ...]:
    """Return the checks that are asked for; a name that selects none of them is wrong usage."""
    if machine is not None and machine not in MACHINES:
        raise typer.BadParameter(f"no machine {machine!r}; there are {', '.join(MACHINES)}")
    checks = plan_checks(profile, MACHINES if machine is None else (machine,), seed)
    for name in only:
        if not any(check.name.startswith(name) for check in checks):
            raise typer.BadParameter(f"--only {name}: {_explain_unknown(profile, machine, name)}")
    return tuple(each for each in checks if not only or is_asked_for(each, checks, only))


def is_asked_for(check: Check, checks: Sequence[Check], only: Sequence[str]) -> bool:
    """Tell whether a name asks for a check: as its whole name, or as the beginning of one.

    A name that is the whole name of one check does not ask for the others that begin so.
    """
    whole = {each.name for each in checks}
    beginnings = tuple(name for name in only if name not in whole)
    return check.name in only or check.name.startswith(beginnings)


def _explain_unknown(profile: Profile, machine: str | None, name: str) -> str:
    """Say why no check with such a name is run."""
    planned = plan_checks(profile, MACHINES, DEFAULT_SEED)
    if not any(check.name.startswith(name) for check in planned):
        kinds = ", ".join(dict.fromkeys(check.name.partition(" ")[0] for check in planned))
        return f"no check of the profile {profile} begins so; they begin with {kinds}"
    others = tuple(each for each in MACHINES if each != machine)
    if any(check.name.startswith(name) for check in plan_checks(profile, others, DEFAULT_SEED)):
        return f"it belongs to another machine than {machine}"
    return f"it belongs to no single machine, and --machine {machine} leaves it out"


def format_finding(finding: Finding) -> list[str]:
    """Return a line for a check that passed, and all that shows why for one that did not."""
    lines = [f"{finding.verdict:<5} {finding.name}: {finding.covered}, {finding.seconds:.1f} s"]
    if finding.verdict is Verdict.PASS:
        return lines
    lines += [f"      {line}" for line in finding.report]
    lines += [f"      {line}" for line in keep_failure(finding)]
    return [*lines, f"      repeat: {finding.repeat}"]


def _count(findings: Sequence[Finding]) -> str:
    passed = sum(finding.verdict is Verdict.PASS for finding in findings)
    return f"{passed} of {len(findings)} checks passed"


def _as_json(profile: Profile, seed: int, verdict: Verdict, findings: Sequence[Finding]) -> str:
    values: dict[str, Any] = {
        "profile": str(profile),
        "seed": seed,
        "versions": describe_versions(),
        "verdict": str(verdict),
        "checks": [
            {
                "name": finding.name,
                "verdict": str(finding.verdict),
                "seconds": round(finding.seconds, 3),
                "covered": finding.covered,
                "counts": dict(finding.counts),
                "report": list(finding.report),
                "traces": list(finding.traces),
                "histories": [encode_history(each.history) for each in finding.histories],
                "repeat": finding.repeat,
            }
            for finding in findings
        ],
    }
    return json.dumps(values, indent=2, ensure_ascii=False) + "\n"

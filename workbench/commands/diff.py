"""`admit-one diff`: the shortest traces on which two versions of a protocol part."""

import json
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from conformance.changed_source import ROOT
from conformance.difference import DEFAULT_STATE_BUDGET, Comparison, Difference, compare_models
from conformance.difference_on_sqlite import compare_implementations
from conformance.versions import (
    Version,
    VersionError,
    load_specification,
    load_version_of_implementation,
    open_version,
)
from model.checking.explore import Verdict
from model.scopes import MACHINES, SCOPES
from workbench.exit_codes import EXIT_CODES
from workbench.output import kept_for_the_report
from workbench.progress import progress_bar
from workbench.tables import count
from workbench.wrong_usage import say_reason

DEFAULT_SCOPE = "TINY"


class Compared(StrEnum):
    """What of a version is compared."""

    MODEL = "model"
    IMPLEMENTATION = "implementation"
    BOTH = "both"


class Format(StrEnum):
    """How the differences are written."""

    TEXT = "text"
    MARKDOWN = "markdown"
    JSON = "json"


def diff(
    revision: Annotated[str, typer.Argument(help="A git revision, or a folder, to compare with.")],
    *,
    machine: Annotated[
        str | None, typer.Option(help="Only this machine: admission or reservation.")
    ] = None,
    scope: Annotated[str, typer.Option(help="The scope to compare over.")] = DEFAULT_SCOPE,
    subject: Annotated[Compared, typer.Option(help="What is compared.")] = Compared.BOTH,
    allow: Annotated[
        Path | None, typer.Option(help="A file of intended differences, one name a line.")
    ] = None,
    output: Annotated[Format, typer.Option("--format", help="How to write it.")] = Format.TEXT,
    budget: Annotated[
        int, typer.Option(min=1, help="Give up beyond this many states (exit code 3).")
    ] = DEFAULT_STATE_BUDGET,
) -> None:
    """Compare this version with another one, and show the shortest traces on which they part.

    Exit code 1 if there is a difference that is not allowed.
    """
    machines = tuple(MACHINES) if machine is None else (machine,)
    for name in machines:
        if name not in SCOPES or scope not in SCOPES[name]:
            raise typer.BadParameter(f"there is no scope {scope!r} of a machine {name!r}")
    allowed = _read_allowed(allow)
    try:
        with open_version(revision, ROOT) as version, kept_for_the_report():
            comparisons = list(_compare(version, machines, scope, subject, budget))
    except VersionError as error:
        raise typer.BadParameter(str(error)) from error
    writers = {Format.TEXT: _as_text, Format.MARKDOWN: _as_markdown, Format.JSON: _as_json}
    for line in writers[output](revision, comparisons, allowed):
        typer.echo(line)
    verdict = conclude(comparisons, allowed)
    if output is Format.TEXT and verdict is not Verdict.PASS:
        repeat = _join_command(
            revision, machine=machine, scope=scope, subject=subject, allow=allow, budget=budget
        )
        typer.echo(f"repeat: {repeat}")
    raise typer.Exit(EXIT_CODES[verdict])


def _join_command(
    revision: str,
    *,
    machine: str | None,
    scope: str,
    subject: Compared,
    allow: Path | None,
    budget: int,
) -> str:
    """Return the command that compares again in the same way."""
    return shlex.join(
        ["admit-one", "diff", revision]
        + ["--machine", str(machine)] * (machine is not None)
        + ["--scope", scope] * (scope != DEFAULT_SCOPE)
        + ["--subject", subject] * (subject is not Compared.BOTH)
        + ["--allow", str(allow)] * (allow is not None)
        + ["--budget", str(budget)] * (budget != DEFAULT_STATE_BUDGET)
    )


def _read_allowed(path: Path | None) -> frozenset[str]:
    """Return the names of the intended differences; `#` begins a comment."""
    if path is None:
        return frozenset()
    try:
        lines = path.read_text("utf-8").splitlines()
    except OSError as error:
        raise typer.BadParameter(f"--allow {path}: {say_reason(error)}") from error
    except UnicodeDecodeError as error:
        raise typer.BadParameter(f"--allow {path}: byte {error.start} is not UTF-8") from error
    return frozenset(name for line in lines if (name := line.partition("#")[0].strip()))


def _compare(
    version: Version, machines: Sequence[str], scope: str, subject: Compared, budget: int
) -> Iterator[Comparison]:
    """Yield the comparisons that are asked for."""
    if subject is not Compared.IMPLEMENTATION:
        old_machines, old_scopes = load_specification(version)
        for name in machines:
            if name not in old_machines or scope not in old_scopes[name]:
                raise VersionError(f"{version.label} has no scope {scope!r} of a machine {name!r}")
            with progress_bar(f"model {name} {scope}") as advance:
                yield compare_models(
                    name,
                    scope,
                    (old_machines[name], old_scopes[name][scope]),
                    (MACHINES[name], SCOPES[name][scope]),
                    state_budget=budget,
                    progress=advance,
                )
    if subject is not Compared.MODEL:
        implementation = load_version_of_implementation(version)
        for name in machines:
            with progress_bar(f"implementation {name} {scope}") as advance:
                yield compare_implementations(
                    name, scope, implementation, state_budget=budget, progress=advance
                )


def conclude(comparisons: Sequence[Comparison], allowed: frozenset[str]) -> Verdict:
    """Fail on a difference that is not allowed; undetermined if a budget ended a comparison.

    A comparison without a call has compared nothing, and is undetermined too.
    """
    if _find_names(comparisons) - allowed:
        return Verdict.FAIL
    if not all(comparison.is_complete and comparison.calls for comparison in comparisons):
        return Verdict.UNDETERMINED
    return Verdict.PASS


def _find_names(comparisons: Sequence[Comparison]) -> set[str]:
    """Return the names of all differences."""
    return {each.name for comparison in comparisons for each in comparison.differences}


def _explain_verdict(comparisons: Sequence[Comparison], allowed: frozenset[str]) -> str:
    """Return the verdict, and why it is none that passes."""
    verdict = conclude(comparisons, allowed)
    number = len(_find_names(comparisons) - allowed)
    if verdict is Verdict.FAIL:
        are = "is" if number == 1 else "are"
        return f"{verdict}, {count(number, 'difference')} {are} not allowed"
    if verdict is Verdict.UNDETERMINED and not all(each.calls for each in comparisons):
        return f"{verdict}, no call was compared"
    if verdict is Verdict.UNDETERMINED:
        return f"{verdict}, the budget ended a comparison"
    return str(verdict)


def _summarize(comparison: Comparison) -> str:
    """Return what was compared, and how many kinds of difference there are, in one line."""
    number = len(comparison.differences)
    found = count(number, "difference") if number else "no difference"
    bound = "" if comparison.is_complete else ", ended by the budget"
    return (
        f"{comparison.subject} {comparison.machine} {comparison.scope}: {found} in "
        f"{count(comparison.states, 'state')}, {count(comparison.calls, 'call')}{bound}"
    )


def _as_text(
    revision: str, comparisons: Sequence[Comparison], allowed: frozenset[str]
) -> Iterator[str]:
    yield f"from {revision} to this version"
    for comparison in comparisons:
        yield _summarize(comparison)
        for difference in comparison.differences:
            mark = "allowed" if difference.name in allowed else "DIFFERS"
            yield f"  {mark}  {difference.name}"
            yield from (f"    {line}" for line in _format_trace(difference))
    for name in sorted(allowed - _find_names(comparisons)):
        yield f"note: allowed, but not found: {name}"
    yield f"verdict: {_explain_verdict(comparisons, allowed)}"


def _format_trace(difference: Difference) -> Iterator[str]:
    """Yield the calls of a difference, numbered, and the fields of the state that differ."""
    for number, (action, outcome) in enumerate(difference.trace, start=1):
        sign = ":" if number == len(difference.trace) else " →"
        yield f"{number}. {action}{sign} {outcome}"
    yield from (f"   {line}" for line in difference.details)


def _as_markdown(
    revision: str, comparisons: Sequence[Comparison], allowed: frozenset[str]
) -> Iterator[str]:
    yield f"### Protocol differences from `{revision}`"
    yield ""
    for comparison in comparisons:
        yield f"- {_summarize(comparison)}"
    for name in sorted(allowed - _find_names(comparisons)):
        yield f"- allowed, but not found: `{name}`"
    yield f"- verdict: {_explain_verdict(comparisons, allowed)}"
    for comparison in comparisons:
        for difference in comparison.differences:
            mark = " (allowed)" if difference.name in allowed else ""
            yield ""
            yield f"<details><summary><code>{difference.name}</code>{mark}</summary>"
            yield ""
            yield "```text"
            yield from _format_trace(difference)
            yield "```"
            yield ""
            yield "</details>"


def _as_json(
    revision: str, comparisons: Sequence[Comparison], allowed: frozenset[str]
) -> Iterator[str]:
    values = {
        "revision": revision,
        "verdict": str(conclude(comparisons, allowed)),
        "allowed_but_not_found": sorted(allowed - _find_names(comparisons)),
        "comparisons": [
            {
                **asdict(comparison),
                "differences": [
                    {**asdict(each), "name": each.name, "is_allowed": each.name in allowed}
                    for each in comparison.differences
                ],
            }
            for comparison in comparisons
        ],
    }
    yield json.dumps(values, indent=2, ensure_ascii=False)

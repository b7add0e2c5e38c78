"""`admit-one diff`: the shortest traces on which two versions of a protocol part."""

import json
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
from workbench.progress import progress_bar


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
    scope: Annotated[str, typer.Option(help="The scope to compare over.")] = "TINY",
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
        with open_version(revision, ROOT) as version:
            comparisons = list(_compare(version, machines, scope, subject, budget))
    except VersionError as error:
        raise typer.BadParameter(str(error)) from error
    writers = {Format.TEXT: _as_text, Format.MARKDOWN: _as_markdown, Format.JSON: _as_json}
    for line in writers[output](revision, comparisons, allowed):
        typer.echo(line)
    raise typer.Exit(EXIT_CODES[conclude(comparisons, allowed)])


def _read_allowed(path: Path | None) -> frozenset[str]:
    """Return the names of the intended differences; `#` begins a comment."""
    if path is None:
        return frozenset()
    try:
        lines = path.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise typer.BadParameter(f"--allow: {error}") from error
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
    """Fail on a difference that is not allowed; undetermined if a budget ended a comparison."""
    names = {each.name for comparison in comparisons for each in comparison.differences}
    if names - allowed:
        return Verdict.FAIL
    if not all(comparison.is_complete for comparison in comparisons):
        return Verdict.UNDETERMINED
    return Verdict.PASS


def _summarize(comparison: Comparison) -> str:
    """Return what was compared, and how many kinds of difference there are, in one line."""
    count = len(comparison.differences)
    found = "no difference" if not count else f"{count} difference{'s' * (count > 1)}"
    bound = "" if comparison.is_complete else ", ended by the budget"
    return (
        f"{comparison.subject} {comparison.machine} {comparison.scope}: {found} in "
        f"{comparison.states:,} states, {comparison.calls:,} calls{bound}"
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
    unused = allowed - {each.name for one in comparisons for each in one.differences}
    for name in sorted(unused):
        yield f"note: allowed, but not found: {name}"


def _format_trace(difference: Difference) -> Iterator[str]:
    """Yield the calls of a difference, numbered, and the fields of the state that differ."""
    for number, (action, outcome) in enumerate(difference.trace, start=1):
        yield f"{number}. {action} → {outcome}"
    yield from (f"   {line}" for line in difference.details)


def _as_markdown(
    revision: str, comparisons: Sequence[Comparison], allowed: frozenset[str]
) -> Iterator[str]:
    yield f"### Protocol differences from `{revision}`"
    yield ""
    for comparison in comparisons:
        yield f"- {_summarize(comparison)}"
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

"""`admit-one explore`: the model alone, every state that a scope can reach."""

import json
import shlex
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from model.checking import explore as search
from model.machine import Machine, Scope
from model.scopes import MACHINES, SCOPES
from workbench.exit_codes import EXIT_CODES
from workbench.exploration_report import build_exploration_values, format_exploration
from workbench.html.graph_page import format_exploration_html
from workbench.html.state_graph import GraphRecorder
from workbench.life_cycle import LIFE_CYCLES, ArrowRecorder, format_dot, format_mermaid
from workbench.progress import progress_bar
from workbench.wrong_usage import refuse_unwritable, require_file


def explore(
    machine: Annotated[str, typer.Argument(help="admission or reservation")],
    scope: Annotated[str, typer.Argument(help="a scope of that machine; see `admit-one scopes`")],
    *,
    mermaid: Annotated[
        bool, typer.Option("--mermaid", help="Draw the life cycle for Mermaid instead.")
    ] = False,
    dot: Annotated[
        bool, typer.Option("--dot", help="Draw the life cycle for Graphviz instead.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, for machines.")] = False,
    html_file: Annotated[
        Path | None,
        typer.Option(
            "--html",
            metavar="FILE",
            callback=require_file,
            help="Draw the life cycle, and few states, in a page as well.",
        ),
    ] = None,
    no_symmetry: Annotated[
        bool, typer.Option("--no-symmetry", help="Tell interchangeable names apart.")
    ] = False,
    budget: Annotated[
        int, typer.Option(min=1, help="Give up beyond this many states (exit code 3).")
    ] = search.DEFAULT_STATE_BUDGET,
) -> None:
    """Search every state of a scope, in the model alone."""
    if mermaid + dot + as_json > 1:
        raise typer.BadParameter("--mermaid, --dot and --json exclude one another")
    known_machine, known_scope = find_scope(machine, scope)
    is_symmetric = False if no_symmetry else known_scope.is_symmetric
    recorder = ArrowRecorder(LIFE_CYCLES[machine])
    graph = GraphRecorder(known_machine, known_scope, is_symmetric=is_symmetric)
    found = _search(
        known_machine,
        known_scope,
        [recorder] * (mermaid or dot or html_file is not None) + [graph] * (html_file is not None),
        is_symmetric=is_symmetric,
        budget=budget,
    )
    repeat = _join_command(machine, scope, no_symmetry=no_symmetry, budget=budget)
    report = "\n".join(format_exploration(found, known_scope, repeat))
    if as_json:
        values = build_exploration_values(found, known_machine, known_scope, repeat)
        typer.echo(json.dumps(values, indent=2, ensure_ascii=False))
    elif mermaid or dot:
        arrows = recorder.arrows
        typer.echo(format_mermaid(arrows) if mermaid else format_dot(arrows, machine))
    else:
        typer.echo(report)
    if html_file is not None:
        page = format_exploration_html(found, tuple(recorder.arrows), graph, repeat)
        with refuse_unwritable(html_file):
            html_file.write_text(page, "utf-8")
        typer.echo(f"page: {html_file}", err=True)
    if found.verdict is not search.Verdict.PASS and (mermaid or dot or as_json):
        typer.echo(report, err=True)
    raise typer.Exit(EXIT_CODES[found.verdict])


def find_scope(machine: str, scope: str) -> tuple[Machine[Any, Any, Any], Scope]:
    """Return a machine and a scope of it by their names; any other name is wrong usage."""
    if machine not in MACHINES:
        raise typer.BadParameter(f"no machine {machine!r}; there are {', '.join(MACHINES)}")
    if scope not in SCOPES[machine]:
        names = ", ".join(SCOPES[machine])
        raise typer.BadParameter(f"{machine} has no scope {scope!r}; there are {names}")
    return MACHINES[machine], SCOPES[machine][scope]


def _join_command(machine: str, scope: str, *, no_symmetry: bool, budget: int) -> str:
    """Return the command that searches again in the same way."""
    return shlex.join(
        ["admit-one", "explore", machine, scope]
        + ["--no-symmetry"] * no_symmetry
        + ["--budget", str(budget)] * (budget != search.DEFAULT_STATE_BUDGET)
    )


def _search(
    machine: Machine[Any, Any, Any],
    scope: Scope,
    recorders: Sequence[Callable[[Any, Any, Any, Any], None]],
    *,
    is_symmetric: bool,
    budget: int,
) -> search.Exploration:
    """Search the scope under a progress bar; a recorder sees each call as a step property does."""
    machine = replace(machine, step_properties=(*machine.step_properties, *recorders))
    is_counted = scope.expected is not None and scope.is_symmetric is is_symmetric
    total = scope.expected.states if scope.expected is not None and is_counted else None
    with progress_bar(f"{machine.name} {scope.name}", total) as advance:
        return search.explore(
            machine, scope, is_symmetric=is_symmetric, state_budget=budget, progress=advance
        )

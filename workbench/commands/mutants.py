"""`admit-one mutants`: the planted mistakes, their diffs, and the kill matrix."""

import importlib
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from conformance.changed_source import ROOT
from conformance.mutants.catalogue import MUTANTS, UnknownMutant, find_mutant
from conformance.mutants.kills import EngineEntry
from conformance.mutants.matrix import (
    LIMIT_SECONDS,
    SEEDS,
    Cell,
    build_cells,
    make_controls,
    plan_trials,
    run_trials,
)
from conformance.mutants.mutant import Engine, Mutant
from conformance.mutants.page import (
    COLUMNS,
    PAGE,
    build_cell_values,
    build_matrix_rows,
    describe_cell,
    find_recorded,
    format_header,
    format_matrix,
    format_page,
    judge,
)
from workbench.exit_codes import EXIT_CODES
from workbench.output import kept_for_the_report
from workbench.progress import progress_bar
from workbench.tables import format_table


def mutants(
    what: Annotated[str, typer.Argument(help="list, show or run")] = "list",
    name: Annotated[str | None, typer.Argument(help="The mutant to show.")] = None,
    *,
    engine: Annotated[
        list[Engine] | None, typer.Option(help="Run only this engine; may be repeated.")
    ] = None,
    mutant: Annotated[
        list[str] | None, typer.Option(help="Run on this mutant only; may be repeated.")
    ] = None,
    every_engine: Annotated[
        bool, typer.Option("--every-engine", help="Set slow engines on every mutant, too.")
    ] = False,
    seeds: Annotated[
        int, typer.Option(min=1, help="How many seeds an engine runs with that draws lots.")
    ] = len(SEEDS),
    limit: Annotated[
        float, typer.Option(min=1, help="Seconds after which a trial is ended.")
    ] = LIMIT_SECONDS,
    workers: Annotated[
        int, typer.Option(min=1, help="How many trials run at a time.")
    ] = os.cpu_count() or 1,
    write: Annotated[bool, typer.Option("--write", help=f"Write {PAGE} anew.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, for machines.")] = False,
) -> None:
    """List the planted mistakes, show one as a diff, or set the engines on them."""
    is_whole = not engine and not mutant and (every_engine or what != "run")
    if write and not is_whole:
        raise typer.BadParameter(
            "--write needs the whole matrix: with --every-engine, without --engine and --mutant"
        )
    chosen = [_find(each) for each in mutant] if mutant else list(MUTANTS)
    match what, name:
        case "list", None:
            _list(chosen, as_json=as_json)
            if write:
                _write_page(find_recorded((ROOT / PAGE).read_text("utf-8")))
        case "show", str(wanted):
            _show(_find(wanted))
        case "run", None:
            entries = _find_engines(engine)
            cells = _run(
                chosen,
                entries,
                seeds=seeds,
                limit_seconds=limit,
                workers=workers,
                takes_time=every_engine,
            )
            _report(cells, chosen, as_json=as_json)
            if write:
                _write_page(format_matrix(cells))
            raise typer.Exit(EXIT_CODES[judge(cells, chosen)[0]])
        case _:
            raise typer.BadParameter("the arguments are `list`, `show NAME` or `run`")


def _find(name: str) -> Mutant:
    try:
        return find_mutant(name)
    except UnknownMutant as error:
        raise typer.BadParameter(f"{error}; see `admit-one mutants list`") from error


def _find_engines(wanted: Sequence[Engine] | None) -> list[EngineEntry]:
    """Return the engines; their packages are imported only where they are to run."""
    entries: tuple[EngineEntry, ...] = importlib.import_module("workbench.mutant_engines").ENGINES
    return [entry for entry in entries if wanted is None or entry.engine in wanted]


def _list(chosen: Sequence[Mutant], *, as_json: bool) -> None:
    if as_json:
        values = [
            {
                "name": each.name,
                "machine": each.machine,
                "rule": each.rule,
                "why": each.why,
                "file": each.file,
                "engine": each.engine and str(each.engine),
                "killer": each.killer or None,
                "scope": each.scope,
                "shortest": each.shortest if each.killer else None,
                "note": each.note or None,
            }
            for each in chosen
        ]
        typer.echo(json.dumps(values, indent=2, ensure_ascii=False))
        return
    rows = [
        (
            each.name,
            each.rule,
            each.engine or "–",
            each.killer or "–",
            each.scope,
            each.shortest if each.killer else "–",
        )
        for each in chosen
    ]
    headings = ("mutant", "rule", "engine", "killed by", "scope", "trace#")
    typer.echo("\n".join(format_table(headings, rows)))


def _show(mutant: Mutant) -> None:
    """Print a mutant; the lines before the diff are none that `patch` would take for its own."""
    typer.echo("\n".join([mutant.name, "", *format_header(mutant), ""]))
    typer.echo(mutant.unified_diff(), nl=False)


def _run(
    chosen: Sequence[Mutant],
    entries: Sequence[EngineEntry],
    *,
    seeds: int,
    limit_seconds: float,
    workers: int,
    takes_time: bool,
) -> list[Cell]:
    trials = make_controls(entries)
    trials += plan_trials(chosen, entries, range(seeds), takes_time=takes_time)
    with kept_for_the_report(), progress_bar("mutants", len(trials)) as advance:
        results = list(
            run_trials(trials, workers=workers, limit_seconds=limit_seconds, progress=advance)
        )
    return build_cells(trials, results)


def _report(cells: Sequence[Cell], chosen: Sequence[Mutant], *, as_json: bool) -> None:
    verdict, problems = judge(cells, chosen)
    if as_json:
        values = {
            "cells": [build_cell_values(cell) for cell in cells],
            "problems": problems,
            "verdict": str(verdict),
        }
        typer.echo(json.dumps(values, indent=2, ensure_ascii=False))
        return
    rows = build_matrix_rows(cells, chosen)
    if rows:
        headings = ("mutant", "rule", "must be killed by", *COLUMNS)
        typer.echo("\n".join([*format_table(headings, rows), ""]))
    of_model = [cell for cell in cells if cell.engine is Engine.EXPLORE]
    if of_model:
        rows = [[c.mutant, describe_cell(c), f"{c.seconds:.2f}"] for c in of_model]
        typer.echo("\n".join([*format_table(("mutant", "first killer", "seconds"), rows), ""]))
    for problem in problems:
        typer.echo(f"problem: {problem}")
    typer.echo(f"verdict: {verdict}")


def _write_page(recorded: str) -> None:
    Path(ROOT / PAGE).write_text(format_page(recorded), "utf-8")

"""`admit-one scopes`: which scopes there are, and the exact numbers recorded for each."""

import json
from dataclasses import asdict
from typing import Annotated

import typer

from model.scopes import SCOPES
from workbench.tables import format_table


def scopes(
    *, as_json: Annotated[bool, typer.Option("--json", help="Print JSON, for machines.")] = False
) -> None:
    """List the scopes and their recorded numbers."""
    found = [(machine, scope) for machine, group in SCOPES.items() for scope in group.values()]
    if as_json:
        values = [
            {
                "machine": machine,
                "scope": scope.name,
                "is_symmetric": scope.is_symmetric,
                "expected": None if scope.expected is None else asdict(scope.expected),
            }
            for machine, scope in found
        ]
        typer.echo(json.dumps(values, indent=2))
        return
    rows = [
        (
            machine,
            scope.name,
            *(("–",) * 4 if scope.expected is None else asdict(scope.expected).values()),
            "counted once" if scope.is_symmetric else "told apart",
        )
        for machine, scope in found
    ]
    headings = ("machine", "scope", "states#", "transitions#", "calls#", "depth#", "equal names")
    typer.echo("\n".join(format_table(headings, rows)))

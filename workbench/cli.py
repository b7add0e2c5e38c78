"""The command `admit-one`: finds the module of the command that was asked for, and runs it.

A command is a module of `workbench.commands` with a function of the same name, and one entry in
`COMMANDS`. The function's signature gives its arguments and options, its docstring its help.
Only the module that was asked for is imported, so that each starts as fast as it can.

Exit codes: see `workbench.exit_codes`.
"""

import importlib
import sys
from collections.abc import Callable, Sequence
from typing import Any

import typer

from workbench.extras import explain_missing

DESCRIPTION = """Hold durable admission and a dispatch budget to their specification.

Exit codes: 0 pass, 1 fail, 2 wrong usage, 3 undetermined."""

COMMANDS = (
    "verify",
    "explore",
    "experiment",
    "crash",
    "race",
    "power-loss",
    "trace",
    "replay",
    "diff",
    "mutants",
    "lesson",
    "play",
    "scopes",
)
"""The commands, in the order in which the help lists them."""


def load_command(name: str) -> Callable[..., Any]:
    """Return the function of a command: `power-loss` is `power_loss` in the module of that name."""
    name = name.replace("-", "_")
    command: Callable[..., Any] = getattr(
        importlib.import_module(f"workbench.commands.{name}"), name
    )
    return command


def build_app(names: Sequence[str] = COMMANDS) -> typer.Typer:
    """Return the program with these commands."""
    app = typer.Typer(
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode="rich" if sys.stdout.isatty() else None,  # plain text in pipes
    )
    app.callback(help=DESCRIPTION)(lambda: None)  # with it, one command alone keeps its name
    for name in names:
        try:
            command = load_command(name)
        except ModuleNotFoundError as error:
            if len(names) == 1:
                raise
            command = make_placeholder(error)
        app.command(name)(command)
    return app


def make_placeholder(error: ModuleNotFoundError) -> Callable[[], None]:
    """Return what the help lists in place of a command that lacks a package."""

    def placeholder() -> None:
        raise error

    placeholder.__doc__ = f"({explain_missing(error)})"
    return placeholder


def main() -> None:
    """Run the command that the arguments ask for; one that lacks a package is wrong usage."""
    asked = sys.argv[1] if len(sys.argv) > 1 else ""
    try:
        build_app((asked,) if asked in COMMANDS else COMMANDS)(prog_name="admit-one")
    except ModuleNotFoundError as error:
        typer.echo(f"admit-one {asked} {explain_missing(error)}", err=True)
        sys.exit(2)


if __name__ == "__main__":
    main()

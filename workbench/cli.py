"""The command `admit-one`: finds the module of the command that was asked for, and runs it.

A command is a module of `workbench.commands` with a function of the same name, and one entry in
`COMMANDS`. The function's signature gives its arguments and options, its docstring its own help.
Only the module that was asked for is imported, so that each starts as fast as it can.

Exit codes: see `workbench.exit_codes`.
"""

import importlib
import sys
from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, Any

from conformance.run_end import begin_run
from workbench.extras import explain_missing
from workbench.output import open_streams
from workbench.stray_exits import fail_on_leaving, fail_on_stray_exit

if TYPE_CHECKING:
    import typer

DESCRIPTION = """Hold durable admission and a dispatch budget to their specification.

Exit codes: 0 pass, 1 fail, 2 wrong usage, 3 undetermined."""

COMMANDS: Mapping[str, str] = {
    "verify": "Hold the SQLite implementation against the specification.",
    "explore": "Search every state of a scope, in the model alone.",
    "experiment": "Run the frozen scenarios of the source articles.",
    "crash": "Let processes die at every boundary of every operation.",
    "race": "Let real processes race for the same store.",
    "power-loss": "Lose the power at every place of a recording.",
    "trace": "Show the shortest trace to a planted mistake.",
    "replay": "Run the trace in a file again, step by step.",
    "diff": "Show the shortest traces on which two versions part.",
    "mutants": "List the planted mistakes, or set the engines on them.",
    "lesson": "Learn why each rule is there.",
    "play": "Take the calls yourself, on a page of this computer.",
    "scopes": "List the scopes and their recorded numbers.",
}
"""What each command is for, in at most 60 characters and in the order of the help."""


@fail_on_stray_exit
def load_command(name: str) -> Callable[..., Any]:
    """Return the function of a command: `power-loss` is `power_loss` in the module of that name."""
    name = name.replace("-", "_")
    command: Callable[..., Any] = getattr(
        importlib.import_module(f"workbench.commands.{name}"), name
    )
    return command


def build_app(names: Collection[str] = COMMANDS) -> "typer.Typer":
    """Return the program with these commands."""
    import typer  # noqa: PLC0415 - it takes a while, in which Ctrl-C has to work already

    from workbench.wrong_usage import PlainGroup  # noqa: PLC0415 - the same

    app = typer.Typer(
        cls=PlainGroup,
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode="rich" if sys.stdout.isatty() else None,  # plain text in pipes
    )
    app.callback(help=DESCRIPTION)(lambda: None)  # with it, one command alone keeps its name
    for name in names:
        purpose = COMMANDS[name]
        try:
            command = load_command(name)
        except ModuleNotFoundError as error:
            if len(names) == 1:
                raise
            command, purpose = make_placeholder(error), f"({explain_missing(error)})"
        app.command(name, short_help=purpose)(fail_on_stray_exit(command))
    return app


def make_placeholder(error: ModuleNotFoundError) -> Callable[[], None]:
    """Return what stands in place of a command that lacks a package."""

    def placeholder() -> None:
        raise error

    return placeholder


def main() -> None:
    """Run the command that the arguments ask for; one that lacks a package is wrong usage."""
    begin_run()
    fail_on_leaving()
    open_streams()
    asked = sys.argv[1] if len(sys.argv) > 1 else ""
    try:
        build_app((asked,) if asked in COMMANDS else COMMANDS)(prog_name="admit-one")
    except ModuleNotFoundError as error:
        sys.stderr.write(f"admit-one {asked} {explain_missing(error)}\n")
        sys.exit(2)


if __name__ == "__main__":
    main()

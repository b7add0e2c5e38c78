"""`admit-one play`: a page on which one takes the calls oneself, and the model answers."""

import importlib
import signal
from types import ModuleType
from typing import Annotated

import typer

from workbench.play.address import AddressError, decode_trace
from workbench.play.board import Position, find_board

EXTRA = "play"
SERVER = "workbench.play.server"
OWN_PACKAGES = ("conformance", "model", "workbench")


def play(
    machine: Annotated[str, typer.Argument(help="admission or reservation")],
    scope: Annotated[
        str, typer.Argument(help="a scope of that machine; see `admit-one scopes`")
    ] = "TINY",
    *,
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="The port; 0 is one that is free.")
    ] = 0,
    trace: Annotated[str, typer.Option(help="Begin after this trace, as an address has it.")] = "",
    mutant: Annotated[str, typer.Option(help="Run this mutant of the model beside it.")] = "",
) -> None:
    """Play a machine on a page of this computer: take calls, see the outcome and why.

    The page is served on the loopback address alone, until Ctrl-C ends it.
    """
    position = find_position(machine, scope, trace, mutant)
    server = load_server()
    signal.signal(signal.SIGINT, signal.default_int_handler)  # the end of it, no interruption
    try:
        server.serve(position, port, announce)
    except KeyboardInterrupt:
        return
    except OSError as error:
        raise typer.BadParameter(f"--port {port}: {error.strerror or error}") from error


def find_position(machine: str, scope: str, trace: str, mutant: str) -> Position:
    """Return the position to begin with; what names none is wrong usage."""
    try:
        return decode_trace(find_board(machine, scope, mutant), trace)
    except (LookupError, AddressError) as error:
        raise typer.BadParameter(str(error)) from error


def load_server() -> ModuleType:
    """Return the module that serves; without its packages it is wrong usage, and says so."""
    try:
        return importlib.import_module(SERVER)
    except ModuleNotFoundError as error:
        missing = (error.name or "").partition(".")[0]
        if missing in OWN_PACKAGES:
            raise
        typer.echo(
            f"admit-one play needs {missing}, of the extra {EXTRA!r}: "
            f"pip install 'admit-one[{EXTRA}]'",
            err=True,
        )
        raise typer.Exit(2) from error


def announce(address: str) -> None:
    """Say where the page is; a program that reads this gets it at once."""
    typer.echo(f"The page is at {address}\nCtrl-C ends it.")

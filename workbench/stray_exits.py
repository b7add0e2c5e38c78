"""A program that the code under test has ended has no verdict, whatever exit code was asked for."""

import contextlib
import functools
import os
import sys
import traceback
from collections.abc import Callable
from typing import NoReturn, ParamSpec, TypeVar

from conformance.run_end import end_run

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")
FAILED = 1
NO_VERDICT = "The code under test has ended the program: there is no verdict."


def fail_on_stray_exit(call: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """Return a call that ends the program with 1, which says "fail", where it asks for its end.

    A command ends by `typer.Exit`, never by this.
    """

    @functools.wraps(call)
    def watched_call(*arguments: Parameters.args, **options: Parameters.kwargs) -> Result:
        try:
            return call(*arguments, **options)
        except SystemExit as error:
            traceback.print_exc()
            sys.stderr.write(f"{NO_VERDICT}\n")
            raise SystemExit(FAILED) from error

    return watched_call


def fail_on_leaving() -> None:
    """Make `os._exit`, where this very process calls it, end it with 1, whatever code it asks for.

    Commands that run an implementation in their own process have no other one that could tell.
    What the process forks may leave as it likes: those who die are watched by those who fork them.
    A process that becomes another program, as by `os.execv`, is not seen here.
    """
    leave, watched = os._exit, os.getpid()

    def leave_if_forked(status: int) -> NoReturn:
        if os.getpid() != watched:
            leave(status)
        with contextlib.suppress(OSError, ValueError):  # standard error is full, or closed
            traceback.print_stack()
            sys.stderr.flush()
        end_run(FAILED, NO_VERDICT)

    for module in (os, sys.modules[os.name]):
        vars(module)["_exit"] = leave_if_forked

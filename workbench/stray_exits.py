"""A program that the code under test has ended has no verdict, whatever exit code was asked for."""

import functools
import sys
import traceback
from collections.abc import Callable
from typing import ParamSpec, TypeVar

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


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
            sys.stderr.write("The code under test has ended the program: there is no verdict.\n")
            raise SystemExit(1) from error

    return watched_call

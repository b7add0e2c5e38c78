"""Standard output and standard error: UTF-8 whatever the environment says, full or closed.

`admit-one … | head -1` is no failed check. Where nobody reads any more the run ends at once, with
the code that a shell gives to a program that a closed pipe has ended. A report that can't be
written for another reason, such as a full disk, leaves the run undetermined.

Standard output is for the report alone: a reader of JSON can't tell what an implementation prints.
"""

import contextlib
import io
import os
import sys
from collections.abc import Iterator
from typing import NoReturn

from conformance.run_end import UNREAD, end_run

UNENCODABLE = "backslashreplace"
"""What becomes of a lone surrogate, the one thing that UTF-8 can't write."""
UNWRITTEN = 3
"""The exit code where the report can't be written: undetermined."""


class Output(io.TextIOWrapper):
    """Standard output that ends the run when nobody reads it, or when it can't be written.

    It raises nothing: Typer would turn an error into exit code 1, which says "fail".
    """

    def write(self, text: str, /) -> int:
        """Write."""
        try:
            return super().write(text)
        except OSError as error:
            _give_up(error)

    def flush(self) -> None:
        """Flush."""
        try:
            super().flush()
        except OSError as error:
            _give_up(error)


def _give_up(error: OSError) -> NoReturn:
    if isinstance(error, BrokenPipeError):
        end_run(UNREAD)
    end_run(UNWRITTEN, f"standard output: {error.strerror}")


def open_streams() -> None:
    """Make standard output and standard error what this module says; a closed one takes all."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        is_line_buffered = sys.stdout.line_buffering
        sys.stdout = Output(
            sys.stdout.detach(),
            encoding="utf-8",
            errors=UNENCODABLE,
            line_buffering=is_line_buffered,
        )
    if isinstance(sys.stderr, io.TextIOWrapper):
        sys.stderr.reconfigure(encoding="utf-8", errors=UNENCODABLE)
    if sys.stdout is None:
        sys.stdout = _open_null()
    if sys.stderr is None:
        sys.stderr = _open_null()


def _open_null() -> io.TextIOWrapper:
    return os.fdopen(os.open(os.devnull, os.O_WRONLY), "w", encoding="utf-8")


@contextlib.contextmanager
def kept_for_the_report() -> Iterator[None]:
    """Send what the code under test prints, in this process and in those it starts, to the errors.

    Where standard error is closed, to nowhere. What it prints through Python has a stream of its
    own, so that it can close that one alone.
    """
    sys.stdout.flush()
    with contextlib.ExitStack() as stack:
        errors = os.fdopen(_open_errors(), "w", encoding="utf-8", errors=UNENCODABLE)
        stack.enter_context(errors)
        with contextlib.suppress(OSError):  # standard output is closed
            kept = os.dup(1)
            stack.callback(os.close, kept)
            os.dup2(errors.fileno(), 1)
            stack.callback(os.dup2, kept, 1)
        stack.enter_context(contextlib.redirect_stdout(errors))
        yield


def _open_errors() -> int:
    """Return a new descriptor of standard error; if it is closed, of the device that takes all."""
    try:
        return os.dup(2)
    except OSError:
        return os.open(os.devnull, os.O_WRONLY)

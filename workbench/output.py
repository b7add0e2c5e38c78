"""Standard output and standard error: UTF-8 whatever the environment says, and closed pipes.

`admit-one … | head -1` is no failed check. Where nobody reads any more the run ends at once, with
the code that a shell gives to a program that a closed pipe has ended.

Standard output is for the report alone: a reader of JSON can't tell what an implementation prints.
"""

import contextlib
import io
import os
import sys
from collections.abc import Iterator

from conformance.run_end import UNREAD, end_run

UNENCODABLE = "backslashreplace"
"""What becomes of a lone surrogate, the one thing that UTF-8 can't write."""


class Output(io.TextIOWrapper):
    """Standard output that ends the run when nobody reads it.

    It raises nothing: Typer would turn an error of a pipe into exit code 1, which says "fail".
    """

    def write(self, text: str, /) -> int:
        """Write."""
        try:
            return super().write(text)
        except BrokenPipeError:
            end_run(UNREAD)

    def flush(self) -> None:
        """Flush."""
        try:
            super().flush()
        except BrokenPipeError:
            end_run(UNREAD)


def open_streams() -> None:
    """Make standard output and standard error what this module says, where they are open."""
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


@contextlib.contextmanager
def kept_for_the_report() -> Iterator[None]:
    """Send what the code under test prints, in this process and in those it starts, to the errors.

    Where standard output or standard error is closed only what Python writes is sent there.
    """
    with contextlib.ExitStack() as stack:
        with contextlib.suppress(OSError, AttributeError):  # closed: no descriptor, or no stream
            sys.stdout.flush()
            kept = os.dup(1)
            stack.callback(os.close, kept)
            os.dup2(2, 1)
            stack.callback(os.dup2, kept, 1)
        stack.enter_context(contextlib.redirect_stdout(sys.stderr))
        yield

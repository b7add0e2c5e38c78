"""Standard output and standard error: UTF-8 whatever the environment says, and closed pipes.

`admit-one … | head -1` is no failed check. Where nobody reads any more the run ends at once, with
the code that a shell gives to a program that a closed pipe has ended.
"""

import io
import sys

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

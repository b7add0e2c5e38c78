"""Tables and lines for standard output: aligned columns, no frames, plain text in pipes."""

import sys
from collections.abc import Iterable, Sequence

from rich.console import Console
from rich.table import Table

PIPE_WIDTH = 200


def count(number: int, noun: str, plural: str = "") -> str:
    """Return a number with its noun: "1 call", "1,200 calls"."""
    return f"{number:,} {noun if number == 1 else plural or f'{noun}s'}"


def format_table(headings: Sequence[str], rows: Iterable[Sequence[object]]) -> list[str]:
    """Return a table as lines; columns whose heading ends in "#" hold numbers.

    The width of the terminal bounds it only where there is one.
    """
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for heading in headings:
        is_number = heading.endswith("#")
        table.add_column(heading.rstrip("#"), justify="right" if is_number else "left")
    for row in rows:
        table.add_row(*(f"{cell:,}" if isinstance(cell, int) else str(cell) for cell in row))
    width = None if sys.stdout.isatty() else PIPE_WIDTH
    console = Console(width=width, highlight=False, markup=False, color_system=None)
    with console.capture() as capture:
        console.print(table)
    return [line.rstrip() for line in capture.get().splitlines()]

"""A progress bar for whatever may take longer than two seconds.

It is drawn on standard error, only if that is a terminal, and it is gone when the work is done:
standard output holds the report alone.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

DELAY_SECONDS = 0.5


@contextmanager
def progress_bar(
    title: str,
    total: int | None = None,
    *,
    console: Console | None = None,
    delay_seconds: float = DELAY_SECONDS,
) -> Iterator[Callable[[int], None]]:
    """Yield a function that is told how much is done; quick work draws nothing.

    `total` is None where nobody knows it beforehand; the bar then only moves.
    """
    shown_on = console or Console(stderr=True)
    if not shown_on.is_terminal:
        yield lambda _done: None
        return
    columns = (TextColumn(title), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    bar = Progress(*columns, console=shown_on, transient=True)
    task = bar.add_task(title, total=total)
    started = time.monotonic()

    def advance(done: int) -> None:
        if not bar.live.is_started and time.monotonic() - started >= delay_seconds:
            bar.start()
        bar.update(task, completed=done)

    try:
        yield advance
    finally:
        if bar.live.is_started:
            bar.stop()

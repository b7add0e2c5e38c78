"""How a figure is taken and printed: several runs, their median, and the bar beside it."""

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure: its runs in the order taken, its unit, and the bar that DESIGN sets, if any.

    `is_reached` compares the median: at least the bar, or at most it where less is better.
    """

    name: str
    unit: str
    runs: tuple[float, ...]
    bar: float | None = None
    less_is_better: bool = False

    @property
    def median(self) -> float:
        """The middle of the runs."""
        return statistics.median(self.runs)

    @property
    def is_reached(self) -> bool:
        """Whether the median is on the right side of the bar."""
        if self.bar is None:
            return True
        return self.median <= self.bar if self.less_is_better else self.median >= self.bar


def measure_rate(work: Callable[[], int], runs: int) -> tuple[float, ...]:
    """Return how many units of work a second each run did; `work` returns how many it did."""
    rates = []
    for _ in range(runs):
        started = time.perf_counter()
        units = work()
        rates.append(units / (time.perf_counter() - started))
    return tuple(rates)


def format_figure(figure: Figure) -> str:
    """Return a figure as one line: median, extremes, bar and ratio."""
    low, high = min(figure.runs), max(figure.runs)
    line = f"{figure.name:<52} median {figure.median:>12,.2f} {figure.unit}"
    line += f"  ({low:,.2f} to {high:,.2f}, {len(figure.runs)} runs)"
    if figure.bar is not None:
        sign = "at most" if figure.less_is_better else "at least"
        line += f"  bar: {sign} {figure.bar:,g}, ratio {figure.median / figure.bar:.2f}"
        line += "" if figure.is_reached else "  NOT REACHED"
    return line

"""Which traces can be run again at all: what is refused before anything is run.

A file may have been edited by hand, so that every value in it is looked at (A16).
"""

import re
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

from model.checking.trace import Trace

NUMBER_MAX = 10**9
MOST_NAME_BYTES = 200


class ReplayImpossible(Exception):
    """This trace can't be run on this subject; `step` is 0 where it is about no single one."""

    def __init__(self, step: int, reason: str) -> None:
        super().__init__(f"step {step}: {reason}" if step else reason)
        self.step = step
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Layout:
    """What a subject must know of a scope: which files there are, and who works for which."""

    ledgers: tuple[str, ...]
    workers: tuple[tuple[str, str], ...]
    name: str = ""


def require_alone(trace: Trace) -> None:
    """Refuse a trace whose steps ran at the same time."""
    if trace.schedule:
        raise ReplayImpossible(0, "its steps ran at the same time; that needs a schedule runner")


def require_values(trace: Trace) -> None:
    """Refuse a trace with values that no call may bring along."""
    for number, step in enumerate(trace.steps, start=1):
        _require_values(step.action, number)


def _require_values(value: Any, number: int) -> None:
    for each in fields(value):
        found = getattr(value, each.name)
        if is_dataclass(found):
            _require_values(found, number)
        is_wrong = isinstance(found, int) and not 0 <= found <= NUMBER_MAX
        if isinstance(found, str) and each.name != "payload":
            is_wrong = not 1 <= len(found.encode()) <= MOST_NAME_BYTES or "\0" in found
        if is_wrong:
            raise ReplayImpossible(number, f"{each.name} can't be {found!r} (A16)")


def find_layout(initial: Any) -> Layout:
    """Return which files and workers an initial state has; each file must have a plain name."""
    ledgers = tuple(ledger.file for ledger in getattr(initial, "ledgers", ()))
    for file in ledgers:
        if not re.fullmatch(r"[\w-]{1,60}", file):
            raise ReplayImpossible(0, f"no file can be called {file!r} here")
    workers = getattr(initial, "workers", ())
    return Layout(ledgers, tuple((worker.name, worker.ledger) for worker in workers))

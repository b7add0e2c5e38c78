"""The code that ran: the lines of the specification that a step went through.

The step is taken once more under a tracer, which sees the lines of its module and no others.
"""

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

from conformance.changed_source import ROOT, apply_changes, read_source
from conformance.mutants.mutant import Mutant
from model.machine import Machine

MOST_PASSAGES = 12


@dataclass(frozen=True, slots=True)
class Line:
    """A line of code; `is_last` marks where the function was left."""

    number: int
    text: str
    has_run: bool
    is_last: bool


@dataclass(frozen=True, slots=True)
class Passage:
    """A function of the specification, with the lines that ran."""

    file: str
    name: str
    lines: tuple[Line, ...]


class _Recorder:
    """Notes the lines of one file, a set for each function."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.ran: dict[CodeType, list[int]] = {}

    def enter(self, frame: FrameType, event: str, _value: object) -> Callable[..., Any] | None:
        """Watch a call if it is of a function of the file."""
        code = frame.f_code
        is_ours = code.co_filename == self.file and not code.co_name.startswith("<")
        if event != "call" or not is_ours or len(self.ran) >= MOST_PASSAGES:
            return None
        self.ran.setdefault(code, [])
        return self.note

    def note(self, frame: FrameType, event: str, _value: object) -> Callable[..., Any]:
        """Note a line."""
        if event == "line":
            self.ran[frame.f_code].append(frame.f_lineno)
        return self.note


def find_code(
    machine: Machine[Any, Any, Any], state: Any, action: Any, mutant: Mutant | None = None
) -> tuple[Passage, ...]:
    """Return the functions that take this step, in the order of their calls, with what ran.

    `machine`, `state` and `action` are the mutant's own where one is given. Empty if the step
    raises an error.
    """
    step = machine.steps[type(action)]
    recorder = _Recorder(step.__code__.co_filename)
    earlier = sys.gettrace()
    sys.settrace(recorder.enter)
    try:
        step(state, action)
    except Exception:  # noqa: BLE001 - a mutant's mistake; what it raised is told elsewhere
        return ()
    finally:
        sys.settrace(earlier)
    file = Path(recorder.file).relative_to(ROOT).as_posix()
    changed: Mapping[str, str] = {} if mutant is None else apply_changes(mutant.changes)
    texts = (changed.get(file) or read_source(file)).splitlines()
    return tuple(_cut_passage(file, code, ran, texts) for code, ran in recorder.ran.items())


def _cut_passage(file: str, code: CodeType, ran: list[int], texts: list[str]) -> Passage:
    first = code.co_firstlineno
    last = max(end for _, end, *_ in code.co_positions() if end is not None)
    lines = tuple(
        Line(number, texts[number - 1], number in ran, bool(ran) and number == ran[-1])
        for number in range(first, last + 1)
    )
    return Passage(file, code.co_name, lines)

"""A history: invocations and responses of several processes, timed by one monotonic clock.

What happened, as the processes themselves saw it; `model.checking.linearizability` says whether
the model explains it. An operation that never answered has the outcome `UNKNOWN` and no return.

Times are integers of one clock, in nanoseconds; only their order matters.
"""

import json
from dataclasses import dataclass
from typing import Any

from model.checking.trace import UNKNOWN, NoAnswer
from model.checking.trace_json import decode, encode, load_strictly
from model.checking.trace_shapes import (
    VOCABULARIES,
    Nothing,
    Scalar,
    Shape,
    TraceFormatError,
    find_choice,
    find_shape,
)

FORMAT = "admit-one history"
FORMAT_VERSION = 2
"""Version 1 had neither what was found afterwards nor what went wrong beside the answers."""
TIMELINE_COLUMNS = 72


@dataclass(frozen=True, slots=True)
class Operation:
    """One call of a process, from its invocation to its response, if there was one."""

    process: str
    action: Any
    outcome: Any
    called: int
    returned: int | None

    def __post_init__(self) -> None:
        """Refuse an answer without a time, a time without an answer, and time that runs back."""
        if (self.outcome is UNKNOWN) is not (self.returned is None):
            raise ValueError(f"an operation returns exactly if it has an outcome: {self}")
        if self.returned is not None and self.returned < self.called:
            raise ValueError(f"an operation returns after it is called: {self}")


@dataclass(frozen=True, slots=True)
class History:
    """The operations of one run, in the order of their invocation, and what was found after them.

    `found` is the state that a fresh process found, None if nobody looked. `problem` says what
    went wrong beside the answers: a process that hung, or rows of no state.
    """

    machine: str
    operations: tuple[Operation, ...]
    found: Any = None
    problem: str = ""

    def __post_init__(self) -> None:
        """Refuse operations out of order, and a process that does two things at once."""
        last: dict[str, Operation] = {}
        calls = [operation.called for operation in self.operations]
        if calls != sorted(calls):
            raise ValueError("the operations of a history stand in the order of their calls")
        for operation in self.operations:
            earlier = last.get(operation.process)
            if earlier is not None and (
                earlier.returned is None or operation.called < earlier.returned
            ):
                raise ValueError(f"process {operation.process} calls before it has an answer")
            last[operation.process] = operation


def make_history(
    machine: str, operations: list[Operation], found: Any = None, problem: str = ""
) -> History:
    """Return the history of operations that come in any order."""
    in_order = tuple(sorted(operations, key=lambda each: each.called))
    return History(machine, in_order, found, problem)


def _find_shapes(machine: str) -> tuple[Shape, Shape, Shape]:
    """Return the shapes of a machine's actions, of its outcomes or none, of its states or none."""
    if machine not in VOCABULARIES:
        known = " or ".join(VOCABULARIES)
        raise TraceFormatError("machine", f"expected {known}, found {machine!r}")
    vocabulary = VOCABULARIES[machine]
    outcome = find_choice((find_shape(vocabulary.outcome), find_shape(NoAnswer)))
    state = find_choice((find_shape(vocabulary.state), Nothing()))
    return find_shape(vocabulary.action), outcome, state


def encode_history(history: History) -> dict[str, Any]:
    """Return a history as JSON values."""
    action, outcome, state = _find_shapes(history.machine)
    return {
        "format": FORMAT,
        "version": FORMAT_VERSION,
        "machine": history.machine,
        "operations": [
            {
                "process": each.process,
                "action": encode(each.action, action),
                "outcome": encode(each.outcome, outcome),
                "called": each.called,
                "returned": each.returned,
            }
            for each in history.operations
        ],
        "found": encode(history.found, state),
        "problem": history.problem,
    }


def dump_history(history: History) -> str:
    """Return a history as JSON."""
    return json.dumps(encode_history(history), indent=1, ensure_ascii=False) + "\n"


_TIME = Scalar(int)
_RETURN = find_choice((Scalar(int), Nothing()))
_KEYS = {"process", "action", "outcome", "called", "returned"}
_FILE_KEYS = {"format", "version", "machine", "operations", "found", "problem"}


def load_history(text: str) -> History:
    """Return the history that JSON says; `TraceFormatError` names the place that is wrong."""
    values = load_strictly(text)
    if not isinstance(values, dict) or values.get("format") != FORMAT:
        raise TraceFormatError("format", f"expected {FORMAT!r}")
    if type(values.get("version")) is not int or values["version"] != FORMAT_VERSION:
        raise TraceFormatError("version", f"expected {FORMAT_VERSION}")
    _require_keys(values, _FILE_KEYS, "")
    machine = decode(values["machine"], Scalar(str), "machine")
    found = decode(values["found"], _find_shapes(machine)[2], "found")
    problem = decode(values["problem"], Scalar(str), "problem")
    try:
        return History(machine, _load_operations(values["operations"], machine), found, problem)
    except TraceFormatError:
        raise
    except ValueError as error:
        raise TraceFormatError("operations", str(error)) from error


def _require_keys(values: Any, keys: set[str], place: str) -> None:
    if not isinstance(values, dict) or values.keys() != keys:
        raise TraceFormatError(place, f"expected the keys {', '.join(sorted(keys))}")


def _load_operations(rows: Any, machine: str) -> tuple[Operation, ...]:
    """Return the operations in a file; `ValueError` if one of them can't have been."""
    action, outcome, _ = _find_shapes(machine)
    if not isinstance(rows, list):
        raise TraceFormatError("operations", "expected a list")
    operations = []
    for number, row in enumerate(rows):
        place = f"operations[{number}]"
        _require_keys(row, _KEYS, place)
        operations.append(
            Operation(
                decode(row["process"], Scalar(str), f"{place}.process"),
                decode(row["action"], action, f"{place}.action"),
                decode(row["outcome"], outcome, f"{place}.outcome"),
                decode(row["called"], _TIME, f"{place}.called"),
                decode(row["returned"], _RETURN, f"{place}.returned"),
            )
        )
    return tuple(operations)


def format_timeline(history: History, columns: int = TIMELINE_COLUMNS) -> list[str]:
    """Return a row for each process, with its operations as bars, and a list of what they are.

    `[--3--]` is operation 3 from call to return; one without an answer ends in `…`.
    """
    if not history.operations:
        return []
    first = history.operations[0].called
    last = max(max(each.called, each.returned or 0) for each in history.operations)
    scale = max(last - first, 1)

    def column(moment: int) -> int:
        return (moment - first) * columns // scale

    processes = dict.fromkeys(each.process for each in history.operations)
    width = max(len(process) for process in processes)
    lines = []
    for process in processes:
        row = ""
        for number, each in enumerate(history.operations, start=1):
            if each.process != process:
                continue
            row = row.ljust(column(each.called))
            end = "…" if each.returned is None else "]"
            length = 0 if each.returned is None else column(each.returned) - len(row)
            row += f"[{str(number).center(max(length - 2, 1), '-')}{end}"
        lines.append(f"{process:<{width}} {row}")
    for number, each in enumerate(history.operations, start=1):
        lines.append(f"{number:>3}. {each.process:<{width}} {each.action} → {each.outcome}")
    return lines


__all__ = [
    "UNKNOWN",
    "History",
    "Operation",
    "dump_history",
    "encode_history",
    "format_timeline",
    "load_history",
    "make_history",
]

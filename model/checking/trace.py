"""A trace: actions from an initial state, with the outcome and the state after each.

The one format in which every engine reports. A `Trace` says what happened; a `Violation` is how a
search of the model tells which property a trace breaks, and by which clause.

A call that never answered has the outcome `UNKNOWN`, which is never "failed" (C2).
Of operations that ran at the same time, one that ended in an error has the outcome `ANY` beside
what was observed: which outcome is specified depends on the order.
Where a step ended in a crash, `TraceStep.crash` names the place. Where operations ran at the same
time, `Trace.schedule` has the turns that they took.

Not here: what is written to a file beside the trace (`trace_report`), how it is written
(`trace_json`, `trace_text`, `trace_itf`, `trace_mermaid`, `trace_pytest`), and how it is run again
(`conformance.replay`).
"""

from dataclasses import dataclass
from typing import Any

from model.machine import Word


class NoAnswer(Word):
    """Stands where there is no outcome: nobody heard an answer, or any of several is right."""

    UNKNOWN = "unknown"
    ANY = "any"


UNKNOWN = NoAnswer.UNKNOWN
ANY = NoAnswer.ANY


class Ending(Word):
    """How an operation ended at a boundary."""

    EXIT = "exit"
    KILL = "kill"
    POWER_LOSS = "power_loss"
    BUSY = "busy"
    FULL = "full"
    IO_ERROR = "io_error"


@dataclass(frozen=True, slots=True)
class CrashPoint:
    """The boundary at which an operation ended, "admit / between insert intent and insert task".

    `commits` counts the transactions that had committed before it, None where nobody can tell
    (inside a commit). A survivor is another connection that stayed open over the crash.
    `details` say in words what else was lost, "the second half of the last write to the log".
    """

    boundary: str
    ending: Ending = Ending.EXIT
    commits: int | None = None
    has_survivor: bool = False
    details: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Observed:
    """What an implementation showed at a step in which it differs from the model.

    `kind` says what differs: "outcome", "state", "refusal", "snapshot", "exception", "schema",
    "unreadable", "transaction" or "crash". `expected` and `found` say how, in words.
    `outcome` and `state` are None where there was none, or none that has a meaning.
    """

    kind: str
    expected: str
    found: str
    outcome: Any = None
    state: Any = None


@dataclass(frozen=True, slots=True)
class TraceStep:
    """One action, the outcome that it had, and the state that it left.

    `after` is None where nobody looked: among operations that ran at the same time, of which the
    last one has the state that all of them left.
    `process` names who acted, where a trace comes from real processes or connections.
    """

    action: Any
    outcome: Any
    after: Any
    process: str | None = None
    crash: CrashPoint | None = None
    observed: Observed | None = None


@dataclass(frozen=True, slots=True)
class Turn:
    """One turn of a schedule: the operation of a step (1, 2, …) ran a statement, or waited.

    `result` is "ran", "blocked", or what the storage answered in place of running it.
    """

    step: int
    statement: str
    result: str = "ran"


@dataclass(frozen=True, slots=True)
class Trace:
    """Actions from an initial state of a scope.

    With a `schedule`, the steps that it names ran at the same time, and their order here is the
    order in which they were called.
    """

    machine: str
    scope: str
    initial: Any
    steps: tuple[TraceStep, ...]
    schedule: tuple[Turn, ...] = ()

    @property
    def alone(self) -> int:
        """How many steps were taken one by one, before those that ran at the same time."""
        if not self.schedule:
            return len(self.steps)
        first = min(turn.step for turn in self.schedule) - 1
        callers = (n for n, step in enumerate(self.steps) if step.process is not None)
        return min(first, next(callers, first))

    @property
    def states(self) -> tuple[Any, ...]:
        """The initial state, and the state after each step."""
        return (self.initial, *(step.after for step in self.steps))

    def __len__(self) -> int:
        return len(self.steps)


@dataclass(frozen=True, slots=True)
class Violation:
    """A property that does not hold, the clause that is false, and the way there.

    `kind` is "invariant", "step property", or the name of the judge that found it.
    """

    kind: str
    property_name: str
    sentence: str
    clause: str
    trace: Trace

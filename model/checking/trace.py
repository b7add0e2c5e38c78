"""A trace: actions from an initial state, with the outcome and the state after each.

The one format in which every engine reports. A trace says what happened;
a `Violation` says which property it breaks, and which clause of that property is false.
"""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class TraceStep:
    """One action, the outcome that it had, and the state that it left."""

    action: Any
    outcome: Any
    after: Any


@dataclass(frozen=True, slots=True)
class Trace:
    """Actions from an initial state of a scope."""

    machine: str
    scope: str
    initial: Any
    steps: tuple[TraceStep, ...]

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

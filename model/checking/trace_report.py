"""What is written to a file: a trace, what it shows to be wrong, and how to see it again.

`from_violation` makes a report of what a search of the model has found;
`conformance.replay.from_divergence` makes one where an implementation parts from the model.
"""

import importlib.metadata
import platform
import shlex
import sqlite3
from dataclasses import dataclass, field, replace

from model.checking.trace import NoAnswer, Trace, TraceStep, Violation
from model.checking.trace_shapes import VOCABULARIES, adopt, find_shape


@dataclass(frozen=True, slots=True)
class Failure:
    """What a trace shows to be wrong: a claim, and the clause of it that is false.

    `kind` is "invariant", "step property", "conformance" (an implementation parts from the
    model), "replay" (the model is no longer the one that was recorded), or the name of another
    judge. `name` is the property's, or says what differs. `turn` is the first turn of the
    schedule, from 1, after which another connection read what is false; None where nobody looked
    between turns, or saw it only after the last step.
    """

    kind: str
    name: str
    sentence: str
    clause: str
    turn: int | None = None


@dataclass(frozen=True, slots=True)
class Versions:
    """What a trace was found with."""

    python: str
    sqlite: str
    admit_one: str


def find_versions() -> Versions:
    """Return the versions that run now."""
    try:
        admit_one = importlib.metadata.version("admit-one")
    except importlib.metadata.PackageNotFoundError:
        admit_one = "not installed"
    return Versions(platform.python_version(), sqlite3.sqlite_version, admit_one)


@dataclass(frozen=True, slots=True)
class TraceReport:
    """A trace with all that a reader of its file needs.

    The first failure is the one that the trace was made for, the others follow from it; without
    any the trace shows a case. `repeat` is the command that finds the same again.
    """

    trace: Trace
    repeat: str
    failures: tuple[Failure, ...] = ()
    versions: Versions = field(default_factory=find_versions)


def from_violation(violation: Violation, repeat: str | None = None) -> TraceReport:
    """Return the report of a property that a search of the model found broken.

    The model may be a changed copy, whose classes are not those of the real one: its values become
    those of the real vocabulary. `TraceFormatError` if a value has no place there.
    """
    trace = adopt_trace(violation.trace)
    failure = Failure(violation.kind, violation.property_name, violation.sentence, violation.clause)
    command = repeat or shlex.join(["admit-one", "explore", trace.machine, trace.scope])
    return TraceReport(trace, command, (failure,))


def adopt_trace(trace: Trace) -> Trace:
    """Return a trace of a changed copy of a model in the words of the real one."""
    vocabulary = VOCABULARIES[trace.machine]
    state, action = find_shape(vocabulary.state), find_shape(vocabulary.action)
    outcome = find_shape(vocabulary.outcome)

    def adopt_step(number: int, step: TraceStep) -> TraceStep:
        place = f"steps[{number}]"
        answered = not isinstance(step.outcome, NoAnswer)
        after = None if step.after is None else adopt(step.after, state, f"{place}.after")
        return replace(
            step,
            action=adopt(step.action, action, f"{place}.action"),
            outcome=adopt(step.outcome, outcome, f"{place}.outcome") if answered else step.outcome,
            after=after,
        )

    steps = tuple(adopt_step(number, step) for number, step in enumerate(trace.steps))
    return replace(trace, initial=adopt(trace.initial, state, "initial"), steps=steps)

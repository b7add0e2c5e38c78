"""What an implementation or a replay has shown to be wrong, as the report of a trace.

`from_found` and `from_divergence` are for the engines that hold an implementation against a model.
"""

import ast
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from conformance.exhaustive import Found
from conformance.lockstep import find_broken
from conformance.subject import BrokenProperty, Divergence
from model.checking.trace import Observed, Trace, TraceStep
from model.checking.trace_explanation import NARRATORS, describe_outcome
from model.checking.trace_report import Failure, TraceReport
from model.checking.trace_words import describe_changes, describe_differences, tell_apart
from model.machine import Machine
from model.scopes import MACHINES

SENTENCES = {
    "outcome": "The implementation answers every call as the specification does.",
    "state": "After every call the implementation's durable state is the specification's.",
    "refusal": "Where nothing changes in the specification, not a byte of the store changes.",
    "snapshot": "The implementation's snapshot is the specification's, and it changes nothing.",
    "exception": "Where the specification gives an outcome, the implementation raises nothing.",
    "schema": "No constraint of the schema refuses what the specification lets happen.",
    "unreadable": "The durable rows are always those of a state of the specification.",
    "transaction": "No call leaves a transaction open.",
    "crash": "After a crash the durable state is one that the specification allows there.",
    "unanswered": "After a call without an answer the durable state is one that may be.",
    "recording": "The specification still does what was recorded.",
}
"""What is claimed of an implementation, or of a recording, by the kind of what differs."""


def from_found(found: Found, repeat: str) -> TraceReport:
    """Return the report of a divergence that exhaustive conformance has found."""
    return from_divergence(found.divergence, found.trace, repeat)


def from_divergence(
    divergence: Divergence, trace: Trace, repeat: str, *, before: Any = None
) -> TraceReport:
    """Return the report of an implementation that parts from the model in the last step.

    The properties of the model that this breaks stand after it.
    """
    machine = MACHINES[trace.machine]
    divergence = _tidy(machine, trace, divergence)
    where, observed = f"after step {len(trace)}", divergence
    if trace.steps:
        last = trace.steps[-1]
        before = trace.states[-2] if before is None else before
        seen = _as_observed(machine.name, before, last, divergence)
        trace = replace(trace, steps=(*trace.steps[:-1], replace(last, observed=seen)))
        observed = replace(divergence, expected=seen.expected, found=seen.found)
    kind = divergence.kind
    clause = f"{where}, {kind}: expected {observed.expected}; found {observed.found}"
    first = Failure("conformance", kind, SENTENCES.get(kind, kind), clause)
    broken = (_as_failure(machine, each) for each in divergence.broken)
    return TraceReport(trace, repeat, (first, *broken))


def _tidy(machine: Machine[Any, Any, Any], trace: Trace, divergence: Divergence) -> Divergence:
    """Return the divergence in few words: an error on one line, of snapshots what differs."""
    found = " ".join(divergence.found.split())
    if divergence.kind != "snapshot":
        return replace(divergence, found=found)
    expected = machine.snapshot(trace.states[-1])
    try:
        read = ast.literal_eval(divergence.found)
    except (ValueError, SyntaxError):  # an error, or words
        return replace(divergence, expected="the specification's snapshot", found=found)
    pairs = list(_compare_values("", expected, read))
    return replace(
        divergence,
        expected="; ".join(f"{place} {ours}" for place, ours, _ in pairs),
        found="; ".join(f"{place} {theirs}" for place, _, theirs in pairs),
    )


def _compare_values(place: str, ours: Any, theirs: Any) -> Iterator[tuple[str, Any, Any]]:
    """Yield the places in which two snapshots differ, with both values."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        for key in dict.fromkeys((*ours, *theirs)):
            inner = f"{place}.{key}" if place else str(key)
            yield from _compare_values(inner, ours.get(key), theirs.get(key))
    elif isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        if any(isinstance(each, dict) for each in ours):
            for i, pair in enumerate(zip(ours, theirs, strict=True)):
                yield from _compare_values(f"{place}[{i}]", *pair)
        elif ours != theirs:
            yield place, ours, theirs
    elif ours != theirs:
        yield place or "all", ours, theirs


def _as_observed(machine: str, before: Any, step: TraceStep, divergence: Divergence) -> Observed:
    """Return what was expected and found, in words."""
    narrator = NARRATORS[machine]
    expected, found = divergence.expected, divergence.found
    outcome, state = divergence.found_outcome, divergence.found_state
    if divergence.kind in ("outcome", "exception", "schema"):
        expected = describe_outcome(machine, step.outcome)
    if divergence.kind == "outcome" and outcome is not None:
        expected, found = tell_apart(narrator, step.outcome, outcome)
    if divergence.kind in ("state", "unreadable"):
        expected = "; ".join(describe_changes(narrator, before, step.after)) or "nothing changes"
    if divergence.kind == "state" and state is not None:
        found = "; ".join(describe_differences(narrator, step.after, state))
    return Observed(divergence.kind, expected, found, outcome, state)


def check_properties(
    machine: Machine[Any, Any, Any], before: Any, action: Any, outcome: Any, after: Any
) -> tuple[Failure, ...]:
    """Return the properties that a step breaks, whoever took it."""
    broken = find_broken(machine, before, action, outcome, after)
    return tuple(_as_failure(machine, each) for each in broken)


def _as_failure(machine: Machine[Any, Any, Any], broken: BrokenProperty) -> Failure:
    is_invariant = broken.name in [check.__name__ for check in machine.invariants]
    kind = "invariant" if is_invariant else "step property"
    return Failure(kind, broken.name, broken.sentence, broken.clause)

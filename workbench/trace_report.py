"""Traces and violations as text and as plain values.

A value is written as its `repr`, which is valid Python, so that a reader can paste it.
"""

from typing import Any

from model.checking.trace import Trace, Violation


def format_trace(trace: Trace) -> list[str]:
    """Return a line for each step: its number, the action and the outcome."""
    width = len(str(len(trace)))
    return [
        f"{number:>{width}}. {step.action!r} → {_describe_outcome(step.outcome)}"
        for number, step in enumerate(trace.steps, start=1)
    ]


def format_violation(violation: Violation) -> list[str]:
    """Return what is claimed, which clause of it is false, and the shortest way there."""
    trace = violation.trace
    return [
        f"FAIL: the {violation.kind} {violation.property_name}",
        f"  claims:   {violation.sentence}",
        f"  is false: {violation.clause}",
        f"  shortest trace, {len(trace)} steps, from {trace.initial!r}",
        *(f"    {line}" for line in format_trace(trace)),
        f"  the state then is {trace.states[-1]!r}",
    ]


def build_trace_values(trace: Trace) -> dict[str, Any]:
    """Return a trace as JSON has it."""
    return {
        "initial": repr(trace.initial),
        "steps": [
            {
                "action": repr(step.action),
                "outcome": _describe_outcome(step.outcome),
                "after": repr(step.after),
            }
            for step in trace.steps
        ],
    }


def build_violation_values(violation: Violation) -> dict[str, Any]:
    """Return a violation as JSON has it."""
    return {
        "kind": violation.kind,
        "property": violation.property_name,
        "sentence": violation.sentence,
        "clause": violation.clause,
        "trace": build_trace_values(violation.trace),
    }


def _describe_outcome(outcome: object) -> str:
    """Return a plain outcome by its protocol name, and one with a value as Python writes it."""
    return str(outcome) if isinstance(outcome, str) else repr(outcome)

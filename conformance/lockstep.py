"""One call on the model and on the implementation, and everything in which they may differ."""

import sqlite3
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from conformance.subject import BrokenProperty, Divergence, Subject, Unreadable, describe_error
from model.machine import Machine, property_sentence


@dataclass(frozen=True, slots=True)
class Checked:
    """What a call showed: the model's next state and outcome, and where the two part, if so."""

    after: Any
    outcome: Any
    has_changed: bool
    divergence: Divergence | None


def check_call(
    machine: Machine[Any, Any, Any],
    subject: Subject,
    state: Any,
    image: Any,
    action: Any,
) -> Checked:
    """Take an action on both sides and compare outcome and durable state.

    Where the durable content is the same to the byte, nothing has changed, counters and schema
    included: that is how a refusal is held to changing nothing. Where the model says that nothing
    changes, any other byte is a divergence.
    """
    after, outcome = machine.step(state, action)
    divergence: Divergence | None
    try:
        found = subject.apply(action)
    except Exception as error:  # noqa: BLE001 - whatever comes out is what is being judged
        divergence = _raised(action, outcome, error)
        return Checked(after, outcome, has_changed=True, divergence=divergence)
    has_changed = subject.image() != image
    if found == outcome and after is state and not has_changed:
        divergence = None
    elif found != outcome:
        divergence = Divergence("outcome", action, str(outcome), str(found))
    else:
        divergence = _compare(subject, state, action, after)
    if divergence is None and subject.has_open_transaction():
        divergence = Divergence("transaction", action, "no open transaction", "an open one")
    if divergence is not None:
        divergence = _explain(machine, subject, state, found, divergence)
    return Checked(after, outcome, has_changed=has_changed, divergence=divergence)


def check_snapshot(
    machine: Machine[Any, Any, Any], subject: Subject, state: Any, image: Any
) -> Divergence | None:
    """Compare the implementation's own snapshot with the model's, and that it changes nothing.

    `image` is the durable content before.
    """
    expected = machine.snapshot(state)
    try:
        found = subject.read()
    except Exception as error:  # noqa: BLE001 - whatever comes out is what is being judged
        return Divergence("snapshot", "snapshot", f"{expected}", describe_error(error))
    if found != expected:
        return Divergence("snapshot", "snapshot", f"{expected}", f"{found}")
    if subject.image() != image:
        return Divergence("snapshot", "snapshot", f"{expected}", "reading it changed the store")
    return None


def _compare(subject: Subject, state: Any, action: Any, after: Any) -> Divergence | None:
    """Compare the state after a call whose outcome is right."""
    try:
        observed = subject.observe()
    except Unreadable as error:
        return Divergence("unreadable", action, f"the state {after}", str(error))
    if observed != after:
        return Divergence("state", action, f"the state {after}", f"the state {observed}")
    if after is state:
        found = "other bytes, though every row reads the same"
        return Divergence("refusal", action, "the same content, to the byte", found)
    return None


def _explain(
    machine: Machine[Any, Any, Any],
    subject: Subject,
    before: Any,
    found: Any,
    divergence: Divergence,
) -> Divergence:
    """Add what the implementation has left, and which properties of the model that breaks."""
    try:
        observed = subject.observe()
    except Unreadable:
        return replace(divergence, found_outcome=found)
    return replace(
        divergence,
        found_outcome=found,
        found_state=observed,
        broken=find_broken(machine, before, divergence.action, found, observed),
    )


def find_broken(
    machine: Machine[Any, Any, Any], before: Any, action: Any, outcome: Any, after: Any
) -> tuple[BrokenProperty, ...]:
    """Return the properties that a step breaks, whoever took it."""
    clauses: list[tuple[Callable[..., Any], str | None]]
    clauses = [(check, check(after)) for check in machine.invariants]
    clauses += [(check, check(before, action, outcome, after)) for check in machine.step_properties]
    return tuple(
        BrokenProperty(check.__name__, property_sentence(check), clause)
        for check, clause in clauses
        if clause is not None
    )


def _raised(action: Any, outcome: Any, error: Exception) -> Divergence:
    """Return the divergence of a call that raised where the model gives an outcome."""
    kind = "schema" if isinstance(error, sqlite3.IntegrityError) else "exception"
    return Divergence(kind, action, str(outcome), describe_error(error))

"""One call on the model and on the implementation, and everything in which they may differ."""

import sqlite3
from dataclasses import dataclass
from typing import Any

from conformance.subject import Divergence, Subject, Unreadable
from model.machine import Machine


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
    try:
        found = subject.apply(action)
    except Exception as error:  # noqa: BLE001 - whatever comes out is what is being judged
        return Checked(after, outcome, has_changed=True, divergence=_raised(action, outcome, error))
    has_changed = subject.image() != image
    if found != outcome:
        return Checked(
            after, outcome, has_changed, Divergence("outcome", action, str(outcome), str(found))
        )
    if subject.has_open_transaction():
        divergence = Divergence("transaction", action, "no open transaction", "an open one")
        return Checked(after, outcome, has_changed=True, divergence=divergence)
    return Checked(
        after,
        outcome,
        has_changed,
        _compare(subject, state, action, after, has_changed=has_changed),
    )


def _compare(
    subject: Subject,
    state: Any,
    action: Any,
    after: Any,
    *,
    has_changed: bool,
) -> Divergence | None:
    """Compare the state after a call whose outcome is right."""
    if after is state and not has_changed:
        return None
    if after is state:
        found = "it changed, though every row reads the same"
        try:
            observed = subject.observe()
        except Unreadable as error:
            return Divergence("unreadable", action, "the unchanged content", str(error))
        if observed != state:
            found = f"the state {observed}"
        return Divergence("refusal", action, "the same content, to the byte", found)
    try:
        observed = subject.observe()
    except Unreadable as error:
        return Divergence("unreadable", action, f"the state {after}", str(error))
    if observed != after:
        return Divergence("state", action, f"the state {after}", f"the state {observed}")
    return None


def _raised(action: Any, outcome: Any, error: Exception) -> Divergence:
    """Return the divergence of a call that raised where the model gives an outcome."""
    kind = "schema" if isinstance(error, sqlite3.IntegrityError) else "exception"
    return Divergence(kind, action, str(outcome), f"{type(error).__name__}: {error}")

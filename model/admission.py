"""Durable admission: accept work only while a budget of outstanding work allows it.

The specification of section A of `docs/protocols.md`; the numbers A1 … A18 are its rules.
Read it from top to bottom: vocabulary, state, derivations, steps, invariants, step
properties, witnesses.

Not modelled: time (the clock is an integer that callers bring along), storage and its
errors (an error of the storage is never an outcome), who may call, input that A16 forbids
(it never reaches a step), and the order in which waiting callers get the store.

The order of the guards in a step is part of the specification.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from model.admission_vocabulary import (
    CANCELLED,
    DONE,
    GENERATION_MAX,
    INFLIGHT,
    QUARANTINED,
    QUEUED,
    Action,
    Admit,
    Answer,
    CancelUnstarted,
    Claim,
    Claimed,
    Effect,
    Init,
    Outcome,
    Quarantine,
    Record,
    Redrive,
    Resolve,
    State,
    Tick,
    Token,
    compute_usage,
    find_due,
    find_held,
    find_record,
    move_record,
    put_record,
    set_clock,
)


def init(state: State, action: Init) -> tuple[State, Outcome]:
    """Create the store, or accept an existing one whose limits are equal (A1)."""
    if state.limits is None:
        return replace(state, limits=action.limits), Answer.READY
    if state.limits != action.limits:
        return state, Answer.LIMITS_MISMATCH
    return state, Answer.READY


def admit(state: State, action: Admit) -> tuple[State, Outcome]:
    """Accept work if it is new and the budget has room for it: identity first (A2 … A6)."""
    limits = state.limits
    if limits is None:
        return state, Answer.STORE_MISSING
    known = find_record(state, action.request_id)
    if known is not None:  # at full capacity too, and in every state of the record
        if known.tenant == action.tenant and known.payload == action.payload:
            return state, Answer.REPLAY
        return state, Answer.CONFLICT
    size_bytes = len(action.payload.encode())  # bytes, not characters (A5)
    if size_bytes > limits.item_bytes:
        return state, Answer.OVERSIZE
    count, used_bytes = compute_usage(state.records)
    if count + 1 > limits.global_slots or used_bytes + size_bytes > limits.global_bytes:
        return state, Answer.GLOBAL_FULL
    count, used_bytes = compute_usage(state.records, action.tenant)
    if count + 1 > limits.tenant_slots or used_bytes + size_bytes > limits.tenant_bytes:
        return state, Answer.TENANT_FULL
    record = Record(
        request_id=action.request_id,
        tenant=action.tenant,
        payload=action.payload,
        size_bytes=size_bytes,
        sequence=len(state.records) + 1,
        state=QUEUED,
        generation=0,
        lease=None,
    )
    return replace(state, records=(*state.records, record)), Answer.ACCEPTED


def claim(state: State, action: Claim) -> tuple[State, Outcome]:
    """Hand out the first record that is due, under a new generation and a new lease (A8)."""
    if state.limits is None:
        return state, Answer.STORE_MISSING
    if action.now < state.clock:
        return state, Answer.CLOCK_REGRESSION
    due = find_due(state, action.now)
    if due is None:
        return set_clock(state, action.now), Answer.NOTHING_DUE
    if due.generation == GENERATION_MAX:  # claim doesn't skip it (A16)
        return state, Answer.GENERATION_EXHAUSTED
    generation = due.generation + 1
    lease = action.now + state.lease_ticks
    claimed = move_record(due, INFLIGHT, generation=generation, lease=lease)
    token = Token(due.request_id, generation)
    return put_record(set_clock(state, action.now), claimed), Claimed(token)


def resolve(state: State, action: Resolve) -> tuple[State, Outcome]:
    """Finish a record that the token still holds: the effect and the state in one step (A10)."""
    if state.limits is None:
        return state, Answer.STORE_MISSING
    if action.now < state.clock:
        return state, Answer.CLOCK_REGRESSION
    held = find_held(state, action.token, action.now)
    if held is None:
        return set_clock(state, action.now), Answer.STALE  # the clock moves all the same (A9)
    state = set_clock(state, action.now)
    effect = Effect(held.sequence, held.request_id)
    effects = tuple(sorted((*state.effects, effect), key=lambda each: each.sequence))
    done = move_record(held, DONE)
    return put_record(replace(state, effects=effects), done), Answer.DONE


def quarantine(state: State, action: Quarantine) -> tuple[State, Outcome]:
    """Set a record aside that the token still holds; it keeps its charge (A11, A7)."""
    if state.limits is None:
        return state, Answer.STORE_MISSING
    if action.now < state.clock:
        return state, Answer.CLOCK_REGRESSION
    held = find_held(state, action.token, action.now)
    if held is None:
        return set_clock(state, action.now), Answer.STALE
    state = set_clock(state, action.now)
    return put_record(state, move_record(held, QUARANTINED)), Answer.QUARANTINED


def redrive(state: State, action: Redrive) -> tuple[State, Outcome]:
    """Queue a quarantined record again under a new generation; no charge, no refusal (A12)."""
    if state.limits is None:
        return state, Answer.STORE_MISSING
    record = find_record(state, action.request_id)
    if record is None or record.state is not QUARANTINED:
        return state, Answer.STALE
    if record.generation != action.generation:
        return state, Answer.STALE
    if record.generation == GENERATION_MAX:
        return state, Answer.GENERATION_EXHAUSTED
    queued = move_record(record, QUEUED, generation=record.generation + 1)
    return put_record(state, queued), Answer.QUEUED


def cancel_unstarted(state: State, action: CancelUnstarted) -> tuple[State, Outcome]:
    """Cancel a record that was never claimed; any claim forbids it for ever (A13)."""
    if state.limits is None:
        return state, Answer.STORE_MISSING
    record = find_record(state, action.request_id)
    if record is None or record.state is not QUEUED or record.generation != 0:
        return state, Answer.NOT_CANCELLED
    return put_record(state, move_record(record, CANCELLED)), Answer.CANCELLED


def tick(state: State, action: Tick) -> tuple[State, Outcome]:
    """Move the clock by one."""
    return replace(state, clock=state.clock + 1), Answer.TICKED


# A table in place of one `match`, because the search looks an action's step up once a call;
# a test holds it against the union `Action`.
STEPS: Mapping[type[Any], Callable[..., tuple[State, Outcome]]] = {
    Init: init,
    Admit: admit,
    Claim: claim,
    Resolve: resolve,
    Quarantine: quarantine,
    Redrive: redrive,
    CancelUnstarted: cancel_unstarted,
    Tick: tick,
}


def step(state: State, action: Action) -> tuple[State, Outcome]:
    """Return the state after the action, and its outcome; total and pure."""
    return STEPS[type(action)](state, action)


def advance(
    state: State, action: Action, earlier: tuple[Outcome, ...]
) -> tuple[State, Outcome, bool]:
    """Take the next step of an action, which is its only one: each action is one transaction."""
    return *step(state, action), True


def allowed_after_exit(state: State, action: Action, commits: int) -> frozenset[State]:
    """Return the states that may be found after a process left this action (C1).

    `commits` is the number of transactions that had committed before the exit: each action
    is one, so before its commit the state is unchanged, and after it the step is complete.
    """
    return frozenset({state if commits == 0 else step(state, action)[0]})

"""What each answer of durable admission must be: step properties that say "exactly when".

The properties of `model.admission_properties` say what an answer may not do;
these say which answer a state calls for, and what it must leave.
They are written without the derivations that the steps use, as far as that is readable.
"""

from model.admission_vocabulary import (
    CANCELLED,
    DONE,
    GENERATION_MAX,
    INFLIGHT,
    OUTSTANDING,
    QUARANTINED,
    QUEUED,
    Action,
    Admit,
    Answer,
    CancelUnstarted,
    Claim,
    Claimed,
    Init,
    Outcome,
    Quarantine,
    Record,
    RecordState,
    Redrive,
    Resolve,
    State,
    Tick,
    Token,
    find_record,
)
from model.machine import in_words


def only_a_tick_moves_the_clock(
    before: State, action: Action, outcome: Outcome, after: State
) -> str | None:
    """The clock moves only by a call that brings a tick along."""
    if not isinstance(action, Claim | Resolve | Quarantine | Tick) and after.clock != before.clock:
        return f"{action} moved the clock from {before.clock} to {after.clock}"
    return None


def a_store_is_ready_only_for_its_own_limits(
    before: State, action: Action, outcome: Outcome, after: State
) -> str | None:
    """A store answers "ready" exactly to the limits that it has (A1)."""
    if not isinstance(action, Init) or (outcome is Answer.READY) is (after.limits == action.limits):
        return None
    return f"{action} was {outcome}, and the store has {in_words(after.limits)}"


def an_admit_is_decided_in_order(
    before: State, action: Action, outcome: Outcome, after: State
) -> str | None:
    """Identity decides first, then the item's size, then the store's room, then its tenant's."""
    limits = before.limits
    if not isinstance(action, Admit) or limits is None:
        return None
    known = find_record(before, action.request_id)
    size_bytes = len(action.payload.encode())
    store = [r for r in before.records if r.state in OUTSTANDING]
    tenant = [r for r in store if r.tenant == action.tenant]
    store_bytes = sum(r.size_bytes for r in store)
    tenant_bytes = sum(r.size_bytes for r in tenant)
    if known is not None:
        is_same = (known.tenant, known.payload) == (action.tenant, action.payload)
        expected = Answer.REPLAY if is_same else Answer.CONFLICT
    elif size_bytes > limits.item_bytes:
        expected = Answer.OVERSIZE
    elif len(store) >= limits.global_slots or store_bytes > limits.global_bytes - size_bytes:
        expected = Answer.GLOBAL_FULL
    elif len(tenant) >= limits.tenant_slots or tenant_bytes > limits.tenant_bytes - size_bytes:
        expected = Answer.TENANT_FULL
    else:
        expected = Answer.ACCEPTED
    if outcome is not expected:
        return (
            f"{action} was {outcome}, and should be {expected}: known under this id is "
            f"{in_words(known)}; outstanding: {len(store)} with {store_bytes} bytes, "
            f"of this tenant {len(tenant)} with {tenant_bytes} bytes; the store has {limits}"
        )
    return None


def an_accepted_record_is_what_was_asked_for(
    before: State, action: Action, outcome: Outcome, after: State
) -> str | None:
    """Acceptance adds one record, queued and never claimed, with the content as it was brought."""
    added = after.records[len(before.records) :]
    expected: tuple[Record, ...] = ()
    if isinstance(action, Admit) and outcome is Answer.ACCEPTED:
        size_bytes, sequence = len(action.payload.encode()), len(before.records) + 1
        asked = (action.request_id, action.tenant, action.payload)
        expected = (Record(*asked, size_bytes, sequence, QUEUED, 0, None),)
    if added != expected:
        return f"after {outcome} of {action} the new records are {in_words(added)}"
    return None


_MOVES: dict[type[Action], tuple[frozenset[RecordState], RecordState, int]] = {
    Claim: (frozenset({QUEUED, INFLIGHT}), INFLIGHT, 1),
    Resolve: (frozenset({INFLIGHT}), DONE, 0),
    Quarantine: (frozenset({INFLIGHT}), QUARANTINED, 0),
    Redrive: (frozenset({QUARANTINED}), QUEUED, 1),
    CancelUnstarted: (frozenset({QUEUED}), CANCELLED, 0),
}
"""The life cycle: the states that an action takes a record from and to, and new generations."""


def a_record_moves_one_step_of_its_life_cycle(
    before: State, action: Action, outcome: Outcome, after: State
) -> str | None:
    """Only the record that an action is about changes, by one move of its life cycle."""
    if before.records is after.records:
        return None
    for old, new in zip(before.records, after.records, strict=False):
        if old == new:
            continue
        if isinstance(action, Init | Admit | Tick):
            return f"{action} changed {old} to {new}"
        named = outcome if isinstance(outcome, Claimed) else action
        about = named.token if isinstance(named, Claimed | Resolve | Quarantine) else named
        sources, state, rise = _MOVES[type(action)]
        lease = action.now + before.lease_ticks if isinstance(action, Claim) else None
        moved = (old.request_id, state, old.generation + rise, lease)
        is_about = not isinstance(about, Claim) and about.request_id == old.request_id
        if not is_about or old.state not in sources:
            return f"{action} was {outcome}, and changed {old} to {new}"
        if moved != (new.request_id, new.state, new.generation, new.lease):
            return f"{action} was {outcome}, and changed {old} to {new}"
    return None


def a_claim_takes_the_first_record_that_is_due(
    before: State, action: Action, outcome: Outcome, after: State
) -> str | None:
    """A claim hands out the lowest number that is queued or has an expired lease (A8)."""
    if not isinstance(action, Claim) or before.limits is None or action.now < before.clock:
        return None
    due = [
        record
        for record in before.records
        if record.state is QUEUED
        or (record.state is INFLIGHT and record.lease is not None and record.lease <= action.now)
    ]
    first = min(due, key=lambda record: record.sequence, default=None)
    expected: Outcome = Answer.NOTHING_DUE
    if first is not None:
        is_last = first.generation == GENERATION_MAX
        token = Token(first.request_id, first.generation + 1)
        expected = Answer.GENERATION_EXHAUSTED if is_last else Claimed(token)
    if outcome != expected:
        due_first = in_words(first)
        return f"at tick {action.now} the first due is {due_first}, and the answer was {outcome}"
    return None


def nobody_is_refused_without_a_reason(
    before: State, action: Action, outcome: Outcome, after: State
) -> str | None:
    """A current token is never stale, a matching redrive neither, and unclaimed work cancels."""
    if outcome not in (Answer.STALE, Answer.NOT_CANCELLED):
        return None
    if not isinstance(action, Resolve | Quarantine | Redrive | CancelUnstarted):
        return f"{action} was {outcome}"
    about = action.token if isinstance(action, Resolve | Quarantine) else action
    record = find_record(before, about.request_id)
    if record is None:
        return None
    if isinstance(action, Resolve | Quarantine):
        is_leased = record.lease is not None and record.lease > action.now
        is_current = record.generation == action.token.generation
        could = record.state is INFLIGHT and is_current and is_leased
    elif isinstance(action, Redrive):
        could = record.state is QUARANTINED and record.generation == action.generation
    else:
        could = record.state is QUEUED and record.generation == 0
    return f"{action} was {outcome}, and there was {record}" if could else None


ANSWERS = (
    only_a_tick_moves_the_clock,
    a_store_is_ready_only_for_its_own_limits,
    an_admit_is_decided_in_order,
    an_accepted_record_is_what_was_asked_for,
    a_record_moves_one_step_of_its_life_cycle,
    a_claim_takes_the_first_record_that_is_due,
    nobody_is_refused_without_a_reason,
)

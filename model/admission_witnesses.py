"""Cases of durable admission that a search must have seen, or it has looked at too little.

A witness is true of some reachable step; a scope that can't show one says so, and why.
"""

from collections.abc import Callable

from model.admission_vocabulary import (
    CANCELLED,
    DONE,
    INFLIGHT,
    OUTSTANDING,
    QUARANTINED,
    QUEUED,
    Action,
    Admit,
    Answer,
    CancelUnstarted,
    Claimed,
    Outcome,
    RecordState,
    Resolve,
    State,
    compute_usage,
    find_record,
)

THIRD = 3
Witness = Callable[[State, Action, Outcome, State], bool]


def _witness_of_a_record_state(record_state: RecordState) -> Witness:
    def some_record_is(before: State, action: Action, outcome: Outcome, after: State) -> bool:
        return any(record.state is record_state for record in after.records)

    some_record_is.__name__ = f"a_record_is_{record_state}"
    some_record_is.__doc__ = f"Some record is {record_state}."
    return some_record_is


def _is_repeat(state: State, action: Action, outcome: Outcome, record_state: RecordState) -> bool:
    if outcome is not Answer.REPLAY or not isinstance(action, Admit):
        return False
    record = find_record(state, action.request_id)
    return record is not None and record.state is record_state


def a_finished_request_is_replayed(
    before: State,
    action: Action,
    outcome: Outcome,
    after: State,
) -> bool:
    """A request is repeated after its record is done."""
    return _is_repeat(before, action, outcome, DONE)


def a_cancelled_request_is_replayed(
    before: State,
    action: Action,
    outcome: Outcome,
    after: State,
) -> bool:
    """A request is repeated after its record was cancelled."""
    return _is_repeat(before, action, outcome, CANCELLED)


def a_replay_meets_a_full_store(
    before: State,
    action: Action,
    outcome: Outcome,
    after: State,
) -> bool:
    """A request is repeated while every slot of the store is taken."""
    limits = before.limits
    is_replay = outcome is Answer.REPLAY and isinstance(action, Admit)
    return (
        is_replay and limits is not None and compute_usage(before.records)[0] == limits.global_slots
    )


def a_token_is_stale_after_a_new_claim(
    before: State,
    action: Action,
    outcome: Outcome,
    after: State,
) -> bool:
    """A token comes back while its record is inflight under a newer generation."""
    if outcome is not Answer.STALE or not isinstance(action, Resolve):
        return False
    record = find_record(before, action.token.request_id)
    return (
        record is not None
        and record.state is INFLIGHT
        and 0 < action.token.generation < record.generation
    )


def a_token_is_stale_by_its_lease_alone(
    before: State,
    action: Action,
    outcome: Outcome,
    after: State,
) -> bool:
    """A token of the current generation comes back exactly when its lease has run out."""
    if outcome is not Answer.STALE or not isinstance(action, Resolve):
        return False
    record = find_record(before, action.token.request_id)
    return (
        record is not None
        and record.state is INFLIGHT
        and record.generation == action.token.generation
        and record.lease == action.now
    )


def a_third_generation_is_claimed(
    before: State,
    action: Action,
    outcome: Outcome,
    after: State,
) -> bool:
    """A record is claimed under its third generation."""
    return isinstance(outcome, Claimed) and outcome.token.generation == THIRD


def a_redriven_record_is_not_cancelled(
    before: State,
    action: Action,
    outcome: Outcome,
    after: State,
) -> bool:
    """A record that is queued again after a claim refuses to be cancelled."""
    if outcome is not Answer.NOT_CANCELLED or not isinstance(action, CancelUnstarted):
        return False
    record = find_record(before, action.request_id)
    return record is not None and record.state is QUEUED


def _room(state: State, action: Action, tenant: str | None) -> tuple[bool, bool]:
    """Tell whether an admit finds a free slot, and whether it finds the bytes."""
    if not isinstance(action, Admit) or state.limits is None:
        return True, True
    limits = state.limits
    slots = limits.global_slots if tenant is None else limits.tenant_slots
    room_bytes = limits.global_bytes if tenant is None else limits.tenant_bytes
    count, used_bytes = compute_usage(state.records, tenant)
    return count < slots, used_bytes + len(action.payload.encode()) <= room_bytes


def the_store_is_full_by_slots(
    before: State,
    action: Action,
    outcome: Outcome,
    after: State,
) -> bool:
    """An admit is refused for the global slots alone."""
    return outcome is Answer.GLOBAL_FULL and _room(before, action, None) == (False, True)


def the_store_is_full_by_bytes(
    before: State,
    action: Action,
    outcome: Outcome,
    after: State,
) -> bool:
    """An admit is refused for the global bytes alone, some of which other work has taken."""
    is_full = outcome is Answer.GLOBAL_FULL and compute_usage(before.records)[1] > 0
    return is_full and _room(before, action, None) == (True, False)


def a_tenant_is_full_by_slots(
    before: State,
    action: Action,
    outcome: Outcome,
    after: State,
) -> bool:
    """An admit is refused for its tenant's slots alone."""
    return (
        outcome is Answer.TENANT_FULL
        and isinstance(action, Admit)
        and _room(before, action, action.tenant) == (False, True)
    )


def a_tenant_is_full_by_bytes(
    before: State,
    action: Action,
    outcome: Outcome,
    after: State,
) -> bool:
    """An admit is refused for its tenant's bytes alone, some of which other work has taken."""
    return (
        outcome is Answer.TENANT_FULL
        and isinstance(action, Admit)
        and compute_usage(before.records, action.tenant)[1] > 0
        and _room(before, action, action.tenant) == (True, False)
    )


def quarantined_work_fills_the_store(
    before: State,
    action: Action,
    outcome: Outcome,
    after: State,
) -> bool:
    """An admit is refused while all the outstanding work is quarantined."""
    outstanding = [record for record in before.records if record.state in OUTSTANDING]
    is_full = outcome in (Answer.GLOBAL_FULL, Answer.TENANT_FULL) and bool(outstanding)
    return is_full and all(record.state is QUARANTINED for record in outstanding)


def both_budgets_are_full(
    before: State,
    action: Action,
    outcome: Outcome,
    after: State,
) -> bool:
    """An admit finds neither the store nor its tenant with room, and hears of the store."""
    return (
        outcome is Answer.GLOBAL_FULL
        and isinstance(action, Admit)
        and _room(before, action, action.tenant) != (True, True)
    )


def a_tenant_is_refused_without_having_asked_before(
    before: State,
    action: Action,
    outcome: Outcome,
    after: State,
) -> bool:
    """A tenant with no work at all is refused: a cap is no reservation (A18)."""
    return (
        outcome is Answer.GLOBAL_FULL
        and isinstance(action, Admit)
        and bool(before.records)
        and all(record.tenant != action.tenant for record in before.records)
    )


WITNESSES: tuple[Witness, ...] = (
    *(_witness_of_a_record_state(record_state) for record_state in RecordState),
    a_finished_request_is_replayed,
    a_cancelled_request_is_replayed,
    a_replay_meets_a_full_store,
    a_token_is_stale_after_a_new_claim,
    a_token_is_stale_by_its_lease_alone,
    a_third_generation_is_claimed,
    a_redriven_record_is_not_cancelled,
    the_store_is_full_by_slots,
    the_store_is_full_by_bytes,
    a_tenant_is_full_by_slots,
    a_tenant_is_full_by_bytes,
    quarantined_work_fills_the_store,
    both_budgets_are_full,
    a_tenant_is_refused_without_having_asked_before,
)

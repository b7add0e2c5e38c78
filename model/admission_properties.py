"""What must hold of durable admission: invariants, step properties, witnesses.

The second half of the specification of `model.admission`.
The same functions serve the exhaustive search, Hypothesis, the crash harness and the report.
A property returns None, or the clause that is false with the values that make it false;
its docstring is the sentence that is printed with a counterexample.

Not here: the steps, and which cases a finite scope can reach.
"""

from collections.abc import Iterable

from model.admission_vocabulary import (
    BINDS_NOTHING,
    CANCELLED,
    DONE,
    EFFECT_VALUE,
    ERRORS,
    GENERATION_MAX,
    INFLIGHT,
    OUTSTANDING,
    QUARANTINED,
    TERMINAL,
    Action,
    Admit,
    Answer,
    CancelUnstarted,
    Claim,
    Claimed,
    Outcome,
    Quarantine,
    Record,
    Redrive,
    Resolve,
    State,
    compute_usage,
    find_record,
)
from model.machine import in_words

# ── Invariants ────────────────────────────────────────────────────────────────────────────


def describe_outstanding(records: Iterable[Record], tenant: str | None = None) -> str:
    """Return the outstanding records in words, "r1 (inflight), r2 (queued)"."""
    chosen = [r for r in records if r.state in OUTSTANDING and tenant in (None, r.tenant)]
    return ", ".join(f"{r.request_id} ({r.state}, {r.size_bytes} bytes)" for r in chosen)


def outstanding_work_stays_within_the_limits(state: State) -> str | None:
    """The outstanding work stays within all four limits: slots and bytes, global and tenant."""
    limits = state.limits
    if limits is None:
        return None
    count, used_bytes = compute_usage(state.records)
    if count > limits.global_slots or used_bytes > limits.global_bytes:
        return (
            f"global_slots is {limits.global_slots} and global_bytes is {limits.global_bytes}, "
            f"but {count} records with {used_bytes} bytes are outstanding: "
            f"{describe_outstanding(state.records)}"
        )
    if count <= limits.tenant_slots and used_bytes <= limits.tenant_bytes:
        return None  # no tenant can hold more than all of them together
    for tenant in {record.tenant: None for record in state.records}:
        count, used_bytes = compute_usage(state.records, tenant)
        if count > limits.tenant_slots or used_bytes > limits.tenant_bytes:
            return (
                f"tenant_slots is {limits.tenant_slots} and tenant_bytes is "
                f"{limits.tenant_bytes}, but tenant {tenant} has {count} records with "
                f"{used_bytes} bytes outstanding: {describe_outstanding(state.records, tenant)}"
            )
    return None


def sequence_numbers_count_the_admissions(state: State) -> str | None:
    """Sequence numbers are 1, 2, 3 … in the order of admission, without a gap."""
    for position, record in enumerate(state.records, start=1):
        if record.sequence != position:
            return f"{record.request_id} was admitted as number {position}, not {record.sequence}"
    return None


def _say_numbers(numbered: list[tuple[int, str]]) -> str:
    """Return sequence numbers with their ids: "1 r1, 2 r2"."""
    return ", ".join(f"{sequence} {request_id}" for sequence, request_id in numbered) or "none"


def a_record_is_done_exactly_when_it_has_one_effect(state: State) -> str | None:
    """A done record has exactly one effect, and no other record has any."""
    expected = [(r.sequence, r.request_id) for r in state.records if r.state is DONE]
    found = [(effect.sequence, effect.request_id) for effect in state.effects]
    if found != expected:
        return f"done is {_say_numbers(expected)}, but effects are there for {_say_numbers(found)}"
    for effect in state.effects:
        if effect.value != EFFECT_VALUE:
            return f"the effect of {effect.request_id} is {effect.value!r}"
    return None


def a_record_has_a_lease_exactly_when_inflight(state: State) -> str | None:
    """A record has a lease exactly while it is inflight."""
    for record in state.records:
        if (record.lease is not None) is not (record.state is INFLIGHT):
            return f"{record.request_id} is {record.state} with lease {in_words(record.lease)}"
    return None


def generations_fit_the_state_of_their_record(state: State) -> str | None:
    """Inflight, quarantined and done records were claimed before, cancelled ones never."""
    for record in state.records:
        claimed = record.state in (INFLIGHT, QUARANTINED, DONE)
        if (claimed and record.generation < 1) or (
            record.state is CANCELLED and record.generation != 0
        ):
            return f"{record.request_id} is {record.state} at generation {record.generation}"
    return None


def ids_are_unique(state: State) -> str | None:
    """No two records have the same request id."""
    ids = [record.request_id for record in state.records]
    if len(set(ids)) != len(ids):
        return f"the request ids are {in_words(ids)}"
    return None


def a_size_is_the_length_in_utf8_bytes(state: State) -> str | None:
    """A record's size is the number of UTF-8 bytes of its payload."""
    for record in state.records:
        if record.size_bytes != len(record.payload.encode()):
            return (
                f"{record.request_id} has a payload of {len(record.payload.encode())} bytes, "
                f"and size {record.size_bytes}"
            )
    return None


def an_absent_store_is_empty(state: State) -> str | None:
    """A store that was never created holds nothing."""
    if state.limits is None and (state.records or state.effects or state.clock):
        return f"the store is absent with clock {state.clock} and records {in_words(state.records)}"
    return None


def generations_and_leases_keep_their_bounds(state: State) -> str | None:
    """No generation passes its limit, and no lease runs longer than it was given."""
    for record in state.records:
        if record.generation > GENERATION_MAX:
            return f"{record.request_id} is at generation {record.generation}"
        if record.lease is not None and record.lease > state.clock + state.lease_ticks:
            return f"{record.request_id} has lease {record.lease} at tick {state.clock}"
    return None


INVARIANTS = (
    outstanding_work_stays_within_the_limits,
    sequence_numbers_count_the_admissions,
    a_record_is_done_exactly_when_it_has_one_effect,
    a_record_has_a_lease_exactly_when_inflight,
    generations_fit_the_state_of_their_record,
    ids_are_unique,
    a_size_is_the_length_in_utf8_bytes,
    generations_and_leases_keep_their_bounds,
    an_absent_store_is_empty,
)

# ── Step properties ───────────────────────────────────────────────────────────────────────


def changed_fields(before: State, after: State) -> str:
    """Return what differs between two states in words."""
    differences = [
        f"{name} went from {in_words(getattr(before, name))} to {in_words(getattr(after, name))}"
        for name in ("limits", "clock", "records", "effects")
        if getattr(before, name) != getattr(after, name)
    ]
    return "; ".join(differences)


def refusals_change_nothing(
    before: State, action: Action, outcome: Outcome, after: State
) -> str | None:
    """A refusal changes nothing; a stale token or an empty queue still moves the clock."""
    if before is after:
        return None
    is_silent = outcome in BINDS_NOTHING or outcome in ERRORS
    is_silent = is_silent or (outcome is Answer.STALE and isinstance(action, Redrive))
    if is_silent and before != after:
        return f"after {outcome}, {changed_fields(before, after)}"
    if outcome in (Answer.STALE, Answer.NOTHING_DUE):
        rest_before = (before.limits, before.records, before.effects)
        if rest_before != (after.limits, after.records, after.effects):
            return f"after {outcome}, {changed_fields(before, after)}"
    return None


def the_clock_never_goes_back(
    before: State, action: Action, outcome: Outcome, after: State
) -> str | None:
    """The stored clock never goes back, and is the action's tick unless that was refused."""
    if after.clock < before.clock:
        return f"the clock went from {before.clock} back to {after.clock}"
    if isinstance(action, Claim | Resolve | Quarantine):
        stored = before.clock if outcome in ERRORS else action.now
        if after.clock != stored:
            return f"at tick {action.now} the answer was {outcome}, and the clock is {after.clock}"
    return None


def generations_never_go_down(
    before: State,
    action: Action,
    outcome: Outcome,
    after: State,
) -> str | None:
    """No record's generation ever goes down."""
    for old, new in zip(before.records, after.records, strict=False):
        if new.generation < old.generation:
            return f"{old.request_id} went from generation {old.generation} to {new.generation}"
    return None


def terminal_is_for_ever(
    before: State,
    action: Action,
    outcome: Outcome,
    after: State,
) -> str | None:
    """A done or cancelled record never changes again, and never disappears."""
    for old in before.records:
        if old.state in TERMINAL and find_record(after, old.request_id) != old:
            return f"{old} became {in_words(find_record(after, old.request_id))}"
    return None


def identity_is_permanent(
    before: State,
    action: Action,
    outcome: Outcome,
    after: State,
) -> str | None:
    """An accepted id keeps its tenant, its payload and its place for ever."""
    for old in before.records:
        new = find_record(after, old.request_id)
        if new is None:
            return f"{old.request_id} is gone"
        kept = (old.tenant, old.payload, old.size_bytes, old.sequence)
        if kept != (new.tenant, new.payload, new.size_bytes, new.sequence):
            return f"{old} became {new}"
    return None


def limits_never_change(
    before: State,
    action: Action,
    outcome: Outcome,
    after: State,
) -> str | None:
    """The limits of an existing store never change."""
    if before.limits is not None and after.limits != before.limits:
        return f"the limits went from {in_words(before.limits)} to {in_words(after.limits)}"
    return None


def usage_moves_only_by_acceptance_and_by_a_terminal_state(
    before: State, action: Action, outcome: Outcome, after: State
) -> str | None:
    """The outstanding work grows only by accepted, and shrinks only by done or cancelled."""
    if before.records is after.records:
        old = new = (0, 0)
    else:
        old, new = compute_usage(before.records), compute_usage(after.records)
    change = (new[0] - old[0], new[1] - old[1])
    expected = (0, 0)
    if outcome is Answer.ACCEPTED and isinstance(action, Admit):
        expected = (1, len(action.payload.encode()))
    if outcome in (Answer.DONE, Answer.CANCELLED):
        request_id = (
            action.request_id
            if isinstance(action, CancelUnstarted)
            else action.token.request_id
            if isinstance(action, Resolve)
            else ""
        )
        record = find_record(before, request_id)
        expected = (-1, -record.size_bytes if record else 0)
    if change != expected:
        return f"{outcome} changed the usage from {list(old)} to {list(new)} (count, bytes)"
    return None


def a_new_token_is_newer_than_every_earlier_one(
    before: State,
    action: Action,
    outcome: Outcome,
    after: State,
) -> str | None:
    """A claim hands out a record under a generation that it never had before."""
    if not isinstance(outcome, Claimed):
        return None
    old = find_record(before, outcome.token.request_id)
    new = find_record(after, outcome.token.request_id)
    if old is None or new is None or not isinstance(action, Claim):
        return f"{outcome.token} names no record"
    if not old.generation < outcome.token.generation == new.generation:
        return (
            f"{old.request_id} was at generation {old.generation}, the new token has "
            f"{outcome.token.generation}, and the record has {new.generation}"
        )
    return None


def only_the_current_token_finishes_a_record(
    before: State, action: Action, outcome: Outcome, after: State
) -> str | None:
    """Only the token of the current generation, under a running lease, finishes a record."""
    if not isinstance(action, Resolve | Quarantine):
        return None
    if outcome not in (Answer.DONE, Answer.QUARANTINED):
        return None
    record = find_record(before, action.token.request_id)
    if record is None or record.state is not INFLIGHT:
        return f"{action.token} was {outcome}, but there was {in_words(record)}"
    if record.generation != action.token.generation:
        return f"{action.token} was {outcome}, but the record has generation {record.generation}"
    if record.lease is None or record.lease <= action.now:
        return (
            f"{action.token} was {outcome} at tick {action.now} with lease {in_words(record.lease)}"
        )
    finished = find_record(after, action.token.request_id)
    if finished is None or finished.state not in (DONE, QUARANTINED):
        return f"after {outcome} the record is {in_words(finished)}"
    return None


def a_claimed_record_is_never_cancelled(
    before: State, action: Action, outcome: Outcome, after: State
) -> str | None:
    """Only a record that nobody has ever claimed can be cancelled."""
    if outcome is not Answer.CANCELLED or not isinstance(action, CancelUnstarted):
        return None
    old, new = find_record(before, action.request_id), find_record(after, action.request_id)
    if old is None or new is None or old.generation != 0 or new.state is not CANCELLED:
        return f"{in_words(old)} became {in_words(new)}"
    return None


STEP_PROPERTIES = (
    refusals_change_nothing,
    the_clock_never_goes_back,
    generations_never_go_down,
    terminal_is_for_ever,
    identity_is_permanent,
    limits_never_change,
    usage_moves_only_by_acceptance_and_by_a_terminal_state,
    a_new_token_is_newer_than_every_earlier_one,
    only_the_current_token_finishes_a_record,
    a_claimed_record_is_never_cancelled,
)

"""Mistakes planted in claims, tokens and leases: the search finds each, with a shortest trace.

A mistake is one wrong step in place of a right one. The search names a property that it breaks,
and reports it with a trace as short as the mistake allows.
"""

from dataclasses import replace
from typing import Any

import pytest

from model.admission import STEPS, cancel_unstarted, claim, quarantine, redrive, resolve
from model.admission_scope import ADMISSION, AdmissionScope
from model.admission_vocabulary import (
    CANCELLED,
    INFLIGHT,
    OUTSTANDING,
    QUARANTINED,
    QUEUED,
    Answer,
    CancelUnstarted,
    Claim,
    Claimed,
    Outcome,
    Quarantine,
    Redrive,
    Resolve,
    State,
    Token,
    find_due,
    find_record,
    is_due,
    move_record,
    put_record,
    set_clock,
)
from model.checking.explore import Verdict, explore
from model.scopes import ADMISSION_SMALL, ADMISSION_TINY


def claim_under_the_old_generation(state: State, action: Claim) -> tuple[State, Outcome]:
    """An expired record is handed out again under the generation that it has."""
    after, outcome = claim(state, action)
    due = find_due(state, action.now)
    if not isinstance(outcome, Claimed) or due is None or due.state is not INFLIGHT:
        return after, outcome
    record = find_record(after, due.request_id)
    lease = record.lease if record else None
    kept = move_record(due, INFLIGHT, lease=lease)
    return put_record(after, kept), Claimed(Token(due.request_id, due.generation))


def claim_with_the_old_clock(state: State, action: Claim) -> tuple[State, Outcome]:
    """An earlier tick than the stored one is taken for the present."""
    if action.now < state.clock:
        return claim(set_clock(state, action.now), action)
    return claim(state, action)


def empty_claim_without_clock(state: State, action: Claim) -> tuple[State, Outcome]:
    """A claim that finds nothing due leaves the clock."""
    after, outcome = claim(state, action)
    return (state if outcome is Answer.NOTHING_DUE else after), outcome


def exhausted_claim_with_clock(state: State, action: Claim) -> tuple[State, Outcome]:
    """A claim that fails by its generation moves the clock."""
    after, outcome = claim(state, action)
    is_exhausted = outcome is Answer.GENERATION_EXHAUSTED
    return (set_clock(state, action.now) if is_exhausted else after), outcome


def claim_newest_first(state: State, action: Claim) -> tuple[State, Outcome]:
    """The highest sequence number that is due is handed out."""
    due = [r for r in state.records if is_due(r, action.now)]
    if state.limits is None or action.now < state.clock or len(due) < 2:
        return claim(state, action)
    newest = due[-1]
    generation = newest.generation + 1
    claimed = move_record(
        newest, INFLIGHT, generation=generation, lease=action.now + state.lease_ticks
    )
    token = Token(newest.request_id, generation)
    return put_record(set_clock(state, action.now), claimed), Claimed(token)


def claim_for_too_long(state: State, action: Claim) -> tuple[State, Outcome]:
    """A lease is one tick longer."""
    after, outcome = claim(replace(state, lease_ticks=state.lease_ticks + 1), action)
    return replace(after, lease_ticks=state.lease_ticks), outcome


def claim_at_the_boundary_refused(state: State, action: Claim) -> tuple[State, Outcome]:
    """A lease that ends now has not expired."""
    if state.limits is None or action.now < state.clock:
        return claim(state, action)
    due = [r for r in state.records if is_due(r, action.now)]
    if not due or due[0].lease != action.now:
        return claim(state, action)
    return set_clock(state, action.now), Answer.NOTHING_DUE


def claim_from_quarantine(state: State, action: Claim) -> tuple[State, Outcome]:
    """A quarantined record is handed out without a redrive."""
    after, outcome = claim(state, action)
    aside = [r for r in state.records if r.state is QUARANTINED and r.generation == 1]
    if outcome is not Answer.NOTHING_DUE or not aside:
        return after, outcome
    lease = action.now + state.lease_ticks
    claimed = move_record(aside[0], INFLIGHT, generation=2, lease=lease)
    return put_record(after, claimed), Claimed(Token(aside[0].request_id, 2))


def resolve_at_the_end_of_the_lease(state: State, action: Resolve) -> tuple[State, Outcome]:
    """A lease still holds at its last tick."""
    record = find_record(state, action.token.request_id)
    if record is None or record.lease != action.now:
        return resolve(state, action)
    longer = move_record(record, record.state, lease=action.now + 1)
    after, outcome = resolve(put_record(state, longer), action)
    return (after, outcome) if outcome is Answer.DONE else resolve(state, action)


def resolve_with_any_token(state: State, action: Resolve) -> tuple[State, Outcome]:
    """A token's generation is not compared."""
    record = find_record(state, action.token.request_id)
    if record is None:
        return resolve(state, action)
    token = replace(action.token, generation=record.generation)
    return resolve(state, replace(action, token=token))


def done_without_effect(state: State, action: Resolve) -> tuple[State, Outcome]:
    """A record is done, and its effect is lost."""
    after, outcome = resolve(state, action)
    return replace(after, effects=state.effects), outcome


def effect_without_done(state: State, action: Resolve) -> tuple[State, Outcome]:
    """The effect is there, and its record is still inflight."""
    after, outcome = resolve(state, action)
    return replace(after, records=state.records), outcome


def done_is_deleted(state: State, action: Resolve) -> tuple[State, Outcome]:
    """A finished record is cleared away with its effect."""
    after, outcome = resolve(state, action)
    if outcome is not Answer.DONE:
        return after, outcome
    kept = tuple(r for r in after.records if r.state in OUTSTANDING)
    return replace(after, records=kept, effects=()), outcome


def quarantine_keeps_the_lease(state: State, action: Quarantine) -> tuple[State, Outcome]:
    """A quarantined record keeps its lease."""
    after, outcome = quarantine(state, action)
    old, new = (find_record(each, action.token.request_id) for each in (state, after))
    if outcome is not Answer.QUARANTINED or old is None or new is None:
        return after, outcome
    return put_record(after, replace(new, lease=old.lease)), outcome


def stale_quarantine_lets_go(state: State, action: Quarantine) -> tuple[State, Outcome]:
    """A stale token puts its record back in the queue."""
    after, outcome = quarantine(state, action)
    record = find_record(state, action.token.request_id)
    if outcome is not Answer.STALE or record is None or record.state is not INFLIGHT:
        return after, outcome
    return put_record(after, move_record(record, QUEUED)), outcome


def redrive_keeps_the_generation(state: State, action: Redrive) -> tuple[State, Outcome]:
    """A redriven record stays at its generation."""
    after, outcome = redrive(state, action)
    record = find_record(state, action.request_id)
    if outcome is not Answer.QUEUED or record is None:
        return after, outcome
    return put_record(after, move_record(record, QUEUED)), outcome


def redrive_starts_again(state: State, action: Redrive) -> tuple[State, Outcome]:
    """A redriven record counts as never claimed."""
    after, outcome = redrive(state, action)
    record = find_record(state, action.request_id)
    if outcome is not Answer.QUEUED or record is None:
        return after, outcome
    return put_record(after, move_record(record, QUEUED, generation=0)), outcome


def redrive_from_inflight(state: State, action: Redrive) -> tuple[State, Outcome]:
    """An inflight record is redriven from under its holder."""
    record = find_record(state, action.request_id)
    if record is None or record.state is not INFLIGHT:
        return redrive(state, action)
    aside = move_record(record, QUARANTINED)
    after, outcome = redrive(put_record(state, aside), action)
    return (after if outcome is Answer.QUEUED else state), outcome


def cancel_after_a_claim(state: State, action: CancelUnstarted) -> tuple[State, Outcome]:
    """Any queued record can be cancelled."""
    record = find_record(state, action.request_id)
    if record is None or record.state is not QUEUED:
        return cancel_unstarted(state, action)
    return put_record(state, move_record(record, CANCELLED)), Answer.CANCELLED


def claim_past_the_last_generation(state: State, action: Claim) -> tuple[State, Outcome]:
    """A record at the last generation is handed out once more."""
    after, outcome = claim(state, action)
    due = find_due(state, action.now)
    if outcome is not Answer.GENERATION_EXHAUSTED or due is None:
        return after, outcome
    generation = due.generation + 1
    lease = action.now + state.lease_ticks
    claimed = move_record(due, INFLIGHT, generation=generation, lease=lease)
    token = Token(due.request_id, generation)
    return put_record(set_clock(state, action.now), claimed), Claimed(token)


def quarantine_once_only(state: State, action: Quarantine) -> tuple[State, Outcome]:
    """A record that was quarantined before can't be quarantined again."""
    after, outcome = quarantine(state, action)
    if outcome is Answer.QUARANTINED and action.token.generation > 1:
        return set_clock(state, action.now), Answer.STALE
    return after, outcome


MISTAKES = (
    (
        Claim,
        claim_under_the_old_generation,
        ADMISSION_TINY,
        "a_new_token_is_newer_than_every_earlier_one",
        4,
    ),
    (Claim, claim_with_the_old_clock, ADMISSION_TINY, "the_clock_never_goes_back", 3),
    (Claim, empty_claim_without_clock, ADMISSION_TINY, "the_clock_never_goes_back", 2),
    (Claim, exhausted_claim_with_clock, ADMISSION_TINY, "refusals_change_nothing", 2),
    (Claim, claim_newest_first, ADMISSION_SMALL, "a_claim_takes_the_first_record_that_is_due", 4),
    (Claim, claim_for_too_long, ADMISSION_TINY, "a_record_moves_one_step_of_its_life_cycle", 3),
    (
        Claim,
        claim_at_the_boundary_refused,
        ADMISSION_TINY,
        "a_claim_takes_the_first_record_that_is_due",
        4,
    ),
    (Claim, claim_from_quarantine, ADMISSION_TINY, "a_record_moves_one_step_of_its_life_cycle", 5),
    (
        Resolve,
        resolve_at_the_end_of_the_lease,
        ADMISSION_TINY,
        "only_the_current_token_finishes_a_record",
        4,
    ),
    (
        Resolve,
        resolve_with_any_token,
        ADMISSION_TINY,
        "only_the_current_token_finishes_a_record",
        4,
    ),
    (
        Resolve,
        done_without_effect,
        ADMISSION_TINY,
        "a_record_is_done_exactly_when_it_has_one_effect",
        4,
    ),
    (
        Resolve,
        effect_without_done,
        ADMISSION_TINY,
        "usage_moves_only_by_acceptance_and_by_a_terminal_state",
        4,
    ),
    (Resolve, done_is_deleted, ADMISSION_TINY, "identity_is_permanent", 4),
    (
        Quarantine,
        quarantine_keeps_the_lease,
        ADMISSION_TINY,
        "a_record_has_a_lease_exactly_when_inflight",
        4,
    ),
    (Quarantine, stale_quarantine_lets_go, ADMISSION_TINY, "refusals_change_nothing", 4),
    (
        Redrive,
        redrive_keeps_the_generation,
        ADMISSION_TINY,
        "a_record_moves_one_step_of_its_life_cycle",
        5,
    ),
    (Redrive, redrive_starts_again, ADMISSION_TINY, "generations_never_go_down", 5),
    (
        Redrive,
        redrive_from_inflight,
        ADMISSION_TINY,
        "a_record_moves_one_step_of_its_life_cycle",
        4,
    ),
    (
        CancelUnstarted,
        cancel_after_a_claim,
        ADMISSION_TINY,
        "a_claimed_record_is_never_cancelled",
        6,
    ),
    (
        Claim,
        claim_past_the_last_generation,
        ADMISSION_TINY,
        "a_claim_takes_the_first_record_that_is_due",
        2,
    ),
    (Quarantine, quarantine_once_only, ADMISSION_TINY, "nobody_is_refused_without_a_reason", 5),
)


@pytest.mark.parametrize(
    ("action", "mistake", "scope", "property_name", "steps"),
    MISTAKES,
    ids=[mistake.__name__ for _, mistake, *_ in MISTAKES],
)
def test_a_mistake_is_found_with_a_shortest_trace(
    action: type[Any], mistake: Any, scope: AdmissionScope, property_name: str, steps: int
) -> None:
    """The search ends at the mistake, and its trace is as short as the mistake allows."""
    machine = replace(ADMISSION, steps={**STEPS, action: mistake})

    result = explore(machine, scope)

    assert result.verdict is Verdict.FAIL
    traces = {each.property_name: each.trace for each in result.violations}
    assert len(traces[property_name]) == steps
    assert isinstance(traces[property_name].steps[-1].action, action)

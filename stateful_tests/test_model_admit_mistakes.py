"""Mistakes planted in who is let in: the search finds each one, with a shortest trace.

A mistake is one wrong step in place of a right one. The search names a property that it breaks,
and reports it with a trace as short as the mistake allows.
"""

from dataclasses import replace
from typing import Any

import pytest

from model.admission import STEPS, admit, init
from model.admission_scope import ADMISSION, AdmissionScope
from model.admission_vocabulary import (
    CANCELLED,
    QUARANTINED,
    QUEUED,
    TERMINAL,
    Admit,
    Answer,
    Init,
    Limits,
    Outcome,
    Record,
    State,
    compute_usage,
    find_record,
    move_record,
    put_record,
    set_clock,
)
from model.checking.explore import Verdict, explore
from model.scopes import ADMISSION_SMALL, ADMISSION_TINY

NO_LIMITS = Limits(99, 99, 99, 99, 99)


def _with_limits(state: State, limits: Limits | None) -> State:
    return replace(state, limits=limits)


def admit_over_the_limits(state: State, action: Admit) -> tuple[State, Outcome]:
    """Capacity is not looked at."""
    after, outcome = admit(_with_limits(state, state.limits and NO_LIMITS), action)
    return _with_limits(after, state.limits), outcome


def admit_over_the_tenant_limits(state: State, action: Admit) -> tuple[State, Outcome]:
    """The tenant's share is not looked at."""
    wide = state.limits and replace(state.limits, tenant_slots=99, tenant_bytes=99)
    after, outcome = admit(_with_limits(state, wide), action)
    return _with_limits(after, state.limits), outcome


def admit_beside_the_quarantined(state: State, action: Admit) -> tuple[State, Outcome]:
    """Quarantined work is left out of the sums."""
    if find_record(state, action.request_id) is not None:
        return admit(state, action)
    light = tuple(
        replace(r, state=CANCELLED) if r.state is QUARANTINED else r for r in state.records
    )
    after, outcome = admit(replace(state, records=light), action)
    return replace(after, records=(*state.records, *after.records[len(light) :])), outcome


def admit_a_known_id_again(state: State, action: Admit) -> tuple[State, Outcome]:
    """A terminal record's id counts as new."""
    known = find_record(state, action.request_id)
    if known is None or known.state not in TERMINAL:
        return admit(state, action)
    renamed = Admit("fresh", action.tenant, action.payload)
    after, outcome = admit(state, renamed)
    records = tuple(
        replace(r, request_id=action.request_id) if r.request_id == "fresh" else r
        for r in after.records
    )
    return replace(after, records=records), outcome


def admit_counting_characters(state: State, action: Admit) -> tuple[State, Outcome]:
    """A payload is measured in characters."""
    after, outcome = admit(state, action)
    if outcome is not Answer.ACCEPTED:
        return after, outcome
    short = replace(after.records[-1], size_bytes=len(action.payload))
    return put_record(after, short), outcome


def admit_binding_a_refused_id(state: State, action: Admit) -> tuple[State, Outcome]:
    """A refused id is remembered."""
    after, outcome = admit(state, action)
    if outcome is not Answer.GLOBAL_FULL:
        return after, outcome
    size_bytes = len(action.payload.encode())
    sequence = len(state.records) + 1
    bound = Record(
        action.request_id, action.tenant, action.payload, size_bytes, sequence, CANCELLED, 0, None
    )
    return replace(state, records=(*state.records, bound)), outcome


def replay_revives(state: State, action: Admit) -> tuple[State, Outcome]:
    """A replay puts a cancelled record back in the queue."""
    after, outcome = admit(state, action)
    known = find_record(state, action.request_id)
    if outcome is Answer.REPLAY and known is not None and known.state is CANCELLED:
        return put_record(state, move_record(known, QUEUED)), outcome
    return after, outcome


def capacity_before_identity(state: State, action: Admit) -> tuple[State, Outcome]:
    """A full store refuses a known id."""
    full = state.limits and compute_usage(state.records)[0] >= state.limits.global_slots
    return (state, Answer.GLOBAL_FULL) if full else admit(state, action)


def payload_ignored(state: State, action: Admit) -> tuple[State, Outcome]:
    """A known id with another payload is a replay."""
    after, outcome = admit(state, action)
    return after, Answer.REPLAY if outcome is Answer.CONFLICT else outcome


def equality_refused(state: State, action: Admit) -> tuple[State, Outcome]:
    """The last slot is never given away."""
    after, outcome = admit(state, action)
    limits = state.limits
    if limits and outcome is Answer.ACCEPTED:
        is_last = compute_usage(after.records)[0] == limits.global_slots
        return (state, Answer.GLOBAL_FULL) if is_last else (after, outcome)
    return after, outcome


def accept_another_payload(state: State, action: Admit) -> tuple[State, Outcome]:
    """A payload is folded to lower case before it is stored."""
    after, outcome = admit(state, action)
    if outcome is not Answer.ACCEPTED:
        return after, outcome
    folded = replace(after.records[-1], payload="b" * len(action.payload.encode()))
    return put_record(after, folded), outcome


def admit_moves_the_clock(state: State, action: Admit) -> tuple[State, Outcome]:
    """Acceptance sets the clock forward."""
    after, outcome = admit(state, action)
    return (set_clock(after, 5) if outcome is Answer.ACCEPTED else after), outcome


def init_overwrites(state: State, action: Init) -> tuple[State, Outcome]:
    """Other limits replace the stored ones."""
    return replace(state, limits=action.limits), Answer.READY


def init_starts_the_clock_again(state: State, action: Init) -> tuple[State, Outcome]:
    """Opening a store again sets its clock to zero."""
    after, outcome = init(state, action)
    return set_clock(after, 0), outcome


def init_says_ready(state: State, action: Init) -> tuple[State, Outcome]:
    """Other limits are waved through."""
    return init(state, action)[0], Answer.READY


def admit_by_the_item_alone(state: State, action: Admit) -> tuple[State, Outcome]:
    """The bytes that a tenant holds already are left out of its sum."""
    limits = state.limits
    held_bytes = compute_usage(state.records, action.tenant)[1]
    wide = limits and replace(limits, tenant_bytes=limits.tenant_bytes + held_bytes)
    after, outcome = admit(_with_limits(state, wide), action)
    return _with_limits(after, limits), outcome


TWO_FOR_A_TENANT = replace(
    ADMISSION_SMALL,
    limits=Limits(global_slots=3, global_bytes=5, tenant_slots=2, tenant_bytes=3, item_bytes=3),
    payloads=("", "aa", "中"),
)


MISTAKES = (
    (Admit, admit_over_the_limits, ADMISSION_TINY, "outstanding_work_stays_within_the_limits", 2),
    (
        Admit,
        admit_over_the_tenant_limits,
        ADMISSION_SMALL,
        "outstanding_work_stays_within_the_limits",
        2,
    ),
    (
        Admit,
        admit_beside_the_quarantined,
        ADMISSION_TINY,
        "outstanding_work_stays_within_the_limits",
        5,
    ),
    (Admit, admit_a_known_id_again, ADMISSION_TINY, "ids_are_unique", 4),
    (
        Admit,
        admit_counting_characters,
        ADMISSION_TINY,
        "usage_moves_only_by_acceptance_and_by_a_terminal_state",
        2,
    ),
    (Admit, admit_binding_a_refused_id, ADMISSION_TINY, "refusals_change_nothing", 3),
    (Admit, replay_revives, ADMISSION_TINY, "refusals_change_nothing", 4),
    (Admit, capacity_before_identity, ADMISSION_TINY, "an_admit_is_decided_in_order", 3),
    (Admit, payload_ignored, ADMISSION_TINY, "an_admit_is_decided_in_order", 3),
    (Admit, equality_refused, ADMISSION_TINY, "an_admit_is_decided_in_order", 2),
    (Admit, accept_another_payload, ADMISSION_TINY, "an_accepted_record_is_what_was_asked_for", 2),
    (Admit, admit_moves_the_clock, ADMISSION_TINY, "only_a_tick_moves_the_clock", 2),
    (Init, init_overwrites, ADMISSION_TINY, "limits_never_change", 2),
    (Init, init_starts_the_clock_again, ADMISSION_TINY, "the_clock_never_goes_back", 3),
    (Init, init_says_ready, ADMISSION_TINY, "a_store_is_ready_only_for_its_own_limits", 2),
    (
        Admit,
        admit_by_the_item_alone,
        TWO_FOR_A_TENANT,
        "outstanding_work_stays_within_the_limits",
        3,
    ),
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

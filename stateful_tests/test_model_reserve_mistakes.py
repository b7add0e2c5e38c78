"""Mistakes planted in reservations and their holders: each one is found, with a shortest trace.

A mistake is one wrong step in place of a right one. The search names a property that it breaks,
and reports it with a trace as short as the mistake allows.
"""

from dataclasses import replace
from typing import Any

import pytest

from model.checking.explore import Verdict, explore
from model.reservation import (
    STEPS,
    attempt,
    confirm,
    crash,
    enter,
    open_intent,
    perform,
    reserve,
)
from model.reservation_scope import RESERVATION, ReservationScope
from model.reservation_vocabulary import (
    IDEMPOTENT,
    Answer,
    Attempt,
    Confirm,
    Confirmed,
    Crash,
    Enter,
    Held,
    Intent,
    OpenIntent,
    Outcome,
    Perform,
    Permit,
    Received,
    Reserve,
    Reserved,
    Stage,
    State,
    find_intent,
    find_ledger,
    find_worker,
    put_hand,
    put_intent,
)
from model.scopes import RESERVATION_SMALL, RESERVATION_TINY


def _intent_of(state: State, worker: str, intent_id: str) -> Intent | None:
    return find_intent(find_ledger(state, find_worker(state, worker).ledger), intent_id)


def _file_of(state: State, worker: str) -> str:
    return find_worker(state, worker).ledger


def reserve_over_the_cap(state: State, action: Reserve) -> tuple[State, Outcome]:
    """The cap is not looked at."""
    intent = _intent_of(state, action.worker, action.intent_id)
    if intent is None:
        return reserve(state, action)
    file = _file_of(state, action.worker)
    after, outcome = reserve(put_intent(state, file, replace(intent, cap=9)), action)
    spent = _intent_of(after, action.worker, action.intent_id)
    if spent is None or spent.spent > 3:
        return reserve(state, action)
    return put_intent(after, file, replace(spent, cap=intent.cap)), outcome


def reserve_one_less(state: State, action: Reserve) -> tuple[State, Outcome]:
    """The last unit of the cap is never handed out."""
    intent = _intent_of(state, action.worker, action.intent_id)
    after, outcome = reserve(state, action)
    if isinstance(outcome, Reserved) and intent is not None and intent.spent + 1 == intent.cap:
        return state, Answer.EXHAUSTED
    return after, outcome


def reserve_without_spending(state: State, action: Reserve) -> tuple[State, Outcome]:
    """The reservation is written, and spent is not."""
    intent = _intent_of(state, action.worker, action.intent_id)
    after, outcome = reserve(state, action)
    new = _intent_of(after, action.worker, action.intent_id)
    if not isinstance(outcome, Reserved) or intent is None or new is None:
        return after, outcome
    unspent = replace(new, spent=intent.spent)
    return put_intent(after, _file_of(state, action.worker), unspent), outcome


def reserve_without_a_row(state: State, action: Reserve) -> tuple[State, Outcome]:
    """Spent is written, and the reservation is not."""
    intent = _intent_of(state, action.worker, action.intent_id)
    after, outcome = reserve(state, action)
    new = _intent_of(after, action.worker, action.intent_id)
    if not isinstance(outcome, Reserved) or intent is None or new is None:
        return after, outcome
    bare = replace(new, reservations=intent.reservations)
    return put_intent(after, _file_of(state, action.worker), bare), outcome


def reserve_whatever_is_unknown(state: State, action: Reserve) -> tuple[State, Outcome]:
    """A non-idempotent intent may try again."""
    intent = _intent_of(state, action.worker, action.intent_id)
    if intent is None or intent.safety is IDEMPOTENT:
        return reserve(state, action)
    file = _file_of(state, action.worker)
    after, outcome = reserve(put_intent(state, file, replace(intent, safety=IDEMPOTENT)), action)
    new = _intent_of(after, action.worker, action.intent_id)
    if not isinstance(outcome, Reserved) or new is None:
        return state, outcome
    permit = replace(outcome.permit, safety=intent.safety)
    worker = find_worker(state, action.worker)
    after = put_intent(after, file, replace(new, safety=intent.safety))
    return put_hand(after, worker, (*worker.hand, Held(permit))), Reserved(permit)


def reserve_after_confirmation(state: State, action: Reserve) -> tuple[State, Outcome]:
    """A confirmed intent may try again."""
    intent = _intent_of(state, action.worker, action.intent_id)
    if intent is None or intent.receipt is None:
        return reserve(state, action)
    file = _file_of(state, action.worker)
    after, outcome = reserve(put_intent(state, file, replace(intent, receipt=None)), action)
    new = _intent_of(after, action.worker, action.intent_id)
    if not isinstance(outcome, Reserved) or new is None:
        return state, outcome
    return put_intent(after, file, replace(new, receipt=intent.receipt)), outcome


def exhausted_before_confirmed(state: State, action: Reserve) -> tuple[State, Outcome]:
    """A spent budget is reported before a confirmation."""
    intent = _intent_of(state, action.worker, action.intent_id)
    if intent is not None and intent.safety is IDEMPOTENT and intent.spent == intent.cap:
        return state, Answer.EXHAUSTED
    return reserve(state, action)


def reserve_an_old_number(state: State, action: Reserve) -> tuple[State, Outcome]:
    """An unacknowledged reservation that nobody holds is handed out again."""
    intent = _intent_of(state, action.worker, action.intent_id)
    ledger = find_ledger(state, _file_of(state, action.worker))
    held = {h.permit.seq for w in state.workers for h in w.hand}
    logged = {call.seq for call in state.receiver.calls}
    lost = [] if intent is None else [r.seq for r in intent.reservations]
    lost = [seq for seq in lost if seq not in held | logged]
    if not lost or intent is None or intent.receipt is not None or ledger.name is None:
        return reserve(state, action)
    permit = Permit(ledger.name, intent.intent_id, lost[0], intent.payload, intent.safety)
    worker = find_worker(state, action.worker)
    return put_hand(state, worker, (*worker.hand, Held(permit))), Reserved(permit)


def open_resets_spent(state: State, action: OpenIntent) -> tuple[State, Outcome]:
    """Opening an intent again starts its budget anew."""
    after, outcome = open_intent(state, action)
    if outcome is not Answer.UNCHANGED:
        return after, outcome
    fresh = Intent(action.intent_id, action.payload, action.safety, action.cap)
    return put_intent(state, action.ledger, fresh), outcome


def open_raises_the_cap(state: State, action: OpenIntent) -> tuple[State, Outcome]:
    """Opening an intent with another cap changes the cap."""
    after, outcome = open_intent(state, action)
    known = find_intent(find_ledger(state, action.ledger), action.intent_id)
    if outcome is not Answer.CONFLICT or known is None:
        return after, outcome
    return put_intent(state, action.ledger, replace(known, cap=known.cap + action.cap)), outcome


def open_ignores_the_payload(state: State, action: OpenIntent) -> tuple[State, Outcome]:
    """Opening an intent with other values is waved through."""
    after, outcome = open_intent(state, action)
    return after, Answer.UNCHANGED if outcome is Answer.CONFLICT else outcome


def crash_refunds(state: State, action: Crash) -> tuple[State, Outcome]:
    """The reservation of a permit that died unsent is given back."""
    worker = find_worker(state, action.worker)
    after, outcome = crash(state, action)
    fresh = [held.permit for held in worker.hand if held.stage is Stage.FRESH]
    for permit in fresh:
        intent = find_intent(find_ledger(after, worker.ledger), permit.intent_id)
        if intent is not None and intent.spent == permit.seq:
            rest = intent.reservations[: permit.seq - 1]
            refunded = replace(intent, spent=permit.seq - 1, reservations=rest)
            after = put_intent(after, worker.ledger, refunded)
    return after, outcome


def crash_keeps_the_hand(state: State, action: Crash) -> tuple[State, Outcome]:
    """Permits outlive their process."""
    return state, crash(state, action)[1]


def crash_takes_the_call_back(state: State, action: Crash) -> tuple[State, Outcome]:
    """A call that dies before its business is struck from the log."""
    worker = find_worker(state, action.worker)
    dying = {held.permit.seq for held in worker.hand if held.stage is Stage.ENTERED}
    calls = tuple(
        c for c in state.receiver.calls if c.ledger != worker.ledger or c.seq not in dying
    )
    after, outcome = crash(state, action)
    return replace(after, receiver=replace(after.receiver, calls=calls)), outcome


def attempt_sends_an_old_number(state: State, action: Attempt) -> tuple[State, Outcome]:
    """An attempt sends a reservation that was never sent, in place of a new one."""
    rebuilt, reserved = reserve_an_old_number(state, Reserve(action.worker, action.intent_id))
    if not isinstance(reserved, Reserved) or not state.receiver.exists:
        return attempt(state, action)
    if rebuilt.ledgers != state.ledgers:
        return attempt(state, action)
    after, _ = enter(rebuilt, Enter(action.worker, action.intent_id, reserved.permit.seq))
    after, answer = perform(after, Perform(action.worker, action.intent_id, reserved.permit.seq))
    after = replace(after, workers=state.workers)
    if not isinstance(answer, Received):
        return after, answer
    file = _file_of(state, action.worker)
    receipt = answer.receipt
    after, _ = confirm(after, Confirm(file, action.intent_id, reserved.permit.seq, receipt))
    return after, Confirmed(receipt)


def attempt_without_confirming(state: State, action: Attempt) -> tuple[State, Outcome]:
    """An attempt says confirmed, and its ledger never heard of it."""
    after, outcome = attempt(state, action)
    intent = _intent_of(state, action.worker, action.intent_id)
    new = _intent_of(after, action.worker, action.intent_id)
    if not isinstance(outcome, Confirmed) or intent is None or new is None or intent.receipt:
        return after, outcome
    rows = tuple(replace(r, is_acknowledged=False) for r in new.reservations)
    unconfirmed = replace(new, receipt=None, reservations=rows)
    return put_intent(after, _file_of(state, action.worker), unconfirmed), outcome


def attempt_that_conflicts_is_acknowledged(state: State, action: Attempt) -> tuple[State, Outcome]:
    """An attempt that met the receiver's conflict gets its reservation back."""
    after, outcome = attempt(state, action)
    if outcome is not Answer.CONFLICT:
        return after, outcome
    return replace(after, ledgers=state.ledgers), outcome


MISTAKES = (
    (
        Reserve,
        reserve_over_the_cap,
        RESERVATION_TINY,
        "calls_stay_within_spent_and_spent_within_the_cap",
        5,
    ),
    (Reserve, reserve_one_less, RESERVATION_TINY, "a_reservation_is_decided_in_order", 3),
    (
        Reserve,
        reserve_without_spending,
        RESERVATION_TINY,
        "spent_rises_by_one_exactly_when_a_permit_is_handed_out",
        3,
    ),
    (Reserve, reserve_without_a_row, RESERVATION_TINY, "reservations_are_numbered_up_to_spent", 3),
    (
        Reserve,
        reserve_whatever_is_unknown,
        RESERVATION_SMALL,
        "unknown_stops_a_non_idempotent_intent",
        4,
    ),
    (Reserve, reserve_after_confirmation, RESERVATION_TINY, "a_confirmed_intent_is_final", 5),
    (Reserve, exhausted_before_confirmed, RESERVATION_TINY, "a_reservation_is_decided_in_order", 6),
    (
        Reserve,
        reserve_an_old_number,
        RESERVATION_TINY,
        "spent_rises_by_one_exactly_when_a_permit_is_handed_out",
        5,
    ),
    (OpenIntent, open_resets_spent, RESERVATION_TINY, "refusals_change_nothing", 4),
    (OpenIntent, open_raises_the_cap, RESERVATION_TINY, "refusals_change_nothing", 3),
    (
        OpenIntent,
        open_ignores_the_payload,
        RESERVATION_TINY,
        "an_intent_is_opened_as_it_was_asked_for",
        3,
    ),
    (
        Crash,
        crash_refunds,
        RESERVATION_TINY,
        "spent_rises_by_one_exactly_when_a_permit_is_handed_out",
        4,
    ),
    (Crash, crash_keeps_the_hand, RESERVATION_TINY, "a_crash_loses_hands_and_nothing_else", 4),
    (
        Crash,
        crash_takes_the_call_back,
        RESERVATION_TINY,
        "calls_and_effects_are_never_taken_back",
        6,
    ),
    (
        Attempt,
        attempt_sends_an_old_number,
        RESERVATION_TINY,
        "spent_rises_by_one_exactly_when_a_permit_is_handed_out",
        6,
    ),
    (
        Attempt,
        attempt_without_confirming,
        RESERVATION_TINY,
        "a_confirmation_brings_the_stored_receipt",
        4,
    ),
    (
        Attempt,
        attempt_that_conflicts_is_acknowledged,
        RESERVATION_SMALL,
        "calls_stay_within_spent_and_spent_within_the_cap",
        7,
    ),
)


@pytest.mark.parametrize(
    ("action", "mistake", "scope", "property_name", "steps"),
    MISTAKES,
    ids=[mistake.__name__ for _, mistake, *_ in MISTAKES],
)
def test_a_mistake_is_found_with_a_shortest_trace(
    action: type[Any], mistake: Any, scope: ReservationScope, property_name: str, steps: int
) -> None:
    """The search ends at the mistake, and its trace is as short as the mistake allows."""
    machine = replace(RESERVATION, steps={**STEPS, action: mistake})

    result = explore(machine, scope)

    assert result.verdict is Verdict.FAIL
    traces = {each.property_name: each.trace for each in result.violations}
    assert len(traces[property_name]) == steps
    assert isinstance(traces[property_name].steps[-1].action, action)

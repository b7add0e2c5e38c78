"""Mistakes planted in the receiver and in confirmations: each one is found, with a shortest trace.

A mistake is one wrong step in place of a right one. The search names a property that it breaks,
and reports it with a trace as short as the mistake allows.
"""

from dataclasses import replace
from typing import Any

import pytest

from model.checking.explore import Verdict, explore
from model.reservation import (
    STEPS,
    confirm,
    enter,
    perform,
)
from model.reservation_scope import RESERVATION, ReservationScope
from model.reservation_vocabulary import (
    IDEMPOTENT,
    Answer,
    Call,
    Confirm,
    Effect,
    Enter,
    Outcome,
    Perform,
    Receipt,
    Received,
    Stage,
    State,
    find_held,
    find_intent,
    find_ledger,
    find_worker,
    put_intent,
    set_stage,
)
from model.scopes import RESERVATION_SMALL, RESERVATION_TINY


def enter_with_a_used_permit(state: State, action: Enter) -> tuple[State, Outcome]:
    """A permit can be sent twice."""
    worker = find_worker(state, action.worker)
    held = find_held(worker, action.intent_id, action.seq)
    if held is None or held.stage is not Stage.USED or len(state.receiver.calls) > 2:
        return enter(state, action)
    return enter(set_stage(state, worker, held.permit, Stage.FRESH), action)


def enter_without_using_the_permit(state: State, action: Enter) -> tuple[State, Outcome]:
    """A permit is not marked before its call."""
    if len(state.receiver.calls) > 2:
        return enter(state, action)
    after, outcome = enter(state, action)
    return replace(after, workers=state.workers), outcome


def enter_without_a_call(state: State, action: Enter) -> tuple[State, Outcome]:
    """A call is not logged."""
    after, outcome = enter(state, action)
    return replace(after, receiver=state.receiver), outcome


def perform_without_dedup(state: State, action: Perform) -> tuple[State, Outcome]:
    """Every idempotent call makes an effect."""
    after, outcome = perform(state, action)
    if not isinstance(outcome, Received) or after.receiver.effects != state.receiver.effects:
        return after, outcome
    ticket = len(state.receiver.effects) + 1
    again = Effect(ticket, action.intent_id, outcome.receipt.payload)
    receiver = replace(state.receiver, effects=(*state.receiver.effects, again))
    return replace(after, receiver=receiver), Received(replace(outcome.receipt, ticket=ticket))


def perform_without_keeping_the_identity(state: State, action: Perform) -> tuple[State, Outcome]:
    """The effect commits without its deduplication row."""
    after, outcome = perform(state, action)
    receiver = replace(after.receiver, identities=state.receiver.identities)
    return replace(after, receiver=receiver), outcome


def perform_without_effect(state: State, action: Perform) -> tuple[State, Outcome]:
    """The deduplication row commits without its effect."""
    after, outcome = perform(state, action)
    receiver = replace(after.receiver, effects=state.receiver.effects)
    return replace(after, receiver=receiver), outcome


def perform_twice(state: State, action: Perform) -> tuple[State, Outcome]:
    """A call that was performed can be performed again."""
    if len(state.receiver.effects) > 2:
        return perform(state, action)
    after, outcome = perform(state, action)
    return replace(after, workers=state.workers), outcome


def perform_ignores_the_payload(state: State, action: Perform) -> tuple[State, Outcome]:
    """A receiver that knows an id answers whatever payload comes."""
    after, outcome = perform(state, action)
    effects = [e for e in state.receiver.effects if e.intent_id == action.intent_id]
    if outcome is not Answer.CONFLICT:
        return after, outcome
    return after, Received(Receipt(action.intent_id, effects[0].payload, effects[0].ticket))


def perform_ignores_the_safety(state: State, action: Perform) -> tuple[State, Outcome]:
    """An idempotent call is answered with the effect of a non-idempotent one."""
    after, outcome = perform(state, action)
    held = find_held(find_worker(state, action.worker), action.intent_id, action.seq)
    if outcome is not Answer.CONFLICT or held is None or held.permit.safety is not IDEMPOTENT:
        return after, outcome
    for effect in state.receiver.effects:
        if (effect.intent_id, effect.payload) == (action.intent_id, held.permit.payload):
            return after, Received(Receipt(effect.intent_id, effect.payload, effect.ticket))
    return after, outcome


def conflict_gives_the_permit_back(state: State, action: Perform) -> tuple[State, Outcome]:
    """A refused call leaves a fresh permit."""
    after, outcome = perform(state, action)
    worker = find_worker(state, action.worker)
    held = find_held(worker, action.intent_id, action.seq)
    if outcome is not Answer.CONFLICT or held is None:
        return after, outcome
    return set_stage(state, worker, held.permit, Stage.FRESH), outcome


def conflict_takes_the_call_back(state: State, action: Perform) -> tuple[State, Outcome]:
    """A refused call is struck from the log."""
    after, outcome = perform(state, action)
    if outcome is not Answer.CONFLICT:
        return after, outcome
    worker = find_worker(state, action.worker)
    gone = Call(worker.ledger, action.intent_id, action.seq)
    calls = tuple(call for call in after.receiver.calls if call != gone)
    return replace(after, receiver=replace(after.receiver, calls=calls)), outcome


def confirm_any_receipt(state: State, action: Confirm) -> tuple[State, Outcome]:
    """A receipt for another id or payload confirms."""
    after, outcome = confirm(state, action)
    intent = find_intent(find_ledger(state, action.ledger), action.intent_id)
    if outcome is not Answer.REJECTED or intent is None or intent.receipt is not None:
        return after, outcome
    known = replace(intent, intent_id=action.receipt.intent_id, payload=action.receipt.payload)
    return put_intent(
        state,
        action.ledger,
        replace(
            intent,
            receipt=action.receipt,
            reservations=tuple(replace(r, is_acknowledged=True) for r in known.reservations),
        ),
    ), Answer.CONFIRMED


def confirm_replaces_the_receipt(state: State, action: Confirm) -> tuple[State, Outcome]:
    """A second receipt replaces the first."""
    intent = find_intent(find_ledger(state, action.ledger), action.intent_id)
    if intent is None or intent.receipt is None:
        return confirm(state, action)
    open_again = put_intent(state, action.ledger, replace(intent, receipt=None))
    after, outcome = confirm(open_again, action)
    return (state if outcome is Answer.REJECTED else after), outcome


def confirm_unlike_the_stored(state: State, action: Confirm) -> tuple[State, Outcome]:
    """A receipt unlike the stored one acknowledges too."""
    intent = find_intent(find_ledger(state, action.ledger), action.intent_id)
    if intent is None or intent.receipt is None:
        return confirm(state, action)
    return confirm(state, replace(action, receipt=intent.receipt))


def confirm_every_reservation(state: State, action: Confirm) -> tuple[State, Outcome]:
    """One receipt acknowledges all reservations."""
    after, outcome = confirm(state, action)
    intent = find_intent(find_ledger(after, action.ledger), action.intent_id)
    if intent is None or outcome not in (Answer.CONFIRMED, Answer.ALREADY_CONFIRMED):
        return after, outcome
    every = tuple(replace(r, is_acknowledged=True) for r in intent.reservations)
    return put_intent(after, action.ledger, replace(intent, reservations=every)), outcome


def confirm_no_reservation(state: State, action: Confirm) -> tuple[State, Outcome]:
    """The receipt is stored, and the reservation stays as it was."""
    old = find_intent(find_ledger(state, action.ledger), action.intent_id)
    after, outcome = confirm(state, action)
    new = find_intent(find_ledger(after, action.ledger), action.intent_id)
    if old is None or new is None:
        return after, outcome
    unmarked = replace(new, reservations=old.reservations)
    return put_intent(after, action.ledger, unmarked), outcome


def confirm_a_later_one_without_a_mark(state: State, action: Confirm) -> tuple[State, Outcome]:
    """A confirmation after the first acknowledges nothing."""
    after, outcome = confirm(state, action)
    return (state if outcome is Answer.ALREADY_CONFIRMED else after), outcome


def confirm_a_number_too_many(state: State, action: Confirm) -> tuple[State, Outcome]:
    """A confirmed intent accepts a number that was never reserved."""
    after, outcome = confirm(state, action)
    intent = find_intent(find_ledger(state, action.ledger), action.intent_id)
    if outcome is Answer.REJECTED and intent is not None and intent.receipt == action.receipt:
        return state, Answer.ALREADY_CONFIRMED
    return after, outcome


def rejected_refunds(state: State, action: Confirm) -> tuple[State, Outcome]:
    """A rejected receipt gives its unit of the budget back."""
    after, outcome = confirm(state, action)
    intent = find_intent(find_ledger(state, action.ledger), action.intent_id)
    if outcome is not Answer.REJECTED or intent is None or not intent.spent:
        return after, outcome
    refunded = replace(
        intent, spent=intent.spent - 1, reservations=intent.reservations[: intent.spent - 1]
    )
    return put_intent(state, action.ledger, refunded), outcome


MISTAKES = (
    (Enter, enter_with_a_used_permit, RESERVATION_TINY, "a_call_is_logged_exactly_by_entering", 6),
    (
        Enter,
        enter_without_using_the_permit,
        RESERVATION_TINY,
        "a_permit_that_has_entered_is_in_the_call_log",
        5,
    ),
    (Enter, enter_without_a_call, RESERVATION_TINY, "a_call_is_logged_exactly_by_entering", 5),
    (
        Perform,
        perform_without_dedup,
        RESERVATION_TINY,
        "an_idempotent_id_has_at_most_one_effect",
        7,
    ),
    (
        Perform,
        perform_without_keeping_the_identity,
        RESERVATION_TINY,
        "the_receiver_knows_an_id_exactly_when_it_has_an_effect",
        6,
    ),
    (Perform, perform_without_effect, RESERVATION_TINY, "a_receipt_names_an_effect", 6),
    (Perform, perform_twice, RESERVATION_TINY, "effects_stay_within_calls", 7),
    (Perform, perform_ignores_the_payload, RESERVATION_SMALL, "a_receipt_names_an_effect", 9),
    (
        Perform,
        perform_ignores_the_safety,
        RESERVATION_SMALL,
        "the_first_call_decides_what_an_id_is",
        9,
    ),
    (
        Perform,
        conflict_gives_the_permit_back,
        RESERVATION_SMALL,
        "a_permit_that_has_entered_is_in_the_call_log",
        9,
    ),
    (
        Perform,
        conflict_takes_the_call_back,
        RESERVATION_SMALL,
        "calls_and_effects_are_never_taken_back",
        9,
    ),
    (
        Confirm,
        confirm_any_receipt,
        RESERVATION_SMALL,
        "confirmed_exactly_when_a_reservation_is_acknowledged",
        3,
    ),
    (Confirm, confirm_replaces_the_receipt, RESERVATION_SMALL, "a_confirmed_intent_is_final", 5),
    (
        Confirm,
        confirm_unlike_the_stored,
        RESERVATION_SMALL,
        "a_confirmation_is_for_its_own_reservation",
        5,
    ),
    (
        Confirm,
        confirm_every_reservation,
        RESERVATION_TINY,
        "a_confirmation_is_for_its_own_reservation",
        6,
    ),
    (
        Confirm,
        confirm_no_reservation,
        RESERVATION_TINY,
        "confirmed_exactly_when_a_reservation_is_acknowledged",
        6,
    ),
    (
        Confirm,
        confirm_a_later_one_without_a_mark,
        RESERVATION_TINY,
        "a_confirmation_is_for_its_own_reservation",
        6,
    ),
    (
        Confirm,
        confirm_a_number_too_many,
        RESERVATION_TINY,
        "a_confirmation_is_for_its_own_reservation",
        5,
    ),
    (Confirm, rejected_refunds, RESERVATION_TINY, "refusals_change_nothing", 5),
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

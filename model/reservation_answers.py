"""What each answer of the dispatch budget must be: properties that say "exactly when".

The properties of `model.reservation_properties` say what an answer may not do;
these say which answer a state calls for, and what it must leave.
"""

from model.machine import in_words
from model.reservation_vocabulary import (
    ERRORS,
    IDEMPOTENT,
    NON_IDEMPOTENT,
    Action,
    Answer,
    Attempt,
    Confirm,
    Confirmed,
    Identity,
    InitLedger,
    Intent,
    OpenIntent,
    Outcome,
    Perform,
    Reserve,
    Reserved,
    Send,
    State,
    find_held,
    find_intent,
    find_ledger,
    find_worker,
    has_unacknowledged,
)


def a_ledger_is_ready_only_under_its_own_name(
    before: State, action: Action, outcome: Outcome, after: State
) -> str | None:
    """A ledger answers "ready" exactly to the name that it has."""
    if not isinstance(action, InitLedger):
        return None
    name = find_ledger(after, action.ledger).name
    if (outcome is Answer.READY) is (name == action.name):
        return None
    return f"{action} was {outcome}, and the ledger's name is {in_words(name)}"


def an_intent_is_opened_as_it_was_asked_for(
    before: State, action: Action, outcome: Outcome, after: State
) -> str | None:
    """Opening again is "unchanged" with the same four values, and a conflict with any other."""
    if not isinstance(action, OpenIntent) or outcome in ERRORS:
        return None
    known = find_intent(find_ledger(before, action.ledger), action.intent_id)
    asked = Intent(action.intent_id, action.payload, action.safety, action.cap)
    if known is None:
        new = find_intent(find_ledger(after, action.ledger), action.intent_id)
        return None if outcome is Answer.OPENED and new == asked else f"{action} left {new}"
    kept = (known.payload, known.safety, known.cap)
    is_same = kept == (asked.payload, asked.safety, asked.cap)
    if outcome is not (Answer.UNCHANGED if is_same else Answer.CONFLICT):
        return f"{action} was {outcome}, and the intent is {known}"
    return None


def a_reservation_is_decided_in_order(
    before: State, action: Action, outcome: Outcome, after: State
) -> str | None:
    """Confirmed is answered first, then unknown, then exhausted; otherwise there is a permit."""
    if not isinstance(action, Reserve | Attempt) or outcome in ERRORS:
        return None
    worker = find_worker(before, action.worker)
    intent = find_intent(find_ledger(before, worker.ledger), action.intent_id)
    if intent is None:
        return f"{action} was {outcome}, and there is no such intent"
    refusal: Outcome | None = None
    if intent.receipt is not None:
        is_reserve = isinstance(action, Reserve)
        refusal = Answer.CONFIRMED if is_reserve else Confirmed(intent.receipt)
    elif intent.safety is NON_IDEMPOTENT and has_unacknowledged(intent):
        refusal = Answer.UNKNOWN
    elif intent.spent >= intent.cap:
        refusal = Answer.EXHAUSTED
    if refusal is None:
        is_refused = outcome in (Answer.CONFIRMED, Answer.UNKNOWN, Answer.EXHAUSTED)
        return f"{action} was {outcome}, and the intent is {intent}" if is_refused else None
    if outcome != refusal:
        return f"{action} was {outcome}, should be {refusal}, and the intent is {intent}"
    return None


def the_first_call_decides_what_an_id_is(
    before: State, action: Action, outcome: Outcome, after: State
) -> str | None:
    """A call unlike the first one of its id is a conflict; only a repeat makes no effect."""
    if not isinstance(action, Perform | Send) or outcome in ERRORS:
        return None
    held = find_held(find_worker(before, action.worker), action.intent_id, action.seq)
    if held is None:
        return f"{action} was {outcome} without a permit"
    permit = held.permit
    is_idempotent = permit.safety is IDEMPOTENT
    payload = permit.payload if is_idempotent else None
    identity = Identity(permit.intent_id, permit.safety, payload)
    known = {each.intent_id: each for each in before.receiver.identities}.get(permit.intent_id)
    if (outcome is Answer.CONFLICT) is (known in (None, identity)):
        return f"{permit} was answered {outcome}, and the receiver knows {known}"
    is_repeat = outcome is Answer.CONFLICT or (known is not None and is_idempotent)
    made = len(after.receiver.effects) - len(before.receiver.effects)
    if made != int(not is_repeat):
        return f"{permit} was answered {outcome} with {made} new effects of {known}"
    return None


def a_confirmation_is_for_its_own_reservation(
    before: State, action: Action, outcome: Outcome, after: State
) -> str | None:
    """A receipt that fits acknowledges the reservation it is brought for, and no other one."""
    if not isinstance(action, Confirm) or outcome in ERRORS:
        return None
    old = find_intent(find_ledger(before, action.ledger), action.intent_id)
    new = find_intent(find_ledger(after, action.ledger), action.intent_id)
    if old is None or new is None:
        return f"{action} was {outcome}, and there is no such intent"
    receipt = action.receipt
    is_known = action.seq in [reservation.seq for reservation in old.reservations]
    is_for_it = (receipt.intent_id, receipt.payload) == (old.intent_id, old.payload)
    fits = is_known and is_for_it and old.receipt in (None, receipt)
    confirmed = Answer.CONFIRMED if old.receipt is None else Answer.ALREADY_CONFIRMED
    if outcome is not (confirmed if fits else Answer.REJECTED):
        return f"{action} was {outcome}, and the intent was {old}"
    expected = {r.seq for r in old.reservations if r.is_acknowledged}
    expected |= {action.seq} if fits else set()
    if expected != {r.seq for r in new.reservations if r.is_acknowledged}:
        return f"{action} was {outcome}, and {old} became {new}"
    return None


def only_its_own_worker_changes_a_hand(
    before: State, action: Action, outcome: Outcome, after: State
) -> str | None:
    """A hand changes only by its own worker, and only a reservation puts a permit into it."""
    if before.workers is after.workers:
        return None
    for old, new in zip(before.workers, after.workers, strict=True):
        if old.hand == new.hand:
            continue
        if getattr(action, "worker", None) != old.name:
            return f"{action} changed the hand of worker {old.name} to {in_words(new.hand)}"
        gained = {held.permit for held in new.hand} - {held.permit for held in old.hand}
        if gained != ({outcome.permit} if isinstance(outcome, Reserved) else set()):
            put = f"put {in_words(gained)} into the hand of worker {old.name}"
            return f"{action} was {outcome}, and {put}"
    return None


ANSWERS = (
    a_ledger_is_ready_only_under_its_own_name,
    an_intent_is_opened_as_it_was_asked_for,
    a_reservation_is_decided_in_order,
    the_first_call_decides_what_an_id_is,
    a_confirmation_is_for_its_own_reservation,
    only_its_own_worker_changes_a_hand,
)

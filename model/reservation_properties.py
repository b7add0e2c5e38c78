"""What must hold of the dispatch budget in every state; `reservation_step_properties` has the rest.

The same functions serve the exhaustive search, Hypothesis, the crash harness and the report.
A property returns None, or the clause that is false with the values that make it false;
its docstring is the sentence that is printed with a counterexample.

Three numbers that must never be confused: **spent** (committed reservations), **calls**
(entries at the receiver), **effects** (business rows at the receiver).
"""

from collections import Counter
from collections.abc import Iterator

from model.machine import in_words
from model.reservation_vocabulary import (
    IDEMPOTENT,
    NON_IDEMPOTENT,
    Intent,
    Ledger,
    Stage,
    State,
    find_intent,
    find_ledger,
)


def _intents(state: State) -> Iterator[tuple[Ledger, Intent]]:
    """Yield every intent with its ledger."""
    for ledger in state.ledgers:
        for intent in ledger.intents:
            yield ledger, intent


def count_calls(state: State, ledger: str, intent_id: str) -> int:
    """Return how often this ledger's intent has entered the receiver."""
    calls = state.receiver.calls
    return sum(call.ledger == ledger and call.intent_id == intent_id for call in calls)


def calls_stay_within_spent_and_spent_within_the_cap(state: State) -> str | None:
    """An intent enters the receiver at most as often as it has spent, and spends at most its cap.

    Source: B9.
    """
    for ledger, intent in _intents(state):
        calls = count_calls(state, ledger.name or ledger.file, intent.intent_id)
        if not calls <= intent.spent <= intent.cap:
            return (
                f"{intent.intent_id} in ledger {ledger.file} has calls {calls}, "
                f"spent {intent.spent} and cap {intent.cap}"
            )
    return None


def every_call_has_an_intent(state: State) -> str | None:
    """Every call at the receiver is for an intent of the ledger that it names."""
    opened = {(ledger.name, intent.intent_id) for ledger, intent in _intents(state)}
    for call in state.receiver.calls:
        if (call.ledger, call.intent_id) not in opened:
            return f"{call} was entered, but that ledger has no such intent"
    return None


def reservations_are_numbered_up_to_spent(state: State) -> str | None:
    """The reservations of an intent are numbered 1 … spent, without a gap."""
    for ledger, intent in _intents(state):
        found = [reservation.seq for reservation in intent.reservations]
        if found != list(range(1, intent.spent + 1)):
            return (
                f"{intent.intent_id} in ledger {ledger.file} has spent {intent.spent}, "
                f"and its reservations are {found}"
            )
    return None


def each_reservation_enters_at_most_once(state: State) -> str | None:
    """No reservation enters the receiver twice."""
    for call, times in Counter(state.receiver.calls).items():
        if times > 1:
            return f"reservation {call.seq} of {call.intent_id} has entered {times} times"
    return None


def effects_stay_within_calls(state: State) -> str | None:
    """An id has at most as many effects as calls, over all ledgers."""
    calls = Counter(call.intent_id for call in state.receiver.calls)
    for intent_id, effects in Counter(e.intent_id for e in state.receiver.effects).items():
        if effects > calls[intent_id]:
            return f"{intent_id} has effects: {effects}, and calls: {calls[intent_id]}"
    return None


def an_idempotent_id_has_at_most_one_effect(state: State) -> str | None:
    """Under the idempotent contract an id has at most one effect, however often it is sent."""
    effects = Counter(effect.intent_id for effect in state.receiver.effects)
    for identity in state.receiver.identities:
        if identity.safety is IDEMPOTENT and effects[identity.intent_id] > 1:
            return (
                f"{identity.intent_id} is idempotent and has {effects[identity.intent_id]} effects"
            )
    return None


def the_receiver_knows_an_id_exactly_when_it_has_an_effect(state: State) -> str | None:
    """The receiver keeps the identity of exactly those ids for which it has done business."""
    known = {identity.intent_id for identity in state.receiver.identities}
    done = {effect.intent_id for effect in state.receiver.effects}
    if known != done:
        return f"identities are kept for {in_words(known)}, effects for {in_words(done)}"
    return None


def tickets_count_the_effects(state: State) -> str | None:
    """Tickets are 1, 2, 3 … in the order of the effects, without a gap."""
    tickets = [effect.ticket for effect in state.receiver.effects]
    if tickets != list(range(1, len(tickets) + 1)):
        return f"the tickets are {tickets}"
    return None


def a_non_idempotent_intent_spends_at_most_one(state: State) -> str | None:
    """A non-idempotent intent spends at most one unit in a ledger, whatever its cap."""
    for ledger, intent in _intents(state):
        if intent.safety is NON_IDEMPOTENT and intent.spent > 1:
            return f"{intent.intent_id} in ledger {ledger.file} has spent {intent.spent}"
    return None


def confirmed_exactly_when_a_reservation_is_acknowledged(state: State) -> str | None:
    """An intent is confirmed exactly when one of its reservations is acknowledged."""
    for ledger, intent in _intents(state):
        acknowledged = [r.seq for r in intent.reservations if r.is_acknowledged]
        if (intent.receipt is not None) is not bool(acknowledged):
            return (
                f"{intent.intent_id} in ledger {ledger.file} has stored "
                f"{in_words(intent.receipt)}, and acknowledged are {in_words(acknowledged)}"
            )
    return None


def a_stored_receipt_is_for_its_intent(state: State) -> str | None:
    """A stored receipt names the intent's own id and payload."""
    for ledger, intent in _intents(state):
        receipt = intent.receipt
        if receipt is None:
            continue
        if (receipt.intent_id, receipt.payload) != (intent.intent_id, intent.payload):
            return f"{intent.intent_id} in ledger {ledger.file} has stored {receipt}"
    return None


def a_permit_belongs_to_a_committed_reservation(state: State) -> str | None:
    """Every permit in a hand belongs to a reservation that its ledger has committed."""
    for worker in state.workers:
        for held in worker.hand:
            intent = find_intent(find_ledger(state, worker.ledger), held.permit.intent_id)
            if intent is None or held.permit.seq > len(intent.reservations):
                return (
                    f"worker {worker.name} holds {held.permit}; the ledger has {in_words(intent)}"
                )
    return None


def a_permit_is_in_one_hand(state: State) -> str | None:
    """No two permits in any hands belong to one reservation."""
    permits = Counter(held.permit for worker in state.workers for held in worker.hand)
    for permit, hands in permits.items():
        if hands > 1:
            return f"{hands} permits exist for {permit}"
    return None


def a_permit_that_has_entered_is_in_the_call_log(state: State) -> str | None:
    """A fresh permit has no call in the receiver's log, and any other has one."""
    for worker in state.workers:
        for held in worker.hand:
            permit = held.permit
            logged = any(
                (call.ledger, call.intent_id, call.seq)
                == (permit.ledger, permit.intent_id, permit.seq)
                for call in state.receiver.calls
            )
            if logged is (held.stage is Stage.FRESH):
                return f"{permit} is {held.stage}, and its call is {'' if logged else 'not '}logged"
    return None


INVARIANTS = (
    calls_stay_within_spent_and_spent_within_the_cap,
    every_call_has_an_intent,
    reservations_are_numbered_up_to_spent,
    each_reservation_enters_at_most_once,
    effects_stay_within_calls,
    an_idempotent_id_has_at_most_one_effect,
    the_receiver_knows_an_id_exactly_when_it_has_an_effect,
    tickets_count_the_effects,
    a_non_idempotent_intent_spends_at_most_one,
    confirmed_exactly_when_a_reservation_is_acknowledged,
    a_stored_receipt_is_for_its_intent,
    a_permit_belongs_to_a_committed_reservation,
    a_permit_is_in_one_hand,
    a_permit_that_has_entered_is_in_the_call_log,
)

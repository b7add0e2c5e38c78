"""What must hold of each step of the dispatch budget, whatever the states are.

As in `reservation_properties`, a property returns None or the clause that is false, and its
docstring is the sentence that is printed with a counterexample.
"""

from collections import Counter
from collections.abc import Iterator

from model.machine import in_words
from model.reservation_vocabulary import (
    ERRORS,
    NON_IDEMPOTENT,
    Action,
    Answer,
    Attempt,
    Confirm,
    Confirmed,
    Crash,
    Enter,
    Intent,
    Ledger,
    Outcome,
    Perform,
    Received,
    Reserve,
    Reserved,
    Send,
    Stage,
    State,
    find_held,
    find_intent,
    find_ledger,
    find_worker,
    has_unacknowledged,
)


def _intents(state: State) -> Iterator[tuple[Ledger, Intent]]:
    """Yield every intent with its ledger."""
    for ledger in state.ledgers:
        for intent in ledger.intents:
            yield ledger, intent


def _say_spent(spent: dict[tuple[str, str], int]) -> str:
    """Return what each intent has spent: "1 for i1 in L1"."""
    return ", ".join(f"{units} for {intent} in {file}" for (file, intent), units in spent.items())


def refusals_change_nothing(
    before: State, action: Action, outcome: Outcome, after: State
) -> str | None:
    """A refusal changes nothing; the receiver's conflict keeps its call, and the permit is used."""
    if before is after:
        return None
    is_refusal = outcome in ERRORS or outcome in (
        Answer.UNCHANGED,
        Answer.UNKNOWN,
        Answer.EXHAUSTED,
    )
    if outcome in (Answer.CONFLICT, Answer.REJECTED):
        is_refusal = not isinstance(action, Perform | Send | Attempt)
    if outcome is Answer.CONFIRMED:
        is_refusal = isinstance(action, Reserve)
    if is_refusal and before != after:
        return f"after {outcome} there is {after}"
    if outcome is Answer.CONFLICT and isinstance(action, Perform | Send | Attempt):
        old, new = before.receiver, after.receiver
        if (old.identities, old.effects) != (new.identities, new.effects):
            return f"a conflict at the receiver left effects {in_words(new.effects)}"
        if not isinstance(action, Attempt) and before.ledgers != after.ledgers:
            return f"a conflict at the receiver changed a ledger: {in_words(after.ledgers)}"
    return None


def spent_rises_by_one_exactly_when_a_permit_is_handed_out(
    before: State, action: Action, outcome: Outcome, after: State
) -> str | None:
    """Spent rises by exactly one with each permit handed out, never else, and never goes down."""
    if before.ledgers is after.ledgers and not isinstance(outcome, Reserved):
        return None
    old_spent = {(led.file, i.intent_id): i.spent for led, i in _intents(before)}
    new_spent = {(led.file, i.intent_id): i.spent for led, i in _intents(after)}
    expected = dict(old_spent)
    for key in new_spent:
        expected.setdefault(key, 0)
    if isinstance(outcome, Reserved) and isinstance(action, Reserve):
        expected[find_worker(before, action.worker).ledger, outcome.permit.intent_id] += 1
    if isinstance(action, Attempt) and before.receiver.calls != after.receiver.calls:
        expected[find_worker(before, action.worker).ledger, action.intent_id] += 1
    if new_spent != expected:
        spent, right = _say_spent(new_spent), _say_spent(expected)
        return f"after {outcome} spent is {spent}, and should be {right}"
    return None


def a_permit_carries_its_reservation(
    before: State, action: Action, outcome: Outcome, after: State
) -> str | None:
    """A new permit names the new reservation, and carries the intent's own payload and safety."""
    if not isinstance(outcome, Reserved) or not isinstance(action, Reserve):
        return None
    ledger = find_ledger(after, find_worker(after, action.worker).ledger)
    intent = find_intent(ledger, action.intent_id)
    permit = outcome.permit
    if intent is None or (permit.ledger, permit.intent_id, permit.seq) != (
        ledger.name,
        intent.intent_id,
        intent.spent,
    ):
        return f"handed out was {permit}, for {in_words(intent)}"
    if (permit.payload, permit.safety) != (intent.payload, intent.safety):
        return f"handed out was {permit}, for {intent}"
    return None


def a_confirmed_intent_is_final(
    before: State, action: Action, outcome: Outcome, after: State
) -> str | None:
    """A confirmed intent keeps its receipt for ever, and gets no new reservation."""
    if before.ledgers is after.ledgers:
        return None
    for ledger, old in _intents(before):
        if old.receipt is None:
            continue
        new = find_intent(find_ledger(after, ledger.file), old.intent_id)
        if new is None or new.receipt != old.receipt or new.spent != old.spent:
            return f"{old} became {in_words(new)}"
    return None


def acknowledgements_are_never_taken_back(
    before: State, action: Action, outcome: Outcome, after: State
) -> str | None:
    """An acknowledged reservation stays acknowledged, and only confirm acknowledges one."""
    if before.ledgers is after.ledgers:
        return None
    for ledger, old in _intents(before):
        new = find_intent(find_ledger(after, ledger.file), old.intent_id)
        flags = () if new is None else tuple(r.is_acknowledged for r in new.reservations)
        for reservation, flag in zip(old.reservations, flags, strict=False):
            if reservation.is_acknowledged and not flag:
                return f"reservation {reservation.seq} of {old.intent_id} lost its acknowledgement"
            is_confirmation = isinstance(action, Confirm | Attempt)
            if flag and not reservation.is_acknowledged and not is_confirmation:
                return f"{action} acknowledged reservation {reservation.seq} of {old.intent_id}"
    return None


def identity_is_permanent(
    before: State, action: Action, outcome: Outcome, after: State
) -> str | None:
    """Intents keep payload, safety and cap, ledgers their names, the receiver its identities."""
    for ledger in before.ledgers:
        new_ledger = find_ledger(after, ledger.file)
        if ledger is new_ledger:
            continue
        if ledger.name is not None and new_ledger.name != ledger.name:
            return f"ledger {ledger.file} went from name {ledger.name} to {new_ledger.name}"
        for old in ledger.intents:
            new = find_intent(new_ledger, old.intent_id)
            if new is None:
                return f"{old} is gone"
            if (new.payload, new.safety, new.cap) != (old.payload, old.safety, old.cap):
                return f"{old} became {new}"
    if not set(before.receiver.identities) <= set(after.receiver.identities):
        kept, now = before.receiver.identities, after.receiver.identities
        return f"the receiver kept {in_words(kept)}, now {in_words(now)}"
    return None


def calls_and_effects_are_never_taken_back(
    before: State, action: Action, outcome: Outcome, after: State
) -> str | None:
    """A call that was logged and an effect that was made stay for ever."""
    old, new = before.receiver, after.receiver
    if old is new:
        return None
    if Counter(old.calls) - Counter(new.calls):
        return f"the calls went from {in_words(old.calls)} to {in_words(new.calls)}"
    if new.effects[: len(old.effects)] != old.effects:
        return f"the effects went from {in_words(old.effects)} to {in_words(new.effects)}"
    return None


def a_call_is_logged_exactly_by_entering(
    before: State, action: Action, outcome: Outcome, after: State
) -> str | None:
    """One call is logged when a fresh permit enters, and none otherwise."""
    old, new = before.receiver.calls, after.receiver.calls
    is_entry = outcome is Answer.ENTERED or (
        isinstance(action, Send | Attempt) and (outcome is Answer.CONFLICT or old != new)
    )
    is_entry = is_entry or (isinstance(action, Send) and isinstance(outcome, Received))
    if len(new) - len(old) != int(is_entry):
        return f"after {outcome} the log has {len(new)} calls, before it had {len(old)}"
    if is_entry and isinstance(action, Enter | Send):
        held = find_held(find_worker(before, action.worker), action.intent_id, action.seq)
        if held is None or held.stage is not Stage.FRESH:
            return f"{action} entered with {in_words(held)}"
    return None


def a_receipt_names_an_effect(
    before: State, action: Action, outcome: Outcome, after: State
) -> str | None:
    """The receiver's receipt names an effect that exists, for this id and payload."""
    if not isinstance(outcome, Received) or not isinstance(action, Perform | Send):
        return None
    receipt = outcome.receipt
    held = find_held(find_worker(before, action.worker), action.intent_id, action.seq)
    named = [e for e in after.receiver.effects if e.ticket == receipt.ticket]
    if held is None or (receipt.intent_id, receipt.payload) != (
        held.permit.intent_id,
        held.permit.payload,
    ):
        return f"{in_words(held)} was answered with {receipt}"
    if [(e.intent_id, e.payload) for e in named] != [(receipt.intent_id, receipt.payload)]:
        return f"{receipt} names the effects {in_words(named)}"
    return None


def unknown_stops_a_non_idempotent_intent(
    before: State, action: Action, outcome: Outcome, after: State
) -> str | None:
    """A non-idempotent intent with an unacknowledged reservation is answered "unknown"."""
    if not isinstance(action, Reserve | Attempt):
        return None
    ledger = find_ledger(before, find_worker(before, action.worker).ledger)
    intent = find_intent(ledger, action.intent_id)
    if intent is None or intent.safety is not NON_IDEMPOTENT or intent.receipt is not None:
        return None
    if isinstance(action, Attempt) and outcome is Answer.STORE_MISSING:
        return None
    if has_unacknowledged(intent) is not (outcome is Answer.UNKNOWN):
        return f"the answer was {outcome}, to {intent}"
    return None


def a_crash_loses_hands_and_nothing_else(
    before: State, action: Action, outcome: Outcome, after: State
) -> str | None:
    """A crash empties the hands of its worker, and changes nothing else."""
    if not isinstance(action, Crash):
        return None
    if (before.ledgers, before.receiver) != (after.ledgers, after.receiver):
        return f"a crash left {after}"
    for old, new in zip(before.workers, after.workers, strict=True):
        expected = () if old.name == action.worker else old.hand
        if new.hand != expected:
            return (
                f"worker {new.name} holds {in_words(new.hand)} after the crash of {action.worker}"
            )
    return None


def a_confirmation_brings_the_stored_receipt(
    before: State, action: Action, outcome: Outcome, after: State
) -> str | None:
    """An attempt that ends confirmed brings the receipt that the ledger has stored."""
    if not isinstance(outcome, Confirmed) or not isinstance(action, Attempt):
        return None
    ledger = find_ledger(after, find_worker(after, action.worker).ledger)
    intent = find_intent(ledger, action.intent_id)
    if intent is None or intent.receipt != outcome.receipt:
        return f"the attempt brought {outcome.receipt}, and stored is {in_words(intent)}"
    return None


STEP_PROPERTIES = (
    refusals_change_nothing,
    spent_rises_by_one_exactly_when_a_permit_is_handed_out,
    a_permit_carries_its_reservation,
    a_confirmed_intent_is_final,
    acknowledgements_are_never_taken_back,
    identity_is_permanent,
    calls_and_effects_are_never_taken_back,
    a_call_is_logged_exactly_by_entering,
    a_receipt_names_an_effect,
    unknown_stops_a_non_idempotent_intent,
    a_crash_loses_hands_and_nothing_else,
    a_confirmation_brings_the_stored_receipt,
)

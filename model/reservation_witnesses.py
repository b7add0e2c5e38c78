"""Cases of the dispatch budget that a search must have seen, or it has looked at too little.

A witness is true of some reachable step; a scope that can't show one says so, and why.
"""

from collections.abc import Callable

from model.reservation_properties import count_calls
from model.reservation_vocabulary import (
    IDEMPOTENT,
    Action,
    Answer,
    Attempt,
    Confirm,
    Enter,
    Intent,
    Outcome,
    Perform,
    Received,
    Reserve,
    Stage,
    State,
    find_held,
    find_intent,
    find_ledger,
    find_worker,
)

Witness = Callable[[State, Action, Outcome, State], bool]


def _reserved_intent(state: State, action: Action) -> Intent | None:
    """Return the intent that a reserve asks for."""
    if not isinstance(action, Reserve):
        return None
    ledger = find_ledger(state, find_worker(state, action.worker).ledger)
    return find_intent(ledger, action.intent_id)


def _is_held_by_nobody(state: State, intent: Intent) -> bool:
    """Tell whether no hand has a permit for this intent, used or not."""
    ids = {held.permit.intent_id for worker in state.workers for held in worker.hand}
    return intent.intent_id not in ids


def _count_all_calls(state: State, intent: Intent) -> int:
    names = [ledger.name or ledger.file for ledger in state.ledgers]
    return sum(count_calls(state, name, intent.intent_id) for name in names)


def _is_unknown_with_the_holder_dead(
    state: State, action: Action, outcome: Outcome, calls: int
) -> bool:
    intent = _reserved_intent(state, action)
    return (
        outcome is Answer.UNKNOWN
        and intent is not None
        and _is_held_by_nobody(state, intent)
        and _count_all_calls(state, intent) == calls
    )


def unknown_with_the_holder_dead_and_no_call(
    before: State, action: Action, outcome: Outcome, after: State
) -> bool:
    """The holder of the only permit died before it sent, and the answer is "unknown"."""
    return _is_unknown_with_the_holder_dead(before, action, outcome, 0)


def unknown_with_the_holder_dead_and_one_call(
    before: State, action: Action, outcome: Outcome, after: State
) -> bool:
    """The holder of the only permit died after it sent, and the answer is the same "unknown"."""
    return _is_unknown_with_the_holder_dead(before, action, outcome, 1)


def unknown_comes_before_exhausted(
    before: State, action: Action, outcome: Outcome, after: State
) -> bool:
    """A non-idempotent intent has nothing left of its budget, and the answer is "unknown"."""
    intent = _reserved_intent(before, action)
    return outcome is Answer.UNKNOWN and intent is not None and intent.spent == intent.cap


def unknown_with_budget_left(before: State, action: Action, outcome: Outcome, after: State) -> bool:
    """A non-idempotent intent has budget left that it can never use."""
    intent = _reserved_intent(before, action)
    return outcome is Answer.UNKNOWN and intent is not None and intent.spent < intent.cap


def a_permit_is_sent_after_the_confirmation(
    before: State, action: Action, outcome: Outcome, after: State
) -> bool:
    """A permit enters the receiver after its intent was confirmed: a late sender (B7)."""
    if not isinstance(action, Enter) or outcome is not Answer.ENTERED:
        return False
    ledger = find_ledger(before, find_worker(before, action.worker).ledger)
    intent = find_intent(ledger, action.intent_id)
    return intent is not None and intent.receipt is not None


def exhausted_with_no_call_and_no_permit_in_any_hand(
    before: State, action: Action, outcome: Outcome, after: State
) -> bool:
    """The budget is spent, nothing was ever sent, and nobody can send any more (B10)."""
    intent = _reserved_intent(before, action)
    return (
        outcome is Answer.EXHAUSTED
        and intent is not None
        and intent.spent > 0
        and _is_held_by_nobody(before, intent)
        and _count_all_calls(before, intent) == 0
    )


def exhausted_with_a_cap_of_zero(
    before: State, action: Action, outcome: Outcome, after: State
) -> bool:
    """An intent with cap zero is legal, and gets nothing (B1)."""
    intent = _reserved_intent(before, action)
    return outcome is Answer.EXHAUSTED and intent is not None and intent.cap == 0


def confirmed_while_an_entered_reservation_is_unacknowledged(
    before: State, action: Action, outcome: Outcome, after: State
) -> bool:
    """An intent is confirmed while the call of another reservation is still open."""
    if outcome is not Answer.CONFIRMED or not isinstance(action, Confirm):
        return False
    intent = find_intent(find_ledger(after, action.ledger), action.intent_id)
    open_seqs = {r.seq for r in intent.reservations if not r.is_acknowledged} if intent else set()
    return any(
        call.intent_id == action.intent_id and call.seq in open_seqs
        for call in after.receiver.calls
    )


def a_call_is_answered_without_a_new_effect(
    before: State, action: Action, outcome: Outcome, after: State
) -> bool:
    """A second call of an idempotent id gets the same receipt, and makes no effect."""
    is_answer = isinstance(action, Perform) and isinstance(outcome, Received)
    return is_answer and before.receiver.effects == after.receiver.effects


def a_call_dies_between_entering_and_performing(
    before: State, action: Action, outcome: Outcome, after: State
) -> bool:
    """A process dies inside a call: it is logged, and no business was done."""
    dying = [
        held.permit
        for old, new in zip(before.workers, after.workers, strict=True)
        for held in old.hand
        if held.stage is Stage.ENTERED and not new.hand
    ]
    return outcome is Answer.CRASHED and bool(dying)


def a_permit_is_used_before_its_call_is_answered(
    before: State, action: Action, outcome: Outcome, after: State
) -> bool:
    """A permit is sent again while its first call is still under way, and is refused."""
    if outcome is not Answer.PERMIT_USED or not isinstance(action, Enter):
        return False
    held = find_held(find_worker(before, action.worker), action.intent_id, action.seq)
    return held is not None and held.stage is Stage.ENTERED


def spent_calls_and_effects_all_differ(
    before: State, action: Action, outcome: Outcome, after: State
) -> bool:
    """The three numbers of one intent differ: more spent than calls, more calls than effects."""
    for ledger in after.ledgers:
        for intent in ledger.intents:
            calls = count_calls(after, ledger.name or ledger.file, intent.intent_id)
            effects = sum(e.intent_id == intent.intent_id for e in after.receiver.effects)
            if intent.safety is IDEMPOTENT and intent.spent > calls > effects:
                return True
    return False


def two_ledgers_disagree_on_an_id(
    before: State, action: Action, outcome: Outcome, after: State
) -> bool:
    """The receiver refuses a call because another ledger used its id for something else."""
    return outcome is Answer.CONFLICT and isinstance(action, Perform | Attempt)


WITNESSES: tuple[Witness, ...] = (
    unknown_with_the_holder_dead_and_no_call,
    unknown_with_the_holder_dead_and_one_call,
    unknown_comes_before_exhausted,
    unknown_with_budget_left,
    a_permit_is_sent_after_the_confirmation,
    exhausted_with_no_call_and_no_permit_in_any_hand,
    exhausted_with_a_cap_of_zero,
    confirmed_while_an_entered_reservation_is_unacknowledged,
    a_call_is_answered_without_a_new_effect,
    a_call_dies_between_entering_and_performing,
    a_permit_is_used_before_its_call_is_answered,
    spent_calls_and_effects_all_differ,
    two_ledgers_disagree_on_an_id,
)

"""Dispatch budget: commit a numbered reservation before each external call, never refund it.

The specification of section B of `docs/protocols.md`; the numbers B1 … B12 are its rules.
Read it from top to bottom: vocabulary, state, derivations, steps.
`model.reservation_properties` and its neighbour say what must hold of it.

There are one receiver, one or more sender ledgers, and workers (processes).
Ledgers and the receiver are durable; what a worker has in its hands is not.
`enter` and `perform` are steps of their own, so that a crash fits between them.

Not modelled: time, storage and its errors, a transport that repeats a call, a permit or a
ledger file that is copied (B9 excludes them), input that A16 forbids, and a process that is
in two places of one program at once.

The order of the guards in a step is part of the specification.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from model.reservation_vocabulary import (
    IDEMPOTENT,
    NON_IDEMPOTENT,
    Action,
    Answer,
    Attempt,
    Call,
    Confirm,
    Confirmed,
    Crash,
    Effect,
    Enter,
    Held,
    Identity,
    InitLedger,
    InitReceiver,
    Intent,
    OpenIntent,
    Outcome,
    Perform,
    Permit,
    Receipt,
    Received,
    Reservation,
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
    put_hand,
    put_intent,
    put_ledger,
    set_stage,
)


def init_ledger(state: State, action: InitLedger) -> tuple[State, Outcome]:
    """Create a ledger, or accept an existing one with this name (as A1)."""
    ledger = find_ledger(state, action.ledger)
    if ledger.name is None:
        return put_ledger(state, replace(ledger, name=action.name)), Answer.READY
    if ledger.name != action.name:
        return state, Answer.LEDGER_MISMATCH
    return state, Answer.READY


def init_receiver(state: State, action: InitReceiver) -> tuple[State, Outcome]:
    """Create the receiver, or accept an existing one."""
    if state.receiver.exists:
        return state, Answer.READY
    return replace(state, receiver=replace(state.receiver, exists=True)), Answer.READY


def open_intent(state: State, action: OpenIntent) -> tuple[State, Outcome]:
    """Write an intent once; the same four values again change nothing, spent least of all (B1)."""
    ledger = find_ledger(state, action.ledger)
    if ledger.name is None:
        return state, Answer.STORE_MISSING
    known = find_intent(ledger, action.intent_id)
    if known is None:
        intent = Intent(action.intent_id, action.payload, action.safety, action.cap)
        return put_intent(state, action.ledger, intent), Answer.OPENED
    kept = (known.payload, known.safety, known.cap)
    if kept != (action.payload, action.safety, action.cap):
        return state, Answer.CONFLICT
    return state, Answer.UNCHANGED


def reserve(state: State, action: Reserve) -> tuple[State, Outcome]:
    """Spend one unit of the budget and hand out the permit for it, in one step (B2, B3, B8)."""
    worker = find_worker(state, action.worker)
    ledger = find_ledger(state, worker.ledger)
    if ledger.name is None:
        return state, Answer.STORE_MISSING
    intent = find_intent(ledger, action.intent_id)
    if intent is None:
        return state, Answer.UNKNOWN_INTENT
    if intent.receipt is not None:
        return state, Answer.CONFIRMED
    if intent.safety is NON_IDEMPOTENT and has_unacknowledged(intent):
        return state, Answer.UNKNOWN  # whatever is left of the budget (B8)
    if intent.spent == intent.cap:
        return state, Answer.EXHAUSTED
    seq = intent.spent + 1
    reservations = (*intent.reservations, Reservation(seq))
    spent = replace(intent, spent=seq, reservations=reservations)
    permit = Permit(ledger.name, intent.intent_id, seq, intent.payload, intent.safety)
    state = put_intent(state, ledger.file, spent)
    return put_hand(state, worker, (*worker.hand, Held(permit))), Reserved(permit)


def enter(state: State, action: Enter) -> tuple[State, Outcome]:
    """Mark the permit used, and log the call before any business is done (B4, B5)."""
    if not state.receiver.exists:
        return state, Answer.STORE_MISSING
    worker = find_worker(state, action.worker)
    held = find_held(worker, action.intent_id, action.seq)
    if held is None:
        return state, Answer.NOT_HELD
    if held.stage is not Stage.FRESH:
        return state, Answer.PERMIT_USED
    call = Call(held.permit.ledger, held.permit.intent_id, held.permit.seq)
    calls = tuple(sorted((*state.receiver.calls, call)))
    state = replace(state, receiver=replace(state.receiver, calls=calls))
    return set_stage(state, worker, held.permit, Stage.ENTERED), Answer.ENTERED


def perform(state: State, action: Perform) -> tuple[State, Outcome]:
    """Do the business of a call that has entered; identity and effect are one step (B5)."""
    worker = find_worker(state, action.worker)
    held = find_held(worker, action.intent_id, action.seq)
    if held is None or held.stage is not Stage.ENTERED:
        return state, Answer.NOT_HELD
    permit, receiver = held.permit, state.receiver
    state = set_stage(state, worker, permit, Stage.USED)
    payload = permit.payload if permit.safety is IDEMPOTENT else None
    identity = Identity(permit.intent_id, permit.safety, payload)
    known = next((i for i in receiver.identities if i.intent_id == permit.intent_id), None)
    if known is not None and known != identity:
        return state, Answer.CONFLICT
    if known is not None and known.safety is IDEMPOTENT:
        effect = next(e for e in receiver.effects if e.intent_id == permit.intent_id)
        return state, Received(Receipt(effect.intent_id, effect.payload, effect.ticket))
    identities = receiver.identities
    if known is None:
        identities = tuple(sorted((*identities, identity), key=lambda each: each.intent_id))
    ticket = len(receiver.effects) + 1
    effects = (*receiver.effects, Effect(ticket, permit.intent_id, permit.payload))
    receiver = replace(receiver, identities=identities, effects=effects)
    receipt = Receipt(permit.intent_id, permit.payload, ticket)
    return replace(state, receiver=receiver), Received(receipt)


def confirm(state: State, action: Confirm) -> tuple[State, Outcome]:
    """Acknowledge a reservation with a receipt; the first one is stored for ever (B6)."""
    ledger = find_ledger(state, action.ledger)
    if ledger.name is None:
        return state, Answer.STORE_MISSING
    intent = find_intent(ledger, action.intent_id)
    if intent is None:
        return state, Answer.UNKNOWN_INTENT
    if not 1 <= action.seq <= len(intent.reservations):
        return state, Answer.REJECTED
    if (action.receipt.intent_id, action.receipt.payload) != (intent.intent_id, intent.payload):
        return state, Answer.REJECTED
    if intent.receipt is not None and intent.receipt != action.receipt:
        return state, Answer.REJECTED
    reservations = tuple(
        replace(old, is_acknowledged=True) if old.seq == action.seq else old
        for old in intent.reservations
    )
    outcome = Answer.CONFIRMED if intent.receipt is None else Answer.ALREADY_CONFIRMED
    acknowledged = replace(intent, receipt=action.receipt, reservations=reservations)
    return put_intent(state, action.ledger, acknowledged), outcome


def advance_attempt(
    state: State, action: Attempt, earlier: tuple[Outcome, ...]
) -> tuple[State, Outcome, bool]:
    """Take the next step of an attempt, given the outcomes of its earlier steps (B12).

    Return the state, the outcome, and whether the attempt ends with it: it is then the outcome of
    the attempt. The permit is the attempt's own, and gone from the hand at the end.
    """
    worker, intent_id = action.worker, action.intent_id
    file = find_worker(state, worker).ledger
    if not earlier:
        if not state.receiver.exists:
            return state, Answer.STORE_MISSING, True
        state, outcome = reserve(state, Reserve(worker, intent_id))
        intent = find_intent(find_ledger(state, file), intent_id)
        if outcome is Answer.CONFIRMED and intent is not None and intent.receipt is not None:
            return state, Confirmed(intent.receipt), True
        return state, outcome, not isinstance(outcome, Reserved)
    seq = find_seq(earlier)
    if len(earlier) == len(("reserved",)):
        state, outcome = enter(state, Enter(worker, intent_id, seq))
        return state, outcome, outcome is not Answer.ENTERED
    if len(earlier) == len(("reserved", "entered")):
        state, outcome = perform(state, Perform(worker, intent_id, seq))
        if not isinstance(outcome, Received):  # the reservation stays unacknowledged
            return drop_permit(state, worker, intent_id, seq), outcome, True
        return state, outcome, False
    if action.meanwhile is not None:
        state, _ = confirm(state, action.meanwhile)
    receipt = find_receipt(earlier)
    state, outcome = confirm(state, Confirm(file, intent_id, seq, receipt))
    ended = outcome if outcome is Answer.REJECTED else Confirmed(receipt)
    return drop_permit(state, worker, intent_id, seq), ended, True


def find_seq(outcomes: tuple[Outcome, ...]) -> int:
    """Return the number of the reservation that an attempt got in its first step."""
    return next(each.permit.seq for each in outcomes if isinstance(each, Reserved))


def find_receipt(outcomes: tuple[Outcome, ...]) -> Receipt:
    """Return the receipt that an attempt got from the receiver."""
    return next(each.receipt for each in outcomes if isinstance(each, Received))


def drop_permit(state: State, name: str, intent_id: str, seq: int) -> State:
    """Return the state without this permit in the worker's hand."""
    worker = find_worker(state, name)
    hand = tuple(
        held for held in worker.hand if (held.permit.intent_id, held.permit.seq) != (intent_id, seq)
    )
    return put_hand(state, worker, hand)


def advance_send(
    state: State, action: Send, earlier: tuple[Outcome, ...]
) -> tuple[State, Outcome, bool]:
    """Take the next step of a send: enter, then perform."""
    if earlier:
        return *perform(state, Perform(action.worker, action.intent_id, action.seq)), True
    state, outcome = enter(state, Enter(action.worker, action.intent_id, action.seq))
    return state, outcome, outcome is not Answer.ENTERED


def advance(
    state: State, action: Action, earlier: tuple[Outcome, ...]
) -> tuple[State, Outcome, bool]:
    """Take the next step of an action; other processes may take theirs in between.

    `send` and `attempt` are programs of several steps, every other action is one (C1, C3).
    """
    if isinstance(action, Attempt):
        return advance_attempt(state, action, earlier)
    if isinstance(action, Send):
        return advance_send(state, action, earlier)
    return *step(state, action), True


def run_program(state: State, action: Action) -> Iterator[tuple[State, Outcome]]:
    """Yield state and outcome after each step of an action that nobody interrupts."""
    earlier: tuple[Outcome, ...] = ()
    is_over = False
    while not is_over:
        state, outcome, is_over = advance(state, action, earlier)
        earlier = (*earlier, outcome)
        yield state, outcome


def send(state: State, action: Send) -> tuple[State, Outcome]:
    """Enter, then perform."""
    *_, last = run_program(state, action)
    return last


def attempt(state: State, action: Attempt) -> tuple[State, Outcome]:
    """Run an attempt to its end (B12)."""
    *_, last = run_program(state, action)
    return last


def crash(state: State, action: Crash) -> tuple[State, Outcome]:
    """Empty a worker's hands; nothing durable changes, and no permit comes back (B4, B11)."""
    worker = find_worker(state, action.worker)
    if not worker.hand:
        return state, Answer.CRASHED
    return put_hand(state, worker, ()), Answer.CRASHED


# A table in place of one `match`, because the search looks an action's step up once a call;
# a test holds it against the union `Action`.
STEPS: Mapping[type[Any], Callable[..., tuple[State, Outcome]]] = {
    InitLedger: init_ledger,
    InitReceiver: init_receiver,
    OpenIntent: open_intent,
    Reserve: reserve,
    Enter: enter,
    Perform: perform,
    Send: send,
    Confirm: confirm,
    Attempt: attempt,
    Crash: crash,
}


def step(state: State, action: Action) -> tuple[State, Outcome]:
    """Return the state after the action, and its outcome; total and pure."""
    return STEPS[type(action)](state, action)


ANSWERED = 3
"""The commits of an attempt up to the receiver's answer: reserve, enter, perform."""


def committed_states(state: State, action: Action) -> tuple[State, ...]:
    """Return the state before the action, and the state after each of its commits (C3)."""
    return (state, *(after for after, _ in run_program(state, action)))


def allowed_after_exit(state: State, action: Action, commits: int) -> frozenset[State]:
    """Return the states that may be found after the acting process left this action (C1, C3).

    `commits` is the number of transactions that had committed before the exit. What the process
    had in its hands is lost; `send` and `attempt` leave exactly the steps that had committed.
    """
    states = committed_states(state, action)
    reached = [states[min(commits, len(states) - 1)]]
    if isinstance(action, Attempt) and action.meanwhile is not None and commits == ANSWERED:
        reached.append(confirm(reached[0], action.meanwhile)[0])  # the other may have been faster
    if isinstance(action, Reserve | Enter | Perform | Send | Attempt):
        reached = [crash(each, Crash(action.worker))[0] for each in reached]
    return frozenset(reached)

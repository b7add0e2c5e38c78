"""How traces of the dispatch budget are told to a person.

`explain_outcome` follows the guards of `model.reservation` in their order.
"""

from collections import Counter

from model.checking.trace import Trace
from model.checking.trace_words import (
    Entities,
    Hop,
    Narrator,
    count,
    imply,
    join_words,
    put_entity,
    quote,
    say_name,
    say_plain_outcome,
    say_value,
)
from model.reservation_vocabulary import (
    NON_IDEMPOTENT,
    Action,
    Answer,
    Attempt,
    Confirm,
    Confirmed,
    Crash,
    Enter,
    InitLedger,
    InitReceiver,
    Intent,
    Ledger,
    OpenIntent,
    Outcome,
    Perform,
    Receipt,
    Received,
    Receiver,
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

RECEIVER = "receiver"
OPERATOR = "operator"
MESSENGER = "messenger"

# ── Words ─────────────────────────────────────────────────────────────────────────────────


def describe_action(action: Action) -> str:
    """Return a call in a few words: "a reserves for i1"."""
    match action:
        case InitLedger(file, name):
            called = "" if file == name else f" under the name {say_name(name)}"
            return f"create ledger {say_name(file)}{called}"
        case InitReceiver():
            return "create the receiver"
        case OpenIntent(file, intent_id, payload, safety, cap):
            return (
                f"open {say_name(intent_id)} in {say_name(file)}: {quote(payload)}, {safety}, "
                f"cap {cap}"
            )
        case Reserve(worker, intent_id):
            return f"worker {say_name(worker)} reserves for {say_name(intent_id)}"
        case Enter(worker, intent_id, seq):
            return f"worker {say_name(worker)} enters with {_say_permit(intent_id, seq)}"
        case Perform(worker, intent_id, seq):
            return (
                f"the receiver performs worker {say_name(worker)}'s {_say_permit(intent_id, seq)}"
            )
        case Send(worker, intent_id, seq):
            return f"worker {say_name(worker)} sends {_say_permit(intent_id, seq)}"
        case Confirm(file, intent_id, seq, receipt):
            return (
                f"confirm {_say_permit(intent_id, seq)} in {say_name(file)} with "
                f"{_say_receipt(receipt)}"
            )
        case Attempt(worker, intent_id, meanwhile):
            race = "" if meanwhile is None else f"; meanwhile {describe_action(meanwhile)}"
            return f"worker {say_name(worker)} attempts {say_name(intent_id)}{race}"
        case Crash(worker):
            return f"worker {say_name(worker)} crashes"


def describe_outcome(outcome: Outcome) -> str:
    """Return an outcome in a few words."""
    match outcome:
        case Reserved(permit):
            return f"reserved, {_say_permit(permit.intent_id, permit.seq)}"
        case Received(receipt) | Confirmed(receipt):
            return f"{outcome.kind}, {_say_receipt(receipt)}"
        case _:
            return say_plain_outcome(outcome)


def _say_permit(intent_id: str, seq: int) -> str:
    return f"permit {seq} of {say_name(intent_id)}"


def _say_receipt(receipt: Receipt) -> str:
    return f"ticket {receipt.ticket} for {say_name(receipt.intent_id)} {quote(receipt.payload)}"


def list_entities(state: State) -> Entities:
    """Return ledgers, intents, reservations, the receiver with its rows, and permits in hands."""
    entities: Entities = {}
    for ledger in state.ledgers:
        _put_ledger(entities, ledger)
    _put_receiver(entities, state.receiver)
    for worker in state.workers:
        for held in worker.hand:
            permit = held.permit
            hand = f"worker {say_name(worker.name)}'s hand"
            own = f"{_say_permit(permit.intent_id, permit.seq)} in {hand}"
            values = {"stage": held.stage.value}
            ledger = find_ledger(state, worker.ledger)
            intent = find_intent(ledger, permit.intent_id)
            is_same = intent is not None and permit.payload == intent.payload
            is_as_safe = intent is not None and permit.safety is intent.safety
            is_own = permit.ledger == ledger.name
            values["payload"] = imply(quote(permit.payload), is_implied=is_same)
            values["safety"] = imply(permit.safety.value, is_implied=is_as_safe)
            values["ledger"] = imply(say_name(permit.ledger), is_implied=is_own)
            put_entity(entities, own, values)
    return entities


def describe_store(state: State) -> str:
    """Return what ledgers and receiver are like, in a few words: "a store with one intent"."""
    if not state.receiver.exists and all(ledger.name is None for ledger in state.ledgers):
        return "an absent store"
    intents = sum(len(ledger.intents) for ledger in state.ledgers)
    return f"a store with {count(intents, 'intent')}"


def _put_ledger(entities: Entities, ledger: Ledger) -> None:
    file = say_name(ledger.file)
    entities[f"ledger {file}"] = {"name": say_value(ledger.name)}
    for intent in ledger.intents:
        name = f"{say_name(intent.intent_id)} in {file}"
        receipt = "none" if intent.receipt is None else _say_receipt(intent.receipt)
        values = {"payload": quote(intent.payload), "safety": intent.safety.value}
        values |= {"cap": str(intent.cap), "spent": str(intent.spent), "receipt": receipt}
        put_entity(entities, name, values)
        for reservation in intent.reservations:
            values = {"acknowledged": say_value(reservation.is_acknowledged)}
            put_entity(entities, f"reservation {reservation.seq} of {name}", values)


def _put_receiver(entities: Entities, receiver: Receiver) -> None:
    entities[RECEIVER] = {"exists": say_value(receiver.exists)}
    for call, times in Counter(receiver.calls).items():
        name = f"call of {say_name(call.ledger)}: {_say_permit(call.intent_id, call.seq)}"
        put_entity(entities, name, {"times": imply(str(times), is_implied=times == 1)})
    for identity in receiver.identities:
        payload = "none" if identity.payload is None else quote(identity.payload)
        values = {"safety": identity.safety.value, "payload": payload}
        put_entity(entities, f"identity of {say_name(identity.intent_id)}", values)
    for effect in receiver.effects:
        values = {"intent": say_name(effect.intent_id), "payload": quote(effect.payload)}
        put_entity(entities, f"effect with ticket {effect.ticket}", values)


# ── Why this outcome ──────────────────────────────────────────────────────────────────────


def explain_outcome(state: State, action: Action, outcome: Outcome) -> str:
    """Return why the specification answers so, with the values that decide it."""
    match action:
        case InitLedger(file, _):
            ledger = find_ledger(state, file)
            if ledger.name is None:
                return f"there was no ledger {say_name(file)}"
            return f"the ledger was created under the name {say_name(ledger.name)}"
        case InitReceiver():
            return "the receiver exists" if state.receiver.exists else "there was no receiver"
        case OpenIntent(file, intent_id, _, _, _):
            return _explain_open(find_ledger(state, file), intent_id)
        case Reserve(worker, intent_id):
            return _explain_reserve(state, worker, intent_id)
        case Enter() | Perform() | Send():
            return _explain_send(state, action, outcome)
        case Confirm():
            return _explain_confirm(state, action)
        case Attempt():
            return _explain_attempt(state, action, outcome)
        case Crash(worker):
            return f"a crash empties worker {say_name(worker)}'s hands, and nothing else"


def _explain_open(ledger: Ledger, intent_id: str) -> str:
    if ledger.name is None:
        return f"there is no ledger {say_name(ledger.file)}"
    known = find_intent(ledger, intent_id)
    if known is None:
        return f"{say_name(intent_id)} is new in {say_name(ledger.file)}"
    values = f"{quote(known.payload)}, {known.safety}, cap {known.cap}"
    return f"{say_name(intent_id)} is open in {say_name(ledger.file)}: {values}"


def _explain_reserve(state: State, worker: str, intent_id: str) -> str:
    ledger = find_ledger(state, find_worker(state, worker).ledger)
    if ledger.name is None:
        return f"there is no ledger {say_name(ledger.file)}"
    intent = find_intent(ledger, intent_id)
    if intent is None:
        return f"{say_name(ledger.file)} has no intent {say_name(intent_id)}"
    name = say_name(intent_id)
    if intent.receipt is not None:
        return f"{name} is confirmed with ticket {intent.receipt.ticket}"
    if intent.safety is NON_IDEMPOTENT and has_unacknowledged(intent):
        return f"{name} is non_idempotent, and {_say_unacknowledged(intent)}"
    return f"{name} has spent {intent.spent} of its cap {intent.cap}"


def _say_unacknowledged(intent: Intent) -> str:
    seqs = [str(r.seq) for r in intent.reservations if not r.is_acknowledged]
    return f"nobody knows whether the call of reservation {', '.join(seqs)} was made"


def _explain_send(state: State, action: Enter | Perform | Send, outcome: Outcome) -> str:
    held = find_held(find_worker(state, action.worker), action.intent_id, action.seq)
    name = _say_permit(action.intent_id, action.seq)
    if not state.receiver.exists:
        return "there is no receiver"
    if held is None:
        return f"worker {say_name(action.worker)} has no {name}"
    if isinstance(action, Enter) or outcome in (Answer.PERMIT_USED, Answer.NOT_HELD):
        return f"{name} is {held.stage}"
    return _explain_business(state.receiver, action.intent_id)


def _explain_business(receiver: Receiver, intent_id: str) -> str:
    known = next((i for i in receiver.identities if i.intent_id == intent_id), None)
    if known is None:
        return f"it is the receiver's first call for {say_name(intent_id)}"
    payload = "" if known.payload is None else f" with {quote(known.payload)}"
    tickets = [str(e.ticket) for e in receiver.effects if e.intent_id == intent_id]
    made = f", and has given ticket {join_words(tickets)}" if tickets else ""
    return f"the receiver knows {say_name(intent_id)} as {known.safety}{payload}{made}"


def _explain_confirm(state: State, action: Confirm) -> str:
    ledger = find_ledger(state, action.ledger)
    intent = find_intent(ledger, action.intent_id)
    if ledger.name is None or intent is None:
        return _explain_open(ledger, action.intent_id).replace(" is new in ", " is unknown in ")
    name = say_name(action.intent_id)
    if not 1 <= action.seq <= len(intent.reservations):
        return f"{name} has no reservation {action.seq}"
    if (action.receipt.intent_id, action.receipt.payload) != (intent.intent_id, intent.payload):
        return f"{name} has payload {quote(intent.payload)}, and the receipt is for another"
    if intent.receipt is None:
        return f"{name} has no receipt yet"
    return f"{name} has {_say_receipt(intent.receipt)}"


def _explain_attempt(state: State, action: Attempt, outcome: Outcome) -> str:
    if not state.receiver.exists:
        return "there is no receiver"
    if outcome is Answer.CONFLICT:
        return _explain_business(state.receiver, action.intent_id)
    if outcome is Answer.REJECTED:
        return "another receipt was stored meanwhile"
    reserved = _explain_reserve(state, action.worker, action.intent_id)
    ledger = find_ledger(state, find_worker(state, action.worker).ledger)
    intent = find_intent(ledger, action.intent_id)
    if isinstance(outcome, Confirmed) and intent is not None and intent.receipt is None:
        return f"{reserved}, and {_explain_business(state.receiver, action.intent_id)}"
    return reserved


# ── Who talks to whom ─────────────────────────────────────────────────────────────────────


def find_hops(trace: Trace, index: int) -> tuple[Hop, ...]:
    """Return the messages of a step: an attempt goes to the ledger, the receiver, the ledger."""
    step = trace.steps[index]
    action, text = step.action, describe_action(step.action)
    if isinstance(action, Crash):
        own = step.process or f"worker {say_name(action.worker)}"
        return (Hop(own, own, text),)
    if isinstance(action, InitLedger | OpenIntent | Confirm):
        caller = MESSENGER if isinstance(action, Confirm) else OPERATOR
        return (Hop(step.process or caller, f"ledger {say_name(action.ledger)}", text),)
    if isinstance(action, InitReceiver):
        return (Hop(step.process or OPERATOR, RECEIVER, text),)
    worker = step.process or f"worker {say_name(action.worker)}"
    if isinstance(action, Enter | Perform | Send):
        return (Hop(worker, RECEIVER, text),)
    ledger = f"ledger {say_name(find_worker(trace.initial, action.worker).ledger)}"
    first = Hop(worker, ledger, text)
    if isinstance(action, Reserve) or not _has_entered(trace, index):
        return (first,)
    hops = (first, Hop(worker, RECEIVER, f"send for {say_name(action.intent_id)}"))
    if step.outcome is Answer.CONFLICT:
        return hops
    return (*hops, Hop(worker, ledger, f"confirm {say_name(action.intent_id)}"))


def _has_entered(trace: Trace, index: int) -> bool:
    before, after = trace.states[index], trace.states[index + 1]
    if before is None or after is None:
        return False
    return len(after.receiver.calls) > len(before.receiver.calls)


RESERVATION_NARRATOR = Narrator(
    describe_action,
    describe_outcome,
    list_entities,
    explain_outcome,
    {},
    find_hops,
    describe_store,
)

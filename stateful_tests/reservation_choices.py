"""What senders, a receiver and forgers may do next, drawn from what the model knows.

Live ids and permits come first and most often, used ones are mixed in on purpose. The simplest
choice stands first everywhere: a failing run shrinks toward it.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Final

from hypothesis import strategies as st

from model.reservation import reserve, step
from model.reservation_vocabulary import (
    Action,
    Attempt,
    Confirm,
    Crash,
    Enter,
    InitLedger,
    InitReceiver,
    Intent,
    Ledger,
    OpenIntent,
    Perform,
    Receipt,
    Receiver,
    Reserve,
    Reserved,
    Safety,
    Send,
    Stage,
    State,
    Worker,
    find_intent,
    find_ledger,
)
from stateful_tests.values import (
    COMPOSED,
    DECOMPOSED,
    NAMES,
    NUMBER_MAX,
    PAYLOADS,
    STRANGER,
    at_the_edges,
    find_lookalikes,
    mostly,
)

LEDGER_NAMES: Final = {"L1": ("L1", "l1"), "L2": ("L2", "L2 ")}
"""File of a ledger → the names under which it may be created; no name is good for two files."""
WORKERS: Final = {"a": "L1", "b": "L1", "c": "L2"}
IDS: Final = ("i", "I", "i ", COMPOSED, DECOMPOSED, NAMES[-1])
MOST_INTENTS: Final = 4
"""A run with many intents shows little of each."""
CAPS: Final = (2, 1, 0, 3, NUMBER_MAX)

ABSENT: Final = State(
    ledgers=tuple(Ledger(file) for file in LEDGER_NAMES),
    receiver=Receiver(),
    workers=tuple(Worker(name, file) for name, file in WORKERS.items()),
)


def choose_init(state: State) -> st.SearchStrategy[Action]:
    """Draw a store to create again, under its name or under another; or the receiver."""
    stored = [InitLedger(ledger.file, ledger.name) for ledger in state.ledgers if ledger.name]
    others = [InitLedger(file, name) for file, names in LEDGER_NAMES.items() for name in names]
    return st.sampled_from([*stored, InitReceiver(), *others])


@st.composite
def choose_open(draw: st.DrawFn, state: State) -> Action:
    """Draw an intent: often for an id that the other ledger knows, and often with its payload."""
    file = draw(st.sampled_from(list(LEDGER_NAMES)))
    elsewhere = [i for ledger in state.ledgers if ledger.file != file for i in ledger.intents]
    intent_id = draw(mostly([intent.intent_id for intent in elsewhere], IDS))
    known = [intent.payload for intent in elsewhere if intent.intent_id == intent_id]
    payload = draw(mostly(known, PAYLOADS))
    safety, cap = draw(st.sampled_from(Safety)), draw(st.sampled_from(CAPS))
    return OpenIntent(file, intent_id, payload, safety, cap)


def _intents(state: State) -> Iterator[tuple[Ledger, Intent]]:
    for ledger in state.ledgers:
        for intent in ledger.intents:
            yield ledger, intent


@st.composite
def choose_open_again(draw: st.DrawFn, state: State) -> Action:
    """Draw an open intent, to the letter or with one of its values changed."""
    ledger, intent = draw(st.sampled_from(list(_intents(state))))
    same = OpenIntent(ledger.file, intent.intent_id, intent.payload, intent.safety, intent.cap)
    other_safety = next(safety for safety in Safety if safety is not intent.safety)
    return draw(
        mostly(
            [same],
            [
                replace(same, safety=other_safety),
                *(replace(same, cap=cap) for cap in at_the_edges([intent.cap], NUMBER_MAX)),
                *(replace(same, payload=text) for text in find_lookalikes(intent.payload)),
                replace(same, payload=intent.payload + "a"),
            ],
        )
    )


def _reserves(state: State, *, is_live: bool) -> list[Reserve]:
    """Return the reserves that get a permit, or those that are refused; else one of a stranger."""
    known = [
        Reserve(worker.name, intent.intent_id)
        for worker in state.workers
        for intent in find_ledger(state, worker.ledger).intents
    ]
    chosen = [r for r in known if isinstance(reserve(state, r)[1], Reserved) is is_live]
    return chosen if chosen or is_live else [Reserve(name, STRANGER) for name in WORKERS]


def choose_reserve(state: State) -> st.SearchStrategy[Reserve]:
    """Draw a worker and an intent."""
    return mostly(_reserves(state, is_live=True), _reserves(state, is_live=False))


Key = tuple[str, str, int]
"""Worker, intent id and number of a permit in a hand."""


def _held(state: State, stages: tuple[Stage, ...]) -> list[Key]:
    return [
        (worker.name, held.permit.intent_id, held.permit.seq)
        for worker in state.workers
        for held in worker.hand
        if held.stage in stages
    ]


@st.composite
def choose_use(draw: st.DrawFn, state: State) -> Action:
    """Draw a permit to send or to enter with, used ones too, or a call under way to perform."""
    entered = _held(state, (Stage.ENTERED,))
    performs = draw(st.booleans())
    if entered and performs:
        return Perform(*draw(st.sampled_from(entered)))
    key: Key = draw(mostly(_held(state, (Stage.FRESH,)), _held(state, tuple(Stage))))
    return Enter(*key) if draw(st.booleans()) else Send(*key)


def _receipts(state: State) -> list[Receipt]:
    return [Receipt(e.intent_id, e.payload, e.ticket) for e in state.receiver.effects]


def _forge(intent_id: str, payload: str) -> list[Receipt]:
    """Return receipts that no receiver gave: for another effect, payload or id."""
    lookalikes = find_lookalikes(payload)
    return [
        *(Receipt(intent_id, payload, ticket) for ticket in (9, 1, 2, 0, NUMBER_MAX)),
        *(Receipt(intent_id, text, 1) for text in (*lookalikes, payload + "a")),
        *(Receipt(other, payload, 1) for other in IDS if other != intent_id),
    ]


@st.composite
def choose_confirm(draw: st.DrawFn, state: State) -> Confirm:
    """Draw a reservation and a receipt: given by the receiver for it, or for another; forged."""
    strangers: list[tuple[str, str, str, int]] = [
        (file, intent_id, "", 0) for file in LEDGER_NAMES for intent_id in (STRANGER, IDS[0])
    ]
    spent = [
        (ledger.file, intent.intent_id, intent.payload, intent.spent)
        for ledger, intent in _intents(state)
    ]
    with_calls = [each for each in spent if any(r.intent_id == each[1] for r in _receipts(state))]
    file, intent_id, payload, last = draw(mostly(with_calls, [*spent, *strangers]))
    given = [r for r in _receipts(state) if (r.intent_id, r.payload) == (intent_id, payload)]
    seq = draw(mostly(range(1, last + 1), at_the_edges([last], NUMBER_MAX)))
    receipt = draw(mostly(given, [*_receipts(state), *_forge(intent_id, payload)]))
    return Confirm(file, intent_id, seq, receipt)


@st.composite
def choose_lonely_attempt(draw: st.DrawFn, state: State) -> Attempt:
    """Draw a worker and an intent to attempt."""
    chosen = draw(choose_reserve(state))
    return Attempt(chosen.worker, chosen.intent_id)


@st.composite
def choose_attempt(draw: st.DrawFn, state: State) -> Action:
    """Draw an attempt, alone or with a confirmation by another process in the middle."""
    lonely = draw(choose_lonely_attempt(state))
    worker, intent_id = lonely.worker, lonely.intent_id
    file = WORKERS[worker]
    intent = find_intent(find_ledger(state, file), intent_id)
    if intent is None or draw(st.booleans()):
        return lonely
    forged = _forge(intent_id, intent.payload)
    given = Receipt(intent_id, intent.payload, len(state.receiver.effects) + 1)
    seq = draw(mostly([intent.spent + 1], range(1, intent.spent + 2)))
    receipt = draw(mostly(forged[:1], [given, *forged]))
    return Attempt(worker, intent_id, Confirm(file, intent_id, seq, receipt))


def choose_crash() -> st.SearchStrategy[Action]:
    """Draw a worker that dies."""
    return st.sampled_from([Crash(worker) for worker in WORKERS])


def choose_any(state: State) -> st.SearchStrategy[Action]:
    """Draw any action: what may be asked at all, refused or not."""
    return _choose(state, choose_attempt)


def choose_lonely(state: State) -> st.SearchStrategy[Action]:
    """Draw any action that is one process' own, without what another does in the middle."""
    return _choose(state, choose_lonely_attempt)


@st.composite
def _choose(
    draw: st.DrawFn, state: State, attempt: Callable[[State], st.SearchStrategy[Action]]
) -> Action:
    intents = len(list(_intents(state)))
    choosers: list[Callable[[State], st.SearchStrategy[Action]]] = [
        *([choose_open] if intents < MOST_INTENTS else []),
        choose_reserve,
        choose_reserve,
        attempt,
        choose_confirm,
        *([choose_use] * 2 if _held(state, tuple(Stage)) else []),
        *([choose_open_again] if intents else []),
        choose_init,
    ]
    return draw(draw(st.sampled_from(choosers))(state))


@st.composite
def choose_progress(draw: st.DrawFn, state: State) -> Action:
    """Draw an action that leads on, one kind as likely as another."""
    fresh, entered = _held(state, (Stage.FRESH,)), _held(state, (Stage.ENTERED,))
    confirmations = [
        Confirm(ledger.file, intent.intent_id, reservation.seq, receipt)
        for ledger, intent in _intents(state)
        for reservation in intent.reservations
        for receipt in _receipts(state)
        if not reservation.is_acknowledged and receipt.intent_id == intent.intent_id
    ]
    reserves = _reserves(state, is_live=True)
    kinds: list[list[Action]] = [
        [
            OpenIntent(file, "i", "p", safety, cap)
            for file in LEDGER_NAMES
            for safety in Safety
            for cap in (2, 3)
        ],
        [*reserves],
        [Enter(*key) for key in fresh],
        [Perform(*key) for key in entered],
        [Send(*key) for key in fresh],
        [*confirmations],
        [Attempt(each.worker, each.intent_id) for each in reserves],
    ]
    leading = [[a for a in actions if step(state, a)[0] != state] for actions in kinds]
    possible = [actions for actions in leading if actions]
    if not state.receiver.exists and fresh:  # a permit in a hand shows what its absence means
        possible.append([InitReceiver()])
    if not possible:
        return draw(choose_open(state))
    return draw(st.sampled_from(draw(st.sampled_from(possible))))


@st.composite
def choose_risk(draw: st.DrawFn, state: State) -> Action:
    """Draw an action to meet a fault: mostly one that changes something; nobody else acts in it."""
    chooser = choose_lonely if draw(st.booleans()) else choose_progress
    return draw(chooser(state))

"""What the environment may do to the dispatch budget within finite bounds, and the machine.

A scope offers actions; it never decides what they do. Bounds live here, outside the
specification: which ledgers, workers and intents exist, and which forged receipts appear.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from model.machine import Expected, Machine
from model.reservation import STEPS, advance, allowed_after_exit
from model.reservation_answers import ANSWERS
from model.reservation_properties import INVARIANTS
from model.reservation_snapshot import snapshot
from model.reservation_step_properties import STEP_PROPERTIES
from model.reservation_vocabulary import (
    Action,
    Answer,
    Attempt,
    Confirm,
    Crash,
    Enter,
    InitLedger,
    InitReceiver,
    Ledger,
    OpenIntent,
    Outcome,
    Perform,
    Receipt,
    Receiver,
    Reserve,
    Send,
    Stage,
    State,
    Worker,
    find_intent,
    find_ledger,
)
from model.reservation_witnesses import WITNESSES


@dataclass(frozen=True, slots=True)
class ReservationScope:
    """Bounds for the dispatch budget.

    `workers` are (name, ledger file). `openings` are offered always; `other_openings`, with
    another value for an id, only once that id is open. `forged_receipts` are offered to
    `confirm` beside the receipts that the receiver has given. `has_programs` offers `send` and
    `attempt` beside the steps that they are made of, and `has_races` an attempt with another
    confirmation in the middle.
    """

    name: str
    ledgers: tuple[str, ...]
    workers: tuple[tuple[str, str], ...]
    openings: tuple[OpenIntent, ...]
    other_openings: tuple[OpenIntent, ...] = ()
    forged_receipts: tuple[Receipt, ...] = ()
    has_programs: bool = True
    has_races: bool = False
    starts_absent: bool = True
    is_symmetric: bool = False
    expected: Expected | None = None
    unreachable: Mapping[str, str] = field(default_factory=dict, hash=False, compare=False)


def initial_states(scope: ReservationScope) -> tuple[State, ...]:
    """Return the state from which a search of the scope starts: no file or an empty one."""
    exists = not scope.starts_absent
    return (
        State(
            ledgers=tuple(Ledger(file, file if exists else None) for file in scope.ledgers),
            receiver=Receiver(exists=exists),
            workers=tuple(Worker(name, ledger) for name, ledger in scope.workers),
        ),
    )


def offered_actions(scope: ReservationScope, state: State) -> tuple[Action, ...]:
    """Return what the environment may do next: every call of the scope, refused ones too."""
    return tuple(_offered(scope, state))


def _offered(scope: ReservationScope, state: State) -> Iterator[Action]:
    """Yield the calls of a scope in a state, in the order of the protocol's table."""
    if scope.starts_absent:
        for ledger in state.ledgers:
            yield InitLedger(ledger.file, ledger.file)
            if ledger.name is not None:
                yield InitLedger(ledger.file, "another name")
        yield InitReceiver()
    yield from scope.openings
    for opening in scope.other_openings:
        if find_intent(find_ledger(state, opening.ledger), opening.intent_id) is not None:
            yield opening
    for worker in state.workers:
        yield from _offered_to_worker(scope, worker)
    for ledger in state.ledgers:
        for intent_id in _intent_ids(scope, ledger.file):
            yield from _offered_confirmations(scope, state, ledger, intent_id)


def _offered_to_worker(scope: ReservationScope, worker: Worker) -> Iterator[Action]:
    """Yield what one worker may do with its ledger and with what it has in its hand."""
    ids = _intent_ids(scope, worker.ledger)
    for intent_id in ids:
        yield Reserve(worker.name, intent_id)
    for held in worker.hand:
        intent_id, seq = held.permit.intent_id, held.permit.seq
        yield Enter(worker.name, intent_id, seq)
        if held.stage is Stage.ENTERED:
            yield Perform(worker.name, intent_id, seq)
        if scope.has_programs:
            yield Send(worker.name, intent_id, seq)
    if scope.has_programs:
        for intent_id in ids:
            yield Attempt(worker.name, intent_id)
    yield Crash(worker.name)


def _intent_ids(scope: ReservationScope, file: str) -> tuple[str, ...]:
    """Return the ids that a ledger may be asked about, each once."""
    return tuple(dict.fromkeys(o.intent_id for o in scope.openings if o.ledger == file))


def _offered_confirmations(
    scope: ReservationScope, state: State, ledger: Ledger, intent_id: str
) -> Iterator[Action]:
    """Yield confirmations with every receipt that exists, and races of them with an attempt.

    The next reservation is among those named, though it does not exist yet.
    """
    given = [Receipt(e.intent_id, e.payload, e.ticket) for e in state.receiver.effects]
    intent = find_intent(ledger, intent_id)
    spent = 0 if intent is None else intent.spent
    for receipt in (*given, *scope.forged_receipts):
        for seq in range(1, spent + 2):
            yield Confirm(ledger.file, intent_id, seq, receipt)
        if scope.has_races:
            race = Confirm(ledger.file, intent_id, spent + 1, receipt)
            for worker in state.workers:
                if worker.ledger == ledger.file:
                    yield Attempt(worker.name, intent_id, race)


def canonical(scope: ReservationScope, state: State) -> State:
    """Return the state's representative: workers of one ledger exchange what they hold.

    Workers of one ledger are interchangeable: no step looks at a worker's name.
    """
    workers: list[Worker] = []
    for file in scope.ledgers:
        mine = [worker for worker in state.workers if worker.ledger == file]
        hands = sorted((worker.hand for worker in mine), key=repr)
        workers += [replace(w, hand=hand) for w, hand in zip(mine, hands, strict=True)]
    return replace(state, workers=tuple(workers))


_LOST = (Answer.STORE_MISSING, Answer.UNKNOWN_INTENT)

RESERVATION: Machine[State, Action, Outcome] = Machine(
    name="reservation",
    steps=STEPS,
    outcomes={
        InitLedger: (Answer.READY, Answer.LEDGER_MISMATCH),
        InitReceiver: (Answer.READY,),
        OpenIntent: (Answer.OPENED, Answer.UNCHANGED, Answer.CONFLICT, Answer.STORE_MISSING),
        Reserve: ("reserved", Answer.CONFIRMED, Answer.UNKNOWN, Answer.EXHAUSTED, *_LOST),
        Enter: (Answer.ENTERED, Answer.PERMIT_USED, Answer.STORE_MISSING),
        Perform: ("received", Answer.CONFLICT),
        Send: ("received", Answer.CONFLICT, Answer.PERMIT_USED, Answer.STORE_MISSING),
        Confirm: (Answer.CONFIRMED, Answer.ALREADY_CONFIRMED, Answer.REJECTED, *_LOST),
        Attempt: (
            "confirmed",
            Answer.CONFLICT,
            Answer.REJECTED,
            Answer.UNKNOWN,
            Answer.EXHAUSTED,
            *_LOST,
        ),
        Crash: (Answer.CRASHED,),
    },
    invariants=INVARIANTS,
    step_properties=(*STEP_PROPERTIES, *ANSWERS),
    answers=ANSWERS,
    witnesses=WITNESSES,
    initial_states=initial_states,
    offered_actions=offered_actions,
    canonical=canonical,
    snapshot=snapshot,
    advance=advance,
    allowed_after_exit=allowed_after_exit,
)

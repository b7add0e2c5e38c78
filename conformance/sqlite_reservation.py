"""Binds the SQLite sender ledgers and the SQLite receiver to the model of the dispatch budget."""

import contextlib
from collections.abc import Callable, Mapping
from typing import Any

from conformance.implementation import Implementation
from conformance.place import Place
from conformance.subject import Unreadable, reading, stay_alive
from model.reservation_vocabulary import (
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
    Ledger,
    OpenIntent,
    Outcome,
    Perform,
    Permit,
    Receipt,
    Received,
    Receiver,
    Reservation,
    Reserve,
    Reserved,
    Safety,
    Send,
    Stage,
    State,
    Worker,
)

ANSWERS = {answer.value: answer for answer in Answer}
SAFETIES = {safety.value: safety for safety in Safety}
Key = tuple[str, str, int]
Image = tuple[tuple[bytes, ...], tuple[tuple[Key, bool, bool], ...]]


class ReservationSubject:
    """Ledgers, a receiver, and the permits that workers hold in this process.

    Permits and calls under way are the implementation's own objects; they live here as they
    would in a worker, and a crash of the worker drops them.
    With `keeps_open`, each worker has store objects of its own that serve it until `reopen` or its
    crash, and so has everybody else together; without it, each action opens its stores anew.
    """

    name = "impl.sqlite.reservation"

    def __init__(
        self,
        ledgers: Mapping[str, Place],
        receiver: Place,
        workers: Mapping[str, str],
        implementation: Implementation,
        *,
        keeps_open: bool = False,
    ) -> None:
        """Bind ledgers by file name, the receiver, and workers by their ledger."""
        self.ledgers = dict(ledgers)
        self.receiver = receiver
        self.workers = dict(workers)
        self._reservation = implementation.reservation
        self._receiver = implementation.receiver
        self._words = implementation.vocabulary
        errors = implementation.errors
        self._errors = {
            errors.StoreMissing: Answer.STORE_MISSING,
            errors.LedgerMismatch: Answer.LEDGER_MISMATCH,
            errors.UnknownIntent: Answer.UNKNOWN_INTENT,
            errors.PermitUsed: Answer.PERMIT_USED,
        }
        self._permits: dict[Key, Any] = {}
        self._calls: dict[Key, Any] = {}
        self.keeps_open = keeps_open
        self._kept: dict[tuple[str, str], Any] = {}

    @stay_alive
    def apply(self, action: Action) -> Outcome:
        """Carry out an action."""
        try:
            match action:
                case InitLedger(file, name):
                    place = self.ledgers[file]
                    self._reservation.init(place.path, name, connect=place.connect)
                    return Answer.READY
                case InitReceiver():
                    self._receiver.init(self.receiver.path, connect=self.receiver.connect)
                    return Answer.READY
                case OpenIntent(file, intent_id, payload, safety, cap):
                    with self._open_ledger(file) as ledger:
                        return ANSWERS[ledger.open_intent(intent_id, payload, str(safety), cap)]
                case Confirm():
                    return self._confirm(action)
                case Crash(worker):
                    self._drop(worker)
                    return Answer.CRASHED
                case Reserve(worker, intent_id):
                    return self._reserve(worker, intent_id)
                case Enter() | Perform() | Send():
                    return self._use(action)
                case Attempt():
                    return self._attempt(action)
        except tuple(self._errors) as error:
            return self._errors[type(error)]

    def _open_ledger(self, file: str, owner: str = "") -> Any:
        place = self.ledgers[file]
        return self._open(
            (owner, file), lambda: self._reservation.Ledger(place.path, connect=place.connect)
        )

    def _open_receiver(self, owner: str = "") -> Any:
        place = self.receiver
        return self._open(
            (owner, ""), lambda: self._receiver.Receiver(place.path, connect=place.connect)
        )

    def _open(self, key: tuple[str, str], open_store: Callable[[], Any]) -> Any:
        """Return a context with a store: one that ends with it, or one that is kept open."""
        if not self.keeps_open:
            return open_store()
        if key not in self._kept:
            self._kept[key] = open_store()
        return contextlib.nullcontext(self._kept[key])

    def _reserve(self, worker: str, intent_id: str) -> Outcome:
        with self._open_ledger(self.workers[worker], worker) as ledger:
            permit = ledger.reserve(intent_id)
        if isinstance(permit, str):
            return ANSWERS[permit]
        self._permits[worker, permit.intent_id, permit.seq] = permit
        return Reserved(_as_permit(permit))

    def _use(self, action: Enter | Perform | Send) -> Outcome:
        """Enter the receiver, perform a call that has entered, or both."""
        key = (action.worker, action.intent_id, action.seq)
        with self._open_receiver(action.worker) as receiver:
            if isinstance(action, Enter):
                self._calls[key] = receiver.enter(self._permits[key])
                return Answer.ENTERED
            if isinstance(action, Perform):
                answer = receiver.perform(self._calls[key])
                del self._calls[key]
            else:
                answer = receiver.send(self._permits[key])
        return ANSWERS[answer] if isinstance(answer, str) else Received(_as_receipt(answer))

    def _confirm(self, action: Confirm) -> Outcome:
        receipt = self._words.Receipt(
            action.receipt.intent_id, action.receipt.payload, action.receipt.ticket
        )
        with self._open_ledger(action.ledger) as ledger:
            return ANSWERS[ledger.confirm(action.intent_id, action.seq, receipt)]

    def _attempt(self, action: Attempt) -> Outcome:
        """Run an attempt; what happens meanwhile happens where the receiver has answered."""
        worker, file = action.worker, self.workers[action.worker]
        with self._open_receiver(worker) as receiver, self._open_ledger(file, worker) as ledger:
            sender = receiver
            if action.meanwhile is not None:
                sender = _Interrupted(receiver, self, action.meanwhile)
            result = self._reservation.attempt(ledger, sender, action.intent_id)
        return (
            ANSWERS[result] if isinstance(result, str) else Confirmed(_as_receipt(result.receipt))
        )

    def _drop(self, worker: str) -> None:
        """Drop what a worker holds, its store objects included."""
        for owner, file in [key for key in self._kept if key[0] == worker]:
            self._kept.pop((owner, file)).close()
        for held in (self._permits, self._calls):
            for key in [key for key in held if key[0] == worker]:
                del held[key]

    def observe(self) -> State:
        """Read all durable rows through second connections, and look into the hands."""
        return State(
            ledgers=tuple(_read_ledger(file, place) for file, place in self.ledgers.items()),
            receiver=_read_receiver(self.receiver),
            workers=tuple(
                Worker(name, ledger, self._read_hand(name)) for name, ledger in self.workers.items()
            ),
        )

    def _read_hand(self, worker: str) -> tuple[Held, ...]:
        hand = []
        for key, permit in self._permits.items():
            if key[0] == worker:
                used = Stage.ENTERED if key in self._calls else Stage.USED
                hand.append(Held(_as_permit(permit), used if permit.is_used else Stage.FRESH))
        return tuple(hand)

    @stay_alive
    def read(self) -> dict[str, Any] | None:
        """Return the stores' own snapshots, those that exist."""
        snapshots: dict[str, Any] = {}
        for file, place in self.ledgers.items():
            if place.observer() is not None:
                with self._open_ledger(file) as ledger:
                    snapshots[file] = ledger.snapshot()
        if self.receiver.observer() is not None:
            with self._open_receiver() as receiver:
                snapshots["receiver"] = receiver.snapshot()
        return snapshots

    def image(self) -> Image:
        """Return the content of every file, and what each worker holds."""
        places = (*self.ledgers.values(), self.receiver)
        hands = tuple(
            (key, permit.is_used, key in self._calls) for key, permit in self._permits.items()
        )
        return tuple(place.image() for place in places), hands

    def has_open_transaction(self) -> bool:
        """Tell whether a store has left a transaction open."""
        places = (*self.ledgers.values(), self.receiver)
        return any(place.has_open_transaction() for place in places)

    def install(self, state: State) -> None:
        """Create the ledgers and the receiver that exist in this state."""
        for ledger in state.ledgers:
            if ledger.name is not None:
                self.apply(InitLedger(ledger.file, ledger.name))
        if state.receiver.exists:
            self.apply(InitReceiver())

    def restore(self, image: Image, state: State) -> None:
        """Put the content of every file back, and the permits into the hands."""
        self.reopen()
        places = (*self.ledgers.values(), self.receiver)
        for place, content in zip(places, image[0], strict=True):
            place.restore(content)
        self._permits.clear()
        self._calls.clear()
        for worker in state.workers:
            for held in worker.hand:
                self._hold(worker.name, held)

    def _hold(self, worker: str, held: Held) -> None:
        """Put a permit of the model into a worker's hand, as the implementation's own object."""
        permit = held.permit
        safety = self._words.Safety(str(permit.safety))
        own = self._words.Permit(
            ledger=permit.ledger,
            intent_id=permit.intent_id,
            seq=permit.seq,
            payload=permit.payload,
            safety=safety,
        )
        key = (worker, permit.intent_id, permit.seq)
        self._permits[key] = own
        if held.stage is not Stage.FRESH:
            own.use()
        if held.stage is Stage.ENTERED:
            self._calls[key] = own.call

    def reopen(self) -> None:
        """Close the store objects that are kept; the next action opens new ones."""
        while self._kept:
            self._kept.popitem()[1].close()

    def close(self) -> None:
        """Close every store and every place."""
        self.reopen()
        for place in (*self.ledgers.values(), self.receiver):
            place.close()


class _Interrupted:
    """A sender behind which another process confirms, just after the receiver has answered."""

    def __init__(self, receiver: Any, subject: ReservationSubject, meanwhile: Confirm) -> None:
        self._receiver = receiver
        self._subject = subject
        self._meanwhile = meanwhile

    def send(self, permit: Any, /) -> Any:
        answer = self._receiver.send(permit)
        if not isinstance(answer, str):
            self._subject.apply(self._meanwhile)
        return answer


def _as_permit(permit: Any) -> Permit:
    safety = SAFETIES[permit.safety]
    return Permit(permit.ledger, permit.intent_id, permit.seq, permit.payload, safety)


def _as_receipt(receipt: Any) -> Receipt:
    return Receipt(receipt.intent_id, receipt.payload, receipt.ticket)


def _read_ledger(file: str, place: Place) -> Ledger:
    """Turn the rows of a ledger into the model's ledger."""
    with reading(place) as connection:
        if connection is None:
            return Ledger(file)
        names = connection.execute("select name from ledger").fetchall()
        intents = connection.execute(
            "select intent_id, payload, safety, cap, spent, ticket from intent order by intent_id"
        ).fetchall()
        rows = connection.execute(
            "select intent_id, seq, ticket from reservation order by intent_id, seq"
        ).fetchall()
    if len(names) != 1:
        raise Unreadable(f"ledger {file} has {len(names)} names")
    reservations: dict[str, list[Reservation]] = {intent[0]: [] for intent in intents}
    for intent_id, seq, ticket in rows:
        if intent_id not in reservations:
            raise Unreadable(f"reservation {seq} of {intent_id!r} has no intent")
        reservations[intent_id].append(Reservation(seq, ticket is not None))
    return Ledger(
        file, names[0][0], tuple(_read_intent(row, reservations[row[0]]) for row in intents)
    )


def _read_intent(row: tuple[Any, ...], reservations: list[Reservation]) -> Intent:
    intent_id, payload, safety, cap, spent, ticket = row
    text = payload.decode()
    return Intent(
        intent_id=intent_id,
        payload=text,
        safety=SAFETIES[safety],
        cap=cap,
        spent=spent,
        receipt=None if ticket is None else Receipt(intent_id, text, ticket),
        reservations=tuple(reservations),
    )


def _read_receiver(place: Place) -> Receiver:
    """Turn the rows of the receiver into the model's receiver."""
    with reading(place) as connection:
        if connection is None:
            return Receiver()
        calls = connection.execute("select ledger, intent_id, seq from call").fetchall()
        identities = connection.execute(
            "select intent_id, safety, payload from identity order by intent_id"
        ).fetchall()
        effects = connection.execute(
            "select ticket, intent_id, payload from effect order by ticket"
        ).fetchall()
    return Receiver(
        exists=True,
        calls=tuple(sorted(Call(*row) for row in calls)),
        identities=tuple(
            Identity(intent_id, SAFETIES[safety], None if payload is None else payload.decode())
            for intent_id, safety, payload in identities
        ),
        effects=tuple(
            Effect(ticket, intent_id, payload.decode()) for ticket, intent_id, payload in effects
        ),
    )

"""The picture of the dispatch budget: ledgers, the hands of the workers, and the receiver.

Three numbers stand apart, each with the place where it is counted: spent in the ledger, calls and
effects at the receiver.
"""

from dataclasses import dataclass
from typing import Any

from model.checking.trace_reservation import RESERVATION_NARRATOR
from model.checking.trace_words import say_name
from model.reservation_vocabulary import (
    Intent,
    Ledger,
    Reservation,
    State,
    Worker,
    find_intent,
    find_ledger,
)
from workbench.play.picture import Card, Gone, View, see


@dataclass(frozen=True, slots=True)
class Number:
    """One of the three numbers, with where it is counted; `was` is its value before the step."""

    name: str
    value: int
    where: str
    was: int | None = None
    of: int | None = None


@dataclass(frozen=True, slots=True)
class Numbers:
    """Spent, calls and effects of an intent, which must never be confused."""

    intent: str
    ledger: str
    numbers: tuple[Number, ...]


@dataclass(frozen=True, slots=True)
class Unit:
    """One unit of an intent's cap: a reservation, acknowledged or not, or one that is left."""

    number: int
    word: str
    is_marked: bool = False
    is_unlike: bool = False


@dataclass(frozen=True, slots=True)
class IntentPicture:
    """An intent with the units of its cap."""

    card: Card
    units: tuple[Unit, ...]


@dataclass(frozen=True, slots=True)
class LedgerPicture:
    """A ledger file; without a name while it is absent."""

    file: str
    name: str
    intents: tuple[IntentPicture, ...]


@dataclass(frozen=True, slots=True)
class Hand:
    """A worker, and the permits in its hand."""

    worker: str
    ledger: str
    permits: tuple[Card, ...]


@dataclass(frozen=True, slots=True)
class ReservationPicture:
    """A state of the dispatch budget."""

    numbers: tuple[Numbers, ...]
    ledgers: tuple[LedgerPicture, ...]
    hands: tuple[Hand, ...]
    receiver_exists: bool
    calls: tuple[Card, ...]
    identities: tuple[Card, ...]
    effects: tuple[Card, ...]
    gone: tuple[Gone, ...]
    template: str = "picture_reservation.html"


def draw(
    _scope: Any, state: State, before: State | None, other: State | None
) -> ReservationPicture:
    """Return the picture of a state, with marks against the state before and the other side."""
    view = see(RESERVATION_NARRATOR, state, before, other)
    return ReservationPicture(
        numbers=tuple(
            _draw_numbers(state, before, ledger, intent)
            for ledger in state.ledgers
            for intent in ledger.intents
        ),
        ledgers=tuple(_draw_ledger(view, ledger) for ledger in state.ledgers),
        hands=tuple(_draw_hand(view, worker) for worker in state.workers),
        receiver_exists=state.receiver.exists,
        calls=_draw_all(view, "call of "),
        identities=_draw_all(view, "identity of "),
        effects=_draw_all(view, "effect with "),
        gone=view.list_gone(),
    )


def _draw_numbers(state: State, before: State | None, ledger: Ledger, intent: Intent) -> Numbers:
    now = _count(state, ledger.file, intent.intent_id)
    then = (None, None, None) if before is None else _count(before, ledger.file, intent.intent_id)
    was = [old if old != new else None for old, new in zip(then, now, strict=True)]
    file = say_name(ledger.file)
    spent, calls, effects = now
    return Numbers(
        intent=say_name(intent.intent_id),
        ledger=file,
        numbers=(
            Number("spent", spent, f"reservations in {file}", was[0], intent.cap),
            Number("calls", calls, f"entries at the receiver from {file}", was[1]),
            Number("effects", effects, "business done at the receiver, for all ledgers", was[2]),
        ),
    )


def _count(state: State, file: str, intent_id: str) -> tuple[int, int, int]:
    """Return spent, calls and effects, each read where it is kept."""
    ledger = find_ledger(state, file)
    intent = find_intent(ledger, intent_id)
    mine = (ledger.name, intent_id)
    calls = [call for call in state.receiver.calls if (call.ledger, call.intent_id) == mine]
    effects = [effect for effect in state.receiver.effects if effect.intent_id == intent_id]
    return 0 if intent is None else intent.spent, len(calls), len(effects)


def _draw_ledger(view: View, ledger: Ledger) -> LedgerPicture:
    return LedgerPicture(
        file=say_name(ledger.file),
        name="" if ledger.name is None else say_name(ledger.name),
        intents=tuple(_draw_intent(view, ledger, intent) for intent in ledger.intents),
    )


def _draw_intent(view: View, ledger: Ledger, intent: Intent) -> IntentPicture:
    name = f"{say_name(intent.intent_id)} in {say_name(ledger.file)}"
    card = view.draw(name, title=say_name(intent.intent_id))
    units = [_draw_unit(view, name, reservation) for reservation in intent.reservations]
    left = range(len(units) + 1, intent.cap + 1)
    return IntentPicture(card, (*units, *(Unit(number, "left") for number in left)))


def _draw_unit(view: View, intent: str, reservation: Reservation) -> Unit:
    word = "acknowledged" if reservation.is_acknowledged else "unacknowledged"
    card = view.draw(f"reservation {reservation.seq} of {intent}")
    return Unit(reservation.seq, word, card.is_marked, card.is_unlike)


def _draw_hand(view: View, worker: Worker) -> Hand:
    suffix = f" in worker {say_name(worker.name)}'s hand"
    permits = [name for name in view.now if suffix in name]
    return Hand(
        worker=say_name(worker.name),
        ledger=say_name(worker.ledger),
        permits=tuple(view.draw(name, title=name.replace(suffix, "")) for name in permits),
    )


def _draw_all(view: View, prefix: str) -> tuple[Card, ...]:
    return tuple(view.draw(name) for name in view.now if name.startswith(prefix))

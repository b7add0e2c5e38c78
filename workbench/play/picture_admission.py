"""The picture of durable admission: the budget as bars, the queue as cards, the effects."""

from dataclasses import dataclass, replace
from typing import Any

from model.admission_vocabulary import OUTSTANDING, TERMINAL, Limits, Record, State
from model.checking.trace_admission import ADMISSION_NARRATOR
from model.checking.trace_words import say_name
from workbench.play.picture import Bar, Card, Gone, View, draw_bar, see

HUES = 6


@dataclass(frozen=True, slots=True)
class Budget:
    """The room of the store, or of one tenant."""

    name: str
    slots: Bar
    size_bytes: Bar


@dataclass(frozen=True, slots=True)
class AdmissionPicture:
    """A state of durable admission; without budgets while there is no store."""

    exists: bool
    clock: Card
    lease: Card
    limits: Card
    budgets: tuple[Budget, ...]
    records: tuple[Card, ...]
    effects: tuple[Card, ...]
    gone: tuple[Gone, ...]
    template: str = "picture_admission.html"


def draw(scope: Any, state: State, before: State | None, other: State | None) -> AdmissionPicture:
    """Return the picture of a state, with marks against the state before and the other side."""
    view = see(ADMISSION_NARRATOR, state, before, other)
    names = list(view.now)  # the store's own, then a name for each record, then for each effect
    effects = names[len(names) - len(state.effects) :]
    held = names[len(names) - len(state.effects) - len(state.records) :]
    records = zip(held, state.records, strict=False)
    return AdmissionPicture(
        exists=state.limits is not None,
        clock=view.draw("clock"),
        lease=view.draw("lease"),
        limits=view.draw("limits"),
        budgets=() if state.limits is None else _draw_budgets(scope, state, state.limits),
        records=tuple(_draw_record(view, name, state, record) for name, record in records),
        effects=tuple(view.draw(name) for name in effects),
        gone=view.list_gone(),
    )


def _draw_record(view: View, name: str, state: State, record: Record) -> Card:
    """Return a record as a card, with a word on its lease."""
    number = str(record.sequence)
    card = view.draw(name, without=("sequence",), hue=_hue(record), number=number)
    if record.lease is None:
        return card
    word = "runs" if record.lease > state.clock else "has ended"
    facts = tuple(
        replace(fact, value=f"until tick {fact.value}, {word}") if fact.name == "lease" else fact
        for fact in card.facts
    )
    return replace(card, facts=facts)


def _hue(record: Record) -> int:
    return 0 if record.state in TERMINAL else (record.sequence - 1) % HUES + 1


def _draw_budgets(scope: Any, state: State, limits: Limits) -> tuple[Budget, ...]:
    tenants = dict.fromkeys((*scope.tenants, *(record.tenant for record in state.records)))
    whole = _draw_budget("the store", state, None, limits.global_slots, limits.global_bytes)
    return (
        whole,
        *(
            _draw_budget(
                f"tenant {say_name(t)}", state, t, limits.tenant_slots, limits.tenant_bytes
            )
            for t in tenants
        ),
    )


def _draw_budget(
    name: str, state: State, tenant: str | None, slots: int, size_bytes: int
) -> Budget:
    held = [
        record
        for record in state.records
        if record.state in OUTSTANDING and tenant in (None, record.tenant)
    ]
    units = {say_name(each.request_id): (_hue(each), 1) for each in held}
    sizes = {say_name(each.request_id): (_hue(each), each.size_bytes) for each in held}
    return Budget(name, draw_bar("slots", slots, units), draw_bar("bytes", size_bytes, sizes))

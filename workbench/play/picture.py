"""What both pictures are made of: facts with what they were before, and cards of facts.

A picture marks what the last step changed, and where the mutant is in another state. It compares
what the narrators say of two states, entity by entity, and decides nothing.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from model.checking.trace_words import Entities, Implied, Narrator


@dataclass(frozen=True, slots=True)
class Fact:
    """A field with its value; `was` and `unlike` are other values of it, None where there is none.

    `was` is the value before the last step, `unlike` the one that the other side has.
    """

    name: str
    value: str
    was: str | None = None
    unlike: str | None = None


@dataclass(frozen=True, slots=True)
class Card:
    """A thing in a state: a record, an intent, a permit, an effect.

    `state` is what it stands at, and gives the card its colour. `is_new` says that the last step
    brought it, `is_alone` that the other side has no such thing.
    """

    name: str
    state: str = ""
    facts: tuple[Fact, ...] = ()
    is_new: bool = False
    is_alone: bool = False
    hue: int = 0
    number: str = ""

    @property
    def is_marked(self) -> bool:
        """Whether the last step has touched it."""
        return self.is_new or any(fact.was is not None for fact in self.facts)

    @property
    def is_unlike(self) -> bool:
        """Whether it is not the same on the other side."""
        return self.is_alone or any(fact.unlike is not None for fact in self.facts)


@dataclass(frozen=True, slots=True)
class Gone:
    """A thing that the last step took away, or that only the other side has."""

    name: str
    is_by_the_step: bool


@dataclass(frozen=True, slots=True)
class View:
    """A state as its narrator tells it, beside the state before and the other side's."""

    now: Entities
    before: Entities | None
    other: Entities | None

    def draw(
        self, name: str, *, without: tuple[str, ...] = (), title: str = "", **looks: Any
    ) -> Card:
        """Return an entity as a card; `state` is told apart from the other facts."""
        fields = self.now.get(name, {})
        said = (
            self._state_fact(name, each, value)
            for each, value in fields.items()
            if each not in without
        )
        facts = tuple(fact for fact in said if not _is_implied(fact))
        return Card(
            name=title or name,
            state=fields.get("state", ""),
            facts=facts,
            is_new=self.before is not None and name not in self.before,
            is_alone=self.other is not None and name not in self.other,
            **looks,
        )

    def _state_fact(self, name: str, each: str, value: str) -> Fact:
        return Fact(
            each,
            value,
            _differ(self.before, name, each, value),
            _differ(self.other, name, each, value),
        )

    def list_gone(self) -> tuple[Gone, ...]:
        """Return what the last step took away, and what only the other side has."""
        lost = [
            Gone(name, is_by_the_step=True) for name in self.before or {} if name not in self.now
        ]
        missing = [
            Gone(name, is_by_the_step=False) for name in self.other or {} if name not in self.now
        ]
        return (*lost, *missing)


def _is_implied(fact: Fact) -> bool:
    """Tell whether the other facts say this one, here and wherever it is compared with."""
    return isinstance(fact.value, Implied) and fact.was is None and fact.unlike is None


def _differ(others: Entities | None, name: str, each: str, value: str) -> str | None:
    """Return another value of a field, None where it is the same, or where the thing is new."""
    if others is None or name not in others:
        return None
    other = others[name].get(each, "none")
    return other if other != value else None


def see(narrator: Narrator, state: Any, before: Any = None, other: Any = None) -> View:
    """Return the view of a state; `before` and `other` may be None."""
    return View(
        narrator.list_entities(state),
        None if before is None else narrator.list_entities(before),
        None if other is None else narrator.list_entities(other),
    )


MOST_CELLS = 24


@dataclass(frozen=True, slots=True)
class Cell:
    """A unit of a budget, and what has taken it; `hue` tells the takers apart."""

    label: str = ""
    hue: int = 0
    is_over: bool = False


@dataclass(frozen=True, slots=True)
class Bar:
    """A budget: how much of it is taken, and by what; without cells where they would be many."""

    unit: str
    taken: int
    limit: int
    cells: tuple[Cell, ...] = field(default=())

    @property
    def is_full(self) -> bool:
        """Whether nothing is left."""
        return self.taken >= self.limit


def draw_bar(unit: str, limit: int, takers: Mapping[str, tuple[int, int]]) -> Bar:
    """Return a bar; `takers` are names with their hue and how much each has taken."""
    taken = sum(amount for _, amount in takers.values())
    if max(taken, limit) > MOST_CELLS:
        return Bar(unit, taken, limit)
    owned = [(name, hue) for name, (hue, amount) in takers.items() for _ in range(amount)]
    cells = [Cell(name, hue, index >= limit) for index, (name, hue) in enumerate(owned)]
    cells += [Cell()] * (limit - taken)
    return Bar(unit, taken, limit, tuple(cells))

"""Which operations are called together, and in which states: the plan of each profile.

quick     every pair of (action, outcome) in the nearest state in which both can be
full      every pair of actions of which one changes something, nearest states of TINY first
nightly   every pair of actions from every state of TINY

In quick, nearest means: behind each initial state, once for the same call by two callers, and once
for two calls that differ.

In each: the pairs of (action, outcome) with an outcome that TINY can't show, in the nearest states
of a scope that can; those of two ids, and with a forged receipt, in a scope with room for two;
every change with a reader beside it; some triples; and pairs of which one operation exits at each
of its turns, or gives up waiting for a lock. For these two: in quick, the nearest pair of changes
for each (action, outcome); else every pair of actions of which both change something. What gives
up is also called, once for each (action, outcome), beside one that takes the lock and changes
nothing: that neighbour explains no answer but the right one.

An operation may be paired with itself. Where a store is absent, opening and creating it are part of
the operations, and there are hundreds of classes: quick runs the schedules with at most two
switches there, and so does every profile where an operation exits. They are counted apart.
"""

import random
from collections.abc import Container, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from crash_harness.schedules.pairs import (
    Chosen,
    Label,
    Pair,
    find_nearest_calls,
    find_nearest_pairs,
    has_absent_store,
    list_labels,
    list_lock_takers,
    list_pairs,
    tell_outcomes_beyond,
    tell_room,
)
from crash_harness.schedules.reads import list_reads
from crash_harness.schedules.runner import Scene
from crash_harness.schedules.scenery import Scenery, build_scene
from crash_harness.schedules.stage import Stage
from crash_harness.schedules.triples import TRIPLES
from model.machine import action_name, outcome_name

MOST_SWITCHES = 2
MOST_STATES = 2_000


class Family(StrEnum):
    """What a scene is there for; each family is counted by itself."""

    PAIR = "pairs"
    EXIT = "pairs with an exit"
    HURRY = "pairs with a lock timeout"
    ABSENT = "pairs on an absent store"
    BEYOND = "pairs beyond TINY"
    ROOM = "pairs with room for two"
    READ = "pairs with a reader"
    TRIPLE = "triples"


ALWAYS_NEAREST = frozenset({Family.BEYOND, Family.ROOM, Family.READ})
"""What is called in the nearest states alone, in every profile."""


@dataclass(frozen=True, slots=True)
class Plan:
    """A scene to be searched, how to make its state, and whether only few switches are tried."""

    family: Family
    scene: Scene
    image: Any
    most_switches: int | None = None


class Planner:
    """Makes the plans of a profile, for a stage."""

    def __init__(self, stage: Stage, profile: str, seed: int) -> None:
        self.stage = stage
        self.profile = profile
        self.scenery = Scenery(stage, most_states=MOST_STATES)
        self.lot = random.Random(seed)
        self.planned: dict[Family, int] = {}
        self._chosen: list[tuple[Family, Any, Pair]] = []

    def choose_beyond(self, known: Container[Label]) -> None:
        """Choose the pairs with an outcome that is not among these."""
        self._add(Family.BEYOND, find_nearest_pairs(self.scenery, tell_outcomes_beyond(known)))

    def choose_room(self) -> None:
        """Choose the pairs of two ids, and those with a forged receipt."""
        forged = getattr(self.stage.scope, "forged_receipts", ())
        self._add(Family.ROOM, find_nearest_pairs(self.scenery, tell_room(forged)))

    def choose_triples(self) -> None:
        """Count the triples, which are chosen by hand."""
        self.planned[Family.TRIPLE] = len(TRIPLES[self.stage.machine.name])

    def labels(self) -> frozenset[Label]:
        """Return every (action, outcome) that the scope shows."""
        return frozenset(
            label
            for state in self.scenery.states()
            for label, _ in list_labels(self.scenery, state)
        )

    def choose(self) -> None:
        """Choose the pairs of TINY, and count what is planned."""
        if self.profile == "quick":
            nearest = find_nearest_pairs(self.scenery)
            changing = self._pick_changes(nearest)
        else:
            nearest = list(self._list_all(0 if self.profile == "nightly" else 1))
            changing = list(self._list_all(2))
        self._add(Family.PAIR, [each for each in nearest if not has_absent_store(each[0])])
        self._add(Family.ABSENT, [each for each in nearest if has_absent_store(each[0])])
        self._add(Family.EXIT, changing)
        self._add(Family.HURRY, [*self._pair_with_lock_takers(), *changing])
        self._add(Family.READ, self._pair_with_readers())

    def _pair_with_lock_takers(self) -> list[Chosen]:
        """Return each call with a neighbour that holds a lock and explains no other answer."""
        takers = list_lock_takers(self.stage.machine.name, self.stage.scope)
        return [
            (state, (action, taker))
            for state, action in find_nearest_calls(self.scenery)
            for taker in takers
        ]

    def _pair_with_readers(self) -> list[Chosen]:
        """Return each call that changes something with a reader of each store."""
        readers = list_reads(self.stage.machine.name, self.stage.scope)
        return [
            (state, (action, reader))
            for state, action in find_nearest_calls(self.scenery)
            if self.stage.machine.step(state, action)[0] != state
            for reader in readers
        ]

    def _list_all(self, changes: int) -> Iterator[Chosen]:
        """Yield the pairs of every state, nearest states first, in an order drawn for each."""
        for state in self.scenery.states():
            pairs = list_pairs(self.scenery, state, changes=changes)
            self.lot.shuffle(pairs)
            yield from ((state, pair) for pair in pairs)

    def _pick_changes(self, nearest: list[Chosen]) -> list[Chosen]:
        """Return, for each (action, outcome), the first pair in which it and another change."""
        step = self.stage.machine.step
        seen: set[Label] = set()
        picked = []
        for state, pair in nearest:
            if self._count_changes(state, pair) < len(pair):
                continue
            if has_absent_store(state):
                continue
            labels = {(action_name(type(a)), outcome_name(step(state, a)[1])) for a in pair}
            if not labels <= seen:
                seen |= labels
                picked.append((state, pair))
        return picked

    def _count_changes(self, state: Any, pair: Pair) -> int:
        return sum(self.stage.machine.step(state, action)[0] != state for action in pair)

    def _add(self, family: Family, pairs: list[Chosen]) -> None:
        self.planned[family] = len(pairs)
        self._chosen += [(family, state, pair) for state, pair in pairs]

    def is_nearest(self, family: Family) -> bool:
        """Tell whether each pair of a family is called in its nearest state alone."""
        return family in ALWAYS_NEAREST or (self.profile == "quick" and family is not Family.TRIPLE)

    def chosen(self, family: Family) -> Iterator[Chosen]:
        """Yield the states and pairs of a family, in their order."""
        return ((state, pair) for each, state, pair in self._chosen if each is family)

    def plans(self, family: Family) -> Iterator[Plan]:
        """Yield the plans of a family, in the order in which they were chosen."""
        if family is Family.TRIPLE:
            for initial, setup, actions in TRIPLES[self.stage.machine.name]:
                scene, image = build_scene(self.stage, initial, setup, actions)
                yield Plan(family, scene, image)
            return
        is_bounded = self.profile == "quick" or family is Family.EXIT
        for state, pair in self.chosen(family):
            bound = MOST_SWITCHES if is_bounded and has_absent_store(state) else None
            scene = self.scenery.make_scene(state, pair)
            yield Plan(family, scene, self.scenery.image(state), bound)

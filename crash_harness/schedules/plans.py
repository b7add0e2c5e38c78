"""Which operations are called together, and in which states: the plan of each profile.

quick     every pair of (action, outcome) in the nearest state in which both can be
full      every pair of actions of which one changes something, nearest states of TINY first
nightly   every pair of actions from every state of TINY

In each: the pairs of (action, outcome) with an outcome that TINY can't show, in the nearest states
of a scope that can; some triples; and pairs of which one operation exits at each of its turns, or
gives up waiting for a lock. For these two: in quick, the nearest pair of changes for each (action,
outcome); else every pair of actions of which both change something.

An operation may be paired with itself. Where a store is absent, opening and creating it are part of
the operations, and there are hundreds of classes: quick runs the schedules with at most two
switches there, and so does every profile where an operation exits. They are counted apart.
"""

import random
from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import combinations_with_replacement
from typing import Any

from crash_harness.schedules.runner import Scene
from crash_harness.schedules.scenery import Scenery, build_scene
from crash_harness.schedules.stage import Stage, can_race
from crash_harness.schedules.triples import TRIPLES
from model.admission_vocabulary import Limits
from model.admission_vocabulary import State as AdmissionState
from model.machine import action_name, outcome_name
from model.reservation_scope import ReservationScope
from model.reservation_vocabulary import IDEMPOTENT, OpenIntent, Receipt
from model.scopes import ADMISSION_TINY

MOST_SWITCHES = 2
MOST_STATES = 2_000

BEYOND: Mapping[str, Any] = {
    "admission": replace(
        ADMISSION_TINY,
        name="TENANTS",
        limits=Limits(2, 6, 1, 3, 3),
        payloads=("中",),
        generations=(1,),
        generation_limit=1,
        old_records=(),
        expected=None,
        unreachable={},
    ),
    "reservation": ReservationScope(
        name="LEDGERS",
        ledgers=("L1", "L2"),
        workers=(("a", "L1"), ("b", "L2")),
        openings=(
            OpenIntent("L1", "i1", "p", IDEMPOTENT, 1),
            OpenIntent("L2", "i1", "q", IDEMPOTENT, 1),
        ),
        forged_receipts=(Receipt("i1", "p", 9),),
    ),
}
"""Small scopes with the outcomes that TINY can't reach: a tenant's own limit, two ledgers that
disagree about an id, a confirmation of what is not there."""


class Family(StrEnum):
    """What a scene is there for; each family is counted by itself."""

    PAIR = "pairs"
    EXIT = "pairs with an exit"
    HURRY = "pairs with a lock timeout"
    TRIPLE = "triples"
    BEYOND = "pairs beyond TINY"
    ABSENT = "pairs on an absent store"


@dataclass(frozen=True, slots=True)
class Plan:
    """A scene to be searched, how to make its state, and whether only few switches are tried."""

    family: Family
    scene: Scene
    image: Any
    most_switches: int | None = None


Pair = tuple[Any, Any]
Label = tuple[str, str]
Chosen = tuple[Any, Pair]
"""A state, and two actions that are called in it together."""


def has_absent_store(state: Any) -> bool:
    """Tell whether a file does not exist in a state."""
    if isinstance(state, AdmissionState):
        return state.limits is None
    return not state.receiver.exists or any(ledger.name is None for ledger in state.ledgers)


def list_pairs(scenery: Scenery, state: Any, *, changes: int) -> list[Pair]:
    """Return the pairs of calls in a state, of which at least so many change something alone."""
    machine = scenery.stage.machine
    calls = [
        (action, machine.step(state, action)[0] != state)
        for action in machine.offered_actions(scenery.stage.scope, state)
    ]
    return [
        (one, other)
        for (one, does), (other, too) in combinations_with_replacement(calls, 2)
        if does + too >= changes and can_race(machine.name, state, (one, other))
    ]


def list_labels(scenery: Scenery, state: Any) -> list[tuple[Label, Any]]:
    """Return the calls of a state, each with its name and the outcome that it has alone."""
    machine = scenery.stage.machine
    return [
        ((action_name(type(action)), outcome_name(machine.step(state, action)[1])), action)
        for action in machine.offered_actions(scenery.stage.scope, state)
    ]


def find_nearest_pairs(scenery: Scenery, excluded: Container[Label] = ()) -> list[Chosen]:
    """Return a pair of calls, and the nearest state, for each pair of (action, outcome).

    Pairs of which both are `excluded` are left out. Two calls with one outcome are looked for
    twice: the same call by two callers, and two calls that differ.
    """
    known: set[tuple[frozenset[Label], bool]] = set()
    found = []
    for state in scenery.states():
        labelled = list_labels(scenery, state)
        for (left, one), (right, other) in combinations_with_replacement(labelled, 2):
            key = (frozenset({left, right}), one == other)
            if key in known or (left in excluded and right in excluded):
                continue
            if can_race(scenery.stage.machine.name, state, (one, other)):
                known.add(key)
                found.append((state, (one, other)))
    return found


class Planner:
    """Makes the plans of a profile, for a stage."""

    def __init__(self, stage: Stage, profile: str, seed: int) -> None:
        self.stage = stage
        self.profile = profile
        self.scenery = Scenery(stage, most_states=MOST_STATES)
        self.lot = random.Random(seed)
        self.planned: dict[Family, int] = {}
        self._chosen: list[tuple[Family, Any, Pair]] = []

    def choose_beyond(self, excluded: Container[Label]) -> None:
        """Choose the pairs with an outcome that is not among these."""
        self._add(Family.BEYOND, find_nearest_pairs(self.scenery, excluded))

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
        self._add(Family.HURRY, changing)
        self.planned[Family.TRIPLE] = len(TRIPLES[self.stage.machine.name])

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

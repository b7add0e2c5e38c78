"""Which pairs of calls there are in a state, and the nearest state in which each kind of pair is.

A call is labelled with its name and the outcome that it has alone. A kind of pair is told by the
labels of both, and by what tells the two calls apart; the first pair of each kind that a search
of the states meets stands for it. Behind each initial state it is looked for again, since a store
that has lived long shows other things than a new one under the same labels.
"""

from collections.abc import Callable, Container, Hashable
from itertools import combinations_with_replacement
from typing import Any

from crash_harness.schedules.scenery import Scenery
from crash_harness.schedules.stage import can_race
from model.admission_vocabulary import Init
from model.admission_vocabulary import State as AdmissionState
from model.machine import action_name, outcome_name
from model.reservation_vocabulary import InitLedger, InitReceiver

Pair = tuple[Any, Any]
Label = tuple[str, str]
Labelled = tuple[Label, Any]
Chosen = tuple[Any, Pair]
"""A state, and two operations that are called in it together."""
Tell = Callable[[Labelled, Labelled], Hashable]
"""Tells the kind of a pair; None if it is not wanted."""


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


def list_labels(scenery: Scenery, state: Any) -> list[Labelled]:
    """Return the calls of a state, each with its name and the outcome that it has alone."""
    machine = scenery.stage.machine
    return [
        ((action_name(type(action)), outcome_name(machine.step(state, action)[1])), action)
        for action in machine.offered_actions(scenery.stage.scope, state)
    ]


def tell_outcomes(one: Labelled, other: Labelled) -> Hashable:
    """Tell pairs by their labels, and the same call by two callers from two calls that differ."""
    return frozenset({one[0], other[0]}), one[1] == other[1]


def tell_outcomes_beyond(known: Container[Label]) -> Tell:
    """Return what tells pairs by their labels, of which at least one is not known."""

    def tell(one: Labelled, other: Labelled) -> Hashable:
        if one[0] in known and other[0] in known:
            return None
        return tell_outcomes(one, other)

    return tell


def tell_room(forged: Container[Any]) -> Tell:
    """Return what tells pairs of two ids, or with a forged receipt, by their labels.

    A call that names no id may be about any.
    """

    def tell(one: Labelled, other: Labelled) -> Hashable:
        ids = [find_id(action) for _, action in (one, other)]
        has_forged = any(getattr(action, "receipt", None) in forged for _, action in (one, other))
        has_one_id = ids[0] is not None and ids[0] == ids[1]
        if has_one_id and not has_forged:
            return None
        return tell_outcomes(one, other), has_one_id, has_forged

    return tell


def find_id(action: Any) -> str | None:
    """Return the id of the request or intent that a call names, None if it names none."""
    named = getattr(action, "token", action)
    found: str | None = getattr(named, "request_id", None) or getattr(named, "intent_id", None)
    return found


def find_nearest_pairs(scenery: Scenery, tell: Tell = tell_outcomes) -> list[Chosen]:
    """Return a pair of each kind in the nearest state behind each initial state."""
    known: set[Hashable] = set()
    found = []
    for state in scenery.states():
        initial, _ = scenery.find_setup(state)
        labelled = list_labels(scenery, state)
        for one, other in combinations_with_replacement(labelled, 2):
            told = tell(one, other)
            if told is None or (initial, told) in known:
                continue
            pair = (one[1], other[1])
            if can_race(scenery.stage.machine.name, state, pair):
                known.add((initial, told))
                found.append((state, pair))
    return found


def find_nearest_calls(scenery: Scenery) -> list[tuple[Any, Any]]:
    """Return a call with each label, in the nearest state with all stores, and that state."""
    found: dict[Label, tuple[Any, Any]] = {}
    for state in scenery.states():
        if has_absent_store(state):
            continue
        for label, action in list_labels(scenery, state):
            if label not in found and can_race(scenery.stage.machine.name, state, (action,)):
                found[label] = (state, action)
    return list(found.values())


def list_lock_takers(machine: str, scope: Any) -> list[Any]:
    """Return calls that take the lock of each store that exists, and change nothing in it."""
    if machine == "admission":
        return [Init(scope.limits)]
    return [*(InitLedger(file, file) for file in scope.ledgers), InitReceiver()]

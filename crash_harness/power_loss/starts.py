"""Where recordings start, and which calls are taken there: all of a scope, or drawn sequences."""

import random
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from crash_harness.power_loss.recording import Recording, forget_hands
from crash_harness.power_loss.workloads import Checkpoint, Start, Workshop
from model.admission_vocabulary import Init
from model.checking.trace_explanation import NARRATORS
from model.reservation_vocabulary import Crash, InitLedger, InitReceiver

CHECKPOINT_MODES = ("passive", "full", "restart", "truncate")
CHECKPOINT_SHARE = 0.3
"""How often a checkpoint follows a call of a sequence."""


def reach_states(workshop: Workshop) -> dict[Any, Start]:
    """Return every state of the scope with the databases that the implementation made on the way.

    States that differ only in what processes hold have databases of their own.
    """
    machine, scope = workshop.machine, workshop.scope
    known: dict[Any, Start] = {}
    for state in machine.initial_states(scope):
        workshop.restore(workshop.absent, state)
        workshop.install(state)
        workshop.subject.observe()
        for place in workshop.places:
            place.close()
        known[state] = Start(state, workshop.images(), state)
    frontier = list(known)
    for state in frontier:
        for action in machine.offered_actions(scope, state):
            after, _ = machine.step(state, action)
            if after not in known:
                workshop.restore(known[state].images, state)
                step = workshop.take(state, action)
                known[after] = known[state].then(step, workshop.images())
                frontier.append(after)
    return known


def describe_action(machine: str, action: Any) -> str:
    """Return a call in words, which are the title of its recording."""
    return NARRATORS[machine].describe_action(action)


def record_calls(
    workshop: Workshop,
    known: Mapping[Any, Start],
    chosen: Sequence[tuple[Any, Any]],
    seed: int,
) -> Iterator[Recording]:
    """Yield a recording of each of these calls from its state."""
    for number, (state, action) in enumerate(chosen):
        title = describe_action(workshop.machine.name, action)
        yield workshop.record(title, known[state], (action,), seed=seed + number)


def all_calls(workshop: Workshop, known: Mapping[Any, Start]) -> list[tuple[Any, Any]]:
    """Return every call of the scope that touches the storage, from every state."""
    return [
        (state, action)
        for state in known
        for action in workshop.machine.offered_actions(workshop.scope, state)
        if not isinstance(action, Crash)
    ]


def changing_calls(workshop: Workshop, calls: Sequence[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
    """Return the calls that change the durable state."""
    name = workshop.machine.name
    return [
        (state, action)
        for state, action in calls
        if forget_hands(name, workshop.machine.step(state, action)[0]) != forget_hands(name, state)
    ]


def prepare(workshop: Workshop) -> Start:
    """Return the start at which every store was just created."""
    machine, scope = workshop.machine, workshop.scope
    state = machine.initial_states(scope)[0]
    start = Start(state, workshop.absent, state)
    workshop.restore(workshop.absent, state)
    for action in machine.offered_actions(scope, state):
        if isinstance(action, Init | InitLedger | InitReceiver):
            start = start.then(workshop.take(start.state, action), workshop.images())
    return start


def draw_sequence(workshop: Workshop, state: Any, length: int, chance: random.Random) -> list[Any]:
    """Return a walk over calls that change the durable state, with checkpoints in between."""
    entries: list[Any] = []
    for _ in range(length):
        offered = workshop.machine.offered_actions(workshop.scope, state)
        calls = [(state, action) for action in offered if not isinstance(action, Crash)]
        changing = changing_calls(workshop, calls)
        if not changing:
            break
        # Kinds first: there are many ways to admit, and one to claim.
        kind = chance.choice(sorted({type(action).__name__ for _, action in changing}))
        _, action = chance.choice([call for call in changing if type(call[1]).__name__ == kind])
        state, _ = workshop.machine.step(state, action)
        entries.append(action)
        if chance.random() < CHECKPOINT_SHARE:
            entries.append(Checkpoint(chance.choice(CHECKPOINT_MODES)))
    return entries

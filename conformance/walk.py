"""The seeded walk: long random sequences of calls on a real file store, in lockstep with the model.

Where the exhaustive walk restores databases, this one goes on: write-ahead log, checkpoints and
restarts of real files, one after another. It prefers calls that it has not yet taken from the
state at hand, and reports which share of the scope's states and transitions it has seen.
Same seed, same walk.
"""

import contextlib
import random
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from conformance.implementation import Implementation
from conformance.lockstep import check_call, check_snapshot
from conformance.place import scratch_folder
from conformance.sqlite import make_subject
from conformance.subject import Divergence, Subject, describe_error
from model.checking.explore import Verdict
from model.checking.trace import Trace, TraceStep
from model.machine import Machine, action_name, outcome_name
from model.scopes import MACHINES

NOVELTY = 0.7
"""How often the next call is on the way to one that was not taken before."""
REOPEN = 0.02
"""How often everything is closed and opened again."""
HORIZON_STATES = 60
MOST_STEPS_OF_A_STORE = 400
SHRINK_REPLAYS = 400


@dataclass(frozen=True, slots=True)
class Walk:
    """What a walk has covered.

    `states` and `transitions` are distinct; the scope's own numbers stand beside them.
    `found` is where implementation and model part, with the way there after shrinking.
    """

    machine: str
    scope: str
    seed: int
    steps: int
    stores: int
    reopened: int
    states: int
    states_of_scope: int
    transitions: int
    transitions_of_scope: int
    outcomes: dict[tuple[str, str], int]
    found: tuple[Divergence, Trace] | None
    seconds: float

    @property
    def verdict(self) -> Verdict:
        """Fail where the two part; undetermined without a step."""
        if self.found:
            return Verdict.FAIL
        return Verdict.PASS if self.steps else Verdict.UNDETERMINED


@dataclass(slots=True)
class _Memory:
    """What a walk remembers over all its stores."""

    states: set[Any] = field(default_factory=set)
    transitions: set[tuple[Any, Any]] = field(default_factory=set)
    outcomes: Counter[tuple[str, str]] = field(default_factory=Counter)
    steps: int = 0
    reopened: int = 0


def _plan(
    machine: Machine[Any, Any, Any], scope: Any, state: Any, memory: _Memory, chance: random.Random
) -> list[Any]:
    """Return the next calls: the shortest way to one that leads on and was not taken yet.

    Now and then it is any call, refused ones too; where no new call is near, it is any that
    leads on.
    """
    offered = list(machine.offered_actions(scope, state))
    if chance.random() > NOVELTY:
        return [chance.choice(offered)]
    ways: list[tuple[Any, list[Any]]] = [(state, [])]
    known = {state}
    for here, way in ways:
        actions = list(machine.offered_actions(scope, here))
        chance.shuffle(actions)
        for action in actions:
            after, _ = machine.step(here, action)
            if after == here:
                continue
            if (here, action) not in memory.transitions:
                return [*way, action]
            if after not in known and len(known) < HORIZON_STATES:
                known.add(after)
                ways.append((after, [*way, action]))
    return ways[-1][1] or [chance.choice(offered)]


def _walk_one_store(
    walker: tuple[Machine[Any, Any, Any], Any, Any],
    subject: Subject,
    memory: _Memory,
    chance: random.Random,
    most_steps: int,
) -> tuple[Divergence, list[Any]] | None:
    """Walk on one store until nothing leads on, and return where the two part, with the calls."""
    machine, scope, state = walker
    divergence = _start(machine, subject, state)
    if divergence is not None:
        return divergence, []
    image = subject.image()
    taken: list[Any] = []
    plan: list[Any] = []
    memory.states.add(state)
    for _ in range(min(most_steps, MOST_STEPS_OF_A_STORE)):
        plan = plan or _plan(machine, scope, state, memory, chance)
        action = plan.pop(0)
        taken.append(action)
        memory.steps += 1
        checked = check_call(machine, subject, state, image, action)
        memory.outcomes[action_name(type(action)), outcome_name(checked.outcome)] += 1
        if checked.divergence is not None:
            return checked.divergence, taken
        if checked.after != state:
            memory.transitions.add((state, action))
        state = checked.after
        memory.states.add(state)
        if chance.random() < REOPEN:
            memory.reopened += 1
            subject.reopen()
        image = subject.image()
        divergence = check_snapshot(machine, subject, state, image)
        if divergence is not None:
            return divergence, taken
        if all(
            machine.step(state, each)[0] == state for each in machine.offered_actions(scope, state)
        ):
            break
    return None


def replay(
    machine: Machine[Any, Any, Any], state: Any, subject: Subject, actions: list[Any]
) -> Divergence | None:
    """Take calls from an initial state, and return where implementation and model part."""
    divergence = _start(machine, subject, state)
    for action in actions:
        if divergence is not None:
            break
        checked = check_call(machine, subject, state, subject.image(), action)
        state = checked.after
        divergence = checked.divergence
        if divergence is None:
            divergence = check_snapshot(machine, subject, state, subject.image())
    return divergence


def _start(machine: Machine[Any, Any, Any], subject: Subject, state: Any) -> Divergence | None:
    """Bring a fresh subject to an initial state; the implementation may fail to make it."""
    try:
        subject.install(state)
    except Exception as error:  # noqa: BLE001 - whatever comes out is what is being judged
        wanted = f"the initial state {state}"
        return Divergence("exception", "start", wanted, describe_error(error))
    return check_snapshot(machine, subject, state, subject.image())


def _shrink(
    walker: tuple[Machine[Any, Any, Any], Any, Any],
    actions: list[Any],
    diverges: Callable[[list[Any]], bool],
) -> list[Any]:
    """Leave out calls, in ever smaller runs, as long as the two still part; bounded."""
    replays = 0
    length = len(actions) // 2
    while length and replays < SHRINK_REPLAYS:
        start = 0
        while start < len(actions) and replays < SHRINK_REPLAYS:
            shorter = actions[:start] + actions[start + length :]
            replays += 1
            if _is_possible(walker, shorter) and diverges(shorter):
                actions = shorter
            else:
                start += length
        length //= 2
    return actions


def _is_possible(walker: tuple[Machine[Any, Any, Any], Any, Any], actions: list[Any]) -> bool:
    """Tell whether the environment can take these calls: a permit is in the hand that sends it."""
    machine, scope, state = walker
    for action in actions:
        if action not in machine.offered_actions(scope, state):
            return False
        state, _ = machine.step(state, action)
    return True


def run_walk(
    machine_name: str,
    scope: Any,
    *,
    seed: int,
    steps: int,
    implementation: Implementation | None = None,
    progress: Callable[[int], None] = lambda _steps: None,
) -> Walk:
    """Walk for a number of steps, over as many stores as it takes."""
    machine = MACHINES[machine_name]
    chance = random.Random(seed)
    memory = _Memory()
    started = time.perf_counter()
    found: tuple[Divergence, Trace] | None = None
    stores = 0
    with scratch_folder() as folder:

        def open_subject() -> Subject:
            nonlocal stores
            stores += 1
            own = Path(folder, str(stores))
            own.mkdir()
            return make_subject(machine_name, scope, own, implementation=implementation)

        initial_states = machine.initial_states(scope)
        while memory.steps < steps and found is None:
            initial = initial_states[stores % len(initial_states)]
            walker = (machine, scope, initial)
            with contextlib.closing(open_subject()) as subject:
                parted = _walk_one_store(walker, subject, memory, chance, steps - memory.steps)
            progress(memory.steps)
            if parted is not None:
                found = _shorten(walker, open_subject, *parted)
    expected = scope.expected
    return Walk(
        machine=machine_name,
        scope=scope.name,
        seed=seed,
        steps=memory.steps,
        stores=stores,
        reopened=memory.reopened,
        states=len(memory.states),
        states_of_scope=expected.states if expected else 0,
        transitions=len(memory.transitions),
        transitions_of_scope=expected.transitions if expected else 0,
        outcomes=dict.fromkeys(machine.pairs(), 0) | dict(memory.outcomes),
        found=found,
        seconds=time.perf_counter() - started,
    )


def _shorten(
    walker: tuple[Machine[Any, Any, Any], Any, Any],
    open_subject: Callable[[], Subject],
    divergence: Divergence,
    actions: list[Any],
) -> tuple[Divergence, Trace]:
    """Shrink the calls, and return their divergence and the model's trace of them."""
    machine, scope, initial = walker

    def replay_anew(calls: list[Any]) -> Divergence | None:
        with contextlib.closing(open_subject()) as subject:
            return replay(machine, initial, subject, calls)

    actions = _shrink(walker, actions, lambda calls: replay_anew(calls) is not None)
    divergence = replay_anew(actions) or divergence
    state = initial
    trace_steps = []
    for action in actions:
        state, outcome = machine.step(state, action)
        trace_steps.append(TraceStep(action, outcome, state))
    return divergence, Trace(machine.name, scope.name, initial, tuple(trace_steps))

"""The calls that die inside COMMIT: one of each kind of step that changes the durable state."""

import functools
from dataclasses import dataclass
from typing import Any

from model.machine import action_name, outcome_name
from model.reservation_vocabulary import Attempt, Send
from model.scopes import MACHINES, SCOPES

_CREATES = ("init", "init_ledger", "init_receiver")


@dataclass(frozen=True, slots=True)
class DeathCase:
    """A call from a state that calls lead to; `way` are those calls."""

    machine: str
    way: tuple[Any, ...]
    before: Any
    action: Any
    after: Any

    @property
    def name(self) -> str:
        """The name of the action."""
        return action_name(type(self.action))


@functools.cache
def find_death_cases(machine_name: str) -> tuple[DeathCase, ...]:
    """Search TINY breadth first for the nearest call of each kind that changes something.

    A program of several commits is left out: its steps are here. So is a creation, whose file
    nobody else can have open.
    """
    machine, scope = MACHINES[machine_name], SCOPES[machine_name]["TINY"]
    found: dict[tuple[str, str], DeathCase] = {}
    initial = machine.initial_states(scope)[0]
    ways: dict[Any, tuple[Any, ...]] = {initial: ()}
    for state in (queue := [initial]):
        for action in machine.offered_actions(scope, state):
            after, outcome = machine.step(state, action)
            if isinstance(action, Attempt | Send) or after == state:
                continue
            key = (action_name(type(action)), outcome_name(outcome))
            if key[0] not in (*_CREATES, "crash"):
                case = DeathCase(machine_name, ways[state], state, action, after)
                found.setdefault(key, case)
            if after not in ways:
                ways[after] = (*ways[state], action)
                queue.append(after)
    return tuple(found.values())

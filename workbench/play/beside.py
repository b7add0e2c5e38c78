"""A mutant of the model, run beside the model: each call is taken by both.

A mutant is a changed copy whose classes are its own. What it says is told in the words of the real
model, where they have words for it; its own values are kept, because it goes on from them.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from conformance.changed_source import load_changed_specification
from conformance.mutants.catalogue import MUTANTS, find_mutant
from conformance.mutants.mutant import Mutant
from model.checking.trace_shapes import VOCABULARIES, adopt, find_fields, find_shape
from model.machine import Machine, Scope


@dataclass(frozen=True, slots=True)
class Sight:
    """What the mutant shows after a step, or at the start.

    `outcome` and `state` are in the words of the real model, `own_*` are the mutant's.
    `problem` says why there is nothing to show: the mutant raised an error, or it is in a state
    that the model has no words for; after that it takes no step.
    """

    outcome: Any = None
    state: Any = None
    own_action: Any = None
    own_outcome: Any = None
    own_state: Any = None
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Beside:
    """A mutant of a machine within a scope."""

    mutant: Mutant
    machine: Machine[Any, Any, Any]
    scope: Scope

    def begin(self, start: int) -> Sight:
        """Return what the mutant shows in an initial state."""
        states = self.machine.initial_states(self.scope)
        if start >= len(states):
            return Sight(problem="it has no such initial state")
        return self._see(Sight(own_state=states[start]))

    def take(self, before: Sight, action: Any) -> Sight:
        """Return what the mutant shows after this call of the real model's vocabulary."""
        if before.problem:
            return Sight(problem=before.problem)
        try:
            own = self.translate(action)
            after, outcome = self.machine.step(before.own_state, own)
        except Exception as error:  # noqa: BLE001 - a mistake may show as any exception
            return Sight(problem=f"it raised {type(error).__name__}: {error}")
        return self._see(Sight(own_action=own, own_outcome=outcome, own_state=after))

    def offered_actions(self, at: Sight) -> tuple[Any, ...]:
        """Return what the mutant's scope offers in its state, in the real model's vocabulary."""
        if at.problem:
            return ()
        shape = find_shape(VOCABULARIES[self.machine.name].action)
        try:
            offered = self.machine.offered_actions(self.scope, at.own_state)
            return tuple(adopt(action, shape) for action in offered)
        except Exception:  # noqa: BLE001 - then the calls of the model are all that can be taken
            return ()

    def translate(self, action: Any) -> Any:
        """Return a call of the real model in the mutant's vocabulary."""
        kinds = {kind.__name__: kind for kind in self.machine.steps}
        return adopt(action, find_fields(kinds[type(action).__name__]))

    def _see(self, sight: Sight) -> Sight:
        vocabulary = VOCABULARIES[self.machine.name]
        try:
            state = adopt(sight.own_state, find_shape(vocabulary.state))
            outcome = None
            if sight.own_outcome is not None:
                outcome = adopt(sight.own_outcome, find_shape(vocabulary.outcome))
        except ValueError as error:
            return Sight(problem=f"the model has no words for it: {error}")
        return Sight(outcome, state, sight.own_action, sight.own_outcome, sight.own_state)


def list_mutants(machine: str, scope: str) -> tuple[Mutant, ...]:
    """Return the mutants of a machine's model, those that are made for this scope first."""
    mutants = [each for each in MUTANTS if each.is_of_the_model and each.machine == machine]
    return tuple(sorted(mutants, key=lambda each: each.scope != scope))


@lru_cache(maxsize=32)
def load_beside(name: str, machine: str, scope: str) -> Beside:
    """Return a mutant of a machine's model in a scope; `LookupError` if there is none."""
    mutant = find_mutant(name)
    if not mutant.is_of_the_model or mutant.machine != machine:
        raise LookupError(f"{name!r} is no mutant of the {machine} model")
    version = load_changed_specification(mutant.changes)
    return Beside(mutant, version.machines[machine], version.scopes[machine][scope])

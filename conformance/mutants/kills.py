"""How an engine is set on a mutant, and what a kill is.

An engine here is a function of a mutant and a seed that returns a `Kill`, or None where the
mutant has survived. `exhaustive` and `explore` search a scope completely, and need no seed; `walk`
draws lots.
The engines of the packages above this one are handed to `matrix` by whoever calls it.
"""

from collections.abc import Callable
from dataclasses import dataclass

from conformance.changed_source import load_changed_implementation, load_changed_specification
from conformance.exhaustive import Found, check_exhaustively
from conformance.mutants.mutant import Engine, Mutant
from conformance.walk import run_walk
from model.checking.explore import Exploration, explore
from model.scopes import MACHINES, SCOPES

EXPLORE_BUDGET_STATES = 3000
"""Enough for every mutant's killer, and for all that breaks in TINY; `run` goes to the end."""
EXHAUSTIVE_BUDGET_STATES = 3000
WALK_STEPS = 1000


class Survived(LookupError):
    """The engine has searched the scope and found nothing wrong."""


@dataclass(frozen=True, slots=True)
class Kill:
    """What killed a mutant: kinds of divergence or names of properties, and the way there."""

    by: tuple[str, ...]
    length: int


EngineRun = Callable[[Mutant, int], Kill | None]


@dataclass(frozen=True, slots=True)
class EngineEntry:
    """An engine as the matrix knows it; `run` is a function of a module, found by its name.

    An engine that draws lots runs with several seeds. One that is slow is set on the mutants that
    name it alone, unless all are asked for.
    """

    engine: Engine
    run: EngineRun
    draws_lots: bool = False
    is_of_the_model: bool = False
    is_slow: bool = False

    def suits(self, mutant: Mutant, *, takes_time: bool = False) -> bool:
        """Tell whether the engine is to be set on this mutant."""
        is_wanted = takes_time or not self.is_slow or mutant.engine is self.engine
        return is_wanted and mutant.is_of_the_model is self.is_of_the_model


def kill_by_exhaustive(mutant: Mutant) -> Found:
    """Return a shortest divergence of a mutant of the implementation from the model.

    No trace of the scope from the same initial state is shorter: the search is breadth first and
    ends with the first level in which a call diverges. In every state of the earlier levels each
    call of the scope was taken on the changed implementation, from the database that it had made
    itself, and agreed with the model in outcome and state. (A mistake that depends on more than
    the state of the model, on the order of rows for example, may have shorter traces by another
    way to the same state.) An initial state is searched only if none before it, the absent store
    first, leads to a divergence.

    `Survived` if the scope, or `EXHAUSTIVE_BUDGET_STATES` of it, shows none.
    """
    found = check_exhaustively(
        mutant.machine,
        SCOPES[mutant.machine][mutant.scope],
        implementation=load_changed_implementation(mutant.changes),
        state_budget=EXHAUSTIVE_BUDGET_STATES,
    ).found
    if not found:
        raise Survived(f"{mutant.name} survives {mutant.scope}")
    return min(found, key=lambda each: len(each.trace))


def explore_mutant(mutant: Mutant, state_budget: int = EXPLORE_BUDGET_STATES) -> Exploration:
    """Search a mutant of the model, past violations, so that every broken property shows.

    The properties are those of the tree; only steps, words or scopes are changed.
    """
    version = load_changed_specification(mutant.changes)
    scopes = version.scopes[mutant.machine]
    return explore(
        version.machines[mutant.machine],
        scopes[mutant.scope],
        stops_at_violation=False,
        state_budget=state_budget,
    )


def find_broken(mutant: Mutant, found: Exploration) -> tuple[str, ...]:
    """Return the properties that a mutant of the model breaks, those with a shortest trace first.

    Properties that only restate a decision of a step (`Machine.answers`) catch much of what the
    others catch, and are left out unless the mutant is meant for one of them.
    """
    answers = {check.__name__ for check in MACHINES[mutant.machine].answers}
    counted = sorted(found.violations, key=lambda each: len(each.trace))
    names = tuple(each.property_name for each in counted)
    if mutant.killer in answers:
        return names
    return tuple(name for name in names if name not in answers)


def run_exhaustive(mutant: Mutant, seed: int) -> Kill | None:  # noqa: ARG001 - an engine has a seed
    """Set exhaustive conformance on a mutant of the implementation."""
    try:
        found = kill_by_exhaustive(mutant)
    except Survived:
        return None
    return Kill((found.divergence.kind,), len(found.trace))


def run_explore(mutant: Mutant, seed: int) -> Kill | None:  # noqa: ARG001 - an engine has a seed
    """Search a mutant of the model, and return the properties that break."""
    found = explore_mutant(mutant)
    if not found.violations:
        return None
    length = min(len(violation.trace) for violation in found.violations)
    return Kill(find_broken(mutant, found), length)


def run_seeded_walk(mutant: Mutant, seed: int) -> Kill | None:
    """Walk on a mutant of the implementation, on files as in production."""
    walk = run_walk(
        mutant.machine,
        SCOPES[mutant.machine][mutant.scope],
        seed=seed,
        steps=WALK_STEPS,
        implementation=load_changed_implementation(mutant.changes),
    )
    if walk.found is None:
        return None
    divergence, trace = walk.found
    return Kill((divergence.kind,), len(trace))


ENGINES = (
    EngineEntry(Engine.EXPLORE, run_explore, is_of_the_model=True),
    EngineEntry(Engine.EXHAUSTIVE, run_exhaustive),
    EngineEntry(Engine.WALK, run_seeded_walk, draws_lots=True),
)
"""The engines of this package and those below."""

"""The states of a small scope with the steps between them, recorded while a search takes them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from model.checking.explore import Exploration
from model.machine import Machine, Scope, property_sentence

MOST_STATES = 500


@dataclass(frozen=True, slots=True)
class Step:
    """A step that changes the state: the numbers of both states, the action and the outcome."""

    source: int
    target: int
    action: Any
    outcome: Any


@dataclass(slots=True)
class GraphRecorder:
    """Collects the states of a search; it stands among the step properties, and always holds.

    Beyond `MOST_STATES` it gives up, and `has_given_up` says so.
    """

    machine: Machine[Any, Any, Any]
    scope: Scope
    is_symmetric: bool
    numbers: dict[Any, int] = field(default_factory=dict)
    steps: list[Step] = field(default_factory=list)
    refusals: dict[int, int] = field(default_factory=dict)
    has_given_up: bool = False

    def __call__(self, before: Any, action: Any, outcome: Any, after: Any) -> None:
        """Note the step."""
        if self.has_given_up:
            return
        source = self.number(before)
        target = source if after == before else self.number(after)
        if target == source:
            self.refusals[source] = self.refusals.get(source, 0) + 1
        else:
            self.steps.append(Step(source, target, action, outcome))
        self.has_given_up = len(self.numbers) > MOST_STATES

    def number(self, state: Any) -> int:
        """Return the number of a state, in the order in which a search reaches them."""
        known = self.machine.canonical(self.scope, state) if self.is_symmetric else state
        return self.numbers.setdefault(known, len(self.numbers))


@dataclass(frozen=True, slots=True)
class StateGraph:
    """The states by number, how deep each is, and by which step a search came to it first.

    `witnesses` and `broken` have sentences for the states in which a step shows a witness, or
    after which a property is false; `ends` are the states that no step leaves.
    """

    states: tuple[Any, ...]
    steps: tuple[Step, ...]
    refusals: Mapping[int, int]
    depths: tuple[int, ...]
    parents: Mapping[int, Step]
    ends: frozenset[int]
    witnesses: Mapping[int, tuple[str, ...]]
    broken: Mapping[int, tuple[str, ...]]


def build_graph(recorder: GraphRecorder, found: Exploration) -> StateGraph | None:
    """Return the graph of what was recorded, None if the scope was too large for it."""
    if recorder.has_given_up or not recorder.numbers:
        return None
    parents: dict[int, Step] = {}
    starts = {recorder.number(each) for each in recorder.machine.initial_states(recorder.scope)}
    depths = dict.fromkeys(starts, 0)
    for step in recorder.steps:  # breadth first: the first step to a state is on a shortest way
        if step.target not in depths and step.source in depths:
            depths[step.target] = depths[step.source] + 1
            parents[step.target] = step
    sentences = {each.__name__: property_sentence(each) for each in recorder.machine.witnesses}
    witnesses: dict[int, tuple[str, ...]] = {}
    for name, trace in found.witnesses.items():
        number = recorder.number(trace.states[-1])
        witnesses[number] = (*witnesses.get(number, ()), sentences[name])
    broken: dict[int, tuple[str, ...]] = {}
    for violation in found.violations:
        number = recorder.number(violation.trace.states[-1])
        broken[number] = (*broken.get(number, ()), violation.sentence)
    states = tuple(recorder.numbers)
    return StateGraph(
        states=states,
        steps=tuple(recorder.steps),
        refusals=recorder.refusals,
        depths=tuple(depths.get(number, 0) for number in range(len(states))),
        parents=parents,
        ends=frozenset(recorder.number(state) for state in found.deadlocks),
        witnesses=witnesses,
        broken=broken,
    )

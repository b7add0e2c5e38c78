"""Breadth-first search of every state that a scope can reach.

Breadth first, so that the first way found to a state, a violation or a witness is a shortest one.
Every call that the scope offers is evaluated in every state, refused ones too, and counted by
action and outcome: a count by action alone would not show a dead branch. Nothing is printed here.

States are compared by value. The search never looks into a state: it knows a `Machine`.
"""

import gc
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise
from typing import Any

from model.checking.trace import Trace, TraceStep, Violation
from model.machine import (
    Expected,
    Machine,
    Scope,
    Word,
    action_name,
    outcome_name,
    property_sentence,
)

DEFAULT_STATE_BUDGET = 5_000_000
MOST_BOUND = 4096


class Verdict(StrEnum):
    """What a check has shown; undetermined never passes."""

    PASS = "pass"
    FAIL = "fail"
    UNDETERMINED = "undetermined"


class Watch(Word):
    """On which calls a search evaluates the step properties.

    Witnesses are looked for on every call or not at all: most of them are about a refusal.
    """

    EVERY_CALL = "every call"
    CHANGES = "changes"
    NOTHING = "nothing"


@dataclass(frozen=True, slots=True)
class Exploration:
    """What a search of a scope has seen.

    `outcomes` counts calls by (action, outcome). `deadlocks` are states in which no offered
    call changes anything: the ends of the scope. `problems` are sentences that make the verdict
    `fail` though every property holds: a count that is not the recorded one, a pair or a witness
    that is missing, or one that is listed as unreachable and is not.
    """

    machine: str
    scope: str
    is_symmetric: bool
    states: int
    transitions: int
    calls: int
    depth: int
    outcomes: dict[tuple[str, str], int]
    witnesses: dict[str, Trace]
    deadlocks: tuple[Any, ...]
    violations: tuple[Violation, ...]
    problems: tuple[str, ...]
    is_complete: bool
    seconds: float

    @property
    def verdict(self) -> Verdict:
        """Fail if anything is wrong; undetermined if the budget ended the search."""
        if self.violations:
            return Verdict.FAIL
        if not self.is_complete:
            return Verdict.UNDETERMINED
        return Verdict.FAIL if self.problems else Verdict.PASS

    @property
    def counts(self) -> Expected:
        """The four numbers that a scope records."""
        return Expected(self.states, self.transitions, self.calls, self.depth)


@contextmanager
def no_garbage_collection() -> Iterator[None]:
    """Keep the cyclic collector out of a search: states hold no cycles, and it walks them all."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


class _Search:
    """The state of one search: what is visited, counted, and still looked for."""

    def __init__(
        self,
        machine: Machine[Any, Any, Any],
        scope: Scope,
        *,
        is_symmetric: bool,
        stops_at_violation: bool,
    ) -> None:
        self.machine = machine
        self.scope = scope
        self.is_symmetric = is_symmetric
        self.stops_at_violation = stops_at_violation
        self.parents: dict[Any, tuple[Any, Any] | None] = {}
        self.tallies: dict[type[Any], defaultdict[Any, int]] = {
            kind: defaultdict(int) for kind in machine.steps
        }
        self.bound: dict[int, tuple[Any, list[Any]]] = {}
        self.transitions = 0
        self.deadlocks: list[Any] = []
        self.broken: dict[str, Violation] = {}
        self.missing_witnesses = list(machine.witnesses)
        self.found_witnesses: dict[str, tuple[Any, Any]] = {}

    def has_ended(self) -> bool:
        """Tell whether a violation ends the search."""
        return self.stops_at_violation and len(self.broken) > 0

    def visit_initial(self, state: Any) -> list[Any]:
        """Register an initial state, and return it if it is new."""
        start = self.machine.canonical(self.scope, state) if self.is_symmetric else state
        if start in self.parents:
            return []
        self.parents[start] = None
        self.check_invariants(start)
        return [start]

    def bind(self, offered: Sequence[Any]) -> list[Any]:
        """Return the step, the action and the tally of each call.

        A scope may offer the very same tuple in many states; those are bound once.
        """
        known = self.bound.get(id(offered))
        if known is not None and known[0] is offered:
            return known[1]
        steps, tallies = self.machine.steps, self.tallies
        calls = [(steps[type(each)], each, tallies[type(each)]) for each in offered]
        if len(self.bound) < MOST_BOUND:
            self.bound[id(offered)] = (offered, calls)
        return calls

    def expand(self, state: Any, watch: Watch) -> list[Any]:
        """Take every offered call from a state, and return the states that are new."""
        parents, scope, machine = self.parents, self.scope, self.machine
        watches_refusals, watches_changes = watch is Watch.EVERY_CALL, watch is not Watch.NOTHING
        changes = 0
        fresh = []
        for step, action, tally in self.bind(machine.offered_actions(scope, state)):
            after, outcome = step(state, action)
            tally[outcome] += 1
            if after is state and not watches_refusals:
                continue
            if watches_changes:
                self.watch_properties(state, action, outcome, after)
            if watches_refusals:
                self.watch_witnesses(state, action, outcome, after)
                if after is state:
                    continue
            reached = machine.canonical(scope, after) if self.is_symmetric else after
            link = (state, action)
            if parents.setdefault(reached, link) is link:
                changes += 1
                fresh.append(reached)
                self.check_invariants(reached)
            elif after != state:
                changes += 1
        self.transitions += changes
        if not changes:
            self.deadlocks.append(state)
        return fresh

    def expand_level(self, level: list[Any], state_budget: int, watch: Watch) -> list[Any]:
        """Expand every state of a level, and return the next level; a part of it at the budget."""
        following: list[Any] = []
        for state in level:
            following += self.expand(state, watch)
            if len(self.parents) > state_budget:
                break
        return following

    def check_invariants(self, state: Any) -> None:
        """Evaluate every invariant in a state that is new."""
        for check in self.machine.invariants:
            clause = check(state)
            if clause is not None and check.__name__ not in self.broken:
                trace = self.trace_to(state)
                clause = check(trace.states[-1]) or clause  # with the names of the trace
                self.report("invariant", check, clause, trace)

    def watch_properties(self, before: Any, action: Any, outcome: Any, after: Any) -> None:
        """Evaluate every step property on one call."""
        for check in self.machine.step_properties:
            clause = check(before, action, outcome, after)
            if clause is not None and check.__name__ not in self.broken:
                trace = self.extend_showing(self.trace_to(before), action, check)
                last = trace.steps[-1]
                shown = check(trace.states[-2], last.action, last.outcome, last.after)
                self.report("step property", check, shown or clause, trace)

    def watch_witnesses(self, before: Any, action: Any, outcome: Any, after: Any) -> None:
        """Look for the witnesses that are still missing in one call."""
        for witness in tuple(self.missing_witnesses):
            if witness(before, action, outcome, after):
                self.found_witnesses[witness.__name__] = (before, action)
                self.missing_witnesses.remove(witness)

    def report(self, kind: str, check: Callable[..., Any], clause: str, trace: Trace) -> None:
        """Keep the first violation of a property: breadth first, so it is a shortest one."""
        name = check.__name__
        self.broken[name] = Violation(kind, name, property_sentence(check), clause, trace)

    def extend(self, trace: Trace, action: Any) -> Trace:
        """Return the trace with one more action, taken by the machine."""
        after, outcome = self.machine.step(trace.states[-1], action)
        steps = (*trace.steps, TraceStep(action, outcome, after))
        return Trace(trace.machine, trace.scope, trace.initial, steps)

    def extend_showing(self, trace: Trace, action: Any, case: Callable[..., Any]) -> Trace:
        """Return the trace with one more action, which shows what a representative has shown.

        `case` is a step property that says what is wrong, or a witness. Under symmetry the trace
        may end in another state of the class, where another action has the same meaning.
        """
        if not self.is_symmetric:
            return self.extend(trace, action)
        before = trace.states[-1]
        for candidate in self.machine.offered_actions(self.scope, before):
            after, outcome = self.machine.step(before, candidate)
            if case(before, candidate, outcome, after):
                return self.extend(trace, candidate)
        message = f"{self.scope.name}: no action from {before} shows {case.__name__}"
        raise AssertionError(message)

    def trace_to(self, state: Any) -> Trace:
        """Return a shortest trace to a visited state.

        Under symmetry the visited states are representatives: from one to the next some offered
        action leads, and it is looked for again from the concrete state.
        """
        path = [state]
        actions: list[Any] = []
        while (link := self.parents[path[-1]]) is not None:
            path.append(link[0])
            actions.append(link[1])
        path.reverse()
        actions.reverse()
        trace = Trace(self.machine.name, self.scope.name, path[0], ())
        for action, (_, reached) in zip(actions, pairwise(path), strict=True):
            trace = self.extend(trace, self.find_action(trace.states[-1], action, reached))
        return trace

    def find_action(self, state: Any, action: Any, reached: Any) -> Any:
        """Return an action that leads from a concrete state into the class of `reached`."""
        if not self.is_symmetric:
            return action
        for candidate in self.machine.offered_actions(self.scope, state):
            after, _ = self.machine.step(state, candidate)
            if self.machine.canonical(self.scope, after) == reached:
                return candidate
        message = f"{self.scope.name}: no action leads from {state} into the class of {reached}"
        raise AssertionError(message)

    def count_outcomes(self) -> dict[tuple[str, str], int]:
        """Return the calls by (action, outcome), in the order of the protocol's table."""
        counts: dict[tuple[str, str], int] = dict.fromkeys(self.machine.pairs(), 0)
        for kind, tally in self.tallies.items():
            for outcome, count in tally.items():
                pair = (action_name(kind), outcome_name(outcome))
                counts[pair] = counts.get(pair, 0) + count
        return counts


def explore(
    machine: Machine[Any, Any, Any],
    scope: Scope,
    *,
    is_symmetric: bool | None = None,
    state_budget: int = DEFAULT_STATE_BUDGET,
    watch: Watch = Watch.EVERY_CALL,
    stops_at_violation: bool = True,
    progress: Callable[[int], None] = lambda _states: None,
) -> Exploration:
    """Search a scope breadth first and return what was seen.

    `watch` says on which calls the step properties are evaluated; every call, every invariant and
    the coverage of outcomes are evaluated in any case. Witnesses are looked for on every call only.
    The search ends after the level in which a violation was found, or once more than
    `state_budget` states are known (the verdict is then `undetermined`). Where a scope has several
    initial states, each is searched to its end before the next.
    """
    symmetric = scope.is_symmetric if is_symmetric is None else is_symmetric
    search = _Search(machine, scope, is_symmetric=symmetric, stops_at_violation=stops_at_violation)
    started = time.perf_counter()
    depth = 0
    level: list[Any] = []
    with no_garbage_collection():
        for initial in machine.initial_states(scope):
            level = search.visit_initial(initial)
            reached = 0
            while level and not search.has_ended() and len(search.parents) <= state_budget:
                level = search.expand_level(level, state_budget, watch)
                progress(len(search.parents))
                reached += bool(level)
            depth = max(depth, reached)
            if level:
                break
    return _conclude(
        search,
        depth=depth,
        is_complete=not level,
        watched=watch is Watch.EVERY_CALL,
        seconds=time.perf_counter() - started,
    )


def _conclude(
    search: _Search, *, depth: int, is_complete: bool, watched: bool, seconds: float
) -> Exploration:
    """Turn a search that has ended into its result."""
    outcomes = search.count_outcomes()
    cases = {witness.__name__: witness for witness in search.machine.witnesses}
    witnesses = {
        name: search.extend_showing(search.trace_to(before), action, cases[name])
        for name, (before, action) in search.found_witnesses.items()
    }
    missing = {" ".join(pair) for pair, count in outcomes.items() if not count}
    if watched:
        missing |= {witness.__name__ for witness in search.missing_witnesses}
    counts = Expected(len(search.parents), search.transitions, sum(outcomes.values()), depth)
    problems = []
    if is_complete and not search.broken:
        problems = _find_problems(search, outcomes, counts, missing, watched=watched)
    return Exploration(
        machine=search.machine.name,
        scope=search.scope.name,
        is_symmetric=search.is_symmetric,
        states=counts.states,
        transitions=counts.transitions,
        calls=counts.calls,
        depth=counts.depth,
        outcomes=outcomes,
        witnesses=witnesses,
        deadlocks=tuple(search.deadlocks),
        violations=_order_violations(search),
        problems=tuple(problems),
        is_complete=is_complete,
        seconds=seconds,
    )


def _order_violations(search: _Search) -> tuple[Violation, ...]:
    """Return the violations, shortest first; those that restate a decision stand behind."""
    answers = {check.__name__ for check in search.machine.answers}
    return tuple(
        sorted(
            search.broken.values(),
            key=lambda each: (len(each.trace), each.property_name in answers),
        )
    )


def _find_problems(
    search: _Search,
    outcomes: dict[tuple[str, str], int],
    counts: Expected,
    missing: set[str],
    *,
    watched: bool,
) -> list[str]:
    """Return what makes a complete search without a violation fail all the same."""
    scope = search.scope
    problems = [f"{name} was never seen" for name in sorted(missing - scope.unreachable.keys())]
    pairs = {" ".join(pair) for pair in outcomes}
    known = {" ".join(pair) for pair in search.machine.pairs()}
    problems += [f"{name} is in no row of the protocol's table" for name in sorted(pairs - known)]
    listed = set(scope.unreachable) if watched else set(scope.unreachable) & pairs
    problems += [
        f"{name} is listed as unreachable ({scope.unreachable[name]}), but was seen"
        for name in sorted(listed - missing)
    ]
    if scope.is_symmetric is search.is_symmetric and scope.expected != counts:
        problems.append(f"the recorded numbers are {scope.expected}, found were {counts}")
    return problems

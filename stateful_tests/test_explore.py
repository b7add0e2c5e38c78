"""The search of a scope: complete, shortest first, and never content with less than recorded."""

import dataclasses
from collections.abc import Callable
from typing import Any

import pytest

from model.checking.explore import Exploration, Verdict, Watch, explore
from model.checking.trace import Trace
from model.machine import Expected, Machine
from model.scopes import MACHINES, SCOPES

TINY = [(machine, SCOPES[name]["TINY"]) for name, machine in MACHINES.items()]
every_tiny = pytest.mark.parametrize(("machine", "scope"), TINY, ids=list(MACHINES))
MOST_LEVELS = 50


def changed(scope: Any, **changes: Any) -> Any:
    """Return the scope with other values."""
    return dataclasses.replace(scope, **changes)


def add_witness(
    machine: Machine[Any, Any, Any], witness: Callable[[Any, Any, Any, Any], bool]
) -> Machine[Any, Any, Any]:
    """Return the machine with one more witness."""
    return dataclasses.replace(machine, witnesses=(*machine.witnesses, witness))


def search_naively(machine: Machine[Any, Any, Any], scope: Any) -> dict[Any, int]:
    """Return each reachable state with its distance from the first initial state to reach it."""
    distances: dict[Any, int] = {}
    for initial in machine.initial_states(scope):
        level = {initial} - distances.keys()
        for distance in range(MOST_LEVELS):
            distances |= dict.fromkeys(level, distance)
            level = {
                machine.step(state, action)[0]
                for state in level
                for action in machine.offered_actions(scope, state)
            } - distances.keys()
    return distances


def replay(machine: Machine[Any, Any, Any], trace: Trace) -> None:
    """Assert that a trace is what the machine does."""
    state = trace.initial
    for each in trace.steps:
        after, outcome = machine.step(state, each.action)
        assert (each.outcome, each.after) == (outcome, after)
        state = after


def never(before: Any, action: Any, outcome: Any, after: Any) -> bool:  # noqa: ARG001 a witness
    """Nothing shows this."""
    return False


@every_tiny
def test_a_complete_search_visits_each_state_at_its_shortest_distance(
    machine: Machine[Any, Any, Any], scope: Any
) -> None:
    """A search for each single state, by an invariant that forbids it, has a shortest trace."""
    distances = search_naively(machine, scope)
    sample = list(distances)[::7]

    for target in sample:

        def never_there(state: Any, target: Any = target) -> str | None:
            """This state is not reached."""
            return "it is reached" if state == target else None

        seeking = dataclasses.replace(machine, invariants=(never_there,))
        (violation,) = explore(seeking, scope, watch=Watch.NOTHING).violations
        assert len(violation.trace) == distances[target]
        assert violation.trace.states[-1] == target
        replay(machine, violation.trace)


@every_tiny
def test_the_numbers_are_those_of_a_naive_search(
    machine: Machine[Any, Any, Any], scope: Any
) -> None:
    """States, calls, changes, depth and deadlocks are counted anew."""
    distances = search_naively(machine, scope)
    calls = {
        state: [machine.step(state, a)[0] for a in machine.offered_actions(scope, state)]
        for state in distances
    }
    changes = {state: sum(after != state for after in afters) for state, afters in calls.items()}

    result = explore(machine, scope)

    assert result.counts == Expected(
        states=len(distances),
        transitions=sum(changes.values()),
        calls=sum(len(afters) for afters in calls.values()),
        depth=max(distances.values()),
    )
    assert set(result.deadlocks) == {state for state, count in changes.items() if not count}
    assert len(result.deadlocks) == len(set(result.deadlocks))


@every_tiny
def test_a_witness_is_a_real_trace_that_ends_in_its_case(
    machine: Machine[Any, Any, Any], scope: Any
) -> None:
    """Each trace replays from an initial state, and its last step shows the witness."""
    result = explore(machine, scope)

    for witness in machine.witnesses:
        if witness.__name__ in scope.unreachable:
            continue
        trace = result.witnesses[witness.__name__]
        replay(machine, trace)
        last = trace.steps[-1]
        assert trace.initial in machine.initial_states(scope)
        assert witness(trace.states[-2], last.action, last.outcome, last.after)


@every_tiny
@pytest.mark.parametrize("state_budget", [1, 50])
def test_a_search_without_budget_is_undetermined(
    machine: Machine[Any, Any, Any], scope: Any, state_budget: int
) -> None:
    """It never passes, and it does not complain of what it has not seen."""
    result = explore(machine, scope, state_budget=state_budget)

    assert result.verdict is Verdict.UNDETERMINED
    assert not result.is_complete
    assert result.problems == ()


@every_tiny
def test_a_budget_of_exactly_the_states_is_enough(
    machine: Machine[Any, Any, Any], scope: Any
) -> None:
    """The budget is the most states that may be known."""
    states = scope.expected.states

    assert explore(machine, scope, state_budget=states).verdict is Verdict.PASS
    assert explore(machine, scope, state_budget=states - 1).verdict is Verdict.UNDETERMINED


@every_tiny
@pytest.mark.parametrize("field", [field.name for field in dataclasses.fields(Expected)])
@pytest.mark.parametrize("difference", [-1, 1])
def test_a_recorded_number_that_is_off_by_one_fails(
    machine: Machine[Any, Any, Any], scope: Any, field: str, difference: int
) -> None:
    """A search that silently shrank or grew is told by each of the four numbers."""
    number = getattr(scope.expected, field) + difference
    wrong = dataclasses.replace(scope.expected, **{field: number})

    result = explore(machine, changed(scope, expected=wrong))

    assert result.verdict is Verdict.FAIL
    assert str(number) in result.problems[0]


@every_tiny
def test_a_scope_that_nobody_has_counted_fails_with_its_numbers(
    machine: Machine[Any, Any, Any], scope: Any
) -> None:
    """The one problem tells what to record."""
    result = explore(machine, changed(scope, expected=None))

    assert result.verdict is Verdict.FAIL
    assert str(scope.expected) in " ".join(result.problems)


@every_tiny
def test_a_pair_that_is_neither_reached_nor_listed_fails(
    machine: Machine[Any, Any, Any], scope: Any
) -> None:
    """Each entry of the list is needed: without the list each one is a problem."""
    result = explore(machine, changed(scope, unreachable={}))

    assert result.verdict is Verdict.FAIL
    assert list(result.problems) == [f"{name} was never seen" for name in sorted(scope.unreachable)]


@every_tiny
def test_what_is_listed_as_unreachable_and_reached_fails(
    machine: Machine[Any, Any, Any], scope: Any
) -> None:
    """A list that has become too long is a lie about the scope, whatever it lists too much."""
    names = {" ".join(pair) for pair in machine.pairs()}
    names |= {witness.__name__ for witness in machine.witnesses}
    wrong = sorted(names - scope.unreachable.keys())
    longer = {**scope.unreachable, **dict.fromkeys(wrong, "a guess")}

    result = explore(machine, changed(scope, unreachable=longer))

    assert result.verdict is Verdict.FAIL
    assert list(result.problems) == [
        f"{name} is listed as unreachable (a guess), but was seen" for name in wrong
    ]


@every_tiny
def test_a_witness_that_nothing_shows_fails(machine: Machine[Any, Any, Any], scope: Any) -> None:
    """Unless nobody looks for witnesses."""
    demanding = add_witness(machine, never)

    watched = explore(demanding, scope)
    unwatched = explore(demanding, scope, watch=Watch.NOTHING)

    assert watched.problems == ("never was never seen",)
    assert watched.verdict is Verdict.FAIL
    assert unwatched.verdict is Verdict.PASS


@every_tiny
def test_an_outcome_that_is_in_no_row_fails(machine: Machine[Any, Any, Any], scope: Any) -> None:
    """A step that answers outside the protocol's table is a problem."""
    first = next(iter(machine.outcomes))
    shorter = {**machine.outcomes, first: machine.outcomes[first][1:]}

    result = explore(dataclasses.replace(machine, outcomes=shorter), scope)

    assert result.verdict is Verdict.FAIL
    assert "is in no row of the protocol's table" in result.problems[0]


@every_tiny
def test_a_search_may_go_on_after_a_violation(machine: Machine[Any, Any, Any], scope: Any) -> None:
    """Each property is reported once, and the search is complete all the same."""

    def no_step_is_taken(before: Any, action: Any, outcome: Any, after: Any) -> str | None:  # noqa: ARG001
        """Nothing ever changes."""
        return None if before == after else "something has changed"

    unhappy = dataclasses.replace(machine, step_properties=(no_step_is_taken,))

    stopped = explore(unhappy, scope)
    finished = explore(unhappy, scope, stops_at_violation=False)

    assert [len(each.violations) for each in (stopped, finished)] == [1, 1]
    assert len(stopped.violations[0].trace) == len(finished.violations[0].trace) == 1
    assert (stopped.verdict, finished.verdict) == (Verdict.FAIL, Verdict.FAIL)
    assert finished.counts == scope.expected
    assert not stopped.is_complete


@every_tiny
def test_a_violation_is_told_with_its_sentence_and_clause(
    machine: Machine[Any, Any, Any], scope: Any
) -> None:
    """An invariant that is false at once has an empty trace."""

    def the_world_is_empty(state: Any) -> str | None:
        """There is no state at all."""
        return f"there is {state}"

    unhappy = dataclasses.replace(machine, invariants=(the_world_is_empty,))

    (violation,) = explore(unhappy, scope).violations

    assert (violation.kind, violation.property_name) == ("invariant", "the_world_is_empty")
    assert violation.sentence == "There is no state at all."
    assert violation.clause == f"there is {violation.trace.initial}"
    assert len(violation.trace) == 0


@every_tiny
def test_a_search_reports_its_progress(machine: Machine[Any, Any, Any], scope: Any) -> None:
    """The numbers of known states rise to the recorded one."""
    seen: list[int] = []

    result: Exploration = explore(machine, scope, progress=seen.append)

    assert seen == sorted(seen)
    assert seen[-1] == result.states

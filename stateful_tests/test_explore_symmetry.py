"""The symmetry of a search: one representative for a class, and nothing lost by it."""

import dataclasses
from itertools import permutations
from typing import Any

import pytest

from model import admission_vocabulary as admission
from model import reservation_vocabulary as reservation
from model.admission_scope import ADMISSION, AdmissionScope
from model.checking.explore import Verdict, explore
from model.checking.trace import Trace
from model.machine import Machine
from model.reservation_scope import RESERVATION
from model.scopes import (
    ADMISSION_SMALL,
    ADMISSION_TINY,
    MACHINES,
    RESERVATION_SMALL,
    RESERVATION_TINY,
    SCOPES,
)

MOST_STATES = 3_000
TINY = [(machine, SCOPES[name]["TINY"]) for name, machine in MACHINES.items()]
every_tiny = pytest.mark.parametrize(("machine", "scope"), TINY, ids=list(MACHINES))


def some_states(machine: Machine[Any, Any, Any], scope: Any) -> list[Any]:
    """Return up to a bound of a scope's states, those near the initial ones first."""
    states = dict.fromkeys(machine.initial_states(scope))
    waiting = list(states)
    for state in waiting:
        if len(states) > MOST_STATES:
            break
        for action in machine.offered_actions(scope, state):
            after, _ = machine.step(state, action)
            if after not in states:
                states[after] = None
                waiting.append(after)
    return list(states)


def admission_orbit(scope: AdmissionScope, state: admission.State) -> set[admission.State]:
    """Return the state under every renaming of ids and tenants."""
    return {
        dataclasses.replace(
            state,
            records=tuple(
                dataclasses.replace(r, request_id=ids[r.request_id], tenant=tenants[r.tenant])
                for r in state.records
            ),
            effects=tuple(
                dataclasses.replace(e, request_id=ids[e.request_id]) for e in state.effects
            ),
        )
        for new_ids in permutations(scope.request_ids)
        for new_tenants in permutations(scope.tenants)
        for ids in [dict(zip(scope.request_ids, new_ids, strict=True))]
        for tenants in [dict(zip(scope.tenants, new_tenants, strict=True))]
    }


def reservation_orbit(state: reservation.State) -> set[reservation.State]:
    """Return the state under every exchange of hands between workers of one ledger."""
    orbit = set()
    for order in permutations(state.workers):
        if [worker.ledger for worker in order] == [worker.ledger for worker in state.workers]:
            workers = tuple(
                dataclasses.replace(mine, hand=other.hand)
                for mine, other in zip(state.workers, order, strict=True)
            )
            orbit.add(dataclasses.replace(state, workers=workers))
    return orbit


def replay(machine: Machine[Any, Any, Any], scope: Any, trace: Trace) -> None:
    """Assert that a trace is what the machine does, by calls that the scope offers."""
    state = trace.initial
    for each in trace.steps:
        assert each.action in machine.offered_actions(scope, state)
        after, outcome = machine.step(state, each.action)
        assert (each.outcome, each.after) == (outcome, after)
        state = after


@pytest.mark.parametrize("scope", [ADMISSION_TINY, ADMISSION_SMALL], ids=["TINY", "SMALL"])
def test_ids_and_tenants_are_interchangeable(scope: AdmissionScope) -> None:
    """All renamings of a state have one representative, which is one of them."""
    for state in some_states(ADMISSION, scope):
        orbit = admission_orbit(scope, state)

        representatives = {ADMISSION.canonical(scope, each) for each in orbit}

        assert len(representatives) == 1
        assert representatives <= orbit


@pytest.mark.parametrize("scope", [RESERVATION_TINY, RESERVATION_SMALL], ids=["TINY", "SMALL"])
def test_workers_of_one_ledger_are_interchangeable(scope: Any) -> None:
    """All exchanges of hands have one representative, which is one of them."""
    for state in some_states(RESERVATION, scope):
        orbit = reservation_orbit(state)

        representatives = {RESERVATION.canonical(scope, each) for each in orbit}

        assert len(representatives) == 1
        assert representatives <= orbit


def test_tenants_may_be_kept_apart() -> None:
    """With `keeps_tenants` only the ids are renamed."""
    scope = dataclasses.replace(ADMISSION_SMALL, keeps_tenants=True)

    for state in some_states(ADMISSION, scope):
        kept = ADMISSION.canonical(scope, state)
        assert [r.tenant for r in kept.records] == [r.tenant for r in state.records]


@every_tiny
def test_a_representative_represents_itself(machine: Machine[Any, Any, Any], scope: Any) -> None:
    """Canonical is idempotent, and keeps the invariants as they are."""
    for state in some_states(machine, scope):
        representative = machine.canonical(scope, state)

        assert machine.canonical(scope, representative) == representative
        assert all(check(representative) is None for check in machine.invariants)


@every_tiny
def test_the_search_finds_the_same_with_and_without_symmetry(
    machine: Machine[Any, Any, Any], scope: Any
) -> None:
    """Verdict, reachable pairs, witnesses, depth and the number of classes agree."""
    plain = explore(machine, scope, is_symmetric=False)
    symmetric = explore(machine, scope, is_symmetric=True)

    classes = {machine.canonical(scope, state) for state in some_states(machine, scope)}
    assert plain.verdict is symmetric.verdict is Verdict.PASS
    assert symmetric.states == len(classes) < plain.states
    assert plain.depth == symmetric.depth
    assert plain.witnesses.keys() == symmetric.witnesses.keys()
    assert {p for p, n in plain.outcomes.items() if n} == {
        p for p, n in symmetric.outcomes.items() if n
    }


@every_tiny
def test_a_witness_under_symmetry_is_a_real_trace_that_ends_in_its_case(
    machine: Machine[Any, Any, Any], scope: Any
) -> None:
    """It replays step by step, is as short as without symmetry, and its last step shows it."""
    plain = explore(machine, scope, is_symmetric=False)

    result = explore(machine, scope, is_symmetric=True)

    for witness in machine.witnesses:
        if witness.__name__ not in result.witnesses:
            continue
        trace = result.witnesses[witness.__name__]
        replay(machine, scope, trace)
        last = trace.steps[-1]
        assert witness(trace.states[-2], last.action, last.outcome, last.after)
        assert len(trace) == len(plain.witnesses[witness.__name__])


def test_a_violation_under_symmetry_ends_in_what_it_says() -> None:
    """The clause has the names of the trace, whose last step breaks the property."""

    def nobody_enters(before: Any, action: Any, outcome: Any, after: Any) -> str | None:  # noqa: ARG001
        """No worker enters the receiver."""
        return f"{action} entered" if outcome is reservation.Answer.ENTERED else None

    machine = dataclasses.replace(RESERVATION, step_properties=(nobody_enters,))

    (violation,) = explore(machine, RESERVATION_TINY, is_symmetric=True).violations

    replay(machine, RESERVATION_TINY, violation.trace)
    last = violation.trace.steps[-1]
    assert last.outcome is reservation.Answer.ENTERED
    assert violation.clause == f"{last.action} entered"


def test_a_broken_invariant_under_symmetry_is_told_with_the_names_of_the_trace() -> None:
    """The clause speaks of the worker that the trace shows."""

    def nobody_holds_a_permit(state: Any) -> str | None:
        """No worker has a permit in its hand."""
        holders = [worker.name for worker in state.workers if worker.hand]
        return f"{holders} hold permits" if holders else None

    machine = dataclasses.replace(RESERVATION, invariants=(nobody_holds_a_permit,))

    (violation,) = explore(machine, RESERVATION_TINY, is_symmetric=True).violations

    replay(machine, RESERVATION_TINY, violation.trace)
    assert violation.clause == nobody_holds_a_permit(violation.trace.states[-1])

"""The scopes of both machines: exact numbers, and between them every row of the tables.

A search of SMALL that evaluates every property takes ten to twenty seconds, the others less than
five; each search is one test, so that they run side by side.
"""

from dataclasses import replace
from itertools import product
from typing import Any

import pytest

from model.admission_vocabulary import Limits
from model.checking.explore import Verdict, Watch, explore
from model.machine import Machine
from model.scopes import ADMISSION_X_IDS_TENANTS, MACHINES, SCOPES

NARROW = ("SUMS", "TEXTS", "FIELDS", "TWICE", "IDS", "CONFLICTS")
WITHIN_TESTS = ("TINY", "SMALL", *NARROW)
"""The scopes that are searched in the tests with every property; the rest is for the profiles."""

every_machine = pytest.mark.parametrize("machine", MACHINES.values(), ids=MACHINES)


@pytest.mark.parametrize(
    ("machine", "scope"),
    [
        (MACHINES[machine], scope)
        for machine, scopes in SCOPES.items()
        for name, scope in scopes.items()
        if name in WITHIN_TESTS
    ],
    ids=lambda value: value.name,
)
def test_a_scope_passes_with_its_recorded_numbers(
    machine: Machine[Any, Any, Any], scope: Any
) -> None:
    """Every property holds, and what is not listed as unreachable was reached."""
    result = explore(machine, scope)

    assert result.problems == ()
    assert result.verdict is Verdict.PASS
    assert result.counts == scope.expected
    assert sum(result.outcomes.values()) == result.calls


def test_scope_x_has_the_numbers_that_other_tools_have_counted() -> None:
    """With ids and tenants interchangeable X has 117,313 states at depth 21."""
    result = explore(MACHINES["admission"], ADMISSION_X_IDS_TENANTS, watch=Watch.NOTHING)

    assert result.verdict is Verdict.PASS
    assert (result.states, result.depth) == (117_313, 21)


def test_scope_x_is_recorded_with_the_numbers_that_other_tools_have_counted() -> None:
    """The full profile searches X, with ids interchangeable and without."""
    scopes = SCOPES["admission"]

    full = scopes["X"].expected

    assert (full.states, full.transitions) == (1_406_741, 3_299_260)
    assert (full.calls, full.depth) == (60_919_575, 21)
    assert scopes["X-ids"].expected.states == 234_621


def test_the_states_of_texts_are_every_payload_that_fits_in_every_state_of_a_record() -> None:
    """Two states have no record; a record has one of five, for each tenant and payload."""
    scope = SCOPES["admission"]["TEXTS"]
    fitting = [text for text in scope.payloads if len(text.encode()) <= scope.limits.item_bytes]

    assert scope.expected.states == 2 + 5 * len(scope.tenants) * len(fitting)


def test_the_states_of_sums_are_the_ways_to_fill_the_store() -> None:
    """A way is a tenant, a size and a state for each record, in the order of their sequence.

    It is possible if each record fits beside the earlier ones that are still queued, since the
    cancelled ones may have gone before. Another name for a tenant makes no other way.
    """
    scope = SCOPES["admission"]["SUMS"]
    sizes = [len(text.encode()) for text in scope.payloads]
    records = list(product(scope.tenants, sizes, (True, False)))

    def count(queued: tuple[tuple[str, int], ...], left: int) -> int:
        ways = 1
        for tenant, size, is_queued in records if left else ():
            outstanding = (*queued, (tenant, size))
            if _fits(scope.limits, outstanding, tenant):
                ways += count(outstanding if is_queued else queued, left - 1)
        return ways

    ways = count((), len(scope.request_ids))
    assert scope.expected.states == (ways + 1) // 2  # only the empty store is its own mirror image


def _fits(limits: Limits, outstanding: tuple[tuple[str, int], ...], tenant: str) -> bool:
    sizes = [size for _, size in outstanding]
    own = [size for owner, size in outstanding if owner == tenant]
    return (
        len(sizes) <= limits.global_slots
        and sum(sizes) <= limits.global_bytes
        and len(own) <= limits.tenant_slots
        and sum(own) <= limits.tenant_bytes
    )


def test_the_states_of_fields_are_those_of_each_opening_alone() -> None:
    """The first opening binds the id, so that no state has two; four have no intent."""
    scope = SCOPES["reservation"]["FIELDS"]
    alone = [len(_find_states(replace(scope, openings=(each,)))) for each in scope.openings]

    assert scope.expected.states == 4 + sum(states - 4 for states in alone)


def test_the_states_of_twice_are_pairs_of_what_each_ledger_does_alone() -> None:
    """Only where both have an effect do they meet: either may have come first."""
    scope = SCOPES["reservation"]["TWICE"]
    alone = replace(scope, ledgers=("L1",), workers=scope.workers[:1], openings=scope.openings[:1])
    states = _find_states(alone)

    with_effect = sum(bool(state.receiver.effects) for state in states)
    assert scope.expected.states == len(states) ** 2 + with_effect**2


def _find_states(scope: Any) -> set[Any]:
    """Return the states of a scope of the dispatch budget, found without the search."""
    machine = MACHINES["reservation"]
    found = set(machine.initial_states(scope))
    unvisited = list(found)
    while unvisited:
        state = unvisited.pop()
        after = {machine.step(state, each)[0] for each in machine.offered_actions(scope, state)}
        unvisited += after - found
        found |= after
    return found


@every_machine
def test_tiny_and_small_reach_every_pair_of_the_table(machine: Machine[Any, Any, Any]) -> None:
    """Only the tick, which no protocol has, is listed as unreachable by both.

    That a pair outside the lists is reached is what the searches above show.
    """
    pairs = {" ".join(pair) for pair in machine.pairs()}

    missing = pairs.intersection(
        *(SCOPES[machine.name][name].unreachable for name in ("TINY", "SMALL"))
    )

    assert missing <= {"tick ticked"}


@every_machine
def test_every_witness_is_shown_by_a_scope_that_the_tests_search(
    machine: Machine[Any, Any, Any],
) -> None:
    """No witness is listed as unreachable by all of them."""
    scopes = [scope for name, scope in SCOPES[machine.name].items() if name in WITHIN_TESTS]

    for witness in machine.witnesses:
        assert not all(witness.__name__ in scope.unreachable for scope in scopes)


@every_machine
def test_lists_of_the_unreachable_name_pairs_and_witnesses_with_a_reason(
    machine: Machine[Any, Any, Any],
) -> None:
    """A misspelt name would hide nothing, and mislead a reader."""
    known = {" ".join(pair) for pair in machine.pairs()}
    known |= {witness.__name__ for witness in machine.witnesses}

    for scope in SCOPES[machine.name].values():
        assert scope.unreachable.keys() <= known
        assert all(scope.unreachable.values())


@every_machine
def test_the_sizes_of_the_scopes_are_as_their_names_say(machine: Machine[Any, Any, Any]) -> None:
    """TINY has a few hundred states, SMALL at most 50,000, MEDIUM at least 100,000."""
    states = {name: scope.expected.states for name, scope in SCOPES[machine.name].items()}

    assert 100 <= states["TINY"] < 1_000
    assert states["SMALL"] <= 50_000
    assert states["MEDIUM"] >= 100_000


@every_machine
def test_a_scope_is_found_under_its_own_name(machine: Machine[Any, Any, Any]) -> None:
    """The registry's key is the name that the command takes."""
    assert [scope.name for scope in SCOPES[machine.name].values()] == list(SCOPES[machine.name])

"""The speed of the search and of exhaustive conformance, on one core."""

from bench.measure import Figure, measure_rate
from conformance.exhaustive import check_exhaustively
from model.checking.explore import Watch, explore
from model.scopes import MACHINES, SCOPES

RUNS = 3
CONFORMANCE_STATES = 2_000


def _search(machine: str, scope: str, watch: Watch) -> int:
    found = explore(MACHINES[machine], SCOPES[machine][scope], watch=watch)
    return found.calls


def _conform(machine: str) -> int:
    found = check_exhaustively(machine, SCOPES[machine]["SMALL"], state_budget=CONFORMANCE_STATES)
    return sum(found.outcomes.values())


def measure_models() -> list[Figure]:
    """Return the figures: every call counts, refused ones too."""
    return [
        Figure(
            "search of X, tenants and ids interchangeable",
            "calls/s",
            measure_rate(lambda: _search("admission", "X-ids-tenants", Watch.NOTHING), RUNS),
        ),
        Figure(
            "search of X",
            "calls/s",
            measure_rate(lambda: _search("admission", "X", Watch.NOTHING), 1),
            bar=1_000_000,
        ),
        Figure(
            "search of SMALL with step properties, admission",
            "calls/s",
            measure_rate(lambda: _search("admission", "SMALL", Watch.EVERY_CALL), 1),
        ),
        Figure(
            "search of SMALL with step properties, reservation",
            "calls/s",
            measure_rate(lambda: _search("reservation", "SMALL", Watch.EVERY_CALL), 1),
        ),
        Figure(
            "exhaustive conformance, admission",
            "transitions/s",
            measure_rate(lambda: _conform("admission"), RUNS),
            bar=15_000,
        ),
        Figure(
            "exhaustive conformance, reservation",
            "transitions/s",
            measure_rate(lambda: _conform("reservation"), RUNS),
            bar=15_000,
        ),
    ]

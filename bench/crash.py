"""How many process-exit cases a core runs and judges: forked, dead, looked at, and repeated.

A case is what a quick run takes: the pre-state is written to files in memory, a child of the lean
parent dies at a boundary, fresh connections judge what it left. The judge counts; finding the
starts and making their databases, which a longer run does once, does not.
"""

import time
from pathlib import Path

from bench.measure import Figure
from conformance.place import scratch_folder
from crash_harness.cases import Databases, choose_starts, find_starts
from crash_harness.judge import Bench, Situation
from model.scopes import MACHINES

BAR_CASES_PER_SECOND = 400.0
RUNS = 5
SEED = 1


def measure_crashes() -> list[Figure]:
    """Measure both machines, each on one core."""
    return [
        Figure(
            f"process-exit cases, {machine}, judged",
            "cases/s a core",
            _measure(machine),
            bar=BAR_CASES_PER_SECOND,
        )
        for machine in MACHINES
    ]


def _measure(machine: str) -> tuple[float, ...]:
    """Return the rates of some runs over the same cases; each run judges everything anew."""
    found = find_starts(machine, "TINY")
    rates = []
    with scratch_folder() as folder:
        own = folder / "databases"
        own.mkdir()
        databases = Databases(found.search, own)
        situations = [
            Situation(start.before, start.action, databases.files_of(start.state))
            for start in choose_starts(found, SEED)
        ]
        for run in range(RUNS):
            here = folder / str(run)
            here.mkdir()
            rates.append(_run(machine, here, situations))
    return tuple(rates)


def _run(machine: str, folder: Path, situations: list[Situation]) -> float:
    """Let a process die at every boundary of every situation, and return cases a second."""
    cases = 0
    with Bench(machine, "TINY", folder) as bench:
        started = time.perf_counter()
        for situation in situations:
            traced, _, _ = bench.trace(situation)
            for index in range(len(traced.statements)):
                bench.die(situation, traced, index)
            cases += len(traced.boundaries)
        return cases / (time.perf_counter() - started)

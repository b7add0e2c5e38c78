"""How many process-exit cases a core runs and judges: forked, dead, looked at, and repeated.

A case is what a quick run takes: the pre-state is written to files in memory, a child of the lean
parent dies at a boundary, fresh connections judge what it left. The judge counts; finding the
starts and making their databases, which a longer run does once, does not.
Beside it, without a bar: what a fork and an exit cost alone, and the errors in place of an exit.
"""

from pathlib import Path

from bench.measure import Figure, measure_rate
from conformance.place import scratch_folder
from crash_harness.cases import Databases, choose_starts, find_starts
from crash_harness.child import END
from crash_harness.faults import try_faults
from crash_harness.forking import Call
from crash_harness.judge import Bench, Situation
from model.scopes import MACHINES

BAR_CASES_PER_SECOND = 400.0
RUNS = 5
FORKS = 300
SEED = 1


def measure_crashes() -> list[Figure]:
    """Measure both machines, each on one core."""
    figures = []
    for machine in MACHINES:
        with scratch_folder() as folder:
            deaths, errors, empty = _measure(machine, folder)
        unit = "cases/s a core"
        figures += [
            Figure(f"process exits, {machine}, judged", unit, deaths, bar=BAR_CASES_PER_SECOND),
            Figure(f"errors at boundaries, {machine}, judged", unit, errors),
            Figure(f"fork and exit alone, beside {machine}", unit, empty),
        ]
    return figures


def _measure(machine: str, folder: Path) -> tuple[tuple[float, ...], ...]:
    """Return the rates of deaths, errors and bare forks; each run judges everything anew."""
    found = find_starts(machine, "TINY")
    own = folder / "databases"
    own.mkdir()
    databases = Databases(found.search, own)
    situations = [
        Situation(start.before, start.action, databases.files_of(start.state))
        for start in choose_starts(found, SEED)
    ]
    rates = [_run(machine, folder / str(run), situations) for run in range(RUNS)]
    return tuple(zip(*rates, strict=True))


def _run(machine: str, folder: Path, situations: list[Situation]) -> tuple[float, ...]:
    """Return one rate of each kind."""
    folder.mkdir()
    with Bench(machine, "TINY", folder) as bench:
        works = (
            lambda: _die_everywhere(bench, situations),
            lambda: _fail_everywhere(bench, situations[::4]),
            lambda: _fork_alone(bench, folder),
        )
        return tuple(measure_rate(work, 1)[0] for work in works)


def _die_everywhere(bench: Bench, situations: list[Situation]) -> int:
    """Let a process die at every boundary of every situation, and return how many did."""
    cases = 0
    for situation in situations:
        traced, _, _ = bench.trace(situation)
        for index in range(len(traced.statements)):
            bench.die(situation, traced, index)
        cases += len(traced.boundaries)
    return cases


def _fail_everywhere(bench: Bench, situations: list[Situation]) -> int:
    """Return an error from every statement of every situation, and return how many there were."""
    return sum(1 for situation in situations for _ in try_faults(bench, situation))


def _fork_alone(bench: Bench, folder: Path) -> int:
    """Let children die whose call finds no store, and so has nothing to do."""
    call = Call("open admission", (), {"admission": str(folder / "absent.db")})
    for _ in range(FORKS):
        bench.parent.run(call, END)
    return FORKS

"""How many states after a power loss are made, recovered and judged a second, on one core.

Recording the workloads is part of it; equal states count once.
"""

from bench.measure import Figure
from crash_harness.power_loss.report import Plan
from crash_harness.power_loss.run import run_power_loss

RUNS = 3
PLAN = Plan(
    changing=400,
    other=0,
    shapes=2,
    sequences=2,
    length=8,
    second_loss_every=1_000,
    real_files_every=500,
    most_real_failures=0,
)


def _measure(machine: str) -> tuple[float, ...]:
    """Return the distinct states a second of processor time of each run."""
    reports = [run_power_loss(machine, plan=PLAN, seed=seed) for seed in range(1, RUNS + 1)]
    return tuple(report.distinct / report.cpu_seconds for report in reports)


def measure_power_loss() -> list[Figure]:
    """Return the figures for both machines."""
    return [
        Figure(f"power loss, {machine}", "distinct states/s", _measure(machine), bar=4_000)
        for machine in ("admission", "reservation")
    ]

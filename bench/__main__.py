"""`python -m bench [NAME …]`: measures, prints medians and ratios, and exits with 1 below a bar.

Names choose what is measured; without one, everything is. Figures are of one run on one machine:
compare ratios, not absolute times.
"""

import sys
from collections.abc import Callable

from bench.crash import measure_crashes
from bench.history import measure_history
from bench.measure import Figure, format_figure
from bench.models import measure_models
from bench.power_loss import measure_power_loss
from bench.schedules import measure_schedules
from conformance.environment import describe_versions

BENCHES: dict[str, Callable[[], list[Figure]]] = {
    "models": measure_models,
    "history": measure_history,
    "crash": measure_crashes,
    "power-loss": measure_power_loss,
    "schedules": measure_schedules,
}


def main(names: list[str]) -> int:
    """Measure what is asked for; 2 for an unknown name."""
    unknown = [name for name in names if name not in BENCHES]
    if unknown:
        print(f"no such measurement: {', '.join(unknown)}; there are {', '.join(BENCHES)}")
        return 2
    print("\n".join(describe_versions()))
    is_reached = True
    for name in names or BENCHES:
        for figure in BENCHES[name]():
            print(format_figure(figure), flush=True)
            is_reached &= figure.is_reached
    return 0 if is_reached else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

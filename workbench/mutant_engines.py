"""The engines that a mutant of the implementation can be set against, all of them.

Those of `conformance.mutants.kills`, and here the ones of the packages above it, each as a
function of a mutant and a seed. They run in a process of their own, so nothing is printed.
"""

from conformance.changed_source import load_changed_implementation
from conformance.mutants.kills import ENGINES as SEARCHES
from conformance.mutants.kills import EngineEntry, Kill
from conformance.mutants.mutant import Engine, Mutant
from crash_harness.contests import run_contests
from crash_harness.exits import run_exits
from crash_harness.power_loss.run import run_power_loss
from crash_harness.schedules.engine import run_schedules
from stateful_tests.admission_machine import run_admission_machine
from stateful_tests.reservation_machine import run_reservation_machine

HYPOTHESIS_EXAMPLES = 30
HYPOTHESIS_STEPS = 30
_MACHINES = {"admission": run_admission_machine, "reservation": run_reservation_machine}


def run_hypothesis(mutant: Mutant, seed: int) -> Kill | None:
    """Set the rule-based machine on a mutant; the first failing example counts, unshrunk."""
    report = _MACHINES[mutant.machine](
        max_examples=HYPOTHESIS_EXAMPLES,
        stateful_step_count=HYPOTHESIS_STEPS,
        seed=seed,
        implementation=load_changed_implementation(mutant.changes),
        shrinks=False,
    )
    if report.failure is None:
        return None
    kind = report.failure.partition(":")[0]
    return Kill((kind,), (report.program or "").count("\nstate."))


def run_crash(mutant: Mutant, seed: int) -> Kill | None:
    """Let processes die at every boundary of a mutant."""
    report = run_exits(mutant.machine, seed=seed, changes=mutant.changes)
    if not report.failures:
        return None
    first = min(report.failures, key=lambda each: len(each.report.trace))
    return Kill((f"{first.case.operation} / {first.case.boundary}",), len(first.report.trace))


def run_race(mutant: Mutant, seed: int) -> Kill | None:
    """Run a mutant in all interleavings of two callers, and then in contests of processes."""
    found = run_schedules(
        mutant.machine,
        "quick",
        seed=seed,
        implementation=load_changed_implementation(mutant.changes),
        most_failures=1,
    )
    if found.failures:
        first = min(found.failures, key=lambda failure: failure.switches)
        return Kill((f"{first.problems[0].kind}, {first.switches} switches",), len(first.turns))
    if found.problems:
        return Kill(("alone",), 0)
    contests = run_contests("quick", seed=seed, changes=mutant.changes)
    failed = [result.name for result in contests.results if result.failures]
    return Kill(tuple(failed), 0) if failed else None


def run_loss(mutant: Mutant, seed: int) -> Kill | None:
    """Take the power away from a mutant, with the setting of `synchronous` that it has."""
    version = load_changed_implementation(mutant.changes)
    report = run_power_loss(
        mutant.machine,
        seed=seed,
        synchronous=version.connection.PRAGMAS.synchronous,
        implementation=version,
    )
    if report.divergence is not None:
        return Kill(("alone",), 0)
    if not report.loss_count:
        return None
    return Kill(tuple(sorted(report.failures)), 0)


ENGINES = (
    *SEARCHES,
    EngineEntry(Engine.HYPOTHESIS, run_hypothesis, draws_lots=True),
    EngineEntry(Engine.CRASH, run_crash, is_slow=True),
    EngineEntry(Engine.RACE, run_race, is_slow=True),
    EngineEntry(Engine.POWER_LOSS, run_loss, is_slow=True),
)

"""The rule-based machines as `verify` calls them."""

from conformance.replay_report import from_divergence
from model.checking.trace_json import encode_report
from stateful_tests.admission_machine import run_admission_machine
from stateful_tests.reservation_machine import run_reservation_machine
from workbench.check import Finding, name_repeat

MACHINE_RUNS = {"admission": run_admission_machine, "reservation": run_reservation_machine}


def check_machine(
    machine: str, *, examples: int, steps: int, seed: int, profile: str = "quick"
) -> Finding:
    """Run the rule-based machine: edge values, restarts and failing storage on real files."""
    report = MACHINE_RUNS[machine](
        max_examples=examples, stateful_step_count=steps, seed=seed, implementation=None
    )
    repeat = name_repeat(f"hypothesis {machine}", profile, seed)
    reports = [] if report.found is None else [from_divergence(*report.found, repeat)]
    seen = sum(map(bool, report.outcomes.values()))
    events = sum(report.events.values())
    return Finding(
        verdict=report.verdict,
        covered=(
            f"{report.examples:,} runs, {report.steps:,} steps, {seen} of {len(report.outcomes)} "
            f"outcomes, {events:,} faults and restarts of {len(report.events)} kinds, seed {seed}"
        ),
        counts={
            "examples": report.examples,
            "steps": report.steps,
            "outcomes": {" ".join(pair): count for pair, count in report.outcomes.items()},
            "events": dict(report.events),
        },
        report=(*(report.failure or "").splitlines(), *(report.program or "").splitlines()),
        traces=tuple(map(encode_report, reports)),
    )

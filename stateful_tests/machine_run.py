"""Runs a rule-based machine and says what it saw: counts, and the shortest failing program.

Not here: the machines themselves, and what a test or a command makes of a report.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass

from hypothesis import HealthCheck, Phase, Verbosity, seed, settings
from hypothesis.errors import Flaky, HypothesisException
from hypothesis.stateful import run_state_machine_as_test

from conformance.implementation import Implementation
from conformance.subject import Divergence
from model.checking.explore import Verdict
from model.checking.trace import Trace
from stateful_tests.conformance_machine import ConformanceMachine, Tally
from stateful_tests.failing_program import Parted, format_program, read_lines, run_lines, shorten


@dataclass(frozen=True, slots=True)
class MachineReport:
    """What a rule-based machine has covered, and the shortest failing program, if there is one.

    `outcomes` are counted by (action, outcome), `events` are faults that fired, restarts and the
    like, `witnesses` the cases that the model wants to see. `unreachable` are names → why they
    can't be seen here. `failure` says where the two part, and `program` runs and shows it; `found`
    is the divergence with its trace, where the last call is a plain one.
    """

    machine: str
    seed: int | None
    examples: int
    steps: int
    outcomes: Mapping[tuple[str, str], int]
    events: Mapping[str, int]
    witnesses: Mapping[str, int]
    unreachable: Mapping[str, str]
    failure: str | None
    program: str | None
    seconds: float
    found: tuple[Divergence, Trace] | None = None

    @property
    def missing(self) -> tuple[str, ...]:
        """Return the outcomes and the events that could have been seen and were not."""
        counts = {" ".join(pair): count for pair, count in self.outcomes.items()}
        counts |= self.events
        return tuple(
            name for name, count in counts.items() if not count and name not in self.unreachable
        )

    @property
    def verdict(self) -> Verdict:
        """Fail where the two part; undetermined without a step."""
        if self.failure is not None:
            return Verdict.FAIL
        return Verdict.PASS if self.steps else Verdict.UNDETERMINED


def format_report(report: MachineReport) -> list[str]:
    """Return what a run has seen, line by line; witnesses only where there were none."""
    unseen = [name for name, count in report.witnesses.items() if not count]
    work = f"{report.examples} runs, {report.steps} steps judged"
    return [
        f"{report.machine}: {work}, seed {report.seed}, {report.seconds:.1f} s",
        *(f"  {' '.join(pair)}: {count}" for pair, count in report.outcomes.items() if count),
        *(f"  {name}: {count}" for name, count in report.events.items()),
        *(f"  can't be seen: {name} ({why})" for name, why in report.unreachable.items()),
        *(f"  not seen: {name}" for name in report.missing),
        *(f"  no witness: {name}" for name in unseen),
    ]


def run_machine(
    machine: type[ConformanceMachine],
    *,
    max_examples: int,
    stateful_step_count: int,
    seed_number: int | None,
    implementation: Implementation | None,
    shrinks: bool,
) -> MachineReport:
    """Run a rule-based machine, and return what it saw; a failure is returned, not raised.

    With a seed the run repeats as long as the code stays the same. Without one the settings of
    Hypothesis' profile decide, and its database of failing examples is used.
    """
    tally = Tally()
    version = _make_version(machine, implementation=implementation, tally=tally)
    phases = [Phase.reuse, Phase.generate, *([Phase.shrink] if shrinks else [])]
    options = settings(
        max_examples=max_examples,
        stateful_step_count=stateful_step_count,
        phases=phases,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
        print_blob=False,
        report_multiple_bugs=False,
        verbosity=Verbosity.normal,
    )
    if seed_number is not None or implementation is not None:
        options = settings(options, database=None)
    if seed_number is not None:
        version = seed(seed_number)(version)
    started = time.perf_counter()
    failure = program = found = None
    try:
        run_state_machine_as_test(version, settings=options)
    except Flaky as error:
        failure = f"{error}, and not every time"
        program = "\n".join(getattr(error, "__notes__", ()))
    except HypothesisException:
        raise  # the machine is at fault, not what it tests
    except Exception as error:  # noqa: BLE001 - what the implementation raises is a finding
        failure, program, found = _explain(version, error)
    return MachineReport(
        machine=machine.model.name,
        seed=seed_number,
        examples=tally.examples,
        steps=tally.steps,
        outcomes=dict.fromkeys(machine.model.pairs(), 0) | dict(tally.outcomes),
        events=dict.fromkeys(machine.event_names, 0) | dict(tally.events),
        witnesses=dict.fromkeys((w.__name__ for w in machine.model.witnesses), 0)
        | dict(tally.witnesses),
        unreachable=machine.unreachable,
        failure=failure,
        program=program,
        seconds=time.perf_counter() - started,
        found=found,
    )


def _explain(
    version: type[ConformanceMachine], error: Exception
) -> tuple[str, str, tuple[Divergence, Trace] | None]:
    """Return what a failing run shows, the shortest program that shows it, and its trace."""
    silent = _make_version(version, implementation=version.implementation, tally=Tally())

    def run(lines: list[str]) -> BaseException | None:
        return run_lines(lines, version.header, {version.__name__: silent})

    lines = read_lines(error, version.__name__)
    if not lines:  # a note that is no program is still the best that there is
        return f"{type(error).__name__}: {error}", "\n".join(getattr(error, "__notes__", ())), None
    if isinstance(error, Parted):
        lines = shorten(lines, error.kind, run)
    last = run(lines) or error
    found = last.found if isinstance(last, Parted) else None
    return f"{type(last).__name__}: {last}", format_program(lines, version.header), found


def _make_version(
    machine: type[ConformanceMachine], *, implementation: Implementation | None, tally: Tally
) -> type[ConformanceMachine]:
    """Return the machine for one implementation, with counts of its own."""
    names = {"implementation": implementation, "tally": tally, "__module__": machine.__module__}
    return type(machine.__name__, (machine,), names)

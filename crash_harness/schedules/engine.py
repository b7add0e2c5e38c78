"""Runs the schedules of a profile, judges each, and reports what was covered.

`run_schedules` is what the command and `verify` call; `find_failure` stops at the first failure, as
the mutants need it.
"""

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from conformance.implementation import Implementation
from conformance.place import scratch_folder
from crash_harness.schedules.beyond import BEYOND, ROOM
from crash_harness.schedules.failure import ScheduleFailure, describe_run, format_failure, shrink
from crash_harness.schedules.judge import Judge
from crash_harness.schedules.plans import MOST_SWITCHES, Family, Plan, Planner
from crash_harness.schedules.runner import Runner, Scene
from crash_harness.schedules.scenery import SettingDiffers
from crash_harness.schedules.search import (
    NotRepeatable,
    Search,
    Tally,
    by_switches,
    one_of_each_class,
)
from crash_harness.schedules.stage import Stage
from model.checking.explore import Verdict
from model.scopes import SCOPES

FULL_SECONDS = {
    Family.PAIR: 100.0,
    Family.EXIT: 30.0,
    Family.HURRY: 20.0,
    Family.ABSENT: 30.0,
}
"""The processor time that the families of the full profile may take for a machine."""
OF_TINY = (Family.PAIR, Family.HURRY, Family.EXIT, Family.READ, Family.ABSENT)
"""In the order in which they are searched: the failures that are easiest to read come first.

Pairs of other scopes follow, and triples come last.
"""
SHOWN_FAILURES = 3


@dataclass(slots=True)
class Coverage:
    """What a family of scenes has covered: scenes done of those planned, and their schedules.

    `redundant` are schedules given up as known, `most` the classes of the scene that has most.
    `bounded` are scenes of which only the schedules with few switches were run. `is_nearest` tells
    that each kind of pair was called in its nearest state alone. `limit_seconds` is the processor
    time of the family where it was used up first, and scenes were left out.
    """

    planned: int = 0
    done: int = 0
    schedules: int = 0
    redundant: int = 0
    turns: int = 0
    most: int = 0
    bounded: int = 0
    is_nearest: bool = False
    limit_seconds: float | None = None

    def describe_share(self) -> str:
        """Return how many scenes were done of those planned, and what bounded them."""
        said = f"{self.done:,} of {self.planned:,}"
        bounds = []
        if self.is_nearest:
            bounds.append("each in its nearest state")
        if self.bounded:
            which = "" if self.bounded == self.done else f"{self.bounded:,} of them "
            bounds.append(f"{which}to {MOST_SWITCHES} switches")
        if self.limit_seconds is not None:
            share = self.done / self.planned
            bounds.append(f"bounded: the nearest {share:.1%}, in {self.limit_seconds:g} s")
        return f"{said} ({', '.join(bounds)})" if bounds else said


@dataclass(slots=True)
class ScheduleReport:
    """What the schedules of a profile have shown for a machine."""

    machine: str
    profile: str
    seed: int
    coverage: dict[Family, Coverage] = field(default_factory=dict)
    failures: list[ScheduleFailure] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def verdict(self) -> Verdict:
        """Fail if any schedule failed; undetermined if none was run."""
        if self.failures or self.problems:
            return Verdict.FAIL
        return Verdict.PASS if self.schedules else Verdict.UNDETERMINED

    @property
    def schedules(self) -> int:
        """How many schedules were run to their end."""
        return sum(each.schedules for each in self.coverage.values())

    @property
    def repeat(self) -> str:
        """The command that does the same again."""
        return (
            f"admit-one race --schedules --machine {self.machine} "
            f"--profile {self.profile} --seed {self.seed}"
        )


class _Engine:
    """The stage, the judge, and the report so far."""

    def __init__(
        self,
        stage: Stage,
        report: ScheduleReport,
        most_failures: int,
        progress: Callable[[int], None],
    ) -> None:
        self.runner = Runner(stage)
        self.judge = Judge(stage.machine.name)
        self.report = report
        self.most_failures = most_failures
        self.progress = progress

    def has_ended(self) -> bool:
        """Tell whether enough failures were found."""
        return len(self.report.failures) >= self.most_failures

    def cover_families(self, planner: Planner, families: Iterable[Family]) -> None:
        """Search what is planned for each family, within the time of the profile."""
        for family in families:
            coverage = self.report.coverage[family] = Coverage(
                planner.planned[family], is_nearest=planner.is_nearest(family)
            )
            seconds = FULL_SECONDS.get(family) if self.report.profile == "full" else None
            try:
                self.cover(planner.plans(family), coverage, seconds)
            except (SettingDiffers, NotRepeatable) as error:
                self.report.problems.append(str(error))

    def cover(self, plans: Iterable[Plan], coverage: Coverage, seconds: float | None) -> None:
        """Search the scenes of a family, within the time that there is."""
        started = time.process_time()
        state = None
        for plan in plans:
            if self.has_ended():
                return
            if seconds is not None and time.process_time() - started > seconds:
                coverage.limit_seconds = seconds
                return
            if plan.scene.state is not state:
                state = plan.scene.state
                self.judge.forget()
            before = coverage.schedules
            for scene in self.list_scenes(plan):
                self.search(plan, scene, coverage)
            coverage.most = max(coverage.most, coverage.schedules - before)
            coverage.done += 1
            coverage.bounded += plan.most_switches is not None
            self.progress(self.report.schedules)

    def list_scenes(self, plan: Plan) -> Iterable[Scene]:
        """Yield the scene of a plan, once for each fault that the family is about."""
        scene = plan.scene
        lanes = range(1, len(scene.actions) + 1)
        if plan.family is Family.HURRY:
            yield from (replace(scene, hurried=(lane,)) for lane in lanes)
        elif plan.family is Family.EXIT:
            for lane in lanes:
                for executed in range(self.count_statements(plan, lane)):
                    yield replace(scene, exits=((lane, executed),))
        else:
            yield scene

    def count_statements(self, plan: Plan, lane: int) -> int:
        """Return how many statements a lane runs if it is alone first."""
        search = by_switches(self.runner, plan.scene, plan.image, 1)
        return max(run.schedule.count(lane) for run in search.runs())

    def search(self, plan: Plan, scene: Scene, coverage: Coverage) -> None:
        """Run one schedule of each class of a scene, and judge it; end at the first failure."""
        search: Search
        if plan.most_switches is None:
            search = one_of_each_class(self.runner, scene, plan.image)
        else:
            search = by_switches(self.runner, scene, plan.image, plan.most_switches)
        for run in search.runs():
            problems = self.judge.judge(run)
            if problems:
                failure = describe_run(run, problems)
                self.report.failures.append(shrink(self.runner, self.judge, plan.image, failure))
                break
        add_tally(coverage, search.tally)


def add_tally(coverage: Coverage, tally: Tally) -> None:
    """Add what a search has run."""
    coverage.schedules += tally.complete
    coverage.redundant += tally.redundant
    coverage.turns += tally.turns


def run_schedules(
    machine: str,
    profile: str,
    *,
    seed: int,
    implementation: Implementation | None = None,
    most_failures: int = SHOWN_FAILURES,
    progress: Callable[[int], None] = lambda _schedules: None,
) -> ScheduleReport:
    """Run the schedules of a profile; `progress` is told how many have been run.

    The seed draws the order of pairs that start from one state, where time may end the work.
    """
    started = time.perf_counter()
    report = ScheduleReport(machine, profile, seed)

    def staged(scope: Any) -> AbstractContextManager[tuple[_Engine, Planner]]:
        return _staged(report, scope, implementation, most_failures, progress)

    with staged(SCOPES[machine]["TINY"]) as (engine, planner):
        planner.choose()
        engine.cover_families(planner, OF_TINY)
        labels = planner.labels()
    with staged(BEYOND[machine]) as (engine, planner):
        planner.choose_beyond(labels)
        engine.cover_families(planner, (Family.BEYOND,))
    with staged(ROOM[machine]) as (engine, planner):
        planner.choose_room()
        engine.cover_families(planner, (Family.ROOM,))
    with staged(SCOPES[machine]["TINY"]) as (engine, planner):
        planner.choose_triples()
        engine.cover_families(planner, (Family.TRIPLE,))
    report.seconds = time.perf_counter() - started
    return report


@contextmanager
def _staged(
    report: ScheduleReport,
    scope: Any,
    implementation: Implementation | None,
    most_failures: int,
    progress: Callable[[int], None],
) -> Iterator[tuple[_Engine, Planner]]:
    """Yield an engine on a stage of its own, and what plans for it."""
    with (
        scratch_folder() as folder,
        Stage(report.machine, scope, folder, implementation) as stage,
    ):
        engine = _Engine(stage, report, most_failures, progress)
        yield engine, Planner(stage, report.profile, report.seed)


def find_failure(
    machine: str, *, implementation: Implementation, seed: int = 1
) -> ScheduleFailure | None:
    """Return the first failure of the quick profile, None if there is none.

    Of those in one scene, the one with the fewest switches. `SettingDiffers` if the implementation
    goes wrong already where it is called alone.
    """
    report = run_schedules(
        machine, "quick", seed=seed, implementation=implementation, most_failures=1
    )
    if report.problems and not report.failures:
        raise SettingDiffers(report.problems[0])
    return min(report.failures, key=lambda failure: failure.switches, default=None)


def format_schedules(report: ScheduleReport) -> list[str]:
    """Return a line for each family, and every failure whole."""
    lines = []
    for family, each in report.coverage.items():
        line = f"{report.machine} {family}: {each.describe_share()}"
        line += f", {each.schedules:,} schedules, {each.turns:,} turns, at most {each.most:,} each"
        lines.append(line)
    for failure in report.failures:
        lines += ["", *format_failure(failure, report.repeat)]
    return [*lines, *(f"FAIL: {problem}" for problem in report.problems)]


def build_schedule_counts(report: ScheduleReport) -> dict[str, Any]:
    """Return the counts as JSON has them."""
    return {
        str(family): {
            "planned": each.planned,
            "done": each.done,
            "schedules": each.schedules,
            "redundant": each.redundant,
            "turns": each.turns,
            "bounded": each.bounded,
            "is_nearest": each.is_nearest,
            "limit_seconds": each.limit_seconds,
        }
        for family, each in report.coverage.items()
    }

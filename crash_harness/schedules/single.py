"""One scene alone: some actions that lead to a state, and the operations that are called there."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from conformance.implementation import Implementation
from conformance.place import scratch_folder
from crash_harness.schedules.failure import ScheduleFailure, describe_run, shrink
from crash_harness.schedules.judge import Judge
from crash_harness.schedules.runner import Runner, Scene
from crash_harness.schedules.scenery import build_scene
from crash_harness.schedules.search import Search, Tally, one_of_each_class
from crash_harness.schedules.stage import Stage
from model.scopes import MACHINES, SCOPES

Found = tuple[tuple[str, ...], Any, tuple[str, ...]]
"""What a schedule shows: outcomes by lane, the final state, and the kinds of what is wrong."""


@dataclass(slots=True)
class SceneReport:
    """What the schedules of one scene have shown.

    `results` counts them by what they show. `failure` is the first that fails, shrunk.
    `is_complete` is False where the search was ended, by a failure or by the number of schedules.
    """

    tally: Tally
    results: Counter[Found] = field(default_factory=Counter)
    failure: ScheduleFailure | None = None
    is_complete: bool = True


def explore_scene(
    machine: str,
    setup: Sequence[Any],
    actions: Sequence[Any],
    *,
    scope: Any = None,
    initial: Any = None,
    exits: tuple[tuple[int, int], ...] = (),
    hurried: tuple[int, ...] = (),
    implementation: Implementation | None = None,
    searches: Callable[[Runner, Scene, Any], Search] = one_of_each_class,
    stops_at_failure: bool = True,
    most_schedules: int = 100_000,
) -> SceneReport:
    """Run the schedules of a scene in a scope (TINY unless one is given), and judge each.

    The scene starts from the first initial state of the scope unless one is given.
    """
    scope = SCOPES[machine]["TINY"] if scope is None else scope
    initial = MACHINES[machine].initial_states(scope)[0] if initial is None else initial
    with scratch_folder() as folder, Stage(machine, scope, folder, implementation) as stage:
        scene, image = build_scene(stage, initial, tuple(setup), tuple(actions))
        scene = replace(scene, exits=exits, hurried=hurried)
        runner, judge = Runner(stage), Judge(machine)
        search = searches(runner, scene, image)
        report = SceneReport(search.tally)
        for run in search.runs():
            problems = judge.judge(run)
            shown = describe_run(run, problems)
            kinds = tuple(problem.kind for problem in problems)
            report.results[shown.outcomes, shown.final, kinds] += 1
            if problems and report.failure is None:
                report.failure = shrink(runner, judge, image, shown)
                if stops_at_failure:
                    report.is_complete = False
                    break
            if search.tally.complete == most_schedules:
                report.is_complete = False
                break
    return report

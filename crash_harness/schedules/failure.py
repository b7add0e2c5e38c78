"""A failing schedule: shrunk to few operations and switches, printed as lanes, and run again.

A schedule is a list of turns, by the number of the lane. It is all that is needed to run the same
statements in the same order again, since nothing else in a run is left to chance.
Not here: its file (`as_trace`).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, pairwise
from typing import Any

from conformance.implementation import Implementation
from conformance.place import scratch_folder
from crash_harness.schedules.judge import Judge
from crash_harness.schedules.runner import (
    LaneTurn,
    Problem,
    Run,
    Runner,
    Scene,
    describe_error,
)
from crash_harness.schedules.scenery import build_scene
from crash_harness.schedules.search import by_switches, follow
from crash_harness.schedules.stage import MOST_LANES, Stage
from model.checking.trace import UNKNOWN
from model.machine import in_words, outcome_name

MOST_SHRINKING_RUNS = 5_000
COLUMN_WIDTH = 46


@dataclass(frozen=True, slots=True)
class ScheduleFailure:
    """A schedule that fails, and what is wrong with it.

    `answers` are the outcomes as values, None where an operation ended in an error, which `errors`
    tell, and `UNKNOWN` where nobody has one; `commits` are those of each operation.
    `has_fewest_switches` tells that every schedule with fewer has been run, and none fails so.
    """

    scene: Scene
    schedule: tuple[int, ...]
    turns: tuple[LaneTurn, ...]
    outcomes: tuple[str, ...]
    answers: tuple[Any, ...]
    errors: tuple[str, ...]
    commits: tuple[int, ...]
    final: Any
    problems: tuple[Problem, ...]
    has_fewest_switches: bool = False

    @property
    def switches(self) -> int:
        """How often the turn passes from one lane to another."""
        return count_switches(self.schedule)


def count_switches(schedule: Sequence[int]) -> int:
    """Return how often the turn passes from one lane to another."""
    return sum(one != other for one, other in pairwise(schedule))


def describe_run(run: Run, problems: Sequence[Problem]) -> ScheduleFailure:
    """Return a run with what is wrong with it."""
    outcomes: list[str] = []
    answers: list[Any] = []
    for ending in run.endings:
        answers.append(UNKNOWN if ending.is_unknown else ending.outcome)
        if ending.error is not None and not ending.is_unknown:
            outcomes.append(type(ending.error).__name__)
        else:
            outcomes.append(outcome_name(answers[-1]))
    return ScheduleFailure(
        scene=run.scene,
        schedule=tuple(run.schedule),
        turns=tuple(run.turns),
        outcomes=tuple(outcomes),
        answers=tuple(answers),
        errors=tuple("" if e.error is None else describe_error(e.error) for e in run.endings),
        commits=tuple(ending.commits for ending in run.endings),
        final=run.final,
        problems=tuple(problems),
    )


def shrink(runner: Runner, judge: Judge, image: Any, failure: ScheduleFailure) -> ScheduleFailure:
    """Return a schedule that fails in the same way, with the fewest operations and switches.

    For two operations of three, and then for all of them, the schedules without a switch are run,
    then those with one, and so on.
    """
    for scene in (*_list_pairs(failure.scene), failure.scene):
        found = _find_fewest_switches(runner, judge, image, scene, failure)
        if found is not None:
            return found
    return failure


def _list_pairs(scene: Scene) -> Iterator[Scene]:
    """Yield the scenes with two of three operations, of which none is to exit or in a hurry."""
    if len(scene.actions) == MOST_LANES and not (scene.exits or scene.hurried):
        yield from (replace(scene, actions=pair) for pair in combinations(scene.actions, 2))


def _find_fewest_switches(
    runner: Runner, judge: Judge, image: Any, scene: Scene, failure: ScheduleFailure
) -> ScheduleFailure | None:
    """Return a schedule of a scene that fails in the same way, with no more switches.

    None if there is none, or if too many schedules would have to be run.
    """
    kind = failure.problems[0].kind
    left = MOST_SHRINKING_RUNS
    for switches in range(failure.switches + 1):
        for run in by_switches(runner, scene, image, switches).runs():
            problems = judge.judge(run)
            if problems and problems[0].kind == kind:
                return replace(describe_run(run, problems), has_fewest_switches=True)
            left -= 1
            if not left:
                return None
    return None


def replay_schedule(
    scene: Scene, schedule: Sequence[int], *, implementation: Implementation | None = None
) -> ScheduleFailure:
    """Run a schedule again, from an absent store; without problems it is no failure any more."""
    with scratch_folder() as folder, Stage(scene.machine, scene.scope, folder, implementation) as s:
        made, image = build_scene(s, scene.initial, scene.setup, scene.actions)
        run = Runner(s).run(
            replace(made, exits=scene.exits, hurried=scene.hurried), image, follow(schedule)
        )
        return describe_run(run, Judge(scene.machine).judge(run))


# ── As text ───────────────────────────────────────────────────────────────────────────────


def format_failure(failure: ScheduleFailure, repeat: str = "") -> list[str]:
    """Return a failing schedule as lines: what is wrong, then a column for each operation."""
    lines = []
    for problem in failure.problems:
        when = "" if problem.turn is None else f"after turn {problem.turn}: "
        lines += [f"FAIL: {problem.kind}", f"  {problem.sentence}", f"  {when}{problem.clause}"]
    scene = failure.scene
    lines += ["", f"{scene.machine}, from {scene.initial}"[:400]]
    lines += [f"  before: {action}" for action in scene.setup]
    lines += [
        f"  operation {number}: {action}" for number, action in enumerate(scene.actions, start=1)
    ]
    lines += ["", *format_lanes(failure), "", f"left: {in_words(failure.final)}"]
    fewest = "; no schedule with fewer fails so" if failure.has_fewest_switches else ""
    lines.append(f"{failure.switches} switches{fewest}")
    lines.append(f"schedule: {' '.join(map(str, failure.schedule))}")
    lines += [f"repeat: {repeat}"] if repeat else []
    return lines


def format_lanes(failure: ScheduleFailure) -> list[str]:
    """Return the turns, one a line, each in the column of its operation."""
    lanes = len(failure.scene.actions)

    def row(head: str, lane: int, text: str) -> str:
        cells = [""] * lanes
        cells[lane - 1] = text if len(text) <= COLUMN_WIDTH else f"{text[: COLUMN_WIDTH - 1]}…"
        return f"{head:>4}  {' │ '.join(cell.ljust(COLUMN_WIDTH) for cell in cells)}".rstrip()

    titles = [f"operation {number + 1}".ljust(COLUMN_WIDTH) for number in range(lanes)]
    lines = [f"turn  {' │ '.join(titles)}".rstrip()]
    lines.append("─" * 4 + "──" + "─┼─".join("─" * COLUMN_WIDTH for _ in range(lanes)))
    for number, turn in enumerate(failure.turns, start=1):
        text = turn.statement if turn.result == "ran" else f"[{turn.result}] {turn.statement}"
        lines.append(row(str(number), turn.lane, text))
    outcomes = [f"→ {outcome}".ljust(COLUMN_WIDTH) for outcome in failure.outcomes]
    return [*lines, f"      {' │ '.join(outcomes)}".rstrip()]

"""Runs the schedule of a trace again, turn by turn: the `ScheduleRunner` of this engine.

A turn is taken only where its operation is about to run the recorded statement; otherwise these
turns are those of another implementation, which is no pass (`ReplayImpossible`). Where SQLite
answers a statement otherwise than was recorded, the operations go on one after another from there,
and are judged all the same.

`judge_recording` runs nothing, and asks the model about what was recorded. `replay_together` runs
every schedule of some operations: what a test must do that stays when the statements change.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from conformance.implementation import Implementation
from conformance.place import scratch_folder
from conformance.replay import Replay, replay, replay_actions, replay_on_model
from conformance.replayable import ReplayImpossible, find_layout
from crash_harness.schedules.access import Choice
from crash_harness.schedules.as_trace import KIND, build_report, read_trace
from crash_harness.schedules.failure import describe_run
from crash_harness.schedules.judge import Judge
from crash_harness.schedules.lanes import BLOCKED
from crash_harness.schedules.runner import (
    Ending,
    LaneTurn,
    NotIndependent,
    Run,
    Runner,
    Scene,
)
from crash_harness.schedules.scenery import SettingDiffers, build_scene
from crash_harness.schedules.search import ScheduleDiffers
from crash_harness.schedules.single import explore_scene
from crash_harness.schedules.stage import Stage
from model.checking.trace import ANY, UNKNOWN, Trace, TraceStep
from model.checking.trace_report import Failure
from model.machine import property_sentence
from model.scopes import MACHINES

RAISED = "Without a fault no operation meets an error."


def run_schedule(trace: Trace, implementation: Implementation | None = None, /) -> Replay:
    """Take the steps of a trace with a schedule, those at the same time in the recorded turns."""
    scene, turns = read_trace(trace)
    before = replay(_take_alone(trace), implementation=implementation)
    if before.failures:
        return before
    if len(before.trace) < trace.alone:
        raise ReplayImpossible(len(before.trace) + 1, before.notes[-1])
    with (
        scratch_folder() as folder,
        Stage(scene.machine, scene.scope, folder, implementation) as stage,
    ):
        follower = Follower(Runner(stage), turns)
        try:
            made, image = build_scene(stage, scene.initial, scene.setup, scene.actions)
            made = replace(made, exits=scene.exits, hurried=scene.hurried)
            run = follower.run(made, image)
        except (SettingDiffers, ScheduleDiffers, NotIndependent) as error:
            raise ReplayImpossible(0, str(error)) from error
        report = build_report(describe_run(run, Judge(scene.machine).judge(run)), "")
        notes = (*before.notes, follower.describe())
        return Replay(stage.subject.name, report.trace, report.failures, notes)


def _take_alone(trace: Trace) -> Trace:
    return replace(trace, steps=trace.steps[: trace.alone], schedule=())


class Follower:
    """Takes recorded turns, as long as the operations run the recorded statements."""

    def __init__(self, runner: Runner, recorded: Sequence[LaneTurn]) -> None:
        self.runner = runner
        self.recorded = tuple(recorded)

    def run(self, scene: Scene, image: Any) -> Run:
        """Run a scene so; `ScheduleDiffers` where that is not possible."""
        run = self.runner.run(scene, image, self._choose)
        place = len(run.turns)
        if self._is_free() or place == len(self.recorded):
            return run
        if place > len(self.recorded):
            raise self._tell_short()
        lane = self.recorded[place].lane
        raise ScheduleDiffers(f"turn {place + 1}: operation {lane} has ended before it")

    def _tell_short(self) -> ScheduleDiffers:
        said = f"the turns end with turn {len(self.recorded)}, before the operations do"
        return ScheduleDiffers(said)

    def describe(self) -> str:
        """Return how the turns were, as a sentence."""
        place = self._find_unlike()
        if place is None:
            return f"All {len(self.recorded)} turns were as they were recorded."
        taken, recorded = self.runner.turns[place], self.recorded[place]
        return (
            f"Turn {place + 1}, {recorded.statement!r} of operation {recorded.lane}: recorded is "
            f"{recorded.result}, found was {taken.result}; from there the operations went on one "
            "after another."
        )

    def _find_unlike(self) -> int | None:
        """Return the first turn that is not as it was recorded."""
        pairs = zip(self.runner.turns, self.recorded, strict=False)
        return next((place for place, (one, other) in enumerate(pairs) if one != other), None)

    def _is_free(self) -> bool:
        """Tell whether SQLite has answered otherwise; `ScheduleDiffers` if other things differ."""
        place = self._find_unlike()
        if place is None:
            return False
        taken, recorded = self.runner.turns[place], self.recorded[place]
        if (taken.lane, taken.statement) != (recorded.lane, recorded.statement):
            raise ScheduleDiffers(
                f"turn {place + 1}: recorded is {recorded.statement!r} of operation "
                f"{recorded.lane}, and here comes {taken.statement!r} of operation {taken.lane}: "
                "this is another implementation"
            )
        return True

    def _choose(self, choices: Sequence[Choice]) -> int:
        lanes = [choice.lane for choice in choices]
        turns = self.runner.turns
        if self._is_free():
            return turns[-1].lane if turns[-1].lane in lanes else lanes[0]
        place = len(turns)
        if place >= len(self.recorded):
            raise self._tell_short()
        recorded = self.recorded[place]
        if recorded.lane not in lanes:
            raise ScheduleDiffers(f"turn {place + 1}: operation {recorded.lane} can't go on there")
        return recorded.lane


# ── Without running ───────────────────────────────────────────────────────────────────────


def judge_recording(trace: Trace) -> Replay:
    """Ask the model whether some order explains what was recorded of a schedule.

    What an observer saw between two turns is not in a trace.
    """
    before = replay_on_model(_take_alone(trace))
    if before.failures:
        return before
    scene, turns = read_trace(trace)
    final = trace.steps[-1].after
    if final is None:
        raise ReplayImpossible(len(trace), "the state that the operations left is not recorded")
    steps = trace.steps[trace.alone :]
    failures = tuple(
        Failure(KIND, "error", RAISED, f"{step.action}: {step.observed.found}")
        for step in steps
        if step.outcome is ANY and step.observed is not None
    )
    if not failures:
        endings = tuple(
            _find_ending(step, number, turns, trace.alone)
            for number, step in enumerate(steps, start=1)
        )
        run = Run(scene, endings=endings, final=final, is_complete=True)
        problems = Judge(scene.machine).judge(run)
        failures = tuple(Failure(KIND, p.kind, p.sentence, p.clause) for p in problems)
        failures += _check_invariants(trace.machine, final)
    return Replay("model", trace, failures, ())


def _check_invariants(machine: str, state: Any) -> tuple[Failure, ...]:
    return tuple(
        Failure(KIND, check.__name__, property_sentence(check), clause)
        for check in MACHINES[machine].invariants
        if (clause := check(state)) is not None
    )


def _find_ending(step: TraceStep, number: int, turns: Sequence[LaneTurn], alone: int) -> Ending:
    """Return how an operation ended, from what was recorded of it."""
    places = [n for n, t in enumerate(turns) if t.lane == number and t.result != BLOCKED]
    is_unknown = step.outcome is UNKNOWN
    if is_unknown and (step.crash is None or step.crash.commits is None):
        raise ReplayImpossible(alone + number, "how many commits it had made is not recorded")
    return Ending(
        action=step.action,
        outcome=None if is_unknown else step.outcome,
        has_exited=is_unknown,
        called=places[0] if places else -1,
        returned=None if is_unknown else (places[-1] if places else -1),
        commits=0 if step.crash is None else step.crash.commits or 0,
    )


# ── Every schedule ────────────────────────────────────────────────────────────────────────


def replay_together(
    machine: str,
    initial: Any,
    before: Sequence[Any],
    together: Sequence[Any],
    *,
    exits: tuple[tuple[int, int], ...] = (),
    hurried: tuple[int, ...] = (),
    implementation: Implementation | None = None,
) -> Replay:
    """Take some actions one by one, and then others at the same time, in one order of each class.

    `exits` are operations that exit, by number, and after how many statements; those `hurried`
    don't wait for a lock. The first schedule that fails is shown, with the fewest switches.
    """
    alone = replay_actions(machine, initial, before, implementation=implementation)
    if alone.failures:
        return alone
    report = explore_scene(
        machine,
        before,
        together,
        scope=find_layout(initial),
        initial=initial,
        exits=exits,
        hurried=hurried,
        implementation=implementation,
    )
    if report.failure is not None:
        shown = build_report(report.failure, "")
        return Replay(alone.subject, shown.trace, shown.failures, ())
    steps = tuple(TraceStep(action, None, None) for action in together)
    trace = replace(alone.trace, steps=(*alone.trace.steps, *steps))
    note = f"{report.tally.complete} schedules of the last {len(together)} steps were run."
    return Replay(alone.subject, trace, (), (note,))

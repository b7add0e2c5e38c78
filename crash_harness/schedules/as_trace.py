"""A failing schedule as a trace, the format in which every engine reports, and back.

The steps of the setup come first, with their states. The operations follow, in the order of their
lanes, and nobody looked between them; the turns say how they ran. An operation that exited, or that
did not wait for a lock, has a crash point that says so.
"""

from collections.abc import Sequence
from typing import Any

from crash_harness.schedules.failure import ScheduleFailure
from crash_harness.schedules.lanes import BLOCKED, EXITED
from crash_harness.schedules.plans import BEYOND
from crash_harness.schedules.runner import Scene
from model.checking.trace import UNKNOWN, CrashPoint, Ending, Observed, Trace, TraceStep, Turn
from model.checking.trace_report import Failure, TraceReport
from model.scopes import MACHINES, SCOPES

KIND = "schedule"


def build_trace(failure: ScheduleFailure) -> Trace:
    """Return the way to the state, the operations that ran together, and their turns."""
    scene = failure.scene
    machine = MACHINES[scene.machine]
    state, steps = scene.initial, []
    for action in scene.setup:
        state, outcome = machine.step(state, action)
        steps.append(TraceStep(action, outcome, state))
    for number, action in enumerate(scene.actions, start=1):
        answer = failure.answers[number - 1]
        observed = None
        if answer is None:
            observed = Observed("exception", "an outcome", failure.outcomes[number - 1])
        steps.append(
            TraceStep(
                action=action,
                outcome=UNKNOWN if answer is None else answer,
                after=None,
                process=str(number),
                crash=_find_crash(scene, number),
                observed=observed,
            )
        )
    before = len(scene.setup)
    turns = tuple(Turn(before + t.lane, t.statement, t.result) for t in failure.turns)
    return Trace(scene.machine, scene.scope.name, scene.initial, tuple(steps), turns)


def _find_crash(scene: Scene, number: int) -> CrashPoint | None:
    exits = dict(scene.exits)
    if number in exits:
        return CrashPoint(f"before its statement {exits[number] + 1}", has_survivor=True)
    if number in scene.hurried:
        return CrashPoint("at the first lock that it meets", Ending.BUSY, has_survivor=True)
    return None


def build_report(failure: ScheduleFailure, repeat: str) -> TraceReport:
    """Return a failing schedule as a report."""
    failures = tuple(Failure(KIND, p.kind, p.sentence, p.clause) for p in failure.problems)
    return TraceReport(build_trace(failure), repeat, failures)


def read_trace(trace: Trace) -> tuple[Scene, tuple[int, ...]]:
    """Return the scene of a trace and its schedule; `LookupError` if its scope is not known.

    In the schedule a negative number is a turn that may have been no choice, since it only found a
    lock held.
    """
    setup = tuple(step for step in trace.steps if step.process is None)
    together = trace.steps[len(setup) :]
    states: Sequence[Any] = (trace.initial, *(step.after for step in setup))
    scopes = {**SCOPES[trace.machine], BEYOND[trace.machine].name: BEYOND[trace.machine]}
    lanes = [(turn.step - len(setup), turn.result) for turn in trace.schedule]
    exits = tuple(
        (lane, sum(each == (lane, "ran") for each in lanes[:place]))
        for place, (lane, result) in enumerate(lanes)
        if result == EXITED
    )
    hurried = tuple(
        number
        for number, step in enumerate(together, start=1)
        if step.crash is not None and step.crash.ending is Ending.BUSY
    )
    scene = Scene(
        machine=trace.machine,
        scope=scopes[trace.scope],
        initial=trace.initial,
        setup=tuple(step.action for step in setup),
        state=states[-1],
        actions=tuple(step.action for step in together),
        exits=exits,
        hurried=hurried,
    )
    return scene, tuple(-lane if result == BLOCKED else lane for lane, result in lanes)

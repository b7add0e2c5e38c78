"""A failing schedule as a trace, the format in which every engine reports, and back.

The steps of the setup come first, with their states. The operations follow, in the order of their
lanes; nobody looked between them, and the last one has the state that all of them left. The turns
say how they ran. An operation that exited, or that did not wait for a lock, has a crash point that
says so; one that ended in an error has it as what was observed.

A scene with a reader has no trace: what a reader does is no action of the model.

A file may have been edited by hand: what can't be a scene is refused, `ReplayImpossible`.
"""

from typing import Any

from conformance.replayable import ReplayImpossible, find_layout
from crash_harness.schedules.beyond import BEYOND, ROOM
from crash_harness.schedules.failure import ScheduleFailure
from crash_harness.schedules.lanes import EXITED, RAN
from crash_harness.schedules.reads import ReadSnapshot
from crash_harness.schedules.runner import LaneTurn, Scene
from crash_harness.schedules.stage import MOST_LANES, NO_CALLS, can_race
from model.checking.trace import (
    ANY,
    UNKNOWN,
    CrashPoint,
    Ending,
    Observed,
    Trace,
    TraceStep,
    Turn,
)
from model.checking.trace_report import Failure, TraceReport
from model.scopes import MACHINES, SCOPES

KIND = "schedule"
FIRST_LOCK = "the first lock that it meets"


def has_trace(failure: ScheduleFailure) -> bool:
    """Tell whether every operation is an action of the model, as a trace needs it."""
    return not any(isinstance(action, ReadSnapshot) for action in failure.scene.actions)


def build_trace(failure: ScheduleFailure) -> Trace:
    """Return the way to the state, the operations that ran together, and their turns."""
    scene = failure.scene
    machine = MACHINES[scene.machine]
    state, steps = scene.initial, []
    for action in scene.setup:
        state, outcome = machine.step(state, action)
        steps.append(TraceStep(action, outcome, state))
    steps += [_build_step(failure, number) for number in range(1, len(scene.actions) + 1)]
    before = len(scene.setup)
    turns = tuple(Turn(before + t.lane, t.statement, t.result) for t in failure.turns)
    return Trace(scene.machine, scene.scope.name, scene.initial, tuple(steps), turns)


def _build_step(failure: ScheduleFailure, number: int) -> TraceStep:
    """Return an operation with the outcome, the error, or the place at which it was gone."""
    answer, error = failure.answers[number - 1], failure.errors[number - 1]
    has_raised = answer is None
    return TraceStep(
        action=failure.scene.actions[number - 1],
        outcome=ANY if has_raised else answer,
        after=failure.final if number == len(failure.scene.actions) else None,
        process=str(number),
        crash=_find_crash(failure, number),
        observed=Observed("exception", "an outcome", error) if has_raised else None,
    )


def _find_crash(failure: ScheduleFailure, number: int) -> CrashPoint | None:
    exits = dict(failure.scene.exits)
    is_unknown = failure.answers[number - 1] is UNKNOWN
    commits = failure.commits[number - 1] if is_unknown else None
    if is_unknown and number in exits:
        boundary = f"before its statement {exits[number] + 1}"
        return CrashPoint(boundary, Ending.EXIT, commits, has_survivor=True)
    if number in failure.scene.hurried:
        return CrashPoint(FIRST_LOCK, Ending.BUSY, commits, has_survivor=True)
    return None


def build_report(failure: ScheduleFailure, repeat: str) -> TraceReport:
    """Return a failing schedule as a report."""
    failures = tuple(Failure(KIND, p.kind, p.sentence, p.clause, p.turn) for p in failure.problems)
    return TraceReport(build_trace(failure), repeat, failures)


# ── And back ──────────────────────────────────────────────────────────────────────────────


def read_trace(trace: Trace) -> tuple[Scene, tuple[LaneTurn, ...]]:
    """Return the scene of a trace, and the turns that its operations took."""
    alone, together = trace.steps[: trace.alone], trace.steps[trace.alone :]
    turns = tuple(LaneTurn(t.step - trace.alone, t.statement, t.result) for t in trace.schedule)
    scene = Scene(
        machine=trace.machine,
        scope=_find_scope(trace),
        initial=trace.initial,
        setup=tuple(step.action for step in alone),
        state=_find_state(trace, alone),
        actions=tuple(step.action for step in together),
        exits=_find_exits(trace, turns),
        hurried=tuple(
            number
            for number, step in enumerate(together, start=1)
            if step.crash is not None and step.crash.ending is Ending.BUSY
        ),
    )
    _require_calls(trace, scene)
    return scene, turns


def _find_scope(trace: Trace) -> Any:
    """Return the scope that a trace names; its files and workers are those of the trace."""
    others = (BEYOND[trace.machine], ROOM[trace.machine])
    scopes = {**SCOPES[trace.machine], **{scope.name: scope for scope in others}}
    if trace.scope not in scopes:
        known = ", ".join(scopes)
        raise ReplayImpossible(0, f"there is no scope {trace.scope!r}; there are {known}")
    scope, layout = scopes[trace.scope], find_layout(trace.initial)
    files, workers = getattr(scope, "ledgers", ()), getattr(scope, "workers", ())
    if (tuple(files), tuple(workers)) != (layout.ledgers, layout.workers):
        raise ReplayImpossible(0, f"{trace.scope} has other ledgers or workers than the trace")
    return scope


def _find_state(trace: Trace, alone: tuple[TraceStep, ...]) -> Any:
    """Return the state in which the operations are called, by the model as it is."""
    state = trace.initial
    for number, step in enumerate(alone, start=1):
        if step.crash is not None or step.outcome is UNKNOWN:
            raise ReplayImpossible(number, "before a schedule every call must have answered")
        if isinstance(step.action, NO_CALLS):
            raise ReplayImpossible(number, "before a schedule there are calls alone")
        try:
            state, _ = MACHINES[trace.machine].step(state, step.action)
        except LookupError as error:
            raise ReplayImpossible(number, str(error)) from error
    return state


def _find_exits(trace: Trace, turns: tuple[LaneTurn, ...]) -> tuple[tuple[int, int], ...]:
    """Return after how many statements lanes exit; none has a turn after that."""
    exits: dict[int, int] = {}
    executed: dict[int, int] = {}
    for place, turn in enumerate(turns, start=1):
        if turn.lane in exits:
            step = trace.alone + turn.lane
            raise ReplayImpossible(step, f"it has a turn, {place}, after its exit")
        if turn.result == EXITED:
            exits[turn.lane] = executed.get(turn.lane, 0)
        executed[turn.lane] = executed.get(turn.lane, 0) + (turn.result == RAN)
    return tuple(exits.items())


def _require_calls(trace: Trace, scene: Scene) -> None:
    """Refuse operations that can't be under way together."""
    if len(scene.actions) > MOST_LANES:
        raise ReplayImpossible(0, f"{len(scene.actions)} at the same time; {MOST_LANES} at most")
    try:
        is_possible = can_race(scene.machine, scene.state, scene.actions)
    except LookupError as error:
        raise ReplayImpossible(trace.alone + 1, str(error)) from error
    if not is_possible:
        reason = "these are no calls of different workers that can be made at the same time"
        raise ReplayImpossible(trace.alone + 1, reason)

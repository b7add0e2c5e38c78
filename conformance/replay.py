"""Runs a trace again: step by step on an implementation, or on the model as it is now.

On an implementation, outcome, durable state and snapshot of every step are compared with the
model's, and the model's properties are evaluated on the way. On the model, what was recorded is
compared. Either way the first difference ends the replay.

A call that never answered, or that ended in a crash, has a set of allowed states (C1 … C3): what is
found must be one of them, and from there it goes on. A crash needs a `CrashRunner`, and operations
that ran at the same time a `ScheduleRunner`.
Not here: what can be replayed at all (`replayable`).
"""

import sqlite3
from collections.abc import Iterable
from contextlib import ExitStack
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Protocol

from conformance.implementation import Implementation
from conformance.lockstep import check_call, check_snapshot
from conformance.place import scratch_folder
from conformance.replay_report import SENTENCES, check_properties, from_divergence
from conformance.replayable import (
    ReplayImpossible,
    find_layout,
    require_alone,
    require_values,
)
from conformance.sqlite import make_subject
from conformance.subject import Divergence, Subject, Unreadable, describe_error
from model.admission_vocabulary import Tick
from model.checking.trace import UNKNOWN, CrashPoint, Ending, Observed, Trace, TraceStep
from model.checking.trace_explanation import NARRATORS, describe_outcome
from model.checking.trace_report import Failure, TraceReport
from model.checking.trace_text import format_report
from model.checking.trace_words import count, describe_changes
from model.machine import Machine
from model.reservation_vocabulary import Answer
from model.scopes import MACHINES

MOST_COMMITS = 8
"""More than any action has."""
PROCESS_IS_GONE = frozenset({Ending.EXIT, Ending.KILL, Ending.POWER_LOSS})


class ReplayVerdict(StrEnum):
    """Whether the replayed steps were as they must be."""

    SAME = "same"
    DIFFERS = "differs"


class CrashRunner(Protocol):
    """Runs an action in a process of its own that ends at a boundary.

    When it returns, the process is gone and has ended there and nowhere else; otherwise it raises,
    `LookupError` if the action comes by no such place here.
    The durable content is what the process left. The subject holds no more of what the process
    had in its hands, has no connection to it open, and `observe` reads as a fresh process does.
    """

    def __call__(self, subject: Subject, action: Any, crash: CrashPoint, /) -> None:
        """Carry out an action on the subject's files up to the crash point."""


class ScheduleRunner(Protocol):
    """Runs the operations of a trace together, in the turns that were recorded, and judges them.

    `ReplayImpossible` if these turns can't be taken here: the implementation has other statements.
    """

    def __call__(self, trace: Trace, implementation: Implementation | None, /) -> "Replay":
        """Take the steps of a trace with a schedule, on this implementation or the usual one."""


@dataclass(frozen=True, slots=True)
class Replay:
    """What a replay has shown.

    `trace` has the steps that were taken, with the model's outcomes and states; where an
    implementation differs, its last step has what was observed. `notes` are sentences that
    change no verdict.
    """

    subject: str
    trace: Trace
    failures: tuple[Failure, ...]
    notes: tuple[str, ...]

    @property
    def verdict(self) -> ReplayVerdict:
        """Same unless something differs."""
        return ReplayVerdict.DIFFERS if self.failures else ReplayVerdict.SAME

    def explain(self, repeat: str = "admit-one replay FILE") -> str:
        """Return the replay as text: the whole report, or one line and the notes."""
        if self.failures:
            return format_report(self.to_report(repeat))
        steps = count(len(self.trace), "step")
        said = f"same: {self.subject} does what the specification does, {steps}"
        return "\n".join([said, *self.notes]) + "\n"

    def to_report(self, repeat: str) -> TraceReport:
        """Return the replayed trace as a report."""
        return TraceReport(self.trace, repeat, self.failures)


def replay_actions(
    machine: str,
    initial: Any,
    steps: Iterable[Any],
    *,
    implementation: Implementation | None = None,
    crash_runner: CrashRunner | None = None,
) -> Replay:
    """Run actions on an implementation; a crash or a missing answer is given as a `TraceStep`."""
    taken = (each if isinstance(each, TraceStep) else TraceStep(each, None, None) for each in steps)
    trace = Trace(machine, "", initial, tuple(taken))
    return replay(trace, implementation=implementation, crash_runner=crash_runner)


def replay(
    trace: Trace,
    *,
    subject: Subject | None = None,
    implementation: Implementation | None = None,
    crash_runner: CrashRunner | None = None,
    schedule_runner: ScheduleRunner | None = None,
) -> Replay:
    """Run a trace on an implementation, and say where it first differs from the model.

    Without a `subject`, a fresh SQLite one is made; one that is given must be absent, and stays
    open. `ReplayImpossible` if the trace needs what the subject doesn't have.
    """
    require_values(trace)
    if trace.schedule and schedule_runner is not None and subject is None:
        return schedule_runner(trace, implementation)
    require_alone(trace)
    with ExitStack() as stack:
        if subject is None:
            folder = stack.enter_context(scratch_folder())
            has_crash = any(step.crash is not None for step in trace.steps)
            subject = make_subject(
                trace.machine,
                find_layout(trace.initial),
                folder,
                implementation=implementation,
                has_images=not has_crash,
            )
            stack.callback(subject.close)
        return _ReplayOnSubject(trace, subject, crash_runner).run()


def replay_on_model(trace: Trace) -> Replay:
    """Compare what was recorded with the model as it is now, and evaluate its properties.

    Where nobody knows the state, every state that may be is followed.
    """
    require_values(trace)
    require_alone(trace)
    machine = MACHINES[trace.machine]
    possible = frozenset({trace.initial})
    for number, step in enumerate(trace.steps, start=1):
        before = possible
        possible, failures = _follow(machine, possible, number, step)
        if not possible or failures:
            kept = replace(trace, steps=trace.steps[:number])
            found = failures or (_describe_unlike(machine, before, number, step),)
            return Replay("model", kept, found, ())
    return Replay("model", trace, (), ())


# ── The model ─────────────────────────────────────────────────────────────────────────────


def _follow(
    machine: Machine[Any, Any, Any], possible: frozenset[Any], number: int, step: TraceStep
) -> tuple[frozenset[Any], tuple[Failure, ...]]:
    """Return the states that fit what was recorded of a step, and the properties that it breaks."""
    if step.outcome is UNKNOWN or step.crash is not None:
        reached = frozenset(
            each for state in possible for each in find_allowed(machine, state, step, number)
        )
        fits = reached if step.after is None else reached & {step.after}
        return fits, ()
    fitting = set()
    failures: tuple[Failure, ...] = ()
    for before in possible:
        after, outcome = take_step(machine, before, step.action, number)
        if outcome == step.outcome and step.after in (None, after):
            fitting.add(after)
            failures = failures or check_properties(machine, before, step.action, outcome, after)
    return frozenset(fitting), failures


def _describe_unlike(
    machine: Machine[Any, Any, Any], possible: frozenset[Any], number: int, step: TraceStep
) -> Failure:
    """Return how the model parts from what was recorded."""
    recorded = describe_outcome(machine.name, step.outcome)
    name = "crash" if step.crash is not None else "recording"
    if step.outcome is UNKNOWN or step.crash is not None:
        clause = "it left a state that it may not leave"
    else:
        answers = {
            describe_outcome(machine.name, take_step(machine, before, step.action, number)[1])
            for before in possible
        }
        specified = " or ".join(sorted(answers))
        clause = f"the specification answers {specified}, and recorded is {recorded}"
        if answers == {recorded}:
            clause = f"the answer is {recorded}, and the state after it is another one"
    return Failure("replay", name, SENTENCES[name], clause)


def take_step(
    machine: Machine[Any, Any, Any], state: Any, action: Any, number: int
) -> tuple[Any, Any]:
    """Take a step of the model; an action about what no state has makes the replay impossible."""
    try:
        return machine.step(state, action)
    except LookupError as error:
        raise ReplayImpossible(number, str(error)) from error


def find_allowed(
    machine: Machine[Any, Any, Any], state: Any, step: TraceStep, number: int
) -> frozenset[Any]:
    """Return the states that may be after a step without an answer (C1 … C3)."""
    after, _ = take_step(machine, state, step.action, number)
    crash = step.crash
    if crash is not None and crash.commits is not None:
        if crash.ending in PROCESS_IS_GONE:
            return machine.allowed_after_exit(state, step.action, crash.commits)
        if crash.commits == 0:
            return frozenset({state})
    left = [machine.allowed_after_exit(state, step.action, n) for n in range(MOST_COMMITS)]
    return frozenset().union(*left) | (
        frozenset() if crash is not None and crash.ending in PROCESS_IS_GONE else {state, after}
    )


# ── An implementation ─────────────────────────────────────────────────────────────────────


class _ReplayOnSubject:
    """One replay on an implementation: where it stands, and what it has shown."""

    def __init__(self, trace: Trace, subject: Subject, crash_runner: CrashRunner | None) -> None:
        self.trace = trace
        self.machine = MACHINES[trace.machine]
        self.subject = subject
        self.crash_runner = crash_runner
        self.state = trace.initial
        self.taken: list[TraceStep] = []
        self.failures: tuple[Failure, ...] = ()
        self.notes: list[str] = []

    def run(self) -> Replay:
        """Take the steps until something differs, or a step can't be taken."""
        self._start()
        self._compare_snapshot()
        for number, step in enumerate(self.trace.steps, start=1):
            if self.failures or not self._take(number, step):
                break
        trace = replace(self.trace, steps=tuple(self.taken))
        return Replay(self.subject.name, trace, self.failures, tuple(self.notes))

    def _start(self) -> None:
        """Bring the subject into the initial state."""
        try:
            self.subject.install(self.state)
            found = self.subject.observe()
        except Exception as error:
            reason = f"no store for the initial state: {describe_error(error)}"
            raise ReplayImpossible(0, reason) from error
        if found != self.state:
            changes = describe_changes(NARRATORS[self.machine.name], self.state, found)
            reason = f"{self.subject.name} can't be brought into the initial state: "
            raise ReplayImpossible(0, reason + "; ".join(changes))

    def _take(self, number: int, step: TraceStep) -> bool:
        """Take one step, and tell whether it could be taken."""
        if isinstance(step.action, Tick):
            raise ReplayImpossible(number, "a tick is for scopes of the model alone")
        _, outcome = take_step(self.machine, self.state, step.action, number)
        if outcome is Answer.NOT_HELD:
            said = NARRATORS[self.machine.name].describe_action(step.action)
            self.notes.append(f"The replay ends before step {number}, {said}: {outcome}.")
            return False
        if step.crash is not None or step.outcome is UNKNOWN:
            self._take_unanswered(number, step)
        else:
            self._take_answered(number, step)
        if not self.failures:
            self._compare_snapshot()
        return True

    def _take_answered(self, number: int, step: TraceStep) -> None:
        before, action = self.state, step.action
        checked = check_call(self.machine, self.subject, before, self.subject.image(), action)
        taken = TraceStep(action, checked.outcome, checked.after, step.process)
        self.taken.append(taken)
        self.state = checked.after
        is_as_recorded = step.outcome in (None, checked.outcome)
        if not (is_as_recorded and step.after in (None, checked.after)) and not self.notes:
            self.notes.append(
                f"Step {number} is not as it was recorded: the trace was found with another "
                "version of the specification."
            )
        if checked.divergence is not None:
            self._report(before, checked.divergence)
            return
        args = (self.machine, before, action, checked.outcome, checked.after)
        self.failures = check_properties(*args)

    def _take_unanswered(self, number: int, step: TraceStep) -> None:
        """Take a step whose answer nobody hears: what it left must be a state that may be."""
        before, allowed = self.state, find_allowed(self.machine, self.state, step, number)
        kind = "unanswered" if step.crash is None else "crash"
        narrator = NARRATORS[self.machine.name]
        ways = sorted(
            "; ".join(describe_changes(narrator, before, each)) or "nothing changes"
            for each in allowed
        )
        expected, found, observed = " or ".join(ways), "", None
        try:
            if step.crash is None:
                self.subject.apply(step.action)
            else:
                self._crash(number, step.action, step.crash)
            observed = self.subject.observe()
            found = "; ".join(describe_changes(narrator, before, observed)) or "nothing changes"
        except Unreadable as error:
            found = str(error)
        except sqlite3.Error as error:
            kind, found = "exception", describe_error(error)
        taken = TraceStep(step.action, UNKNOWN, observed, step.process, step.crash)
        if observed is None or observed not in allowed:
            unlike = Observed(kind, expected, found, None, observed)
            self.taken.append(replace(taken, observed=unlike))
            clause = f"allowed was: {expected}; found was: {found}"
            self.failures = (Failure("conformance", kind, SENTENCES[kind], clause),)
            return
        self.taken.append(taken)
        self.state = observed

    def _crash(self, number: int, action: Any, crash: CrashPoint) -> None:
        if self.crash_runner is None:
            raise ReplayImpossible(number, "it ends in a crash, and no crash runner is given")
        try:
            self.crash_runner(self.subject, action, crash)
        except LookupError as error:
            raise ReplayImpossible(number, str(error)) from error

    def _compare_snapshot(self) -> None:
        """Compare the implementation's own snapshot with the model's."""
        image = self.subject.image()
        divergence = check_snapshot(self.machine, self.subject, self.state, image)
        if divergence is not None:
            self._report(self.state, divergence)

    def _report(self, before: Any, divergence: Divergence) -> None:
        trace = replace(self.trace, steps=tuple(self.taken))
        report = from_divergence(divergence, trace, "", before=before)
        self.taken, self.failures = list(report.trace.steps), report.failures

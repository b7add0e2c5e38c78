"""A recording: a workload on the real implementation, its log, and what the model says of it.

The states that may be read after a power loss are the model's own: `allowed_after_exit` for as
many commits as had returned, up to as many as had begun, every hand emptied.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from crash_harness.power_loss.log import (
    CommitReturned,
    CommitStarted,
    Event,
    Mark,
    OperationAcknowledged,
    OperationStarted,
)
from model.checking.trace import Trace, TraceStep
from model.reservation_vocabulary import Attempt, Crash, Enter, Perform, Send
from model.scopes import MACHINES

MOST_COMMITS = 4
"""The transactions of an attempt: reserve, enter, perform, confirm."""


class WorkloadDiverged(Exception):
    """The implementation did another thing than the model, with no power lost at all."""


@dataclass(frozen=True, slots=True)
class Recording:
    """A log, the files before it (all durable), and the model's steps.

    `way` are the steps that led from `origin`, an initial state of the scope, to `initial`.
    `is_recovery`: the files are those that a first power loss has left.
    """

    machine: str
    scope: Any
    initial: Any
    files: Mapping[str, bytes]
    log: tuple[Event, ...]
    steps: tuple[TraceStep, ...]
    title: str
    origin: Any
    way: tuple[TraceStep, ...] = ()
    is_recovery: bool = False

    @property
    def has_changes(self) -> bool:
        """Whether some step changed the durable state."""
        return any(
            forget_hands(self.machine, step.after) != forget_hands(self.machine, before)
            for before, step in zip(self.states, self.steps, strict=False)
        )

    @property
    def states(self) -> tuple[Any, ...]:
        """The state at the beginning, and the state after each step."""
        return (self.initial, *(step.after for step in self.steps))

    def trace(self, steps: int | None = None) -> Trace:
        """Return the way here and the steps, or the first of them, as a trace."""
        taken = (*self.way, *self.steps[:steps])
        return Trace(self.machine, self.scope.name, self.origin, taken)


@dataclass(frozen=True, slots=True)
class Moment:
    """What was promised when the power went: the operation under way, and its commits.

    `operation` is the last one that was started, -1 before the first.
    """

    operation: int = -1
    commits_begun: int = 0
    commits_returned: int = 0
    is_acknowledged: bool = True

    def advance(self, mark: Mark) -> "Moment":
        """Return the moment after a mark of the log."""
        match mark:
            case OperationStarted(number):
                return Moment(number, is_acknowledged=False)
            case OperationAcknowledged():
                return replace(self, is_acknowledged=True)
            case CommitStarted():
                return replace(self, commits_begun=self.commits_begun + 1)
            case CommitReturned():
                return replace(self, commits_returned=self.commits_returned + 1)


def allowed_states(recording: Recording, moment: Moment) -> tuple[Any, ...]:
    """Return the states that a new process may read: the one that was promised comes first."""
    if moment.operation < 0:
        return (forget_hands(recording.machine, recording.initial),)
    step = recording.steps[moment.operation]
    if moment.is_acknowledged:
        return (forget_hands(recording.machine, step.after),)
    before = recording.states[moment.operation]
    machine = MACHINES[recording.machine]
    states = [
        forget_hands(recording.machine, state)
        for commits in range(moment.commits_returned, moment.commits_begun + 1)
        for state in machine.allowed_after_exit(before, step.action, commits)
    ]
    return tuple(dict.fromkeys(states))


def all_states(recording: Recording) -> tuple[Any, ...]:
    """Return every state that a new process may read at some moment, in order of the commits."""
    machine = MACHINES[recording.machine]
    states = [recording.initial]
    for before, step in zip(recording.states, recording.steps, strict=False):
        for commits in range(MOST_COMMITS + 1):
            states += machine.allowed_after_exit(before, step.action, commits)
        states.append(step.after)
    return tuple(dict.fromkeys(forget_hands(recording.machine, state) for state in states))


def forget_hands(machine: str, state: Any) -> Any:
    """Return what is left of a state when every process is gone."""
    if machine == "admission":
        return state
    for worker in state.workers:
        if worker.hand:
            state, _ = MACHINES[machine].step(state, Crash(worker.name))
    return state


def repeated_action(action: Any) -> Any:
    """Return what a fresh process does in place of a call whose answer it never saw.

    A permit is lost with its process (B4), so that a send starts anew, with a reservation.
    """
    if isinstance(action, Enter | Perform | Send):
        return Attempt(action.worker, action.intent_id)
    return action

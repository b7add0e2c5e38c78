"""Runs one schedule: restores the state, starts the operations, and lets a chooser say who is next.

At every turn the observer asks whether anything has been committed. If so, it reads the state and
evaluates the invariants. Hands of workers whose operation is under way are taken as empty: their
process could be gone at any moment, and the state must be a good one then too.

A turn that only finds a lock held is run for real, is shown, and is not counted as a choice.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from conformance.subject import Unreadable
from crash_harness.schedules.access import Choice, Kind
from crash_harness.schedules.lanes import BLOCKED, EXIT, EXITED, RAN, Lane
from crash_harness.schedules.stage import Stage, find_worker_name, lose_hands
from model.machine import property_sentence

MOST_TURNS = 1_000
PUBLISHING = frozenset({Kind.PUBLISH, Kind.ANYTHING})


class NotIndependent(AssertionError):
    """A statement did what its kind excludes, so that the classes of schedules prove nothing."""


@dataclass(frozen=True, slots=True)
class Scene:
    """Actions that are to be under way together, and the state in which they are called.

    `setup` leads there from the initial state. `exits` says after how many statements lanes exit.
    `hurried` lanes don't wait for a lock: their busy timeout is over as soon as they meet one.
    """

    machine: str
    scope: Any
    initial: Any
    setup: tuple[Any, ...]
    state: Any
    actions: tuple[Any, ...]
    exits: tuple[tuple[int, int], ...] = ()
    hurried: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class LaneTurn:
    """A turn of a lane: the statement on one line, and "ran", "blocked", "exit" or an error."""

    lane: int
    statement: str
    result: str = RAN


@dataclass(frozen=True, slots=True)
class Ending:
    """How an operation ended: the outcome, or the error, or neither where it exited.

    `has_given_up` tells that its busy timeout was over, and that it said so (`SQLITE_BUSY`).
    `called` and `returned` are turns, of all lanes together; an operation without a statement is
    called and returned before the first one. `commits` are the transactions with a write lock that
    it has committed.
    """

    action: Any
    outcome: Any = None
    error: BaseException | None = None
    has_exited: bool = False
    called: int = -1
    returned: int | None = None
    commits: int = 0
    has_given_up: bool = False

    @property
    def is_unknown(self) -> bool:
        """Whether nobody has an answer of it."""
        return self.has_exited or self.has_given_up


@dataclass(frozen=True, slots=True)
class Problem:
    """What is wrong with a schedule: a kind, the sentence that is broken, and the clause.

    `turn` is the first, from 1, after which the observer read it; None for what only the end shows.
    """

    kind: str
    sentence: str
    clause: str
    turn: int | None = None


@dataclass(slots=True)
class Run:
    """What a schedule has shown. `schedule` is complete unless the chooser gave up."""

    scene: Scene
    schedule: list[int] = field(default_factory=list)
    turns: list[LaneTurn] = field(default_factory=list)
    endings: tuple[Ending, ...] = ()
    final: Any = None
    problems: list[Problem] = field(default_factory=list)
    is_complete: bool = False


Choose = Callable[[Sequence[Choice]], int | None]
"""Picks a lane among those that can go on, None to give the schedule up."""


class Runner:
    """Runs schedules of a stage."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self.turns: list[LaneTurn] = []  # of the run that is under way

    def run(self, scene: Scene, image: Any, choose: Choose) -> Run:
        """Run a scene once, from its state to the end of all operations."""
        stage = self.stage
        run = Run(scene)
        self.turns = run.turns
        stage.restore(image, scene.state)
        stage.has_new_version()
        lanes = stage.lanes[: len(scene.actions)]
        is_strict = not all(file.is_kept for file in stage.files)
        try:
            for lane, action in zip(lanes, scene.actions, strict=True):
                stage.running = lane
                lane.is_strict, lane.is_hurried = is_strict, lane.number in scene.hurried
                lane.call(lambda action=action: stage.apply(action))  # type: ignore[misc]
                self._close_if_over(lane, run)
            self._play(run, lanes, choose)
            if run.is_complete:
                self._observe_end(run, lanes)
        finally:
            for lane in lanes:
                lane.stop()
        return run

    def _play(self, run: Run, lanes: Sequence[Lane], choose: Choose) -> None:
        exits = dict(run.scene.exits)
        while True:
            active = [lane for lane in lanes if not (lane.is_over or lane.has_exited)]
            if not active:
                run.is_complete = True
                return
            choices = self._list_choices(run, active, exits)
            if not choices:
                run.is_complete = True
                run.problems.append(_describe_deadlock(active))
                return
            chosen = choose(choices)
            if chosen is None:
                return
            lane = self.stage.lanes[chosen - 1]
            if exits.get(chosen) == lane.executed:
                self._exit(run, lane)
            else:
                self._step(run, lane, active)
            run.schedule.append(chosen)
            if len(run.schedule) > MOST_TURNS:
                raise AssertionError(f"a schedule has more than {MOST_TURNS} turns")

    def _list_choices(
        self, run: Run, active: Sequence[Lane], exits: dict[int, int]
    ) -> list[Choice]:
        """Return the next statement of each lane that can go on; real locks turn others away."""
        choices = []
        for lane in active:
            if exits.get(lane.number) == lane.executed:
                choices.append(lane.view_exit())
                continue
            if lane.waits_for is None and lane.is_before_held_lock(list(active)):
                self._step(run, lane, active)
                if lane.waits_for is None:
                    raise NotIndependent(f"lane {lane.number} was not kept out by a held lock")
            if lane.waits_for is None and lane.pending is not None:
                choices.append(lane.pending.choice)
        return choices

    def _step(self, run: Run, lane: Lane, active: Sequence[Lane]) -> None:
        """Let a lane run one statement, and look at what that has changed."""
        self.stage.running = lane
        done = lane.take_turn()
        file = done.connection.place
        run.turns.append(LaneTurn(lane.number, done.words.text, lane.result))
        if lane.result == BLOCKED:
            lane.waits_for = file.path.name
            return
        if lane.is_refused:
            lane.is_refused, lane.waits_for = False, file.path.name
        if lane.called_at is None:
            lane.called_at = len(run.turns) - 1
        self._wake(lane, active)
        self._close_if_over(lane, run)
        publishes = done.choice.kind in PUBLISHING
        if (publishes or file.is_there) and file.has_new_version():
            if not publishes:
                raise NotIndependent(f"{done.words.text!r} has published something")
            self._observe(run, active)

    def _exit(self, run: Run, lane: Lane) -> None:
        """Let a lane exit before its pending statement."""
        lane.exit()
        self.stage.forget(find_worker_name(run.scene.actions[lane.number - 1]))
        run.turns.append(LaneTurn(lane.number, EXIT, EXITED))
        self._wake(lane, self.stage.lanes)
        if self.stage.has_new_version():
            raise NotIndependent("an exit has published something")

    def _wake(self, lane: Lane, others: Sequence[Lane]) -> None:
        """Let lanes try again that wait for a file on which this one has ended a transaction."""
        for other in others:
            if other is not lane and other.waits_for in lane.has_let_go:
                other.waits_for = None
        lane.has_let_go.clear()

    def _close_if_over(self, lane: Lane, run: Run) -> None:
        if not lane.is_over:
            return
        lane.returned_at = len(run.turns) - 1
        if lane.has_given_up():
            self.stage.forget(find_worker_name(run.scene.actions[lane.number - 1]))
        elif lane.error is not None:
            clause = f"{run.scene.actions[lane.number - 1]}: {describe_error(lane.error)}"
            run.problems.append(
                Problem("error", "Without a fault no operation meets an error.", clause)
            )
        elif lane.has_open_transaction():
            clause = f"{run.scene.actions[lane.number - 1]} left a transaction open"
            run.problems.append(
                Problem("transaction", "No operation leaves a transaction open.", clause)
            )

    def _observe(self, run: Run, active: Sequence[Lane]) -> None:
        """Read the state and evaluate the invariants, each broken one once."""
        turn = len(run.turns)
        state = self._read(run, turn)
        if state is None:
            return
        actions = run.scene.actions
        busy = [find_worker_name(actions[each.number - 1]) for each in active if not each.is_over]
        state = lose_hands(run.scene.machine, state, tuple(name for name in busy if name))
        self._check_invariants(run, state, turn)

    def _check_invariants(self, run: Run, state: Any, turn: int | None = None) -> None:
        for check in self.stage.machine.invariants:
            clause = check(state)
            if clause is not None:
                problem = Problem(check.__name__, property_sentence(check), clause, turn)
                if all(known.kind != problem.kind for known in run.problems):
                    run.problems.append(problem)

    def _read(self, run: Run, turn: int | None = None) -> Any:
        try:
            return self.stage.subject.observe()
        except Unreadable as error:
            sentence = "The durable rows are always those of a state of the specification."
            run.problems.append(Problem("unreadable", sentence, str(error), turn))
            return None

    def _observe_end(self, run: Run, lanes: Sequence[Lane]) -> None:
        run.endings = tuple(
            Ending(
                action=action,
                outcome=lane.outcome,
                error=lane.error,
                has_exited=not lane.is_over,
                called=-1 if lane.called_at is None else lane.called_at,
                returned=lane.returned_at,
                commits=lane.commits,
                has_given_up=lane.has_given_up(),
            )
            for lane, action in zip(lanes, run.scene.actions, strict=True)
        )
        run.final = self._read(run)
        if run.final is not None:
            self._check_invariants(run, run.final)


def describe_error(error: BaseException) -> str:
    """Return an error on one line, with the name of SQLite's code if it has one."""
    name = getattr(error, "sqlite_errorname", None)
    said = " ".join(str(error).split())
    return f"{type(error).__name__}: {said}" + (f" ({name})" if name else "")


def _describe_deadlock(active: Sequence[Lane]) -> Problem:
    waiting = ", ".join(f"operation {lane.number} for {lane.waits_for}" for lane in active)
    return Problem(
        "deadlock", "Operations never wait for one another for ever.", f"waiting: {waiting}"
    )

"""What is played, and where one stands: a machine in a scope, and a trace of calls from a start.

A position is found by taking its calls again: nothing is kept between two requests.
"""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from model.checking.trace_explanation import NARRATORS
from model.checking.trace_words import Narrator
from model.machine import Machine, Scope
from model.scopes import MACHINES, SCOPES
from workbench.play.beside import Beside, Sight, load_beside

MOST_STEPS = 200
"""A longer trace is refused: its address would be longer than people can send to one another."""


@dataclass(frozen=True, slots=True)
class Board:
    """A machine in a scope, perhaps with a mutant beside it."""

    machine: Machine[Any, Any, Any]
    scope: Scope
    beside: Beside | None = None

    @property
    def narrator(self) -> Narrator:
        """How the machine is told."""
        return NARRATORS[self.machine.name]

    @property
    def path(self) -> str:
        """The path of the page."""
        return f"/{self.machine.name}/{self.scope.name}"

    def begin(self, start: int = 0) -> "Position":
        """Return the position at an initial state; `LookupError` if there is no such state."""
        states = self.machine.initial_states(self.scope)
        if not 0 <= start < len(states):
            raise LookupError(f"{self.scope.name} has {len(states)} initial states, from 0")
        sight = None if self.beside is None else self.beside.begin(start)
        return Position(self, start, states[start], sight)


@dataclass(frozen=True, slots=True)
class Taken:
    """A call that was taken: its place among the offered ones, its outcome, the state after it.

    `check` stands for all calls up to this one, so that two traces can be told apart.
    """

    index: int
    action: Any
    outcome: Any
    after: Any
    sight: Sight | None
    check: str

    @property
    def parts(self) -> bool:
        """Whether the mutant gave another outcome, or is in another state."""
        return parts(self.sight, self.outcome, self.after)


def parts(sight: Sight | None, outcome: Any, state: Any) -> bool:
    """Tell whether a mutant shows another outcome or another state than these."""
    return sight is not None and (sight.outcome, sight.state) != (outcome, state)


@dataclass(frozen=True, slots=True)
class Position:
    """A trace from an initial state of a board: where one stands, and how one got there."""

    board: Board
    start: int
    initial: Any
    initial_sight: Sight | None
    steps: tuple[Taken, ...] = ()

    @property
    def state(self) -> Any:
        """The state of the model here."""
        return self.steps[-1].after if self.steps else self.initial

    @property
    def sight(self) -> Sight | None:
        """What the mutant shows here, None without one."""
        return self.steps[-1].sight if self.steps else self.initial_sight

    @property
    def check(self) -> str:
        """What stands for the calls so far, and for where they began."""
        where = f"{self.board.machine.name} {self.board.scope.name} {self.start}"
        return self.steps[-1].check if self.steps else where

    @property
    def parts_at_the_start(self) -> bool:
        """Whether the mutant has another initial state."""
        return parts(self.initial_sight, None, self.initial)

    @property
    def first_parting(self) -> int | None:
        """The number of the first step in which the mutant parts from the model, 0 at the start."""
        if self.parts_at_the_start:
            return 0
        return next((n for n, step in enumerate(self.steps, start=1) if step.parts), None)

    def offered_actions(self) -> tuple[Any, ...]:
        """Return the calls that the scope offers here: the model's, then the mutant's own."""
        board = self.board
        offered = dict.fromkeys(board.machine.offered_actions(board.scope, self.state))
        if board.beside is not None and self.sight is not None:
            offered |= dict.fromkeys(board.beside.offered_actions(self.sight))
        return tuple(offered)

    def take(self, index: int, action: Any) -> Taken:
        """Return what a call leads to, for the model and for the mutant beside it."""
        after, outcome = self.board.machine.step(self.state, action)
        sight = None
        if self.board.beside is not None and self.sight is not None:
            sight = self.board.beside.take(self.sight, action)
        check = hashlib.sha256(f"{self.check} {action!r}".encode()).hexdigest()
        return Taken(index, action, outcome, after, sight, check)

    def follow(self, taken: Taken) -> "Position":
        """Return the position after a call."""
        return replace(self, steps=(*self.steps, taken))

    def back_to(self, length: int) -> "Position":
        """Return the position after the first calls of the trace."""
        return replace(self, steps=self.steps[:length])


def play(board: Board, start: int, actions: Iterable[Any]) -> Position:
    """Return the position after these calls, or before the first one that is not offered."""
    position = board.begin(start)
    for action in actions:
        offered = position.offered_actions()
        if action not in offered:
            break
        position = position.follow(position.take(offered.index(action), action))
    return position


def find_board(machine: str, scope: str, mutant: str = "") -> Board:
    """Return a board by its names; `LookupError` where there is none of that name."""
    if machine not in MACHINES:
        raise LookupError(f"there is no machine {machine!r}; there are {', '.join(MACHINES)}")
    if scope not in SCOPES[machine]:
        names = ", ".join(SCOPES[machine])
        raise LookupError(f"{machine} has no scope {scope!r}; there are {names}")
    beside = load_beside(mutant, machine, scope) if mutant else None
    return Board(MACHINES[machine], SCOPES[machine][scope], beside)

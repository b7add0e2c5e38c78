"""What one can be taken to: the cases of a machine, and where a mutant parts from it."""

from collections.abc import Mapping
from dataclasses import dataclass

from conformance.mutants.mutant import Mutant
from model.machine import property_sentence
from workbench.play.board import Board
from workbench.play.journeys import BROKEN, PARTING, Journey, Journeys, Search


@dataclass(frozen=True, slots=True)
class Goal:
    """A case with the length of its shortest trace, or with the reason why it is out of reach.

    `length` is None while nobody knows it.
    """

    name: str
    text: str
    length: int | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class GoalGroup:
    """Cases of one kind."""

    name: str
    goals: tuple[Goal, ...]


class NoSuchGoalError(LookupError):
    """There is no case of that name, or none that this scope can reach."""


def list_goals(board: Board, journeys: Journeys) -> tuple[GoalGroup, ...]:
    """Return every case by its kind; the lengths are those that are known by now."""
    search = journeys.find_search(board)
    machine, reasons = board.machine, board.scope.unreachable

    def describe(name: str, text: str) -> Goal:
        return Goal(name, text, _length(search.found.get(name)), reasons.get(name, ""))

    groups = []
    if board.beside is not None:
        goals = _list_mutant_goals(board.beside.mutant, board, journeys.peek(board))
        groups.append(GoalGroup("where the mutant parts", goals))
    actions = dict.fromkeys(action for action, _ in machine.pairs())
    for action in actions:
        pairs = [pair for pair in machine.pairs() if pair[0] == action]
        goals = tuple(describe(" ".join(pair), f"{pair[0]} → {pair[1]}") for pair in pairs)
        groups.append(GoalGroup(action, goals))
    witnesses = [(each.__name__, property_sentence(each)) for each in machine.witnesses]
    groups.append(GoalGroup("a witness", tuple(describe(*witness) for witness in witnesses)))
    return tuple(groups)


def _list_mutant_goals(
    mutant: Mutant, board: Board, found: Mapping[str, Journey]
) -> tuple[Goal, ...]:
    """Return where the mutant parts, and each property that it is known to break."""
    broken = {name.removeprefix(BROKEN): None for name in found if name.startswith(BROKEN)}
    if mutant.scope == board.scope.name:
        broken |= dict.fromkeys((mutant.killer, *mutant.also))
    names = [(PARTING, "the first step in which they part")]
    names += [(f"{BROKEN}{name}", f"the mutant breaks {name}") for name in broken]
    return tuple(Goal(name, text, _length(found.get(name))) for name, text in names)


def _length(journey: Journey | None) -> int | None:
    return None if journey is None else len(journey.actions)


def find_goal(board: Board, journeys: Journeys, name: str) -> tuple[Goal, Search]:
    """Return a case by its name, and the search that looks for it.

    `NoSuchGoalError` where there is none, or where the scope says that it is out of reach.
    """
    for group in list_goals(board, journeys):
        for goal in group.goals:
            if goal.name != name:
                continue
            if goal.reason:
                raise NoSuchGoalError(
                    f"{name} is out of reach in {board.scope.name}: {goal.reason}"
                )
            if name == PARTING or name.startswith(BROKEN):
                return goal, journeys.find_mutant_search(board)
            return goal, journeys.find_search(board)
    raise NoSuchGoalError(f"there is no case {name!r} here")

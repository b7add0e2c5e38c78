"""What one can be taken to: the cases of a machine, and where a mutant parts from it."""

from dataclasses import dataclass

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

    groups = [
        GoalGroup("where the mutant parts", goals) for goals in _list_mutant_goals(board, journeys)
    ]
    actions = dict.fromkeys(action for action, _ in machine.pairs())
    for action in actions:
        pairs = [pair for pair in machine.pairs() if pair[0] == action]
        goals = tuple(describe(" ".join(pair), f"{pair[0]} → {pair[1]}") for pair in pairs)
        groups.append(GoalGroup(action, goals))
    witnesses = [(each.__name__, property_sentence(each)) for each in machine.witnesses]
    groups.append(GoalGroup("a witness", tuple(describe(*witness) for witness in witnesses)))
    return tuple(groups)


def _list_mutant_goals(board: Board, journeys: Journeys) -> list[tuple[Goal, ...]]:
    search = journeys.find_mutant_search(board)
    if search is None or board.beside is None:
        return []
    mutant = board.beside.mutant
    broken = {name.removeprefix(BROKEN): None for name in search.found if name.startswith(BROKEN)}
    if mutant.scope == board.scope.name:
        broken |= dict.fromkeys((mutant.killer, *mutant.also))
    names = [(PARTING, "the first step in which they part")]
    names += [(f"{BROKEN}{name}", f"the mutant breaks {name}") for name in broken]
    return [tuple(Goal(name, text, _length(search.found.get(name))) for name, text in names)]


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
            mutant_search = journeys.find_mutant_search(board)
            is_of_the_mutant = name == PARTING or name.startswith(BROKEN)
            if is_of_the_mutant and mutant_search is not None:
                return goal, mutant_search
            return goal, journeys.find_search(board)
    raise NoSuchGoalError(f"there is no case {name!r} here")

"""Every call that the scope offers, with the outcome that it would have now, and why."""

from dataclasses import dataclass
from typing import Any

from model.checking.trace_explanation import describe_outcome, explain_outcome
from model.machine import action_name, outcome_name, property_sentence
from workbench.play.address import build_query
from workbench.play.board import MOST_STEPS, Position, Taken, parts

MOST_OPEN = 3
"""As many calls that change nothing are shown without being asked for."""


@dataclass(frozen=True, slots=True)
class Call:
    """A call, what it would lead to, and the address of the position after it.

    `mutant_outcome` is what the mutant would answer, where that is another answer, and
    `mutant_state` tells that only the state after it would be another one.
    """

    text: str
    outcome: str
    because: str
    changes: bool
    address: str
    is_of_the_mutant: bool = False
    mutant_outcome: str = ""
    mutant_state: bool = False

    @property
    def parts(self) -> bool:
        """Whether the mutant would do otherwise."""
        return bool(self.mutant_outcome) or self.mutant_state


@dataclass(frozen=True, slots=True)
class OutcomeGroup:
    """The calls of one action that would have one outcome."""

    outcome: str
    calls: tuple[Call, ...]

    @property
    def changes(self) -> bool:
        """Whether each of them would change something."""
        return all(call.changes for call in self.calls)

    @property
    def is_open(self) -> bool:
        """Whether they are shown at once: those that change something, and where there are few."""
        is_short = len(self.calls) <= MOST_OPEN
        return self.changes or is_short or any(call.parts for call in self.calls)


@dataclass(frozen=True, slots=True)
class ActionGroup:
    """The calls of one action, with the sentence of its step."""

    name: str
    sentence: str
    outcomes: tuple[OutcomeGroup, ...]


def list_calls(position: Position) -> tuple[ActionGroup, ...]:
    """Return the offered calls by action and outcome, actions in the order of the table."""
    board = position.board
    own = set(board.machine.offered_actions(board.scope, position.state))
    groups: dict[type[Any], dict[str, list[Call]]] = {kind: {} for kind in board.machine.steps}
    for index, action in enumerate(position.offered_actions()):
        taken = position.take(index, action)
        call = _describe(position, taken, is_of_the_mutant=action not in own)
        groups[type(action)].setdefault(outcome_name(taken.outcome), []).append(call)
    return tuple(
        ActionGroup(
            name=action_name(kind),
            sentence=property_sentence(board.machine.steps[kind]),
            outcomes=tuple(OutcomeGroup(name, tuple(calls)) for name, calls in outcomes.items()),
        )
        for kind, outcomes in groups.items()
        if outcomes
    )


def _describe(position: Position, taken: Taken, *, is_of_the_mutant: bool) -> Call:
    name, narrator = position.board.machine.name, position.board.narrator
    is_last = len(position.steps) >= MOST_STEPS
    outcome = describe_outcome(name, taken.outcome)
    mutant_outcome, mutant_state = "", False
    if taken.sight is not None and parts(taken.sight, taken.outcome, taken.after):
        mutant_outcome = tell_sight(position, taken)
        had_parted = position.first_parting is not None
        mutant_state = not mutant_outcome and not had_parted
    return Call(
        text=narrator.describe_action(taken.action),
        outcome=outcome,
        because=explain_outcome(name, position.state, taken.action, taken.outcome),
        changes=taken.after != position.state,
        address="" if is_last else build_query(position.follow(taken)),
        is_of_the_mutant=is_of_the_mutant,
        mutant_outcome=mutant_outcome,
        mutant_state=mutant_state,
    )


def tell_sight(position: Position, taken: Taken) -> str:
    """Return what the mutant answered, in words; empty where it answered as the model did."""
    sight = taken.sight
    if sight is None:
        return ""
    if sight.problem:
        return sight.problem
    if sight.outcome == taken.outcome:
        return ""
    return describe_outcome(position.board.machine.name, sight.outcome)

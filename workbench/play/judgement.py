"""All properties of a machine with their truth here: invariants, and what the last step must keep.

The mutant is judged by the properties of its own copy, as `admit-one mutants run` does.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from model.checking.trace_words import tidy_clause
from model.machine import Machine, property_sentence
from workbench.play.board import Position


@dataclass(frozen=True, slots=True)
class Judged:
    """A property, and the clause of it that is false: empty where it holds.

    `mutant_clause` is the same for the mutant, None without one.
    """

    name: str
    sentence: str
    clause: str
    mutant_clause: str | None = None

    @property
    def holds(self) -> bool:
        """Whether it holds of everything that is shown."""
        return not self.clause and not self.mutant_clause


@dataclass(frozen=True, slots=True)
class Judgement:
    """The truth of all properties; no step property is judged where no step was taken."""

    invariants: tuple[Judged, ...]
    step_properties: tuple[Judged, ...]
    has_step: bool

    @property
    def broken(self) -> tuple[Judged, ...]:
        """The properties that do not hold."""
        return tuple(each for each in (*self.invariants, *self.step_properties) if not each.holds)


def judge(position: Position) -> Judgement:
    """Return the truth of every property in a position and of its last step."""
    machine = position.board.machine
    invariants = _judge_all(machine.invariants, (position.state,))
    step_properties = _judge_all(machine.step_properties, _find_step(position))
    others = _judge_mutant(position)
    if others is not None:
        invariants = _put_beside(invariants, others[0])
        step_properties = _put_beside(step_properties, others[1])
    return Judgement(invariants, step_properties, bool(position.steps))


def list_witnesses(position: Position) -> tuple[str, ...]:
    """Return the sentences of the witnesses that the last step of the model shows."""
    step = _find_step(position)
    witnesses = position.board.machine.witnesses if step else ()
    return tuple(property_sentence(witness) for witness in witnesses if witness(*step))


def _find_step(position: Position) -> tuple[Any, ...]:
    if not position.steps:
        return ()
    last = position.steps[-1]
    before = position.back_to(len(position.steps) - 1).state
    return (before, last.action, last.outcome, last.after)


def _judge_all(
    checks: tuple[Callable[..., str | None], ...], values: tuple[Any, ...]
) -> tuple[Judged, ...]:
    """Judge each property; without values none is false."""
    return tuple(
        Judged(check.__name__, property_sentence(check), _judge_one(check, values))
        for check in checks
    )


def _judge_one(check: Callable[..., str | None], values: tuple[Any, ...]) -> str:
    if not values:
        return ""
    try:
        return tidy_clause(check(*values) or "")
    except Exception as error:  # noqa: BLE001 - a mutant's state may be one that no property expects
        return f"it can't be judged: {type(error).__name__}: {error}"


def _judge_mutant(position: Position) -> tuple[tuple[Judged, ...], tuple[Judged, ...]] | None:
    beside, sight = position.board.beside, position.sight
    if beside is None or sight is None or sight.problem:
        return None
    machine: Machine[Any, Any, Any] = beside.machine
    values: tuple[Any, ...] = ()
    if position.steps:
        before = position.back_to(len(position.steps) - 1).sight
        if before is not None:
            values = (before.own_state, sight.own_action, sight.own_outcome, sight.own_state)
    return (
        _judge_all(machine.invariants, (sight.own_state,)),
        _judge_all(machine.step_properties, values),
    )


def _put_beside(judged: tuple[Judged, ...], others: tuple[Judged, ...]) -> tuple[Judged, ...]:
    clauses = {other.name: other.clause for other in others}
    return tuple(
        Judged(each.name, each.sentence, each.clause, clauses.get(each.name)) for each in judged
    )

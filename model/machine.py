"""What every model offers: initial states, the actions of a scope, steps, properties, symmetry.

A model is data and pure functions; this module only names their shapes.
The judges in `model.checking` know a model through `Machine` alone,
so that a third protocol needs no change there.

Not here: how a state space is searched (`model.checking.explore`),
or which bounds a search has (`model.scopes`).
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from enum import StrEnum
from typing import Any, ClassVar, Generic, Protocol, TypeVar

State = TypeVar("State")
Action = TypeVar("Action")
Outcome = TypeVar("Outcome")

_PLAIN_TEXT = re.compile(r"[\w.:@/-]+")


class Word(StrEnum):
    """A closed list of words, which compare as text, and whose repr is valid Python."""

    def __repr__(self) -> str:
        """Return the word as Python writes it: `Answer.REPLAY`."""
        return f"{type(self).__name__}.{self.name}"


class Value:
    """The base of states, actions and what they are made of: `str` reads well in a sentence.

    It names the fields, "token (request_id r1, generation 1)"; the repr is valid Python.
    """

    __slots__ = ()
    __dataclass_fields__: ClassVar[dict[str, Any]]

    def __str__(self) -> str:
        """Return the value in words."""
        name = action_name(type(self))
        said = [_say_field(each.name, getattr(self, each.name)) for each in fields(self)]
        return f"{name} ({', '.join(said)})" if said else name


@dataclass(frozen=True, slots=True)
class Expected:
    """The exact numbers that a complete search of a scope finds.

    `states` are distinct, `transitions` are the calls that change the state,
    `calls` are all steps taken (refusals too), `depth` is the longest shortest trace.
    """

    states: int
    transitions: int
    calls: int
    depth: int


class Scope(Protocol):
    """Finite bounds within which a search is complete; each machine adds its own fields."""

    @property
    def name(self) -> str:
        """The scope's name, as the command takes it."""

    @property
    def is_symmetric(self) -> bool:
        """Whether states that differ only by interchangeable names count as one."""

    @property
    def expected(self) -> Expected | None:
        """The recorded numbers; None, where nobody has counted yet, fails and tells them."""

    @property
    def unreachable(self) -> Mapping[str, str]:
        """Names that this scope can't reach → why.

        Keys are an action and an outcome, "claim generation_exhausted", or a witness' name.
        """


Step = Callable[[State, Action], tuple[State, Outcome]]
Invariant = Callable[[State], str | None]
StepProperty = Callable[[State, Action, Outcome, State], str | None]
Witness = Callable[[State, Action, Outcome, State], bool]


@dataclass(frozen=True, slots=True)
class Machine(Generic[State, Action, Outcome]):
    """One protocol as a state machine, with what must hold of it.

    An invariant is true in each reachable state, a step property is true of each step:
    they return None, or the clause that is false, with its values.
    A witness is a case that some step must show, or the search has looked at too little.
    A property's name is its function's name, and its docstring is its sentence.
    `answers` are those step properties that say which answer a state calls for: they restate a
    decision, and so catch much of what the others catch.
    `advance` takes the next step of an action, given the outcomes of its earlier steps, and tells
    whether the action ends with it: some actions are programs, and others may act in between.
    """

    name: str
    steps: Mapping[type[Any], Callable[..., tuple[Any, Any]]]
    outcomes: Mapping[type[Any], tuple[str, ...]]
    invariants: tuple[Callable[[Any], str | None], ...]
    step_properties: tuple[Callable[[Any, Any, Any, Any], str | None], ...]
    answers: tuple[Callable[[Any, Any, Any, Any], str | None], ...]
    witnesses: tuple[Callable[[Any, Any, Any, Any], bool], ...]
    initial_states: Callable[[Any], Sequence[Any]]
    offered_actions: Callable[[Any, Any], Sequence[Any]]
    canonical: Callable[[Any, Any], Any]
    snapshot: Callable[[Any], dict[str, Any] | None]
    advance: Callable[[Any, Any, tuple[Any, ...]], tuple[Any, Any, bool]]
    allowed_after_exit: Callable[[Any, Any, int], frozenset[Any]]

    def step(self, state: State, action: Action) -> tuple[State, Outcome]:
        """Return the state after the action, and its outcome; total and pure."""
        return self.steps[type(action)](state, action)

    def pairs(self) -> tuple[tuple[str, str], ...]:
        """Return every (action, outcome) that the protocol's table names, in its order."""
        return tuple(
            (action_name(kind), outcome)
            for kind, outcomes in self.outcomes.items()
            for outcome in outcomes
        )


def action_name(kind: type[Any]) -> str:
    """Return the protocol's name of an action: `CancelUnstarted` is "cancel_unstarted"."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", kind.__name__).lower()


def in_words(value: object) -> str:
    """Return a value, or several, as a sentence says it: texts are in quotes where they must be."""
    if value is None or isinstance(value, bool):
        return {None: "none", True: "yes", False: "no"}[value]
    if isinstance(value, str) and not isinstance(value, StrEnum):
        return value if _PLAIN_TEXT.fullmatch(value) else repr(value)
    if isinstance(value, Mapping):
        return "; ".join(f"{in_words(k)} {in_words(v)}" for k, v in value.items()) or "none"
    if isinstance(value, tuple | list | set | frozenset):
        said = [in_words(each) for each in value]
        return "; ".join(said if isinstance(value, Sequence) else sorted(said)) or "none"
    return str(value)


def _say_field(name: str, value: object) -> str:
    """Return a field with its name, unless its value begins with that: "token (request_id …"."""
    said = in_words(value)
    names = (f"{name} (", f"{name.removesuffix('s')} (")
    return said if said.startswith(names) else f"{name} {said}"


def outcome_name(outcome: object) -> str:
    """Return the protocol's name of an outcome, with or without a value: "claimed"."""
    return str(getattr(outcome, "kind", outcome))


def property_sentence(check: Callable[..., object]) -> str:
    """Return the one sentence that says what a property claims."""
    return (check.__doc__ or "").strip().splitlines()[0]

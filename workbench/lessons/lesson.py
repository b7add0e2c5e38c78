"""What a lesson is: data, of which all that can be looked up or run is looked up or run.

Texts are plain English with `code` in backticks and **weight** in asterisks; an empty line stands
between two paragraphs. What a lesson states as fact comes from its rules and its runs.

Not here: the lessons themselves (`catalogue`), and how they become pages (`build`).
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from conformance.mutants.mutant import Mutant
from workbench.lessons.blocks import Block
from workbench.lessons.evidence import Evidence


@dataclass(frozen=True, slots=True)
class Case:
    """A question to the specification: what does it answer to the last of these actions?

    They are taken one after another from the machine's absent store, or from `initial`.
    """

    machine: str
    actions: tuple[Any, ...]
    initial: Any = None


@dataclass(frozen=True, slots=True)
class Choice:
    """A question whose right answer a run decides: `decide` returns one of `choices`."""

    choices: tuple[str, ...]
    decide: Callable[[], str]


@dataclass(frozen=True, slots=True)
class Question:
    """A question to be answered before the answer is shown; `why` is the reason for it."""

    text: str
    about: Case | Choice
    why: str


@dataclass(frozen=True, slots=True)
class Exercise:
    """A line to change, and a command to run: what do you see?

    The change is written as a mutant is. `solution` says why; what is seen is run.
    """

    task: str
    change: Mutant
    solution: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Lesson:
    """One thing to understand.

    `steps` are functions of the model, shown as they are written. `find_evidence` runs an engine
    on the mistake; left out, it is the engine that searches the mistake's scope. `claims` are
    properties or witnesses that belong to the rule beside those that the run finds broken.
    `shows` are further runs, each of which returns blocks.
    """

    name: str
    title: str
    rules: tuple[str, ...]
    situation: str
    question: Question
    steps: tuple[Callable[..., Any], ...]
    mistake: Mutant
    remark: str
    exercise: Exercise
    find_evidence: Callable[[Mutant], Evidence] | None = None
    claims: tuple[Callable[..., Any], ...] = ()
    shows: tuple[Callable[[], tuple[Block, ...]], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A part of a page of runs: what is shown, a question, and the run."""

    title: str
    rules: tuple[str, ...]
    text: str
    question: Question
    show: Callable[[], tuple[Block, ...]]
    remark: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RunPage:
    """A page of several runs about one thought, and an exercise."""

    name: str
    title: str
    situation: str
    parts: tuple[Part, ...]
    exercise: Exercise
    links: tuple[str, ...] = field(default=())

    @property
    def rules(self) -> tuple[str, ...]:
        """The rules that the parts name."""
        return tuple(dict.fromkeys(rule for part in self.parts for rule in part.rules))

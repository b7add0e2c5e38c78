"""From a lesson to a page: looks up the rules, the code and the diffs, and runs the engines.

Reading hint: `build_page` has the order in which a reader meets things: first a question.
"""

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

from conformance.changed_source import ROOT
from conformance.mutants.mutant import Mutant
from model.admission_vocabulary import ABSENT
from model.checking.trace import Trace, TraceStep
from model.checking.trace_explanation import describe_outcome, explain_outcome
from model.checking.trace_text import format_steps
from model.machine import outcome_name, property_sentence
from model.scopes import MACHINES
from workbench.lessons.blocks import (
    Ask,
    Block,
    Claims,
    Commands,
    Diff,
    Heading,
    Links,
    Meters,
    Page,
    Prose,
    Reveal,
    Rules,
    Source,
    Steps,
)
from workbench.lessons.catalogue import find_lesson
from workbench.lessons.evidence import (
    Evidence,
    Missing,
    draw_state,
    find_command,
    find_evidence,
)
from workbench.lessons.failure_lessons import OTHER_ENGINES
from workbench.lessons.lesson import Case, Exercise, Lesson, Question, RunPage
from workbench.lessons.rules import find_rule
from workbench.lessons.words import read_outcomes

NEVER_CHOICES = ("store_missing",)
"""Outcomes that no question is about."""


def build_page(lesson: Lesson | RunPage) -> Page:
    """Return the page of a lesson."""
    blocks = _build_runs(lesson) if isinstance(lesson, RunPage) else _build_lesson(lesson)
    return Page(lesson.name, lesson.title, lesson.rules, tuple(blocks))


def _build_lesson(lesson: Lesson) -> list[Block]:
    mistake = lesson.mistake
    return [
        Heading("The situation"),
        Prose(lesson.situation),
        Heading("A question first"),
        *build_question(lesson.question),
        Heading("The rule"),
        Rules(tuple(map(find_rule, lesson.rules))),
        Heading("The rule as code"),
        *map(build_source, lesson.steps),
        Heading("A tempting design"),
        Prose(mistake.why),
        build_diff(mistake),
        Heading("What goes wrong"),
        *_build_evidence(lesson),
        Heading("What to keep"),
        Prose(lesson.remark),
        *(block for show in lesson.shows for block in show()),
        Heading("Exercise"),
        *build_exercise(lesson.exercise),
    ]


def _build_runs(page: RunPage) -> list[Block]:
    blocks: list[Block] = [Prose(page.situation)]
    for number, part in enumerate(page.parts, start=1):
        blocks += [
            Heading(f"{number}. {part.title}"),
            Prose(part.text),
            *build_question(part.question),
            Rules(tuple(map(find_rule, part.rules))),
            *part.show(),
            Prose(part.remark),
        ]
    links = tuple((name, find_lesson(name).title) for name in page.links)
    blocks += [Heading("Exercise"), *build_exercise(page.exercise)]
    return [*blocks, Heading("Lessons about these"), Links(links)]


# ── Questions ─────────────────────────────────────────────────────────────────────────────


def build_question(question: Question) -> list[Block]:
    """Return what there is before the question, and the question with its answer."""
    if isinstance(question.about, Case):
        return _build_case(question, question.about)
    try:
        right = question.about.decide()
    except Missing as missing:
        return [Prose(question.text), Prose(f"Not run: {missing}."), Prose(question.why)]
    said = Prose(f"It is: **{right}**. {question.why}")
    return [Ask(question.text, question.about.choices, right, (said,))]


def _build_case(question: Question, case: Case) -> list[Block]:
    """Run a case on the model: all but its last action are told, and the last one is asked."""
    machine = MACHINES[case.machine]
    initial = ABSENT if case.initial is None else case.initial
    state, steps = initial, []
    *before, asked = case.actions
    for action in before:
        state, outcome = machine.step(state, action)
        steps.append(TraceStep(action, outcome, state))
    _, outcome = machine.step(state, asked)
    trace = Trace(case.machine, "", initial, tuple(steps))
    because = explain_outcome(case.machine, state, asked, outcome)
    said = describe_outcome(case.machine, outcome)
    answer = f"The specification answers **{said}**, because {because}."
    choices = [str(each) for each in machine.outcomes[type(asked)] if each not in NEVER_CHOICES]
    meanings = read_outcomes(case.machine)
    lines = tuple(line.removeprefix("  ") for line in format_steps(trace))
    return [
        Steps("What has happened so far", lines),
        Meters("The state now", draw_state(case.machine, state)),
        Ask(
            question.text,
            tuple(choices),
            outcome_name(outcome),
            (Prose(answer), Prose(question.why)),
            tuple(meanings[choice] for choice in choices),
        ),
    ]


# ── Code, diffs and runs ──────────────────────────────────────────────────────────────────


def build_source(step: Callable[..., Any]) -> Source:
    """Return a function as it stands in its file."""
    lines, first = inspect.getsourcelines(step)
    file = Path(inspect.getsourcefile(step) or "").resolve()
    return Source(file.relative_to(ROOT).as_posix(), first, "".join(lines).rstrip())


def build_diff(mutant: Mutant) -> Diff:
    """Return a change as it is written down."""
    lines = ("…" if line == "@@" else line for line in mutant.edit.splitlines())
    return Diff(mutant.file, tuple(lines))


def find_lesson_evidence(lesson: Lesson) -> Evidence:
    """Run the engine of a lesson on its mistake; `Missing` if the engine is not installed."""
    return (lesson.find_evidence or find_evidence)(lesson.mistake)


def _build_evidence(lesson: Lesson) -> list[Block]:
    own = [(_kind_of(each), each.__name__, property_sentence(each)) for each in lesson.claims]
    try:
        evidence = find_lesson_evidence(lesson)
    except Missing as missing:
        return [Prose(f"Not run: {missing}."), Heading("What catches it", 3), Claims(tuple(own))]
    known = {name for _, name, _ in evidence.claims}
    others = [each for each in own if each[1] not in known]
    return [
        *evidence.blocks,
        Prose(evidence.covered),
        Heading("What catches it", 3),
        Claims(evidence.claims),
        *([Heading("What the rule claims besides", 3), Claims(tuple(others))] if others else ()),
    ]


def _kind_of(claim: Callable[..., Any]) -> str:
    """Return whether a claim is an invariant, a step property or a witness."""
    for machine in MACHINES.values():
        if claim in machine.invariants:
            return "invariant"
        if claim in machine.step_properties:
            return "step property"
    return "witness"


# ── Exercises ─────────────────────────────────────────────────────────────────────────────


def find_solution(exercise: Exercise) -> tuple[Evidence, str]:
    """Run an exercise; return what is seen, and the command that shows it."""
    change = exercise.change
    if change.name in OTHER_ENGINES:
        run, command = OTHER_ENGINES[change.name]
        return run(change), command
    return find_evidence(change), find_command(change)


def build_exercise(exercise: Exercise) -> list[Block]:
    """Return the task, what to change and to run, and the solution."""
    evidence, command = find_solution(exercise)
    change = exercise.change
    seen: list[Block] = [Prose(f"The verdict is **{evidence.verdict}**. {evidence.covered}")]
    seen += [Claims(evidence.claims)] if evidence.claims else []
    seen += [*evidence.blocks, *map(Prose, evidence.problems), Prose(exercise.solution)]
    return [
        Prose(exercise.task),
        build_diff(change),
        Prose("Then run this. What do you see, and why?"),
        Commands((command, f"git checkout {change.file}")),
        Reveal("Show the solution", tuple(seen)),
    ]


def name_step(step: Callable[..., Any]) -> str:
    """Return where a step stands, "model.admission.admit"."""
    return f"{step.__module__}.{step.__qualname__}"

"""What a teacher would say of a trace, in whole sentences.

Where the first mistake is, why the specification answers otherwise there, and what is false with
the values that make it so.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from model.checking.trace import ANY, UNKNOWN, NoAnswer, Observed, Trace, TraceStep
from model.checking.trace_admission import ADMISSION_NARRATOR
from model.checking.trace_report import Failure
from model.checking.trace_reservation import RESERVATION_NARRATOR
from model.checking.trace_words import (
    Narrator,
    count,
    describe_changes,
    describe_differences,
    join_words,
    tell_apart,
)
from model.scopes import MACHINES

NARRATORS: Mapping[str, Narrator] = {
    "admission": ADMISSION_NARRATOR,
    "reservation": RESERVATION_NARRATOR,
}
RAISED = ("exception", "schema")


@dataclass(frozen=True, slots=True)
class Mistake:
    """The first step at which a trace is not what the specification does, and what that is."""

    step: int
    outcome: Any
    after: Any
    because: str


def find_mistake(trace: Trace) -> Mistake | None:
    """Return where a trace first parts from the specification, None if it never does.

    Steps without an answer, or that ran at the same time as others, can't be judged alone.
    """
    machine = MACHINES[trace.machine]
    for number, step in enumerate(trace.steps[: trace.alone], start=1):
        before = trace.states[number - 1]
        if before is None or isinstance(step.outcome, NoAnswer) or step.crash is not None:
            continue
        try:
            after, outcome = machine.step(before, step.action)
        except (LookupError, AttributeError):
            return None  # no state of this machine: what is broken has been broken before
        if outcome != step.outcome or (step.after is not None and after != step.after):
            because = explain_outcome(trace.machine, before, step.action, outcome)
            return Mistake(number, outcome, after, because)
    return None


def explain_outcome(machine: str, before: Any, action: Any, outcome: Any) -> str:
    """Return why the specification gives this outcome, as a clause; empty if it can't be said."""
    try:
        return NARRATORS[machine].explain_outcome(before, action, outcome)
    except LookupError:
        return ""


def describe_outcome(machine: str, outcome: Any) -> str:
    """Return an outcome in a few words; a call that never answered says so."""
    if outcome is UNKNOWN:
        return "no answer: nobody knows"
    if outcome is ANY:
        return "any outcome that some order of the calls gives"
    return NARRATORS[machine].describe_outcome(outcome)


def say_when(trace: Trace, failure: Failure) -> str:
    """Return when a failure of a trace shows, in words."""
    if failure.turn is not None:
        return f"after turn {failure.turn}"
    return f"after step {len(trace)}" if trace.steps else "in the initial state"


def explain(trace: Trace, failures: Sequence[Failure]) -> list[str]:
    """Return what a teacher would say, a paragraph for each thought."""
    last = trace.steps[-1] if trace.steps else None
    if trace.schedule:
        return _explain_schedule(trace, failures)
    if last is not None and last.observed is not None:
        found = replace(last, outcome=last.observed.outcome, after=last.observed.state)
        lessons = _teach(replace(trace, steps=(*trace.steps[:-1], found)), failures)
        return [*_explain_divergence(trace, last, last.observed), *lessons]
    mistake = find_mistake(trace)
    lessons = _teach(trace, failures)
    if not lessons and mistake is None:
        lessons = [end_clause(_say_last_step(trace))]
    return [*lessons, *_explain_mistake(trace, mistake)]


def _explain_schedule(trace: Trace, failures: Sequence[Failure]) -> list[str]:
    """Say which steps ran at the same time, which of them raised, and where to look."""
    steps = list(enumerate(trace.steps, start=1))[trace.alone :]
    named = join_words(str(number) for number, _ in steps)
    taken = [turn.step for turn in trace.schedule if turn.result != "blocked"]
    switches = sum(one != other for one, other in pairwise(taken))
    ran = f"Steps {named} ran at the same time" if len(steps) > 1 else f"Step {named} ran alone"
    passed = f"the turn passed from one to another {count(switches, 'time')}"
    said = [f"{ran}; {passed}."]
    said += [
        f"Step {number}, {NARRATORS[trace.machine].describe_action(step.action)}, "
        f"raises {end_clause(step.observed.found)}"
        for number, step in steps
        if step.observed is not None
    ]
    seen = {each.turn for each in failures if each.turn is not None}
    return [" ".join(said), *(_say_seen(trace, turn) for turn in sorted(seen))]


def _say_seen(trace: Trace, number: int) -> str:
    """Say why it matters what is committed between two turns."""
    turn = trace.schedule[number - 1]
    said = f"Turn {number}, {turn.statement} of step {turn.step}"
    return (
        f"{said}, is the first after which that is so. "
        "Whatever is committed by then any other connection can read, and it stays if a process "
        "dies there, whether a later turn puts it right or not."
    )


def _teach(trace: Trace, failures: Sequence[Failure]) -> list[str]:
    """Say what is false with its values, for the properties that have words of their own."""
    lessons = NARRATORS[trace.machine].lessons
    if trace.states[-1] is None:
        return []
    said = [lessons[failure.name](trace) for failure in failures if failure.name in lessons]
    return [end_clause(each) for each in said if each is not None]


def _say_last_step(trace: Trace) -> str:
    """Say what the last step did; before it all was well, or the trace would be shorter."""
    if not trace.steps or None in trace.states[-2:]:
        return "It is so from the start" if not trace.steps else "Nobody looked at the states"
    narrator = NARRATORS[trace.machine]
    changes = "; ".join(describe_changes(narrator, *trace.states[-2:])) or "nothing changed"
    action = narrator.describe_action(trace.steps[-1].action)
    return f"It was true before step {len(trace)}, {action}. By that step: {changes}"


def _explain_mistake(trace: Trace, mistake: Mistake | None) -> list[str]:
    """Say where the first mistake is, and what the specification does there, and why."""
    if mistake is None:
        return []
    narrator = NARRATORS[trace.machine]
    step = trace.steps[mistake.step - 1]
    expected, found = tell_apart(narrator, mistake.outcome, step.outcome)
    because = f", because {mistake.because}" if mistake.because else ""
    where = f"The mistake is in step {mistake.step}, {narrator.describe_action(step.action)}."
    if mistake.outcome != step.outcome:
        said = f"The specification answers {expected}{because}."
        return [f"{where} {said} Here the answer was {found}."]
    unlike = "; ".join(describe_differences(narrator, mistake.after, step.after))
    return [f"{where} The answer {expected} is right{because}. Wrong is: {end_clause(unlike)}"]


def _explain_divergence(trace: Trace, step: TraceStep, observed: Observed) -> list[str]:
    """Say what the specification does in the last step and why, and what was done instead."""
    if observed.kind == "snapshot":
        said = f"After step {len(trace)} the snapshot of the implementation has {observed.found}"
        return [f"{said}. Specified is {end_clause(observed.expected)}"]
    said = _say_specified(trace, step)
    if observed.kind == "outcome":
        return [f"{said} The implementation answers {observed.found}."]
    if observed.kind == "schema":
        raised = "A constraint refuses what the implementation writes"
        return [f"{said} {raised}: {end_clause(observed.found)}"]
    if observed.kind in RAISED:
        return [f"{said} The implementation raises {end_clause(observed.found)}"]
    if observed.kind == "state":
        wrong = "The implementation answers so too, but in its state"
        if step.outcome is UNKNOWN:
            wrong = "What is left is wrong"
        return [f"{said} {wrong}: {end_clause(observed.found)}"]
    return [
        said,
        f"Expected was: {end_clause(observed.expected)}",
        f"Found was: {end_clause(observed.found)}",
    ]


def _say_specified(trace: Trace, step: TraceStep) -> str:
    """Say what the last step answers, and why; or that it ended before it could answer."""
    action = NARRATORS[trace.machine].describe_action(step.action)
    if step.outcome is UNKNOWN:
        return f"Step {len(trace)}, {action}, ended before its answer arrived."
    before = trace.states[-2]
    because = ""
    if before is not None:
        because = explain_outcome(trace.machine, before, step.action, step.outcome)
    expected = describe_outcome(trace.machine, step.outcome)
    said = f"In step {len(trace)}, {action}, the answer is {expected}"
    return said + (f", because {because}." if because else ".")


def end_clause(said: str) -> str:
    """Return a clause as a sentence, its first letter as it is: names begin many of them."""
    return said if said.endswith((".", "!", "?")) else f"{said}."

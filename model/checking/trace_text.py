"""A trace as text for a person: each step in short words, and only what it changed.

Below the steps stands what a teacher would say: what is false, with the values that make it so,
where the first mistake is, and why the specification answers otherwise there.
"""

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from model.checking.trace import ANY, UNKNOWN, NoAnswer, Observed, Trace, TraceStep
from model.checking.trace_admission import ADMISSION_NARRATOR
from model.checking.trace_report import Failure, TraceReport
from model.checking.trace_reservation import RESERVATION_NARRATOR
from model.checking.trace_words import (
    Narrator,
    count,
    describe_changes,
    describe_differences,
    join_words,
    list_state,
    make_printable,
    tell_apart,
    tidy_clause,
)
from model.scopes import MACHINES

NARRATORS: Mapping[str, Narrator] = {
    "admission": ADMISSION_NARRATOR,
    "reservation": RESERVATION_NARRATOR,
}
WIDTH = 96
RAISED = ("exception", "schema")
TITLES = {
    "conformance": "the implementation parts from the specification",
    "schedule": "calls at the same time go wrong",
    "crash": "a crash leaves what it must not leave",
    "power loss": "a power loss breaks a promise",
}
"""What a failure is called where its kind is no kind of property."""
SEEN_BY_ITSELF = ("outcome", "state", "crash", "unanswered")
"""Kinds of what differs that a step shows by the outcomes and the states of both sides."""
MOST_LINE = 400
"""A state that has no words is cut here; the file has it whole."""


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


# ── The whole text ────────────────────────────────────────────────────────────────────────


def format_report(report: TraceReport) -> str:
    """Return a report as text."""
    trace = report.trace
    lines: list[str] = []
    for failure in report.failures:
        lines += [f"FAIL: {title_failure(failure)}", *_wrap(failure.sentence, "  ")]
    if report.failures:
        lines += [""]
    lines += [title_trace(trace), *_format_start(trace)]
    lines += ["", *format_steps(trace), *_format_schedule(trace)]
    if report.failures:
        lines += ["", *_format_explanation(trace, report.failures)]
    versions = report.versions
    found_with = f"admit-one {versions.admit_one}, Python {versions.python}"
    lines += ["", f"repeat: {report.repeat}", f"with:   {found_with}, SQLite {versions.sqlite}"]
    return "\n".join(_cut(make_printable(line)) for line in lines) + "\n"


def _cut(line: str) -> str:
    return line if len(line) <= MOST_LINE else f"{line[: MOST_LINE - 1]}…"


def _wrap(text: str, indent: str, first: str | None = None) -> list[str]:
    return textwrap.wrap(
        text,
        WIDTH,
        initial_indent=indent if first is None else first,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )


def title_failure(failure: Failure) -> str:
    """Return what a failure is called."""
    if failure.kind == "replay":
        return "the specification is not as it was recorded"
    if failure.kind in TITLES:
        return f"{TITLES[failure.kind]} ({failure.name})"
    return f"the {failure.kind} {failure.name}"


def title_trace(trace: Trace) -> str:
    """Return what a trace is of, how long it is, and where it starts."""
    start = describe_start(trace)
    title = " ".join(filter(None, (trace.machine, trace.scope)))
    return f"{title}, {count(len(trace), 'step')} from {start}:"


def describe_start(trace: Trace) -> str:
    """Return where a trace starts, in a few words."""
    return NARRATORS[trace.machine].describe_store(trace.initial)


def _format_start(trace: Trace) -> list[str]:
    """Return what is there at the start; no line where the store is absent."""
    if not MACHINES[trace.machine].snapshot(trace.initial):
        return []
    held = list_state(NARRATORS[trace.machine], trace.initial)
    return ["", "  The store at the start:", *(f"    {line}" for line in held)]


def format_steps(trace: Trace) -> list[str]:
    """Return the steps: action and outcome in short words, then what the step changed."""
    narrator = NARRATORS[trace.machine]
    width = len(str(len(trace)))
    mistake = find_mistake(trace)
    lines = []
    before = trace.initial
    for number, step in enumerate(trace.steps, start=1):
        who = "" if step.process is None else f"[{step.process}] "
        said = f"{who}{narrator.describe_action(step.action)}"
        if step.observed is None or step.outcome is ANY:
            said += f" → {say_answer(trace.machine, step)}"
        lines += _wrap(said, " " * (width + 6), f"  {number:>{width}}. ")
        details = _describe_step(narrator, trace, before, step)
        if mistake is not None and mistake.step == number:
            details += _mark_mistake(trace, step, mistake)
        for line in details:
            lines += _wrap(line.lstrip(), " " * (width + 10), _indent_like(line, width + 6))
        before = step.after if number <= trace.alone else trace.states[trace.alone]
    return lines or ["  (no step: it is so from the start)"]


def _indent_like(line: str, width: int) -> str:
    return " " * (width + len(line) - len(line.lstrip()))


def _mark_mistake(trace: Trace, step: TraceStep, mistake: Mistake) -> list[str]:
    """Return what is wrong with a step that the specification would not take so."""
    narrator = NARRATORS[trace.machine]
    if mistake.outcome != step.outcome:
        return [f"✗ specified is → {tell_apart(narrator, mistake.outcome, step.outcome)[0]}"]
    return [f"✗ {line}" for line in describe_differences(narrator, mistake.after, step.after)]


def describe_outcome(machine: str, outcome: Any) -> str:
    """Return an outcome in a few words; a call that never answered says so."""
    if outcome is UNKNOWN:
        return "no answer: nobody knows"
    if outcome is ANY:
        return "any outcome that some order of the calls gives"
    return NARRATORS[machine].describe_outcome(outcome)


def say_answer(machine: str, step: TraceStep) -> str:
    """Return what a step answered: the outcome, or the error of an operation among others."""
    if step.outcome is ANY and step.observed is not None:
        return f"raises {step.observed.found}"
    return describe_outcome(machine, step.outcome)


def _describe_step(narrator: Narrator, trace: Trace, before: Any, step: TraceStep) -> list[str]:
    lines = describe_crash(step)
    changes = describe_state_change(narrator, before, step.after)
    if trace.schedule and step is trace.steps[-1] and step.after is not None:
        changes = ["all of them together:", *_indent(changes or ["nothing changed"])]
    if step.observed is None or step.outcome is ANY:
        return [*lines, *changes]
    expected = describe_outcome(trace.machine, step.outcome)
    lines += [f"specification:  → {expected}", *_indent(changes or ["nothing changes"])]
    return [*lines, *_describe_observed(narrator, trace, before, step)]


def _describe_observed(narrator: Narrator, trace: Trace, before: Any, step: TraceStep) -> list[str]:
    observed = step.observed
    if observed is None:
        return []
    if observed.kind in RAISED:
        return [f"implementation: raises {observed.found}"]
    answer = step.outcome if observed.outcome is None else observed.outcome
    lines = [f"implementation: → {describe_outcome(trace.machine, answer)}"]
    if observed.state is not None and before is not None:
        changes = describe_changes(narrator, before, observed.state) or ["nothing changes"]
        lines += _indent(changes)
    if observed.kind not in SEEN_BY_ITSELF:
        lines += _indent([f"✗ {observed.kind}: {observed.found}"])
    if observed.kind == "state" and step.after is not None and observed.state is not None:
        unlike = describe_differences(narrator, step.after, observed.state)
        lines += _indent([f"✗ {line}" for line in unlike])
    return lines


def describe_state_change(narrator: Narrator, before: Any, after: Any) -> list[str]:
    """Return what a step changed, or that nobody looked."""
    if after is None:
        return ["(nobody looked at the state here)"]
    if before is None:
        return ["(what it changed is not known: nobody looked at the state before)"]
    return describe_changes(narrator, before, after)


def _indent(lines: list[str]) -> list[str]:
    return [f"  {line}" for line in lines]


def describe_crash(step: TraceStep) -> list[str]:
    """Return where and how a step ended, and what was lost; nothing if it did not crash."""
    crash = step.crash
    if crash is None:
        return []
    commits = "" if crash.commits is None else f", {count(crash.commits, 'commit')} before it"
    survivor = ", another connection stayed open" if crash.has_survivor else ""
    ended = f"✗ {crash.ending.value.replace('_', ' ')} at: {crash.boundary}{commits}{survivor}"
    return [ended, *(f"  {detail}" for detail in crash.details)]


def _format_schedule(trace: Trace) -> list[str]:
    if not trace.schedule:
        return []
    width = max(len(f"step {turn.step}") for turn in trace.schedule)
    lines = ["", "  The turns that they took:"]
    for turn in trace.schedule:
        result = "" if turn.result == "ran" else f"  ({turn.result})"
        lines.append(f"    {f'step {turn.step}':<{width}}  {turn.statement}{result}")
    return lines


# ── The explanation ───────────────────────────────────────────────────────────────────────


def _format_explanation(trace: Trace, failures: Sequence[Failure]) -> list[str]:
    lines = []
    for failure in failures:
        if failure.kind != "conformance":  # there the step itself shows both sides
            said = _end(tidy_clause(failure.clause))
            lines += _wrap(said, "  ", f"False {say_when(trace)}: ")
    paragraphs = explain(trace, failures)
    return [*lines, "Explanation:", *(line for p in paragraphs for line in _wrap(p, "  "))]


def say_when(trace: Trace) -> str:
    """Return when the failures of a trace show, in words."""
    return f"after step {len(trace)}" if trace.steps else "in the initial state"


def explain(trace: Trace, failures: Sequence[Failure]) -> list[str]:
    """Return what a teacher would say, a paragraph for each thought."""
    last = trace.steps[-1] if trace.steps else None
    if trace.schedule:
        return _explain_schedule(trace)
    if last is not None and last.observed is not None:
        found = replace(last, outcome=last.observed.outcome, after=last.observed.state)
        lessons = _teach(replace(trace, steps=(*trace.steps[:-1], found)), failures)
        return [*_explain_divergence(trace, last, last.observed), *lessons]
    mistake = find_mistake(trace)
    lessons = _teach(trace, failures)
    if not lessons and mistake is None:
        lessons = [_end(_say_last_step(trace))]
    return [*lessons, *_explain_mistake(trace, mistake)]


def _explain_schedule(trace: Trace) -> list[str]:
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
        f"raises {_end(step.observed.found)}"
        for number, step in steps
        if step.observed is not None
    ]
    return [" ".join(said)]


def _teach(trace: Trace, failures: Sequence[Failure]) -> list[str]:
    """Say what is false with its values, for the properties that have words of their own."""
    lessons = NARRATORS[trace.machine].lessons
    if trace.states[-1] is None:
        return []
    said = [lessons[failure.name](trace) for failure in failures if failure.name in lessons]
    return [_end(each) for each in said if each is not None]


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
    return [f"{where} The answer {expected} is right{because}. Wrong is: {_end(unlike)}"]


def _explain_divergence(trace: Trace, step: TraceStep, observed: Observed) -> list[str]:
    """Say what the specification does in the last step and why, and what was done instead."""
    if observed.kind == "snapshot":
        said = f"After step {len(trace)} the snapshot of the implementation has {observed.found}"
        return [f"{said}. Specified is {_end(observed.expected)}"]
    said = _say_specified(trace, step)
    if observed.kind == "outcome":
        return [f"{said} The implementation answers {observed.found}."]
    if observed.kind == "schema":
        raised = f"A constraint refuses what the implementation writes: {_end(observed.found)}"
        return [f"{said} {raised}"]
    if observed.kind in RAISED:
        return [f"{said} The implementation raises {_end(observed.found)}"]
    if observed.kind == "state":
        wrong = "The implementation answers so too, but in its state"
        if step.outcome is UNKNOWN:
            wrong = "What is left is wrong"
        return [f"{said} {wrong}: {_end(observed.found)}"]
    return [
        said,
        f"Expected was: {_end(observed.expected)}",
        f"Found was: {_end(observed.found)}",
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


def _end(said: str) -> str:
    """Return a clause as a sentence, its first letter as it is: names begin many of them."""
    return said if said.endswith((".", "!", "?")) else f"{said}."

"""A trace as text for a person: each step in short words, and only what it changed.

Below the steps stands what a teacher would say: what is false, with the values that make it so,
where the first mistake is, and why the specification answers otherwise there.
"""

import textwrap
from collections.abc import Sequence
from typing import Any

from model.checking.trace import ANY, Trace, TraceStep
from model.checking.trace_explanation import (
    NARRATORS,
    RAISED,
    Mistake,
    describe_outcome,
    end_clause,
    explain,
    find_mistake,
    say_when,
)
from model.checking.trace_report import Failure, TraceReport
from model.checking.trace_words import (
    Narrator,
    count,
    describe_changes,
    describe_differences,
    list_state,
    make_printable,
    tell_apart,
    tidy_clause,
)
from model.scopes import MACHINES

WIDTH = 96
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
    lines += ["", *format_steps(trace), *_format_schedule(trace, report.failures)]
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


def _format_schedule(trace: Trace, failures: Sequence[Failure]) -> list[str]:
    if not trace.schedule:
        return []
    width = max(len(f"step {turn.step}") for turn in trace.schedule)
    figures = len(str(len(trace.schedule)))
    lines = ["", "  The turns that they took:"]
    for number, turn in enumerate(trace.schedule, start=1):
        result = "" if turn.result == "ran" else f"  ({turn.result})"
        head = f"    {number:>{figures}}. {f'step {turn.step}':<{width}}"
        lines.append(f"{head}  {turn.statement}{result}")
        lines += [f"{' ' * len(head)}  ✗ {said}" for said in say_false_after(number, failures)]
    return lines


def say_false_after(turn: int, failures: Sequence[Failure]) -> list[str]:
    """Return what another connection reads after a turn that is false."""
    return [tidy_clause(each.clause) for each in failures if each.turn == turn]


def _format_explanation(trace: Trace, failures: Sequence[Failure]) -> list[str]:
    lines = []
    for failure in failures:
        if failure.kind != "conformance":  # there the step itself shows both sides
            said = end_clause(tidy_clause(failure.clause))
            lines += _wrap(said, "  ", f"False {say_when(trace, failure)}: ")
    paragraphs = explain(trace, failures)
    return [*lines, "Explanation:", *(line for p in paragraphs for line in _wrap(p, "  "))]

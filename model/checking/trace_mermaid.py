"""A trace as a Mermaid sequence diagram: a lane for each caller or worker, and for each store.

It renders where Markdown does: in pull requests, issues and documentation.
"""

from collections.abc import Mapping, Sequence

from model.checking.trace import ANY, NoAnswer, Trace
from model.checking.trace_explanation import NARRATORS, find_mistake
from model.checking.trace_report import TraceReport
from model.checking.trace_text import describe_state_change, say_answer, say_false_after
from model.checking.trace_words import (
    Hop,
    describe_differences,
    make_printable,
    tell_apart,
    tidy_clause,
)

MOST_TEXT = 160


def format_mermaid(report: TraceReport) -> str:
    """Return a report as a Mermaid diagram."""
    trace = report.trace
    narrator = NARRATORS[trace.machine]
    hops = [narrator.find_hops(trace, index) for index in range(len(trace))]
    callers = dict.fromkeys(hop.caller for each in hops for hop in each)
    stores = [hop.store for each in hops for hop in each if hop.store not in callers]
    lanes = {
        name: f"p{number}"
        for number, name in enumerate([*callers, *dict.fromkeys(stores)] or ["store"], start=1)
    }
    lines = ["sequenceDiagram"]
    lines += [
        f"    {'actor' if name in callers else 'participant'} {lane} as {_escape(name)}"
        for name, lane in lanes.items()
    ]
    for index in range(len(trace)):
        lines += _draw_step(trace, index, hops[index], lanes)
    lines += _draw_schedule(report, hops, lanes)
    first, *_, last = [*lanes.values()] * 2
    over = f"{first},{last}" if len(lanes) > 1 else first
    for failure in report.failures:
        lines.append(_note(over, f"FAIL: {failure.sentence}"))
        lines.append(_note(over, tidy_clause(failure.clause)))
    return "\n".join(lines) + "\n"


def _draw_step(
    trace: Trace, index: int, hops: tuple[Hop, ...], lanes: Mapping[str, str]
) -> list[str]:
    """Return the messages of a step, what it changed, the answer, and what is wrong with it."""
    step = trace.steps[index]
    texts = [f"{index + 1}. {hops[0].text}", *(hop.text for hop in hops[1:])]
    caller, store = lanes[hops[-1].caller], lanes[hops[-1].store]
    if caller == store:
        return [_note(store, texts[0])]
    lines = [
        f"    {lanes[hop.caller]}->>{lanes[hop.store]}: {_escape(text)}"
        for hop, text in zip(hops, texts, strict=True)
    ]
    before = trace.states[min(index, trace.alone)]
    changes = describe_state_change(NARRATORS[trace.machine], before, step.after)
    if changes:
        lines.append(_note(store, "; ".join(changes)))
    if step.crash is not None:
        lines.append(_note(caller, f"✗ {step.crash.ending} at {step.crash.boundary}"))
    arrow = "--x" if isinstance(step.outcome, NoAnswer) else "-->>"
    answer = say_answer(trace.machine, step)
    lines.append(f"    {store}{arrow}{caller}: {_escape(answer)}")
    wrong = _find_wrong(trace, index)
    return lines if wrong is None else [*lines, _note(store, wrong)]


def _find_wrong(trace: Trace, index: int) -> str | None:
    """Return what is wrong with a step, if anything is."""
    step, mistake = trace.steps[index], find_mistake(trace)
    narrator = NARRATORS[trace.machine]
    if step.outcome is ANY:
        return None  # the answer says it
    if step.observed is not None:
        return f"✗ the implementation: {step.observed.found}"
    if mistake is None or mistake.step != index + 1:
        return None
    if mistake.outcome != step.outcome:
        return f"✗ specified is {tell_apart(narrator, mistake.outcome, step.outcome)[0]}"
    return f"✗ {'; '.join(describe_differences(narrator, mistake.after, step.after))}"


def _draw_schedule(
    report: TraceReport, hops: Sequence[tuple[Hop, ...]], lanes: Mapping[str, str]
) -> list[str]:
    """Return the turns as notes in the lanes of those who took them, and what is false then."""
    lines = []
    for number, turn in enumerate(report.trace.schedule, start=1):
        lane = lanes[hops[turn.step - 1][0].caller]
        result = "" if turn.result == "ran" else f" ({turn.result})"
        lines.append(_note(lane, f"turn of step {turn.step}: {turn.statement}{result}"))
        lines += [_note(lane, f"✗ {said}") for said in say_false_after(number, report.failures)]
    return lines


def _note(lane: str, text: str) -> str:
    return f"    Note over {lane}: {_escape(text)}"


def _escape(text: str) -> str:
    """Return a text that Mermaid takes as it is: its own signs become entities."""
    shown = make_printable(text)
    shown = shown if len(shown) <= MOST_TEXT else f"{shown[: MOST_TEXT - 1]}…"
    return "".join(f"#{ord(sign)};" if sign in "#;<>%{}" else sign for sign in shown)

"""A history as a page: what real processes did at the same time, as bars, and how it is judged."""

from collections.abc import Mapping

from model.checking.explore import Verdict
from model.checking.history import History, Operation
from model.checking.linearizability import Linearizability
from model.checking.trace import UNKNOWN
from model.checking.trace_explanation import NARRATORS, describe_outcome
from model.checking.trace_words import count
from workbench.html.markup import NOTHING, Markup, element, join
from workbench.html.page import build_commands, build_masthead, build_page
from workbench.html.telling import compare_states, name_lane
from workbench.html.trace_page import SCRIPTS, STYLES, draw_controls, draw_pick
from workbench.html.trace_parts import SAID, draw_state

ROW_PIXELS = 56
BAR_PIXELS = 28
MOST_SHOWN = 12
"""With more calls the chart is wider than a small screen, and scrolls by itself."""
LEAST_BAR = 2.5
"""A bar is at least so many per cent wide, so that it can be seen and chosen."""
TIME_SHARE = 94.0
RULES = ":root { --lanes: 4; }"


def format_history_html(history: History, judged: Linearizability, repeat: str) -> str:
    """Return a history and its judgement as a page that opens from disk."""
    number = count(len(history.operations), "call", is_in_digits=True)
    processes = list(dict.fromkeys(each.process for each in history.operations))
    title = f"A history of {history.machine}"
    body = element(
        "main",
        element(
            "header",
            build_masthead(f"{number} of {count(len(processes), 'caller')}"),
            element("h1", title),
            element("p", _conclude(judged), class_="claim"),
            build_commands("Repeat", repeat),
        ),
        _draw_reason(history, judged),
        _draw_chart(history, processes, judged),
        _draw_stage(history, judged),
    )
    return build_page(title, body, styles=(*STYLES, "history.css"), scripts=SCRIPTS, rules=RULES)


def _conclude(judged: Linearizability) -> str:
    if judged.verdict is Verdict.PASS:
        return "One order that respects real time explains every answer."
    if judged.verdict is Verdict.FAIL and judged.stuck is None:
        return "Something is wrong beside the answers."
    if judged.verdict is Verdict.FAIL:
        return "No order that respects real time explains every answer."
    return "The judge gave up before it knew."


def _draw_reason(history: History, judged: Linearizability) -> Markup:
    if not judged.reason:
        return NOTHING
    order = ", ".join(str(index + 1) for index in judged.order) or "none"
    *lines, last = judged.reason.splitlines()
    narrator = NARRATORS[history.machine]
    states = [
        draw_state("The state after these calls", compare_states(narrator, None, state), SAID)
        for state in judged.states[:1]
    ]
    return element(
        "section",
        element(
            "div",
            element("p", str(judged.verdict), class_="label"),
            element("p", last),
            class_="clause",
        ),
        element(
            "div",
            element("p", f"As far as an order explains the answers, it is: {order}."),
            *states,
            class_="explanation",
        ),
        _draw_raised([*lines, last]) if lines else None,
        class_="wrong",
        aria_label="What is wrong",
    )


def _draw_raised(lines: list[str]) -> Markup:
    """Return an error with all that led to it; its last line says what it is."""
    text = join(lines, "\n")
    box = element("pre", text, tabindex=0, role="region", aria_label="What was raised")
    return element("div", element("h2", "What was raised"), box, class_="also raised")


def _draw_chart(history: History, processes: list[str], judged: Linearizability) -> Markup:
    """Return a lane for each process with its calls as bars, from left to right in time."""
    rows = {process: number for number, process in enumerate(processes)}
    spans = find_spans(history)
    bars = [
        _draw_bar(
            number,
            _choose_bar(number, operation, judged),
            rows[operation.process],
            spans[number],
            say_call(history, number, judged),
        )
        for number, operation in enumerate(history.operations)
    ]
    lanes = [
        join(
            [
                element(
                    "text", name_lane(process), x=0, y=row * ROW_PIXELS + 12, class_="lane-name"
                ),
                element(
                    "line",
                    x1="0%",
                    x2="100%",
                    y1=row * ROW_PIXELS + 30,
                    y2=row * ROW_PIXELS + 30,
                    class_="lane",
                ),
            ]
        )
        for process, row in rows.items()
    ]
    picture = element(
        "svg",
        *lanes,
        *bars,
        width="100%",
        height=len(processes) * ROW_PIXELS + 6,
        role="group",
        aria_label="The calls of each process in time",
    )
    is_dense = len(history.operations) > MOST_SHOWN
    return element("div", picture, class_="chart dense" if is_dense else "chart")


def _choose_bar(number: int, operation: Operation, judged: Linearizability) -> str:
    """Return how a bar is drawn: the call that has no place stands out, and one left open."""
    if number == judged.stuck:
        return "bar stuck"
    return "bar open" if operation.outcome is UNKNOWN else "bar"


def find_spans(history: History) -> Mapping[int, tuple[float, float]]:
    """Return where each call begins and how long it is, in per cent of the time."""
    times = [each.called for each in history.operations]
    times += [each.returned for each in history.operations if each.returned is not None]
    first, last = min(times, default=0), max(times, default=1)
    scale = TIME_SHARE / max(last - first, 1)
    spans = {}
    for number, each in enumerate(history.operations):
        start = (each.called - first) * scale
        end = 100.0 if each.returned is None else (each.returned - first) * scale
        spans[number] = (start, max(end - start, LEAST_BAR))
    return spans


def _draw_bar(number: int, kind: str, row: int, span: tuple[float, float], said: str) -> Markup:
    start, width = span
    top = row * ROW_PIXELS + 16
    return element(
        "a",
        element(
            "rect",
            x=f"{start:.3f}%",
            y=top,
            width=f"{width:.3f}%",
            height=BAR_PIXELS,
            rx=5,
            class_=kind,
        ),
        element(
            "text",
            str(number + 1),
            x=f"{start + width / 2:.3f}%",
            y=top + 19,
            text_anchor="middle",
        ),
        href=f"#call-{number + 1}",
        data_of=f"call-{number + 1}",
        aria_label=said,
    )


def say_call(history: History, number: int, judged: Linearizability) -> str:
    """Return a call as a screen reader announces it."""
    operation = history.operations[number]
    action = NARRATORS[history.machine].describe_action(operation.action)
    outcome = describe_outcome(history.machine, operation.outcome)
    said = f"Call {number + 1}, {name_lane(operation.process)}: {action}, {outcome}"
    return "; ".join(filter(None, (said, _find_place(number, judged))))


def _find_place(number: int, judged: Linearizability) -> str:
    """Return where a call stands in the order, in words."""
    if number in judged.order:
        return f"place {judged.order.index(number) + 1} in the order"
    return "no place in any order" if number == judged.stuck else ""


def _draw_stage(history: History, judged: Linearizability) -> Markup:
    rows = [
        _draw_row(history, number, operation, judged)
        for number, operation in enumerate(history.operations)
    ]
    return element(
        "section",
        draw_controls(len(rows) - 1),
        element(
            "div",
            element("h2", "Calls", class_="hidden"),
            element("ol", join(rows, "\n"), class_="steps", id="steps"),
            class_="score",
        ),
        element("aside", class_="panel", hidden=True, aria_label="The state at the current step"),
        element("p", class_="hidden", id="said", role="status", aria_live="polite"),
        class_="stage calls",
        aria_label="The calls, in the order in which they began",
    )


def _draw_row(
    history: History, number: int, operation: Operation, judged: Linearizability
) -> Markup:
    narrator = NARRATORS[history.machine]
    action = narrator.describe_action(operation.action)
    outcome = describe_outcome(history.machine, operation.outcome)
    anchor = f"call-{number + 1}"
    is_stuck = judged.stuck == number
    kind = "answer unknown" if operation.outcome is UNKNOWN else "answer"
    who = name_lane(operation.process)
    place = _find_place(number, judged)
    words = element(
        "div",
        element(
            "p",
            draw_pick(anchor, str(number + 1), f"Call {number + 1}"),
            element("span", who, class_="who"),
        ),
        element("p", action, class_="call"),
        element(
            "p",
            element("span", f"→ {outcome}", class_=f"{kind} wrong" if is_stuck else kind),
            " ",
            element("span", place, class_="because") if place else None,
        ),
        class_="words",
    )
    said = say_call(history, number, judged)
    return element("li", words, class_="moment", id=anchor, data_said=said)

"""A trace as a page to step through: lanes, the state beside each step, and what is wrong.

Without a script all steps stand there with their states, and a click on a number goes to its step.
"""

from model.checking.trace import Trace
from model.checking.trace_explanation import NARRATORS
from model.checking.trace_report import TraceReport
from model.checking.trace_text import describe_start, say_false_after, title_trace
from model.checking.trace_words import join_words
from workbench.html.markup import NOTHING, Markup, break_name, element, join
from workbench.html.page import build_commands, build_masthead, build_page
from workbench.html.rails import (
    draw_heading,
    draw_lanes,
    draw_rail,
    draw_step,
    draw_turn,
    list_rules,
)
from workbench.html.telling import (
    Lanes,
    Moment,
    compare_states,
    find_turn_lane,
    lay_lanes,
    tell_moments,
)
from workbench.html.trace_parts import (
    SAID,
    draw_failures,
    draw_state,
    draw_states,
    draw_step_words,
    draw_turn_words,
    head_failure,
    wrap_state,
)

MOST_ROWS = 6
MOST_WIDE_LANES = 5
"""With more, the names over the lanes stand upright."""
STYLES = ("page.css", "trace.css")
SCRIPTS = ("trace.js",)


def format_trace_html(report: TraceReport) -> str:
    """Return a report as a page that opens from disk."""
    trace = report.trace
    moments = tell_moments(trace)
    lanes = lay_lanes(moments)
    body = [
        element("a", "To the steps", href="#steps", class_="skip"),
        element(
            "main",
            draw_title(report),
            draw_failures(report),
            draw_stage(report, moments, lanes),
            draw_foot(report),
        ),
    ]
    title = f"{title_report(report)} · {trace.machine} {trace.scope}".rstrip()
    return build_page(title, *body, styles=STYLES, scripts=SCRIPTS, rules=list_rules(lanes))


def title_report(report: TraceReport) -> str:
    """Return what a report shows, in a few words."""
    if report.failures:
        return head_failure(report.failures[0])
    return f"A trace of {report.trace.machine}"


def draw_title(report: TraceReport) -> Markup:
    """Return the head of the page: what is wrong, and what was claimed."""
    sentence = report.failures[0].sentence if report.failures else ""
    title = title_trace(report.trace).removesuffix(":")
    return element(
        "header",
        build_masthead(title),
        element("h1", break_name(title_report(report))),
        element("p", sentence, class_="claim") if sentence else None,
        build_commands("Repeat", report.repeat),
        class_="wrong" if report.failures else None,
    )


def draw_foot(report: TraceReport) -> Markup:
    """Return what the trace was found with."""
    versions = report.versions
    said = f"admit-one {versions.admit_one}, Python {versions.python}, SQLite {versions.sqlite}"
    return element("footer", element("p", f"Found with {said}."))


# ── The stage: lanes, steps, and the state beside them ────────────────────────────────────


def draw_stage(report: TraceReport, moments: list[Moment], lanes: Lanes) -> Markup:
    """Return the steps in their lanes, and a panel in which the script shows the state."""
    trace = report.trace
    rows = [draw_start(trace, lanes)]
    gone: frozenset[int] = frozenset()
    for moment in moments:
        rail = draw_step(moment, lanes, gone)
        gone = rail.gone
        rows.append(_draw_row(moment, rail.picture, rail.rows, is_last=moment.number == len(trace)))
    width = "few" if len(lanes.names) <= MOST_WIDE_LANES else "many"
    steps = element("ol", join(rows, "\n"), class_="steps", id="steps")
    return element(
        "section",
        draw_controls(len(rows) + len(trace.schedule) - 1),
        element(
            "div",
            element("h2", "Steps", class_="hidden"),
            draw_heading(lanes),
            steps,
            *_draw_schedule(report, moments, lanes, gone),
            class_="score",
        ),
        element("aside", class_="panel", hidden=True, aria_label="The state at the current step"),
        element("p", class_="hidden", id="said", role="status", aria_live="polite"),
        class_=f"stage {width}",
        aria_label="The trace, step by step",
    )


def draw_controls(last: int) -> Markup:
    """Return the buttons to step with; they appear where the script runs."""

    def button(name: str, sign: str, label: str, keys: str) -> Markup:
        shown = element("span", sign, aria_hidden="true")
        return element(
            "button",
            shown,
            type="button",
            data_go=name,
            aria_label=label,
            aria_keyshortcuts=keys,
            title=f"{label} ({keys})",
        )

    return element(
        "div",
        button("first", "⇤", "First step", "Home"),
        button("previous", "←", "Previous step", "ArrowLeft"),
        element("span", class_="place", aria_hidden="true"),
        button("next", "→", "Next step", "ArrowRight"),
        button("last", "⇥", "Last step", "End"),
        element(
            "input",
            type="range",
            min=0,
            max=last,
            value=0,
            step=1,
            aria_label="Step",
            class_="slide",
        ),
        class_="controls",
        role="toolbar",
        aria_label="Step through the trace",
        hidden=True,
    )


def draw_pick(anchor: str, number: str, said: str) -> Markup:
    """Return the number of a step as a link to it."""
    return element("a", number, href=f"#{anchor}", class_="pick", aria_label=said)


def draw_start(trace: Trace, lanes: Lanes) -> Markup:
    """Return the row of the initial state."""
    entities = compare_states(NARRATORS[trace.machine], None, trace.initial)
    start = describe_start(trace)
    words = element(
        "div",
        element(
            "p", draw_pick("step-0", "0", f"Start: {start}"), element("span", "start", class_="who")
        ),
        element("p", start, class_="call"),
        class_="words",
    )
    when = "State at the start"
    state = wrap_state(when, [draw_state(when, entities, SAID)], is_open=False)
    rail = draw_rail(draw_lanes(lanes, top=18))
    said = f"Start: {start}"
    return element("li", rail, words, state, class_="moment start", id="step-0", data_said=said)


def _draw_row(moment: Moment, picture: Markup, rows: int, *, is_last: bool) -> Markup:
    said = say_moment(moment)
    anchor = f"step-{moment.number}"
    kinds = ["moment", f"rows-{min(rows, MOST_ROWS)}", *["final"] * is_last]
    pick = draw_pick(anchor, str(moment.number), f"Step {moment.number}")
    return element(
        "li",
        picture,
        draw_step_words(moment, pick),
        draw_states(moment, is_open=is_last),
        class_=" ".join(kinds),
        id=anchor,
        data_said=said,
    )


def say_moment(moment: Moment) -> str:
    """Return a step as a screen reader announces it."""
    answer = f", answered {moment.outcome}" if moment.outcome else ""
    said = [f"Step {moment.number}: {moment.action}{answer}.", *moment.crash_words]
    if moment.specified is not None:
        said.append(f"Specified is {moment.specified}.")
    if moment.found is not None:
        said.append(f"The implementation: {moment.found.answer}.")
    return " ".join([*said, *(f"{change}." for change in moment.changes)])


def _draw_schedule(
    report: TraceReport, moments: list[Moment], lanes: Lanes, gone: frozenset[int]
) -> list[Markup]:
    """Return the turns of operations that ran at the same time, each in its lane."""
    trace = report.trace
    if not trace.schedule:
        return []
    together = {turn.step for turn in trace.schedule}
    gone -= {find_turn_lane(turn, moments, lanes) for turn in trace.schedule}
    rows = []
    for number, turn in enumerate(trace.schedule, start=1):
        lane = find_turn_lane(turn, moments, lanes)
        rail = draw_turn(lane, lanes, result=turn.result, gone=gone)
        held = "" if turn.result == "ran" else f", {turn.result}"
        said = f"Turn {number}, {lanes.names[lane]}, step {turn.step}: {turn.statement}{held}."
        false = say_false_after(number, report.failures)
        said = " ".join([said, *(f"False after it: {each}." for each in false)])
        pick = draw_pick(f"turn-{number}", str(number), f"Turn {number}")
        words = draw_turn_words(turn, lanes.names[lane], pick, false)
        rows.append(
            element("li", rail, words, class_="moment turn", id=f"turn-{number}", data_said=said)
        )
    named = join_words(str(step) for step in sorted(together))
    said = f"Steps {named} ran at the same time: a statement of one, then of another."
    return [
        element("h2", "The turns that they took"),
        element("p", said) if len(together) > 1 else NOTHING,
        element("ol", join(rows, "\n"), class_="steps turns"),
    ]

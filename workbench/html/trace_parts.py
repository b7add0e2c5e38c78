"""The parts of a trace's page: what is wrong, a step with its lanes, a state as a table."""

from collections.abc import Sequence

from model.checking.trace import Trace, Turn
from model.checking.trace_explanation import explain, say_when
from model.checking.trace_report import Failure, TraceReport
from model.checking.trace_text import title_failure
from model.checking.trace_words import tidy_clause
from workbench.html.markup import NOTHING, Markup, break_name, element, join
from workbench.html.page import list_items
from workbench.html.telling import EntityView, FieldView, Mark, Moment, Side, name_lane

NO_CHANGE = "nothing changes"
SAID = {Mark.SAME: "", Mark.NEW: "new", Mark.CHANGED: "changed", Mark.GONE: "gone"}
UNLIKE = {
    Mark.SAME: "",
    Mark.NEW: "too much",
    Mark.CHANGED: "not as specified",
    Mark.GONE: "missing",
}

# ── What is wrong ─────────────────────────────────────────────────────────────────────────


def draw_failures(report: TraceReport) -> Markup:
    """Return the first failure with its clause and the explanation, then what follows from it."""
    if not report.failures:
        return NOTHING
    first, *others = report.failures
    said = [element("p", each) for each in explain(report.trace, report.failures)]
    follow = [
        join([element("strong", break_name(head_failure(each))), element("span", each.sentence)])
        for each in others
    ]
    return element(
        "section",
        draw_clause(report.trace, first),
        element("div", element("h2", "Explanation"), *said, class_="explanation"),
        element("div", element("h2", "Also false"), list_items(follow), class_="also")
        if follow
        else None,
        class_="wrong",
        aria_label="What is wrong",
    )


def draw_clause(trace: Trace, failure: Failure) -> Markup:
    """Return the clause that is false, with its values."""
    when = "Differs" if failure.kind == "conformance" else f"False {say_when(trace, failure)}"
    return element(
        "div",
        element("p", when, class_="label"),
        element("p", tidy_clause(failure.clause)),
        class_="clause",
    )


def head_failure(failure: Failure) -> str:
    """Return what a failure is called, as the text export calls it."""
    title = title_failure(failure)
    return title[:1].upper() + title[1:]


# ── A step ────────────────────────────────────────────────────────────────────────────────


def draw_step_words(moment: Moment, pick: Markup) -> Markup:
    """Return the words of a step: who, what, the answer and why, what changed, what is wrong."""
    who = name_lane(moment.hops[0].caller)
    stores = [hop.store for hop in moment.hops if hop.store != hop.caller]
    if stores:
        who = f"{who} → {', '.join(stores)}"
    return element(
        "div",
        element("p", pick, element("span", who, class_="who")),
        element("p", moment.action, class_="call"),
        *(_draw_both(moment, moment.found) if moment.found else _draw_outcome(moment)),
        class_="words",
    )


def _draw_outcome(moment: Moment) -> list[Markup]:
    return [
        _draw_answer(moment),
        _draw_crash(moment),
        draw_changes(moment.changes),
        _draw_specified(moment),
    ]


def _draw_answer(moment: Moment) -> Markup:
    if moment.outcome is None:
        return NOTHING
    kind = "answer" if moment.is_answered else "answer unknown"
    if moment.specified is not None:
        kind += " wrong"
    because = moment.because if moment.specified is None else ""
    return element(
        "p",
        element("span", f"→ {moment.outcome}", class_=kind),
        " ",
        element("span", f"because {because}", class_="because") if because else None,
    )


def _draw_specified(moment: Moment) -> Markup:
    """Return what the specification would have done, where the step does something else."""
    lines = list(moment.wrong)
    if moment.specified is not None:
        because = f", because {moment.because}" if moment.because else ""
        lines.insert(0, f"specified is → {moment.specified}{because}")
    return list_items([_mark_wrong(line) for line in lines], class_="unlike")


def _mark_wrong(line: str) -> Markup:
    return join([element("span", "✗ ", class_="sign", aria_hidden="true"), line])


def _draw_crash(moment: Moment) -> Markup:
    if not moment.crash_words:
        return NOTHING
    ended, *details = moment.crash_words
    return element(
        "div",
        element("p", ended, class_="ended"),
        list_items([element("span", each) for each in details], class_="lost"),
        class_="crash",
    )


def _draw_both(moment: Moment, found: Side) -> list[Markup]:
    """Return the two sides of a step in which an implementation parts from the specification."""
    specified = element(
        "div",
        element("p", "specification", class_="label"),
        _draw_answer(moment),
        draw_changes(moment.changes or (NO_CHANGE,)),
        class_="side specified",
    )
    observed = element(
        "div",
        element("p", "implementation", class_="label"),
        element("p", element("span", f"→ {found.answer}", class_="answer")),
        draw_changes(found.changes),
        list_items([_mark_wrong(line) for line in found.wrong], class_="unlike"),
        class_="side found",
    )
    return [_draw_crash(moment), element("div", specified, observed, class_="sides")]


def draw_changes(changes: Sequence[str]) -> Markup:
    """Return what a step changed, a line for each entity."""
    items = [element("li", line, class_=_classify(line)) for line in changes]
    return element("ul", *items, class_="changes") if items else NOTHING


def _classify(line: str) -> str:
    if line == NO_CHANGE or line.startswith("("):
        return "quiet"
    return {"+": "new", "−": "gone"}.get(line[:1], "changed")


# ── A state ───────────────────────────────────────────────────────────────────────────────


def draw_states(moment: Moment, *, is_open: bool) -> Markup:
    """Return the state after a step: the specified one, and the one that was found instead."""
    when = f"after step {moment.number}"
    tables = []
    if moment.entities is not None:
        caption = "Specified" if moment.found and moment.found.entities else "State"
        tables.append(draw_state(f"{caption} {when}", moment.entities, SAID))
    if moment.found is not None and moment.found.entities is not None:
        caption = f"Found in the implementation {when}, where it differs"
        unlike = [each for each in moment.found.entities if each.mark is not Mark.SAME]
        tables.append(draw_state(caption, unlike, UNLIKE, kind="found"))
    if not tables:
        tables.append(element("p", f"Nobody looked at the state {when}.", class_="quiet"))
    return wrap_state(f"State {when}", tables, is_open=is_open)


def wrap_state(summary: str, tables: Sequence[Markup], *, is_open: bool) -> Markup:
    """Return the tables of a state, which can be opened and closed."""
    return element(
        "details",
        element("summary", summary),
        element("div", *tables, class_="tables"),
        class_="state",
        open=is_open,
    )


def draw_state(
    caption: str, entities: Sequence[EntityView], said: dict[Mark, str], *, kind: str = ""
) -> Markup:
    """Return a state as a table: a row for each entity, with its fields."""
    is_found = said is UNLIKE
    rows = [
        element(
            "tr",
            element(
                "th",
                element("span", entity.name),
                element("span", said[entity.mark], class_="mark") if said[entity.mark] else None,
                scope="row",
            ),
            element("td", *(_draw_field(field, is_found=is_found) for field in entity.fields)),
            class_=entity.mark.value,
        )
        for entity in entities
    ]
    if not rows:
        rows = [element("tr", element("td", "nothing", colspan=2))]
    return element(
        "table",
        element("caption", caption),
        element("tbody", *rows),
        class_=f"entities {kind}".strip(),
    )


def _draw_field(field: FieldView, *, is_found: bool) -> Markup:
    """Return a field; where it changed with what it was, or with what is specified."""
    name = element("span", field.name, class_="name")
    before, now = field.before or "none", field.now or "none"
    if field.mark is Mark.SAME:
        return element("span", name, " ", element("span", now, class_="value"), class_="field")
    if is_found:
        said: list[Markup | str] = [
            element("ins", now),
            " ",
            element("span", f"specified {before}", class_="specified-value"),
        ]
    else:
        said = [element("del", before), " → ", element("ins", now)]
    return element("span", name, " ", *said, class_="field changed")


# ── A turn ────────────────────────────────────────────────────────────────────────────────


def draw_turn_words(turn: Turn, who: str, pick: Markup, false: Sequence[str]) -> Markup:
    """Return the words of a turn: whose it is, the statement, and what is false after it."""
    result = None if turn.result == "ran" else element("span", turn.result, class_="answer held")
    return element(
        "div",
        element("p", pick, element("span", f"{who}, step {turn.step}", class_="who")),
        element("p", element("code", turn.statement), result, class_="statement"),
        *(element("p", f"✗ {each}", class_="unlike") for each in false),
        class_="words",
    )

"""What a search has seen as a page: the life cycle, and the states of a small scope as a picture.

Each state is a link to its own card, so that the page works without a script; with it, arrow keys
go from state to state, and the shortest way to a state is drawn.
"""

from collections.abc import Sequence
from typing import Any

from model.checking.explore import Exploration
from model.checking.trace_explanation import NARRATORS, describe_outcome
from model.checking.trace_report import from_violation
from model.checking.trace_text import format_report
from model.checking.trace_words import count
from model.machine import Machine, Scope, property_sentence
from workbench.html.life_cycle_picture import draw_life_cycle
from workbench.html.markup import NOTHING, Markup, element, join
from workbench.html.page import build_commands, build_masthead, build_page, list_items
from workbench.html.state_graph import MOST_STATES, GraphRecorder, StateGraph, Step, build_graph
from workbench.html.telling import compare_states
from workbench.html.trace_parts import SAID, draw_state
from workbench.life_cycle import LIFE_CYCLES, Arrow, summarize_state

ROW_STATES = 30
CELL_PIXELS = 26
LAYER_GAP_PIXELS = 30
LEFT_PIXELS = 46
STYLES = ("page.css", "trace.css", "graph.css")
SCRIPTS = ("graph.js",)


def format_exploration_html(
    found: Exploration, arrows: Sequence[Arrow], recorder: GraphRecorder, repeat: str
) -> str:
    """Return the page of a search that took these arrows, and whose states were recorded."""
    machine, scope = recorder.machine, recorder.scope
    graph = build_graph(recorder, found)
    title = f"{found.machine} {found.scope}"
    counts = (
        f"{found.states:,} states, {found.transitions:,} transitions, {found.calls:,} calls, "
        f"depth {found.depth}"
    )
    subject = LIFE_CYCLES[found.machine].subject
    body = element(
        "main",
        element(
            "header",
            build_masthead("explore", counts),
            element("h1", title),
            element("p", f"verdict: {found.verdict}", class_=f"verdict {found.verdict}"),
            build_commands("Repeat", repeat),
        ),
        _draw_violations(found, repeat),
        element(
            "section",
            element("h2", f"The life of one {subject}"),
            draw_life_cycle(arrows, subject),
        ),
        _draw_graph_section(found, graph),
        element(
            "div",
            element("section", element("h2", "Witnesses"), _list_witnesses(found, machine, scope)),
            element("section", element("h2", "Outcomes"), _list_outcomes(found, scope)),
            class_="lists",
        ),
    )
    return build_page(title, body, styles=STYLES, scripts=SCRIPTS)


def _draw_violations(found: Exploration, repeat: str) -> Markup:
    if not found.violations and not found.problems:
        return NOTHING
    reports = [format_report(from_violation(each, repeat)) for each in found.violations]
    shown = [
        element("pre", join([*report.rstrip().splitlines()], "\n"), tabindex=0)
        for report in reports
    ]
    problems = list_items([element("span", problem) for problem in found.problems])
    return element("section", *shown, problems, class_="clause", aria_label="What is wrong")


# ── The states ────────────────────────────────────────────────────────────────────────────


def _draw_graph_section(found: Exploration, graph: StateGraph | None) -> Markup:
    if graph is None:
        said = f"A picture of the states is drawn up to {MOST_STATES}; here are {found.states:,}."
        return element("section", element("h2", "The states"), element("p", said, class_="quiet"))
    ends = count(len(graph.ends), "state", is_in_digits=True)
    return element(
        "section",
        element("h2", "The states"),
        element(
            "p",
            f"A row is how many steps a state is from the start; a thin line is a step. "
            f"In {ends} no call changes anything: there the scope ends.",
        ),
        _draw_legend(),
        element(
            "div",
            element(
                "div",
                _draw_states(found, graph),
                class_="canvas states",
                tabindex=0,
                role="region",
                aria_label="The states; arrow keys go from one to the next",
            ),
            element("div", *_draw_cards(found, graph), class_="cards"),
            class_="graph",
        ),
        element("p", class_="hidden", id="said", role="status", aria_live="polite"),
        id="states",
    )


def _draw_legend() -> Markup:
    kinds = (
        ("start", "a start"),
        ("", "a state"),
        ("end", "no call changes anything"),
        ("witness", "a witness is shown on the way here"),
        ("broken", "a property is false"),
    )
    items = [
        join(
            [
                element(
                    "svg",
                    element("g", *_draw_mark(kind), transform="translate(11,11)"),
                    width=22,
                    height=22,
                    aria_hidden="true",
                    class_="sample",
                ),
                said,
            ]
        )
        for kind, said in kinds
    ]
    return list_items(items, class_="legend")


def _draw_mark(kind: str) -> list[Markup]:
    """Return the mark of a state; kinds differ in shape, not in colour alone."""
    shapes = []
    if "witness" in kind:
        shapes.append(element("circle", r=9.5, class_="ring"))
    if "broken" in kind:
        shapes.append(element("path", d="M-7,-7 L7,7 M7,-7 L-7,7", class_="crash"))
    elif "end" in kind:
        shapes.append(
            element("rect", x=-5.5, y=-5.5, width=11, height=11, rx=1.5, class_="dot end")
        )
    elif "start" in kind:
        shapes.append(element("path", d="M-6,-5 L6,-5 L0,6 Z", class_="dot start"))
    else:
        shapes.append(element("circle", r=5, class_="dot"))
    return shapes


def find_kind(graph: StateGraph, number: int) -> str:
    """Return what a state is: a start, an end, where a witness is shown or a property false."""
    kinds = {
        "start": number not in graph.parents,
        "end": number in graph.ends,
        "witness": number in graph.witnesses,
        "broken": number in graph.broken,
    }
    return " ".join(kind for kind, is_so in kinds.items() if is_so)


def place_states(graph: StateGraph) -> tuple[dict[int, tuple[int, int]], list[tuple[int, int]]]:
    """Return the place of each state, and the top of each depth: a depth may take several rows."""
    layers: dict[int, list[int]] = {}
    for number, depth in enumerate(graph.depths):
        layers.setdefault(depth, []).append(number)
    places: dict[int, tuple[int, int]] = {}
    tops = []
    y = CELL_PIXELS
    for depth in sorted(layers):
        tops.append((depth, y))
        layer = layers[depth]
        rows = -(-len(layer) // ROW_STATES)
        length = -(-len(layer) // rows)
        for index, number in enumerate(layer):
            row, column = divmod(index, length)
            here = min(length, len(layer) - row * length)
            left = LEFT_PIXELS + (ROW_STATES - here) * CELL_PIXELS // 2
            places[number] = (left + column * CELL_PIXELS + CELL_PIXELS // 2, y + row * CELL_PIXELS)
        y += (rows - 1) * CELL_PIXELS + LAYER_GAP_PIXELS + CELL_PIXELS
    return places, tops


def _draw_states(found: Exploration, graph: StateGraph) -> Markup:
    places, tops = place_states(graph)
    width = LEFT_PIXELS + ROW_STATES * CELL_PIXELS
    height = max(y for _, y in places.values()) + CELL_PIXELS
    pairs = dict.fromkeys((step.source, step.target) for step in graph.steps)
    tree = {(step.source, step.target) for step in graph.parents.values()}
    lines = [
        element(
            "line",
            x1=places[source][0],
            y1=places[source][1],
            x2=places[target][0],
            y2=places[target][1],
            class_="step first" if (source, target) in tree else "step",
            data_from=source,
            data_to=target,
        )
        for source, target in pairs
    ]
    depths = [element("text", str(depth), x=14, y=y + 5, class_="soft") for depth, y in tops]
    nodes = [_draw_node(found, graph, number, places[number]) for number in places]
    return element(
        "svg",
        element("g", *lines, class_="lines", aria_hidden="true"),
        element("g", *depths, aria_hidden="true"),
        *nodes,
        viewBox=f"0 0 {width} {height}",
        width=width,
        height=height,
        role="group",
        aria_label="States, by the number of steps from the start",
    )


def _draw_node(
    found: Exploration, graph: StateGraph, number: int, place: tuple[int, int]
) -> Markup:
    kind = find_kind(graph, number)
    said = say_state(found, graph, number)
    parent = graph.parents.get(number)
    return element(
        "a",
        element("title", said),
        element("circle", r=12, class_="target"),
        *_draw_mark(kind),
        href=f"#state-{number}",
        class_=f"node {kind}".strip(),
        transform=f"translate({place[0]},{place[1]})",
        data_number=number,
        data_depth=graph.depths[number],
        data_parent=None if parent is None else parent.source,
        aria_label=said,
    )


def say_state(found: Exploration, graph: StateGraph, number: int) -> str:
    """Return a state in one sentence."""
    summary = summarize_state(LIFE_CYCLES[found.machine], graph.states[number])
    depth = count(graph.depths[number], "step", is_in_digits=True)
    ends = ", no call changes anything" if number in graph.ends else ""
    return f"State {number}, {depth} from the start: {summary}{ends}"


def _draw_cards(found: Exploration, graph: StateGraph) -> list[Markup]:
    leaving: dict[int, list[Step]] = {}
    for step in graph.steps:
        leaving.setdefault(step.source, []).append(step)
    hint = element("p", "Choose a state to read it.", class_="hint quiet")
    return [
        hint,
        *(_draw_card(found, graph, n, leaving.get(n, [])) for n in range(len(graph.states))),
    ]


def _draw_card(
    found: Exploration, graph: StateGraph, number: int, leaving: Sequence[Step]
) -> Markup:
    narrator = NARRATORS[found.machine]
    way: list[Step] = []
    at = number
    while (parent := graph.parents.get(at)) is not None:
        way.insert(0, parent)
        at = parent.source
    before = way[-1].source if way else None
    earlier = None if before is None or found.is_symmetric else graph.states[before]
    entities = compare_states(narrator, earlier, graph.states[number])
    refused = count(graph.refusals.get(number, 0), "call", is_in_digits=True)
    marks = [
        *(
            element("p", f"Witness: {said}", class_="told witness")
            for said in graph.witnesses.get(number, ())
        ),
        *(
            element("p", f"False: {said}", class_="told broken")
            for said in graph.broken.get(number, ())
        ),
    ]
    return element(
        "article",
        element("h3", say_state(found, graph, number)),
        *marks,
        draw_state("State, with what the last step changed", entities, SAID),
        _list_steps("The shortest way here", found, way, is_way=True),
        _list_steps("From here", found, leaving, is_way=False),
        element("p", f"{refused} from here change nothing.", class_="quiet"),
        class_="card",
        id=f"state-{number}",
    )


def _list_steps(title: str, found: Exploration, steps: Sequence[Step], *, is_way: bool) -> Markup:
    if not steps:
        return NOTHING
    narrator = NARRATORS[found.machine]
    items = [
        join(
            [
                narrator.describe_action(step.action),
                element(
                    "a",
                    f"→ {describe_outcome(found.machine, step.outcome)}",
                    href=f"#state-{step.target}",
                ),
            ],
            " ",
        )
        for step in steps
    ]
    return join([element("h4", title), list_items(items, "ol" if is_way else "ul", "way")])


# ── Tables ────────────────────────────────────────────────────────────────────────────────


def _list_witnesses(found: Exploration, machine: Machine[Any, Any, Any], scope: Scope) -> Markup:
    rows = []
    for witness in machine.witnesses:
        trace = found.witnesses.get(witness.__name__)
        reason = scope.unreachable.get(witness.__name__, "not seen")
        length = count(len(trace), "step", is_in_digits=True) if trace is not None else reason
        rows.append((property_sentence(witness), length))
    return _draw_table(("what must be seen", "the shortest trace to it"), rows)


def _list_outcomes(found: Exploration, scope: Scope) -> Markup:
    rows = [
        (
            action,
            outcome,
            f"{calls:,}" if calls else scope.unreachable.get(f"{action} {outcome}", "0"),
        )
        for (action, outcome), calls in found.outcomes.items()
    ]
    return _draw_table(("action", "outcome", "calls, or why there are none"), rows)


def _draw_table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> Markup:
    heads = [element("th", heading, scope="col") for heading in headings]
    body = [element("tr", *(element("td", cell) for cell in row)) for row in rows]
    return element(
        "table",
        element("thead", element("tr", *heads)),
        element("tbody", *body),
        class_="rows",
    )

"""The lanes beside a step: who calls whom, what comes back, and where it ends.

A rail is as wide as its lanes, whatever that is on a screen or on paper: places along it are per
cent, places down it are pixels. It is decoration: all that it shows stands beside it in words.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from model.checking.trace import Ending
from workbench.html.markup import Markup, element
from workbench.html.telling import Lanes, Moment

FIRST_PIXELS = 22
NEXT_PIXELS = 26
STORAGE_ANSWERS = frozenset({Ending.BUSY, Ending.FULL, Ending.IO_ERROR})
"""The storage says no, and the process lives on."""


@dataclass(frozen=True, slots=True)
class Rail:
    """The lanes beside one step, and the lanes whose process is gone after it."""

    picture: Markup
    gone: frozenset[int]
    rows: int


def _x(lane: int, lanes: int) -> str:
    return f"{(lane + 0.5) / lanes * 100:.3f}%"


def _line(x: tuple[str, str], y: tuple[int | str, int | str], class_: str) -> Markup:
    ends = {"x1": x[0], "x2": x[1], "y1": str(y[0]), "y2": str(y[1])}
    return element("line", class_=class_, **ends)


def _at(x: str, y: int, *children: Markup) -> Markup:
    """Return shapes that are drawn in pixels around a place."""
    return element("svg", *children, x=x, y=y, overflow="visible", width=1, height=1)


def draw_rail(children: Iterable[Markup]) -> Markup:
    """Return the picture of one row."""
    return element("svg", *children, class_="rail", aria_hidden="true", focusable="false")


def draw_lanes(
    lanes: Lanes,
    *,
    gone: frozenset[int] = frozenset(),
    ends: Mapping[int, int] | None = None,
    top: int = 0,
) -> list[Markup]:
    """Return the lines of the lanes; dotted where the process is gone, from its end on."""
    lines = []
    for lane in range(len(lanes.names)):
        kind = "lane store" if lane >= lanes.callers else "lane"
        x = _x(lane, len(lanes.names))
        end = (ends or {}).get(lane)
        if end is not None:
            lines.append(_line((x, x), (top, end), kind))
        is_gone = lane in gone or end is not None
        start = top if end is None else end
        lines.append(_line((x, x), (start, "100%"), f"{kind} gone" if is_gone else kind))
    return lines


def draw_step(moment: Moment, lanes: Lanes, gone: frozenset[int]) -> Rail:
    """Return the lanes beside a step: its messages, its answer, its crash."""
    pairs = [(lanes.find(hop.caller), lanes.find(hop.store)) for hop in moment.hops]
    gone -= {caller for caller, _ in pairs}
    shapes: list[Markup] = []
    ends: dict[int, int] = {}
    y = FIRST_PIXELS
    for caller, store in pairs:
        if caller == store:
            shapes.append(_draw_end(lanes, caller, y))
            ends[caller] = y
        else:
            shapes += _draw_call(lanes, caller, store, y)
        y += NEXT_PIXELS
    caller, store = pairs[-1]
    crash = moment.crash
    if caller != store and moment.outcome is not None:
        if moment.is_answered:
            shapes += _draw_answer(lanes, store, caller, y, is_wrong=_is_wrong(moment))
        elif crash is None or crash.ending in STORAGE_ANSWERS:
            shapes.append(_draw_sign(lanes, caller, y, "?"))
        y += NEXT_PIXELS if moment.is_answered or crash is None else 0
    if crash is not None:
        if crash.ending in STORAGE_ANSWERS:
            shapes.append(_draw_sign(lanes, store, y, "!"))
        else:
            is_power = crash.ending is Ending.POWER_LOSS
            dead = range(len(lanes.names)) if is_power else (caller,)
            ends |= dict.fromkeys(dead, y)
            shapes += [_line(("0%", "100%"), (y, y), "power")] if is_power else []
            shapes += [_draw_end(lanes, lane, y) for lane in dead]
        y += NEXT_PIXELS
    rows = max((y - FIRST_PIXELS) // NEXT_PIXELS, 1)
    lines = draw_lanes(lanes, gone=gone, ends=ends)
    return Rail(draw_rail([*lines, *shapes]), gone | frozenset(ends), rows)


def _is_wrong(moment: Moment) -> bool:
    return moment.specified is not None or bool(moment.wrong) or moment.found is not None


def _draw_call(lanes: Lanes, caller: int, store: int, y: int) -> list[Markup]:
    number = len(lanes.names)
    start, end = _x(caller, number), _x(store, number)
    return [
        _line((start, end), (y, y), "call"),
        _at(start, y, element("circle", r=4, class_="caller")),
        _at(end, y, _draw_head(rightwards=caller < store, class_="head")),
    ]


def _draw_answer(lanes: Lanes, store: int, caller: int, y: int, *, is_wrong: bool) -> list[Markup]:
    number = len(lanes.names)
    start, end = _x(store, number), _x(caller, number)
    wrong = " wrong" if is_wrong else ""
    return [
        _line((start, end), (y, y), f"answer{wrong}"),
        _at(end, y, _draw_head(rightwards=store < caller, class_=f"head{wrong}")),
    ]


def _draw_head(*, rightwards: bool, class_: str) -> Markup:
    points = "M-8,-4.5 L0,0 L-8,4.5" if rightwards else "M8,-4.5 L0,0 L8,4.5"
    return element("path", d=points, class_=class_)


def _draw_sign(lanes: Lanes, lane: int, y: int, sign: str) -> Markup:
    x = _x(lane, len(lanes.names))
    return _at(
        x,
        y,
        element("circle", r=9, class_="sign"),
        element("text", sign, class_="sign", y=5, text_anchor="middle"),
    )


def _draw_end(lanes: Lanes, lane: int, y: int) -> Markup:
    """Return the cross at which a process ends."""
    cross = element("path", d="M-6,-6 L6,6 M6,-6 L-6,6", class_="crash")
    return _at(_x(lane, len(lanes.names)), y, element("circle", r=11, class_="crash"), cross)


def draw_turn(lane: int, lanes: Lanes, *, result: str, gone: frozenset[int]) -> Markup:
    """Return the lanes beside a turn of a schedule."""
    x = _x(lane, len(lanes.names))
    kind = "turn" if result == "ran" else "turn held"
    shapes: list[Markup] = [
        *draw_lanes(lanes, gone=gone),
        _at(x, FIRST_PIXELS, element("rect", x=-7, y=-7, width=14, height=14, rx=3, class_=kind)),
    ]
    return draw_rail(shapes)


def draw_heading(lanes: Lanes) -> Markup:
    """Return the names over the lanes."""
    names = [
        element(
            "li",
            element("span", name, title=name),
            class_="caller" if lane < lanes.callers else "store",
        )
        for lane, name in enumerate(lanes.names)
    ]
    return element("ol", *names, class_="lanes", aria_label="Lanes: callers first, then stores")


def list_rules(lanes: Lanes) -> str:
    """Return the style rule that gives the number of lanes."""
    return f":root {{ --lanes: {len(lanes.names)}; }}"

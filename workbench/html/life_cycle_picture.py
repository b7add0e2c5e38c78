"""The life cycle of a record or an intent as a picture, from the arrows that a search has taken."""

from collections.abc import Mapping, Sequence
from itertools import pairwise

from workbench.html.layers import (
    LOOP_PIXELS,
    NODE_HEIGHT_PIXELS,
    Edge,
    Layout,
    Route,
    Slot,
    lay_out,
)
from workbench.html.markup import Markup, element, join
from workbench.life_cycle import ABSENT, Arrow, find_final_nodes, order_arrows

LINE_PIXELS = 15


def draw_life_cycle(arrows: Sequence[Arrow], subject: str) -> Markup:
    """Return the picture, and the same arrows as a table."""
    arrows = order_arrows(arrows)
    nodes = list(dict.fromkeys([ABSENT, *(end for a in arrows for end in (a.source, a.target))]))
    ends: dict[tuple[str, str], list[str]] = {}
    for arrow in arrows:
        label = ends.setdefault((arrow.source, arrow.target), [])
        label += [arrow.action, f"→ {arrow.outcome}"]
    edges = [Edge(*pair, tuple(label)) for pair, label in ends.items()]
    layout = lay_out(nodes, edges)
    final = find_final_nodes(arrows)
    return element(
        "div",
        element("div", _draw(layout, final, f"Life cycle of a {subject}"), class_="canvas"),
        _list_arrows(arrows, subject),
        class_="cycle",
    )


def _draw(layout: Layout, final: Sequence[str], title: str) -> Markup:
    anchors = find_anchors(layout)
    width, height = f"{layout.width:.0f}", f"{layout.height:.0f}"
    head = element(
        "marker",
        element("path", d="M0,0 L9,4.5 L0,9", class_="head"),
        id="arrow",
        viewBox="-1 -1 11 11",
        refX=9,
        refY=4.5,
        markerWidth=9,
        markerHeight=9,
        markerUnits="userSpaceOnUse",
        orient="auto",
    )
    return element(
        "svg",
        element("title", title),
        element("defs", head),
        *(_draw_route(route, anchors) for route in layout.routes),
        *(_draw_label(route) for route in layout.routes),
        *(_draw_node(name, slot, is_final=name in final) for name, slot in layout.nodes.items()),
        viewBox=f"0 0 {width} {height}",
        width=width,
        height=height,
        role="img",
        class_="life",
    )


def find_anchors(layout: Layout) -> dict[tuple[int, int], float]:
    """Return how far from the middle of its node each arrow begins and ends, so that none share."""
    sides: dict[tuple[int, bool], list[tuple[float, tuple[int, int], Slot]]] = {}
    for route in layout.routes:
        if route.stops[0] is route.stops[-1]:
            continue
        ends = ((0, route.stops[0], route.stops[1]), (1, route.stops[-1], route.stops[-2]))
        for end, node, near in ends:
            side = sides.setdefault((id(node), near.y > node.y), [])
            side.append((near.x, (id(route), end), node))
    anchors: dict[tuple[int, int], float] = {}
    for side in sides.values():
        side.sort(key=lambda each: each[0])
        space = min(18.0, side[0][2].width * 0.6 / len(side))
        for number, (_, key, _) in enumerate(side):
            anchors[key] = (number - (len(side) - 1) / 2) * space
    return anchors


def _draw_node(name: str, slot: Slot, *, is_final: bool) -> Markup:
    height = NODE_HEIGHT_PIXELS
    if name == ABSENT:
        return join(
            [
                element(
                    "circle", cx=_say(slot.x), cy=_say(slot.y + height / 2 - 9), r=6, class_="birth"
                ),
                element(
                    "text",
                    name,
                    x=_say(slot.x + 14),
                    y=_say(slot.y + height / 2 - 4),
                    class_="soft",
                ),
            ]
        )
    boxes = [_draw_box(slot, 0.0, "box final" if is_final else "box")]
    if is_final:
        boxes.append(_draw_box(slot, 3.5, "box inner"))
    text = element("text", name, x=_say(slot.x), y=_say(slot.y + 5), text_anchor="middle")
    return join([*boxes, text])


def _draw_box(slot: Slot, inset: float, class_: str) -> Markup:
    width, height = slot.width - 2 * inset, NODE_HEIGHT_PIXELS - 2 * inset
    return element(
        "rect",
        x=_say(slot.x - width / 2),
        y=_say(slot.y - height / 2),
        width=_say(width),
        height=_say(height),
        rx=_say(height / 2),
        class_=class_,
    )


def _draw_route(route: Route, anchors: Mapping[tuple[int, int], float]) -> Markup:
    half = NODE_HEIGHT_PIXELS / 2
    source, target = route.stops[0], route.stops[-1]
    if source is target:
        x = source.x + source.width / 2
        path = (
            f"M{_say(x - 6)},{_say(source.y - 11)} C{_say(x + 26)},{_say(source.y - 28)} "
            f"{_say(x + 26)},{_say(source.y + 28)} {_say(x - 5)},{_say(source.y + 11)}"
        )
        return element("path", d=path, class_="arrow", marker_end="url(#arrow)")
    sign = 1 if source.y < target.y else -1
    points = [(source.x + anchors[id(route), 0], source.y + sign * half)]
    points += [(slot.x, slot.y) for slot in route.stops[1:-1]]
    points += [(target.x + anchors[id(route), 1], target.y - sign * half)]
    path = f"M{_say(points[0][0])},{_say(points[0][1])}"
    for (x, y), (to_x, to_y) in pairwise(points):
        middle = (y + to_y) / 2
        path += f" C{_say(x)},{_say(middle)} {_say(to_x)},{_say(middle)} {_say(to_x)},{_say(to_y)}"
    return element("path", d=path, class_="arrow", marker_end="url(#arrow)")


def _draw_label(route: Route) -> Markup:
    lines, slot = route.edge.label, route.label
    top = slot.y - (len(lines) - 1) * LINE_PIXELS / 2 + 4
    is_loop = route.stops[0] is route.stops[-1]
    x = slot.x + slot.width / 2 + (slot.extra + LOOP_PIXELS) / 2 - 6 if is_loop else slot.x
    texts = [
        element(
            "text",
            line,
            x=_say(x),
            y=_say(top + number * LINE_PIXELS),
            text_anchor="middle",
            class_="soft" if number % 2 else "action",
        )
        for number, line in enumerate(lines)
    ]
    return element("g", *texts, class_="label")


def _list_arrows(arrows: Sequence[Arrow], subject: str) -> Markup:
    rows = [
        element(
            "tr",
            element("td", element("code", arrow.action)),
            element("td", element("code", arrow.outcome)),
            element("td", f"{arrow.source} → {arrow.target}"),
        )
        for arrow in arrows
    ]
    heads = [element("th", text, scope="col") for text in ("action", "outcome", subject)]
    return element(
        "table",
        element("caption", "Every way in which a step changes one"),
        element("thead", element("tr", *heads)),
        element("tbody", *rows),
        class_="rows",
    )


def _say(pixels: float) -> str:
    return f"{pixels:.1f}".removesuffix(".0")

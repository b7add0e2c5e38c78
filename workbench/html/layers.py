"""Lays a small graph out in layers, from top to bottom, with room for each arrow's label.

The usual four steps: turn the arrows that close a circle round, give each node its layer, order the
layers so that few arrows cross, and give each node its place. A label is a node of its own, in a
layer between two layers of nodes, so that no label lies on another.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

CHARACTER_PIXELS = 7.6
GAP_PIXELS = 22.0
LAYER_PIXELS = 58.0
NODE_HEIGHT_PIXELS = 34.0
MARGIN_PIXELS = 12.0
LOOP_PIXELS = 34.0
STRAIGHT = 6
SWEEPS = 24


@dataclass(frozen=True, slots=True)
class Edge:
    """An arrow between two nodes, or from one to itself, with the lines of its label."""

    source: str
    target: str
    label: tuple[str, ...]


@dataclass(slots=True)
class Slot:
    """A place in a layer: a node, or where an arrow passes.

    `x` is the middle; `extra` is the room to the right of a node for an arrow to itself.
    """

    width: float
    x: float = 0.0
    extra: float = 0.0
    layer: int = 0
    is_passed: bool = False
    neighbours: list["Slot"] = field(default_factory=list)

    @property
    def y(self) -> float:
        """Return how far down the middle of the slot is."""
        return MARGIN_PIXELS + NODE_HEIGHT_PIXELS / 2 + self.layer * LAYER_PIXELS

    @property
    def left(self) -> float:
        """Return where the slot begins."""
        return self.x - self.width / 2

    @property
    def right(self) -> float:
        """Return where the slot ends."""
        return self.x + self.width / 2 + self.extra


@dataclass(frozen=True, slots=True)
class Route:
    """Where an arrow runs: the slots that it passes, the first and the last of them its nodes."""

    edge: Edge
    stops: tuple[Slot, ...]
    label: Slot


@dataclass(frozen=True, slots=True)
class Layout:
    """A graph with its places."""

    nodes: Mapping[str, Slot]
    routes: tuple[Route, ...]
    width: float
    height: float


def lay_out(nodes: Sequence[str], edges: Sequence[Edge]) -> Layout:
    """Return the places of nodes, whose first one is on top, and of the arrows between them."""
    depths = find_depths(nodes, edges)
    slots = {
        name: Slot(len(name) * CHARACTER_PIXELS + 28, layer=2 * depths[name]) for name in nodes
    }
    layers: list[list[Slot]] = [[] for _ in range(2 * max(depths.values(), default=0) + 1)]
    for slot in slots.values():
        layers[slot.layer].append(slot)
    routes = [_route(edge, slots, layers) for edge in edges]
    for sweep in range(SWEEPS):
        _order_layers(layers, downwards=sweep % 2 == 0)
    for _ in range(SWEEPS):
        for layer in layers:
            _place_layer(layer)
    left = min((slot.left for layer in layers for slot in layer), default=0.0)
    for layer in layers:
        for slot in layer:
            slot.x += MARGIN_PIXELS - left
    right = max((slot.right for layer in layers for slot in layer), default=0.0)
    height = (len(layers) - 1) * LAYER_PIXELS + NODE_HEIGHT_PIXELS + 2 * MARGIN_PIXELS
    return Layout(slots, tuple(routes), right + MARGIN_PIXELS, height)


def find_depths(nodes: Sequence[str], edges: Sequence[Edge]) -> dict[str, int]:
    """Return the layer of each node: below each earlier one that an arrow joins it to."""
    place = {name: number for number, name in enumerate(nodes)}
    depths = dict.fromkeys(nodes, 0)
    joined = {frozenset((edge.source, edge.target)) for edge in edges if edge.source != edge.target}
    pairs = sorted(tuple(sorted(map(place.__getitem__, each))) for each in joined)
    for upper, lower in pairs:  # sorted, so that the upper one has its layer already
        above, below = nodes[upper], nodes[lower]
        depths[below] = max(depths[below], depths[above] + 1)
    return depths


def _route(edge: Edge, slots: Mapping[str, Slot], layers: Sequence[list[Slot]]) -> Route:
    source, target = slots[edge.source], slots[edge.target]
    width = max(map(len, edge.label), default=0) * CHARACTER_PIXELS * 0.86 + 6
    if source is target:
        source.extra = LOOP_PIXELS + width
        return Route(edge, (source, target), source)
    step = 1 if source.layer < target.layer else -1
    between = range(source.layer + step, target.layer, step)
    passed = [
        Slot(width if number == len(between) // 2 else 8, layer=layer, is_passed=True)
        for number, layer in enumerate(between)
    ]
    for slot in passed:
        layers[slot.layer].append(slot)
    stops = (source, *passed, target)
    for one, other in pairwise(stops):
        one.neighbours.append(other)
        other.neighbours.append(one)
    return Route(edge, stops, passed[len(between) // 2])


def _order_layers(layers: Sequence[list[Slot]], *, downwards: bool) -> None:
    """Order each layer by the middle of the neighbours in the layer before."""
    places = {id(slot): number for layer in layers for number, slot in enumerate(layer)}
    step = -1 if downwards else 1
    for layer in layers if downwards else reversed(layers):
        own = {id(slot): _find_middle(slot, places, step) for slot in layer}
        layer.sort(key=lambda slot: own[id(slot)])
        places |= {id(slot): number for number, slot in enumerate(layer)}


def _find_middle(slot: Slot, places: Mapping[int, int], step: int) -> float:
    near = [places[id(each)] for each in slot.neighbours if each.layer == slot.layer + step]
    return sum(near) / len(near) if near else places[id(slot)]


def _place_layer(layer: Sequence[Slot]) -> None:
    """Move each slot to the middle of its neighbours, as far as its own layer leaves room."""
    if not layer:
        return
    wanted = [_find_wanted(slot) for slot in layer]
    reached = float("-inf")
    for slot, x in zip(layer, wanted, strict=True):
        slot.x = max(x, reached + slot.width / 2)
        reached = slot.right + GAP_PIXELS
    excess = sum(slot.x - x for slot, x in zip(layer, wanted, strict=True)) / len(layer)
    for slot in layer:
        slot.x -= excess


def _find_wanted(slot: Slot) -> float:
    """Return the middle of the neighbours; where an arrow passes on, straight on is best."""
    if not slot.neighbours:
        return slot.x
    weights = [STRAIGHT if slot.is_passed and each.is_passed else 1 for each in slot.neighbours]
    sums = (each.x * weight for each, weight in zip(slot.neighbours, weights, strict=True))
    return sum(sums) / sum(weights)

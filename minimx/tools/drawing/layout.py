"""Where the nodes of a graph go: layers from top to bottom, few crossings, no overlaps.

Layered drawing after Sugiyama, Tagawa and Toda (1981), in four steps: a layer for each
node by the longest way to it; a bend in every layer that an edge crosses; an order
within the layers that brings neighbours together; places that pull edges straight.

A training graph has two columns: the forward pass runs down on the left, the backward
pass up on the right, each gradient beside what it is the gradient of. What was kept
for backward then crosses from one column to the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

# What a box and the space around it take, in pixels.
WIDE, HIGH, GAP, RISE = 148.0, 34.0, 18.0, 22.0
BEND = 8.0  # the width of an edge that passes between boxes
COLUMN = 64.0  # between the forward and the backward pass
LONGEST = 24  # an edge over more layers goes its way without bends
PASSES = 6

Point = tuple[float, float]
Edge = tuple[int, int]


@dataclass(frozen=True)
class Layout:
    """Where everything is, in pixels from the upper left corner.

    places: the centre of each box. bends: the points between the ends of each edge.
    """

    places: tuple[Point, ...]
    bends: tuple[tuple[Point, ...], ...]
    width: float
    height: float


def lay_out(count: int, edges: Sequence[Edge], backward: Sequence[bool] = ()) -> Layout:
    """Places for `count` boxes that `edges` (from, to) connect.

    backward: which boxes belong to the right column; none by default. Edges may run in
    circles (two graphs drawn as one): then some of them point upwards.
    """
    side = list(backward) or [False] * count
    rank = _ranks(count, edges, side)
    left = _column([k for k in range(count) if not side[k]], edges, rank)
    right = _column([k for k in range(count) if side[k]], edges, rank)
    shift = left.width + COLUMN if left.width and right.width else 0.0
    low = min(rank, default=0)
    places: list[Point] = [(0.0, 0.0)] * count
    bends: dict[Edge, tuple[Point, ...]] = {}
    for column, by in ((left, 0.0), (right, shift)):
        for node, x in column.places.items():
            places[node] = (x + by, _y(rank[node] - low))
        for edge, points in column.bends.items():
            bends[edge] = tuple((x + by, _y(r - low)) for r, x in points)
    depth = max(rank, default=0) - low
    width = shift + right.width if right.width else left.width
    height = _y(depth) + HIGH / 2 if count else 0.0
    return Layout(tuple(places), tuple(bends.get(e, ()) for e in edges), width, height)


def _y(layer: int) -> float:
    return HIGH / 2 + layer * (HIGH + RISE)


# -- layers ---------------------------------------------------------------------------


def _ranks(count: int, edges: Sequence[Edge], side: Sequence[bool]) -> list[int]:
    """A layer for each node: forward ones down from 0, backward ones up again."""
    order, kept = _acyclic(count, edges)
    inputs: list[list[int]] = [[] for _ in range(count)]
    for source, target in kept:
        inputs[target].append(source)
    rank = [0] * count
    for node in order:
        if not side[node]:
            above = [rank[k] + 1 for k in inputs[node] if not side[k]]
            rank[node] = max(above, default=0)
    _lower_sources(rank, order, inputs, kept, side)
    deepest = max((rank[k] for k in order if not side[k]), default=0)
    for node in order:
        if side[node]:
            below = [rank[k] - 1 for k in inputs[node] if side[k]]
            beside = [rank[k] for k in inputs[node] if not side[k] and inputs[k]]
            rank[node] = min([*below, *beside], default=deepest)
    return rank


def _acyclic(count: int, edges: Sequence[Edge]) -> tuple[list[int], list[Edge]]:
    """An order in which most edges lead onwards, and those edges."""
    outs: list[list[int]] = [[] for _ in range(count)]
    waiting = [0] * count
    for source, target in edges:
        outs[source].append(target)
        waiting[target] += 1
    place: dict[int, int] = {}
    ready = [k for k in range(count - 1, -1, -1) if not waiting[k]]
    first = 0
    while len(place) < count:
        if not ready:  # a circle: begin it at the node that came first
            while first in place:
                first += 1
            ready.append(first)
        node = ready.pop()
        if node in place:
            continue
        place[node] = len(place)
        for target in outs[node]:
            waiting[target] -= 1
            if waiting[target] == 0:
                ready.append(target)
    return list(place), [(a, b) for a, b in edges if place[a] < place[b]]


def _lower_sources(
    rank: list[int],
    order: Sequence[int],
    inputs: Sequence[Sequence[int]],
    edges: Sequence[Edge],
    side: Sequence[bool],
) -> None:
    """Put what needs nothing, such as weights, just above its first reader."""
    readers: dict[int, list[int]] = {}
    for source, target in edges:
        if side[source] == side[target]:
            readers.setdefault(source, []).append(rank[target])
    for node in order:
        if not inputs[node] and node in readers and not side[node]:
            rank[node] = min(readers[node]) - 1


# -- one column -----------------------------------------------------------------------


@dataclass
class _Column:
    places: dict[int, float]
    bends: dict[Edge, list[tuple[int, float]]]
    width: float


def _column(
    nodes: Sequence[int], edges: Sequence[Edge], rank: Sequence[int]
) -> _Column:
    """Places from left to right for the nodes of one column and their edges."""
    if not nodes:
        return _Column({}, {}, 0.0)
    inside = set(nodes)
    own = [(a, b) for a, b in dict.fromkeys(edges) if a in inside and b in inside]
    grid = _Grid(nodes, own, rank)
    grid.order()
    x = grid.places()
    low = min(x[k] - grid.width[k] / 2 for k in range(len(x)))
    high = max(x[k] + grid.width[k] / 2 for k in range(len(x)))
    bends = {
        edge: [(grid.rank[k], x[k] - low) for k in chain]
        for edge, chain in grid.chains.items()
    }
    return _Column(
        {node: x[k] - low for k, node in enumerate(nodes)}, bends, high - low
    )


class _Grid:
    """Boxes and bends in layers. Their numbers are this column's own."""

    def __init__(
        self, nodes: Sequence[int], edges: Sequence[Edge], rank: Sequence[int]
    ) -> None:
        number = {node: k for k, node in enumerate(nodes)}
        self.rank = [rank[node] for node in nodes]
        self.width = [WIDE] * len(nodes)
        self.chains: dict[Edge, list[int]] = {}
        links: list[Edge] = []
        for a, b in edges:
            links += self._link((a, b), number[a], number[b])
        count = len(self.rank)
        self.above: list[list[int]] = [[] for _ in range(count)]
        self.below: list[list[int]] = [[] for _ in range(count)]
        for a, b in links:
            upper, lower = (a, b) if self.rank[a] < self.rank[b] else (b, a)
            self.below[upper].append(lower)
            self.above[lower].append(upper)
        layers: dict[int, list[int]] = {}
        for k in self._walk():
            layers.setdefault(self.rank[k], []).append(k)
        self.layers = [layers[r] for r in sorted(layers)]

    def _link(self, edge: Edge, a: int, b: int) -> list[Edge]:
        """The steps of an edge, with a bend made for each layer that it crosses."""
        step = 1 if self.rank[b] > self.rank[a] else -1
        between = range(self.rank[a] + step, self.rank[b], step)
        if self.rank[a] == self.rank[b] or len(between) > LONGEST:
            return []
        chain = []
        for layer in between:
            chain.append(len(self.rank))
            self.rank.append(layer)
            self.width.append(BEND)
        self.chains[edge] = chain
        stops = [a, *chain, b]
        return list(zip(stops, stops[1:], strict=False))

    def _walk(self) -> list[int]:
        """Everything once, connected things close together: a first order."""
        seen: dict[int, None] = {}
        for start in sorted(range(len(self.rank)), key=lambda k: self.rank[k]):
            waiting = [start]
            while waiting:
                k = waiting.pop()
                if k not in seen:
                    seen[k] = None
                    waiting += reversed(self.below[k])
        return list(seen)

    def order(self) -> None:
        """Sort each layer by where its neighbours are, down and up a few times."""
        for layer_pass in range(PASSES):
            down = layer_pass % 2 == 0
            near = self.above if down else self.below
            place = {k: i for layer in self.layers for i, k in enumerate(layer)}
            for layer in self.layers if down else reversed(self.layers):
                key = {k: _mean([place[n] for n in near[k]], place[k]) for k in layer}
                layer.sort(key=lambda k: key[k])
                place.update({k: i for i, k in enumerate(layer)})

    def places(self) -> list[float]:
        """Centres: as near to the neighbours' as the order and the widths allow."""
        x = [0.0] * len(self.rank)
        for layer in self.layers:
            self._settle(layer, [0.0] * len(layer), x)
        for layer_pass in range(2 * PASSES):
            down = layer_pass % 2 == 0
            near = self.above if down else self.below
            for layer in self.layers if down else reversed(self.layers):
                wanted = [self._wish(near[k], x, x[k]) for k in layer]
                self._settle(layer, wanted, x)
        return x

    def _wish(self, near: Sequence[int], x: Sequence[float], now: float) -> float:
        """The mean place of neighbours; the important ones count."""
        weights = [self._weight(n) for n in near]
        total = sum(weights)
        if not total:
            return now
        return sum(w * x[n] for w, n in zip(weights, near, strict=True)) / total

    def _weight(self, k: int) -> float:
        """How much a wish counts.

        What has one neighbour, such as a weight or its gradient, makes way.
        """
        return 1.0 if len(self.above[k]) + len(self.below[k]) > 1 else 0.001

    def _settle(
        self, layer: Sequence[int], wanted: Sequence[float], x: list[float]
    ) -> None:
        """The places closest to those wanted that keep order and distance.

        What would overlap is moved as one block around the mean of its wishes: the
        best answer in the sense of least squares.
        """
        offsets = [0.0]
        for a, b in zip(layer, layer[1:], strict=False):
            offsets.append(offsets[-1] + (self.width[a] + self.width[b]) / 2 + GAP)
        blocks: list[tuple[float, float, int]] = []  # wishes, their weight, how many
        for k, wish, offset in zip(layer, wanted, offsets, strict=True):
            weight = self._weight(k)
            total, count = weight * (wish - offset), 1
            while blocks and blocks[-1][0] / blocks[-1][1] > total / weight:
                before = blocks.pop()
                total, weight = total + before[0], weight + before[1]
                count += before[2]
            blocks.append((total, weight, count))
        done = 0
        for total, weight, count in blocks:
            for k in range(done, done + count):
                x[layer[k]] = total / weight + offsets[k]
            done += count


def _mean(values: Sequence[float], otherwise: float) -> float:
    return sum(values) / len(values) if values else otherwise

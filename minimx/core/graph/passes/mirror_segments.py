"""Checkpoints: keep a few values on the way, compute what lies between them again.

A chain of N layers is cut into k segments. Kept are the borders; the gradient of a
segment starts with computing its inside again. So k borders and N / k values of one
segment are there at once, which is least at k = √N, for the price of a second forward
pass (Chen and others, arXiv 1604.06174).

    search_plan     their search, as the tool `memonger` did it: a threshold for the
                    bytes of a segment, tried out
    best_segments   the borders with the lowest peak, by dynamic programming: exact for
                    chains, in other graphs for cuts across all that runs side by side
    moved_borders   borders moved for as long as the memory planner needs less
    even_segments   so many segments of about the same size
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import isqrt, sqrt
from typing import Any

import numpy as np

from minimx.core.graph.memory.memory import plan_memory
from minimx.core.graph.passes.families import family
from minimx.core.graph.passes.gradient import Training, differentiate, read_by_gradients
from minimx.core.graph.passes.mirror_rule import NEVER, forced
from minimx.core.graph.passes.recompute import Keep, Repeats
from minimx.core.graph.passes.report import Change
from minimx.core.graph.running.settings import Settings
from minimx.core.graph.values.ir import Entry, Graph, Node
from minimx.core.graph.values.specs import Specs

Numbers = np.ndarray[Any, np.dtype[np.int64]]
#: What a training graph costs: bytes.
Cost = Callable[[Training], int]
#: So many choices of borders `moved_borders` tries: each is a gradient and a plan.
TRIES = 32


def planned_bytes(settings: Settings) -> Cost:
    """What the memory planner says under some settings."""

    def cost(training: Training) -> int:
        graph, specs = training.graph, training.specs
        return plan_memory(graph, specs, training.external, settings).total

    return cost


class Line:
    """The operators of a graph in a row, and the borders between them.

    Border b lies before the b-th operator. dear: whether nodes that are much work may
    be computed again, too; else they are kept wherever they lie.
    """

    def __init__(
        self, graph: Graph, wanted: Sequence[Node], specs: Specs, dear: bool = True
    ) -> None:
        self.specs = specs
        self.nodes = [node for node in graph if node.op is not None]
        self.place = {node: place for place, node in enumerate(self.nodes)}
        repeats = Repeats(graph, specs)
        outputs = {entry.node for entry in graph.outputs}
        #: {node: why it is kept wherever it lies}
        self.fixed: dict[Node, str] = {}
        for node in self.nodes:
            if why := _why_fixed(node, repeats, outputs, dear):
                self.fixed[node] = why
        # What gradients read of each node, and what nodes that run again read.
        self._read: dict[Node, dict[Entry, None]] = {node: {} for node in self.nodes}
        for entry in read_by_gradients(graph, wanted, specs):
            self._read[entry.node][entry] = None
        self._again: dict[Node, dict[Entry, None]] = {node: {} for node in self.nodes}
        for node in self.nodes:
            for entry in node.inputs if node not in self.fixed else ():
                if entry.node.op is not None:
                    self._again[entry.node][entry] = None
        self._crossing = self._crossings()

    def crossing(self, border: int) -> list[Entry]:
        """What is made before a border and read behind it; variables do not count."""
        return self._crossing[border]

    def _crossings(self) -> list[list[Entry]]:
        last: dict[Entry, int] = {}
        for place, node in enumerate(self.nodes):
            last |= dict.fromkeys(node.inputs, place)
        found: list[list[Entry]] = [[] for _ in range(len(self.nodes) + 1)]
        for entry, place in last.items():
            if entry.node.op is not None:
                for border in range(self.place[entry.node] + 1, place + 1):
                    found[border].append(entry)
        return found

    def bytes(self, entries: Collection[Entry]) -> int:
        """The bytes of some values."""
        return sum(self.specs[entry].nbytes for entry in entries)

    def always(self) -> Numbers:
        """For each operator the bytes that are kept of it wherever it lies."""
        read, again = self._read, self._again
        return self._numbers(lambda node: {**read[node], **again[node]}, True)

    def inside(self) -> Numbers:
        """For each operator the bytes that are there again for gradients to read."""
        return self._numbers(self._read.__getitem__, False)

    def _numbers(
        self, values: Callable[[Node], dict[Entry, None]], fixed: bool
    ) -> Numbers:
        found = [
            self.bytes(list(values(node))) if (node in self.fixed) == fixed else 0
            for node in self.nodes
        ]
        return np.array(found, np.int64)

    def keep(self, borders: Sequence[int], name: str) -> Keep:
        """Computes again what lies between borders; what lies behind the last stays."""
        kept: dict[Node, str] = {}
        for border in borders:
            for entry in self.crossing(border):
                before = self.nodes[border].name
                kept[entry.node] = f"a segment ends here, before {before}."
        last = borders[-1] if borders else 0
        for node in self.nodes[last:]:
            kept.setdefault(node, _LAST if borders else "no border makes it less.")
        return _kept_and_others(self.nodes, self.fixed | kept, name)


_LAST = "it lies in the last segment: its gradient is next."


def _why_fixed(
    node: Node, repeats: Repeats, outputs: Collection[Node], dear: bool
) -> str | None:
    assert node.op is not None
    if why := repeats.why_not(node):
        return f"it cannot be computed a second time: {why}"
    if node in outputs:
        return "it is an output, and stays anyway."
    if forced(node) is False:
        return "it says force_mirroring=False itself."
    if not dear and (node.op.name in NEVER or family(node) == "product"):
        return f"{node.op.name} is too much work to do twice."
    return None


def _kept_and_others(nodes: Sequence[Node], kept: dict[Node, str], name: str) -> Keep:
    changes = [
        Change("kept", (node.name,), kept[node])
        if node in kept
        else Change("recomputed", (node.name,), "it lies inside a segment.")
        for node in nodes
    ]
    return Keep(frozenset(nodes) - kept.keys(), True, tuple(changes), name)


# -- the best borders ------------------------------------------------------------------


def best_segments(
    graph: Graph, wanted: Sequence[Node], specs: Specs, dear: bool = True
) -> Keep:
    """The borders with the lowest peak, each value being computed twice at most.

    dear: also of nodes that are much work.
    """
    line = Line(graph, wanted, specs, dear)
    return line.keep(best_borders(line), "best" if dear else "segments")


def best_borders(line: Line) -> list[int]:
    """The borders, in order.

    While the gradient of the segment (i, j) runs, there are: what is fixed before j,
    what crosses the borders up to i, and what is read of the segment. For a peak that
    is not to be exceeded, let g(j) be the least that must cross all borders up to j;
    less is always better, so g(j) follows from g(i) of the borders before it. The
    lowest peak is found by halving.
    """
    always = np.concatenate([[0], np.cumsum(line.always())])
    inside = np.concatenate([[0], np.cumsum(line.inside())])
    cross = _crossing_bytes(line)
    low, high = int(always[-1]), int(always[-1] + inside[-1])
    found: list[int] = []
    while low < high:
        peak = (low + high) // 2
        borders = _within(peak, always, inside, cross)
        if borders is None:
            low = peak + 1
        else:
            high, found = peak, borders
    return found


def _crossing_bytes(line: Line) -> Numbers:
    """The bytes that a border costs: what crosses it and is not kept anyway."""
    costs = [
        line.bytes([e for e in line.crossing(border) if e.node not in line.fixed])
        for border in range(len(line.nodes))
    ]
    return np.array(costs, np.int64)


def _within(
    peak: int, always: Numbers, inside: Numbers, cross: Numbers
) -> list[int] | None:
    """Borders whose peak is not above a bound; None where there are none."""
    count = len(cross)
    never = np.iinfo(np.int64).max // 4
    least = np.full(count + 1, never)
    least[0] = 0
    before = np.zeros(count + 1, np.int64)
    for border in range(1, count + 1):
        there = always[border] + least[:border] + inside[border] - inside[:border]
        fits = np.where(there <= peak, least[:border], never)
        from_ = int(fits.argmin())
        before[border] = from_
        if fits[from_] < never:
            least[border] = fits[from_] + (cross[border] if border < count else 0)
    if least[count] >= never:
        return None
    borders = []
    border = int(before[count])
    while border:
        borders.append(border)
        border = int(before[border])
    return borders[::-1]


def moved_borders(
    line: Line, borders: list[int], peak: Callable[[Keep], int], tries: int = TRIES
) -> list[int]:
    """Borders near the given ones that need less, as `peak` counts it.

    The model above lets each value lie in memory of its own; the planner overlaps what
    is not there at once, and counts what gradients need on their way. So the nearest
    choices are tried on it: another border, one elsewhere, one less. The first that
    needs less is the next to start from.
    """
    least = peak(line.keep(borders, ""))
    seen = {tuple(borders)}
    better = True
    while better:
        better = False
        for other in _neighbours(borders, len(line.nodes)):
            if tuple(other) in seen:
                continue
            if len(seen) > tries:
                return borders
            seen.add(tuple(other))
            found = peak(line.keep(other, ""))
            if found < least:
                borders, least, better = other, found, True
                break
    return borders


def _neighbours(borders: list[int], count: int) -> Iterator[list[int]]:
    """Borders that differ in one: in the middle of a segment, moved, or left out."""
    for start, end in pairwise([0, *borders, count]):
        if end - start > 1:
            yield sorted([*borders, (start + end) // 2])
    for step in (1, -1, 2, -2, 4, -4):
        for border in borders:
            moved = border + step
            if 0 < moved < count and moved not in borders:
                yield sorted([*(b for b in borders if b != border), moved])
    for border in borders:
        yield [b for b in borders if b != border]


def even_segments(line: Line, count: int) -> Keep:
    """`count` segments of about the same size, cut where little crosses.

    Returns which values are kept: those at the borders. Chen et al., 2016: with the
    square root of the number of nodes as `count`, memory grows with that root.
    """
    if count <= 1 or len(line.nodes) <= 1:
        return line.keep([], "none")
    inside = np.cumsum(line.inside() + line.always())
    cross = _crossing_bytes(line)
    borders: list[int] = []
    for k in range(1, count):
        goal = inside[-1] * k / count
        near = np.abs(inside[:-1] - goal) <= inside[-1] / (4 * count)
        places = np.flatnonzero(near)
        if not len(places):
            places = np.array([int(np.abs(inside[:-1] - goal).argmin())])
        best = min(places, key=lambda p: (cross[p + 1], abs(inside[p] - goal)))
        borders.append(int(best) + 1)
    name = f"{count} segments"
    return line.keep(sorted(set(borders)), name)


def root_of(line: Line) -> int:
    """√N, for as many values as the gradient reads."""
    return max(1, isqrt(int(np.count_nonzero(line.inside()))))


# -- memonger --------------------------------------------------------------------------


@dataclass(frozen=True)
class MirrorPlan:
    """A plan for one threshold.

    saved: bytes of the checkpoints; biggest: of the largest stretch between them.
    """

    keep: Keep
    saved: int
    biggest: int


def make_mirror_plan(line: Line, threshold: int) -> MirrorPlan:
    """Checkpoints where the stretch since the last one exceeds `threshold` bytes.

    A checkpoint may lie at nodes with the remark `mirror_stage`: at each one that says
    True, or where the word changes; further nodes with that word follow. Where no node
    says it, at every node whose output alone leads on.
    """
    marked = any("__mirror_stage__" in node.attrs for node in line.nodes)
    local = saved = biggest = 0
    last = ""
    decided: dict[str, bool] = {}
    kept = dict(line.fixed)
    for place, node in enumerate(line.nodes):
        outs = [Entry(node, slot) for slot in range(node.visible)]
        size = line.bytes([entry for entry in outs if entry in line.specs])
        local += size
        stage = node.attrs.get("__mirror_stage__", "")
        if not marked:
            alone = place + 1 < len(line.nodes) and line.crossing(place + 1) == outs
            stage = "True" if alone else ""
        if not stage:
            continue
        checkpoint = decided.get(stage, False) and stage == last != "True"
        if stage == "True" or stage != last:
            checkpoint = local > threshold
            if checkpoint:
                biggest, local = max(biggest, local), 0
            decided[stage] = checkpoint
        if checkpoint:
            saved += size
            kept.setdefault(node, f"the stretch before it exceeds {threshold} bytes.")
        last = stage
    keep = _kept_and_others(line.nodes, kept, "sqrt")
    return MirrorPlan(keep, saved, biggest)


def search_plan(
    graph: Graph,
    wanted: Sequence[Node],
    specs: Specs,
    cost: Cost | None = None,
    trials: int = 6,
) -> Keep:
    """The cheapest of the plans for several thresholds, as memonger searches them.

    cost: of a training graph; without it the bytes of its memory plan.
    """
    cost = cost or planned_bytes(Settings())
    line = Line(graph, wanted, specs)
    tried: list[tuple[int, Keep]] = []

    def attempt(threshold: int) -> MirrorPlan:
        plan = make_mirror_plan(line, threshold)
        tried.append((cost(differentiate(graph, wanted, specs, plan.keep)), plan.keep))
        return plan

    threshold, low = 0, None
    for _ in range(3):
        plan = attempt(threshold)
        low = plan.biggest if low is None else min(low, plan.biggest)
        threshold = isqrt(plan.saved * plan.biggest // 2)
    assert low is not None
    step = int((threshold * sqrt(2) - low) / trials)
    if step > 0:
        for k in range(1, trials + 1):
            attempt(low + k * step)
    return min(tried, key=lambda pair: pair[0])[1]

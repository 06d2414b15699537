"""Checkpoints: keep the values at a few borders, recompute what lies between them.

A chain of N layers is cut into k segments. The values that cross the borders are kept,
as checkpoints; the gradient of a segment starts by recomputing its inside. So k
checkpoints and the N / k values of one segment are there at once, which is least at
k = √N, for the price of a second forward pass (Chen and others, arXiv 1604.06174).

Nine layers with borders at 3 and 6 (a border is a position in the order of operators):

    layers      a b c | d e f | g h i
    kept            c       f   g h i     the gradient of the last segment is next
    backward    of g h i; recompute d e; of d e f; recompute a b; of a b c

    search_plan     their search, as the tool `memonger` did it: several thresholds for
                    the bytes of a segment are tried
    best_segments   the borders with the lowest peak, by dynamic programming: exact for
                    chains; in other graphs a border cuts all branches
    moved_borders   borders moved for as long as the memory planner needs less
    even_segments   a given number of segments of about the same size

All of them look at a graph through `Line`, its operators in a row.
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
from minimx.core.graph.passes.recompute import Keep, Recomputation
from minimx.core.graph.passes.report import Change
from minimx.core.graph.running.settings import Settings
from minimx.core.graph.values.ir import Entry, Graph, Node
from minimx.core.graph.values.specs import Specs

Numbers = np.ndarray[Any, np.dtype[np.int64]]
#: What a training graph costs: bytes.
Cost = Callable[[Training], int]
#: How many choices of borders `moved_borders` tries: each takes a gradient and a plan.
TRIES = 32


def planned_bytes(settings: Settings) -> Cost:
    """What the memory planner says under some settings."""

    def cost(training: Training) -> int:
        graph, specs = training.graph, training.specs
        return plan_memory(graph, specs, training.external, settings).total

    return cost


class Line:
    """The operators of a graph in their order, and the borders between them.

    Border b is the position before operator b, from 0. expensive: whether expensive
    operators, such as convolutions, may be recomputed too; else they are always kept.
    """

    def __init__(
        self, graph: Graph, wanted: Sequence[Node], specs: Specs, expensive: bool = True
    ) -> None:
        self.specs = specs
        self.nodes = [node for node in graph if node.op is not None]
        self.position = {node: k for k, node in enumerate(self.nodes)}
        recomputation = Recomputation(graph, specs)
        outputs = {entry.node for entry in graph.outputs}
        #: {node: why it is always kept}
        self.fixed: dict[Node, str] = {}
        for node in self.nodes:
            if why := _why_fixed(node, recomputation, outputs, expensive):
                self.fixed[node] = why
        # Which of its outputs gradients read, and which ones recomputed nodes read.
        self._read: dict[Node, dict[Entry, None]] = {node: {} for node in self.nodes}
        for entry in read_by_gradients(graph, wanted, specs):
            self._read[entry.node][entry] = None
        self._read_again: dict[Node, dict[Entry, None]] = {
            node: {} for node in self.nodes
        }
        for node in self.nodes:
            for entry in node.inputs if node not in self.fixed else ():
                if entry.node.op is not None:
                    self._read_again[entry.node][entry] = None
        self._crossing = self._crossings()

    def crossing(self, border: int) -> list[Entry]:
        """The values computed before a border and read behind it, but for variables."""
        return self._crossing[border]

    def _crossings(self) -> list[list[Entry]]:
        last: dict[Entry, int] = {}
        for position, node in enumerate(self.nodes):
            last |= dict.fromkeys(node.inputs, position)
        found: list[list[Entry]] = [[] for _ in range(len(self.nodes) + 1)]
        for entry, position in last.items():
            if entry.node.op is not None:
                for border in range(self.position[entry.node] + 1, position + 1):
                    found[border].append(entry)
        return found

    def bytes(self, entries: Collection[Entry]) -> int:
        """The bytes of some values."""
        return sum(self.specs[entry].nbytes for entry in entries)

    def always(self) -> Numbers:
        """For each operator the bytes that are kept of it, whatever the borders are."""
        first, second = self._read, self._read_again
        return self._numbers(lambda node: {**first[node], **second[node]}, True)

    def inside(self) -> Numbers:
        """For each operator the bytes recomputed for gradients, if it is not kept."""
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
        """The decision to recompute what lies between borders, under a name.

        What lies behind the last border is kept: its gradient comes first.
        """
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
    node: Node, recomputation: Recomputation, outputs: Collection[Node], expensive: bool
) -> str | None:
    assert node.op is not None
    if why := recomputation.why_not(node):
        return f"it cannot be computed a second time: {why}"
    if node in outputs:
        return "it is an output, and stays anyway."
    if forced(node) is False:
        return "it says force_mirroring=False itself."
    if not expensive and (node.op.name in NEVER or family(node) == "product"):
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
    graph: Graph, wanted: Sequence[Node], specs: Specs, expensive: bool = True
) -> Keep:
    """The borders with the lowest peak, each value being computed twice at most.

    wanted: the variables whose gradients are computed. specs: of all entries.
    expensive: whether expensive operators may be recomputed, too.
    """
    line = Line(graph, wanted, specs, expensive)
    return line.keep(best_borders(line), "best" if expensive else "segments")


def best_borders(line: Line) -> list[int]:
    """The borders, in order.

    While the gradient of the segment (i, j) runs, in memory are: what is always kept of
    operators before j, the checkpoints at borders up to i, and the recomputed values of
    the segment. The peak is the largest sum over all segments.

    For a given bound on the peak, let g(j) be the fewest bytes of checkpoints at border
    j and before it. Fewer are always better, so g(j) is the least of g(i) + crossing(j)
    over all borders i before j for which the segment (i, j) stays within the bound. The
    lowest bound for which there are borders is found by bisection.
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
    """The bytes that each border costs: what crosses it and is not kept anyway."""
    costs = [
        line.bytes([e for e in line.crossing(border) if e.node not in line.fixed])
        for border in range(len(line.nodes))
    ]
    return np.array(costs, np.int64)


def _within(
    peak: int, always: Numbers, inside: Numbers, cross: Numbers
) -> list[int] | None:
    """Borders whose peak is at most `peak` bytes; None if there are none.

    always, inside: sums over the operators before each border, (n + 1,). cross: the
    bytes that each border costs, (n,).
    """
    count = len(cross)
    never = np.iinfo(np.int64).max // 4
    least = np.full(count + 1, never)  # g of `best_borders`
    least[0] = 0
    before = np.zeros(count + 1, np.int64)
    for border in range(1, count + 1):
        needed = always[border] + least[:border] + inside[border] - inside[:border]
        fits = np.where(needed <= peak, least[:border], never)
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

    The model of `best_borders` gives each value memory of its own; the memory planner
    shares it, and counts what gradients need meanwhile. So neighbouring choices are
    tried on it (`peak`, in bytes): a border more, one moved, one less. The first that
    needs less is the next to start from, until none does or `tries` are used up.
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

    The values at the borders are kept. With the square root of the number of nodes as
    `count`, memory grows with that root (Chen et al., 2016).
    """
    if count <= 1 or len(line.nodes) <= 1:
        return line.keep([], "none")
    inside = np.cumsum(line.inside() + line.always())
    cross = _crossing_bytes(line)
    borders: list[int] = []
    for k in range(1, count):
        goal = inside[-1] * k / count
        near = np.abs(inside[:-1] - goal) <= inside[-1] / (4 * count)
        candidates = np.flatnonzero(near)
        if not len(candidates):
            candidates = np.array([int(np.abs(inside[:-1] - goal).argmin())])
        best = min(candidates, key=lambda p: (cross[p + 1], abs(inside[p] - goal)))
        borders.append(int(best) + 1)
    name = f"{count} segments"
    return line.keep(sorted(set(borders)), name)


def root_of(line: Line) -> int:
    """√N, where N is the number of values that the gradient reads and may recompute."""
    return max(1, isqrt(int(np.count_nonzero(line.inside()))))


# -- memonger --------------------------------------------------------------------------


@dataclass(frozen=True)
class MirrorPlan:
    """A plan for one threshold.

    saved: bytes of the checkpoints; biggest: of the largest segment between them.
    """

    keep: Keep
    saved: int
    biggest: int


def make_mirror_plan(line: Line, threshold: int) -> MirrorPlan:
    """Checkpoints where the segment since the last one exceeds `threshold` bytes.

    A checkpoint may be at nodes with the remark `mirror_stage`: at each whose stage is
    True, or where the stage changes; further nodes of that stage are treated alike. If
    no node has the remark, at every node whose output is all that crosses the border
    behind it.
    """
    marked = any("__mirror_stage__" in node.attrs for node in line.nodes)
    local = saved = biggest = 0
    last = ""
    decided: dict[str, bool] = {}
    kept = dict(line.fixed)
    for position, node in enumerate(line.nodes):
        outs = [Entry(node, slot) for slot in range(node.visible)]
        size = line.bytes([entry for entry in outs if entry in line.specs])
        local += size
        stage = node.attrs.get("__mirror_stage__", "")
        if not marked:
            border = position + 1
            alone = border < len(line.nodes) and line.crossing(border) == outs
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

"""What mirroring can buy: the policies compared, memory against work.

    for point in pareto(graph, wanted, specs):
        print(point)

Each point is a way to train the same graph to the same numbers. Those on the front
(`best`) are not beaten by any other in both memory and work.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from minimx.core.graph.passes.gradient import Training, differentiate
from minimx.core.graph.passes.mirror_rule import legacy, remap
from minimx.core.graph.passes.mirror_segments import (
    Cost,
    Line,
    best_borders,
    even_segments,
    moved_borders,
    planned_bytes,
    root_of,
    search_plan,
)
from minimx.core.graph.passes.recompute import Keep
from minimx.core.graph.running.settings import Settings
from minimx.core.graph.values.ir import Graph, Node
from minimx.core.graph.values.specs import Specs, plan_of
from minimx.graphs.mirror_echo import echo


@dataclass(frozen=True)
class Point:
    """One way to train a graph.

    name: the policy, or how many segments. segments: 0 where it has none.
    peak: bytes, as `cost` counts them. work: the seconds of a step, forward and
    backward, on a processor of `SPEED`. extra: how much more work it is than keeping
    everything, as a share of that. root: so many segments as memonger's theory says.
    best: no other point is better in both.
    """

    name: str
    keep: Keep
    segments: int = 0
    peak: int = 0
    work: float = 0.0
    extra: float = 0.0
    root: bool = False
    best: bool = False


#: How much more work `within_budget` allows.
BUDGET = 0.15
#: Operations and bytes a second: one core of an ordinary processor.
SPEED = (50e9, 10e9)


def work_of(training: Training) -> float:
    """The seconds of one step by the roofline: arithmetic, or memory traffic."""
    total = 0.0
    for node in training.graph:
        if node.op is not None:
            cost = plan_of(node, training.specs).cost
            total += max(cost.flops / SPEED[0], cost.bytes_moved / SPEED[1])
    return total


def pareto(
    graph: Graph,
    wanted: Sequence[Node],
    specs: Specs,
    settings: Settings | None = None,
    cost: Cost | None = None,
    counts: Sequence[int] | None = None,
) -> list[Point]:
    """A point for each policy and for several numbers of segments, by rising peak.

    cost: of a training graph; without it the bytes of its memory plan. counts: the
    numbers of segments; powers of two and √N without it. Each is tried twice, with and
    without computing expensive operators again.
    """
    settings = settings or Settings()
    cost = cost or planned_bytes(settings)
    base = 0.0
    points = []
    for tried in _tried(graph, wanted, specs, settings, cost, counts):
        cap = settings.inplace_grad_sum_cap
        training = differentiate(graph, wanted, specs, tried.keep, cap)
        work = work_of(training)
        base = base or work
        extra = work / base - 1 if base else 0.0
        points.append(replace(tried, peak=cost(training), work=work, extra=extra))
    return _front(points)


def best_planned(
    graph: Graph,
    wanted: Sequence[Node],
    specs: Specs,
    settings: Settings,
    cost: Cost | None = None,
) -> Point:
    """The segments with the lowest peak that were found, as `cost` counts it."""
    cost = cost or planned_bytes(settings)
    line, cap = Line(graph, wanted, specs), settings.inplace_grad_sum_cap

    def peak(keep: Keep) -> int:
        return cost(differentiate(graph, wanted, specs, keep, cap))

    borders = moved_borders(line, best_borders(line), peak)
    return Point("best", line.keep(borders, "best"), len(borders) + 1)


def within_budget(
    graph: Graph,
    wanted: Sequence[Node],
    specs: Specs,
    settings: Settings,
    budget: float = BUDGET,
) -> Keep:
    """The plan with the lowest peak whose extra work stays within a budget."""
    points = pareto(graph, wanted, specs, settings, counts=(2, 4, 8, 16))
    best = min((p for p in points if p.extra <= budget), key=lambda p: p.peak)
    return replace(best.keep, name=f"auto: {best.name}")


def _tried(
    graph: Graph,
    wanted: Sequence[Node],
    specs: Specs,
    settings: Settings,
    cost: Cost,
    counts: Sequence[int] | None,
) -> Iterator[Point]:
    """All that is compared, first what keeps everything."""
    everything = Line(graph, wanted, specs).keep([], "none")
    yield Point("none", everything)
    step = settings.backward_mirror_step
    yield Point("1.x", legacy(graph, specs, True, step))
    yield Point("remap", remap(graph, specs, True, step))
    yield Point("echo", echo(graph, wanted, specs))
    yield Point("sqrt", search_plan(graph, wanted, specs, cost))
    cheap = Line(graph, wanted, specs, False)
    borders = best_borders(cheap)
    yield Point("segments", cheap.keep(borders, "segments"), len(borders) + 1)
    yield best_planned(graph, wanted, specs, settings, cost)
    for dear, line in ((False, cheap), (True, Line(graph, wanted, specs))):
        root = root_of(line)
        word = "all" if dear else "cheap"
        for count in counts or _powers(len(line.nodes), root):
            keep = even_segments(line, count)
            at_root = dear and count == root
            yield Point(f"{count} segments, {word}", keep, count, root=at_root)


def _powers(most: int, root: int) -> list[int]:
    found = {2**k for k in range(1, 12) if 2**k <= most // 2}
    return sorted(found | {root} - {1})


def _front(points: Sequence[Point]) -> list[Point]:
    found = []
    least = float("inf")
    for point in sorted(points, key=lambda point: (point.peak, point.work)):
        found.append(replace(point, best=point.work < least))
        least = min(least, point.work)
    return found

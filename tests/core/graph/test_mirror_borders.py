"""The borders of mirrored segments, moved by what the memory planner says."""

from __future__ import annotations

import minimx as mx
from minimx.core.graph.passes.gradient import differentiate
from minimx.core.graph.passes.mirror import POLICIES
from minimx.core.graph.passes.mirror_segments import (
    TRIES,
    Line,
    best_borders,
    moved_borders,
    planned_bytes,
)
from minimx.core.graph.passes.recompute import Keep
from minimx.core.graph.running.settings import Settings
from minimx.core.graph.values.infer import infer
from minimx.core.graph.values.ir import Entry
from minimx.core.graph.values.specs import every_spec


def test_borders_move_for_as_long_as_the_planner_needs_less() -> None:
    y = mx.sym.var("x")
    for width in [256] * 6 + [64] * 20 + [256] * 6:
        y = mx.sym.FullyConnected(y, num_hidden=width, no_bias=True)
    graph, wanted = y.graph, list(y.graph.arguments)
    found = infer(graph, {"x": (64, 256)}, {})
    known = {node: found.spec(Entry(node)) for node in graph.variables}
    specs = every_spec(graph, {n: spec for n, spec in known.items() if spec})
    line, cost = Line(graph, wanted, specs), planned_bytes(Settings())

    def planned(keep: Keep) -> int:
        return cost(differentiate(graph, wanted, specs, keep)) >> 10

    by_model = best_borders(line)
    assert planned(line.keep(by_model, "")) == 688
    tried: list[int] = []

    def peak(keep: Keep) -> int:
        tried.append(planned(keep))
        return tried[-1]

    moved = moved_borders(line, by_model, peak)
    assert planned(line.keep(moved, "")) == min(tried) == 448
    assert len(tried) <= TRIES + 1
    assert moved_borders(line, by_model, peak, tries=1) == by_model
    policy = POLICIES["best"](graph, wanted, specs, Settings())
    assert policy.recompute == line.keep(moved, "").recompute

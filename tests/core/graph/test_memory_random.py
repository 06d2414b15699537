"""Memory plans of random graphs: nothing is written over that is still read."""

from __future__ import annotations

from typing import Any
from unittest import mock

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import minimx as mx
from minimx.core.graph.memory.memory import plan_memory
from minimx.core.graph.passes.gradient import differentiate
from minimx.core.graph.running.run import as_run
from minimx.core.graph.running.settings import Settings
from minimx.core.graph.values.ir import Graph
from tests.core.graph import overlay, test_same_bits
from tests.core.graph.test_same_bits import (
    COLUMNS,
    ROWS,
    Step,
    build,
    inputs_of,
    specs_of,
)

B = mx.sym.var("b")

#: Steps that tempt a planner.
STEPS: dict[str, Step] = {
    **test_same_bits.STEPS,
    "flat": lambda p, q: p.reshape((-1,)).expand_dims(0).reshape((ROWS, COLUMNS)),
    "parts": lambda p, q: mx.sym.concat(*reversed(list(p.split(2, axis=1))), dim=1),
    "one part": lambda p, q: p.split(2, axis=1)[0].tile((1, 2)),
    "dropped": lambda p, q: mx.sym.Dropout(p, p=0.3),
    "wide": lambda p, q: p.astype("float64").astype("float32"),
    "whole": lambda p, q: (p * 4).astype("int32").astype("float32"),
    "zeros": lambda p, q: mx.sym.zeros_like(p) + q,
    "shape": lambda p, q: mx.sym.reshape_like(p, q),
    "update": lambda p, q: mx.sym.sgd_update(p, q, lr=0.1),
    "momentum": lambda p, q: mx.sym.sgd_mom_update(
        p, mx.sym.tanh(q), mx.sym.identity(p), lr=0.1, momentum=0.9
    ),
    "momentum kept": lambda p, q: p + momentum(p, q),
    "normed": lambda p, q: mx.sym.LayerNorm(p, B, B),
    "grown": lambda p, q: mx.sym.slice_axis(
        mx.sym.tanh(mx.sym.concat(p, q, p, dim=0)), axis=0, begin=3, end=3 + ROWS
    ),
}


def momentum(p: Any, q: Any) -> Any:
    """The momentum as an update has left it."""
    kept = mx.sym.identity(mx.sym.tanh(q))
    return mx.sym.sgd_mom_update(p, q, kept, lr=0.1, momentum=0.9) - kept


steps = st.lists(
    st.tuples(st.sampled_from(sorted(STEPS)), st.integers(0, 30), st.integers(0, 30)),
    min_size=2,
    max_size=14,
)
choices = st.builds(
    Settings,
    enable_inplace=st.booleans(),
    match_range=st.sampled_from([0, 1, 2, 16]),
    auto_search_match_range=st.booleans(),
    num_temp=st.integers(1, 3),
    planner=st.sampled_from(["sharing", "by_size"]),
)


def built(plan: list[tuple[str, int, int]], heads: int) -> Graph:
    with mock.patch.dict(test_same_bits.STEPS, STEPS):
        return as_run(build(plan, heads), training=True)


def compared(graph: Graph, specs: Any, chosen: Settings, outside: bool) -> None:
    """A plan keeps what is read, and computes what a plan without sharing computes."""
    external = graph.outputs if outside else ()
    plan = plan_memory(graph, specs, external, chosen)
    overlay.check(plan, specs)
    assert ("MINIMX_MEMORY_PLANNER" in str(plan)) == (chosen.planner == "by_size")
    apart = plan_memory(
        graph, specs, external, Settings(match_range=0, enable_inplace=False)
    )
    assert apart.total == apart.bytes_apart
    given = {n: a for n in graph.variables for a in [inputs_of(graph, 3)[n.name]]}
    with np.errstate(all="ignore"):
        ours = overlay.run(plan, specs, given)
        theirs = overlay.run(apart, specs, given)
    assert [x.tobytes() for x in ours] == [x.tobytes() for x in theirs]
    assert plan.total >= plan.peak or plan.inplace


everything = settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)


@everything
@given(steps, st.integers(0, 2), choices, st.booleans())
def test_a_random_graph_keeps_what_is_read(
    plan: list[tuple[str, int, int]], heads: int, chosen: Settings, outside: bool
) -> None:
    graph = built(plan, heads)
    compared(graph, specs_of(graph), chosen, outside)


@everything
@given(test_same_bits.plans, st.integers(0, 2), choices, st.booleans())
def test_a_random_training_graph_keeps_what_is_read(
    plan: list[tuple[str, int, int]], heads: int, chosen: Settings, outside: bool
) -> None:
    graph = as_run(build(plan, heads), training=True)
    made = differentiate(graph, graph.arguments, specs_of(graph))
    compared(made.graph, made.specs, chosen, outside)

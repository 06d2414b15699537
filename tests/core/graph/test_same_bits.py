"""Random graphs: whatever passes do to them, they compute the same bits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import minimx as mx
from minimx.core.graph.passes.cse import share
from minimx.core.graph.passes.gradient import differentiate
from minimx.core.graph.passes.report import Passed
from minimx.core.graph.passes.simplify import eliminate, fold_constants
from minimx.core.graph.running.run import as_run, evaluate
from minimx.core.graph.values.ir import Graph, Node
from minimx.core.graph.values.specs import every_spec
from minimx.core.ops.spec import Spec
from minimx.fast.fusion.groups import fuse
from minimx.symbol import Symbol
from tests.core.graph.verify import verify
from tests.fast.fusion.test_groups import bits

ROWS, COLUMNS = 6, 8
SHAPES = {"x": (ROWS, COLUMNS), "y": (ROWS, COLUMNS), "b": (COLUMNS,), "c": (ROWS, 1)}

B, C = mx.sym.var("b"), mx.sym.var("c")
# Steps take symbols of (ROWS, COLUMNS) and give one; all are tame for tame numbers.
Step = Callable[[Any, Any], Symbol]
STEPS: dict[str, Step] = {
    "relu": lambda p, q: mx.sym.relu(p),
    "tanh": lambda p, q: mx.sym.tanh(p),
    "sigmoid": lambda p, q: mx.sym.Activation(p, act_type="sigmoid"),
    "scale": lambda p, q: p * 0.5,
    "shift": lambda p, q: 1.25 - p,
    "add": lambda p, q: p + q,
    "mul": lambda p, q: mx.sym.tanh(p) * q,
    "max": lambda p, q: mx.sym.broadcast_maximum(p, q),
    "bias": lambda p, q: mx.sym.broadcast_add(p, B),
    "gate": lambda p, q: mx.sym.broadcast_mul(p, mx.sym.sin(C)),
    "where": lambda p, q: mx.sym.where(p > q, q, p),
    "many": lambda p, q: mx.sym.add_n(p, q, p),
    "same": lambda p, q: mx.sym.identity(p),
    "stop": lambda p, q: mx.sym.BlockGrad(p),
    "turned": lambda p, q: (
        p.reshape((COLUMNS, ROWS)).exp().reshape((ROWS, COLUMNS)) / 9
    ),
    "half": lambda p, q: mx.sym.concat(
        mx.sym.slice_axis(p, axis=1, begin=0, end=4), q.slice_axis(1, 0, 4) * 2, dim=1
    ),
    "mean": lambda p, q: mx.sym.broadcast_sub(p, mx.sym.mean(q, axis=1, keepdims=True)),
    "softmax": lambda p, q: mx.sym.softmax(p),
    "constant": lambda p, q: mx.sym.broadcast_add(p, mx.sym.arange(COLUMNS) * 0.5),
    "norm": lambda p, q: mx.sym.broadcast_div(p, mx.sym.sum(q * q, keepdims=True) + 1),
}

plans = st.lists(
    st.tuples(st.sampled_from(sorted(STEPS)), st.integers(0, 30), st.integers(0, 30)),
    min_size=2,
    max_size=14,
)


def build(plan: list[tuple[str, int, int]], heads: int) -> Graph:
    """A graph of the steps; each picks its inputs among what was made before."""
    made: list[Symbol] = [mx.sym.var("x"), mx.sym.var("y")]
    for name, p, q in plan:
        made.append(STEPS[name](made[-1 - p % len(made)], made[-1 - q % len(made)]))
    # What is not used is an output.
    return mx.sym.Group([made[-1], *made[2 : 2 + heads]]).graph


def shape_of(node: Node) -> tuple[int, ...]:
    """Of the gradients of outputs, that of the outputs."""
    return SHAPES.get(node.name, (ROWS, COLUMNS))


def specs_of(graph: Graph) -> dict[Any, Spec]:
    of = {n: Spec.of(shape_of(n), np.dtype("float32")) for n in graph.variables}
    return every_spec(graph, of)


def inputs_of(graph: Graph, seed: int) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    return {
        node.name: rng.normal(size=shape_of(node)).astype(np.float32)
        for node in sorted(graph.variables, key=lambda node: node.name)
    }


def run(graph: Graph, given: dict[str, Any]) -> list[Any]:
    arrays = {n: mx.nd.array(given[n.name]) for n in graph.variables}
    return [bits(out.asnumpy()) for out in evaluate(graph, arrays, mx.cpu())]


def accounted(passed: Passed) -> None:
    """Every node that came or went is explained."""
    told = {name for change in passed.changes for name in change.nodes}
    before = {node.name for node in passed.before}
    after = {node.name for node in passed.after}
    rules = {c.rule for c in passed.changes}
    if passed.name == "fold_constants":  # what fed only constants goes without a word
        gone = {n for n in passed.before if n.name not in after and n.inputs}
        assert {node.name for node in gone} <= told
    else:
        assert before - after <= told
    assert after - before <= told or passed.name == "fold_constants"
    assert rules <= {
        "merged", "copied", "removed", "kept", "folded", "fused", "apart", "dissolved",
    }  # fmt: skip
    fused = [change for change in passed.changes if change.rule == "fused"]
    if passed.name == "fuse":
        saved = sum(len(change.nodes) - 2 for change in fused)
        assert len(passed.before) - len(passed.after) == saved
    if passed.name == "share":
        merged = [c for c in passed.changes if c.rule == "merged"]
        copied = [c for c in passed.changes if c.rule == "copied"]
        lost = len(passed.before) - len(passed.after)
        assert lost == len(merged) - len(copied)


def through(graph: Graph, forward: Any = None, spare: Any = ()) -> Graph:
    """A graph after all passes, each of them accounted for."""
    among = None if forward is None else frozenset(graph.nodes) - frozenset(spare)
    specs = specs_of(graph)
    passes: list[Callable[[Graph], Passed]] = [
        lambda graph: share(graph, among),
        lambda graph: eliminate(graph, specs),
        lambda graph: fold_constants(graph, specs),
        lambda graph: fuse(graph, specs, forward),
    ]
    for each in passes:
        passed = each(graph)
        verify(passed.after)
        accounted(passed)
        specs = passed.carried(specs)
        if forward is not None:
            forward = passed.followed(forward)
        graph = passed.after
    return graph


often = settings(
    max_examples=40, deadline=None, suppress_health_check=list(HealthCheck)
)


@often
@given(plan=plans, heads=st.integers(0, 2), seed=st.integers(0, 99))
def test_forward(plan: list[tuple[str, int, int]], heads: int, seed: int) -> None:
    graph = build(plan, heads)
    given = inputs_of(graph, seed)
    expected = run(graph, given)
    after = through(graph)
    for one, other in zip(expected, run(after, given), strict=True):
        np.testing.assert_array_equal(one, other)


@often
@given(plan=plans, heads=st.integers(0, 1), seed=st.integers(0, 99))
def test_backward(plan: list[tuple[str, int, int]], heads: int, seed: int) -> None:
    graph = as_run(build(plan, heads), True)
    training = differentiate(graph, graph.variables, specs_of(graph))
    joint = training.graph
    given = inputs_of(joint, seed)
    expected = run(joint, given)
    after = through(joint, training.forward, training.clones)
    for one, other in zip(expected, run(after, given), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("name", sorted(STEPS))
def test_every_step_alone(name: str) -> None:
    graph = build([(name, 0, 1), (name, 0, 1), ("add", 0, 1)], 1)
    given = inputs_of(graph, 3)
    for one, other in zip(run(graph, given), run(through(graph), given), strict=True):
        np.testing.assert_array_equal(one, other)

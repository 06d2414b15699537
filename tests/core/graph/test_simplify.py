"""Identities and constants."""

from __future__ import annotations

import numpy as np

import minimx as mx
from minimx.core.dtypes import FLOAT32
from minimx.core.graph.passes.report import Passed
from minimx.core.graph.passes.simplify import eliminate, fold_constants
from minimx.core.graph.values.ir import Entry, Graph
from minimx.core.graph.values.specs import every_spec
from minimx.core.ops.spec import Spec
from tests.core.graph.test_cse import names, same_results

x = mx.sym.var("x")
PLANE = Spec.of((2, 3), FLOAT32)


def specs_of(graph: Graph) -> dict[Entry, Spec]:
    return every_spec(graph, dict.fromkeys(graph.variables, PLANE))


def folded(symbol: mx.sym.Symbol, **settings: int) -> Passed:
    graph = symbol.graph
    return fold_constants(graph, specs_of(graph), **settings)


def test_identities_go() -> None:
    y = mx.sym.identity(mx.sym.exp(x, name="e"), name="i")
    graph = mx.sym.BlockGrad(y * 1, name="stop") + mx.sym.Dropout(y, p=0)
    passed = eliminate(graph.graph)
    assert [node.op.name for node in passed.after if node.op] == ["exp", "elemwise_add"]
    assert passed.changes[0].nodes == ("e", "i")
    assert len(passed.changes) == len(passed.before) - len(passed.after) == 4
    same_results(passed, x=[-0.0, 1.0, np.inf])


def test_numbers_that_change_a_zero_or_more_stay() -> None:
    graph = mx.sym.Group([mx.sym.exp(x) + 0, mx.sym.exp(x) - 1, mx.sym.exp(x) * 2])
    assert eliminate(graph.graph).changes == ()


def test_conversions_to_what_it_is_are_found_with_specs() -> None:
    y = mx.sym.exp(x)
    y = mx.sym.cast(y.reshape((2, 3)), dtype="float32").broadcast_to((2, 3))
    graph = mx.sym.sin(y.reshape((3, 2))).graph
    assert eliminate(graph).changes == ()
    passed = eliminate(graph, specs_of(graph))
    assert [n.op.name for n in passed.after if n.op] == ["exp", "Reshape", "sin"]
    assert passed.changes[0].reason == "float32[2, 3] is what it has already"


def test_dropout_goes_when_nothing_will_be_dropped() -> None:
    graph = mx.sym.sin(mx.sym.Dropout(mx.sym.Dropout(x, mode="always"), p=0.3)).graph
    assert len(eliminate(graph).after) == 4
    assert len(eliminate(graph, training=False).after) == 3


def test_outputs_stay_arrays_of_their_own() -> None:
    y = mx.sym.exp(x, name="e")
    graph = mx.sym.Group(
        [mx.sym.identity(x, name="a"), mx.sym.identity(y, name="b"), y]
    ).graph
    graph = Graph([*graph.outputs, graph.outputs[0]])
    passed = eliminate(graph)
    after = passed.after
    assert len(set(after.outputs)) == 3 and after.outputs[0] == after.outputs[3]
    assert names(after) == ["x", "a", "e", "b"]
    assert all(entry.node.op is not None for entry in after.outputs)
    same_results(passed, x=[1.0])


def test_a_copy_of_what_another_node_changes_stays() -> None:
    states = [mx.sym.var(name) for name in ("gamma", "beta", "mean", "var")]
    gamma, beta, mean, var = states
    norm = mx.sym.BatchNorm(x, gamma, beta, mean, var)
    graph = mx.sym.Group([norm, mx.sym.sin(mx.sym.identity(states[2], name="i"))])
    passed = eliminate(graph.graph)
    assert "i" in names(passed.after)
    assert passed.changes[0].reason == "mean is changed by another node"


def test_what_depends_on_no_variable_is_computed_once() -> None:
    ramp = mx.sym.exp(mx.sym.arange(3), name="e") * 2
    passed = folded(mx.sym.broadcast_mul(x, ramp.reshape((1, 3))))
    assert [n.op.name for n in passed.after if n.op] == ["_constant", "broadcast_mul"]
    assert [change.rule for change in passed.changes] == ["folded"] * 3
    assert len(passed.after) == len(passed.before) - 3
    same_results(passed, x=np.ones((2, 3)))


def test_random_numbers_are_drawn_anew() -> None:
    assert folded(x + mx.sym.random.normal(shape=(2, 3)) * 2).changes == ()


def test_large_constants_and_lonely_ones_are_not_kept() -> None:
    assert folded(x + mx.sym.zeros((2, 3))).changes == ()
    graph = x + mx.sym.exp(mx.sym.zeros((2, 3)))
    assert len(folded(graph).changes) == 1
    assert folded(graph, largest=23).changes == ()


def test_all_elements_in_another_order_are_no_identity() -> None:
    x = mx.sym.var("x")
    whole = mx.sym.slice(x, begin=(None,), end=(None,))
    back = mx.sym.slice(x, begin=(None,), end=(None,), step=(-1,))
    data = mx.nd.array([1, 2, 3])
    outs = mx.sym.Group([whole * 1.5, back * 1.5]).eval(x=data)
    assert [out.asnumpy().tolist() for out in outs] == [[1.5, 3, 4.5], [4.5, 3, 1.5]]

"""Backends that replace patterns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pytest

import minimx as mx
from minimx.core.dtypes import resolve
from minimx.core.errors import ArgumentError, OperatorError
from minimx.core.graph.passes.partition import BACKENDS, partition, register_backend
from minimx.core.graph.running.run import as_run, evaluate
from minimx.core.graph.values.ir import Entry, Graph, Node
from minimx.core.graph.values.specs import every_spec
from minimx.core.ops.registry import lookup
from minimx.core.ops.spec import Spec
from minimx.symbol import Symbol
from tests.core.graph.verify import verify

data = mx.sym.var("data")


def block(x: Symbol, name: str, act: str | None = "relu", **settings: Any) -> Symbol:
    settings = {"kernel": (3, 3), "num_filter": 4, **settings}
    x = mx.sym.Convolution(x, name=name, **settings)
    x = mx.sym.BatchNorm(x, name=f"{name}_bn", fix_gamma=False)
    return x if act is None else mx.sym.Activation(x, act_type=act, name=f"{name}_act")


def arrays(symbol: Symbol, dtype: str = "float32", **shapes: Any) -> dict[str, Any]:
    known = {"data": (2, 3, 8, 8), **shapes}
    args, _, aux = symbol.infer_shape(**known)
    rng = np.random.default_rng(4)
    names = [*symbol.list_arguments(), *symbol.list_auxiliary_states()]
    return {
        name: rng.uniform(0.5, 1.5, shape).astype(resolve(dtype))
        for name, shape in zip(names, [*(args or ()), *(aux or ())], strict=True)
    }


def predicted(graph: Graph, given: Mapping[str, Any]) -> list[Any]:
    values = {
        n: mx.nd.array(given[n.name], dtype=given[n.name].dtype)
        for n in graph.variables
    }
    return [out.asnumpy() for out in evaluate(graph, values, mx.cpu())]


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"no_bias": True, "stride": (2, 2), "pad": (1, 1)},
        {"num_group": 2, "num_filter": 6, "act": None, "pad": (1, 1)},
        {"act": "tanh", "dilate": (2, 2)},
        {"kernel": (8, 8), "num_filter": 20},
    ],
)
def test_folding_predicts_the_same(settings: dict[str, Any], dtype: str) -> None:
    symbol = block(data, "c", **settings)
    passed = partition(symbol.graph, "MINIMX")
    verify(passed.after)
    assert len([node for node in passed.after if node.op is not None]) == 1
    image = (2, 2 if "num_group" in settings else 3, 8, 8)
    given = arrays(symbol, dtype, data=image)
    (before,), (after,) = (predicted(g, given) for g in (passed.before, passed.after))
    slack = {"float64": 1e-12, "float32": 1e-5, "float16": 4e-3}[dtype]
    assert before.dtype == after.dtype
    np.testing.assert_allclose(after, before, rtol=slack, atol=slack)


def test_the_account_names_what_gave_way() -> None:
    passed = partition(block(block(data, "a"), "b", act=None).graph, "minimx")
    assert [change.nodes for change in passed.changes] == [
        ("sg_minimx_a_bn_act", "a", "a_bn", "a_act"),
        ("sg_minimx_b_bn", "b", "b_bn"),
    ]
    assert passed.changes[1].reason == "MINIMX has Convolution and BatchNorm in one"
    assert len(passed.before) - len(passed.after) == 3


def test_states_stay_states_and_arguments_arguments() -> None:
    graph = block(data, "c").graph
    after = partition(graph, "MINIMX").after
    assert [n.name for n in after.arguments] == [n.name for n in graph.arguments]
    assert [n.name for n in after.states] == ["c_bn_moving_mean", "c_bn_moving_var"]


def test_what_others_need_is_not_swallowed() -> None:
    conv = mx.sym.Convolution(data, kernel=(1, 1), num_filter=2, name="c")
    norm = mx.sym.BatchNorm(conv, name="n")
    for graph, who in (
        (mx.sym.Group([norm, conv]).graph, "the caller"),
        (mx.sym.relu(norm * mx.sym.exp(conv, name="e")).graph, "e"),
    ):
        passed = partition(graph, "MINIMX")
        assert len(passed.after) == len(passed.before)
        assert passed.changes[0].reason == f"{who} needs c as well"
    graph = mx.sym.Group([mx.sym.relu(norm, name="r"), norm]).graph
    passed = partition(graph, "MINIMX")
    assert {c.rule for c in passed.changes} == {"kept", "replaced"}


def test_training_is_left_alone() -> None:
    graph = block(data, "c").graph
    passed = partition(graph, "MINIMX", training=True)
    assert passed.after is graph
    assert passed.changes[0].reason == "MINIMX is for prediction"
    after = as_run(partition(graph, "MINIMX").after, training=True)
    given = {n: Spec.of((4,), resolve("float32")) for n in after.variables}
    with pytest.raises(OperatorError, match="made for prediction"):
        every_spec(after, given)


def test_bytes_are_saved() -> None:
    symbol = block(data, "c", kernel=(1, 1), num_filter=64)
    graph = symbol.graph
    shapes = arrays(symbol, data=(8, 64, 32, 32))
    after = partition(graph, "MINIMX").after

    def moved(graph: Graph) -> int:
        specs = every_spec(
            graph,
            {
                n: Spec.of(shapes[n.name].shape, resolve("float32"))
                for n in graph.variables
            },
        )
        total = 0
        for node in graph:
            if node.op is not None:
                ins = [specs[entry] for entry in node.inputs]
                total += node.op.cost(*ins).bytes_moved
        return total

    assert moved(after) < 0.4 * moved(graph)


# -- choosing --------------------------------------------------------------------------


def test_none_replaces_nothing() -> None:
    graph = block(data, "c").graph
    for name in ("", "NONE", "none"):
        assert partition(graph, name).after is graph


def test_libraries_that_are_not_built_in_say_so() -> None:
    with pytest.raises(ArgumentError, match="not built into minimx.*MINIMX"):
        partition(data.graph, "TENSORRT")
    with pytest.raises(ArgumentError, match="Did you mean MINIMX"):
        partition(data.graph, "MINMX")


@pytest.fixture
def mine() -> Iterator[str]:
    def match(node: Node, users: Any) -> Sequence[Node] | None:
        first = node.inputs[0].node if node.inputs else None
        if first is None or first.op is None or node.op is None:
            return None
        return (
            [first, node] if (first.op.name, node.op.name) == ("exp", "log") else None
        )

    def replace(nodes: Sequence[Node], inputs: Mapping[Entry, Entry]) -> Node:
        return Node(lookup("identity").of(), list(inputs.values()), nodes[0].name)

    register_backend("MINE", match, replace, training=True)
    yield "mine"
    del BACKENDS["MINE"]


def test_a_backend_of_ones_own(mine: str) -> None:
    x = mx.sym.var("x")
    graph = mx.sym.log(mx.sym.exp(mx.sym.log(mx.sym.exp(x * 2)))).graph
    passed = partition(graph, mine, training=True)
    kinds = [node.op.name for node in passed.after if node.op is not None]
    assert kinds == ["_mul_scalar", "_copy", "_copy"]
    np.testing.assert_array_equal(predicted(passed.after, {"x": np.ones(2)})[0], [2, 2])


def test_names_are_taken_once(mine: str) -> None:
    with pytest.raises(ArgumentError, match="'Mine' is there already"):
        register_backend(
            "Mine", lambda node, users: None, lambda nodes, inputs: nodes[0]
        )


# -- asking for it ---------------------------------------------------------------------


def test_a_symbol_is_optimized_for_a_backend(
    capsys: pytest.CaptureFixture[str],
) -> None:
    symbol = block(data, "c")
    made = symbol.optimize_for("MINIMX")
    assert made.list_outputs() == ["sg_minimx_c_bn_act_output"]
    assert made.list_arguments() == symbol.list_arguments()
    assert made.list_auxiliary_states() == symbol.list_auxiliary_states()
    assert capsys.readouterr().out == (
        "Subgraph backend MINIMX is activated: 1 patterns, 10 nodes became 8.\n"
    )
    given = arrays(symbol)
    values = {name: mx.nd.array(value) for name, value in given.items()}
    again = mx.sym.load_json(made.tojson())
    outs = [
        each.eval(mx.cpu(), **values)[0].asnumpy() for each in (symbol, made, again)
    ]
    np.testing.assert_allclose(outs[1], outs[0], rtol=1e-5)
    np.testing.assert_array_equal(outs[1], outs[2])


def test_a_block_is_optimized_for_a_backend() -> None:
    net = mx.gluon.nn.HybridSequential()
    net.add(mx.gluon.nn.Conv2D(4, 3), mx.gluon.nn.BatchNorm())
    net.initialize()
    x = mx.nd.random.uniform(shape=(2, 3, 8, 8))
    plain = net(x).asnumpy()
    net.optimize_for(x, backend="MINIMX")
    np.testing.assert_allclose(net(x).asnumpy(), plain, rtol=1e-5, atol=1e-6)
    with mx.autograd.record():  # the graph without the backend, which predicts only
        net(x).sum().backward()
    assert np.abs(net[0].bias.grad().asnumpy()).max() < 1e-3
    assert np.abs(net[1].beta.grad().asnumpy()).max() > 1

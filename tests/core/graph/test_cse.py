"""Common sub-expressions: what is merged, what never is, and that results stay."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minimx as mx
from minimx.core.dtypes import FLOAT32
from minimx.core.graph.passes.cse import share
from minimx.core.graph.passes.report import Passed
from minimx.core.graph.running.run import evaluate
from minimx.core.graph.values.ir import Entry, Graph, Node
from minimx.core.ops.registry import lookup
from minimx.core.ops.spec import Spec

x = mx.sym.var("x")


def names(graph: Graph) -> list[str]:
    return [node.name for node in graph]


def values(graph: Graph, **given: Any) -> list[Any]:
    arrays = {node: mx.nd.array(given[node.name]) for node in graph.variables}
    return [out.asnumpy() for out in evaluate(graph, arrays, mx.cpu())]


def same_results(passed: Passed, **given: Any) -> None:
    pairs = zip(
        values(passed.before, **given), values(passed.after, **given), strict=True
    )
    for one, other in pairs:
        np.testing.assert_array_equal(one, other)


def test_equal_parts_become_one_all_the_way_up() -> None:
    a = mx.sym.exp(x, name="a") * 2
    b = mx.sym.exp(x, name="b") * 2
    passed = share((a + b).graph)
    assert len(passed.before) == 6
    assert len(passed.after) == 4
    assert [change.rule for change in passed.changes] == ["merged", "merged"]
    assert passed.changes[0].nodes == ("a", "b")
    assert passed.changes[0].reason == "both are exp of x"
    same_results(passed, x=[1.0, 2.0])


def test_order_of_inputs_settings_and_remarks_count() -> None:
    y = mx.sym.var("y")
    made = [
        x - y,
        y - x,
        x + 1,
        x + 2,
        mx.sym.exp(x),
        mx.sym.exp(x, attr={"ctx_group": "far"}),
    ]
    graph = mx.sym.Group(made).graph
    assert len(share(graph).after) == len(graph)
    assert share(graph).changes == ()


@pytest.mark.parametrize(
    "twice",
    [
        lambda: mx.sym.Dropout(x, p=0.5),
        lambda: mx.sym.sample_normal(x, x),
        lambda: mx.sym.BatchNorm(x, gamma=x, beta=x),
        lambda: mx.sym.random.normal(shape=(2,)),
    ],
)
def test_what_draws_or_remembers_stays_apart(twice: Any) -> None:
    graph = mx.sym.Group([twice(), twice()]).graph
    ops = [node for node in graph if node.op is not None]
    assert len([n for n in share(graph).after if n.op is not None]) == len(ops) >= 2


def test_operators_without_inputs_and_variables_stay_apart() -> None:
    graph = mx.sym.Group([mx.sym.zeros((2,)), mx.sym.zeros((2,)), x, x + 0]).graph
    assert len(share(graph).after) == len(graph)


def test_two_outputs_stay_two_arrays() -> None:
    graph = mx.sym.Group(
        [mx.sym.exp(x, name="a"), mx.sym.exp(x, name="b"), mx.sym.exp(x, name="c")]
    ).graph
    passed = share(graph)
    assert [entry.node.name for entry in passed.after.outputs] == [
        "a",
        "a_0_copy",
        "a_1_copy",
    ]
    same_results(passed, x=[0.0, 1.0])


def test_an_output_that_was_asked_for_twice_is_not_copied() -> None:
    a = mx.sym.exp(x, name="a")
    passed = share(Graph([a.graph.outputs[0]] * 2))
    assert names(passed.after) == ["x", "a"]


def test_only_the_named_nodes_are_merged() -> None:
    a, b, c = (mx.sym.exp(x, name=name) for name in "abc")
    graph = mx.sym.Group([a + b, c]).graph
    first = frozenset(node for node in graph if node.name in "ab")
    passed = share(graph, first)
    assert "c" in names(passed.after) and "b" not in names(passed.after)


def test_what_was_known_is_carried_along() -> None:
    node = Node(None, (), "v")
    made = [Node(lookup("exp").of(), [Entry(node)], name) for name in "ab"]
    graph = Graph(
        [Entry(Node(lookup("elemwise_add").of(), list(map(Entry, made)), "sum"))]
    )
    passed = share(graph)
    wide, thin = Spec.of((2, 3), FLOAT32), Spec.of((3,), FLOAT32)
    specs = {Entry(node): thin, Entry(made[0]): wide, Entry(made[1]): wide}
    carried = passed.carried(specs)
    assert {entry.name: s for entry, s in carried.items()} == {
        "v": thin,
        "a_output": wide,
    }
    assert passed.followed([made[1]]) == {made[0]}

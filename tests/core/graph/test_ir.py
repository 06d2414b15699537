"""The graph itself: order, circles, rewriting, words."""

from __future__ import annotations

import pytest

import minimx as mx
from minimx.core.dtypes import FLOAT32
from minimx.core.errors import OperatorError, ShapeError
from minimx.core.graph.values.infer import infer
from minimx.core.graph.values.ir import Entry, Graph, Node, rewritten
from minimx.core.ops.registry import lookup
from minimx.core.ops.spec import Spec
from minimx.tools import graph_text
from tests.core.graph.verify import verify


def chain(length: int) -> Graph:
    node = Node(None, (), "x")
    for k in range(length):
        node = Node(lookup("relu").of(), [Entry(node)], f"r{k}")
    return Graph([Entry(node)])


def test_nodes_come_after_their_inputs_each_once() -> None:
    a = mx.sym.var("a")
    b = a * a
    graph = (b + b * a).graph
    names = [node.name for node in graph]
    assert names[0] == "a" and len(names) == len(set(names)) == 4
    places = {node: place for place, node in enumerate(graph)}
    assert all(places[e.node] < places[node] for node in graph for e in node.inputs)


def test_depth_has_no_limit() -> None:
    assert len(chain(20_000)) == 20_001


def test_a_circle_is_refused() -> None:
    node = Node(None, (), "x")
    ring = Node(lookup("relu").of(), [Entry(node)], "r")
    ring.inputs = (Entry(ring),)
    with pytest.raises(OperatorError, match="runs in a circle through <relu r>"):
        len(Graph([Entry(ring)]))


def test_what_nothing_changes_in_is_kept() -> None:
    graph = chain(3)
    assert rewritten(graph, lambda node, inputs: None).outputs == graph.outputs


def test_a_node_may_be_replaced() -> None:
    def doubled(node: Node, inputs: tuple[Entry, ...]) -> list[Entry] | None:
        if node.name != "r1":
            return None
        return [Entry(Node(lookup("square").of(), inputs, "s"))]

    made = rewritten(chain(3), doubled)
    assert [node.name for node in made] == ["x", "r0", "s", "r2"]


def test_settings_at_their_defaults_are_not_spelt_out_unless_said() -> None:
    op = lookup("sum").of(axis=1)
    assert graph_text.settings(op) == {"axis": "1"}
    assert graph_text.settings(op, {"keepdims"}) == {"axis": "1", "keepdims": "False"}


def test_a_graph_reads_like_a_program() -> None:
    x = mx.sym.var("x")
    parts = mx.sym.split(mx.sym.relu(x, name="r"), num_outputs=2, name="p")
    graph = mx.sym.elemwise_add(parts[0], parts[1], name="s").graph
    found = infer(graph, {"x": (4, 6)}, {})
    assert graph_text.program(graph, found.spec).splitlines() == [
        "input x: float32[4, 6]",
        "r = relu(x): float32[4, 6]",
        "p = SliceChannel(r, num_outputs=2): float32[4, 3], float32[4, 3]",
        "s = elemwise_add(p[0], p[1]): float32[4, 3]",
        "return s",
    ]


def test_sound_graphs_pass_and_others_do_not() -> None:
    x = Node(None, (), "x")
    add = lookup("elemwise_add").of()
    verify(Graph([Entry(Node(add, [Entry(x), Entry(x)], "s"))]))
    wrong = {
        "has 1 inputs": Node(add, [Entry(x)], "s"),
        "takes output 3": Node(add, [Entry(x, 3), Entry(x)], "s"),
        "has inputs": Node(None, [Entry(x)], "v"),
        "two variables": Node(add, [Entry(x), Entry(Node(None, (), "x"))], "s"),
    }
    for why, node in wrong.items():
        with pytest.raises(OperatorError, match=why):
            verify(Graph([Entry(node)]))
    with pytest.raises(OperatorError, match="the outputs takes output 1"):
        verify(Graph([Entry(x, 1)]))
    specs = {"x": Spec.of((2,), FLOAT32), "y": Spec.of((3,), FLOAT32)}
    both = Node(add, [Entry(x), Entry(Node(None, (), "y"))], "s")
    with pytest.raises(ShapeError):
        verify(Graph([Entry(both)]), specs)

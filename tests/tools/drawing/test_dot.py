"""A graph written in DOT says everything that the graph says."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import numpy as np
import pytest

import minimx as mx
from minimx.core.errors import ArgumentError
from minimx.core.graph.passes.families import _FAMILY, FAMILIES, family
from minimx.core.graph.values.ir import Entry, Graph, Node
from minimx.core.graph.values.specs import every_spec
from minimx.core.ops.spec import Spec
from minimx.tools.drawing.dot import COLOURS, digraph


@pytest.fixture
def graph() -> Graph:
    data = mx.sym.var("data")
    hidden = mx.sym.FullyConnected(data, num_hidden=4, name="fc")
    normed = mx.sym.BatchNorm(hidden, name="bn")
    return mx.sym.Activation(normed, act_type="relu", name="act").graph


def variables(graph: Graph) -> dict[Node, Spec]:
    shapes = {"data": (2, 3), "fc_weight": (4, 3)}
    kind = np.dtype("float32")
    return {n: Spec.of(shapes.get(n.name, (4,)), kind) for n in graph.variables}


def test_every_node_and_every_edge_is_there(graph: Graph) -> None:
    source = digraph(graph).source
    assert source.count("fillcolor=") == len(graph)
    assert source.count("->") == sum(len(node.inputs) for node in graph)
    assert "FullyConnected\nfc\nnum_hidden=4" in source


def test_edges_tell_shapes_where_they_are_known(graph: Graph) -> None:
    source = digraph(graph, specs=every_spec(graph, variables(graph))).source
    assert 'label="2×3"' in source
    assert source.count('label="2×4"') == 2


def test_states_are_dashed_and_outputs_have_two_borders(graph: Graph) -> None:
    lines = digraph(graph).source.splitlines()
    dashed = [line for line in lines if "dashed" in line]
    assert [("moving_mean" in line) or ("moving_var" in line) for line in dashed] == [
        True,
        True,
    ]
    doubled = [line for line in lines if "peripheries=2" in line]
    assert len(doubled) == 1


def test_storage_ids_are_told_and_coloured(graph: Graph) -> None:
    act, fc = graph.outputs[0].node, graph.outputs[0].node.inputs[0].node.inputs[0].node
    plan = {Entry(act): 0, Entry(fc): 0, Entry(graph.nodes[0]): -2}
    source = digraph(graph, storage=plan).source
    assert source.count("storage 0") == 2
    assert source.count("penwidth=2.5") == 2


def test_hidden_nodes_take_their_edges_along(graph: Graph) -> None:
    weights = [node for node in graph.variables if node.name != "data"]
    source = digraph(graph, hidden=weights).source
    assert "fc_weight" not in source
    assert source.count("->") == 3


def test_names_are_never_read_as_dot(graph: Graph) -> None:
    odd = mx.sym.var('a "b" -> c; \\l <d>')
    source = digraph(mx.sym.sin(odd, name="e:f").graph).source
    assert source.count("->") == 2, "one edge, and one in the name"
    assert "\\\\l" in source
    assert "e:f" in source


def test_an_unknown_direction_is_refused(graph: Graph) -> None:
    with pytest.raises(ArgumentError, match="choose TB"):
        digraph(graph, direction="up")


def test_without_the_package_it_says_what_to_install(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "graphviz", None)
    monkeypatch.delitem(sys.modules, "minimx.tools.drawing.drawing", raising=False)
    with pytest.raises(ImportError, match="pip install graphviz"):
        digraph(graph)


@pytest.mark.skipif(shutil.which("dot") is None, reason="the program dot is missing")
def test_graphviz_understands_it(graph: Graph) -> None:
    odd = mx.sym.Group([mx.sym.var('a "b" -> c; \\l <d>')])
    for one in (graph, odd.graph):
        assert digraph(one).pipe("svg").lstrip().startswith(b"<?xml")


def test_each_family_has_a_colour_and_each_room_a_family() -> None:
    assert list(COLOURS) == list(FAMILIES)
    net = mx.sym.Dropout(mx.sym.exp(mx.sym.var("x")), p=0.5)
    found = {node.op.name if node.op else "": family(node) for node in net.graph}
    assert found == {"": "variable", "exp": "elementwise", "Dropout": "random"}
    minimx = Path(str(mx.__file__)).parent
    files = [*minimx.glob("**/operators/**/*.py"), *(minimx / "fast").rglob("*.py")]
    assert set(_FAMILY) - {path.stem for path in files} == set()

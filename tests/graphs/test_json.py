"""Graphs in files: written as MXNet writes them, and checked on reading."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import minimx as mx
from minimx.core.errors import DataError
from minimx.graphs.json import dump, load

GRAPHS = Path(__file__).parents[1] / "compat" / "graphs"
NODE = {"op": "null", "name": "x", "inputs": []}


def a_graph(**changes: Any) -> str:
    nodes = [NODE, {"op": "relu", "name": "r", "inputs": [[0, 0, 0]]}]
    graph = {"nodes": nodes, "arg_nodes": [0], "heads": [[1, 0, 0]]}
    return json.dumps({**graph, **changes})


@pytest.mark.parametrize("path", sorted(GRAPHS.glob("*.json")), ids=lambda p: p.stem)
def test_what_mxnet_wrote_is_read_and_written_again(path: Path) -> None:
    theirs = json.loads(path.read_text())
    ours = json.loads(dump(load(path.read_text())))
    assert ours["heads"] == theirs["heads"]
    assert ours["arg_nodes"] == theirs["arg_nodes"]
    for mine, other in zip(ours["nodes"], theirs["nodes"], strict=True):
        assert (mine["op"].lower(), mine["name"]) == (
            other["op"].lower(),
            other["name"],
        )
        assert [e[:2] for e in mine["inputs"]] == [e[:2] for e in other["inputs"]]
        assert mine.get("attrs", {}).keys() == other.get("attrs", {}).keys()


def test_there_are_three_networks_of_mxnet() -> None:
    assert len(list(GRAPHS.glob("*.json"))) >= 3


@pytest.mark.parametrize("word", ["attr", "param", "attrs"])
def test_old_spellings_of_attributes_are_read(word: str) -> None:
    node: dict[str, Any] = {"op": "clip", "name": "c", "inputs": [[0, 0]]}
    node[word] = {"a_min": "0", "a_max": "1", "__mood__": "calm"}
    graph = load(a_graph(nodes=[NODE, node]))
    node_made = graph.outputs[0].node
    assert node_made.attrs == {"__mood__": "calm"}
    assert node_made.op is not None and node_made.op.settings["a_max"] == 1.0


def test_states_that_old_files_leave_away_become_variables() -> None:
    names = ["x", "g", "b"]
    nodes: list[dict[str, Any]] = [{**NODE, "name": name} for name in names]
    inputs = [[0, 0], [1, 0], [2, 0]]
    nodes.append({"op": "BatchNorm", "name": "bn", "inputs": inputs})
    symbol = mx.sym.load_json(a_graph(nodes=nodes, heads=[[3, 0]]))
    assert symbol.list_auxiliary_states() == ["bn_moving_mean", "bn_moving_var"]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "not JSON"),
        ("[" * 100_000, "not JSON"),
        ("[]", "must be an object"),
        ("{}", "no list `nodes`"),
        (a_graph(nodes=3), "no list `nodes`"),
        (a_graph(nodes=[3]), "not an object"),
        (a_graph(nodes=[{"op": "null"}]), "`op` and a `name`"),
        (a_graph(nodes=[{**NODE, "attrs": 3}]), "must be an object"),
        (a_graph(heads=[]), "no outputs"),
        (a_graph(heads=[[5, 0, 0]]), "does not come before"),
        (a_graph(heads=[[-1, 0, 0]]), "does not come before"),
        (a_graph(heads=[[1, 7, 0]]), "has no output 7"),
        (a_graph(heads=[["x", 0, 0]]), "is not \\[node, output, version\\]"),
        (a_graph(heads=[[True, 0, 0]]), "is not \\[node, output, version\\]"),
        (
            a_graph(nodes=[{"op": "relu", "name": "r", "inputs": [[0, 0, 0]]}]),
            "does not come before",
        ),
        (
            a_graph(nodes=[NODE, {"op": "rellu", "name": "r", "inputs": [[0, 0, 0]]}]),
            "Did you mean relu",
        ),
        (
            a_graph(nodes=[NODE, {"op": "dot", "name": "d", "inputs": [[0, 0, 0]]}]),
            "takes 2 inputs",
        ),
        (
            a_graph(
                nodes=[
                    NODE,
                    {
                        "op": "sum",
                        "name": "s",
                        "inputs": [[0, 0]],
                        "attrs": {"axis": "__import__('os')"},
                    },
                ]
            ),
            "is not a value",
        ),
        (a_graph(nodes=[{**NODE, "inputs": [[0, 0]]}]), "does not come before"),
    ],
)
def test_a_damaged_file_says_what_is_wrong(text: str, why: str) -> None:
    with pytest.raises(DataError, match=why):
        load(text)


def test_numpy_shapes_are_noted() -> None:
    from minimx.core import np_semantics

    with np_semantics.Scope(np_shape=True):
        attrs = json.loads(mx.sym.var("x").tojson())["attrs"]
    assert attrs["is_np_shape"] == ["int", 1]
    assert "is_np_shape" not in json.loads(mx.sym.var("x").tojson())["attrs"]


def test_names_of_the_numpy_half_are_understood() -> None:
    nodes: list[dict[str, Any]] = [
        NODE,
        {"op": "_npi_multiply_scalar", "name": "m", "inputs": [[0, 0, 0]]},
        {"op": "_npx_fully_connected", "name": "f", "inputs": [[1, 0, 0]] * 3},
        {"op": "_npi_subtract", "name": "s", "inputs": [[2, 0, 0], [0, 0, 0]]},
        {"op": "_npi_concatenate", "name": "c", "inputs": [[3, 0, 0], [3, 0, 0]]},
        {"op": "_npi_mean", "name": "a", "inputs": [[4, 0, 0]]},
    ]
    nodes[1]["attrs"] = {"scalar": "2", "is_int": "True"}
    nodes[2]["attrs"] = {"num_hidden": "3"}
    nodes[4]["attrs"] = {"axis": "-1", "num_args": "2"}
    nodes[5]["attrs"] = {"axis": "None", "initial": "None", "dtype": "None"}
    attrs = {"is_np_shape": ["int", 1], "mxnet_version": ["int", 20000]}
    graph = load(a_graph(nodes=nodes, heads=[[5, 0, 0]], attrs=attrs))
    found = [node.op.name for node in graph if node.op is not None]
    assert found == [
        *("_npi_multiply_scalar", "FullyConnected", "_npi_subtract"),
        *("_npi_concatenate", "_npi_mean"),
    ]
    with mx.util.np_shape(True):
        again = json.loads(dump(graph))
    assert again["nodes"][-1]["op"] == "_npi_mean"
    assert again["nodes"][-2]["attrs"] == {"axis": "-1", "num_args": "2"}


def test_a_length_that_an_older_file_leaves_open_stays_open() -> None:
    weight = mx.sym.var("weight", shape=(128, 0))
    text = mx.sym.FullyConnected(mx.sym.var("data"), weight, num_hidden=128).tojson()
    for numpy in (False, True):
        with mx.util.np_shape(numpy):
            shapes, _, _ = mx.sym.load_json(text).infer_shape(data=(10, 784))
        assert shapes == [(10, 784), (128, 784), (128,)]
    with mx.util.np_shape(True):  # such a file has lengths of 0
        assert mx.sym.var("x", shape=(2, 0)).tojson().count("(2, 0)") == 1
        again = mx.sym.load_json(mx.sym.var("x", shape=(2, 0)).tojson())
        assert again.infer_shape()[0] == [(2, 0)]


def test_numpys_identity_is_no_copy() -> None:
    node = {"op": "_npi_identity", "name": "i", "inputs": []}
    with pytest.raises(DataError, match="_npi_identity"):
        load(a_graph(nodes=[NODE, node]))

"""Files that somebody damaged, or wrote to do harm: a DataError, and nothing else."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import minimx as mx
from minimx.core.errors import DataError, MXNetError
from minimx.graphs.json import load
from tests.core.graph.verify import verify

FOLDER = Path(__file__).parents[1] / "compat"
FILES = [
    *sorted((FOLDER / "graphs").glob("*.json")),
    *sorted((FOLDER / "answers" / "exchange").glob("*.json")),
]
TEXTS = [path.read_text() for path in FILES]

LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.integers(-2, 5),
    st.floats(),
    st.sampled_from(["", "None", "(", "((" * 200, "(1, 2", "1e999", "99" * 5000]),
    st.sampled_from(["relu", "Custom", "_foreach", "_cond", "null", "SliceChannel"]),
    st.text(max_size=8),
)
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(
            st.sampled_from(["op", "name", "attrs", "inputs", "subgraphs", "nodes"]),
            inner,
            max_size=4,
        ),
    ),
    max_leaves=8,
)


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The way to everything inside a value."""
    found = [path] if path else []
    items: Any = ()
    if isinstance(value, dict):
        items = value.items()
    elif isinstance(value, list):
        items = enumerate(value)
    for key, inner in items:
        found += places(inner, (*path, key))
    return found


def reads(text: str) -> bool:
    """Whether a text is a graph: a sound one, or else there is a DataError."""
    try:
        graph = load(text)
    except DataError as reason:
        assert str(reason)
        return False
    for node in graph.nodes:
        assert node.visible <= 10_000
    try:
        verify(graph)
    except MXNetError as reason:  # MXNet lets two variables have one name
        assert "two variables" in str(reason)
    return True


def test_there_are_files_to_damage() -> None:
    assert len(TEXTS) >= 6
    assert all(map(reads, TEXTS))


@settings(max_examples=300, deadline=None)
@given(data=st.data())
def test_changed_graphs(data: st.DataObject) -> None:
    found = json.loads(data.draw(st.sampled_from(TEXTS)))
    for _ in range(data.draw(st.integers(1, 3))):
        *way, last = data.draw(st.sampled_from(places(found)))
        holder = found
        for key in way:
            holder = holder[key]
        if data.draw(st.booleans()):
            holder[last] = data.draw(VALUES)
        else:
            del holder[last]
        if not isinstance(found, (dict, list)) or not places(found):
            break
    reads(json.dumps(found))


@settings(max_examples=100, deadline=None)
@given(data=st.data())
def test_changed_texts(data: st.DataObject) -> None:
    text = data.draw(st.sampled_from(TEXTS))
    place = data.draw(st.integers(0, len(text) - 1))
    put = data.draw(st.one_of(st.just(""), st.text(max_size=3)))
    gone = data.draw(st.sampled_from([0, 1, 7, len(text)]))
    reads(text[:place] + put + text[place + gone :])


@settings(max_examples=200, deadline=None)
@given(value=VALUES)
def test_anything_else(value: Any) -> None:
    assert not reads(json.dumps(value))
    assert not reads(json.dumps({"nodes": value, "heads": [[0, 0, 0]]}))


def node(op: str, name: str, inputs: list[Any], **attrs: str) -> dict[str, Any]:
    return {"op": op, "name": name, "attrs": attrs, "inputs": inputs}


def graph(*nodes: Any, heads: Any = None) -> dict[str, Any]:
    last = [[len(nodes) - 1, 0, 0]]
    return {"nodes": list(nodes), "arg_nodes": [], "heads": heads or last}


X = node("null", "x", [])


def bomb(depth: int) -> dict[str, Any]:
    """Graphs inside graphs."""
    inner = graph(X)
    for _ in range(depth):
        loop = node("_foreach", "f", [[0, 0, 0]], num_outputs="1")
        inner = graph(X, {**loop, "subgraphs": [inner]})
    return inner


CASES = {
    "a circle": (graph(X, node("relu", "r", [[1, 0, 0]])), "without circles"),
    "later nodes": (graph(node("relu", "r", [[1, 0, 0]]), X), "does not come before"),
    "an unknown operator": (graph(X, node("rleu", "r", [[0, 0, 0]])), "relu"),
    "an unknown setting": (
        graph(X, node("clip", "c", [[0, 0, 0]], a_min="0", a_mx="1")),
        "Did you mean a_max",
    ),
    "many outputs": (
        graph(X, node("SliceChannel", "s", [[0, 0, 0]], num_outputs="1000000000")),
        "not plausible",
    ),
    "a wrong type": (
        graph(X, node("clip", "c", [[0, 0, 0]], a_min="low", a_max="1")),
        "low",
    ),
    "a deep setting": (
        graph(X, node("transpose", "t", [[0, 0, 0]], axes="(" * 5000)),
        "axes",
    ),
    "too many inputs": (graph(X, node("relu", "r", [[0, 0, 0]] * 2)), "1 inputs"),
    "an output too far": (graph(X, heads=[[0, 1, 0]]), "no output 1"),
    "inputs that are no list": (graph(X, node("relu", "r", 5)), "must be a list"),  # type: ignore[arg-type]
    "graphs inside graphs": (bomb(60), "."),
}


@pytest.mark.parametrize("case", CASES)
def test_what_is_wrong_is_said(case: str) -> None:
    found, why = CASES[case]
    with pytest.raises(DataError, match=why):
        load(json.dumps(found))


def test_deep_json_is_refused() -> None:
    with pytest.raises(DataError, match="not JSON"):
        load("[" * 100_000)


def test_remarks_without_bars_stay_when_a_symbol_is_copied() -> None:
    symbol = mx.sym.relu(mx.sym.var("x"), attr={"mood": "calm"})
    assert copy.deepcopy(symbol).attr("mood") == "calm"
    import pickle

    assert pickle.loads(pickle.dumps(symbol)).attr("mood") == "calm"


# -- parameter files -------------------------------------------------------------------

VALUES_FILES = sorted((FOLDER / "answers" / "exchange").glob("*.params"))


@settings(max_examples=200, deadline=None)
@given(data=st.data())
def test_changed_parameter_files(data: st.DataObject, tmp_path_factory: Any) -> None:
    content = bytearray(data.draw(st.sampled_from(VALUES_FILES)).read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(content) - 1))
        if data.draw(st.booleans()):
            content[place] = data.draw(st.integers(0, 255))
        elif data.draw(st.booleans()):
            content[place : place + 8] = data.draw(
                st.sampled_from([b"\xff" * 8, b"\0" * 8, b"\xff" * 7 + b"\x7f"])
            )
        elif place:
            del content[place:]
    path = tmp_path_factory.getbasetemp() / "changed.params"
    path.write_bytes(bytes(content))
    try:
        found: Any = mx.nd.load(str(path))
    except DataError:
        return
    assert all(isinstance(array.asnumpy().size, int) for array in found.values())

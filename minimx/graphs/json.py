"""Graphs as text, in the form that MXNet writes and reads.

A file is checked before anything is made of it: a damaged or hostile one gives a
DataError that says what is wrong, never a half-read graph. Nothing is computed and no
memory is taken for what it speaks of, however large.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

import minimx.graphs.control  # noqa: F401 (registers loops and branches)
from minimx.core import np_semantics
from minimx.core.arrays.calls import INTERNAL
from minimx.core.errors import DataError, MXNetError, did_you_mean
from minimx.core.graph.values.ir import Entry, Graph, Node
from minimx.core.ops.registry import Op, lookup
from minimx.graphs import spelling
from minimx.tools import graph_text

#: The version of MXNet whose form is written: 1.9.1.
VERSION = 10901
# More than any network has: nodes, outputs of one node, graphs inside graphs.
_MOST_NODES, _MOST_OUTPUTS, _DEEPEST = 1_000_000, 10_000, 50
# Settings that MXNet's operators have and ours need not.
_OF_MXNET = (
    *("ctx", "dim", "infer_range", "is_int", "max_calib_range", "min_calib_range"),
    *("num_args", "repeat", "sparse_grad", "step"),
    *("workspace", "cudnn_tune", "cudnn_off"),
)


def dump(graph: Graph) -> str:
    """A graph as text."""
    rest = _described(graph)
    attrs: dict[str, Any] = {"mxnet_version": ["int", VERSION]}
    if np_semantics.is_np_shape():
        attrs["is_np_shape"] = ["int", 1]
    rest["attrs"] = attrs
    lines = ",\n".join("    " + json.dumps(node) for node in rest.pop("nodes"))
    tail = ",\n".join(f"  {json.dumps(k)}: {json.dumps(v)}" for k, v in rest.items())
    return f'{{\n  "nodes": [\n{lines}\n  ],\n{tail}\n}}'


def _described(graph: Graph) -> dict[str, Any]:
    """A graph as lists and dictionaries."""
    nodes = graph.nodes
    places = {node: place for place, node in enumerate(nodes)}
    rows = [0]
    for node in nodes:
        rows.append(rows[-1] + node.visible)
    return {
        "nodes": [_written(node, places) for node in nodes],
        "arg_nodes": [places[node] for node in graph.variables],
        "node_row_ptr": rows,
        "heads": [[places[e.node], e.slot, 0] for e in graph.outputs],
    }


def _written(node: Node, places: dict[Node, int]) -> dict[str, Any]:
    found: dict[str, Any] = {
        "op": "null" if node.op is None else spelling.written(node.op),
        "name": node.name,
    }
    attrs = dict(node.attrs)
    if node.op is not None:
        attrs |= graph_text.settings(node.op, node.explicit)
        if node.op.variadic:
            count = len(node.inputs) // getattr(node.op, "inputs_each", 1)
            attrs["num_args"] = str(count)
        if node.op.name == "_npi_concatenate":  # see `_operator`
            attrs["axis"] = str(node.op.settings["dim"])
            attrs.pop("dim", None)
    if attrs:
        found["attrs"] = dict(sorted(attrs.items()))
    states = node.states()  # which the node makes anew: the next version
    found["inputs"] = [[places[e.node], e.slot, int(e in states)] for e in node.inputs]
    if bodies := getattr(node.op, "bodies", ()):
        found["subgraphs"] = [_described(body) for body in bodies]
    return found


# -- reading ---------------------------------------------------------------------------


def load(text: str, trusted: bool = False) -> Graph:
    """The graph in a text. Raises DataError.

    trusted: of our own making, so that every word that is no setting is a remark.
    """
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as reason:
        raise DataError(f"this is no graph: it is not JSON ({reason}).") from None
    if not isinstance(found, dict):
        raise DataError("this is no graph: the outermost thing must be an object.")
    np_shape = bool(_graph_attrs(found).get("is_np_shape", 0))
    return _graph(found, _Reading(np_shape, trusted))


@dataclass(frozen=True)
class _Reading:
    """How a graph is read: with NumPy's shapes, and how deep inside others."""

    np_shape: bool
    trusted: bool = False
    depth: int = 0

    def deeper(self) -> _Reading:
        """For the graphs inside a node."""
        if self.depth == _DEEPEST:
            raise DataError(f"graphs inside graphs, {_DEEPEST} deep, are no network.")
        return _Reading(self.np_shape, self.trusted, self.depth + 1)


def _graph(found: dict[str, Any], how: _Reading) -> Graph:
    entries = _list(found, "nodes")
    if len(entries) > _MOST_NODES:
        raise DataError(f"a graph of {len(entries)} nodes is not plausible.")
    nodes: list[Node] = []
    for place, entry in enumerate(entries):
        nodes.append(_node(place, entry, nodes, how))
    outputs = [_entry("heads", head, nodes) for head in _list(found, "heads")]
    if not outputs:
        raise DataError("this graph has no outputs (`heads`).")
    return Graph(outputs)


def _graph_attrs(found: dict[str, Any]) -> dict[str, Any]:
    attrs = found.get("attrs", {})
    if not isinstance(attrs, dict):
        raise DataError("`attrs` of a graph must be an object.")
    return {k: v[-1] for k, v in attrs.items() if isinstance(v, list) and v}


def _list(found: dict[str, Any], name: str) -> list[Any]:
    value = found.get(name)
    if not isinstance(value, list):
        raise DataError(f"this is no graph: it has no list `{name}`.")
    return value


def _entry(where: str, value: Any, nodes: list[Node]) -> Entry:
    """[node, output, version]; nodes come before their users."""
    if (
        not isinstance(value, list)
        or len(value) not in (2, 3)
        or not all(type(n) is int for n in value)
    ):
        raise DataError(f"{where}: {value!r} is not [node, output, version].")
    place, index = value[:2]
    if not 0 <= place < len(nodes):
        raise DataError(
            f"{where}: node {place} does not come before its user. Nodes must be in "
            "order, without circles."
        )
    node = nodes[place]
    if not 0 <= index < node.visible:
        raise DataError(f"{where}: {node.name} has no output {index}.")
    return Entry(node, index)


def _node(place: int, value: Any, nodes: list[Node], how: _Reading) -> Node:
    where = f"node {place}"
    if not isinstance(value, dict):
        raise DataError(f"{where} is not an object.")
    kind, name = value.get("op"), value.get("name")
    if not isinstance(kind, str) or not isinstance(name, str):
        raise DataError(f"{where} must have an `op` and a `name`.")
    attrs: dict[str, str] = {}
    for word in ("param", "attr", "attrs"):  # the oldest spelling first
        given = value.get(word) or {}
        if not isinstance(given, dict):
            raise DataError(f"{where} ({name}): `{word}` must be an object.")
        attrs |= {str(k): str(v) for k, v in given.items()}
    given = value.get("inputs", [])
    if not isinstance(given, list):
        raise DataError(f"{where} ({name}): `inputs` must be a list.")
    inputs = [_entry(f"{where} ({name})", e, nodes) for e in given]
    if kind == "null":
        if inputs:
            raise DataError(f"{where} ({name}): a variable has no inputs.")
        if np_semantics.is_np_shape() and not how.np_shape and "__shape__" in attrs:
            # In that file 0 is an unknown length, which is -1 from here on.
            attrs["__shape__"] = re.sub(r"\b0\b", "-1", attrs["__shape__"])
        return Node(None, (), name, attrs)
    bodies = value.get("subgraphs") or []
    if not isinstance(bodies, list):
        raise DataError(f"{where} ({name}): `subgraphs` must be a list.")
    inner = [_body(where, body, how.deeper()) for body in bodies]
    op, remarks = _operator(f"{where} ({name})", kind, attrs, how, inner)
    visible: Any = op.visible  # as a setting of the file says
    if not isinstance(visible, int) or not 0 < visible <= _MOST_OUTPUTS:
        raise DataError(f"{where} ({name}): {visible} outputs are not plausible.")
    if not op.variadic:
        inputs = _with_missing(op, name, inputs, where)
    return Node(op, inputs, name, remarks, attrs.keys() - remarks.keys())


def _body(where: str, value: Any, how: _Reading) -> Graph:
    """A graph inside a node."""
    if not isinstance(value, dict):
        raise DataError(f"{where}: each of its `subgraphs` must be an object.")
    return _graph(value, how)


def _operator(
    where: str, kind: str, attrs: dict[str, str], how: _Reading, inner: list[Graph]
) -> tuple[Op, dict[str, str]]:
    """The operator with its settings, and what remains: remarks."""
    try:
        sheet: Any = lookup(spelling.known(kind))
        own = getattr(sheet, "from_text", None)
        if own is not None:
            op, remarks = own(attrs, *inner, np_shape=how.np_shape)
            return op, remarks
    except _UNREADABLE as reason:
        raise DataError(f"{where}: {reason}") from None
    fields = sheet.__dataclass_fields__
    settings: dict[str, Any] = {}
    remarks = {}
    for name, text in attrs.items():
        # Joining: MXNet's NumPy half says axis.
        word = "dim" if name == "axis" not in fields and "dim" in fields else name
        if word in fields and word not in INTERNAL:
            settings[word] = None if text == "None" else text
        elif how.trusted or _is_remark(word):
            remarks[word] = text
        elif word not in _OF_MXNET and text != "None":
            hint = did_you_mean(word, [f for f in fields if f not in INTERNAL])
            raise DataError(
                f"{where}: {kind} has no setting {word!r}.{hint} Remarks have two bars "
                f"at both ends: __{word}__."
            )
    if "np_shape" in fields:
        settings["np_shape"] = how.np_shape
    try:
        return sheet.of(**settings), remarks
    except _UNREADABLE as reason:
        raise DataError(f"{where}: {reason}") from None


# What settings from a hostile file may come to; `literal_eval` may exhaust a stack.
_UNREADABLE = (
    *(MXNetError, ValueError, SyntaxError, TypeError, LookupError, AttributeError),
    *(ArithmeticError, RecursionError, MemoryError, AssertionError),
)


def _is_remark(word: str) -> bool:
    """Whether an attribute changes nothing of what is computed; old files have no bars.

    The remarks that MXNet reads stood without bars before MXNet 1.0, also those that
    are meant for an input of the node: `weight_lr_mult`.
    """
    if word.startswith("__") and word.endswith("__"):
        return True
    return any(
        word == known or word.endswith(f"_{known}") for known in graph_text.READ_BY_US
    )


def _with_missing(op: Op, name: str, inputs: list[Entry], where: str) -> list[Entry]:
    """The inputs, with variables for states that old files leave away."""
    missing = op.inputs[len(inputs) :]
    if len(inputs) > len(op.inputs) or set(missing) - set(op.state_inputs):
        raise DataError(
            f"{where} ({name}): {op.name} takes {len(op.inputs)} inputs "
            f"({', '.join(op.inputs)}), not {len(inputs)}."
        )
    return inputs + [Entry(Node(None, (), f"{name}_{word}")) for word in missing]

"""Graphs for other programs: minimx's own operators in the words of MXNet.

    portable(graph, where)      # the same graph, in operators that MXNet 1.9.1 has

Few operators are minimx's alone, and none of layers. Where MXNet has no word for one,
there is an error; a file that only minimx could read would be found out too late.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from minimx.core.errors import OperatorError
from minimx.core.graph.values.ir import Entry, Graph, Node, outputs_of, rewritten
from minimx.core.ops.registry import Op, lookup

#: What MXNet does not have: parts of other operators, and ways of indexing.
OURS = frozenset(
    ("_advanced_index", "_basic_index", "_constant", "_deformed_places")
    + ("_fetch_pixels", "_hide_beyond", "_inverse_or_zeros", "_place_diagonals")
    + ("_put_along_axis", "_put_pixels", "_reshape_to", "_sample_pixels", "_sum_to")
    + ("_take_along_axis",)
)
_ALL = (None, None, None)


def portable(graph: Graph, where: Mapping[str, str] | None = None) -> Graph:
    """The graph with operators that MXNet has.

    where: for nodes by name, the line of the program that made them. Raises
    OperatorError where MXNet has no operator for what a node computes.
    """

    def change(node: Node, inputs: tuple[Entry, ...]) -> Sequence[Entry] | None:
        if node.op is None or node.op.name not in OURS:
            return None
        op = _of_mxnet(node.op)
        if op is None:
            raise _untold(node, (where or {}).get(node.name, ""))
        return outputs_of(node.with_op(op, inputs))

    return rewritten(graph, change)


def _of_mxnet(op: Op) -> Op | None:
    """The operator of MXNet that computes the same from the same inputs."""
    if op.name == "_reshape_to":
        shape = op.settings["shape"]
        if shape and all(shape):
            return lookup("Reshape").of(shape=shape)
        return lookup("_np_reshape").of(newshape=shape)
    if op.name == "_advanced_index":
        axis = _only_axis(op.settings["key"])
        if axis is not None:  # negative places count from the end in both
            return lookup("take").of(axis=axis, mode="wrap")
    return None


def _only_axis(key: tuple[object, ...]) -> int | None:
    """The axis that is indexed by an array, if all others are taken whole."""
    if key.count("array") != 1 or set(key) - {"array", "...", _ALL}:
        return None
    axis = key.index("array")
    return axis - len(key) if "..." in key[:axis] else axis


def _untold(node: Node, line: str) -> OperatorError:
    assert node.op is not None
    made = f", made at {line}," if line else ""
    return OperatorError(
        f"export: MXNet has no operator for what the node {node.name!r}{made} computes "
        f"({node.op.name}). Index by one array at a time, or use take, pick, gather_nd "
        "or slice; or save the parameters alone, with save_parameters."
    )

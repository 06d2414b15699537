"""What monitors see of a graph that runs, node by node."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from minimx.core import autograd
from minimx.core.arrays.array import NDArray
from minimx.core.arrays.launch import invoke
from minimx.core.graph.running.run import decided
from minimx.core.graph.values.ir import Entry, Graph, Node
from minimx.operators.mxnet_names import input_name

# Operators that can put out what they normalize by.
_STATISTICS = ("BatchNorm", "GroupNorm", "LayerNorm", "_contrib_SyncBatchNorm")


def as_shown(node: Node) -> Node:
    """The node with the outputs that monitors see: of normalizations all three."""
    op: Any = node.op
    if op.name not in _STATISTICS or op.output_mean_var:
        return node
    whole = type(op).of(**{**op.settings, "output_mean_var": True})
    return node.with_op(whole, node.inputs)


def watched(
    graph: Graph,
    arrays: Sequence[NDArray],
    callback: Callable[[str, str, NDArray], None],
    everything: bool,
) -> list[NDArray]:
    """The outputs of a graph; `callback(name, operator, array)` sees what is made.

    arrays: for the arguments, then the states. everything: the callback also sees what
    goes into each operator. While gradients are recorded it also sees what
    normalizations keep for them, as MXNet's callbacks do.
    """
    variables = (*graph.arguments, *graph.states)
    values = {Entry(n): x for n, x in zip(variables, arrays, strict=True)}
    training = autograd.is_training()
    for node in graph:
        if node.op is None:
            continue
        inputs = [values[entry] for entry in node.inputs]
        if everything:
            for place, value in enumerate(inputs):
                name = f"{node.name}_{input_name(node.op, place)}"
                callback(name, node.op.name, value._alias())
        shown = as_shown(node) if autograd.is_recording() else node
        assert shown.op is not None
        outs = invoke(decided(shown.op, training), inputs, None, arrays[0].context)
        outs = outs if isinstance(outs, list) else [outs]
        for index, out in enumerate(outs):
            values[Entry(node, index)] = out
            callback(Entry(shown, index).name, node.op.name, out._alias())
    return [values[entry] for entry in graph.outputs]

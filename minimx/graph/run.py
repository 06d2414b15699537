"""Running a graph on values, one node after the other."""

from __future__ import annotations

import weakref
from collections.abc import Mapping
from typing import Any

from minimx import autograd
from minimx.device import Device
from minimx.events import attribute, attributed, attribution
from minimx.graph.ir import Entry, Graph, Node
from minimx.nd.array import NDArray
from minimx.nd.launch import invoke
from minimx.ops.registry import Op


def evaluate(graph: Graph, given: Mapping[Node, NDArray], ctx: Device) -> list[NDArray]:
    """The outputs of a graph, from an array for each of its variables.

    What is recorded is what the operators record; ctx is where those without inputs
    put their results. Each node works on behalf of its layer, if it has one.
    """
    values: dict[Entry, NDArray] = {Entry(node): x for node, x in given.items()}
    training = autograd.is_training()
    with attributed():  # which gives back what was before
        return _evaluate(graph, values, ctx, training)


def _evaluate(
    graph: Graph, values: dict[Entry, NDArray], ctx: Device, training: bool
) -> list[NDArray]:
    outside = attribution.layer
    for node in graph:
        if node.op is None:
            continue
        if (layer := node.layer or outside) != attribution.layer:
            attribute(layer, attribution.phase, attribution.category)
        inputs = [values[entry] for entry in node.inputs]
        outs = invoke(decided(node.op, training), inputs, None, ctx, NDArray)
        outs = outs if isinstance(outs, list) else [outs]
        values |= {Entry(node, index): out for index, out in enumerate(outs)}
    return [values[entry] for entry in graph.outputs]


def decided(op: Op, training: bool) -> Op:
    """The operator with the settings that are decided when it runs."""
    if getattr(op, "training", training) == training:
        return op
    known: weakref.WeakKeyDictionary[Op, Op] = _twins[training]
    twin = known.get(op)
    if twin is None:
        settings = {**op.settings, "training": training}
        twin = known[op] = type(op).of(**settings)
    return twin


_twins: dict[bool, Any] = {
    True: weakref.WeakKeyDictionary(),
    False: weakref.WeakKeyDictionary(),
}

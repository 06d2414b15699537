"""Running a graph on values, one node after the other."""

from __future__ import annotations

import weakref
from collections.abc import Mapping, Sequence
from typing import Any

from minimx.core import autograd
from minimx.core.arrays.array import NDArray
from minimx.core.arrays.launch import invoke, invoke_whole
from minimx.core.device import Device
from minimx.core.events import attribute, attributed, attribution
from minimx.core.graph.values.ir import Entry, Graph, Node, outputs_of, rewritten
from minimx.core.ops.registry import Op


def evaluate(graph: Graph, given: Mapping[Node, NDArray], ctx: Device) -> list[NDArray]:
    """The outputs of a graph, from an array for each of its variables.

    What is recorded is what the operators record; ctx is where those without inputs
    put their results. Each node works on behalf of its layer, if it has one. Nodes
    whose hidden outputs are read are not recorded.
    """
    values: dict[Entry, NDArray] = {Entry(node): x for node, x in given.items()}
    training = autograd.is_training()
    with attributed():  # which gives back what was before
        return _evaluate(graph, values, ctx, training)


def _evaluate(
    graph: Graph, values: dict[Entry, NDArray], ctx: Device, training: bool
) -> list[NDArray]:
    outside = attribution.layer
    read = {entry for node in graph for entry in node.inputs}
    bared = {entry.node for entry in read if entry.slot >= entry.node.visible}
    for node in graph:
        if node.op is None:
            continue
        if (layer := node.layer or outside) != attribution.layer:
            attribute(layer, attribution.phase, attribution.category)
        inputs = [values[entry] for entry in node.inputs]
        op = decided(node.op, training)
        if node in bared:
            outs = invoke_whole(op, inputs, ctx, NDArray)
        else:
            outs = invoke(op, inputs, None, ctx, NDArray)
            outs = outs if isinstance(outs, list) else [outs]
        values |= {Entry(node, index): out for index, out in enumerate(outs)}
    return [values[entry] for entry in graph.outputs]


def as_run(graph: Graph, training: bool) -> Graph:
    """The graph with the settings of its operators that depend on the mode of a run.

    That is `training`, of operators such as Dropout, which a graph leaves open.
    """

    def change(node: Node, inputs: tuple[Entry, ...]) -> Sequence[Entry] | None:
        op = node.op if node.op is None else decided(node.op, training)
        if op is node.op:
            return None
        return outputs_of(node.with_op(op, inputs))

    return rewritten(graph, change)


def decided(op: Op, training: bool) -> Op:
    """The operator with its setting `training`; itself if it has none, or that one.

    The same operator gives the same object, which is what caches of plans go by.
    """
    if getattr(op, "training", training) == training:
        return op
    known: weakref.WeakKeyDictionary[Op, Op] = _as_decided[training]
    found = known.get(op)
    if found is None:
        settings = {**op.settings, "training": training}
        found = known[op] = type(op).of(**settings)
    return found


_as_decided: dict[bool, Any] = {
    True: weakref.WeakKeyDictionary(),
    False: weakref.WeakKeyDictionary(),
}

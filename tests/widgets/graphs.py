"""Graphs and accounts of passes made by hand, for the views of graphs."""

from __future__ import annotations

import minimx as mx
from minimx.core.graph.passes.cse import share
from minimx.core.graph.passes.gradient import differentiate
from minimx.core.graph.passes.report import Change, Passed
from minimx.core.graph.passes.simplify import eliminate
from minimx.core.graph.values.ir import Entry, Graph, Node, rewritten
from minimx.core.graph.values.specs import every_spec
from minimx.symbol import Symbol
from minimx_widgets.training.subject import Subject


def twice() -> Graph:
    """The same sine written down twice, and their sum."""
    data = mx.sym.var("data")
    one, other = (mx.sym.sin(data, name=name) for name in ("first", "second"))
    both = mx.sym.elemwise_add(one, other, name="total")
    return mx.sym.relu(both, name="out").graph


def merged() -> Passed:
    """`twice` after a pass that merges what is equal."""
    graph = twice()
    by_name = {node.name: node for node in graph}

    def change(node: Node, inputs: tuple[Entry, ...]) -> list[Entry] | None:
        return [Entry(by_name["first"])] if node.name == "second" else None

    reason = "both compute sin of data, and nothing in them is random."
    told = Change("merged", ("first", "second"), reason)
    return Passed("cse", graph, rewritten(graph, change), (told,))


def fused() -> Passed:
    """A pass that puts a new node in the place of two."""
    before = merged().after
    first = next(node for node in before if node.name == "first")
    total = before.outputs[0].node.inputs[0].node
    made = mx.sym.exp(mx.sym.var("data"), name="fused_0").graph.outputs[0].node

    def change(node: Node, inputs: tuple[Entry, ...]) -> list[Entry] | None:
        if node is total:
            return [Entry(made.with_inputs(first.inputs))]
        return None

    told = Change("fused", ("fused_0", "first", total.name), "they are pointwise.")
    return Passed("fusion", before, rewritten(before, change), (told,))


def accounts(net: Symbol, **shapes: tuple[int, ...]) -> list[Passed]:
    """What some real passes make of a network that is trained."""
    subject = Subject.of(net, shapes, "accounts")
    shared = share(subject.graph)
    specs = every_spec(shared.after, subject.variables)
    wanted = [n for n in shared.after.arguments if n.name not in shapes]
    gradient = differentiate(shared.after, wanted, specs).passed
    return [shared, gradient, eliminate(gradient.after)]


def deep(layers: int) -> Symbol:
    """A network of many layers; every third one is added to what came in."""
    x = mx.sym.var("data")
    for k in range(layers):
        y = mx.sym.FullyConnected(x, num_hidden=8, name=f"net_fc{k}")
        y = mx.sym.Activation(y, act_type="tanh", name=f"net_act{k}")
        x = mx.sym.elemwise_add(x, y, name=f"net_add{k}") if k % 3 == 2 else y
    return x

"""Symbols whose plans are known from MXNet 1.9.1, and how they are planned here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import minimx as mx
from minimx.core.graph.memory.memory import MemoryPlan, plan_memory
from minimx.core.graph.running.settings import Settings
from minimx.core.graph.values.infer import infer
from minimx.core.graph.values.ir import Entry, Graph, Node
from minimx.core.graph.values.specs import Specs, every_spec
from minimx.core.ops.spec import Spec


def layers(act: str = "tanh") -> Any:
    """20 layers of width 512; data (4096, 512)."""
    y = mx.sym.var("data")
    for _ in range(20):
        y = mx.sym.FullyConnected(y, num_hidden=512)
        y = mx.sym.Activation(y, act_type=act)
    return y


def convolutions() -> Any:
    """12 times Convolution, BatchNorm, relu; data (16, 16, 64, 64)."""
    y = mx.sym.var("data")
    for _ in range(12):
        y = mx.sym.Convolution(y, num_filter=16, kernel=(3, 3), pad=(1, 1))
        y = mx.sym.Activation(mx.sym.BatchNorm(y), act_type="relu")
    return y


def branches() -> Any:
    """6 branches: 5 layers of width 256 k with sin, one to 128; data (4096, 512)."""
    x, ends = mx.sym.var("data"), []
    for k in range(1, 7):
        y = x
        for _ in range(5):
            y = mx.sym.sin(mx.sym.FullyConnected(y, num_hidden=256 * k))
        ends.append(mx.sym.FullyConnected(y, num_hidden=128))
    return mx.sym.add_n(*ends)


#: The shape of `data` in each.
SHAPES = {layers: (4096, 512), convolutions: (16, 16, 64, 64), branches: (4096, 512)}


def variables_of(graph: Graph, **shapes: Sequence[int]) -> dict[Node, Spec]:
    """The specs of all variables, from the shapes of some."""
    found = infer(graph, {name: tuple(shape) for name, shape in shapes.items()}, {})
    specs = {node: found.spec(Entry(node)) for node in graph.variables}
    return {node: spec for node, spec in specs.items() if spec is not None}


def specs_of(graph: Graph, **shapes: Sequence[int]) -> Specs:
    return every_spec(graph, variables_of(graph, **shapes))


def planned(symbol: Any, settings: Settings | None = None, **shapes: Any) -> MemoryPlan:
    """The plan of a symbol that is only run forward; its outputs lie outside."""
    graph = symbol.graph
    specs = specs_of(graph, **shapes)
    return plan_memory(graph, specs, graph.outputs, settings or Settings())


def residual(units: Sequence[int] = (3, 8, 36, 3)) -> Any:
    """A residual network with bottlenecks; by default one of 152 layers."""

    def conv(x: Any, filters: int, side: int, stride: int = 1) -> Any:
        x = mx.sym.Convolution(
            x, num_filter=filters, kernel=(side, side), stride=(stride, stride),
            pad=(side // 2, side // 2), no_bias=True,
        )  # fmt: skip
        return mx.sym.BatchNorm(x)

    x = mx.sym.relu(conv(mx.sym.var("data"), 64, 7, 2))
    x = mx.sym.Pooling(x, kernel=(3, 3), stride=(2, 2), pad=(1, 1), pool_type="max")
    for stage, count in enumerate(units):
        filters = 256 << stage
        for unit in range(count):
            stride = 2 if stage and not unit else 1
            y = mx.sym.relu(conv(x, filters // 4, 1, stride))
            y = conv(mx.sym.relu(conv(y, filters // 4, 3)), filters, 1)
            x = mx.sym.relu((x if unit else conv(x, filters, 1, stride)) + y)
    x = mx.sym.Pooling(x, global_pool=True, kernel=(7, 7), pool_type="avg")
    x = mx.sym.FullyConnected(x, num_hidden=1000)
    return mx.sym.SoftmaxOutput(x, mx.sym.var("label"))

"""Random graphs of operators on 4 × 4 arrays, and residual networks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from hypothesis import strategies as st

import minimx as mx
from minimx.core.graph.values.ir import Entry, Graph, Node
from minimx.core.ops.registry import lookup

SIDE = 4

#: What a node computes from one or two arrays, all 4 × 4: operators and settings.
STEPS: tuple[tuple[str, int, dict[str, Any]], ...] = (
    ("elemwise_add", 2, {}),
    ("elemwise_mul", 2, {}),
    ("broadcast_maximum", 2, {}),
    ("dot", 2, {}),
    ("sin", 1, {}),
    ("tanh", 1, {}),
    ("relu", 1, {}),
    ("sigmoid", 1, {}),
    ("softmax", 1, {}),
    ("transpose", 1, {}),
    ("BlockGrad", 1, {}),
    ("sign", 1, {}),
    ("Dropout", 1, {"p": 0.5}),
    ("FullyConnected", 2, {"num_hidden": SIDE, "no_bias": True}),
    ("Reshape", 1, {"shape": (SIDE, SIDE)}),
    ("LayerNorm", 1, {}),
    ("BatchNorm", 1, {"fix_gamma": False}),
)


def graph_of(program: Sequence[tuple[int, int, int]], outputs: int = 1) -> Graph:
    """The graph of a list of (which step, which values it takes)."""
    values = [Entry(Node(None, (), f"w{k}")) for k in range(3)]
    for number, (step, a, b) in enumerate(program):
        name, count, settings = STEPS[step % len(STEPS)]
        inputs = [values[a % len(values)], values[b % len(values)]][:count]
        op = lookup(name).of(**settings)
        for word in op.inputs[len(inputs) :]:
            inputs.append(Entry(Node(None, (), f"n{number}_{word}")))
        values.append(Entry(Node(op, inputs, f"n{number}_{name}")))
    return Graph(values[-outputs:])


def programs(longest: int = 25) -> Any:
    """Lists of steps."""
    numbers = st.integers(0, 60)
    step = st.tuples(st.integers(0, len(STEPS) - 1), numbers, numbers)
    return st.lists(step, min_size=1, max_size=longest)


def arrays_of(graph: Graph, seed: int = 0) -> dict[Node, Any]:
    """Numbers for the variables of a random graph."""
    rng = np.random.default_rng(seed)
    found: dict[Node, Any] = {}
    for node in graph.variables:
        alone = not node.name.startswith("w")
        shape = (SIDE,) if alone else (SIDE, SIDE)
        found[node] = rng.uniform(0.2, 1, shape).astype("float32")
    return found


def weights(graph: Graph) -> list[Node]:
    """The variables that are no states."""
    return list(graph.arguments)


def residual(units: Sequence[int] = (3, 4, 6, 3), width: int = 64) -> Any:
    """A residual network with bottlenecks, normalized before each convolution.

    (3, 4, 6, 3) units make 50 layers (He and others, arXiv 1603.05027).
    """
    sym = mx.sym

    def conv(x: Any, filters: int, size: int, stride: int, name: str) -> Any:
        return sym.Convolution(
            x, kernel=(size, size), stride=(stride, stride), num_filter=filters,
            pad=(size // 2, size // 2), no_bias=True, name=name,
        )  # fmt: skip

    def active(x: Any, name: str) -> Any:
        x = sym.BatchNorm(x, fix_gamma=False, name=f"{name}_bn")
        return sym.Activation(x, act_type="relu", name=f"{name}_relu")

    x = active(conv(sym.var("data"), width, 3, 1, "conv0"), "first")
    for stage, count in enumerate(units):
        filters = width * 2**stage
        for unit in range(count):
            stride = 2 if unit == 0 and stage else 1
            name = f"s{stage}u{unit}"
            front = active(x, f"{name}a")
            y = conv(front, filters, 1, 1, f"{name}_c1")
            y = conv(active(y, f"{name}b"), filters, 3, stride, f"{name}_c2")
            y = conv(active(y, f"{name}c"), 4 * filters, 1, 1, f"{name}_c3")
            short = x if unit else conv(front, 4 * filters, 1, stride, f"{name}_sc")
            x = sym.elemwise_add(y, short, name=f"{name}_add")
    x = sym.Pooling(active(x, "last"), global_pool=True, kernel=(1, 1), pool_type="avg")
    x = sym.FullyConnected(sym.Flatten(x), num_hidden=10, name="fc")
    return sym.SoftmaxOutput(x, name="softmax")

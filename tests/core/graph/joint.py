"""Running a joint graph beside the tape, to compare gradients to the bit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import minimx as mx
from minimx.core import autograd
from minimx.core.arrays.array import NDArray
from minimx.core.graph.passes.gradient import Training, differentiate
from minimx.core.graph.passes.recompute import Keep
from minimx.core.graph.running.run import as_run, evaluate
from minimx.core.graph.values.ir import Entry, Graph, Node
from minimx.core.graph.values.specs import every_spec
from minimx.core.ops.spec import Spec

CPU = mx.cpu()


def prepared(
    graph: Graph,
    arrays: dict[Node, Any],
    wanted: Sequence[Node],
    keep: Keep | None = None,
    cap: int = 8,
) -> Training:
    """The joint graph of a decided graph, for the shapes of some arrays."""
    specs = {
        node: Spec.of(arrays[node].shape, arrays[node].dtype)
        for node in {*graph.variables, *wanted}
    }
    return differentiate(graph, wanted, every_spec(graph, specs), keep, cap)


def run_joint(
    training: Training, arrays: dict[Node, Any], douts: Sequence[Any], seed: int = 0
) -> list[Any]:
    """Outputs and gradients, from NumPy arrays."""
    given = {node: mx.nd.array(x, dtype=x.dtype) for node, x in arrays.items()}
    for node, dout in zip(training.head_grads, douts, strict=True):
        given[node] = mx.nd.array(dout, dtype=dout.dtype)
    mx.random.seed(seed)
    with autograd.train_mode():
        return [x.asnumpy() for x in evaluate(training.graph, given, CPU)]


def run_tape(
    graph: Graph,
    arrays: dict[Node, Any],
    wanted: Sequence[Node],
    douts: Sequence[Any] | None,
    seed: int = 0,
) -> tuple[list[Any], list[Any]]:
    """Outputs, and gradients by the tape, of a graph run node by node."""
    given = {node: mx.nd.array(x, dtype=x.dtype) for node, x in arrays.items()}
    for node in wanted:
        given[node].attach_grad()
    mx.random.seed(seed)
    with autograd.record():
        heads = evaluate(graph, given, CPU)
    outs = [head.asnumpy() for head in heads]
    if douts is None:
        return outs, []
    pairs: list[tuple[NDArray, NDArray]] = [
        (head, mx.nd.array(dout, dtype=dout.dtype))
        for head, dout in zip(heads, douts, strict=True)
        if head._entry is not None
    ]
    if pairs:
        autograd.backward([h for h, _ in pairs], [d for _, d in pairs])
    return outs, [given[node].grad.asnumpy() for node in wanted]


def random_like(outs: Sequence[Any], seed: int = 3) -> list[Any]:
    """Gradients for outputs: numbers between 0.5 and 1.5."""
    rng = np.random.default_rng(seed)
    return [np.asarray(rng.uniform(0.5, 1.5, o.shape)).astype(o.dtype) for o in outs]


def assert_same_gradients(
    graph: Graph,
    arrays: dict[Node, Any],
    wanted: Sequence[Node],
    keep: Keep | None = None,
    cap: int = 8,
) -> Training:
    """Outputs and gradients of the joint graph are the tape's, to the bit."""
    graph = as_run(graph, training=True)
    douts = random_like(run_tape(graph, arrays, (), None)[0])
    outs, gradients = run_tape(graph, arrays, wanted, douts)
    training = prepared(graph, arrays, wanted, keep, cap)
    found = run_joint(training, arrays, douts)
    names = [entry.name for entry in graph.outputs]
    names += [f"gradient of {node.name}" for node in wanted]
    for name, a, b in zip(names, [*outs, *gradients], found, strict=True):
        assert a.dtype == b.dtype and a.shape == b.shape, name
        assert a.tobytes() == b.tobytes(), name
    return training


def one_node(op: Any, inputs: Sequence[Any]) -> tuple[Graph, dict[Node, Any]]:
    """A graph of one operator, and an array for each of its variables."""
    variables = [Node(None, (), f"in{k}") for k in range(len(inputs))]
    node = Node(op, [Entry(v) for v in variables], "node")
    graph = Graph([Entry(node, k) for k in range(op.visible)])
    return graph, dict(zip(variables, inputs, strict=True))

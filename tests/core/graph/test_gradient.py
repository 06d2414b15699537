"""The gradient pass: its numbers are the tape's, to the bit, for every operator."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
import pytest

import minimx as mx
from minimx.core.dtypes import FLOAT32
from minimx.core.errors import GradientError
from minimx.core.graph.passes.gradient import differentiate
from minimx.core.graph.passes.recompute import Keep
from minimx.core.graph.values.ir import Entry, Graph, Node
from minimx.core.graph.values.specs import every_spec
from minimx.core.graph.values.traced import Writer
from minimx.core.ops.registry import Op, lookup
from minimx.core.ops.spec import Spec
from tests.core.graph.joint import assert_same_gradients, one_node, prepared, run_joint
from tests.core.graph.verify import verify
from tests.core.ops.sample import Sample
from tests.core.ops.test_every_op import SAMPLES, op_of

# Their gradients are sparse: how large, the numbers decide.
SPARSE = ("_contrib_SparseEmbedding", "_backward_sparse_embedding")


def differentiable() -> list[Any]:
    return [
        pytest.param(sample, dtype, id=f"{sample}-{dtype}")
        for sample in SAMPLES
        if op_of(sample).differentiable and any(sample.wants())
        if sample.op not in SPARSE
        for dtype in sample.dtypes
        if dtype in ("float32", "float16")
    ]


@pytest.mark.parametrize(("sample", "dtype"), differentiable())
def test_an_operators_gradient_is_the_tapes(sample: Sample, dtype: str) -> None:
    graph, arrays = one_node(op_of(sample), sample.cast(dtype))
    wanted = [n for n, ask in zip(arrays, sample.wants(), strict=True) if ask]
    training = assert_same_gradients(graph, arrays, wanted)
    verify(training.graph)


# -- sums, zeros, order ----------------------------------------------------------------


def var(name: str) -> Node:
    return Node(None, (), name)


def use(name: str, *inputs: Entry, node: str = "", **settings: Any) -> Entry:
    return Entry(Node(lookup(name).of(**settings), inputs, node or name))


def arrays_for(*variables: Node, dtype: str = "float32") -> dict[Node, Any]:
    rng = np.random.default_rng(5)
    return {v: rng.uniform(-2, 2, (3, 4)).astype(dtype) for v in variables}


def wide(count: int, x: Entry) -> Graph:
    """A sum of `count` functions of x."""
    total = use("sin", x, node="f0")
    for k in range(1, count):
        part = use("_mul_scalar", use("sin", x, node=f"f{k}"), scalar=0.3 * k + 0.1)
        total = use("elemwise_add", total, part, node=f"total{k}")
    return Graph([total])


@pytest.mark.parametrize("dtype", ["float32", "float16", "float64"])
@pytest.mark.parametrize("cap", [2, 8, 100])
def test_many_gradients_of_one_entry(cap: int, dtype: str) -> None:
    x = var("x")
    arrays = arrays_for(x, dtype=dtype)
    training = assert_same_gradients(wide(20, Entry(x)), arrays, [x], cap=cap)
    sums = [n for n in training.graph if n.name.startswith("x_grad_sum")]
    folded = cap <= 20 and dtype != "float16"
    assert len(sums) == (19 if folded else 1)
    assert bool(training.changes) == folded


def test_a_fold_adds_what_is_there() -> None:
    x = var("x")
    arrays = arrays_for(x)
    training = prepared(wide(20, Entry(x)), arrays, [x], cap=2)
    places = {node: place for place, node in enumerate(training.graph)}
    distances = [
        places[node] - places[node.inputs[1].node]
        for node in training.graph
        if node.name.startswith("x_grad_sum")
    ]
    assert max(distances) <= 2  # not at the end, when all are there


def test_no_gradient_is_a_gradient_of_zeros() -> None:
    x, unused = var("x"), var("unused")
    y = use("elemwise_add", use("sign", Entry(x)), use("BlockGrad", Entry(x)))
    training = assert_same_gradients(Graph([y]), arrays_for(x, unused), [x, unused])
    assert training.zeros == {unused}  # the slope of sign is computed, and 0
    top = use("argmax", Entry(x), axis=1)
    training = assert_same_gradients(Graph([top]), arrays_for(x), [x])
    assert training.zeros == {x}
    assert training.head_grads[0] not in training.graph.nodes


def test_a_variable_may_be_an_output() -> None:
    x = var("x")
    outs = [Entry(x), use("square", Entry(x)), Entry(x)]
    training = assert_same_gradients(Graph(outs), arrays_for(x), [x, x])
    assert training.gradients[0] == training.gradients[1]
    assert len({node.name for node in training.head_grads}) == 3


def test_outputs_without_a_gradient_are_left_out() -> None:
    x = var("x")
    arrays = arrays_for(x)
    arrays[x][0, 0] = 0  # where log has an infinite slope
    graph = Graph([use("square", Entry(x)), use("log", Entry(x))])
    specs = every_spec(graph, {x: Spec.of((3, 4), FLOAT32)})
    training = differentiate(graph, [x], specs, flows=(True, False))
    douts = [np.ones((3, 4), np.float32)] * 2
    gradient = run_joint(training, arrays, douts)[-1]
    np.testing.assert_array_equal(gradient, 2 * arrays[x])


def test_the_halves_follow_each_other() -> None:
    x = var("x")
    graph = wide(4, Entry(x))
    training = prepared(graph, arrays_for(x), [x])
    computing = [node for node in training.graph if node.op is not None]
    inside = [node in training.forward for node in computing]
    assert inside == sorted(inside, reverse=True)
    assert training.forward == frozenset(graph.nodes)
    assert training.source.keys() == {n for n in computing if n not in graph.nodes} | {
        node for node in training.source if node not in computing
    }
    assert {entry.node for entry in training.graph.outputs} <= {*computing}


def test_weights_get_their_gradients_on_the_way_back() -> None:
    data = mx.sym.var("data")
    for k in range(6):
        data = mx.sym.FullyConnected(data, num_hidden=4, no_bias=True, name=f"fc{k}")
    graph = data.graph
    weights = [n for n in graph.variables if n.name != "data"]
    arrays = arrays_for(*graph.variables)
    arrays |= {w: np.eye(4, dtype=np.float32) for w in weights}
    training = assert_same_gradients(graph, arrays, list(graph.variables))
    places = {node: place for place, node in enumerate(training.graph)}
    found = dict(zip(graph.variables, training.gradients, strict=True))
    order = [places[found[w].node] for w in reversed(weights)]
    assert order == sorted(order)


def test_networks_have_the_tapes_gradients() -> None:
    data = mx.sym.var("data")
    net = mx.sym.Convolution(data, kernel=(3, 3), pad=(1, 1), num_filter=4, name="conv")
    net = mx.sym.BatchNorm(net, fix_gamma=False, name="bn")
    net = mx.sym.Activation(net, act_type="relu") + net
    net = mx.sym.Pooling(net, kernel=(2, 2), stride=(2, 2), pool_type="max")
    net = mx.sym.Dropout(mx.sym.Flatten(net), p=0.5)
    left, right = mx.sym.split(net, num_outputs=2, axis=1)
    net = mx.sym.FullyConnected(left * mx.sym.tanh(right), num_hidden=3, name="fc")
    net = mx.sym.SoftmaxOutput(net, name="softmax")
    found, _, states = net.infer_shape(data=(2, 3, 8, 8))
    graph = net.graph
    rng = np.random.default_rng(0)
    shapes: dict[Node, Any] = dict(zip(graph.arguments, found or (), strict=True))
    shapes |= dict(zip(graph.states, states or (), strict=True))
    arrays = {n: rng.uniform(0.1, 1, s).astype("float32") for n, s in shapes.items()}
    label = next(n for n in shapes if n.name == "softmax_label")
    arrays[label] = np.array([0, 2], np.float32)
    wanted = [n for n in graph.arguments if n is not label]
    assert_same_gradients(graph, arrays, wanted)


def test_depth_has_no_limit() -> None:
    x = var("x")
    y = Entry(x)
    for _ in range(3000):
        y = use("sin", y)
    graph = Graph([y])
    specs = every_spec(graph, {x: Spec.of((2,), FLOAT32)})
    keep = Keep(frozenset(graph.nodes[1:]))
    assert len(differentiate(graph, [x], specs, keep).graph) > 9000


# -- a user's own operators, and lessons -----------------------------------------------


def made(op: Op) -> Op:
    op.__post_init__()
    return op


def test_a_rule_may_use_the_methods_of_arrays() -> None:
    class Odd(Op):
        """Its rule is written with methods and all operators of Python."""

        name = "odd"
        saves = ("data",)

        def infer(self, *specs: Spec) -> Spec:
            return specs[0]

        def kernel(self, *specs: Spec) -> Any:
            return lambda x, out: np.copyto(out, x)

        def grad(self, at: Any, dout: Any, *saved: Any) -> Any:
            (x,) = saved
            assert x.shape == x.spec.shape and x.ndim == 2 and x.size == 12
            y = (2 - x) / (1 + abs(x)) - x % 3 + (x > 0) * (x <= 1) - (-x) ** 2
            y = y.reshape(-1, 2).reshape((4, 3)).transpose().astype(x.dtype)
            return (dout * y.clip(-1, 1) + dout * x.abs().exp(),)

    x = var("x")
    graph = Graph([Entry(Node(made(Odd()), [Entry(x)], "odd"))])
    assert_same_gradients(graph, arrays_for(x), [x])


def test_an_operator_without_a_gradient_is_named() -> None:
    class Blind(Op):
        """An identity that forgot its gradient."""

        name = "blind"

        def infer(self, *specs: Spec) -> Spec:
            return specs[0]

        def kernel(self, *specs: Spec) -> Any:
            return lambda x, out: np.copyto(out, x)

    x = var("x")
    y = use("sin", Entry(Node(made(Blind()), [use("cos", Entry(x))], "culprit")))
    with pytest.raises(GradientError, match="culprit: blind has no gradient"):
        prepared(Graph([y]), arrays_for(x), [x])
    prepared(Graph([y]), arrays_for(x), [])  # nobody asks


def test_gradients_are_asked_for_variables() -> None:
    x = var("x")
    y = use("sin", Entry(x))
    specs = every_spec(Graph([y]), {x: Spec.of((2,), FLOAT32)})
    with pytest.raises(GradientError, match="<sin sin> is no variable"):
        differentiate(Graph([y]), [y.node], specs)


def test_shapes_that_numbers_decide_have_no_place_in_a_graph() -> None:
    x, mask = var("x"), var("mask")
    y = use("sin", use("_contrib_boolean_mask", Entry(x), Entry(mask), axis=0))
    graph = Graph([y])
    known = {x: Spec.of((2, 3), FLOAT32), mask: Spec.of((2,), FLOAT32)}
    with pytest.raises(GradientError, match="not known before it runs"):
        differentiate(graph, [x], every_spec(graph, known))
    sample = next(s for s in SAMPLES if s.op == "_contrib_SparseEmbedding")
    graph, arrays = one_node(op_of(sample), sample.cast("float32"))
    with pytest.raises(GradientError, match="node_backward: what _backward_sparse"):
        prepared(graph, arrays, list(arrays)[1:])


def test_a_traced_value_has_no_numbers() -> None:
    x = var("x")
    value = Writer({Entry(x): Spec.of((2,), FLOAT32)}).value(Entry(x))
    with pytest.raises(AttributeError, match="see no numbers"):
        value.asnumpy()
    with pytest.raises(TypeError):
        operator.add(value, "1")
    assert "x" in repr(value) and value.dtype is np.float32


# -- blocks ----------------------------------------------------------------------------


def tangled(sin: Any, cos: Any, exp: Any, tanh: Any, x: Any) -> Any:
    """Four values whose gradients meet in x; they are used in another order."""
    a, b, c, d = sin(x * 1.7), cos(x * 0.3), exp(x * 0.9), tanh(x * 2.1)
    return d * c + c * b * a + b


class Written(mx.gluon.HybridBlock):
    """In the manner of MXNet 1."""

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        return tangled(F.sin, F.cos, F.exp, F.tanh, x)


class Deferred(mx.gluon.HybridBlock):
    """In the manner of MXNet 2."""

    def forward(self, x: Any) -> Any:
        return tangled(mx.np.sin, mx.np.cos, mx.np.exp, mx.np.tanh, x)


@pytest.mark.parametrize("kind", [Written, Deferred])
def test_a_block_adds_gradients_in_the_order_of_its_calls(kind: Any) -> None:
    numbers = np.random.default_rng(0).uniform(-1, 1, (50, 50)).astype("float32")
    x = mx.np.array(numbers) if kind is Deferred else mx.nd.array(numbers)
    x.attach_grad()
    found = []
    for hybrid in (False, True):
        block = kind()
        block.initialize()
        block.hybridize(hybrid, static_alloc=True)
        with mx.autograd.record():
            y = block(x)
        y.backward()
        found.append(x.grad.asnumpy().tobytes())
    assert found[0] == found[1]

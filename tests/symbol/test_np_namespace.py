"""`mx.sym.np` and `mx.sym.npx` write down what `mx.np` and `mx.npx` compute."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as onp
import pytest

import minimx as mx
from minimx import np, npx

A = onp.arange(1, 7, dtype="float32").reshape(2, 3)
CALLS: list[Callable[[Any, Any], Any]] = [
    lambda F, x: F.sum(F.exp(x) * 2, axis=1),
    lambda F, x: F.mean(x),
    lambda F, x: F.max(x, axis=0, keepdims=True),
    lambda F, x: F.prod(x, dtype="float64"),
    lambda F, x: F.reshape(x, (-1, 2)),
    lambda F, x: F.transpose(x),
    lambda F, x: F.swapaxes(x, 0, 1),
    lambda F, x: F.moveaxis(x, 0, 1),
    lambda F, x: F.roll(x, 1, axis=1),
    lambda F, x: F.flip(x, 1),
    lambda F, x: F.tril(x, k=1),
    lambda F, x: F.concatenate([x, x], axis=1),
    lambda F, x: F.stack([x, x], axis=1),
    lambda F, x: F.vstack(x, x) if F is mx.sym.np else F.vstack([x, x]),
    lambda F, x: F.split(x, 3, axis=1)[1],
    lambda F, x: F.split(x, [1], axis=1)[1],
    lambda F, x: F.where(x > 2, x, x * 0),
    lambda F, x: F.maximum(x, 3) + F.minimum(4, x),
    lambda F, x: F.add(x, 1) / F.power(x, 2),
    lambda F, x: F.dot(x, x.T if F is np else F.transpose(x)),
    lambda F, x: F.matmul(x, F.transpose(x)),
    lambda F, x: F.inner(x, x),
    lambda F, x: F.outer(x, x),
    lambda F, x: F.vdot(x, x),
    lambda F, x: F.tensordot(x, x, ([0, 1], [0, 1])),
    lambda F, x: F.einsum("ij,kj->ik", x, x),
    lambda F, x: F.linalg.det(F.dot(F.transpose(x), x)),
]
# Functions whose operators follow from the shapes and types that they meet.
COMPOSED: list[Callable[[Any, Any], Any]] = [
    lambda F, x: F.std(x, axis=1, ddof=1),
    lambda F, x: F.var(x, keepdims=True),
    lambda F, x: F.average(x, axis=0, weights=x),
    lambda F, x: F.average(x, returned=True)[1],
    lambda F, x: F.sum(x > 2, axis=0, dtype="float64"),
    lambda F, x: F.any(x > 5, axis=(0, 1)),
    lambda F, x: F.argmax(x, keepdims=True),
    lambda F, x: F.cumsum(x, axis=1),
    lambda F, x: F.true_divide(x.astype("int32"), 4),
    lambda F, x: F.add(x.astype("int32"), x),
    lambda F, x: 7 % x - 2 ** (x / 3),
    lambda F, x: F.arctan2(1, x) + F.hypot(x, 2),
    lambda F, x: F.bitwise_xor(x.astype("int32"), 3),
    lambda F, x: F.clip(x, 2, None),
    lambda F, x: F.flip(x),
    lambda F, x: F.fliplr(x) + F.flipud(x),
    lambda F, x: F.hsplit(x, 3)[1],
    lambda F, x: F.vsplit(x, (1,))[0],
    lambda F, x: F.array_split(x, 2, axis=1)[0],
    lambda F, x: F.dsplit(x.reshape((1, 2, 3)), 3)[2],
    lambda F, x: F.delete(x, 1, axis=1),
    lambda F, x: F.delete(x, slice(0, 4, 2)),
    lambda F, x: F.insert(x, 1, 9.0, axis=1),
    lambda F, x: F.insert(x, slice(0, 2), x[0:1], axis=0),
    lambda F, x: F.append(x, x, axis=0),
    lambda F, x: F.resize(x, (3, 3)),
    lambda F, x: F.full_like(x, 3, dtype="int32"),
    lambda F, x: x * F.eye(2, 3, 1) + F.indices((2, 3))[1],
    lambda F, x: x + F.linspace(0, 1, 3) * F.logspace(0, 1, 3),
    lambda F, x: x * F.hanning(3) * F.hamming(3) * F.blackman(3),
    lambda F, x: F.pad(x, ((1, 0), (0, 2)), "minimum"),
    lambda F, x: F.ediff1d(x, to_end=1.0, to_begin=x),
    lambda F, x: F.polyval(x[0], x),
    lambda F, x: F.bincount(x.astype("int32").flatten(), minlength=9),
    lambda F, x: F.unique(x * 0 + 1),
    lambda F, x: F.histogram(x, bins=3, range=(0, 6))[0],
    lambda F, x: F.quantile(x, 0.5, axis=1),
    lambda F, x: F.take(x, F.argsort(x, axis=None)),
    lambda F, x: F.diag_indices_from(F.dot(x, x.T)),
    lambda F, x: F.linalg.norm(x),
    lambda F, x: F.linalg.norm(x, "nuc", axis=(0, 1)),
    lambda F, x: F.linalg.norm(x, onp.inf, axis=1),
    lambda F, x: F.linalg.pinv(x),
    lambda F, x: F.linalg.eigvalsh(F.dot(x, x.T)),
    lambda F, x: F.linalg.tensorinv(x[:, :2].reshape((2, 1, 2)), ind=1),
    lambda F, x: F.linalg.tensorsolve(x[:, :2], x[:, 0]),
    lambda F, x: F.linalg.det(x[:, :2].astype("int32")),
    lambda F, x: F.add(F.shares_memory(x, x * 2), x),
    lambda F, x: x.std() + x.T.var(axis=0),
]
BEYOND: list[Callable[[Any, Any], Any]] = [
    lambda F, x: F.relu(x - 3),
    lambda F, x: F.softmax(x, axis=0),
    lambda F, x: F.softmax(x, F.slice(x, (0, 0), (2, 1)).reshape(-1), axis=1),
    lambda F, x: F.log_softmax(x),
    lambda F, x: F.reshape(x, (-2, -1, 1)),
    lambda F, x: F.leaky_relu(x, act_type="elu"),
    lambda F, x: F.one_hot(x, 4),
    lambda F, x: F.batch_dot(x.expand_dims(0), x.expand_dims(0), transpose_b=True),
    lambda F, x: F.image.to_tensor(x.expand_dims(2)),
    lambda F, x: F.random.uniform_n(x, x, batch_shape=2),
    lambda F, x: F.random.normal_n(x, x * 0, batch_shape=2),
    lambda F, x: F.random.bernoulli(x / x, size=(2, 3)),
]


@pytest.mark.parametrize(
    ("room", "written", "call"),
    [(np, mx.sym.np, call) for call in CALLS]
    + [(np, mx.sym.np, call) for call in COMPOSED]
    + [(npx, mx.sym.npx, call) for call in BEYOND],
)
def test_a_graph_computes_what_arrays_do(room: Any, written: Any, call: Any) -> None:
    with mx.util.np_shape(True), mx.util.np_array(True):
        x = np.array(A)
        expected = call(room, x)
        graph = call(written, mx.sym.Variable("x").as_np_ndarray()).as_nd_ndarray()
        (found,) = graph.bind(mx.cpu(), {"x": x}).forward()
        expected = np.stack(expected) if isinstance(expected, tuple) else expected
        assert found.shape == expected.shape
        assert found.dtype == expected.dtype
        onp.testing.assert_allclose(found.asnumpy(), expected.asnumpy(), rtol=1e-5)


@pytest.mark.parametrize("call", COMPOSED[:2] + COMPOSED[10:12] + COMPOSED[32:33])
def test_gradients_of_composed_operators_are_those_of_arrays(call: Any) -> None:
    with mx.util.np_shape(True), mx.util.np_array(True):
        x = np.array(A)
        x.attach_grad()
        with mx.autograd.record():
            call(np, x).sum().backward()
        grad = np.zeros((2, 3))
        graph = mx.sym.np.sum(call(mx.sym.np, mx.sym.Variable("x")))
        bound = graph.bind(mx.cpu(), {"x": x}, {"x": grad})
        bound.forward(is_train=True)
        bound.backward()
        onp.testing.assert_allclose(grad.asnumpy(), x.grad.asnumpy(), rtol=1e-5)


def test_a_composed_operator_is_one_node_that_files_keep() -> None:
    with mx.util.np_shape(True), mx.util.np_array(True):
        x = mx.sym.Variable("x")
        graph = mx.sym.np.std(x, axis=1, ddof=1) + mx.sym.np.argmax(x, axis=1)
        words = [node["op"] for node in json.loads(graph.tojson())["nodes"]]
        assert words == ["null", "_npi_std", "_npi_argmax", "_npi_add"]
        again = mx.sym.load_json(graph.tojson())
        (a,), (b,) = (g.eval(x=np.array(A)) for g in (graph, again))
        assert a.asnumpy().tolist() == b.asnumpy().tolist() == [3, 3]
        assert graph.infer_shape(x=(4, 5))[1] == [(4,)]
        assert graph.infer_type(x="float64")[1] == [onp.float64]


def test_random_numbers_in_graphs() -> None:
    with mx.util.np_shape(True):
        loc = mx.sym.Variable("loc")
        graph = mx.sym.np.random.normal(loc, 0.0, size=(2, 3))
        (found,) = graph.bind(mx.cpu(), {"loc": np.array([1.0, 2, 3])}).forward()
        assert found.asnumpy().tolist() == [[1, 2, 3], [1, 2, 3]]
        drawn = mx.sym.np.random.uniform(low=2.0, high=3.0, size=4)
        assert drawn.infer_shape()[1] == [(4,)]


def test_a_block_that_uses_npx_can_be_written_down() -> None:
    class Squash(mx.gluon.HybridBlock):
        def hybrid_forward(self, F: Any, x: Any) -> Any:  # noqa: N803 (MXNet's name)
            return F.npx.sigmoid(F.np.exp(x))

    graph = Squash()(mx.sym.var("x"))
    assert [node["op"] for node in json.loads(graph.tojson())["nodes"]] == [
        "null", "exp", "sigmoid",
    ]  # fmt: skip


@pytest.mark.parametrize("room", [mx.sym.np, mx.sym.npx])
def test_a_name_that_is_not_there(room: Any) -> None:
    with pytest.raises(AttributeError, match="mx.sym.np"):
        room.nonsense  # noqa: B018


def test_parts_are_picked_where_arrays_are_numpys() -> None:
    x = onp.arange(24.0).reshape(4, 6)
    keys: list[Any] = [1, -1, (2, -3), slice(1, 3), (slice(None), 0), slice(3, 0, -2)]
    keys += [(slice(None, None, 2), slice(1, 5)), (0, ...), ()]
    with mx.util.np_array(True), mx.util.np_shape(True):
        for key in keys:
            out = mx.sym.var("x")[key].eval(x=mx.np.array(x))[0].asnumpy()
            onp.testing.assert_array_equal(out, x[key])
        with pytest.raises(IndexError, match="integers and slices"):
            mx.sym.var("x")[[0, 1]]
    assert mx.sym.var("x")[0].name == "x"

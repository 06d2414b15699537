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
    + [(npx, mx.sym.npx, call) for call in BEYOND],
)
def test_a_graph_computes_what_arrays_do(room: Any, written: Any, call: Any) -> None:
    with mx.util.np_shape(True):
        x = np.array(A)
        expected = call(room, x)
        graph = call(written, mx.sym.Variable("x").as_np_ndarray()).as_nd_ndarray()
        (found,) = graph.bind(mx.cpu(), {"x": x}).forward()
        assert found.shape == expected.shape
        onp.testing.assert_allclose(found.asnumpy(), expected.asnumpy(), rtol=1e-5)


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

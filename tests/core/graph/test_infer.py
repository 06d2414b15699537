"""Shapes and types that follow from others, in both directions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minimx as mx
from minimx.core import np_semantics
from minimx.core.errors import DTypeError, ShapeError


def partial(symbol: Any, **shapes: Any) -> tuple[dict[str, Any], list[Any]]:
    args, outs, _ = symbol.infer_shape_partial(**shapes)
    return dict(zip(symbol.list_arguments(), args, strict=True)), outs


x, y = mx.sym.var("x"), mx.sym.var("y")


@pytest.mark.parametrize(
    ("symbol", "shapes", "out"),
    [
        (mx.sym.dot(x, y), {"x": (0, 3, 4), "y": (4, 5)}, (0, 3, 5)),
        (mx.sym.transpose(x, axes=(1, 0)), {"x": (0, 7)}, (7, 0)),
        (mx.sym.reshape(x, shape=(0, -1)), {"x": (0, 3, 4)}, (0, 12)),
        (mx.sym.sum(x, axis=0), {"x": (0, 3)}, (3,)),
        (mx.sym.slice(x, begin=(0, 3), end=(5, 9)), {"x": (0, 20)}, (0, 6)),
        (mx.sym.concat(x, y, dim=1), {"x": (0, 3), "y": (2, 5)}, (2, 8)),
        (mx.sym.broadcast_add(x, y), {"x": (0, 1), "y": (1, 3)}, (0, 3)),
        (mx.sym.broadcast_add(x, y), {"x": (0, 1), "y": (5, 3)}, (5, 3)),
        (mx.sym.batch_dot(x, y), {"x": (0, 3, 4), "y": (0, 0, 5)}, ()),
        (mx.sym.relu(x), {}, ()),
    ],
)
def test_what_open_axes_leave_known(
    symbol: Any, shapes: dict[str, Any], out: Any
) -> None:
    assert partial(symbol, **shapes)[1] == [out]


def test_numpy_shapes_write_open_axes_otherwise() -> None:
    with np_semantics.Scope(np_shape=True):
        assert partial(mx.sym.dot(x, y), x=(-1, 3), y=(3, 4))[1] == [(-1, 4)]
        assert partial(mx.sym.relu(x))[1] == [None]
        assert partial(mx.sym.relu(x), x=(0, 4))[1] == [(0, 4)]


@pytest.mark.parametrize(
    ("symbol", "told", "follows"),
    [
        (mx.sym.elemwise_add(x, y), {"x": (0, 10), "y": (12, 0)}, (12, 10)),
        (mx.sym.elemwise_add(mx.sym.transpose(x), y), {"y": (2, 3)}, (3, 2)),
        (mx.sym.elemwise_add(mx.sym.relu(x), y), {"y": (2, 3)}, (2, 3)),
        (mx.sym.elemwise_add(mx.sym.softmax(x), y), {"y": (2, 3)}, (2, 3)),
        (mx.sym.elemwise_add(mx.sym.cast(x, dtype="float32"), y), {"y": (4,)}, (4,)),
        (
            mx.sym.elemwise_add(mx.sym.Flatten(x), y),
            {"x": (0, 3, 5), "y": (2, 15)},
            (2, 3, 5),
        ),
        (
            mx.sym.elemwise_add(mx.sym.split(x, num_outputs=3)[1], y),
            {"x": (0, 0), "y": (2, 5)},
            (2, 15),
        ),
        (
            mx.sym.elemwise_add(mx.sym.FullyConnected(x, num_hidden=4), y),
            {"x": (0, 7), "y": (3, 0)},
            (3, 7),
        ),
        (
            mx.sym.elemwise_add(
                mx.sym.Convolution(x, kernel=(3, 3), dilate=(2, 1), num_filter=4), y
            ),
            {"x": (0, 2, 0, 0), "y": (3, 4, 6, 7)},
            (3, 2, 10, 9),
        ),
    ],
)
def test_inputs_follow_from_outputs(symbol: Any, told: Any, follows: Any) -> None:
    assert partial(symbol, **told)[0]["x"] == follows


def test_parameters_follow_from_data() -> None:
    net = mx.sym.Convolution(x, kernel=(7, 7), num_filter=64, no_bias=True, name="c")
    assert partial(net, x=(1, 0, 0, 0))[0]["c_weight"] == (64, 0, 7, 7)
    assert partial(net, x=(1, 3, 0, 0))[0]["c_weight"] == (64, 3, 7, 7)


def test_contradictions_name_the_node() -> None:
    with pytest.raises(ShapeError, match=r"sum0.*one account"):
        mx.sym.elemwise_add(x, y, name="sum0").infer_shape(x=(2,), y=(3,))
    net = mx.sym.FullyConnected(x, num_hidden=4, name="fc")
    with pytest.raises(ShapeError, match="fc"):
        net.infer_shape(x=(2, 3), fc_weight=(4, 9))


def test_types_flow_without_shapes() -> None:
    net = mx.sym.FullyConnected(mx.sym.cast(x, dtype="float16"), num_hidden=2)
    args, outs, _ = net.infer_type(x="int32")
    assert args is not None and outs is not None
    assert args == [np.int32, np.float16, np.float16] and outs == [np.float16]
    assert net.infer_type_partial()[0] == [None, np.float16, np.float16]


def test_statistics_of_half_precision_are_single() -> None:
    args, outs, states = mx.sym.BatchNorm(x, name="bn").infer_type(x="float16")
    assert args == [np.float16, np.float32, np.float32] and outs == [np.float16]
    assert states == [np.float32, np.float32]


def test_a_shape_in_words_is_checked() -> None:
    with pytest.raises(ShapeError, match="is no shape"):
        mx.sym.var("v", __shape__="nonsense").infer_shape()
    with pytest.raises(DTypeError):
        mx.sym.var("v", dtype="nonsense")


def test_wishes_of_neighbours_settle_zeros() -> None:
    state = mx.sym.zeros((0, 4)) + mx.sym.FullyConnected(x, num_hidden=4, name="h")
    assert state.simple_bind(x=(3, 2)).forward()[0].shape == (3, 4)
    steps = mx.sym.arange(1, infer_range=True, step=2) + y
    executor = steps.simple_bind(y=(4,))
    assert executor.forward()[0].asnumpy().tolist() == [1, 3, 5, 7]

"""Operators of every kind, each on arrays that no cache holds, and what they cost.

What a call computes and moves is what the operators' data sheets declare
(`Op.cost`): a record of one call adds up. Bytes are those of the arrays, each read or
written once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import minimx as mx
from minimx import autograd, nd
from minimx.core.ops.spec import Cost

Call = Callable[[], object]
OPERATORS: dict[str, Callable[[float], Call]] = {}


def operator(name: str) -> Callable[[Callable[[float], Call]], Callable[[float], Call]]:
    """Enter what prepares an operator's arrays and returns a call of it.

    It gets the share of the full size that is wanted, along the axis of the examples.
    """

    def enter(prepare: Callable[[float], Call]) -> Callable[[float], Call]:
        OPERATORS[name] = prepare
        return prepare

    return enter


def _normal(*shape: int) -> Any:
    return nd.random.normal(shape=shape)


def _rows(full: int, size: float) -> int:
    return max(1, round(full * size))


def _flat(size: float) -> Any:
    """16M numbers."""
    return _normal(_rows(4096, size), 4096)


def _images(size: float, channels: int, edge: int) -> Any:
    return _normal(_rows(32, size), channels, edge, edge)


def _unary(name: str, function: Callable[[Any], Any]) -> None:
    @operator(name)
    def prepare(size: float) -> Call:
        x = _flat(size)
        return lambda: function(x)


_unary("relu", nd.relu)
_unary("exp", nd.exp)
_unary("sum of all", nd.sum)
_unary("softmax", lambda x: nd.softmax(x, axis=-1))
_unary("transpose", lambda x: nd.transpose(x))


@operator("add")
def _add(size: float) -> Call:
    x, y = _flat(size), _flat(size)
    return lambda: x + y


@operator("sum of columns")
def _columns(size: float) -> Call:
    x = _flat(size)
    return lambda: nd.sum(x, axis=0)


@operator("layer norm")
def _layer_norm(size: float) -> Call:
    x, scale, shift = _flat(size), nd.ones(4096), nd.zeros(4096)
    return lambda: nd.LayerNorm(x, scale, shift)


@operator("max pooling 3×3")
def _max_pooling(size: float) -> Call:
    x = _images(size, 64, 112)
    window: dict[str, Any] = {"kernel": (3, 3), "stride": (2, 2), "pad": (1, 1)}
    return lambda: nd.Pooling(x, pool_type="max", **window)


@operator("average pooling, global")
def _average_pooling(size: float) -> Call:
    x = _images(size, 256, 56)
    return lambda: nd.Pooling(x, pool_type="avg", global_pool=True, kernel=(1, 1))


@operator("batch norm, training")
def _batch_norm(size: float) -> Call:
    x, shape = _images(size, 64, 112), (64,)
    rest = nd.ones(shape), nd.zeros(shape), nd.zeros(shape), nd.ones(shape)

    def call() -> object:
        with autograd.train_mode():
            return nd.BatchNorm(x, *rest, fix_gamma=False)

    return call


def _convolution(
    name: str, channels: int, filters: int, edge: int, kernel: int
) -> None:
    @operator(name)
    def prepare(size: float) -> Call:
        x, weight = (
            _images(size, channels, edge),
            _normal(filters, channels, kernel, kernel),
        )
        pads: dict[str, Any] = {"kernel": (kernel,) * 2, "pad": (kernel // 2,) * 2}
        return lambda: nd.Convolution(
            x, weight, num_filter=filters, no_bias=True, **pads
        )


_convolution("convolution 1×1, 64 to 256 channels", 64, 256, 56, 1)
_convolution("convolution 3×3, 128 channels", 128, 128, 28, 3)
_convolution("convolution 3×3, 512 channels", 512, 512, 7, 3)


@operator("depthwise convolution 3×3")
def _depthwise(size: float) -> Call:
    x, weight = _images(size, 128, 56), _normal(128, 1, 3, 3)
    way: dict[str, Any] = {
        "kernel": (3, 3),
        "pad": (1, 1),
        "num_group": 128,
        "num_filter": 128,
    }
    return lambda: nd.Convolution(x, weight, no_bias=True, **way)


@operator("dense, batch 1024")
def _dense(size: float) -> Call:
    x, weight = _normal(_rows(1024, size), 1024), _normal(4096, 1024)
    return lambda: nd.FullyConnected(x, weight, num_hidden=4096, no_bias=True)


@operator("dense, batch 1")
def _dense_1(size: float) -> Call:
    width = _rows(8192, size)
    x, weight = _normal(1, 4096), _normal(width, 4096)
    return lambda: nd.FullyConnected(x, weight, num_hidden=width, no_bias=True)


@operator("embedding")
def _embedding(size: float) -> Call:
    count = _rows(65536, size)
    table = _normal(100_000, 256)
    rows = nd.random.randint(0, 100_000, shape=(count,)).astype("float32")
    return lambda: nd.Embedding(rows, table, input_dim=100_000, output_dim=256)


@operator("LSTM, a step of 1024 units")
def _lstm(size: float) -> Call:
    batch, units = _rows(64, size), 1024
    x, state, memory = (_normal(1, batch, units) for _ in range(3))
    weights = nd.random.uniform(-0.05, 0.05, shape=(8 * units * (units + 1),))
    way: dict[str, Any] = {"state_size": units, "num_layers": 1, "mode": "lstm"}
    return lambda: nd.RNN(x, weights, state, memory, **way)


@operator("SGD update with momentum")
def _update(size: float) -> Call:
    weight, gradient = _flat(size), _flat(size)
    momentum = nd.zeros(weight.shape)
    way: dict[str, Any] = {"lr": 1e-3, "momentum": 0.9}
    return lambda: nd.sgd_mom_update(weight, gradient, momentum, out=weight, **way)


def cost(call: Call) -> Cost:
    """What a call computes and moves, by a record of it."""
    nd.waitall()
    with mx.Record() as record:
        call()
        nd.waitall()
    ops = record.ops()
    return Cost(int(ops["flops"].sum()), int(ops["nbytes"].sum()))

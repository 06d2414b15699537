"""The knobs of recomputation act in Symbol and in Gluon: memory moves, bits stay."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minimx as mx
from minimx.core import autograd, engine
from minimx.core.storage import pool_for
from minimx.gluon import nn
from tests.core.knobs.proofs import defaults, proves, turned

__all__ = ["defaults"]

SHAPE = (4, 8, 24, 24)
#: What one array of a layer takes.
LAYER = 4 * int(np.prod(SHAPE))
DEPTH = 12
#: The most bytes at once, in arrays of a layer, and all gradients.
Seen = tuple[float, bytes]


def measured(train: Callable[[], list[Any]]) -> Seen:
    """What training takes from the pool at once, and the gradients that it gives."""
    for _ in range(3):  # until workers let go of what they did last
        mx.nd.ones((1,)).wait_to_read()
        gc.collect()
        engine.wait_all()
    pool = pool_for(mx.cpu())
    before = pool.peak_requested = pool.live_requested
    gradients = train()
    engine.wait_all()
    peak = pool.peak_requested - before
    return peak / LAYER, b"".join(x.asnumpy().tobytes() for x in gradients)


def fill(arrays: Any) -> None:
    for seed, array in enumerate(arrays):
        rng = np.random.default_rng(seed)
        array[:] = rng.uniform(0.1, 1, array.shape).astype("float32")


def trained_symbol(net: Any) -> Seen:
    """Bind a symbol and take two steps."""

    def train() -> list[Any]:
        executor = net.simple_bind(mx.cpu(), data=SHAPE)
        fill([*executor.arg_dict.values(), *executor.aux_dict.values()])
        for _ in range(2):
            executor.forward(is_train=True)
            executor.backward()
        return list(executor.grad_dict.values())

    return measured(train)


def trained_block(net: Callable[[], nn.HybridBlock]) -> Seen:
    """Hybridize a block and take two steps."""

    def train() -> list[Any]:
        block = net()
        block.initialize()
        block.hybridize(static_alloc=True)
        data = mx.nd.zeros(SHAPE)
        block(data)
        parameters = [
            p for p in block.collect_params().values() if p.grad_req != "null"
        ]
        fill([data, *[p.data() for p in parameters]])
        data.attach_grad()
        for _ in range(2):
            with autograd.record():
                out = block(data)
            out.backward()
        return [data.grad, *[p.grad() for p in parameters]]

    return measured(train)


def convolutions() -> Any:
    """Layers of Convolution, BatchNorm and relu."""
    y = mx.sym.var("data")
    for _ in range(DEPTH):
        y = mx.sym.Convolution(y, num_filter=8, kernel=(3, 3), pad=(1, 1))
        y = mx.sym.Activation(mx.sym.BatchNorm(y, fix_gamma=False), act_type="relu")
    return mx.sym.sum(y)


def convolution_blocks() -> nn.HybridBlock:
    """The same layers."""
    net = nn.HybridSequential()
    for _ in range(DEPTH):
        net.add(nn.Conv2D(8, 3, padding=1, in_channels=8))
        net.add(nn.BatchNorm(in_channels=8), nn.Activation("relu"))
    return net


class Towers(nn.HybridBlock):
    """Softmaxes of softmaxes, and a sum of many averages of one value.

    They are no pointwise operators, so that fusion does not hide what is kept. Averages
    keep nothing for their gradients.
    """

    def __init__(self, depth: int, width: int) -> None:
        super().__init__()
        self.depth, self.width = depth, width

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        for _ in range(self.depth):
            x = F.softmax(x, axis=1)
        total = x
        for k in range(self.width):
            total = averaged(F, total, 1) + averaged(F, x, k)
        return total


def averaged(F: Any, x: Any, reach: int) -> Any:
    """Every pixel as the mean of those around it."""
    size, pad = (2 * reach + 1,) * 2, (reach,) * 2
    return F.Pooling(x, kernel=size, pad=pad, stride=(1, 1), pool_type="avg")


def towers(depth: int = 0, width: int = 0) -> tuple[Callable[[], Seen], ...]:
    """The same in Symbol and Gluon."""
    symbol = Towers(depth, width)(mx.sym.var("data"))
    block = lambda: Towers(depth, width)  # noqa: E731
    return lambda: trained_symbol(symbol), lambda: trained_block(block)


def layered() -> tuple[Callable[[], Seen], ...]:
    return (
        lambda: trained_symbol(convolutions()),
        lambda: trained_block(convolution_blocks),
    )


BOTH = pytest.mark.parametrize("world", [0, 1], ids=["symbol", "gluon"])


@BOTH
@proves("MXNET_BACKWARD_DO_MIRROR", "MINIMX_MIRROR")
def test_mirroring_keeps_one_array_of_three(world: int) -> None:
    mx.knobs.set(MXNET_CPU_TEMP_COPY=1)  # one workspace for all graphs,
    observe = layered()[world]
    observe()  # and it has grown
    (before, bits), (during, same) = turned(observe, MXNET_BACKWARD_DO_MIRROR=True)
    assert same == bits
    assert during <= before - 0.7 * DEPTH
    with mx.knobs(MXNET_BACKWARD_DO_MIRROR=True):
        (_, bits), (mxnet, same) = turned(observe, MINIMX_MIRROR="1.x")
        assert same == bits
        assert mxnet >= before - 1  # saves nothing, as in MXNet
        _, (least, same) = turned(observe, MINIMX_MIRROR="best")
        assert same == bits
        assert least < during


@BOTH
@proves("MXNET_BACKWARD_MIRROR_STEP")
def test_the_mirror_step_makes_checkpoints(world: int) -> None:
    observe = towers(depth=36)[world]
    with mx.knobs(MXNET_BACKWARD_DO_MIRROR=True):
        (every, bits), (sixth, same) = turned(observe, MXNET_BACKWARD_MIRROR_STEP=6)
        assert same == bits
        assert sixth < every - 15  # about 6 + 6 of 36
        _, (half, same) = turned(observe, MXNET_BACKWARD_MIRROR_STEP=18)
        assert same == bits and sixth < half < every


@BOTH
@proves("MXNET_EXEC_INPLACE_GRAD_SUM_CAP")
def test_many_gradients_are_added_one_by_one(world: int) -> None:
    observe = towers(width=12)[world]
    (few, bits), (many, same) = turned(observe, MXNET_EXEC_INPLACE_GRAD_SUM_CAP=100)
    assert same == bits
    assert many > few + 5  # they are all there at once

"""Small networks and data for the tests of quantization."""

from __future__ import annotations

from typing import Any

import numpy as np

import minimx as mx
from minimx.gluon import nn


def images(count: int = 16) -> Any:
    """Images between -1 and 1."""
    rng = np.random.default_rng(0)
    return mx.nd.array(rng.uniform(-1, 1, (count, 3, 12, 12)), dtype="float32")


def randomized(net: Any, x: Any) -> Any:
    """The network with values everywhere, statistics of normalizations included."""
    net.initialize()
    net(x)
    rng = np.random.default_rng(7)
    for name, parameter in net.collect_params().items():
        low, high = (0.5, 1.5) if name.endswith(("gamma", "var")) else (-0.4, 0.4)
        parameter.set_data(mx.nd.array(rng.uniform(low, high, parameter.shape)))
    return net


class Residual(nn.HybridBlock):
    """x + two convolutions with normalizations, and relu."""

    def __init__(self, channels: int, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.body = nn.HybridSequential()
        self.body.add(
            nn.Conv2D(channels, 3, padding=1),
            nn.BatchNorm(),
            nn.Activation("relu"),
            nn.Conv2D(channels, 3, padding=1, use_bias=False),
            nn.BatchNorm(),
        )

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        return F.Activation(self.body(x) + x, act_type="relu")


def network(x: Any) -> Any:
    """Convolutions, a sum, pooling and dense layers."""
    net = nn.HybridSequential(prefix="net_")
    with net.name_scope():
        net.add(
            nn.Conv2D(8, 3, padding=1, activation="relu"),
            nn.MaxPool2D(),
            Residual(8),
            nn.GlobalAvgPool2D(),
            nn.Dense(10, activation="relu"),
            nn.Dense(5),
        )
    return randomized(net, x)


def operators(symbol: Any) -> list[str]:
    """The operators of a graph, in order."""
    return [node.op.name for node in symbol.graph if node.op is not None]


def plain() -> Any:
    """A graph of layers, apart from each other."""
    net = mx.sym.Convolution(
        mx.sym.var("data"), kernel=(3, 3), num_filter=8, name="conv"
    )
    net = mx.sym.Activation(net, act_type="relu", name="act")
    net = mx.sym.Pooling(net, kernel=(2, 2), stride=(2, 2), name="pool")
    net = mx.sym.Flatten(net, name="flat")
    net = mx.sym.FullyConnected(net, num_hidden=6, name="fc")
    return mx.sym.softmax(net, name="out")


def values(symbol: Any, **shapes: Any) -> dict[str, Any]:
    """Arrays for the arguments of a graph, without its data."""
    found, _, _ = symbol.infer_shape(**shapes)
    rng = np.random.default_rng(3)
    return {
        name: mx.nd.array(rng.uniform(-0.5, 0.5, shape))
        for name, shape in zip(symbol.list_arguments(), found, strict=True)
        if name not in shapes
    }


def outputs(symbol: Any, args: dict[str, Any], data: Any) -> Any:
    """What a graph computes."""
    return symbol.eval(**args, data=data)[0].asnumpy()

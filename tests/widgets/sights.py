"""Small data and networks for what looks at images: made, not read."""

from __future__ import annotations

from typing import Any

import numpy as np

import minimx as mx
from minimx.gluon import nn
from minimx_widgets.training.training import Data


def images(
    classes: int = 4, channels: int = 1, side: int = 8, count: int = 60, seed: int = 0
) -> Data:
    """A pattern for each class, under some noise."""
    random = np.random.default_rng(seed)
    patterns = random.random((classes, channels, side, side))

    def some(many: int) -> tuple[Any, Any]:
        labels = np.arange(many) % classes
        noise = random.random((many, channels, side, side))
        pixels = 0.6 * patterns[labels] + 0.4 * noise
        return pixels.astype(np.float32), labels.astype(np.float32)

    return Data(*some(2 * count), *some(count))


def network(classes: int = 4, channels: int = 1) -> Any:
    """Convolution, normalisation, dropout, dense: all that training changes."""
    net = nn.HybridSequential(prefix="net_")
    with net.name_scope():
        net.add(nn.Conv2D(6, 3, in_channels=channels, activation="relu"))
        net.add(nn.BatchNorm(in_channels=6), nn.Dropout(0.3), nn.Flatten())
        net.add(nn.Dense(classes))
    mx.random.seed(3)
    net.initialize(mx.init.Xavier())
    return net


def ready(data: Data, classes: int = 4, channels: int = 1) -> Any:
    """A network whose shapes are known."""
    net = network(classes, channels)
    net(mx.nd.array(data.train_x[:2]))
    return net

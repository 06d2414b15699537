"""Small programs whose runs are recorded, and what a virtual clock says of them."""

from __future__ import annotations

import gc
from typing import Any

import numpy as np

import minimx as mx
from minimx import autograd, gluon
from minimx.core.device import Device
from minimx.core.record import Record

VIRTUAL: dict[str, Any] = {"MINIMX_CLOCK": "virtual"}
NAIVE: dict[str, Any] = {"MXNET_ENGINE_TYPE": "NaiveEngine"}


def perceptron(*sizes: int) -> gluon.nn.HybridSequential:
    """Dense layers with relu between them."""
    net = gluon.nn.HybridSequential()
    for size in sizes[:-1]:
        net.add(gluon.nn.Dense(size, activation="relu"))
    net.add(gluon.nn.Dense(sizes[-1]))
    return net


def convolution(channels: int = 4) -> gluon.nn.HybridSequential:
    """A convolution, pooling and a dense layer, for images of 12 by 12."""
    net = gluon.nn.HybridSequential()
    net.add(
        gluon.nn.Conv2D(channels, 3, activation="relu"),
        gluon.nn.MaxPool2D(2),
        gluon.nn.Flatten(),
        gluon.nn.Dense(10),
    )
    return net


class Program:
    """A network that is trained for a few steps of one batch, always in the same way.

    A record of it holds the steps, not the making of the network.
    """

    def __init__(
        self,
        net: gluon.nn.HybridSequential,
        device: Device,
        batch: int = 16,
        steps: int = 2,
        hybrid: bool = False,
        static: bool = False,
    ) -> None:
        self.net, self.device, self.steps, self.batch = net, device, steps, batch
        self.times = 1
        images = any(isinstance(part, gluon.nn.Conv2D) for part in net)
        shape = (batch, 1, 12, 12) if images else (batch, 24)
        numbers = np.random.default_rng(0)
        self.data = numbers.standard_normal(shape, np.float32)
        self.labels = numbers.integers(0, 10, batch).astype(np.float32)
        self.loss = gluon.loss.SoftmaxCrossEntropyLoss()
        net.initialize(ctx=device)
        if hybrid:
            net.hybridize(static_alloc=static)
        self.trainer = gluon.Trainer(
            net.collect_params(), "sgd", {"learning_rate": 0.1, "momentum": 0.9}
        )

    def multiply(self, times: int) -> None:
        """Take a batch that is so many times as large as at first."""
        first = len(self.data) // self.times
        self.times = times
        self.data = np.concatenate([self.data[:first]] * times)
        self.labels = np.concatenate([self.labels[:first]] * times)

    def __call__(self) -> None:
        for _ in range(self.steps):
            data = mx.nd.array(self.data, ctx=self.device)
            labels = mx.nd.array(self.labels, ctx=self.device)
            with autograd.record():
                loss = self.loss(self.net(data), labels)
            loss.backward()
            self.trainer.step(self.batch)
            loss.mean().asscalar()
        mx.nd.waitall()


def recorded(program: Program, calls: bool = True, **knobs: Any) -> Record:
    """A record of a program under some knobs, after a run that prepares everything."""
    gc.collect()  # what other tests have left goes now, and not during the run
    with mx.knobs(**knobs):
        program()
        for pool in mx.storage.pools():
            pool.release_all()
        with Record(calls=calls) as record:
            program()
    return record

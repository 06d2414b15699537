"""Gradients in one or two bits: how many bytes that saves, and what it costs.

moved("2bit")       bytes of one push and pull between two simulated GPUs
learned("2bit")     how a small network learns handwritten digits with it
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np

import minimx as mx
import minimx_datasets
from minimx import autograd, gluon, kvstore, nd
from minimx.core import engine
from minimx.core.device import cpu, gpu
from minimx.core.knobs import knobs
from minimx.core.record import Record

#: What a gradient has to be above to be sent at all; `learned` uses it for both kinds.
THRESHOLD: Final = 0.5
EPOCHS, BATCH = 6, 64
#: The names of settings: no compression, and the two kinds.
KINDS: Final = ("", "2bit", "1bit")


@dataclass(frozen=True)
class Moved:
    """The bytes of one gradient on its way. push: to where it is summed; pull: back."""

    push: int
    pull: int


def moved(kind: str, elements: int = 64_000) -> Moved:
    """What the store `device` sends between two simulated GPUs, from a record.

    kind: "", 2bit or 1bit.
    """
    with knobs(MINIMX_SIM_GPUS=2, MINIMX_CLOCK="virtual", MXNET_ENGINE_TYPE=None):
        store = _store(kind)
        store.init("w", nd.zeros((elements,)))
        values = [nd.ones((elements,), ctx=gpu(k)) for k in range(2)]
        engine.wait_all()
        with Record() as pushing:
            store.push("w", values)
            engine.wait_all()
        with Record() as pulling:
            store.pull("w", values)
            engine.wait_all()
        values.clear()
        del store
    return Moved(*(int(one.comm()["nbytes"].sum()) for one in (pushing, pulling)))


@dataclass(frozen=True)
class Learned:
    """How a training went. accuracy: on digits that it has not seen, after epochs."""

    kind: str
    accuracy: tuple[float, ...]

    def __repr__(self) -> str:
        shown = " ".join(f"{one:.0%}" for one in self.accuracy)
        return f"{self.kind or 'float32'}: {shown}"


def learned(kind: str, threshold: float = THRESHOLD, rate: float = 0.1) -> Learned:
    """Train a small network on two devices, with gradients in so few bits.

    The devices are `cpu(0)` and `cpu(1)`; each sends the sum of the gradients of its
    half of a batch, and a threshold has to fit such sums. rate: of learning.
    """
    train_x, train_y, test_x, test_y = minimx_datasets.load("digits")
    devices = [cpu(0), cpu(1)]
    net = _network(devices)
    trainer = gluon.Trainer(
        net.collect_params(),
        "sgd",
        {"learning_rate": rate},
        kvstore=_store(kind, threshold),
        update_on_kvstore=False,
    )
    draw = np.random.default_rng(13)
    accuracy = []
    for _ in range(EPOCHS):
        order = draw.permutation(len(train_x))
        for start in range(0, len(order), BATCH):
            rows = order[start : start + BATCH]
            _train(net, trainer, train_x[rows], train_y[rows], devices)
        scores = net(nd.array(_scaled(test_x))).asnumpy()
        accuracy.append(float((scores.argmax(1) == test_y).mean()))
    return Learned(kind, tuple(accuracy))


def _store(kind: str, threshold: float = THRESHOLD) -> Any:
    store = kvstore.create("device")
    if kind:
        store.set_gradient_compression({"type": kind, "threshold": threshold})
    return store


def _network(devices: list[Any]) -> Any:
    mx.random.seed(13)
    net = gluon.nn.HybridSequential()
    net.add(
        gluon.nn.Dense(64, in_units=64, activation="relu"),
        gluon.nn.Dense(10, in_units=64),
    )
    net.initialize(mx.init.Xavier(), ctx=devices)
    net.hybridize()
    return net


def _scaled(images: Any) -> Any:
    return images.reshape(len(images), -1).astype("float32") / 16


def _train(net: Any, trainer: Any, x: Any, y: Any, devices: list[Any]) -> None:
    parts = gluon.utils.split_and_load(nd.array(_scaled(x)), devices, even_split=False)
    labels = gluon.utils.split_and_load(
        nd.array(y.astype("float32")), devices, even_split=False
    )
    loss_of = gluon.loss.SoftmaxCrossEntropyLoss()
    with autograd.record():
        losses = [loss_of(net(a), b) for a, b in zip(parts, labels, strict=True)]
    autograd.backward(losses)
    trainer.step(len(x))

"""A small network, trained by all ranks; rank 0 writes its weights and losses.

    training.py STORE FILE [on | off]     (where the optimizer runs)

Every rank takes its share of each batch, so one rank takes all of it: what several
together must come to. FILE: begins the names of what each rank writes.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

import minimx as mx
from minimx import autograd, gluon, nd
from minimx.gluon import nn

STEPS, BATCH = 20, 16


def data() -> tuple[Any, Any]:
    draw = np.random.default_rng(1)
    images = draw.normal(size=(STEPS, BATCH, 1, 8, 8)).astype("float32")
    return images, draw.integers(0, 4, (STEPS, BATCH)).astype("float32")


def network() -> Any:
    net = nn.HybridSequential(prefix="net_")
    with net.name_scope():
        net.add(
            nn.Conv2D(4, 3, activation="tanh", in_channels=1),
            nn.Dense(16, activation="tanh", in_units=144),
            nn.Dense(4, in_units=16),
        )
    net.initialize(mx.init.Xavier())
    return net


def main(store: str, file: str, update_on_kvstore: str = "") -> None:
    kv = mx.kv.create(store)
    mx.random.seed(5)
    net = network()
    choice = {"": None, "on": True, "off": False}[update_on_kvstore]
    trainer = gluon.Trainer(
        net.collect_params(),
        "sgd",
        {"learning_rate": 0.1, "momentum": 0.9},
        kvstore=kv,
        update_on_kvstore=choice,
    )
    loss_of = gluon.loss.SoftmaxCrossEntropyLoss()
    images, labels = data()
    share = slice(kv.rank, None, kv.num_workers)
    net(nd.array(images[0]))
    for x, y in zip(images, labels, strict=True):
        with autograd.record():
            loss = loss_of(net(nd.array(x[share])), nd.array(y[share]))
        loss.backward()
        trainer.step(BATCH)
    weights = {
        name: value.data().asnumpy() for name, value in net.collect_params().items()
    }
    trainer.save_states(f"{file}.states-{kv.rank}")
    trainer.load_states(f"{file}.states-{kv.rank}")
    np.savez(f"{file}-{kv.rank}", **weights)


if __name__ == "__main__":
    main(*sys.argv[1:])

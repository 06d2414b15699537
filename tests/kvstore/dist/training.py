"""LeNet on images of glyphs, trained by all ranks; each writes its weights.

    training.py STORE FILE [on | off]     (where the optimizer runs)

Every rank takes its share of each batch, so one rank takes all of it: what several
together must come to. In float64, because steps make 0.005 of the last bits of
float32 in a hundred. FILE: begins the names of what each rank writes.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

import minimx as mx
import minimx_datasets
from minimx import autograd, gluon, nd
from minimx.gluon import nn

STEPS, BATCH = 40, 16


def data() -> tuple[Any, Any]:
    glyphs, count = minimx_datasets.load("glyphs"), STEPS * BATCH
    images = glyphs.train_x[:count].reshape(STEPS, BATCH, 1, 28, 28) / 255
    return images, glyphs.train_y[:count].reshape(STEPS, BATCH)


def array(numbers: Any) -> Any:
    return nd.array(numbers, dtype="float64")


def network() -> Any:
    net = nn.HybridSequential(prefix="net_")
    with net.name_scope():
        net.add(
            nn.Conv2D(6, 5, activation="tanh", in_channels=1),
            nn.MaxPool2D(2, 2),
            nn.Conv2D(16, 5, activation="tanh", in_channels=6),
            nn.MaxPool2D(2, 2),
            nn.Dense(120, activation="tanh", in_units=256),
            nn.Dense(84, activation="tanh", in_units=120),
            nn.Dense(10, in_units=84),
        )
    net.cast("float64")
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
    net(array(images[0]))
    for x, y in zip(images, labels, strict=True):
        with autograd.record():
            loss = loss_of(net(array(x[share])), array(y[share]))
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

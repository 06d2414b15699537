"""What a rank does: steps of three networks over `dist_sync`; rank 0 prints times.

    mpiexec -n 2 python tests/benchmarks/kvstore/steps.py

One line of JSON: seconds of a step by network; where there is one rank, the layers with
their times, from records of single steps.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import minimx as mx
from minimx import autograd, gluon, nd
from minimx.gluon import nn
from minimx.gluon.model_zoo.vision import resnet as zoo
from minimx.kvstore.simulation import Workload

WARM, STEPS, RECORDS = 4, 16, 6


def mlp() -> tuple[Any, tuple[int, ...]]:
    net = nn.HybridSequential()
    net.add(nn.Dense(1024, activation="relu"), nn.Dense(1024, activation="relu"))
    net.add(nn.Dense(10))
    return net, (256, 784)


def lenet() -> tuple[Any, tuple[int, ...]]:
    net = nn.HybridSequential()
    for channels in (20, 50):
        net.add(nn.Conv2D(channels, 5, activation="relu"), nn.MaxPool2D(2, 2))
    net.add(nn.Dense(500, activation="relu"), nn.Dense(10))
    return net, (128, 1, 28, 28)


def resnet() -> tuple[Any, tuple[int, ...]]:
    channels, blocks = [16, 16, 32, 64], [1, 1, 1]
    net = zoo.ResNetV1(zoo.BasicBlockV1, blocks, channels, thumbnail=True, classes=10)
    return net, (32, 3, 32, 32)


NETWORKS: Final = {"MLP": mlp, "LeNet": lenet, "ResNet-8": resnet}


class Training:
    """A network, and what a step of it does."""

    def __init__(self, make: Callable[[], tuple[Any, tuple[int, ...]]]) -> None:
        self.store = mx.kv.create("dist_sync")
        self.net, shape = make()
        self.net.initialize(mx.init.Xavier())
        self.net.hybridize()
        settings = {"learning_rate": 0.01, "momentum": 0.9}
        self.trainer = gluon.Trainer(
            self.net.collect_params(), "sgd", settings, kvstore=self.store
        )
        self.images, self.labels = nd.random.uniform(shape=shape), nd.zeros(shape[0])
        self.loss_of = gluon.loss.SoftmaxCrossEntropyLoss()

    def step(self) -> None:
        """Forward, backward, an update, and a wait for it."""
        with autograd.record():
            loss = self.loss_of(self.net(self.images), self.labels)
        loss.backward()
        self.trainer.step(len(self.images) * self.store.num_workers)
        nd.waitall()

    def timed(self) -> dict[str, Any]:
        """Seconds and processor seconds of a step; for one rank, its workload."""
        for _ in range(WARM):
            self.step()
        found: dict[str, Any] = {"step": self._median(time.perf_counter)}
        found["processor"] = self._median(time.process_time)
        if self.store.num_workers == 1:
            found |= self._workload(found["processor"])
        return found

    def _workload(self, processor: float) -> dict[str, Any]:
        """Of single steps, the median of each layer's times, and of Python's."""
        found = []
        for _ in range(RECORDS):
            with mx.Record() as record:
                self.step()
            one = Workload.from_record(record, self.net, processor=processor)
            found.append(one)
        layers = [
            same[0]._replace(
                forward=statistics.median(one.forward for one in same),
                backward=statistics.median(one.backward for one in same),
            )
            for same in zip(*(one.layers for one in found), strict=True)
        ]
        dispatch = statistics.median(one.dispatch for one in found)
        return {"layers": layers, "dispatch": dispatch}

    def _median(self, clock: Callable[[], float]) -> float:
        found = []
        for _ in range(STEPS):
            start = clock()
            self.step()
            found.append(clock() - start)
        return statistics.median(found)


def main() -> None:
    """Time all networks."""
    found = {name: Training(make).timed() for name, make in NETWORKS.items()}
    if mx.kv.create("dist_sync").rank == 0:
        sys.stdout.write(json.dumps(found) + "\n")


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[3]))
    main()

"""Measure one network at several batch sizes; the program of a child process.

    python -m minimx.commands.bench.cell '{"task": "score", "model": "alexnet", …}'

prints a line of JSON for every batch size as soon as it is known. A process of its own
starts with empty pools, and can be stopped when it takes too long.

A *rehearsal* decides, schedules and allocates everything as a real run does, by the
same pool on the same device, and leaves out the kernels alone. So memory that nothing
writes to is never taken from the host, and whether a batch fits a large GPU is seen on
a small machine, in a second.
"""

from __future__ import annotations

import gc
import json
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

from minimx import initializer, nd, random
from minimx.core import autograd, engine, storage
from minimx.core.device import Device
from minimx.core.errors import OutOfMemory
from minimx.core.knobs import knobs
from minimx.core.ops.registry import Plan
from minimx.gluon import loss
from minimx.gluon.model_zoo import vision
from minimx.gluon.trainer import Trainer

Step = Callable[[], None]


def image_size(model: str) -> int:
    """Pixels along a side, as the network was published."""
    return 299 if model == "inceptionv3" else 224


class Bench:
    """A network on a device, ready for batches of any size."""

    def __init__(self, settings: dict[str, Any]) -> None:
        self.settings = settings
        self.device = Device(settings["ctx"], 0)
        random.seed(0)
        with self.device:
            net = vision.get_model(settings["model"], classes=settings["classes"])
            net.initialize(initializer.Xavier(magnitude=2.0), ctx=self.device)
            net.cast(settings["dtype"])
        if settings["task"] == "score":
            net.collect_params().setattr("grad_req", "null")
        self.net = net

    def step(self, batch: int) -> Step:
        """What is timed: a batch forward; in training also backward and an update."""
        self.net.hybridize(static_alloc=True, static_shape=True)
        side = self.settings["image"] or image_size(self.settings["model"])
        x = nd.random.uniform(-1, 1, (batch, 3, side, side), ctx=self.device)
        x = x.astype(self.settings["dtype"])
        if self.settings["task"] == "score":
            return lambda: self.net(x).wait_to_read()
        labels = nd.zeros((batch,), ctx=self.device)
        judge = loss.SoftmaxCrossEntropyLoss()
        trainer = Trainer(
            self.net.collect_params(),
            "sgd",
            {"learning_rate": 1e-4, "momentum": 0.9},
        )

        def train() -> None:
            with autograd.record():
                wrong = judge(self.net(x), labels)
            wrong.backward()
            trainer.step(batch)
            engine.wait_all()

        return train

    def forget(self) -> None:
        """Give back what a batch size held."""
        self.net.hybridize(False)
        engine.wait_all()
        gc.collect()
        storage.empty_cache(self.device)
        storage.reset_peaks(self.device)

    def measure(self, batch: int) -> dict[str, Any]:
        """One cell of the table."""
        self.forget()
        cell: dict[str, Any] = {"model": self.settings["model"], "batch": batch}
        try:
            times = self._timed(self.step(batch))
        except OutOfMemory as full:
            return {**cell, "status": "oom", "note": str(full).splitlines()[0]}
        cell["peak_bytes"] = storage.stats(self.device).peak_rounded
        if self.settings["rehearse"]:
            return {**cell, "status": "rehearsed"}
        median = statistics.median(times)
        return {
            **cell,
            "status": "ok",
            "images_per_second": batch / median,
            "seconds": [round(seconds, 6) for seconds in times],
        }

    def _timed(self, step: Step) -> list[float]:
        """Seconds of each timed batch, after some that are not."""
        warm = 1 if self.settings["rehearse"] else self.settings["warm"]
        for _ in range(warm):
            step()
        times: list[float] = []
        enough = time.perf_counter() + self.settings["seconds"]
        while len(times) < self.settings["most"]:
            start = time.perf_counter()
            step()
            end = time.perf_counter()
            times.append(end - start)
            if end > enough and len(times) >= self.settings["least"]:
                break
        return times


def main() -> None:
    """Measure what the argument asks for."""
    settings = json.loads(sys.argv[1])
    Plan.dry_run = settings["rehearse"]
    if Plan.dry_run:  # nothing is measured: convolutions are chosen by their model
        knobs.set(MINIMX_CPU_AUTOTUNE=False)
    bench = Bench(settings)
    for batch in settings["batches"]:
        cell = bench.measure(batch)
        print(json.dumps(cell), flush=True)
        if cell["status"] == "oom":
            return  # arrays of the failed batch may live on in the error


if __name__ == "__main__":
    main()

"""Before you rely on it: devices, checkpoints, graphs in files, and batches.

The stories of the troubleshooting guide and the performance tips that have no notebook
of their own. Each probe runs a small program and counts: bytes that cross between
devices, losses that come back after a restart, operators of a graph, steps of an epoch.
"""

from __future__ import annotations

import json
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

import minimx as mx
from minimx import autograd, gluon, nd
from minimx_widgets.course.parts.checks import Feedback, check
from minimx_widgets.course.parts.text import code

WIDTH: Final = 256
#: Where the next steps of two runs are the same, bit for bit, all are.
STEPS: Final = 6


# -- devices -------------------------------------------------------------------------


class Mixed(gluon.Block):
    """Three layers, each on the device it was put on; results are copied between."""

    def __init__(self, devices: Sequence[Any], width: int = WIDTH) -> None:
        super().__init__()
        self.devices = list(devices)
        self.layers = gluon.nn.Sequential()
        for _ in devices:
            self.layers.add(gluon.nn.Dense(width, in_units=width, activation="relu"))
        for layer, device in zip(self.layers, devices, strict=True):
            layer.initialize(ctx=device)

    def forward(self, x: Any) -> Any:
        """Each layer where its weights are."""
        for layer, device in zip(self.layers, self.devices, strict=True):
            x = layer(x.as_in_context(device))
        return x


def step(net: Mixed, batch: int) -> mx.Record:
    """The record of one training step, on the virtual clock."""
    first = net.devices[0]
    x = nd.ones((batch, WIDTH), ctx=first)
    with mx.knobs(MINIMX_CLOCK="virtual"):
        for _ in range(2):  # the first step also initializes
            mx.nd.waitall()
            with mx.Record() as seen:
                with autograd.record():
                    loss = net(x).sum()
                loss.backward()
                mx.nd.waitall()
    return seen


def crossing(seen: mx.Record) -> tuple[int, int]:
    """How many copies between devices a record holds, and their bytes."""
    rows = seen.comm()
    return len(rows), int(rows["nbytes"].sum())


def crossing_kib(batch: float) -> float:
    """KiB that cross in a step with the middle layer on the CPU."""
    gpu, cpu = mx.gpu(0), mx.cpu()
    return crossing(step(Mixed([gpu, cpu, gpu]), int(batch)))[1] / 1024


def span_us(seen: mx.Record) -> float:
    """How long a record's operations take from the first to the last, in µs."""
    ops = seen.ops()
    return float(ops["t_end"].max() - ops["t_start"].min()) * 1e-3


# -- checkpoints ----------------------------------------------------------------------


class Training:
    """A small network that is trained with momentum on the same numbers each time."""

    def __init__(self, optimizer: str = "sgd", seed: int = 0) -> None:
        mx.random.seed(seed)
        self.net = gluon.nn.HybridSequential()
        # The scope counts from 0 in each network: a trainer orders its parameters by
        # name, and without it dense10_ would come before dense9_.
        with self.net.name_scope():
            self.net.add(gluon.nn.Dense(16, activation="tanh"), gluon.nn.Dense(1))
        self.net.initialize(mx.init.Xavier())
        settings: dict[str, float] = {"learning_rate": 0.05}
        if optimizer == "sgd":
            settings["momentum"] = 0.9
        self.trainer = gluon.Trainer(self.net.collect_params(), optimizer, settings)
        random = np.random.default_rng(1)
        self.x = nd.array(random.normal(size=(64, 8)))
        self.y = nd.array(random.normal(size=(64, 1)))

    def losses(self, steps: int) -> list[float]:
        """The loss of each of so many steps."""
        found = []
        for _ in range(steps):
            with autograd.record():
                loss = ((self.net(self.x) - self.y) ** 2).mean()
            loss.backward()
            self.trainer.step(1)
            found.append(float(loss.asscalar()))
        return found


Save = Callable[[str, Any, Any], object]


def save_weights(folder: str, net: Any, trainer: Any) -> None:
    """A checkpoint of the weights alone."""
    net.save_parameters(f"{folder}/net.params")


def load_weights(folder: str, net: Any, trainer: Any) -> None:
    """What `save_weights` saved."""
    net.load_parameters(f"{folder}/net.params")


def save_all(folder: str, net: Any, trainer: Any) -> None:
    """A checkpoint of weights and the trainer's state."""
    save_weights(folder, net, trainer)
    trainer.save_states(f"{folder}/trainer.states")


def load_all(folder: str, net: Any, trainer: Any) -> None:
    """What `save_all` saved."""
    load_weights(folder, net, trainer)
    trainer.load_states(f"{folder}/trainer.states")


def equal_losses(
    save: Save, load: Save, steps: int = STEPS, optimizer: str = "sgd"
) -> int:
    """How many losses after a restart are those of a run without it, until one is not.

    Four steps, a checkpoint, so many steps; then a new process's network and trainer,
    the checkpoint, and so many steps again.
    """
    with tempfile.TemporaryDirectory() as folder:
        first = Training(optimizer)
        first.losses(4)
        save(folder, first.net, first.trainer)
        expected = first.losses(steps)
        again = Training(optimizer, seed=1)
        again.net(again.x)  # its weights exist, and are others
        load(folder, again.net, again.trainer)
        found = again.losses(steps)
    pairs = zip(expected, found, strict=True)
    return next((k for k, (a, b) in enumerate(pairs) if a != b), steps)


@check
def check_checkpoint(functions: Sequence[Save]) -> Feedback:
    """Whether (save, load) bring a training back, bit for bit."""
    save, load = functions
    for optimizer in ("sgd", "adam"):
        same = equal_losses(save, load, optimizer=optimizer)
        if same < STEPS:
            idea = "what the optimizer remembers: momentum, means, a count of steps"
            if same == 0:
                idea = "the weights: they are not those that were saved"
            return Feedback(
                False,
                f"with {optimizer}, loss {same + 1} after the restart is another",
                f"{STEPS} losses that are equal to the last bit",
                idea,
            )
    return Feedback(True, f"{STEPS} losses, equal to the last bit, with sgd and adam")


# -- graphs in files ------------------------------------------------------------------


class Loop(gluon.HybridBlock):
    """A sum that was written as a loop: `times` additions of the same bias."""

    def __init__(self, times: int, at_once: bool = False) -> None:
        super().__init__()
        self.times, self.at_once = times, at_once
        self.bias = self.params.get("bias", shape=(1,), init="ones")

    def hybrid_forward(self, F: Any, x: Any, bias: Any) -> Any:
        """The same numbers in both ways."""
        if self.at_once:
            return F.broadcast_add(x, bias * self.times)
        for _ in range(self.times):
            x = F.broadcast_add(x, bias)
        return x


def exported(net: gluon.HybridBlock) -> Counter[str]:
    """How often each operator stands in the JSON file of a hybridized network."""
    net.initialize()
    net.hybridize()
    net(nd.ones((4, 4)))
    with tempfile.TemporaryDirectory() as folder:
        net.export(f"{folder}/net")
        graph = json.loads(Path(folder, "net-symbol.json").read_text("utf-8"))
    return Counter(node["op"] for node in graph["nodes"] if node["op"] != "null")


def operators(times: float) -> int:
    """How many operators the graph of a loop has."""
    return exported(Loop(int(times))).total()


# -- batches --------------------------------------------------------------------------


def accuracy(batch: int, epochs: int = 3, seed: int = 0) -> tuple[int, float]:
    """Steps of a training with batches of this size, and its accuracy in percent.

    The same 2,048 images each epoch, four kinds of spots in noise, the same rate.
    """
    mx.random.seed(seed)
    random = np.random.default_rng(seed)
    labels = random.integers(0, 4, 2048)
    images = random.normal(0, 1.0, (2048, 8, 8)).astype("float32")
    for k, (row, column) in enumerate(((0, 0), (0, 4), (4, 0), (4, 4))):
        images[labels == k, row : row + 4, column : column + 4] += 0.7
    x, y = nd.array(images.reshape(2048, 64)), nd.array(labels)
    net = gluon.nn.HybridSequential()
    net.add(gluon.nn.Dense(32, activation="relu"), gluon.nn.Dense(4))
    net.initialize(mx.init.Xavier())
    net.hybridize()
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.05})
    lossf = gluon.loss.SoftmaxCrossEntropyLoss()
    steps = 0
    for _ in range(epochs):
        for begin in range(0, 2048, batch):
            part = slice(begin, begin + batch)
            with autograd.record():
                loss = lossf(net(x[part]), y[part])
            loss.backward()
            trainer.step(batch)
            steps += 1
    right = (net(x).argmax(axis=1).asnumpy() == labels).mean()
    return steps, float(100 * right)


SENTENCE: Final = (
    "The weights are only a part of the state of a training run: the optimizer "
    "remembers momentum and counts of steps, and without them the next update is "
    "different."
)
HINTS: Final = (
    "The weights came back: the first loss is right. What else does a step read?",
    "The trainer has two methods for it: <code>save_states</code> and "
    "<code>load_states</code>. Both take the name of a file.",
    code(
        """
        def save(folder, net, trainer):
            net.save_parameters(f"{folder}/net.params")
            trainer.save_states(f"{folder}/trainer.states")
        """
    )
    + "and the same with <code>load</code>.",
)

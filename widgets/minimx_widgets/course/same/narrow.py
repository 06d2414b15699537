"""The same network in float32, float16 and bfloat16, and what it learns.

`lenet` trains LeNet on the 28×28 images under mixed precision, `faint` an autoencoder
whose gradients are too small for float16. `python -m tests.same.narrow` does both with
several seeds and keeps what comes out, and `recorded_types` reads it.
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

import minimx as mx
import minimx_datasets
from minimx import amp, gluon, nd
from minimx.core import autograd
from minimx_widgets.course.same.record import RESULTS
from minimx_widgets.tables import Table

KINDS = ("float32", "float16", "bfloat16")
#: By so much may the mean accuracy differ from that of float32.
ALLOWED = 0.003
#: The learning rates of LeNet's epochs; small ones at the end calm the score.
RATES = (0.1, 0.03, 0.005)
#: How wide the layers of the autoencoder are, but for the last.
WIDTHS = (128, 64, 32, 64, 128)


@contextmanager
def mixed(kind: str) -> Iterator[bool]:
    """Mixed precision of a type, none for float32; whether losses should be scaled."""
    amp.shutdown()
    if kind != "float32":
        amp.init(kind)
    try:
        yield kind == "float16"
    finally:
        amp.shutdown()


def lenet(kind: str, seed: int, rates: Sequence[float] = RATES) -> float:
    """The share of 2,000 images that LeNet recognises after some epochs."""
    x, y, test_x, test_y = minimx_datasets.load("glyphs")
    x, test_x = (part[:, None].astype("float32") / 255 for part in (x, test_x))
    with mixed(kind) as scaled:
        net = gluon.nn.HybridSequential()
        for channels in (8, 16):
            net.add(gluon.nn.Conv2D(channels, 5, activation="tanh"))
            net.add(gluon.nn.MaxPool2D(2, 2))
        net.add(gluon.nn.Flatten(), gluon.nn.Dense(64, activation="tanh"))
        net.add(gluon.nn.Dense(10))
        trainer = _trainer(net, seed, scaled, "sgd", momentum=0.9)
        loss_fn = gluon.loss.SoftmaxCrossEntropyLoss()
        draw = np.random.default_rng(seed)
        for rate in rates:
            trainer.set_learning_rate(rate)
            for k in draw.permutation(len(x)).reshape(-1, 50):
                with autograd.record():
                    loss = loss_fn(net(nd.array(x[k])), nd.array(y[k]))
                _learn(loss, trainer, len(k))
        found = [net(nd.array(some)).asnumpy() for some in np.split(test_x, 4)]
    return float((np.concatenate(found).argmax(axis=1) == test_y).mean())


@dataclass(frozen=True)
class Faint:
    """What an autoencoder learnt whose gradients are small.

    losses: of every step. flushed: for each weight matrix, from the data on, which
    share of its gradient was exactly zero in the last step.
    """

    losses: tuple[float, ...]
    flushed: tuple[float, ...]


def faint(
    kind: str,
    scaled: bool,
    seed: int = 0,
    steps: int = 200,
    batch: int = 250,
    every: int = 0,
) -> Faint:
    """Train an autoencoder of sigmoids on the mean over all pixels of a batch.

    A pixel's share of that mean is one in 196,000, and each sigmoid on the way back
    takes three quarters of a gradient or more. every: in each so many steps a record
    that listens remembers how large the numbers are; 0 means never.
    """
    x = minimx_datasets.load("glyphs").train_x.reshape(-1, 784).astype("float32") / 255
    with mixed(kind):
        net: Any = gluon.nn.HybridSequential()
        with net.name_scope():  # dense0 to dense5, however many networks came before
            for width in (*WIDTHS, 784):
                net.add(gluon.nn.Dense(width, activation="sigmoid"))
        trainer = _trainer(net, seed, scaled, "adam", learning_rate=3e-3, epsilon=1e-12)
        loss_fn, draw, losses = gluon.loss.L2Loss(), np.random.default_rng(seed), []
        watch = mx.numerics.watch(net, trainer, every) if every else nullcontext()
        with watch:
            for _ in range(steps):
                data = nd.array(x[draw.integers(0, len(x), batch)])
                with autograd.record():
                    loss = loss_fn(net(data), data).mean()
                _learn(loss, trainer, 1)
                losses.append(float(loss.asscalar()))
        slopes = [layer.weight.grad().asnumpy() for layer in net]
    return Faint(tuple(losses), tuple(float((g == 0).mean()) for g in slopes))


def _trainer(
    net: Any, seed: int, scaled: bool, optimizer: str, **settings: float
) -> Any:
    mx.random.seed(seed)
    net.initialize(mx.init.Xavier())
    net.hybridize(static_alloc=True, static_shape=True)
    trainer = gluon.Trainer(net.collect_params(), optimizer, settings)
    if scaled:
        amp.init_trainer(trainer)
    return trainer


def _learn(loss: Any, trainer: Any, batch: int) -> None:
    if trainer._amp_loss_scaler is None:
        loss.backward()
    else:
        with autograd.record(), amp.scale_loss(loss, trainer) as big:
            pass
        big.backward()
    trainer.step(batch)


# -- what was recorded -----------------------------------------------------------------


@dataclass(frozen=True)
class Types:
    """What came out with several seeds.

    conditions: date and machine. accuracy: {type: LeNet's, by seed}. last: {case: mean
    loss of the autoencoder's last ten steps, by seed}; the cases are the types, and
    "float16, not scaled". flushed: {case: the largest share of zeros in a gradient}.
    """

    conditions: Mapping[str, Any]
    accuracy: Mapping[str, list[float]]
    last: Mapping[str, list[float]]
    flushed: Mapping[str, list[float]]

    def gained(self, kind: str) -> float:
        """By how much the mean accuracy is above that of float32."""
        of = {name: statistics.mean(found) for name, found in self.accuracy.items()}
        return of[kind] - of["float32"]

    def save(self, folder: Path = RESULTS) -> Path:
        """Write a file that is named by date; returns its path."""
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{self.conditions['date']}-types.json"
        path.write_text(json.dumps(asdict(self), indent=1) + "\n", encoding="utf-8")
        return path

    def table(self) -> Table:
        """LeNet in each type."""
        rows = [
            (
                kind,
                *(f"{100 * one:.2f}" for one in found),
                f"{100 * statistics.mean(found):.2f}",
                f"{100 * self.gained(kind):+.2f}",
            )
            for kind, found in self.accuracy.items()
        ]
        seeds = [f"seed {k}" for k in range(len(rows[0]) - 3)]
        heads = ("type", *seeds, "mean, %", "against float32")
        return Table.of(heads, rows)

    def faint_table(self) -> Table:
        """The autoencoder in each case."""
        rows = [
            (case, f"{statistics.mean(found):.4f}", f"{max(self.flushed[case]):.0%}")
            for case, found in self.last.items()
        ]
        return Table.of(("case", "last loss", "zeros in a gradient"), rows)


def recorded_types() -> Types:
    """The latest comparison that is kept."""
    newest = sorted(RESULTS.glob("*-types.json"))[-1]
    return Types(**json.loads(newest.read_text(encoding="utf-8")))

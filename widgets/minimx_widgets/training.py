"""What a lab trains: settings, data, and the training loop as a program of small steps.

The loop is ordinary MXNet code. What is special about it: it yields after every batch,
so that a session can pause or stop it; it reads learning rate, batch size and epochs
anew for every step, so that they can be changed while it runs; and it looks at the loss
of a step only after the next one was pushed, so that the engine always has work and yet
never gets further ahead than two steps.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

import minimx as mx
from minimx.errors import ArgumentError, did_you_mean
from minimx.events import attributed
from minimx_widgets.networks import NETWORKS
from minimx_widgets.session import Program, Progress
from minimx_widgets.training_monitor import LOSS, SPEED, TEST, TRAIN
from minimx_widgets.units import counted

Pixels = npt.NDArray[np.float32]
# observe(step, name, value) keeps a metric.
Observe = Callable[[int, str, float], None]

DATA = ("glyphs", "digits")
# Optimizer → the learning rate to start with, and its further settings.
OPTIMIZERS: dict[str, tuple[float, dict[str, Any]]] = {
    "sgd": (0.1, {}),
    "momentum": (0.05, {"momentum": 0.9}),
    "nag": (0.05, {"momentum": 0.9}),
    "adam": (0.002, {}),
}
#: Types in which layers compute; weights and updates are float32 in any case.
SINGLE, HALF = "float32", "float16"
DTYPES = (SINGLE, HALF, "bfloat16")
TEST_BATCH = 250


@dataclass
class Settings:
    """What to train and how; the last three may change while it runs."""

    network: Any = "lenet"
    data: Any = "glyphs"
    device: str = "cpu(0)"
    dtype: str = SINGLE
    optimizer: str = "adam"
    seed: int = 0
    learning_rate: float = 0.002
    batch_size: int = 128
    epochs: int = 5


@dataclass(frozen=True)
class Data:
    """Images (samples, channels, side, side) from 0 to 1, and labels as float32."""

    train_x: Pixels
    train_y: Pixels
    test_x: Pixels
    test_y: Pixels

    @property
    def side(self) -> int:
        """Pixels along one side."""
        return int(self.train_x.shape[-1])

    @property
    def classes(self) -> int:
        """How many different labels there are."""
        return int(self.train_y.max()) + 1


def load(source: Any) -> Data:
    """Data by name, from four arrays, or from a Gluon dataset.

    Arrays are (train images, train labels, test images, test labels). Of a single
    dataset the last sixth is kept for testing. Raises `ArgumentError` otherwise.
    """
    if isinstance(source, str):
        return _named(source)
    if isinstance(source, mx.gluon.data.Dataset):
        pairs = [source[i] for i in range(len(source))]
        x, y = (np.stack([np.asarray(p[k]) for p in pairs]) for k in (0, 1))
        cut = len(x) - len(x) // 6
        return _prepared(x[:cut], y[:cut], x[cut:], y[cut:])
    if isinstance(source, tuple | list) and len(source) == 4:
        return _prepared(*map(np.asarray, source))
    raise ArgumentError(
        f"Lab: data is {type(source).__name__}. Give a name ({', '.join(DATA)}), a "
        "gluon Dataset, or (train images, train labels, test images, test labels)."
    )


def _named(name: str) -> Data:
    if name not in DATA:
        near = did_you_mean(name, DATA)
        raise ArgumentError(
            f"Lab: data={name!r} is not known: {', '.join(DATA)}.{near}"
        )
    import minimx_datasets

    return _prepared(*getattr(minimx_datasets, name).load())


def _prepared(*arrays: npt.NDArray[Any]) -> Data:
    """Images scaled to 0…1 with a channel axis, labels as float32; shapes checked."""
    train_x, train_y, test_x, test_y = arrays
    if len(train_x) != len(train_y) or len(test_x) != len(test_y) or not len(train_x):
        counts = ", ".join(str(len(array)) for array in arrays)
        raise ArgumentError(
            f"Lab: images and labels do not pair up: {counts} rows. There must be as "
            "many labels as images, and at least one."
        )
    scale = 1.0 / max(float(train_x.max()), 1.0)

    def images(x: npt.NDArray[Any]) -> Pixels:
        x = x[:, None] if x.ndim == 3 else x
        return np.ascontiguousarray(x, np.float32) * np.float32(scale)

    x, test = images(train_x), images(test_x)
    return Data(x, train_y.astype(np.float32), test, test_y.astype(np.float32))


def made(network: Any, data: Data) -> Any:
    """The network for images of such a size. It is a name, a Block, or makes one.

    Raises `ArgumentError` for an unknown name.
    """
    if isinstance(network, str):
        if network not in NETWORKS:
            near = did_you_mean(network, NETWORKS)
            raise ArgumentError(
                f"Lab: network={network!r} is not known: {', '.join(NETWORKS)}.{near}"
            )
        network = NETWORKS[network](data.side, data.classes)
    elif not isinstance(network, mx.gluon.Block):
        network = network()
    return network


def build(network: Any, data: Data, device: Any) -> Any:
    """The network, `made` and initialised on a device."""
    network = made(network, data)
    network.initialize(mx.init.Xavier(magnitude=2.24), ctx=device, force_reinit=True)
    return network


@contextmanager
def mixed(
    dtype: str, net: Any, trainer: Any, scaler: mx.amp.LossScaler | None
) -> Iterator[None]:
    """Inside, layers compute in `dtype`: the whole process does, as `mx.amp` has it.

    scaler: what scales the losses of the trainer. Who had switched mixed precision on
    before keeps it. Raises `ArgumentError` if it is on with another type.
    """
    if dtype == SINGLE:
        yield
        return
    was_on = mx.amp.is_active()
    mx.amp.init(dtype)
    try:
        if scaler is not None:
            mx.amp.init_trainer(trainer, scaler)
        _write_anew(net)
        yield
    finally:
        if not was_on:
            mx.amp.shutdown()
        _write_anew(net)


def _write_anew(net: Any) -> None:
    """Graphs that were written with, or without, conversions are forgotten."""

    def forget(block: mx.gluon.Block) -> None:
        if isinstance(block, mx.gluon.HybridBlock):
            block._forget_graphs()

    net.apply(forget)


def device_of(text: str) -> Any:
    """The device that `text` names, such as "gpu(0)". Raises `ArgumentError`."""
    kind, _, rest = text.partition("(")
    if kind not in ("cpu", "gpu") or not rest.removesuffix(")").isdigit():
        raise ArgumentError(f"Lab: device={text!r}: write cpu(0) or gpu(0).")
    return mx.Device(kind, int(rest.removesuffix(")")))


class Fit:
    """One training from the beginning: `program()` goes through it step by step.

    looks: asked before each step whether somebody looks at the numbers; then every
    tenth step counts weights, activations and gradients. scaler: that of the losses,
    in float16.
    """

    def __init__(
        self,
        settings: Settings,
        observe: Observe,
        *,
        data: Data | None = None,
        looks: Callable[[], bool] = lambda: False,
    ) -> None:
        self.settings = settings
        self._observe, self._looks = observe, looks
        scaled = settings.dtype == HALF
        self.scaler = mx.amp.LossScaler() if scaled else None
        self.data = load(settings.data) if data is None else data
        self.device = device_of(settings.device)
        mx.random.seed(settings.seed)
        self._order = np.random.default_rng(settings.seed)
        self.net = build(settings.network, self.data, self.device)
        self._loss = mx.gluon.loss.SoftmaxCrossEntropyLoss()
        name = settings.optimizer
        more = dict(OPTIMIZERS[name][1])
        more["learning_rate"] = settings.learning_rate
        optimizer = "sgd" if name == "momentum" else name
        self._trainer = mx.gluon.Trainer(self.net.collect_params(), optimizer, more)
        self._watch: mx.numerics.Watch | None = None
        self.epoch = self.step = 0
        self._times: deque[tuple[float, int]] = deque(maxlen=12)
        self._rate = 0.0

    def program(self) -> Program:
        """Train for the epochs of the settings; after each, look at the test set."""
        with mixed(self.settings.dtype, self.net, self._trainer, self.scaler):
            try:
                while self.epoch < self.settings.epochs:
                    self.epoch += 1
                    self._observe(self.step, "epoch", self.epoch)
                    yield from self._train_epoch()
                    yield from self._evaluate()
            finally:
                self._look(False)

    def _look(self, wanted: bool) -> None:
        """Begin or end to count numbers, as somebody looks at them or no longer."""
        if wanted and self._watch is None:
            self._watch = mx.numerics.watch(self.net, self._trainer)
        elif not wanted and self._watch is not None:
            self._watch.close()
            self._watch = None

    def _train_epoch(self) -> Program:
        x, y = self.data.train_x, self.data.train_y
        order = self._order.permutation(len(x))
        tally = Tally(self._observe)
        start, before = 0, None
        while start < len(order):
            rows = np.sort(order[start : start + self.settings.batch_size])
            start += len(rows)
            pushed = self._train_step(x[rows], y[rows])
            self.step += 1
            tally.add(before)
            before = (self.step, *pushed, len(rows))
            self._measure(len(rows))
            yield self._progress(start, tally)
        tally.add(before)

    def _train_step(self, x: Pixels, y: Pixels) -> tuple[Any, Any]:
        """Push one step; returns its mean loss and how many were right, unread."""
        trainer = self._trainer
        if trainer.learning_rate != self.settings.learning_rate:
            trainer.set_learning_rate(self.settings.learning_rate)
        self._look(self._looks())
        data, label = self._batch(x, y)
        with mx.autograd.record():
            out = self.net(data)
            loss = self._loss(out, label)
            if self.scaler is not None:
                with mx.amp.scale_loss(loss, trainer) as scaled:
                    scaled.backward()
        if self.scaler is None:
            loss.backward()
        trainer.step(len(x))
        with attributed(phase="evaluate"):
            return loss.mean(), _right(out, label)

    def _batch(self, x: Pixels, y: Pixels) -> tuple[Any, Any]:
        with attributed(phase="data", category="data"):
            return mx.nd.array(x, ctx=self.device), mx.nd.array(y, ctx=self.device)

    def _evaluate(self) -> Program:
        """The share of the test set that is recognised."""
        x, y = self.data.test_x, self.data.test_y
        right = 0.0
        for start in range(0, len(x), TEST_BATCH):
            data, label = self._batch(
                x[start : start + TEST_BATCH], y[start : start + TEST_BATCH]
            )
            with attributed(phase="evaluate"), mx.autograd.predict_mode():
                right += float(_right(self.net(data), label).asscalar())
            words = f"epoch {self.epoch} of {self.settings.epochs} · test set"
            yield self._at(len(self.data.train_x), words, step=False)
        self._observe(self.step, TEST, right / max(len(x), 1))
        self._times.clear()

    def _measure(self, samples: int) -> None:
        """Samples per second over the last dozen steps."""
        self._times.append((time.perf_counter(), samples))
        if len(self._times) > 1:
            took = self._times[-1][0] - self._times[0][0]
            self._rate = sum(count for _, count in list(self._times)[1:]) / took
            self._observe(self.step, SPEED, self._rate)

    def _progress(self, start: int, tally: Tally) -> Progress:
        words = f"epoch {self.epoch} of {self.settings.epochs} · step {self.step:,}"
        if tally.samples:
            words += f" · loss {tally.loss:.3f} · {100 * tally.accuracy:.1f} % right"
        if self.scaler is not None:
            words += f" · loss scale {self.scaler.loss_scale:,.0f}"
            words += f", {counted(self.scaler.skipped, 'step')} skipped"
        if self._rate:
            epochs = self.settings.epochs - self.epoch + 1
            left = (len(self.data.train_x) * epochs - start) / self._rate
            words += f" · {self._rate:,.0f} samples/s · {_clock(left)} left"
        return self._at(start, words)

    def _at(self, start: int, words: str, *, step: bool = True) -> Progress:
        size = len(self.data.train_x)
        done, total = (self.epoch - 1) * size + start, self.settings.epochs * size
        epochs = self.settings.epochs
        return Progress(done, total, words, self.epoch, epochs, self.step, step)


class Tally:
    """Running loss and accuracy of an epoch, read one step behind what is pushed."""

    def __init__(self, observe: Observe) -> None:
        self._observe = observe
        self._right = 0.0
        self.samples = 0
        self.loss = 0.0

    @property
    def accuracy(self) -> float:
        """The share of the epoch's samples that were recognised so far."""
        return self._right / max(self.samples, 1)

    def add(self, pushed: tuple[int, Any, Any, int] | None) -> None:
        """Read a step that was pushed; waits for it."""
        if pushed is None:
            return
        step, loss, right, samples = pushed
        self.loss = float(loss.asscalar())
        self._right += float(right.asscalar())
        self.samples += samples
        self._observe(step, LOSS, self.loss)
        self._observe(step, TRAIN, self.accuracy)


def _right(out: Any, label: Any) -> Any:
    """How many rows of `out` have their largest value where the label says."""
    return (out.argmax(axis=1) == label).sum()


def _clock(seconds: float) -> str:
    """A time to wait in words.

    >>> _clock(7.6), _clock(150), _clock(7 * 3600 + 150)
    ('8 s', '2 min 30 s', '7 h 2 min')
    """
    minutes, rest = divmod(round(seconds), 60)
    if minutes >= 60:
        return f"{minutes // 60} h {minutes % 60} min"
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"

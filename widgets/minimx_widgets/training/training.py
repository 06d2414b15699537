"""What a lab trains: settings, data, and the training loop as a program of small steps.

The loop is ordinary MXNet code. What is special about it: it yields after every batch,
so that a session can pause or stop it, and a later program goes on from there; it reads
the settings anew for every step, so that most of them can be changed while it runs; and
it looks at the loss of a step only after the next one was pushed, so that the engine
always has work and yet never gets further ahead than two steps.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

import minimx as mx
from minimx.core.errors import ArgumentError, MXNetError, did_you_mean
from minimx.core.events import attributed
from minimx.core.record import Record
from minimx_widgets.pictures.training_series import BATCH, LOSS, SPEED, TEST, TRAIN
from minimx_widgets.training.binding import Binding
from minimx_widgets.training.meter import LOSS_SCALE, Facts, Meter
from minimx_widgets.training.networks import NETWORKS
from minimx_widgets.training.precision import DYNAMIC, SINGLE, Precision, scaler_for
from minimx_widgets.training.predictions import Probe
from minimx_widgets.training.session import Program, Progress
from minimx_widgets.training.spread import (
    ON_DEVICES,
    Spread,
    device_of,
    memory_of,
)
from minimx_widgets.units import counted

Pixels = npt.NDArray[np.float32]
# A device's part of a step: mean loss and how many were right, unread; its samples.
Part = tuple[Any, Any, int]
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
#: How the network runs: operator by operator; as a graph; as a graph whose memory and
#: bound operators are kept from step to step.
IMPERATIVE, HYBRIDIZED, STATIC_GRAPH = "imperative", "hybridized", "static"
GRAPHS = (IMPERATIVE, HYBRIDIZED, STATIC_GRAPH)
TEST_BATCH = 250


@dataclass
class Settings:
    """What to train and how; those from `graph` on may change while it runs.

    devices: how many train together, from `device` on. store: where their gradients
    meet, one of `spread.stores`. averaged: how many elements the loss is an average
    over. It is divided by so many
    before backward, and the updates are multiplied by as many: in float32 a power of
    two changes no bit, while in float16 small gradients vanish. epochs: 0 trains until
    it is stopped.
    """

    network: Any = "lenet"
    data: Any = "glyphs"
    device: str = "cpu(0)"
    optimizer: str = "adam"
    seed: int = 0
    graph: str = HYBRIDIZED
    devices: int = 1
    store: str = ON_DEVICES
    dtype: str = SINGLE
    scaling: str = DYNAMIC
    averaged: int = 1
    learning_rate: float = 0.002
    batch_size: int = 128
    epochs: int = 0


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
    """The network, `made` and initialised on a device.

    Open shapes are learnt from one image, operator by operator, so that the order in
    which weights are drawn does not depend on how the network will run.
    """
    network = made(network, data)
    network.initialize(mx.init.Xavier(magnitude=2.24), ctx=device, force_reinit=True)
    network.hybridize(False)
    with mx.autograd.predict_mode(), attributed(phase="data"):
        network(mx.nd.array(data.train_x[:1], ctx=device))
    return network


class Fit:
    """One training: `program()` goes through it step by step, or on with it.

    looks: asked before each step whether the numbers are looked at; then every tenth
    step counts weights, activations and gradients. record: what the meter reads.
    stepped: called after each step with its number and its facts, in the training's
    thread. refused: called with the error where the devices of the settings cannot
    train; by default it is raised. rebound: called when graphs were bound again, with
    the planned bytes before and after (0 where nothing is planned). probe: asks the
    network about test images between two steps.
    """

    def __init__(
        self,
        settings: Settings,
        record: Record,
        *,
        data: Data | None = None,
        looks: Callable[[], bool] = lambda: False,
        stepped: Callable[[int, Facts], None] = lambda step, facts: None,
        rebound: Callable[[int, int], None] = lambda before, after: None,
        refused: Callable[[MXNetError], None] | None = None,
        probe: Probe | None = None,
    ) -> None:
        self.settings, self._probe = settings, probe
        self._observe, self._looks = record.metric, looks
        self._stepped, self._rebound, self._refused = stepped, rebound, refused
        self.data = load(settings.data) if data is None else data
        #: The first of the devices, which also predicts.
        self.device = device_of(settings.device)
        mx.random.seed(settings.seed)
        self._shuffle = np.random.default_rng(settings.seed)
        self.net = build(settings.network, self.data, self.device)
        self._loss = mx.gluon.loss.SoftmaxCrossEntropyLoss()
        name = settings.optimizer
        more = dict(OPTIMIZERS[name][1])
        more["learning_rate"] = settings.learning_rate
        optimizer = "sgd" if name == "momentum" else name
        self._trainer = mx.gluon.Trainer(self.net.collect_params(), optimizer, more)
        self.precision = Precision(self._trainer)
        self.binding = Binding(self.net, self._loss, self.device)
        self.spread = Spread(self.net, self._trainer, settings.device)
        self._meter = Meter(record, *memory_of([self.device]))
        self._watch: mx.numerics.Watch | None = None
        self.epoch = self.step = 0
        # The samples of an epoch in their order, and how many were seen; None between.
        self._order: npt.NDArray[np.int64] | None = None
        self._seen = 0
        self._times: deque[tuple[float, int]] = deque(maxlen=12)
        self._away = 0.0  # seconds that went into other things than training
        self._rate = 0.0
        self._tally = Tally(self._observe)
        if probe is not None:
            probe.show(self.data)

    def program(self) -> Program:
        """Train for the epochs of the settings; after each, look at the test set.

        A training that was left in the middle goes on where it was.
        """
        try:
            while self._order is not None or self._more():
                if self._order is None:
                    self._order = self._shuffle.permutation(len(self.data.train_x))
                    self._seen, self._tally = 0, Tally(self._observe)
                    self.epoch += 1
                    self._observe(self.step, "epoch", self.epoch)
                yield from self._train_epoch()
                self._order = None
                yield from self.evaluate()
                self._ask_probe(early=True)
        finally:
            self._look(False)

    def _more(self) -> bool:
        return not self.settings.epochs or self.epoch < self.settings.epochs

    def _look(self, wanted: bool) -> None:
        """Begin or end to count numbers, as they are looked at or no longer."""
        if wanted and self._watch is None:
            self._watch = mx.numerics.watch(self.net, self._trainer)
        elif not wanted and self._watch is not None:
            self._watch.close()
            self._watch = None

    def _train_epoch(self) -> Program:
        x, y, order = self.data.train_x, self.data.train_y, self._order
        assert order is not None
        before = None
        self._meter.skip()
        try:
            while self._seen < len(order):
                self._meter.begin()
                self._adapt()
                left = order[self._seen :]
                many = self.spread.taken(self.settings.batch_size, len(left))
                rows = np.sort(left[:many])
                self._seen += len(rows)
                pushed = self._train_step(x[rows], y[rows])
                self.step += 1
                self._tally.add(before)
                before = (self.step, pushed)
                whole = many >= min(self.settings.batch_size, len(order))
                self._measure(len(rows), whole)
                self._ask_probe()
                began = time.perf_counter()
                yield self._progress()
                self._away += time.perf_counter() - began  # it may have been paused
        finally:
            self._tally.add(before)

    def _train_step(self, x: Pixels, y: Pixels) -> list[Part]:
        """Push one step; returns what each device's part of it came to, unread."""
        trainer, precision = self._trainer, self.precision
        many = self.settings.averaged
        self._look(self._looks())
        pieces = self.spread.split(x, y)
        with precision.computing():
            with mx.autograd.record():
                outs = [self.net(data) for data, _ in pieces]
                losses = [
                    self._loss(out, label)
                    for out, (_, label) in zip(outs, pieces, strict=True)
                ]
                averaged = losses if many == 1 else [loss / many for loss in losses]
                with precision.scaled(averaged) as scaled:
                    pass
            mx.autograd.backward(scaled)
            trainer.step(len(x) / many)
            with attributed(phase="evaluate"):
                return [
                    (loss.mean(), _right(out, label), len(label))
                    for loss, out, (_, label) in zip(losses, outs, pieces, strict=True)
                ]

    def _ask_probe(self, *, early: bool = False) -> None:
        """Let the probe look at the network when it is time; no step pays for that.

        early: also before it is time, if anybody wants to see it.
        """
        probe = self._probe
        if probe is None:
            return
        if probe.due(self.step, time.monotonic()) or (early and probe.wanted):
            with self.precision.computing():
                probe.look(self.net, self.data, self.device, self.step)
            self._meter.skip()

    def _adapt(self) -> None:
        """Take up the settings that were changed since the step before."""
        settings, trainer = self.settings, self._trainer
        if trainer.learning_rate != settings.learning_rate:
            trainer.set_learning_rate(settings.learning_rate)
        self._take_devices()
        self.precision.change(settings.dtype, settings.scaling)
        self.binding.change(settings.graph, settings.dtype)

    def _take_devices(self) -> None:
        """Train on the devices of the settings, or, where they cannot, as before."""
        settings, spread = self.settings, self.spread
        skips = scaler_for(settings.dtype, settings.scaling) is not None
        try:
            if len(self.data.train_x) < settings.devices:
                raise ArgumentError(
                    f"Lab: devices={settings.devices}, but there are only "
                    f"{counted(len(self.data.train_x), 'sample')} to train with."
                )
            moved = spread.change(settings.devices, settings.store, skips=skips)
        except MXNetError as error:
            if self._refused is None or not spread.store:
                raise
            settings.devices, settings.store = len(spread.devices), spread.store
            self._refused(error)
            return
        if moved:
            self._look(False)
            self._meter.devices = memory_of(spread.devices)
            self._meter.several = len(spread.devices) > 1
            self.binding.move(spread.devices)

    def _batch(self, x: Pixels, y: Pixels) -> tuple[Any, Any]:
        with attributed(phase="data", category="data"):
            return mx.nd.array(x, ctx=self.device), mx.nd.array(y, ctx=self.device)

    def evaluate(self) -> Generator[Progress, None, float]:
        """The share of the test set that is recognised, batch by batch."""
        x, y = self.data.test_x, self.data.test_y
        right, began = 0.0, time.perf_counter()
        for start in range(0, len(x), TEST_BATCH):
            data, label = self._batch(
                x[start : start + TEST_BATCH], y[start : start + TEST_BATCH]
            )
            with self.precision.computing():
                right += float(_right(self.predict(data), label).asscalar())
            yield self._at(f"{self._of_epochs()} · test set", step=False)
        share = right / max(len(x), 1)
        self._observe(self.step, TEST, share)
        self._away += time.perf_counter() - began
        return share

    def predict(self, data: Any) -> Any:
        """What the network says of images, in the type that it is trained in."""
        with (
            attributed(phase="evaluate"),
            self.precision.computing(),
            mx.autograd.predict_mode(),
        ):
            return self.net(data)

    def _measure(self, samples: int, whole: bool) -> None:
        """Note what the step took, and samples per second over the last dozen."""
        bound = self.binding.look(whole)
        facts = self._meter.end()
        if bound is not None:
            self._rebound(*bound)
        facts = facts.but(
            planned=self.binding.planned or None,
            loss=self._tally.loss if self._tally.samples else None,
            accuracy=self._tally.accuracy if self._tally.samples else None,
            skipped=self.precision.skipped,
        )
        for name, value in facts.metrics().items():
            self._observe(self.step, name, value)
        if self.precision.scaler is None:
            self._observe(self.step, LOSS_SCALE, 1.0)
        self._stepped(self.step, facts)
        self._times.append((time.perf_counter() - self._away, samples))
        if len(self._times) > 1:
            took = self._times[-1][0] - self._times[0][0]
            self._rate = sum(count for _, count in list(self._times)[1:]) / took
            self._observe(self.step, SPEED, self._rate)

    def _of_epochs(self) -> str:
        epochs = self.settings.epochs
        return f"epoch {self.epoch}" + (f" of {epochs}" if epochs else "")

    def _progress(self) -> Progress:
        precision, tally = self.precision, self._tally
        text = f"{self._of_epochs()} · step {self.step:,}"
        if tally.samples:
            text += f" · loss {tally.loss:.3f} · {100 * tally.accuracy:.1f} % right"
        if self._meter.exchanged:
            text += f" · {len(self.spread.devices)} devices: {self._meter.exchanged}"
        if precision.dtype != SINGLE:
            text += f" · {precision.dtype}"
        if precision.scaler is not None:
            text += f" · loss scale {precision.loss_scale:,.0f}"
        if precision.skipped:
            text += f", {counted(precision.skipped, 'step')} skipped"
        return self._at(text)

    def _at(self, text: str, *, step: bool = True) -> Progress:
        size, epochs = len(self.data.train_x), self.settings.epochs
        done = (self.epoch - 1) * size + self._seen
        total, pace = epochs * size, ""
        if self._rate:
            pace = f"{self._rate:,.0f} samples/s"
            if epochs:
                pace += f" · {_clock((total - done) / self._rate)} left"
        reached = (self.epoch, epochs, self.step)
        return Progress(done, total, text, *reached, step, pace)


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

    def add(self, pushed: tuple[int, list[Part]] | None) -> None:
        """Read a step that was pushed; waits for it."""
        if pushed is None:
            return
        step, parts = pushed
        samples = sum(part[2] for part in parts)
        self.loss = sum(float(loss.asscalar()) * n for loss, _, n in parts) / samples
        known = sum(float(right.asscalar()) for _, right, _ in parts)
        self._right += known
        self.samples += samples
        self._observe(step, BATCH, known / samples)
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

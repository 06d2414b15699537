"""A lab: choose what to train, train it in the background, turn knobs, and watch.

In a notebook, `Lab("lenet", "glyphs")` shows controls, knobs and the views. Without
anybody looking, `Lab("lenet", "glyphs").run(epochs=3)` trains, waits, returns a Result.
"""

from __future__ import annotations

import time
import weakref
from dataclasses import dataclass, replace
from typing import Any

import ipywidgets

from minimx.context import num_gpus
from minimx.errors import ArgumentError
from minimx.knobs import knobs
from minimx.record import Record
from minimx_widgets import kernel
from minimx_widgets.base import Bundle, mimebundle
from minimx_widgets.conv_chooser import ConvChooser
from minimx_widgets.device_view import DeviceView
from minimx_widgets.engine_timeline import EngineTimeline
from minimx_widgets.knob_panel import PINNED, KnobPanel
from minimx_widgets.lab_controls import Field, LabControls
from minimx_widgets.lab_drawers import Drawers
from minimx_widgets.memory_timeline import MemoryTimeline
from minimx_widgets.networks import NETWORKS
from minimx_widgets.numerics_monitor import NumericsMonitor
from minimx_widgets.overview import Overview
from minimx_widgets.pool_map import PoolMap
from minimx_widgets.run import Run
from minimx_widgets.session import (
    DONE,
    FAILED,
    PAUSED,
    READY,
    STOPPED,
    Program,
    Session,
)
from minimx_widgets.training import (
    DATA,
    DTYPES,
    OPTIMIZERS,
    SINGLE,
    Fit,
    Settings,
    device_of,
    load,
    made,
)
from minimx_widgets.training_monitor import LOSS, TEST, TRAIN, TrainingMonitor
from minimx_widgets.units import counted

GIVEN = "(given)"
STATUS_INTERVAL = 1 / 6
# Views behind a title, made when it is opened.
POOL = "The inside of the pool"
ACCOUNT = "Where time and memory went"
NUMBERS = "How large the numbers are"
CONVOLUTIONS = "Who computes the convolutions"
# What the choice of a convolution's algorithm hangs on.
CHOOSING = ("network", "data", "device", "dtype", "batch_size")
# Settings that a running training takes up at its next step.
LIVE = ("learning_rate", "batch_size", "epochs")


@dataclass(frozen=True)
class Result:
    """What came out of a training."""

    epochs: int
    steps: int
    loss: float
    train_accuracy: float
    test_accuracy: float
    skipped: int = 0  # steps whose gradients overflowed

    @property
    def words(self) -> str:
        """The result for reading."""
        return (
            f"{counted(self.epochs, 'epoch')} · {self.steps:,} steps · loss "
            f"{self.loss:.4f} · {100 * self.test_accuracy:.2f} % of the test set right"
            + (f" · {counted(self.skipped, 'step')} skipped" if self.skipped else "")
        )

    def __repr__(self) -> str:
        return (
            f"Result(epochs={self.epochs}, steps={self.steps}, loss={self.loss:.4f}, "
            f"train={100 * self.train_accuracy:.2f}%, "
            f"test={100 * self.test_accuracy:.2f}%"
            + (f", skipped={self.skipped})" if self.skipped else ")")
        )


class Lab:
    """Controls, knobs and the views round one training.

    network: "mlp", "lenet", "resnet", a Block, or a function that makes one.
    data: "glyphs", "digits", a Gluon dataset, or four arrays (train images and labels,
        test images and labels).
    dtype: in what layers compute: "float32", "float16" with its losses scaled, or
        "bfloat16". The last two are `mx.amp`, which holds for the whole process, for
        other cells too, from the beginning of a training to its end.
    learning_rate: None takes the usual one of the optimizer.

    Training happens in a background thread, so cells return at once and every control
    answers; `wait` is for cells that need the result. Closing the lab stops it.
    """

    def __init__(
        self,
        network: Any = "lenet",
        data: Any = "glyphs",
        *,
        device: str = "cpu(0)",
        dtype: str = SINGLE,
        batch_size: int = 128,
        learning_rate: float | None = None,
        optimizer: str = "adam",
        seed: int = 0,
        epochs: int = 5,
        pinned: tuple[str, ...] = PINNED,
    ) -> None:
        self._given = {"network": network, "data": data}
        self.settings = Settings(network=network, data=data)
        self._last_told = 0.0
        self._complaint = kernel.complaint_here()
        self.fit: Fit | None = None
        self._looks = False  # at the numbers in every training, once that was asked
        self._run = Run()
        self.session = Session(self._program, self._changed)
        self.controls = LabControls(
            self._fields(), change=self.set, command=self.command, run_id=self._run.id
        )
        self.drawers = Drawers(
            {
                POOL: lambda: PoolMap(self._run),
                ACCOUNT: lambda: self.overview,
                NUMBERS: lambda: NumericsMonitor(self._run),
                CONVOLUTIONS: self._convolutions,
            }
        )
        chosen: dict[str, Any] = {"device": device, "dtype": dtype}
        chosen |= {"optimizer": optimizer, "seed": seed}
        chosen |= {"batch_size": batch_size, "epochs": epochs}
        if learning_rate is not None:
            chosen["learning_rate"] = learning_rate
        for name, value in chosen.items():
            self.set(name, str(value))
        self.knobs = KnobPanel(pinned, height=470)
        self.monitor = TrainingMonitor(self._run, height=128)
        self.engine = EngineTimeline(self._run, height=112)
        self.memory = MemoryTimeline(self._run, height=176)
        self._unwatch = knobs.watch("*", self._knob_turned)
        self.box = self._compose()
        self._changed(self.session)

    # Looking

    @property
    def record(self) -> Record:
        """The record of the newest training."""
        return self._run.record

    @property
    def devices(self) -> DeviceView:
        """The newest training device by device: streams, copies, links."""
        return DeviceView(self._run)

    @property
    def overview(self) -> Overview:
        """Where the time and the memory of the newest training went, so far."""
        return Overview(self._run)

    @property
    def numbers(self) -> NumericsMonitor:
        """How large the numbers are, by layer.

        From now on every tenth step is looked at, in this training and in later ones;
        without it, while its drawer is open.
        """
        self._looks = True
        return NumericsMonitor(self._run)

    @property
    def net(self) -> Any:
        """The network of the newest training; None before the first."""
        return None if self.fit is None else self.fit.net

    @property
    def result(self) -> Result:
        """Where the newest training stands."""
        loss, train, test = (self.monitor.last(name) for name in (LOSS, TRAIN, TEST))
        fit = self.fit
        return Result(
            epochs=fit.epoch if fit else 0,
            steps=fit.step if fit else 0,
            loss=float("nan") if loss is None else loss,
            train_accuracy=float("nan") if train is None else train,
            test_accuracy=float("nan") if test is None else test,
            skipped=fit.scaler.skipped if fit and fit.scaler else 0,
        )

    def __repr__(self) -> str:
        settings, parts = self.settings, []
        network, data = (self._name_of(kind) for kind in ("network", "data"))
        device = settings.device
        if settings.dtype != SINGLE:
            device += f" {settings.dtype}"
        parts.append(f"{network} on {data}, {device}, {self.session.state}")
        if self.fit is not None:
            parts.append(f"epoch {self.fit.epoch}/{settings.epochs}")
        test = self.monitor.last(TEST)
        if test is not None:
            parts.append(f"test={100 * test:.2f}%")
        return f"Lab({', '.join(parts)})"

    def _repr_mimebundle_(self, **_: Any) -> Bundle:
        return mimebundle(self.box, repr(self), self.svg())

    def svg(self, *, dark: bool = False, width: int = 900) -> str:
        """The views one below the other, as one static picture."""
        from minimx_widgets.svg import stacked

        views = (self.knobs, self.monitor, self.engine, self.memory)
        return stacked([view.svg(dark=dark, width=width) for view in views], width)

    # Training

    def train(self) -> None:
        """Train in the background; goes on after a pause."""
        self.session.train()

    def pause(self) -> None:
        """Pause after the current step."""
        self.session.pause()

    def step(self) -> None:
        """Train one step, then pause."""
        self.session.step()

    def stop(self) -> None:
        """Stop after the current step; the next training begins afresh."""
        self.session.stop()

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until training ends or is paused; returns whether it did in time.

        Raises the error that ended it. Interrupting the cell ends the waiting only;
        training goes on.
        """
        return self.session.wait(timeout)

    def run(self, epochs: int | None = None) -> Result:
        """Train afresh for some epochs, wait, and return the result.

        Needs no browser. Interrupting the cell pauses the training.
        """
        self.session.reset()
        if epochs is not None:
            self.set("epochs", str(epochs))
        self.train()
        try:
            self.wait()
        except KeyboardInterrupt:
            self.pause()
            raise
        return self.result

    def select(self, op: int) -> None:
        """Mark an operation of the record in all views; 0 marks none."""
        self._run.select(op)

    def close(self) -> None:
        """Stop training, end all threads, take the widgets away."""
        self.session.stop()
        self.record.stop()
        self._unwatch()
        for part in (self.controls, self.knobs, self.drawers):
            part.close()
        self._run.close()
        self.box.close()

    # Settings

    def set(self, name: str, text: str) -> None:
        """Change a setting, given as text. Raises `ArgumentError` for a bad one.

        Learning rate, batch size and epochs act at the next step of a running training;
        all others stop it and begin afresh.
        """
        settings = self.settings
        changed = replace(settings, **{name: _parse(name, text, self._given)})
        if name == "optimizer":
            changed.learning_rate = OPTIMIZERS[changed.optimizer][0]
        if name not in LIVE and changed != settings:
            self.session.reset()
            self.fit = None
        for key, value in vars(changed).items():
            setattr(settings, key, value)
        self._show_settings()
        if name in CHOOSING:
            self.drawers.renew(CONVOLUTIONS)

    def command(self, word: str) -> None:
        """Do what a button says: train, pause, step or stop."""
        actions = {"train": self.train, "pause": self.pause, "step": self.step}
        if word == "stop":
            self.session.stop(wait=False)
        elif word in actions:
            actions[word]()

    def _show_settings(self) -> None:
        texts = {name: str(value) for name, value in vars(self.settings).items()}
        texts |= {kind: self._name_of(kind) for kind in ("network", "data")}
        texts["learning_rate"] = f"{self.settings.learning_rate:g}"
        self.controls.settings = texts

    def _name_of(self, kind: str) -> str:
        value = getattr(self.settings, kind)
        return value if isinstance(value, str) else GIVEN

    def _fields(self) -> list[Field]:
        def choices(kind: str, names: Any) -> tuple[tuple[str, str], ...]:
            given = self._given[kind]
            own = () if isinstance(given, str) else ((GIVEN, f"your {kind}"),)
            return (*own, *((name, name) for name in names))

        devices = [("cpu(0)", "cpu(0)")]
        devices += [(f"gpu({i})", f"gpu({i})") for i in range(num_gpus())]
        optimizers, dtypes = (
            tuple((name, name) for name in names) for names in (OPTIMIZERS, DTYPES)
        )
        networks, data = choices("network", NETWORKS), choices("data", DATA)
        return [
            Field("network", "Network", "What is trained", networks, True),
            Field("data", "Data", "The images it learns from", data, True),
            Field("device", "Device", "Where it is trained", tuple(devices), True),
            Field("dtype", "Type", "In what layers compute", dtypes, True),
            Field("optimizer", "Optimizer", "How weights follow", optimizers, True),
            Field("learning_rate", "Learning rate", "The size of a step"),
            Field("batch_size", "Batch size", "Samples per step"),
            Field("epochs", "Epochs", "How often all samples are seen"),
            Field("seed", "Seed", "Where random numbers begin", (), True),
        ]

    def _knob_turned(self, _name: str, _new: Any, _old: Any) -> None:
        """Show the change at once rather than at the next tick."""
        self._run.feed.poke()

    # What the session asks for; in its thread

    def _program(self) -> Program:
        """A new record and a new training."""
        record = Record()
        take_over(self)
        self._run.replace(record)
        record.start()
        # After the record's own watcher, so that it has noted a change before we look.
        self._unwatch()
        self._unwatch = knobs.watch("*", self._knob_turned)
        self.fit = None
        self.fit = Fit(self.settings, record.metric, looks=self._looking)
        yield from self.fit.program()

    def _changed(self, session: Session) -> None:
        """Show progress now and then, and every change of state."""
        status = self._status(session)
        new_state = status["state"] != self._run.status.get("state")
        self._run.status = {
            key: status[key] for key in ("state", "epoch", "epochs", "step", "message")
        }
        if session.state in (DONE, STOPPED, FAILED):
            self.record.stop()
        if new_state:
            self._run.feed.poke()
        now = time.monotonic()
        if new_state or now - self._last_told >= STATUS_INTERVAL:
            self._last_told = now
            self.controls.tell(status, keep=new_state)

    def _status(self, session: Session) -> dict[str, Any]:
        progress, error = session.progress, session.error
        message = "" if error is None else f"{type(error).__name__}: {error}"
        words = {
            READY: "Ready. Press Train.",
            PAUSED: f"Paused · {progress.words}",
            DONE: f"Done · {self.result.words}" if session.state == DONE else "",
            STOPPED: f"Stopped · {progress.words}",
            FAILED: "Failed: see below.",
        }.get(session.state, progress.words or "Preparing data and network…")
        return {
            "state": session.state,
            "done": progress.done,
            "total": progress.total,
            "words": words,
            "epoch": progress.epoch,
            "epochs": progress.epochs or self.settings.epochs,
            "step": progress.steps,
            "error": message or self._complaint,
            "message": message,
        }

    def _compose(self) -> ipywidgets.Box:
        views = ipywidgets.Box([self.monitor, self.engine, self.memory, self.drawers])
        views.add_class("mx-lab-views")
        box = ipywidgets.Box([self.controls, self.knobs, views])
        self.controls.add_class("mx-lab-top")
        self.knobs.add_class("mx-lab-knobs")
        box.add_class("mx-lab")
        return box

    def _looking(self) -> bool:
        """Whether somebody looks at the numbers."""
        return self._looks or self.drawers.title == NUMBERS

    def _convolutions(self) -> ConvChooser:
        """The chooser for the network, the device and the type of the settings."""
        settings, fit = self.settings, self.fit
        data = load(settings.data) if fit is None else fit.data
        return ConvChooser(
            made(settings.network, data),
            device=settings.device,
            dtype=settings.dtype,
            record=self._run,
            data=(settings.batch_size, *data.train_x.shape[1:]),
        )


# The lab that trains: two at once would share the devices and show each other's work.
_listening: weakref.ref[Lab] | None = None


def take_over(lab: Lab) -> None:
    """Stop the lab that trains now, if it is another one. Its results stay."""
    global _listening
    other = None if _listening is None else _listening()
    if other is not None and other.record.running:
        if other is not lab:
            other.session.stop()
        other.record.stop()
    _listening = weakref.ref(lab)


_BOUNDS: dict[str, tuple[float, float, type[int] | type[float]]] = {
    "learning_rate": (1e-8, 1e3, float),
    "batch_size": (1, 100_000, int),
    "epochs": (1, 10_000, int),
    "seed": (0, 2**31 - 1, int),
}


def _parse(name: str, text: str, given: dict[str, Any]) -> Any:
    """A setting from text. Raises `ArgumentError` naming what is allowed."""
    text = text.strip()
    if name in given:
        return given[name] if text == GIVEN else text
    if name == "device":
        device_of(text)
        return text
    choices = {"optimizer": tuple(OPTIMIZERS), "dtype": DTYPES}.get(name)
    if choices is not None:
        if text not in choices:
            raise ArgumentError(f"{name}={text!r}: choose {', '.join(choices)}.")
        return text
    return _number(name, text)


def _number(name: str, text: str) -> float | int:
    low, high, kind = _BOUNDS[name]
    value: float | int | None
    try:
        value = kind(text)
    except ValueError:
        value = None
    if value is None or not low <= value <= high:
        what = "a whole number" if kind is int else "a number"
        raise ArgumentError(f"{name}={text!r}: give {what} from {low:g} to {high:g}.")
    return value

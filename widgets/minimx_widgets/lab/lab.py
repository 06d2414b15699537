"""A lab: choose what to train, train it in the background, turn knobs, and watch.

In a notebook, `Lab("lenet", "glyphs")` shows controls, knobs and the views. Without
anybody looking, `Lab("lenet", "glyphs").run(epochs=3)` trains, waits, returns a Result.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import ipywidgets

from minimx.core.knobs import knobs
from minimx.core.record import Record
from minimx_widgets import kernel
from minimx_widgets.base import Bundle, mimebundle
from minimx_widgets.compare.in_lab import Replays
from minimx_widgets.lab import lab_settings, lab_views, labs
from minimx_widgets.lab.before_after import BeforeAfter
from minimx_widgets.lab.five import FiveSwitches
from minimx_widgets.lab.lab_compare import Comparer
from minimx_widgets.lab.lab_controls import COMMANDS, LabControls
from minimx_widgets.lab.lab_drawers import Drawers
from minimx_widgets.lab.lab_settings import LIVE, check, parse, text_of
from minimx_widgets.lab.lab_states import Standing, described
from minimx_widgets.lab.lab_turns import Turning
from minimx_widgets.lab.lab_undo import Undoing
from minimx_widgets.lab.situation import Situation
from minimx_widgets.lab.turns import Turns
from minimx_widgets.run import Run
from minimx_widgets.saving.of_lab import LabSaving
from minimx_widgets.training import warm_up
from minimx_widgets.training.busy import Busy
from minimx_widgets.training.comparing import STEPS
from minimx_widgets.training.precision import DYNAMIC, SINGLE
from minimx_widgets.training.predictions import Probe
from minimx_widgets.training.result import Result
from minimx_widgets.training.session import (
    DONE,
    FAILED,
    RUNNING,
    STOPPED,
    Program,
    Session,
)
from minimx_widgets.training.spread import ON_DEVICES
from minimx_widgets.training.training import HYBRIDIZED, OPTIMIZERS, Fit, Settings
from minimx_widgets.views.data_view import DataView
from minimx_widgets.views.device_view import DeviceView
from minimx_widgets.views.knob_panel import PINNED
from minimx_widgets.views.memory_timeline import MemoryTimeline
from minimx_widgets.views.numerics_monitor import NumericsMonitor
from minimx_widgets.views.overview import Overview
from minimx_widgets.views.side_by_side import SideBySide
from minimx_widgets.views.training_monitor import LOSS, TEST, TRAIN, TrainingMonitor

STATUS_INTERVAL = 1 / 6
#: Epochs of `run` where the settings say "until it is stopped".
EPOCHS = 5


class Lab(LabSaving):
    """Controls, knobs and the views round one training.

    network: "mlp", "lenet", "resnet", a Block, or a function that makes one.
    data: "glyphs", "digits", a Gluon dataset, or four arrays (train images and labels,
        test images and labels).
    devices: how many train together, from `device` on, each on a piece of every batch.
    store: where their gradients are summed: "local", "device" or, of GPUs, "nccl".
    graph: how the network runs: "hybridized", "static" or "imperative".
    dtype: in what layers compute: "float32", "float16" or "bfloat16". The last two are
        mixed precision of this training alone; its weights stay float32.
    scaling: of the losses in float16: "dynamic", "static" or "off".
    learning_rate: None takes the usual one of the optimizer.
    epochs: 0 trains until it is stopped.

    Training happens in a background thread, so cells return at once and every control
    answers; `wait` is for cells that need the result. Closing the lab stops it.
    """

    def __init__(
        self,
        network: Any = "lenet",
        data: Any = "glyphs",
        *,
        device: str = "cpu(0)",
        devices: int = 1,
        store: str = ON_DEVICES,
        graph: str = HYBRIDIZED,
        dtype: str = SINGLE,
        scaling: str = DYNAMIC,
        batch_size: int = 128,
        learning_rate: float | None = None,
        optimizer: str = "adam",
        seed: int = 0,
        epochs: int = 0,
        pinned: tuple[str, ...] = PINNED,
    ) -> None:
        self.given = {"network": network, "data": data}
        self.settings = Settings(network=network, data=data)
        self._last_sent = 0.0
        self._complaint = kernel.complaint_here()
        warm_up.load()
        self.fit: Fit | None = None
        #: Whether the next program continues the training of `fit`.
        self.goes_on = False
        self._taken_by = ""  # the lab that this one made way for
        self._fresh = True  # nothing was recorded yet
        self._undoing = Undoing(self)
        #: Trains two settings, the one after the other.
        self.comparer = Comparer(self)
        #: What was turned, and what each turn changed.
        self.turns = Turns()
        self._looks = False  # at the numbers in every training, once that was asked
        self._run, self._busy = Run(), Busy()
        self.session = Session(self._program, self._changed)
        self.controls = LabControls(
            lab_settings.fields(self.given),
            change=self.set,
            command=self.command,
            run_id=self._run.id,
        )
        self.replays = Replays(self)
        self.drawers = Drawers(lab_views.makers(self))
        self.five = FiveSwitches(self.set, turns=self.turns)
        self.before_after = BeforeAfter(self.turns, go_back=self.go_back)
        self.knobs = lab_views.knob_panel(self, pinned)
        chosen: dict[str, Any] = {"device": device, "graph": graph, "dtype": dtype}
        chosen |= {"scaling": scaling, "optimizer": optimizer, "seed": seed}
        chosen |= {"batch_size": batch_size, "epochs": epochs, "devices": devices}
        chosen |= {"store": store, "learning_rate": learning_rate}
        for name, value in chosen.items():
            if value is not None:
                self.set(name, str(value))
        self._make_views()
        self._begin_keeping()
        self._turning = Turning(self)
        self._unwatch = knobs.watch("*", self._turning.turned)
        self.box = self._compose()
        self._changed(self.session)

    def _make_views(self) -> None:
        self.show_settings()
        self.monitor = TrainingMonitor(self._run, height=128)
        self._probe = Probe()
        #: Test images with what the network says of them now.
        self.images = DataView(self._probe)
        self.engine = lab_views.timeline(self)
        self.memory = MemoryTimeline(self._run, height=176)

    # Looking

    @property
    def record(self) -> Record:
        """The record of the newest training."""
        return self._run.record

    @property
    def run_of_views(self) -> Run:
        """What all views of the lab look at."""
        return self._run

    @property
    def devices(self) -> DeviceView:
        """The newest training device by device: streams, copies, links."""
        return DeviceView(self._run, height=170 + 60 * self.settings.devices)

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
            skipped=fit.precision.skipped if fit else 0,
        )

    @property
    def title(self) -> str:
        """What it trains, such as "lenet on glyphs"."""
        return lab_settings.title_of(self.settings)

    @staticmethod
    def current() -> Lab:
        """The lab of this kernel that trains or trained last.

        As the last line of a cell it shows the lab again, for instance after the page
        was loaded anew. Raises `MXNetError` if no lab has trained.
        """
        return labs.require_current()

    def __repr__(self) -> str:
        epoch = None if self.fit is None else self.fit.epoch
        shown = self._standing().shown
        return described(self.settings, shown, epoch, self.monitor.last(TEST))

    def _repr_mimebundle_(self, **_: Any) -> Bundle:
        return mimebundle(self.box, repr(self), self.svg())

    def svg(self, *, dark: bool = False, width: int = 900) -> str:
        """The views one below the other, as one static picture."""
        from minimx_widgets.svg import stacked

        views = (self.five, self.monitor, self.engine, self.memory)
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
        self._let_go()
        self.session.stop()

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until training ends or is paused; returns whether it did in time.

        Raises the error that ended it. Interrupting the cell ends the waiting only;
        training goes on.
        """
        return self.session.wait(timeout)

    def run(self, epochs: int | None = None) -> Result:
        """Train afresh for some epochs, wait, and return the result.

        epochs: None takes those of the settings, or 5 where these have no end. Needs no
        browser. Interrupting the cell pauses the training.
        """
        self.session.reset()
        self.goes_on = False
        if epochs is not None or not self.settings.epochs:
            self.set("epochs", str(EPOCHS if epochs is None else epochs))
        self.train()
        try:
            self.wait()
        except KeyboardInterrupt:
            self.pause()
            raise
        return self.result

    def compare(
        self,
        against: Mapping[str, Any] | None = None,
        *,
        steps: int = STEPS,
        **changes: Any,
    ) -> SideBySide:
        """Train the lab's settings twice from the same seed, and lay both over another.

            lab.compare(MXNET_BACKWARD_DO_MIRROR=True)
            lab.compare({"dtype": "float16"}, dtype="bfloat16", steps=200)

        changes: settings of the lab or knobs, as they are in B. against: those of A; by
        default, as they are now. Without either, the last turn is compared: what was
        before it is A. steps: that each side trains.

        The lab's own training pauses; Go on continues it. Raises `ArgumentError` for
        names and values that do not exist.
        """
        sides = self.comparer.against(against or {}, changes)
        return self.comparer.compare(*sides, steps)

    def leave(self, taken_by: str = "") -> None:
        """Make way for another lab, of this name; Train goes on from here."""
        self._taken_by = taken_by
        self.comparer.stop()
        self.interrupt()
        if not self.goes_on:
            self.record.stop()
        self._changed(self.session)

    def interrupt(self) -> None:
        """Stop in such a way that the training can go on where it was."""
        self.goes_on = self.fit is not None and (self.goes_on or self.session.alive)
        self.session.stop()
        self.goes_on = self.goes_on and self.session.state not in (DONE, FAILED)
        if self.goes_on:
            self.record.pause()

    def _let_go(self) -> None:
        """Do not go on with a training that was left."""
        if self.goes_on:
            self.goes_on = False
            self.record.stop()
            self._changed(self.session)

    def select(self, op: int) -> None:
        """Mark an operation of the record in all views; 0 marks none."""
        self._run.select(op)

    def close(self) -> None:
        """Stop training, end all threads, take the widgets away."""
        self.session.stop()
        self.record.stop()
        self._undoing.forget()
        self.comparer.stop()
        self._unwatch()
        for part in (
            self.controls, self.five, self.before_after, self.knobs, self.images,
            self.drawers, self._last,
        ):  # fmt: skip
            part.close()
        self._run.close()
        self.box.close()

    # Settings

    def set(self, name: str, text: str) -> None:
        """Change a setting, given as text. Raises `ArgumentError` for a bad one.

        A running training takes up learning rate, batch size, epochs, `devices`,
        `store`, `graph`, `dtype` and `scaling` at its next step. The others begin
        afresh; `undo` brings the training back.
        """
        settings = self.settings
        changed = replace(settings, **{name: parse(name, text, self.given)})
        if name == "optimizer":
            changed.learning_rate = OPTIMIZERS[changed.optimizer][0]
        if changed == settings:
            return
        check(changed)
        old, new = text_of(settings, name), text_of(changed, name)
        if name not in LIVE:
            self._begin_afresh()
        vars(settings).update(vars(changed))
        self.show_settings()
        if name in LIVE and self.fit is not None:
            self.record.knob(name, old, new, "setting")
            self._turning.noted(name, old, new, "setting")
            self._run.feed.poke()
        if name in lab_views.CHOOSING:
            self.drawers.renew(lab_views.CONVOLUTIONS)

    def _begin_afresh(self) -> None:
        """Leave the training; until the next one is left as well it can be undone."""
        self._undoing.keep()
        self.fit, self.goes_on = None, False
        if not self._fresh:
            self._fresh = True
            self._run.replace(Record())
        self.session.reset()

    def undo(self) -> None:
        """Go back to the training that a changed setting ended; Train goes on with it.

        Another `undo` goes back to the one that is left now. Raises `ArgumentError` if
        there is none.
        """
        before = self._undoing.back()
        self.fit, self.goes_on = before.fit, True
        self._fresh, self._taken_by = False, ""
        vars(self.settings).update(vars(before.settings))
        self._run.replace(before.record)
        self.session.reset(before.progress)
        self.show_settings()
        self.drawers.renew(lab_views.CONVOLUTIONS)

    def command(self, word: str) -> str:
        """Do what a button says, one of `COMMANDS`; returns what is to be said."""
        if word == "stop":
            self._let_go()
            self.session.stop(wait=False)
            return ""
        return getattr(self, COMMANDS[word])() or "" if word in COMMANDS else ""

    def show_settings(self) -> None:
        """Show the settings that are in force."""
        texts = {name: text_of(self.settings, name) for name in vars(self.settings)}
        self.controls.settings = texts
        self.five.show(texts)
        self.knobs.refresh()

    @property
    def situation(self) -> Situation:
        """What a knob would act on now."""
        return Situation.of(self.settings, self.fit)

    def go_back(self, number: int) -> None:
        """Give the knob or the setting of a turn the value that it had before it.

        number: of the turn, as `turns` counts them. Raises `ArgumentError` for another.
        """
        self._turning.go_back(number)

    # What the session asks for; in its thread

    def _program(self) -> Program:
        """The training of `fit` from where it was, or a new one with a new record."""
        labs.take_over(self)
        self.comparer.stop()
        self._taken_by = ""
        if self.goes_on and self.fit is not None:
            self.goes_on = False
            self.record.resume()
            yield from self.fit.program()
            return
        record = self.record if self._fresh else Record()
        self._fresh = False
        record.start()
        self._run.replace(record)  # the views begin where the record does
        # After the record's own watcher, so that it has noted a change before we look.
        self._unwatch()
        self._unwatch = knobs.watch("*", self._turning.turned)
        self.turns.begin()
        self.fit = None
        self.fit = Fit(
            self.settings,
            record,
            looks=lambda: self._looks or self.drawers.title == lab_views.NUMBERS,
            stepped=self.replays.stepped,
            rebound=self._turning.rebound,
            refused=self._turning.refused,
            probe=self._probe,
        )
        yield from self.fit.program()

    def _changed(self, session: Session) -> None:
        """Show progress now and then, and every change of state."""
        status = self._standing().as_message()
        new_state = status["state"] != self._run.status.get("state")
        self._run.status = {
            key: status[key] for key in ("state", "epoch", "epochs", "step", "message")
        }
        if session.state in (DONE, STOPPED, FAILED) and not self.goes_on:
            self.record.stop()
        if new_state:
            self._run.feed.poke()
        self._keep_last(changed=new_state and session.state != RUNNING)
        now = time.monotonic()
        keep = new_state or status["state"] != RUNNING
        if keep or now - self._last_sent >= STATUS_INTERVAL:
            self._last_sent = now
            self.controls.tell(status, keep=keep, error=session.error)

    def _standing(self) -> Standing:
        """Where it stands, for the page and for `repr`."""
        session, before = self.session, self._undoing.left
        other = labs.other_than(self)
        if session.state == RUNNING:
            self._busy.look()
        return Standing(
            session.state,
            session.progress,
            session.error,
            result=self.result.text if session.state == DONE else "",
            epochs=self.settings.epochs,
            goes_on=self.goes_on,
            taken_by=self._taken_by,
            other="" if other is None else other.title,
            undo="" if before is None else before.title,
            left=self._left_text,
            busy=self._busy.text,
            complaint=self._complaint,
        )

    def _compose(self) -> ipywidgets.Box:
        return lab_views.composed(
            (self.controls, self.five, self.before_after), self.knobs,
            (self.memory, self.engine, self.monitor, self.images, self.drawers),
        )  # fmt: skip

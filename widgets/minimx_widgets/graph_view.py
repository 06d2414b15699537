"""`GraphView`: what the three views of graphs have in common.

They draw no record but a plan: what the passes would make of a network under some
settings. The settings are the knobs in force, and a view follows when one is turned;
its own controls try others without touching the knobs (`what_if`). Either way the pure
functions that plan a real run plan again, so what is drawn is what would be done.

Planning may take a while, so what the browser asks for happens in a worker thread,
where of several wishes for one control only the last is granted.
"""

from __future__ import annotations

import queue
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, ClassVar, Generic, TypeVar

import traitlets

from minimx.core.errors import ArgumentError, MXNetError
from minimx.core.graph.running.settings import KNOBS, Settings
from minimx.core.knobs import knobs
from minimx_widgets.base import PicturedWidget
from minimx_widgets.inbox import latest
from minimx_widgets.views.knob_panel import code, describe

#: What a view draws: made from settings, kept for the last few of them.
Planned = TypeVar("Planned")
KEPT = 16
_FIELDS = {knob: field for field, knob in KNOBS.items()}


class GraphView(PicturedWidget, Generic[Planned]):
    """The base of the views of a network's plan."""

    #: The fields of Settings that this view has controls for.
    controls: ClassVar[tuple[str, ...]] = ()

    height = traitlets.Int(430).tag(sync=True)
    #: The knobs behind the controls, as the knob panel describes them.
    declared: traitlets.List[Any] = traitlets.List().tag(sync=True)
    #: Everything that is drawn, as one message; a saved page keeps it.
    state = traitlets.Dict().tag(sync=True)

    # A view that could not be made is closed all the same, by its finaliser.
    _worker: threading.Thread | None = None
    _unwatch: Callable[[], None] | None = None

    def __init__(self, **settings: Any) -> None:
        self._trial: dict[str, Any] = {}
        self._plans: OrderedDict[Settings, Planned] = OrderedDict()
        self._planning = threading.RLock()
        self._revision = 0
        self._inbox: queue.SimpleQueue[dict[str, Any] | None] = queue.SimpleQueue()
        super().__init__(
            declared=[control(field) for field in self.controls], **settings
        )
        self.state = self._state()
        self._unwatch = knobs.watch(list(KNOBS.values()), self._turned)
        self.on_msg(self._hear)

    # -- what subclasses say ----------------------------------------------------------

    def plan(self, settings: Settings) -> Planned:
        """What is drawn under some settings."""
        raise NotImplementedError

    def message(self) -> dict[str, Any]:
        """The picture as the browser wants it."""
        raise NotImplementedError

    def asked(self, message: Mapping[str, Any]) -> str:
        """Do what a message of the view's own kind asks for; returns what was done."""
        raise ValueError(f"{type(self).__name__}: {message.get('kind')!r} is unknown.")

    # -- its state --------------------------------------------------------------------

    def _more_names(self) -> tuple[str, ...]:
        return ("tried",)

    def _more(self) -> dict[str, Any]:
        return {"tried": dict(self._trial)} if self._trial else {}

    def _bring(self, more: Mapping[str, Any]) -> None:
        self._trial = {}
        self.what_if(**dict(more.get("tried", {})))

    # -- settings ---------------------------------------------------------------------

    @property
    def settings(self) -> Settings:
        """The knobs in force, but for what is tried out."""
        return replace(Settings.now(), **self._trial)

    @property
    def planned(self) -> Planned:
        """What is drawn now."""
        settings = self.settings
        with self._planning:
            plans = self._plans  # others are put in their place, never into them
            if settings not in plans:
                plans[settings] = self.plan(settings)
                while len(plans) > KEPT:
                    plans.popitem(last=False)
            return plans[settings]

    def what_if(self, **fields: Any) -> None:
        """Draw what other settings would give; no knob is turned.

        fields: of `minimx.core.graph.running.settings.Settings`, such as match_range=1.
        None ends the trial of a field. A knob that is turned ends the trial of its own
        field.
        """
        trial = self._trial | {name: _checked(name, v) for name, v in fields.items()}
        before, self._trial = (
            self._trial,
            {name: value for name, value in trial.items() if value is not None},
        )
        try:
            self.refresh()
        except MXNetError:
            self._trial = before
            raise

    def refresh(self) -> None:
        """Plan again and show it."""
        self.state = self._state()

    def code(self) -> str:
        """A `with` block that puts what is tried out in force."""
        now = Settings.now()
        changes = {
            KNOBS[name]: (getattr(now, name), value)
            for name, value in self._trial.items()
        }
        return code(changes)

    # -- faces ------------------------------------------------------------------------

    def close(self) -> None:
        """Take the view away; its worker thread ends."""
        unwatch, self._unwatch = self._unwatch, None
        if unwatch is not None:  # a finaliser closes once more, wherever it runs
            unwatch()
        worker, self._worker = self._worker, None
        if worker is not None and worker.is_alive():
            self._inbox.put(None)
            if worker is not threading.current_thread():
                worker.join(timeout=5)
        super().close()

    # -- to and from the browser ------------------------------------------------------

    def _state(self) -> dict[str, Any]:
        began = time.perf_counter()
        settings = self.settings
        message = self.message()
        self._revision += 1
        values = {
            KNOBS[name]: knobs.declared[KNOBS[name]].format(getattr(settings, name))
            for name in self.controls
        }
        took = 1e3 * (time.perf_counter() - began)
        return {
            **message,
            "values": values,
            "tried": [KNOBS[name] for name in self._trial if name in KNOBS],
            "code": self.code(),
            "took": round(took, 1),
            "revision": self._revision,
        }

    def _turned(self, name: str, _new: Any, _old: Any) -> None:
        """A knob was turned, anywhere; in the thread that turned it.

        That thread holds the knobs, so it must not wait for a plan that is being made.
        """
        self._trial.pop(_FIELDS[name], None)
        self._post({"kind": "knob"})

    def _hear(self, _widget: Any, message: dict[str, Any], _buffers: Any) -> None:
        self._post(message)

    def _post(self, message: dict[str, Any]) -> None:
        self._inbox.put(message)
        if self._worker is None or not self._worker.is_alive():
            self._worker = threading.Thread(
                target=self._work, name="minimx graph view", daemon=True
            )
            self._worker.start()

    def _work(self) -> None:
        while True:
            waiting = [self._inbox.get()]
            while not self._inbox.empty():
                waiting.append(self._inbox.get())
            for message in latest(waiting):
                if message is None:
                    return
                self._answer(message)

    def _answer(self, message: dict[str, Any]) -> None:
        """Do what was asked; what cannot be done is shown in its place."""
        if message.get("kind") == "source":
            self.send(self.source_message(message))
            return
        answer = {"kind": "answer", "name": str(message.get("name", "")), "ok": True}
        try:
            text = self._do(message)
        except (MXNetError, ValueError) as refused:
            answer["ok"], text = False, self.refused(refused)
        self.send({**answer, "text": text})

    def _do(self, message: dict[str, Any]) -> str:
        kind = message.get("kind")
        if kind == "set":
            name = str(message["name"])
            value = knobs.declared[name].parse(str(message["text"]))
            self.what_if(**{_FIELDS[name]: value})
            return ""
        if kind == "reset":
            self._trial = {}
            self.refresh()
            return "The knobs in force"
        if kind == "knob":
            self.refresh()
            return ""
        if kind == "table":
            self.send({"kind": "table", "html": self.table().html()})
            return ""
        return self.asked(message)


def control(field: str) -> dict[str, Any]:
    """The description of the knob behind a field, for a control that tries values.

    A trial needs no knob that acts, and no upper bound beyond what a slider can show.
    """
    found = describe(knobs.declared[KNOBS[field]]) | {"live": True}
    if found["type"] == "int" and (found["high"] is None or field in HIGHEST):
        found["high"] = HIGHEST.get(field, 100)
    return found


#: Where the sliders of knobs end whose upper bound is missing or out of reach.
HIGHEST = {
    "match_range": 128,
    "num_temp": 16,
    "backward_mirror_step": 128,
    "bulk_exec_max_node_train_fwd": 100,
    "bulk_exec_max_node_train_bwd": 100,
}


def _checked(name: str, value: Any) -> Any:
    """A value that the field's knob would take."""
    if name not in KNOBS:
        known = ", ".join(KNOBS)
        raise ArgumentError(f"what_if: {name!r} is no setting; there are {known}.")
    return None if value is None else knobs.declared[KNOBS[name]].check(value)

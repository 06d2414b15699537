"""`KVStoreView`: who sends what to whom in a step of training, when, and over what.

A step is predicted by the simulation of the stores' own plans (`minimx.kvstore`), or
read from a record. Above, devices and links with gradients on their way; below, rows of
computing, push, reduce and pull; beside them how it scales to 4,096 workers.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import traitlets

from minimx.core.errors import ArgumentError, MXNetError, did_you_mean
from minimx.core.knobs import knobs
from minimx.core.record import Record
from minimx.gluon import Block
from minimx.kvstore.simulation import STORES, Cluster, Prediction, Workload
from minimx.kvstore.simulation.measure import measure_machine
from minimx_widgets import esm
from minimx_widgets.base import STYLE
from minimx_widgets.code.decisions import decision
from minimx_widgets.code.pieces import Code
from minimx_widgets.inbox import Inbox, Message
from minimx_widgets.marking import Marking
from minimx_widgets.packing import pack
from minimx_widgets.pictures.kvstore import scene as scenes
from minimx_widgets.pictures.kvstore import text
from minimx_widgets.pictures.kvstore import trial as trials
from minimx_widgets.pictures.kvstore.measured import LastStep, measured
from minimx_widgets.pictures.kvstore.scaling import Curve, Scaler, whole
from minimx_widgets.pictures.kvstore.scene import Scene
from minimx_widgets.pictures.kvstore.trial import Trial
from minimx_widgets.pictures.kvstore.workloads import EXAMPLES, example
from minimx_widgets.run import Run
from minimx_widgets.tables import Tables
from minimx_widgets.views.knob_panel import code, describe

OWN, RECORDED = "yours", "recorded"
HERE = "this machine"


class KVStoreView(Marking):
    """A store at work: topology, timeline, scaling, and what can be tried.

        KVStoreView("resnet50", store="ring", cluster="Ethernet", workers=4)
        KVStoreView(Workload.from_record(record, net), record=record)

    workload: what each worker computes and shares: a `Workload`, the name of an example
    (vgg16, resnet50, perceptron), or "recorded": what the last step of `record` took
    for `net`, a block or a function that returns one. cluster: a `Cluster`, or the name
    of a preset ("PCIe box", "DGX-like", "Ethernet", "cloud"). store, workers: as for
    `minimx.kvstore.simulation.simulate`. record: a record, or the run of a lab; what
    was sent in it is shown first, and what is selected in its views is marked. No
    choice turns a knob of the process.

    `choose(store="ring", workers=16, dial=2)`, `try_knob(name, value)`, `slow(link)`,
    `cut(link)`, `straggle(worker)` and `repair()` do what the page does.
    """

    _esm = esm.module("kvstore_view")
    _css = STYLE + (esm.STATIC / "kvstore_view.css").read_text(encoding="utf-8")

    #: What is drawn: facts, and the columns of the bars as bytes.
    frozen: traitlets.List[Any] = traitlets.List().tag(sync=True)
    #: The scaling curve, as far as it is computed, and the one before it as `ghost`.
    curve = traitlets.Dict().tag(sync=True)
    #: The knobs behind the controls, as the knob panel describes them.
    declared: traitlets.List[Any] = traitlets.List().tag(sync=True)

    # A view that could not be made is closed all the same, by its finaliser.
    _inbox: Inbox | None = None
    _scaler: Scaler | None = None

    def __init__(
        self,
        workload: Workload | str = "",
        *,
        store: str = "device",
        cluster: Cluster | str = trials.PCIE,
        workers: int = 8,
        record: Record | Run | None = None,
        net: Any = None,
        **settings: Any,
    ) -> None:
        self._lock = threading.RLock()
        self._revision = 0
        self._net = net
        self._run = None if record is None else Run.of(record)
        self._here: Cluster | None = None
        self._given = workload if isinstance(workload, Workload) else None
        self._workload = OWN if isinstance(workload, Workload) else workload
        self._workload = self._workload or self._first_workload()
        self._own = cluster if isinstance(cluster, Cluster) else None
        self._source = scenes.MODELLED
        self._asked_for_curve = False
        self._last_curve: tuple[Trial, Curve] | None = None
        self.trial = Trial(
            self._work_of(self._workload), trials.preset(cluster), store, workers
        )
        self._first_plain = self._plain()
        super().__init__(**settings)
        self.follow(self._run)
        self.declared = [_control(name) for name in trials.FIELDS]
        self._inbox = Inbox(self._answer, name="minimx kvstore view", overtake=True)
        self._scaler = Scaler(self._drawn)
        if self._record is not None and len(self._record.comm()):
            self._source = scenes.MEASURED
        self._show()
        inbox = self._inbox
        self.on_msg(lambda _widget, message, _buffers: inbox.put(message))

    # -- its state --------------------------------------------------------------------

    def _more_names(self) -> tuple[str, ...]:
        return *self._first_plain, "op"

    def _plain(self) -> dict[str, Any]:
        mine = {"workload": self._workload, "source": self._source}
        return {**mine, **self.trial.choices()}

    def _more(self) -> dict[str, Any]:
        changed = {
            name: value
            for name, value in self._plain().items()
            if value != self._first_plain[name]
        }
        return changed | self._marked()

    def _bring(self, more: Mapping[str, Any]) -> None:
        wanted = self._first_plain | dict(more)
        with self._lock:
            before = self.trial, self._source, self._workload
            try:
                for name in ("workload", "cluster", "store", "workers", "dial"):
                    self._choose(name, wanted[name])
                self.trial = self.trial.changed_as(wanted)
                self._choose("source", wanted["source"])
                self.trial.predicted()
                self._bring_marked(more)
            except Exception:
                self.trial, self._source, self._workload = before
                raise
            self._show()

    # -- choosing ---------------------------------------------------------------------

    def choose(self, **choices: Any) -> None:
        """Other choices: store, cluster, workers, dial, workload, or source.

        cluster, workload: as for the view. dial: how much is computed, times that of
        the workload, 1/16 to 16. source: "modelled", or "measured" where a record is
        shown. Links that were changed are whole again on another cluster. Raises
        `ArgumentError` for what cannot be chosen, and keeps what it shows.
        """
        known = ("store", "cluster", "workers", "dial", "workload", "source")
        with self._lock:
            for name, value in choices.items():
                if name not in known:
                    raise ArgumentError(
                        f"KVStoreView: no choice {name!r}; there are "
                        f"{', '.join(known)}.{did_you_mean(name, known)}"
                    )
                self._choose(name, value)
            self._show()

    def _choose(self, name: str, value: Any) -> None:
        if name == "source":
            if value not in self.sources:
                raise ArgumentError(
                    f"KVStoreView: no source {value!r}; there is "
                    f"{', '.join(self.sources)}. Give a record of several devices to "
                    "see what was measured."
                )
            self._source = value
            if self._workload == RECORDED:  # of what is the last step by now
                with contextlib.suppress(ArgumentError):
                    self.trial = replace(self.trial, workload=self._recorded())
            return
        change: dict[str, Any] = {name: value}
        if name == "cluster":
            change = {"cluster": self._cluster(value), "links": {}}
        elif name == "workload":
            change = {name: self._work_of(value)}
            self._workload = OWN if isinstance(value, Workload) else value
        elif name == "workers":
            count = int(value)
            slow = {k: f for k, f in self.trial.slow.items() if k < count}
            change = {name: count, "slow": slow}
        elif name == "dial":
            change = {name: float(value)}
        self.trial = replace(self.trial, **change)
        self._source = scenes.MODELLED

    def _first_workload(self) -> str:
        """What was recorded, if it can be had, else an example."""
        if self._net is not None:
            with contextlib.suppress(ArgumentError):
                self._recorded()
                return RECORDED
        return "vgg16"

    def _recorded(self) -> Workload:
        net = self._net
        if callable(net) and not isinstance(net, Block):
            net = net()
        if net is None or self._record is None:
            raise ArgumentError(
                "KVStoreView: nothing was recorded of a network yet. Give a record and "
                "net, or train some steps in the lab."
            )
        return Workload.from_record(LastStep(self._record), net)

    def _work_of(self, workload: Workload | str) -> Workload:
        if workload == RECORDED:
            return self._recorded()
        if isinstance(workload, Workload):
            self._given = workload
            return workload
        if workload == OWN and self._given is not None:
            return self._given
        return example(workload)

    def _cluster(self, cluster: Cluster | str) -> Cluster:
        if cluster == HERE and self._here is not None:
            return self._here
        if self._own is not None and cluster == self._own.name:
            return self._own
        return trials.preset(cluster)

    def try_knob(self, name: str, value: Any) -> None:
        """Predict with another value of a knob, such as MXNET_KVSTORE_BIGARRAY_BOUND.

        value: also as text; None goes back to the one in force. Raises `KnobError` for
        values that the knob does not take.
        """
        if name not in trials.FIELDS:
            raise ArgumentError(
                f"KVStoreView: {name!r} cannot be tried; there are "
                f"{', '.join(trials.FIELDS)}.{did_you_mean(name, trials.FIELDS)}"
            )
        self._try(self.trial.with_knob(name, value))

    def slow(self, link: str, factor: float = trials.SLOWER) -> None:
        """Give a link a share of its bandwidth; links are called as in the table."""
        self._try(self.trial.with_link(link, factor))

    def cut(self, link: str) -> None:
        """Take a link away. Where there is no other way, the view says so."""
        self._try(self.trial.with_link(link, 0))

    def straggle(self, worker: int, factor: float = trials.STRAGGLES) -> None:
        """Make a worker compute `factor` times as long; 1 as before."""
        self._try(self.trial.with_straggler(worker, factor))

    def repair(self) -> None:
        """All links and workers as they were."""
        self._try(replace(self.trial, links={}, slow={}))

    def reset(self) -> None:
        """The knobs in force again, and all links and workers as they were."""
        self._try(replace(self.trial, links={}, slow={}, knobs={}, dial=1.0))

    def _try(self, trial: Trial) -> None:
        with self._lock:
            self.trial, self._source = trial, scenes.MODELLED
            self._show()

    @property
    def _record(self) -> Record | None:
        """The record that is shown; of a lab, that of its newest training."""
        return None if self._run is None else self._run.record

    def show(self, record: Record | Run | None) -> None:
        """Show what a record measured; None goes back to what is predicted."""
        with self._lock:
            self._run = None if record is None else Run.of(record)
            self.follow(self._run)
            self._source = scenes.MODELLED if record is None else scenes.MEASURED
            self._show()

    # -- what is shown ----------------------------------------------------------------

    @property
    def sources(self) -> list[str]:
        """Where what is shown can come from."""
        return [scenes.MODELLED] + [scenes.MEASURED] * (self._record is not None)

    @property
    def prediction(self) -> Prediction:
        """The step that the simulation predicts for the choices."""
        return self.trial.predicted()

    @property
    def scene(self) -> Scene:
        """What is drawn."""
        return self._scene

    @property
    def scaling(self) -> Curve:
        """The whole scaling curve; computed now if it is not there yet."""
        with self._lock:
            known = self._last_curve
        if known is None or known[0] != self._of_curve():
            self._drawn(self._of_curve(), whole(self._of_curve()))
        return dict(self.curve)

    def _of_curve(self) -> Trial:
        return replace(self.trial, workers=1, slow=dict(self.trial.slow))

    def _made(self) -> Scene:
        trial = self.trial
        if self._source == scenes.MEASURED and self._record is not None:
            return measured(self._record)
        try:
            found = trial.predicted()
        except MXNetError as lesson:
            title = f"{trial.store}, {trial.workers:,} workers, {trial.cluster.name}"
            return scenes.disconnected(
                *(str(lesson), title, trial.changed, trial.cluster),
                *(trial.workers, trial.store),
            )
        return scenes.modelled(found, trial.work, trial.changed, trial.cluster)

    def _show(self) -> None:
        """Compute what is drawn, and tell the page in one message."""
        self._scene = self._made()
        self._revision += 1
        layout, buffers = pack(text.columns(self._scene))
        facts = {**text.facts(self._scene), **self._choices(), "tables": layout}
        facts["revision"] = self._revision
        self.frozen = [facts, [bytes(buffer) for buffer in buffers]]
        self._keep()
        self._ask_for_curve()

    def _ask_for_curve(self) -> None:
        """Compute the curve in the background if a page looks."""
        if self._asked_for_curve and self._scaler is not None:
            self._scaler.ask(self._of_curve())

    def _choices(self) -> dict[str, Any]:
        trial = self.trial
        clusters = [*trials.PRESETS]
        own = self._own is not None and self._own.name not in clusters
        clusters += [self._own.name] if own and self._own is not None else []
        clusters += [HERE] if self._here is not None else []
        return {
            **trial.facts(),
            "sources": self.sources,
            "live": self._record is not None and self._record.running,
            "clusters": clusters,
            "cluster": next(
                (n for n, make in trials.PRESETS.items() if make() == trial.cluster),
                HERE if trial.cluster is self._here else trial.cluster.name,
            ),
            "workloads": [
                *([RECORDED] if self._net is not None else []),
                *([OWN] if self._given is not None else []),
                *EXAMPLES,
            ],
            "workload": self._workload,
            "code": self.code(),
        }

    def code(self) -> str:
        """A `with` block that puts the knobs that are tried in force."""
        tried = self.trial.knobs
        names = {short: name for name, short in trials.FIELDS.items()}
        return code({names[short]: (None, value) for short, value in tried.items()})

    def _drawn(self, trial: Trial, curve: Curve) -> None:
        """A curve, or the first part of it, was computed; in the scaler's thread."""
        with self._lock:
            ghost = self.curve.get("ghost")
            if self._last_curve is not None and self._last_curve[0] != trial:
                ghost = {k: v for k, v in self._last_curve[1].items() if k != "ghost"}
            if curve["done"] and not curve["lesson"]:
                self._last_curve = trial, curve
            self.curve = {**curve, "ghost": ghost}

    # -- faces ------------------------------------------------------------------------

    def __repr__(self) -> str:
        scene = self._scene
        parts = [f"{scene.title}, {scene.source}"]
        if scene.numbers is None:
            parts.append(scene.lesson)
        else:
            parts += text.summary(scene.numbers)
        if scene.source == scenes.MODELLED:
            parts += self.trial.faults
        return f"KVStoreView({', '.join(parts)})"

    def table(self) -> Tables:
        """Places, links and keys, and the scaling curve as far as it is known."""
        return text.tables(self._scene, self.curve)

    def svg(self, *, dark: bool = False, width: int = 900) -> str:
        """A static picture: topology and timeline, and the scaling curve beside."""
        from minimx_widgets.pictures.kvstore.picture import draw

        curve = self.scaling if self._source == scenes.MODELLED else {}
        return draw(self._scene, curve, repr(self), dark=dark, width=width)

    def close(self) -> None:
        """Take the view away; its threads end."""
        if self._scaler is not None:
            self._scaler.close()
        if self._inbox is not None:
            self._inbox.close()
        self._net = None  # of a lab, whose arrays would stay on its devices
        super().close()

    # -- to and from the browser; in the inbox's thread -------------------------------

    def _answer(self, message: Message) -> None:
        """Do what the page asks; say why not."""
        if message.get("kind") == "source":
            self.send(self.source_message(message))
            return
        answer: dict[str, Any] = {"kind": "answer", "name": message.get("name", "")}
        try:
            self._do(message)
        except (MXNetError, ValueError) as refused:
            answer |= {"ok": False, "text": self.refused(refused)}
        else:
            answer["ok"] = True
        self.send(answer)

    def source_for(self, message: Mapping[str, Any]) -> Code:
        """The plan of the store: who sends what to whom."""
        return decision("kvstore", STORES[self.trial.store])

    def _do(self, message: Mapping[str, Any]) -> None:
        kind, name = message.get("kind"), str(message.get("name", ""))
        if kind == "set" and name in trials.FIELDS:
            self.try_knob(name, str(message["text"]))
        elif kind == "set":
            self.choose(**{name: message["text"]})
        elif kind == "link":
            now = self.trial.links.get(name, 1)
            following = {1: trials.SLOWER, trials.SLOWER: 0}.get(now, 1)
            self._try(self.trial.with_link(name, following))
        elif kind == "worker":
            number = int(message["number"])
            slow = number in self.trial.slow
            self.straggle(number, 1 if slow else trials.STRAGGLES)
        elif kind in ("reset", "repair", "measure"):
            do = {"reset": self.reset, "repair": self.repair, "measure": self._measure}
            do[kind]()
        elif kind == "refresh":
            with self._lock:
                self._show()
        elif kind == "hello":
            self._asked_for_curve = True
            self._ask_for_curve()
            self.tell_selection()
        elif kind == "select":
            self.select(int(message["op"]), by_page=True)
        elif kind == "table":
            self.send({"kind": "table", "html": self.table().html()})

    def measure(self) -> Cluster:
        """Measure this machine for some seconds, and predict with it from now on."""
        found = measure_machine()
        with self._lock:
            self._here = found
            self.choose(cluster=HERE)
        return found

    def _measure(self) -> None:
        """Measure in a thread, as it takes a while, and say what was found."""

        def work() -> None:
            answer: dict[str, Any] = {"kind": "answer", "name": "measure", "ok": True}
            try:
                answer["text"] = f"{self.measure()!r}"
            except (MXNetError, OSError) as failed:
                answer |= {"ok": False, "text": self.refused(failed)}
            self.send(answer)

        threading.Thread(target=work, name="minimx measuring", daemon=True).start()


def _control(name: str) -> dict[str, Any]:
    """A knob as a control that tries values."""
    found = describe(knobs.declared[name]) | {"live": True}
    found["high"] = trials.LARGEST.get(trials.FIELDS[name], found["high"])
    return found

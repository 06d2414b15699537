"""The inside of a pool: blocks by size, the device's addresses, calls over time.

What is drawn is the record's own memory events, or the same requests served again by
the real policies under settings that are tried out (`what_if`): no knob is turned.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
import traitlets

from minimx.core import storage
from minimx.core.errors import ArgumentError, MXNetError, did_you_mean
from minimx.core.events import CATEGORIES, PHASES
from minimx.core.knobs import knobs
from minimx.core.replay import History, Steps, replay_pool
from minimx.core.replay.history import FLUSH, HIT, OOM
from minimx.core.storage.policy import PREFIXES, knob_names
from minimx_widgets import esm
from minimx_widgets.allocations import facts_for_page, source_of
from minimx_widgets.base import View
from minimx_widgets.code.decisions import KINDS, decision
from minimx_widgets.code.pieces import Code
from minimx_widgets.inbox import latest
from minimx_widgets.packing import Array, Coder, Columns, pack
from minimx_widgets.pictures.pool_knobs import MEMORY, control, value_of, value_text
from minimx_widgets.pictures.pool_scene import Region, holes, regions_at, size_classes
from minimx_widgets.run import News
from minimx_widgets.tables import Table, Tables
from minimx_widgets.units import human_bytes, human_share
from minimx_widgets.views.knob_panel import code

#: What can be tried, in the order of `minimx.core.storage.policy.knob_names`.
FIELDS = ("type", "page", "reserve", "large", "cutoff")
RECORDED = "recorded"
GHOSTS = ("", RECORDED, "Naive", "Round", "Unpooled")
AXES = ("events", "time")
KEPT = 12
Made = TypeVar("Made")


@dataclass(frozen=True, eq=False)
class Shown:
    """A history, and for each event of it, (n,) each, whose memory it is about.

    row: in `mem`, of the step behind it. category: a position in `CATEGORIES`.
    """

    history: History
    row: Array
    category: Array
    text: str

    @cached_property
    def highest(self) -> int:
        """The first event at which the pool holds most; -1 without events."""
        return int(self.history.reserved.argmax()) if len(self.history) else -1


class PoolMap(View):
    """A pool over time: size classes, the address map, calls, and another pool's ghost.

        view = PoolMap(record, ghost="Round")
        view.what_if(cutoff=28, capacity="200MiB")

    device: such as "gpu(0)"; empty means the simulated GPU with the most events, else
    the busiest device. ghost: another pool that serves the same requests: "Naive",
    "Round", "Unpooled", or "recorded" for what really happened. at: the step at which
    to look, -1 for the moment when the pool held most.
    """

    _esm = esm.module("pool_map")
    rate = 3.0

    device = traitlets.Unicode("").tag(sync=True, kept=True)
    ghost = traitlets.Unicode("").tag(sync=True, kept=True)
    at = traitlets.Int(-1, min=-1).tag(sync=True, kept=True)
    #: The size class whose blocks' lives are shown, in bytes; 0 for none.
    size = traitlets.Int(0, min=0).tag(sync=True, kept=True)
    axis = traitlets.Enum(AXES, "events").tag(sync=True, kept=True)
    height = traitlets.Int(400).tag(sync=True)
    #: The knobs behind the controls, as the knob panel describes them.
    declared: traitlets.List[Any] = traitlets.List().tag(sync=True)

    def __init__(self, record: Any = None, **settings: Any) -> None:
        self._trial: dict[str, Any] = {}
        self._wishes: list[dict[str, Any] | None] = []
        self._known: dict[Any, Any] = {}  # what was made, the oldest first
        self._read: tuple[Any, Any] = (None, None)  # of which events, and their rows
        super().__init__(record, **settings)
        self.declared = [control(name) for name in self.controls]

    @traitlets.validate("ghost")
    def _valid_ghost(self, proposal: Any) -> str:
        value = str(proposal["value"])
        if value not in GHOSTS:
            near = did_you_mean(value, GHOSTS[1:])
            text = ", ".join(GHOSTS[1:])
            raise ArgumentError(f"PoolMap: ghost={value!r}: choose {text}.{near}")
        return value

    @traitlets.observe("device", "ghost")
    def _looks_elsewhere(self, _change: Any) -> None:
        self._show_again()

    # -- its state --------------------------------------------------------------------

    def _more_names(self) -> tuple[str, ...]:
        return (*super()._more_names(), "tried")

    def _more(self) -> dict[str, Any]:
        return super()._more() | ({"tried": self.tried} if self._trial else {})

    def _bring(self, more: Mapping[str, Any]) -> None:
        self._trial = {}
        self.declared = [control(name) for name in self.controls]
        self.what_if(**dict(more.get("tried", {})))
        super()._bring(more)

    # -- what is shown ----------------------------------------------------------------

    @property
    def devices(self) -> list[str]:
        """The devices that were asked for memory: GPUs first, then the busiest."""
        return self._kept("devices", self._devices)

    def _devices(self) -> list[str]:
        texts, asked = self.record.strings, ("alloc", "hit", "oom")
        served = np.isin(
            self._mem["event"], [texts.index(word) for word in asked if word in texts]
        )
        numbers, counts = np.unique(self._mem["device"][served], return_counts=True)
        found = [(texts[int(n)], int(c)) for n, c in zip(numbers, counts, strict=True)]
        known = [pair for pair in found if _kind(pair[0]) in PREFIXES]
        known.sort(key=lambda pair: (_kind(pair[0]) != "gpu", -pair[1]))
        return [name for name, _ in known]

    @property
    def shown_device(self) -> str:
        """The device of the picture."""
        return self.device or next(iter(self.devices), "gpu(0)")

    @property
    def controls(self) -> dict[str, str]:
        """The knobs that can be tried: knob → field."""
        kind = _kind(self.shown_device)
        if kind not in PREFIXES:
            text = ", ".join(PREFIXES)
            raise ArgumentError(
                f"PoolMap: {self.shown_device!r} has no pool; those of {text} have."
            )
        found = dict(zip(knob_names(kind), FIELDS, strict=True))
        return found | ({MEMORY: "capacity"} if kind == "gpu" else {})

    def what_if(self, **fields: Any) -> None:
        """Show what the pool would have done under other settings; no knob is turned.

        type, page, large, cutoff, reserve: as in the knobs of the pool. capacity: the
        memory of the device, such as "200MiB". None ends the trial of a field. Raises
        `KnobError` for values that the pool would refuse, and keeps what it shows.
        """
        names = {field: name for name, field in self.controls.items()}
        trial = dict(self._trial)
        for field, value in fields.items():
            if field not in names:
                known, near = ", ".join(names), did_you_mean(field, names)
                raise ArgumentError(
                    f"what_if: {field!r} cannot be tried; there are {known}.{near}"
                )
            trial.pop(field, None)
            if value is not None:
                trial[field] = value_of(names[field], value)
        before, self._trial = self._trial, trial
        try:
            self.shown()
        except MXNetError:
            self._trial = before
            raise
        self._show_again()

    def shown(self) -> Shown:
        """The history that is drawn."""
        trial = self._trial
        addressed = _kind(self.shown_device) == "gpu"
        if not trial and addressed:
            return self._kept("recorded", self._recorded)
        text = ", ".join(f"{name} {value}" for name, value in self.tried.items())
        key = ("trial", *sorted(trial.items()))
        return self._kept(key, lambda: self._replayed(trial, text or RECORDED))

    def shadow(self) -> Shown | None:
        """The history of the ghost, if there is one."""
        if not self.ghost:
            return None
        if self.ghost == RECORDED:
            return replace(self._kept("recorded", self._recorded), text=RECORDED)
        trial = self._trial | {"type": self.ghost}
        key = ("ghost", *sorted(trial.items()))
        return self._kept(key, lambda: self._replayed(trial, self.ghost))

    @property
    def tried(self) -> dict[str, str]:
        """What is tried out, in words: field → value."""
        names = {field: name for name, field in self.controls.items()}
        return {
            field: value_text(names[field], value)
            for field, value in self._trial.items()
        }

    @property
    def pool(self) -> str:
        """What the pool of the picture is called."""
        return str(self._values()[next(iter(self.controls))])

    def moment(self, one: Shown) -> int:
        """The event of a history at which it is drawn."""
        if self.at < 0:
            step = self.shown()
            if not len(step.history):
                return -1
            return one.history.at_step(int(step.history.step[step.highest]))
        return one.history.at_step(self.at)

    def regions(self, one: Shown) -> list[Region]:
        """The blocks of a history at the moment of the picture."""
        return regions_at(one.history, self.moment(one), ended=not self.record.running)

    def _kept(self, key: Any, make: Callable[[], Made]) -> Made:
        """What was made for the events so far, or make it."""
        record, known = self.record, self._known
        events = (record, record.rows("mem"), record.dropped["mem"])
        if self._read[0] != events:
            self._read = (events, record.mem())
            known.clear()
        if (self.device, key) not in known:
            known[self.device, key] = make()
            while len(known) > KEPT:
                known.pop(next(iter(known)))
        made: Made = known[self.device, key]
        return made

    @property
    def _mem(self) -> Array:
        """The memory events of all devices, read once."""
        self._kept("read", lambda: None)
        return np.asarray(self._read[1])

    def _steps(self) -> Steps:
        return self._kept("steps", lambda: Steps.of(self.record, self.shown_device))

    def _recorded(self) -> Shown:
        history = History.recorded(self.record, self.shown_device)
        if not history.capacity:  # it runs still, so the size is not recorded yet
            history = replace(history, capacity=self._capacity())
        return self._located(history, RECORDED)

    def _replayed(self, trial: Mapping[str, Any], text: str) -> Shown:
        names = {field: name for name, field in self.controls.items()}
        tried = {names[f]: value for f, value in trial.items() if f != "capacity"}
        found = replay_pool(
            self.record,
            self.shown_device,
            knobs=tried,
            capacity=trial.get("capacity") or self._capacity(),
            steps=self._steps(),
        )
        return self._located(found.history, text)

    def _located(self, history: History, text: str) -> Shown:
        rows = self._steps().row
        last = max(len(rows) - 1, 0)
        found = rows[np.minimum(history.step, last)] if len(rows) else rows[:0]
        mem = self._mem[found]
        category = Coder(CATEGORIES).codes(self.record.strings, mem["category"])
        return Shown(history, found, category, text)

    def _capacity(self) -> int:
        """The memory of the device, in bytes."""
        known = self.record.conditions.devices.get(self.shown_device)
        if known:
            return known
        pools = {pool.name: pool for pool in storage.pools()}
        pool = pools.get(self.shown_device)
        if pool is not None:
            return pool.driver.total_bytes
        mem = self._mem
        ends = (mem["address"] + mem["rounded"]).max(initial=0)
        return max(int(ends), 2 * int(mem["rounded"].sum()), 1 << 20)

    def _values(self) -> dict[str, Any]:
        """The settings of the picture: knob → value."""
        conditions = self.record.conditions.knobs
        values = {n: conditions.get(n, knobs.get(n)) for n in self.controls}
        if MEMORY in values:
            values[MEMORY] = self._capacity()
        names = {field: name for name, field in self.controls.items()}
        return values | {names[f]: value for f, value in self._trial.items()}

    # -- faces ------------------------------------------------------------------------

    def __repr__(self) -> str:
        history = self.shown().history
        parts = [
            f"{self.shown_device} {self.pool}",
            f"reserved={human_bytes(history.peak_reserved)}",
            f"calls={history.calls}",
            f"hits={history.count(HIT)}",
            f"flushes={history.count(FLUSH)}",
        ]
        if refused := history.count(OOM):
            parts.append(f"refused={refused}")
        shadow = self.shadow()
        if shadow is not None:
            most, calls = shadow.history.peak_reserved, shadow.history.calls
            parts.append(f"{shadow.text}: {human_bytes(most)}/{calls}")
        return f"PoolMap({', '.join(parts)})"

    def code(self) -> str:
        """A `with` block that puts what is tried out in force."""
        now = self._values()
        changes = {
            name: (None, now[name])
            for name, field in self.controls.items()
            if field in self._trial
        }
        return code(changes)

    def table(self) -> Tables:
        """Size classes now, the device's memory, and what each pool did in all."""
        shown, shadow = self.shown(), self.shadow()
        regions = self.regions(shown)
        rows = [
            (human_bytes(one.size), str(one.in_use), str(one.cached),
             str(one.stranded), human_bytes(one.waste), human_bytes(one.nbytes))
            for one in size_classes(regions)
        ]  # fmt: skip
        step = self._step(shown)
        heads = ("size class", "in use", "cached", "stranded", "waste", "holds")
        classes = Table.of(heads, rows, f"{self.shown_device} after step {step:,}")
        both = [(self.pool, shown)]
        if shadow is not None:
            both.append((f"ghost: {shadow.text}", shadow))
        did = [(name, *_sums(one.history)) for name, one in both]
        heads = ("pool", "reserved", "driver calls", "used again", "flushes", "refused")
        gaps = holes(regions, shown.history.capacity)
        free = sum(length for _, length in gaps)
        largest = max((length for _, length in gaps), default=0)
        space = [
            ("holds", human_bytes(sum(one.size for one in regions))),
            ("free", human_bytes(free)),
            ("largest hole", human_bytes(largest)),
            ("holes", str(len(gaps))),
        ]
        memory = Table.of(("device", ""), space, "The memory of the device")
        return Tables((classes, memory, Table.of(heads, did, "In all")))

    def _step(self, one: Shown) -> int:
        row = self.moment(one)
        return int(one.history.step[row]) if row >= 0 else 0

    def svg(self, *, dark: bool = False, width: int = 900) -> str:
        """A static picture of one moment, and of the whole record below it."""
        from minimx_widgets.pictures.pool_picture import draw

        return draw(self, dark=dark, width=width)

    # -- to and from the browser ------------------------------------------------------

    def columns(self, news: News) -> Columns:
        """Nothing of the news: a replay begins at the beginning (see `_frames`)."""
        return {}

    def _frames(self, pending: Any, known: int, most: int) -> list[dict[str, Any]]:
        began = time.perf_counter()
        (header,) = super()._frames(pending, known, most)
        shown, shadow = self.shown(), self.shadow()
        tables = {"shown": self._columns(shown)}
        if shadow is not None:
            tables["ghost"] = self._columns(shadow)
        layout, buffers = pack(tables)
        names = self.controls
        values = self._values()
        header |= {
            "buffers": buffers,
            "tables": layout,
            "at": self.at,
            "device": self.shown_device,
            "devices": self.devices,
            "capacity": shown.history.capacity,
            "pool": self.pool,
            "ghost": shadow.text if shadow is not None else "",
            "values": {name: value_text(name, value) for name, value in values.items()},
            "tried": [name for name, field in names.items() if field in self._trial],
            "code": self.code(),
        }
        took = time.perf_counter() - began
        header["took"] = round(1e3 * took, 1)
        # A long record takes a while to replay, which must not slow the run down.
        self._flow.rate = min(type(self).rate, 0.1 / max(took, 1e-3))
        return [header]

    def _columns(self, one: Shown) -> dict[str, Array]:
        history, mem = one.history, self._mem[one.row]
        texts, start = self.record.strings, self.record.conditions.t_start
        return {
            "step": history.step.astype("u4"),
            "block": history.block.astype("u4"),
            "t": (mem["t"] - start).astype("f8"),
            "event": history.event.astype("u1"),
            "fate": history.fate,
            "requested": history.requested.astype("f8"),
            "size": history.size.astype("f8"),
            "address": history.address.astype("f8"),
            "op": mem["op"].astype("u4"),
            "owner": mem["name"].astype("u4"),
            "layer": mem["layer"].astype("u4"),
            "category": one.category,
            "phase": Coder(PHASES).codes(texts, mem["phase"]),
        }

    def _show_again(self) -> None:
        """Tell the browser, if one looks, what is drawn now."""
        self._keep()
        if self.run.feed.running:
            self.run.feed.post(self._ship)

    def _hear(self, widget: Any, message: dict[str, Any], buffers: Any) -> None:
        if message.get("kind") == "block":
            self.run.feed.post(lambda: self._tell_facts(message))
        elif message.get("kind") in ("set", "reset", "ghost", "device"):
            self._wishes.append(message)
            self.run.feed.post(self._grant)
        else:
            super()._hear(widget, message, buffers)

    def _tell_facts(self, message: Mapping[str, Any]) -> None:
        placed = not self._trial
        self.tell(facts_for_page(self.record, message, placed=placed))

    def source_for(self, message: Mapping[str, Any]) -> Code:
        """The lines of the pool and of its policy, and of who asked for the memory."""
        event = str(message["event"])
        found = source_of(self.record, int(message["block"]), event)
        rules = KINDS["pool type"]
        if event in ("alloc", "hit", "oom") and self.pool in rules:
            rounds = decision("pool type", self.pool).pieces
            found = replace(found, pieces=(*found.pieces, *rounds))
        return found

    def _grant(self) -> None:
        """Do what was asked for; of several wishes for one control only the last."""
        waiting, self._wishes = self._wishes, []
        for message in latest(waiting):
            if message is None:
                continue
            text, taken = "", True
            try:
                self._granted(message)
            except (MXNetError, ValueError) as refused:
                text, taken = self.refused(refused), False
            name = str(message.get("name", ""))
            self.tell({"kind": "answer", "name": name, "ok": taken, "text": text})

    def _granted(self, message: Mapping[str, Any]) -> None:
        kind = message["kind"]
        if kind == "set":
            name = str(message["name"])
            self.what_if(**{self.controls[name]: str(message["text"])})
        elif kind == "reset":
            self._trial = {}
            self._show_again()
        elif kind == "ghost":
            self.ghost = str(message["name"])
        else:
            self._trial = {}
            self.device = str(message["name"])
            self.declared = [control(name) for name in self.controls]


def _sums(history: History) -> tuple[str, ...]:
    """What a pool did in all, in words."""
    share = history.count(HIT) / max(history.calls + history.count(HIT), 1)
    return (
        human_bytes(history.peak_reserved),
        str(history.calls),
        f"{history.count(HIT)} ({human_share(share)})",
        str(history.count(FLUSH)),
        str(history.count(OOM)),
    )


def _kind(device: str) -> str:
    return device.split("(")[0]

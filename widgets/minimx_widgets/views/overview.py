"""`Overview`: where the time and the memory of a run went, on one page.

Bars for every lane, memory at its peak, the tree of blocks, and the operators as dots
under the roof of this machine: operations per byte to the right, operations per second
upwards. The numbers are those of `mx.profiler.overview`; nothing is measured until
the user asks for it.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any

import traitlets

from minimx.core.errors import MXNetError
from minimx.core.record import Record
from minimx.profiler import roofs
from minimx.profiler.shares import BUCKETS
from minimx.profiler.totals import Overview as Account
from minimx.profiler.totals import overview_of, roof_of
from minimx.profiler.work import Module, OperatorWork
from minimx_widgets import esm
from minimx_widgets.base import View
from minimx_widgets.code.finding import source
from minimx_widgets.code.pieces import Code
from minimx_widgets.packing import Columns
from minimx_widgets.pictures import overview_picture
from minimx_widgets.run import News, Run
from minimx_widgets.tables import Table, Tables
from minimx_widgets.units import human_bytes, human_share, human_time

#: So many operators and blocks are shown; the table has them all.
MOST = 40


class Overview(View):
    """The account of a run.

        Overview(record)

    `refresh()` looks at a record that is running again, `measure()` finds out how fast
    this machine is, `cancel()` stops that, `select(op)` marks an operation in all views
    of the run.
    """

    _esm = esm.module("overview")

    state = traitlets.Dict().tag(sync=True)

    def __init__(self, record: Record | Run | None = None, **settings: Any) -> None:
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._revision = 0
        self.account: Account
        super().__init__(record, **settings)
        self.refresh()

    # -- what is shown ----------------------------------------------------------------

    def refresh(self) -> None:
        """Look at the record again."""
        with self._lock:
            self._revision += 1
            self.account = overview_of(self.record)
            self._show()

    def measure(self) -> None:
        """Find out how fast this machine is, and hold the operators against that.

        Takes seconds. Raises `ProfilerError` if `cancel` was called meanwhile.
        """
        self._stop.clear()
        if self.record.conditions.clock == "wall":
            asked = roof_of(self.record)
            threads = int(self.record.conditions.knobs.get("OMP_NUM_THREADS", 0))
            kinds = {(each.device, each.dtype) for each in self.account.operators}
            for device, dtype in sorted(kinds):
                if asked(device, dtype) is None and dtype in roofs.TYPES:
                    roofs.measured(dtype, threads or None, canceled=self._stop.is_set)
            roofs.measured("float32", threads or None, canceled=self._stop.is_set)
        self.refresh()

    def cancel(self) -> None:
        """Stop a measurement."""
        self._stop.set()

    def place_of(self, op: int) -> tuple[int, str]:
        """Where an operation is counted: which operator (-1 for none), which block."""
        ops = self.record.ops()
        found = ops[ops["op"] == op]
        if not op or not len(found):
            return -1, ""
        texts, row = self.record.strings, found[0]
        names, layer = {texts[row["name"]]}, texts[row["layer"]]
        if row["work"]:
            parts = self.record.table("parts")
            mine = parts[parts["work"] == row["work"]]
            names = set(self.record.texts(mine["name"]))
        for index, each in enumerate(self.account.operators[:MOST]):
            if each.name in names and each.device == texts[row["device"]]:
                return index, layer
        return -1, layer

    def _show(self) -> None:
        found, marked = self.account, self.run.selected
        operator, path = self.place_of(marked)
        memory = found.memory
        self.state = {
            "revision": self._revision,
            "title": repr(self),
            "span": found.span,
            "busy": found.busy,
            "count": found.count,
            "clock": found.clock,
            "running": self.record.running,
            "buckets": list(BUCKETS),
            "lanes": [[lane.name, list(lane.ns)] for lane in found.lanes],
            "roofs": [[r.flops, r.bandwidth, str(r)] for r in found.roofs],
            "operators": [_operator(each, found) for each in found.operators[:MOST]],
            "blocks": [_block(*each) for each in found.modules.walk()[:MOST]],
            "memory": {
                "nbytes": memory.nbytes,
                "t": memory.t,
                "categories": list(map(list, memory.categories.items())),
                "layers": list(map(list, memory.layers.items()))[:12],
            },
            "notes": list(found.notes),
            "selected": {"op": marked, "operator": operator, "path": path},
        }

    # -- to and from the browser ------------------------------------------------------

    def columns(self, news: News) -> Columns:
        """Nothing: what is shown are sums, and they stand in `state`."""
        return {}

    def freeze(self) -> None:
        """Everything is in the widget's state at any time."""

    def _hear(self, _widget: Any, message: dict[str, Any], _buffers: Any) -> None:
        """A page asks. Sums and measurements take a while: they get a thread."""
        kind = message.get("kind")
        if kind == "cancel":
            self.cancel()
        elif kind in ("refresh", "measure", "op", "table"):
            threading.Thread(target=self._answer, args=(message,), daemon=True).start()
        else:
            super()._hear(_widget, message, _buffers)

    def source_for(self, message: Mapping[str, Any]) -> Code:
        """The lines that define an operator."""
        return source(str(message["name"]))

    def _answer(self, message: dict[str, Any]) -> None:
        kind = message["kind"]
        try:
            if kind == "refresh":
                self.refresh()
            elif kind == "measure":
                self.measure()
            elif kind == "op":
                self.run.select(int(message["op"]), sender=self)
                with self._lock:
                    self._show()
            else:
                self._send_table()
        except MXNetError as refused:
            text = self.refused(refused)
            self.tell({"kind": "answer", "ok": False, "text": text})

    def close(self) -> None:
        """Take the view away; a measurement ends."""
        self.cancel()
        super().close()

    # -- faces ------------------------------------------------------------------------

    def __repr__(self) -> str:
        found = self.account
        top = found.operators[0].name if found.operators else "none"
        return (
            f"Overview({found.count:,} operations, {len(found.lanes)} lanes, most "
            f"time: {top}, peak {human_bytes(found.memory.nbytes)})"
        )

    def table(self) -> Tables:
        """Lanes, operators, blocks and memory."""
        found = self.account
        whole, busy = found.span or 1, found.busy or 1
        lanes = [
            (lane.name, *(human_share(ns / whole) for ns in lane.ns))
            for lane in found.lanes
        ]
        blocks = [
            (
                " " * 2 * depth + each.name,
                *(human_time(each.ns.get(p, 0)) for p in ("forward", "backward")),
                human_share(each.total / busy),
                f"{each.flops:,}",
                human_bytes(each.nbytes),
                human_bytes(each.parameters),
            )
            for depth, each in found.modules.walk()
        ]
        peak = found.memory
        memory = [
            (what, name or "(none)", human_bytes(nbytes))
            for what, sums in (("category", peak.categories), ("block", peak.layers))
            for name, nbytes in sums.items()
        ]
        heads = ("block", "forward", "backward", "share", "operations", "bytes")
        return Tables(
            (
                Table.of(("lane", *BUCKETS), lanes, "Where time went"),
                Table.of(
                    OPERATOR, [_row(o, busy) for o in found.operators], "Operators"
                ),
                Table.of((*heads, "parameters"), blocks, "Blocks"),
                Table.of(("by", "name", "bytes"), memory, "Memory at its peak"),
            )
        )

    def svg(self, *, dark: bool = False, width: int = 900) -> str:
        """A static picture of the page."""
        return overview_picture.picture(self.state, dark=dark, width=width)


OPERATOR = (
    *("operator", "dtype", "device", "calls", "time", "share", "operations", "bytes"),
    *("GFLOP/s", "GB/s", "of the roof", "bound by"),
)


def _row(each: OperatorWork, busy: int) -> tuple[str, ...]:
    part = each.fraction
    return (
        *(each.name, each.dtype, each.device, f"{each.calls:,}", human_time(each.ns)),
        *(human_share(each.ns / busy), f"{each.flops:,}", human_bytes(each.nbytes)),
        *(f"{each.rate / 1e9:.2f}", f"{each.bandwidth / 1e9:.2f}"),
        *("" if part is None else human_share(part), each.bound),
    )


def _operator(each: OperatorWork, found: Account) -> dict[str, Any]:
    """An operator as the browser receives it."""
    return {
        "name": each.name,
        "dtype": each.dtype,
        "device": each.device,
        "kind": each.kind,
        "calls": each.calls,
        "ns": each.ns,
        "guessed": each.guessed,
        "flops": each.flops,
        "nbytes": each.nbytes,
        "rate": each.rate,
        "bandwidth": each.bandwidth,
        "intensity": each.intensity,
        "fraction": each.fraction,
        "bound": each.bound,
        "op": each.op,
        "roof": found.roofs.index(each.roof) if each.roof else -1,
    }


def _block(depth: int, each: Module) -> dict[str, Any]:
    """A block as the browser receives it."""
    forward, backward = (each.ns.get(p, 0) for p in ("forward", "backward"))
    return {
        "depth": depth,
        "name": each.name,
        "path": each.path,
        "ns": each.total,
        "forward": forward,
        "backward": backward,
        "flops": each.flops,
        "nbytes": each.nbytes,
        "parameters": each.parameters,
        "op": each.op,
    }

"""Every device's workers, streams and copies, and the links between them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import traitlets

from minimx.core.drivers import HOST
from minimx.core.record import Record
from minimx_widgets import esm, svg
from minimx_widgets.joined import busy
from minimx_widgets.packing import Array, Columns
from minimx_widgets.pictures.engine_layout import (
    LANE,
    PUSHER,
    TOP,
    Box,
    EngineLayout,
    lane_order,
)
from minimx_widgets.pictures.engine_picture import Picture, draw
from minimx_widgets.run import News
from minimx_widgets.tables import Table, Tables
from minimx_widgets.units import counted, human_bytes, human_share, human_time
from minimx_widgets.views.engine_timeline import EngineTimeline

LINKS = "links"
ARROW = " → "  # between the ends of a link, in the name of its lane
HEAD = 18  # pixels of a device's name above its lanes
_LANE = re.compile(r"(?P<device>.*?)(?: (?P<kind>copy|priority))?/(?P<number>\d+)")


def placed(lane: str) -> tuple[str, str]:
    """The device of a lane, and what the lane is called there.

    >>> placed("gpu(0)/1"), placed("gpu(0) copy/0"), placed("cpu(0)/0")
    (('gpu(0)', 'stream 1'), ('gpu(0)', 'copy 0'), ('cpu(0)', 'worker 0'))
    >>> placed("host → gpu(1)"), placed("python")
    (('links', 'host→gpu1'), ('program', 'python'))
    """
    if ARROW in lane:
        return LINKS, re.sub(r"[ ()]", "", lane)
    found = _LANE.fullmatch(lane)
    if found is None:
        return "program", lane
    device, kind, number = found["device"], found["kind"], found["number"]
    if kind == "priority":
        return device, f"urgent {number}"
    if device in ("pool", "copy"):  # one crowd for all devices
        return "all devices", f"{'worker' if device == 'pool' else 'copy'} {number}"
    if kind is None:
        kind = "stream" if device.startswith("gpu") else "worker"
    return device, f"{kind} {number}"


def in_order(lanes: Sequence[str]) -> list[str]:
    """The program first, then device by device, its copies last, and then the links.

    >>> in_order(["host → gpu(0)", "gpu(0) copy/0", "gpu(0)/0", "cpu(0)/0", "python"])
    ['python', 'cpu(0)/0', 'gpu(0)/0', 'gpu(0) copy/0', 'host → gpu(0)']
    >>> in_order(["gpu(10)/0", "gpu(2)/0", "gpu(1)/0"])
    ['python', 'gpu(1)/0', 'gpu(2)/0', 'gpu(10)/0']
    """

    def key(lane: str) -> tuple[bool, bool, bool, list[str | int], bool, bool]:
        group, label = placed(lane)
        return (
            lane != PUSHER,
            group == LINKS,
            group == "all devices",
            [
                int(part) if part.isdigit() else part
                for part in re.split(r"(\d+)", group)
            ],
            label.startswith("copy"),
            label.startswith("urgent"),
        )

    return sorted(lane_order(lanes), key=key)


def crossings(record: Record, comm: Array | None = None) -> Array:
    """The copies over links: link, operation's row, bytes, and the two moments.

    comm: rows of the communication table; all by default. A copy and its stretch of a
    link end at the same moment, on the same GPU.
    """
    rows = record.comm() if comm is None else comm
    ops = record.ops()
    ends: dict[tuple[int, str], list[int]] = {}
    copies = np.flatnonzero([name.startswith("Copy") for name in _names(record, ops)])
    for row in copies.tolist():
        device = record.strings[int(ops["device"][row])]
        ends.setdefault((int(ops["t_end"][row]), device), []).append(row)
    found = []
    for one in rows:
        source, target = (record.strings[int(one[name])] for name in ("src", "dst"))
        waiting = ends.get((int(one["t1"]), target if source == HOST else source), [])
        row = waiting.pop(0) if waiting else -1
        found.append(
            (f"{source}{ARROW}{target}", row, one["nbytes"], one["t0"], one["t1"])
        )
    kinds = [("link", "O"), ("row", "i8"), ("nbytes", "i8"), ("t0", "i8"), ("t1", "i8")]
    return np.array(found, dtype=kinds)


def _names(record: Record, ops: Array) -> list[str]:
    return record.texts(ops["name"])


class DeviceView(EngineTimeline):
    """What every device did and when: workers and streams, copies, links.

    `colour` is "phase" or "layer"; `axis` is "time" or "events". The bars of a link
    belong to the operations that copy over it.
    """

    _esm = esm.module("device_view")

    height = traitlets.Int(230).tag(sync=True)

    @property
    def lanes(self) -> list[str]:
        """The pusher, the lanes that ran something, the links that were used."""
        links = {str(one["link"]) for one in crossings(self.record)}
        return in_order([*super().lanes, *links])

    @property
    def busy(self) -> dict[str, float]:
        """The share of the record in which each lane was busy, 0 to 1."""
        layout = self.arrangement()
        return dict(zip(layout.lanes, layout.busy.tolist(), strict=True))

    def arrangement(self) -> EngineLayout:
        """The engine timeline's picture, with the links, device by device."""
        plain = super().arrangement()
        found = crossings(self.record)
        lanes = in_order([*plain.lanes, *{str(one["link"]) for one in found}])
        boxes = [
            Box(lanes.index(plain.lanes[box.lane]), *_rest(box)) for box in plain.boxes
        ]
        shares = np.zeros(len(lanes))
        for name, share in zip(plain.lanes, plain.busy, strict=True):
            shares[lanes.index(name)] = share
        ops, t0 = self.record.ops(), self.record.conditions.t_start
        span = int(ops["t_end"].max() - ops["t_start"].min()) if len(ops) else 1
        phases = {box.row: (box.phase, box.text) for box in plain.boxes}
        for link in np.unique(found["link"]).tolist():
            mine = found[found["link"] == link]
            shares[lanes.index(link)] = busy(mine["t0"], mine["t1"]) / max(span, 1)
        for one in found:
            row, lane = int(one["row"]), lanes.index(one["link"])
            start, end = float(one["t0"] - t0), float(one["t1"] - t0)
            if self.axis == "events":
                start, end = float(row), row + 0.92
            boxes.append(Box(lane, start, end, *phases.get(row, (0, 0)), row, 1))
        return EngineLayout(
            tuple(lanes), tuple(boxes), plain.pushes, shares, plain.start, plain.end
        )

    def summary(self) -> list[str]:
        """The key numbers, in words."""
        groups = {placed(lane)[0] for lane in self.lanes} - {LINKS, "program"}
        sent = crossings(self.record)
        links = {str(one["link"]) for one in sent}
        return [
            counted(len(self.record.ops()), "operation"),
            counted(len(groups), "device"),
            f"{_sum_bytes(sent)} over {counted(len(links), 'link')}",
        ]

    def __repr__(self) -> str:
        clock = f"clock={self.record.conditions.clock}"
        return f"DeviceView({', '.join([*self.summary(), clock])})"

    def columns(self, news: News) -> Columns:
        """Operations and dependencies, and the stretches of links."""
        sent = crossings(self.record, news.batch["comm"])
        rows, t0 = self.record.ops()[sent["row"]], self.record.conditions.t_start
        comm = news.batch["comm"]
        links = {
            "op": rows["op"].astype("u4"),
            "name": rows["name"].astype("u4"),
            "layer": rows["layer"].astype("u4"),
            "phase": self._phases.codes(news.strings, rows["phase"]),
            "src": comm["src"].astype("u4"),
            "dst": comm["dst"].astype("u4"),
            "bytes": sent["nbytes"].astype("f8"),
            "start": (sent["t0"] - t0).astype("f8"),
            "end": (sent["t1"] - t0).astype("f8"),
        }
        return {**super().columns(news), "links": links}

    def extras(self, news: Sequence[News]) -> dict[str, Any]:
        """Where each lane is drawn, and what it is called."""
        return {"places": [[lane, *placed(lane)] for lane in self.lanes]}

    def table(self) -> Tables:
        """Busy time by lane and by link, and the operators that took the most time."""
        lanes = [lane for lane in self.lanes if ARROW not in lane]
        return Tables(
            (self._lane_table(lanes), self._link_table(), self._operator_table())
        )

    def _link_table(self) -> Table:
        sent, rows = crossings(self.record), []
        shares = self.busy
        for link in sorted({str(one["link"]) for one in sent}):
            mine = sent[sent["link"] == link]
            nbytes, took = (
                int(mine["nbytes"].sum()),
                busy(mine["t0"], mine["t1"]),
            )
            rows.append(
                (
                    link,
                    str(len(mine)),
                    _sum_bytes(mine),
                    human_time(took),
                    human_share(shares[link]),
                    f"{nbytes / max(took, 1):.3g} GB/s",
                )
            )
        heads = ("link", "copies", "sent", "busy", "share", "speed")
        return Table.of(heads, rows, "Links")

    def svg(self, *, dark: bool = False, width: int = 900) -> str:
        """A static picture of the record, with the arrows of the selected operation."""
        return draw(self, self.arrangement(), dark=dark, width=width, picture=_ByDevice)


def _sum_bytes(sent: Array) -> str:
    return human_bytes(int(sent["nbytes"].sum()))


def _rest(box: Box) -> tuple[float, float, int, int, int, int]:
    return box.start, box.end, box.phase, box.text, box.row, box.count


class _ByDevice(Picture):
    """The engine timeline's picture, with a line above the lanes of each device."""

    title = "Devices"

    def tops(self) -> list[float]:
        """Where each lane begins, and the end of the last one."""
        tops, y, before = [], float(TOP), ""
        self.heads: list[tuple[str, float]] = []
        for lane in self.layout.lanes:
            group = placed(lane)[0]
            if group != before and lane != PUSHER:
                self.heads.append((group, y + HEAD - 6))
                y += HEAD
            before = group
            tops.append(y)
            y += LANE
        return [*tops, y]

    def label(self, lane: str) -> str:
        """What a lane is called among those of its device."""
        return placed(lane)[1]

    def lanes(self) -> list[str]:
        """The devices' names, and their lanes."""
        muted = self.ink("muted")
        space = self.width - 28.0
        names = [
            svg.text(14, y, name, muted, bold=True, space=space)
            for name, y in self.heads
        ]
        return [*names, *super().lanes()]

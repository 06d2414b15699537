"""The memory of a run over time: who held how many bytes, and what the pool kept."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import traitlets

from minimx.core.errors import ArgumentError, did_you_mean
from minimx.core.record import Curve, Record
from minimx_widgets import esm, palette, svg
from minimx_widgets.allocations import Allocation, allocation, facts_for_page, source_of
from minimx_widgets.base import View
from minimx_widgets.code.pieces import Code
from minimx_widgets.lab import step_peaks
from minimx_widgets.packing import Array, Columns
from minimx_widgets.run import News
from minimx_widgets.saving import states
from minimx_widgets.sources import MEASURED
from minimx_widgets.tables import Table, Tables
from minimx_widgets.training.meter import MILLISECONDS, PEAK, PLANNED, RESERVED
from minimx_widgets.units import human_bytes, human_count, human_time

MEASURES = ("requested", "rounded", "reserved")
OF_STEPS = (PEAK, RESERVED, PLANNED, MILLISECONDS)
SHOWN = ("categories", "blocks")
IDLE = "idle"
COUNTED = ("alloc", "hit", "free", "release", "flush", "oom")
LEFT, RIGHT, TOP, BELOW = 72, 14, 40, 44
APART = 30  # of the picture's height, for what the pool holds
Point = tuple[float, float]


@dataclass(frozen=True)
class MemoryLayout:
    """The picture as numbers, before anything is drawn.

    edges: axis values at which a step begins, (n,), and `end` where the last one ends.
    bands: name → bytes in each step, (n,). reserved: bytes held of the device, (n,).
    """

    edges: Array
    end: float
    bands: dict[str, Array]
    reserved: Array
    peak: int
    peak_at: float

    @property
    def highest(self) -> float:
        """The highest point of what lives."""
        return float(max(self.peak, 1))


def lay_out(
    record: Record,
    *,
    device: str,
    measure: str = "requested",
    axis: str = "time",
    steps: int = 600,
) -> MemoryLayout:
    """The memory of one device as at most `steps` steps.

    Of all events that share a step the one with the highest total is shown, so that a
    short peak is never lost.
    """
    curve = record.memory_curve(device, measure)
    reserved = record.memory_curve(device, "reserved").total
    moments = curve.t - record.conditions.t_start
    place = moments if axis == "time" else np.arange(len(curve.t))
    if not len(place):
        return MemoryLayout(np.zeros(0), 1.0, {}, np.zeros(0), 0, 0.0)
    chosen, edges = _steps(place.astype(float), curve, steps)
    bands = {
        name: curve.nbytes[i, chosen]
        for i, name in enumerate(curve.bands)
        if curve.nbytes[i].any()
    }
    end = float(place[-1]) + max(1.0, (float(place[-1]) - float(place[0])) * 0.01)
    total = curve.total
    top = int(total.argmax())
    return MemoryLayout(
        edges, end, bands, reserved[chosen], int(total[top]), float(place[top])
    )


def _steps(place: Array, curve: Curve, steps: int) -> tuple[Array, Array]:
    """The rows to draw, and where on the axis each begins."""
    if len(place) <= steps:
        return np.arange(len(place)), place
    borders = np.linspace(place[0], place[-1], steps + 1)[:-1]
    first = np.searchsorted(place, borders, side="left")
    last = np.append(first[1:], len(place))
    total = curve.total
    chosen = np.array(
        [
            a + int(total[a:b].argmax()) if b > a else max(a - 1, 0)
            for a, b in zip(first.tolist(), last.tolist(), strict=True)
        ]
    )
    return chosen, borders


class MemoryTimeline(View):
    """Live bytes over time, stacked by category, with the peak and the pool's reserve.

    `show` is "categories", or "blocks": each allocation as a shape of its own, the
    oldest at the bottom. Pointing at one tells who asked for it, as `about` does.

    `measure` is "requested" (what operators asked for), "rounded" (the blocks that the
    pool allocated) or "reserved" (everything that it holds of the device). `device` is
    such as "gpu(0)"; empty means the one with the most events. `axis` is "time" or
    "events".
    """

    _esm = esm.module("memory_timeline")

    measure = traitlets.Unicode("requested").tag(sync=True, kept=True)
    device = traitlets.Unicode("").tag(sync=True, kept=True)
    window = states.window()
    #: The number of the pool event that is pinned, -1 for none.
    pinned = traitlets.Int(-1, min=-1).tag(sync=True, kept=True)
    show = traitlets.Enum(SHOWN, "categories").tag(sync=True, kept=True)

    @traitlets.validate("measure")
    def _valid_measure(self, proposal: Any) -> str:
        value = str(proposal["value"])
        if value not in MEASURES:
            near = did_you_mean(value, MEASURES)
            raise ArgumentError(
                f"MemoryTimeline: measure={value!r}: choose requested, rounded or "
                f"reserved.{near}"
            )
        return value

    @property
    def devices(self) -> list[str]:
        """The devices that the record knows, the busiest first."""
        numbers, counts = np.unique(self.record.mem()["device"], return_counts=True)
        order = np.argsort(-counts, kind="stable")
        return [self.record.strings[int(numbers[i])] for i in order]

    @property
    def shown_device(self) -> str:
        """The device of the picture."""
        return self.device or next(iter(self.devices), "cpu(0)")

    @property
    def peak(self) -> int:
        """The most bytes that were alive at one moment, by the chosen measure."""
        return int(self.record.memory_curve(self.shown_device, self.measure).peak)

    @property
    def reuse(self) -> float:
        """The share of requests that the pool served from its own blocks, 0 to 1."""
        counts = self._counts()
        served = counts["hit"] + counts["alloc"]
        return counts["hit"] / served if served else 0.0

    def __repr__(self) -> str:
        curve = self.record.memory_curve(self.shown_device, "reserved")
        reserved = int(curve.total[-1]) if len(curve.t) else 0
        return (
            f"MemoryTimeline({self.shown_device}, peak={human_bytes(self.peak)}, "
            f"reserved={human_bytes(reserved)}, reuse={100 * self.reuse:.0f}%, "
            f"clock={self.record.conditions.clock})"
        )

    def columns(self, news: News) -> Columns:
        """The changes of the ledger, column by column."""
        changes = news.memory
        names = changes.dtype.names or ()
        return {
            "mem": {name: np.ascontiguousarray(changes[name]) for name in names},
            "metrics": self._metrics(news),
        }

    def _metrics(self, news: News) -> dict[str, Array]:
        """What was observed of the memory of steps, times after the record's start."""
        rows = news.batch["metrics"]
        names, which = np.unique(rows["name"], return_inverse=True)
        wanted = [news.strings[int(name)] in OF_STEPS for name in names]
        rows = rows[np.array(wanted, bool)[which.reshape(-1)]]
        return {
            "t": (rows["t"] - self.record.conditions.t_start).astype("f8"),
            "step": rows["step"].astype("f8"),
            "name": rows["name"].astype("u4"),
            "value": rows["value"].astype("f8"),
        }

    def about(self, block: int) -> Allocation:
        """Who asked for an allocation, who wrote and read it, how long it lived.

        block: its number, as in the column `mem.block` of the record. Raises
        `ArgumentError` for one that the record does not have.
        """
        return allocation(self.record, block)

    def source_for(self, message: Mapping[str, Any]) -> Code:
        """The line that asked for a block, and those of the pool that served it."""
        event = str(message.get("event", ""))
        return source_of(self.record, int(message["block"]), event)

    def _hear(self, widget: Any, message: dict[str, Any], buffers: Any) -> None:
        if message.get("kind") == "block":
            self.run.feed.post(lambda: self.tell(facts_for_page(self.record, message)))
        else:
            super()._hear(widget, message, buffers)

    def table(self) -> Tables:
        """Bytes by category now and at the peak, and what the pool did."""
        curve = self.record.memory_curve(self.shown_device, self.measure)
        at = curve.at_peak
        rows = [
            (
                name,
                human_bytes(curve.nbytes[i, -1]) if len(curve.t) else "0 B",
                human_bytes(curve.nbytes[i, at]) if at >= 0 else "0 B",
            )
            for i, name in enumerate(curve.bands)
        ]
        now = int(curve.total[-1]) if len(curve.t) else 0
        rows.append(("total", human_bytes(now), human_bytes(curve.peak)))
        caption = f"{self.shown_device}, bytes {self.measure}"
        by_category = Table.of(("category", "now", "at peak"), rows, caption)
        events = [(name, str(count)) for name, count in self._counts().items()]
        pool = Table.of(("pool event", "count"), events, "What the pool did")
        steps = step_peaks.table(self.record)
        shown = (steps, by_category, self._owners(), pool)
        return Tables(tuple(one for one in shown if one is not None))

    def svg(self, *, dark: bool = False, width: int = 900) -> str:
        """A static picture of the whole record."""
        layout = lay_out(
            self.record, device=self.shown_device, measure=self.measure, axis=self.axis
        )
        return draw(self, layout, dark=dark, width=width)

    def marks(self) -> list[tuple[float, str]]:
        """Where on the axis knobs were turned, and what was turned."""
        record, out = self.record, []
        moments = record.memory_curve(self.shown_device).t
        for row in record.knobs():
            t = int(row["t"])
            place = t - record.conditions.t_start
            if self.axis == "events":
                place = int(np.searchsorted(moments, t))
            name, new = record.strings[row["name"]], record.strings[row["new"]]
            out.append((float(place), f"{name}={new}"))
        return out

    def _counts(self) -> dict[str, int]:
        mem = self.record.mem()
        strings = self.record.strings
        mem = mem[self._rows_of_device(mem)]
        numbers, counts = np.unique(mem["event"], return_counts=True)
        found = {
            strings[int(number)]: int(count)
            for number, count in zip(numbers, counts, strict=True)
        }
        return {name: found.get(name, 0) for name in COUNTED}

    def _rows_of_device(self, mem: Array) -> Array:
        strings = self.record.strings
        if self.shown_device not in strings:
            return np.zeros(len(mem), bool)
        return np.asarray(mem["device"] == strings.index(self.shown_device))

    def _owners(self, most: int = 8) -> Table:
        """Who held the most at the peak."""
        record = self.record
        mem = record.mem()
        mem = mem[self._rows_of_device(mem)]
        at = record.memory_curve(self.shown_device, self.measure).at_peak
        held: dict[int, Array] = {}
        begin = {"live", "alloc", "hit"}
        for row in mem[: at + 1]:
            event = record.strings[row["event"]]
            if event in begin:
                held[int(row["block"])] = row
            elif event == "free":
                held.pop(int(row["block"]), None)
        column = "requested" if self.measure == "requested" else "rounded"
        blocks = held.values()
        top = sorted(blocks, key=lambda row: (-int(row[column]), int(row["block"])))
        strings = record.strings
        ops = record.ops()
        ops = ops[np.isin(ops["op"], [int(row["op"]) for row in top[:most]])]
        lines = dict(zip(ops["op"].tolist(), record.texts(ops["line"]), strict=True))
        rows = [
            (
                strings[row["name"]] or "unknown",
                strings[row["layer"]] or "none",
                strings[row["phase"]],
                strings[row["category"]],
                human_bytes(int(row[column])),
                lines.get(int(row["op"]), ""),
            )
            for row in top[:most]
        ]
        heads = ("operator", "layer", "phase", "category", "bytes", "line")
        return Table.of(heads, rows, f"The largest of {len(held)} blocks at the peak")


def draw(view: MemoryTimeline, layout: MemoryLayout, *, dark: bool, width: int) -> str:
    """The layout as a picture."""
    height = view.height + 50
    box = (LEFT, width - RIGHT, TOP + APART, height - BELOW)
    parts = _head(view, width, dark=dark)
    if not len(layout.edges):
        muted = palette.surface("muted", dark=dark)
        text = "no pool events in this record"
        parts.append(svg.text(width / 2, height / 2, text, muted, anchor="middle"))
        return svg.picture(width, height, parts, title=repr(view), dark=dark)
    high = layout.highest * 1.12
    low_x, high_x = float(layout.edges[0]), layout.end

    def place(value: float, nbytes: float) -> tuple[float, float]:
        left, right, top, bottom = box
        x = left + (value - low_x) / (high_x - low_x) * (right - left)
        return x, bottom - nbytes / high * (bottom - top)

    parts += _grid(view, layout, place, high, box, dark=dark)
    parts += _strip(layout, box, dark=dark)
    parts += _bands(layout, place, dark=dark)
    parts += _lines(view, layout, place, box, dark=dark)
    named = [(n, _colour(n, dark=dark)) for n in layout.bands]
    ink = palette.surface("ink", dark=dark)
    named.append(("reserved", ink))
    legend, low = svg.legend(LEFT, height - 10, named, width - RIGHT, dark=dark)
    parts += legend
    return svg.picture(width, height + low, parts, title=repr(view), dark=dark)


def _head(view: MemoryTimeline, width: int, *, dark: bool) -> list[str]:
    text = (
        f"{view.shown_device} · bytes {view.measure} · peak {human_bytes(view.peak)} · "
        f"reuse {100 * view.reuse:.0f} % · {MEASURED}"
    )
    return svg.heading("Memory", text, width, dark=dark)


def _colour(band: str, *, dark: bool) -> str:
    if band == IDLE:
        return palette.surface("line", dark=dark)
    return palette.category(band, dark=dark) if band in palette.CATEGORY else "#888888"


def _grid(
    view: MemoryTimeline,
    layout: MemoryLayout,
    place: Any,
    high: float,
    box: tuple[float, float, float, float],
    *,
    dark: bool,
) -> list[str]:
    left, right, top, bottom = box
    rule, muted = (palette.surface(name, dark=dark) for name in ("line", "muted"))
    parts = []
    for nbytes in svg.byte_ticks(high, 5):
        _, y = place(layout.edges[0], nbytes)
        parts.append(svg.line([(left, y), (right, y)], rule))
        label = human_bytes(nbytes)
        parts.append(svg.text(left - 7, y + 3.5, label, muted, anchor="end"))
    for value in svg.ticks(float(layout.edges[0]), layout.end, 7):
        x, _ = place(value, 0)
        label = human_time(value) if view.axis == "time" else f"#{human_count(value)}"
        if left + 14 < x < right - 14:
            parts.append(svg.text(x, bottom + 15, label, muted, anchor="middle"))
    return parts


def _strip(
    layout: MemoryLayout, box: tuple[float, float, float, float], *, dark: bool
) -> list[str]:
    """What the pool holds, above the bands and on a scale of its own."""
    left, right, below, _ = box
    top, bottom = TOP + 2.0, below - 8
    ink, muted, card = (palette.surface(n, dark=dark) for n in ("ink", "muted", "card"))
    low_x = float(layout.edges[0])
    high = float(max(layout.reserved.max(initial=0), 1))

    def place(value: float, nbytes: float) -> Point:
        x = left + (value - low_x) / (layout.end - low_x) * (right - left)
        return x, bottom - nbytes / high * (bottom - top - 2)

    middle = (top + bottom) / 2 + 3.5
    text = f"≤ {human_bytes(high)}"
    return [
        svg.rect(left, top, right - left, bottom - top, card, title="reserved"),
        svg.line(_stairs(layout, layout.reserved, place), ink, width=1.3),
        svg.text(left - 7, middle, text, muted, anchor="end", size=10),
    ]


def _bands(layout: MemoryLayout, place: Any, *, dark: bool) -> list[str]:
    """The categories, one filled shape each, stacked."""
    parts = []
    below = np.zeros(len(layout.edges))
    for name, nbytes in layout.bands.items():
        above = below + nbytes
        shape = _stairs(layout, above, place) + _stairs(layout, below, place)[::-1]
        parts.append(svg.area(shape, _colour(name, dark=dark), name))
        below = above
    return parts


def _stairs(layout: MemoryLayout, nbytes: Array, place: Any) -> list[Point]:
    """The corners of a line that goes in steps; level stretches need none."""
    points = [place(layout.edges[0], nbytes[0])]
    for i in range(1, len(nbytes)):
        if nbytes[i] != nbytes[i - 1]:
            points.append(place(layout.edges[i], nbytes[i - 1]))
            points.append(place(layout.edges[i], nbytes[i]))
    points.append(place(layout.end, nbytes[-1]))
    return points


def _lines(
    view: MemoryTimeline,
    layout: MemoryLayout,
    place: Any,
    box: tuple[float, float, float, float],
    *,
    dark: bool,
) -> list[str]:
    """The peak, and the knobs that were turned."""
    left, right, _, bottom = box
    alert, mark = (palette.surface(n, dark=dark) for n in ("alert", "mark"))
    parts = []
    _, y = place(layout.edges[0], layout.peak)
    parts.append(svg.line([(left, y), (right, y)], alert, dash="6 4"))
    label = f"peak {human_bytes(layout.peak)}"
    parts.append(svg.text(right - 2, y - 4, label, alert, anchor="end", size=10.5))
    free = left
    for value, text in view.marks():
        x, _ = place(value, 0)
        if not left <= x <= right:
            continue
        parts.append(svg.line([(x, TOP - 8), (x, bottom)], mark, dash="4 3", width=1.3))
        space = svg.width_of(text, 10) + 6
        if x >= free and x + space < right:
            parts.append(svg.text(x + 4, TOP - 1, text, mark, size=10))
            free = x + space
    return parts

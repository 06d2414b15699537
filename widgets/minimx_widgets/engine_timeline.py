"""The operations of a run: who ran what, when, and what waited for what."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import traitlets

from minimx.events import PHASES
from minimx.record import Record
from minimx_widgets import esm, palette, svg
from minimx_widgets.base import View
from minimx_widgets.packing import Array, Coder, Columns
from minimx_widgets.run import News
from minimx_widgets.tables import Table, Tables
from minimx_widgets.units import counted, human_count, human_share, human_time

KINDS = ("RAW", "WAR", "WAW")
PUSHER = "python"  # the lane of the thread that pushes operations
LEFT, RIGHT, TOP, BELOW = 150, 14, 46, 44
LANE = 28
MOST_BOXES = 4000  # of a static picture, about


@dataclass(frozen=True)
class Box:
    """A stretch of one lane in one colour: one operation, or many too short to tell."""

    lane: int
    start: float
    end: float
    phase: int
    layer: int
    row: int  # of the operation in `ops`, -1 for many
    count: int


@dataclass(frozen=True)
class EngineLayout:
    """The picture as numbers: lanes from top to bottom, boxes, shares, the extent."""

    lanes: tuple[str, ...]
    boxes: tuple[Box, ...]
    pushes: Array
    busy: Array
    start: float
    end: float


def lane_order(names: Sequence[str]) -> list[str]:
    """The pushing thread first, then the workers by name, numbers in their order.

    >>> lane_order(["cpu(0)/10", "python", "cpu(0)/2"])
    ['python', 'cpu(0)/2', 'cpu(0)/10']
    """

    def key(name: str) -> tuple[bool, list[tuple[int, str]]]:
        parts = re.split(r"(\d+)", name)
        return name != PUSHER, [(int(p), "") if p.isdigit() else (0, p) for p in parts]

    return sorted({PUSHER, *names}, key=key)


def lay_out(record: Record, *, axis: str = "time", steps: int = 1500) -> EngineLayout:
    """Lanes and boxes of all operations; those shorter than a step are put together."""
    ops = record.ops()
    known, which = np.unique(ops["worker"], return_inverse=True)
    names = record.texts(known)
    lanes = lane_order(names)
    numbers = np.array([lanes.index(name) for name in names], int)[which.reshape(-1)]
    t0 = record.conditions.t_start
    start, end = (ops[name] - t0 for name in ("t_start", "t_end"))
    if axis == "events":
        begin, until = np.arange(len(ops), dtype=float), np.arange(len(ops)) + 0.92
        pushes = begin
    else:
        begin, until = start.astype(float), end.astype(float)
        pushes = (ops["t_push"] - t0).astype(float)
    low, high = 0.0, 1.0
    if len(ops):
        low, high = float(min(begin.min(), pushes.min())), float(until.max())
    busy = np.bincount(numbers, weights=end - start, minlength=len(lanes))
    span = float(end.max() - start.min()) if len(ops) else 1.0
    phases = Coder(PHASES).codes(record.strings, ops["phase"])
    # What is too short to be seen alone is put together, the more the more lanes.
    step = (high - low) / min(steps, MOST_BOXES // len(lanes))
    boxes: list[Box] = []
    for lane in range(len(lanes)):
        rows = np.flatnonzero(numbers == lane)
        rows = rows[np.argsort(begin[rows], kind="stable")]
        columns = (begin[rows], until[rows], phases[rows], ops["layer"][rows])
        boxes += _merged(lane, rows, *columns, step)
    shares = busy / max(span, 1.0)
    high = max(high, low + 1)
    return EngineLayout(tuple(lanes), tuple(boxes), pushes, shares, low, high)


def _merged(
    lane: int,
    rows: Array,
    start: Array,
    end: Array,
    phase: Array,
    layer: Array,
    step: float,
) -> list[Box]:
    """One lane's boxes; neighbours that are too short to be seen alone become one."""
    if not len(rows):
        return []
    short = end - start < step
    joins = short[1:] & short[:-1] & (start[1:] - end[:-1] < step / 2)
    joins &= phase[1:] == phase[:-1]
    firsts = np.flatnonzero(np.append(True, ~joins))
    counts = np.diff(firsts, append=len(rows))
    lasts = firsts + counts - 1
    columns = (
        start[firsts], end[lasts], phase[firsts], layer[firsts],
        np.where(counts == 1, rows[firsts], -1), counts,
    )  # fmt: skip
    values = zip(*(column.tolist() for column in columns), strict=True)
    return [Box(lane, *each) for each in values]


class EngineTimeline(View):
    """A lane for the pushing thread and one for each worker, with every operation.

    `colour` is "phase" or "layer"; `axis` is "time" or "events". Selecting an operation
    shows what it waited for.
    """

    _esm = esm.module("engine_timeline")
    kept_rows = 1_200_000

    colour = traitlets.Enum(("phase", "layer"), "phase").tag(sync=True)

    def __init__(self, record: Any = None, **settings: Any) -> None:
        self._phases = Coder(PHASES)
        self._kinds = Coder(KINDS)
        super().__init__(record, **settings)

    @property
    def lanes(self) -> list[str]:
        """The lanes that ran something, and the pusher."""
        return lane_order(self.record.texts(np.unique(self.record.ops()["worker"])))

    @property
    def busy(self) -> dict[str, float]:
        """The share of the record in which each lane ran something, 0 to 1."""
        layout = lay_out(self.record)
        return dict(zip(layout.lanes, layout.busy.tolist(), strict=True))

    def summary(self) -> list[str]:
        """The key numbers, in words."""
        return [
            f"{human_count(len(self.record.ops()))} operations",
            counted(len(self.lanes) - 1, "worker"),
        ]

    def __repr__(self) -> str:
        ops = self.record.ops()
        workers = len(self.lanes) - 1
        parts = [
            counted(len(ops), "operation"),
            counted(workers, "worker"),
            counted(len(self.record.deps()), "dependency"),
            f"clock={self.record.conditions.clock}",
        ]
        return f"EngineTimeline({', '.join(parts)})"

    def columns(self, news: News) -> Columns:
        """Operations and dependencies, times relative to the record's start."""
        if news.full:
            self._phases, self._kinds = Coder(PHASES), Coder(KINDS)
        ops, deps = news.batch["ops"], news.batch["deps"]
        start = self.record.conditions.t_start
        times = {n: (ops[f"t_{n}"] - start).astype("f8") for n in _TIMES}
        return {
            "ops": {
                **{name: ops[old].astype("u4") for name, old in _NUMBERS.items()},
                "phase": self._phases.codes(news.strings, ops["phase"]),
                "failed": ops["failed"].astype("u1"),
                "priority": ops["priority"].astype("i4"),
                **times,
            },
            "deps": {
                "src": deps["src"].astype("u4"),
                "dst": deps["dst"].astype("u4"),
                "kind": self._kinds.codes(news.strings, deps["kind"]),
            },
        }

    def table(self) -> Tables:
        """Busy time by lane, and the operators that took the most time."""
        return Tables((self._lane_table(self.lanes), self._operator_table()))

    def svg(self, *, dark: bool = False, width: int = 900) -> str:
        """A static picture of the record, with the arrows of the selected operation."""
        return draw(self, lay_out(self.record, axis=self.axis), dark=dark, width=width)

    def _lane_table(self, lanes: Sequence[str]) -> Table:
        record, rows = self.record, []
        ops = record.ops()
        number = {text: i for i, text in enumerate(record.strings)}
        took = ops["t_end"] - ops["t_start"]
        busy = self.busy
        for lane in lanes:
            mine = ops["worker"] == number.get(lane, -1)
            total, longest = int(took[mine].sum()), int(took[mine].max(initial=0))
            count = int(mine.sum())
            share = human_share(busy[lane])
            times = (human_time(total), human_time(longest))
            rows.append((lane, str(count), times[0], share, times[1]))
        heads = ("lane", "operations", "busy", "share", "longest")
        return Table.of(heads, rows, "Lanes")

    def _operator_table(self, most: int = 12) -> Table:
        ops, strings = self.record.ops(), self.record.strings
        took, wait = ops["t_end"] - ops["t_start"], ops["t_start"] - ops["t_ready"]
        calls = np.bincount(ops["name"])
        totals, waits = (np.bincount(ops["name"], each) for each in (took, wait))
        rows = [
            (strings[name], int(totals[name]), int(calls[name]), int(waits[name]))
            for name in np.flatnonzero(calls).tolist()
        ]
        rows.sort(key=lambda row: (-row[1], row[0]))
        words = [
            (name, str(count), human_time(total), human_time(total / count),
             human_time(queued / count))
            for name, total, count, queued in rows[:most]
        ]  # fmt: skip
        heads = ("operator", "calls", "total", "mean", "mean queue wait")
        return Table.of(heads, words, "Operators by time")


_TIMES = ("push", "ready", "start", "end")
_NUMBERS = {
    "op": "op",
    "name": "name",
    "layer": "layer",
    "worker": "worker",
    "forward": "forward_op",
}


def draw(
    view: EngineTimeline,
    layout: EngineLayout,
    *,
    dark: bool,
    width: int,
    picture: type[Picture] | None = None,
) -> str:
    """The layout as a picture."""
    made = (picture or Picture)(view, layout, dark=dark, width=width)
    parts = [*made.head(), *made.lanes(), *made.axis(), *made.boxes()]
    parts += [*made.selected(), *made.marks(), *made.legend()]
    return svg.picture(width, made.height, parts, title=repr(view), dark=dark)


class Picture:
    """One static picture in the making; others may arrange and name lanes anew."""

    title = "Engine"

    def __init__(
        self,
        view: EngineTimeline,
        layout: EngineLayout,
        *,
        dark: bool,
        width: int,
    ) -> None:
        self.view, self.layout, self.dark = view, layout, dark
        self.width = width
        self.places = self.tops()
        self.height = round(self.places[-1]) + BELOW
        self.record = view.record
        self.ops = view.record.ops()
        self.layers: dict[int, int] = {}

    def ink(self, name: str) -> str:
        """The colour of a surface or of text."""
        return palette.surface(name, dark=self.dark)

    def x(self, value: Any) -> Any:
        """The place of a moment, or of each of many."""
        layout = self.layout
        share = (value - layout.start) / (layout.end - layout.start)
        return LEFT + share * (self.width - LEFT - RIGHT)

    def tops(self) -> list[float]:
        """Where each lane begins, and the end of the last one."""
        return [TOP + lane * float(LANE) for lane in range(len(self.layout.lanes) + 1)]

    def label(self, lane: str) -> str:
        """What a lane is called."""
        return lane

    def y(self, lane: int) -> float:
        """Where a lane begins."""
        return self.places[lane]

    def colour(self, box: Box) -> str:
        """The colour of a phase or of a layer."""
        if self.view.colour == "phase":
            return palette.phase(PHASES[box.phase], dark=self.dark)
        number = self.layers.setdefault(box.layer, len(self.layers))
        return palette.layer(number, dark=self.dark)

    def head(self) -> list[str]:
        """The title and the key numbers."""
        clock = f"clock {self.record.conditions.clock}"
        words = " · ".join([*self.view.summary(), clock])
        after = 26 + 7.5 * len(self.title)
        return [
            svg.text(14, 21, self.title, self.ink("ink"), size=13, bold=True),
            svg.text(after, 21, words, self.ink("muted"), size=11.5),
        ]

    def lanes(self) -> list[str]:
        """Backgrounds, names, busy shares, and the ticks of the pushes."""
        parts = []
        for lane, name in enumerate(self.layout.lanes):
            y = self.y(lane)
            wide = self.width - LEFT - RIGHT
            parts.append(svg.rect(LEFT, y, wide, LANE - 4, self.ink("card")))
            label = svg.clipped(self.label(name), LEFT - 62)
            parts.append(svg.text(14, y + 16, label, self.ink("ink")))
            busy = float(self.layout.busy[lane]) if len(self.layout.busy) else 0.0
            share = "push" if name == PUSHER and not busy else human_share(min(1, busy))
            muted = self.ink("muted")
            parts.append(svg.text(LEFT - 8, y + 16, share, muted, anchor="end"))
        places = np.unique(np.round(self.x(self.layout.pushes) * 2) / 2)
        for x in places.tolist():
            ends = [(x, self.y(0) + 4), (x, self.y(0) + LANE - 8)]
            parts.append(svg.line(ends, self.ink("ink"), opacity=0.45))
        return parts

    def axis(self) -> list[str]:
        """Ticks of time, or of numbers of operations."""
        bottom = self.y(len(self.layout.lanes))
        parts = []
        for value in svg.ticks(self.layout.start, self.layout.end, 7):
            x = self.x(value)
            words = human_time(value)
            if self.view.axis == "events":
                words = f"#{human_count(value)}"
            ends = [(x, TOP - 4), (x, bottom - 4)]
            parts.append(svg.line(ends, self.ink("line")))
            muted = self.ink("muted")
            if x < self.width - RIGHT - 16:
                parts.append(svg.text(x, bottom + 11, words, muted, anchor="middle"))
        return parts

    def boxes(self) -> list[str]:
        """The operations."""
        parts = []
        paper = self.ink("paper")
        for box in self.layout.boxes:
            x, wide = self.x(box.start), self.x(box.end) - self.x(box.start)
            y, colour = self.y(box.lane), self.colour(box)
            words = self.words(box)
            high = LANE - 4
            parts.append(svg.rect(x, y, max(wide, 0.6), high, colour, title=words))
            label = svg.clipped(words.split(",")[0], wide - 8, 10) if wide > 30 else ""
            if label and box.row >= 0:
                parts.append(svg.text(x + 4, y + 16, label, paper, size=10))
        return parts

    def words(self, box: Box) -> str:
        """What pointing at a box says."""
        if box.row < 0:
            return f"{box.count} short operations, {PHASES[box.phase]}"
        row = self.ops[box.row]
        took = human_time(int(row["t_end"]) - int(row["t_start"]))
        strings = self.record.strings
        layer = strings[row["layer"]]
        return ", ".join(filter(None, (strings[row["name"]], layer, took)))

    def selected(self) -> list[str]:
        """Arrows between the selected operation and its neighbours."""
        op = self.view.run.selected
        by_op = {
            int(self.ops[box.row]["op"]): box
            for box in reversed(self.layout.boxes)  # the first one of a row counts
            if box.row >= 0
        }
        if op not in by_op:
            return []
        colours = (
            self.ink("accent"),
            palette.phase("backward", dark=self.dark),
            palette.phase("update", dark=self.dark),
        )
        parts = []
        deps = self.record.deps()
        for row in deps[(deps["src"] == op) | (deps["dst"] == op)]:
            src, dst = int(row["src"]), int(row["dst"])
            if src in by_op and dst in by_op:
                kind = KINDS.index(self.record.strings[row["kind"]])
                parts.append(self.arrow(by_op[src], by_op[dst], colours[kind]))
        box = by_op[op]
        x, y = self.x(box.start), self.y(box.lane)
        corner = self.x(box.end)
        ring = [(x, y), (corner, y), (corner, y + LANE - 4), (x, y + LANE - 4), (x, y)]
        return [*parts, svg.line(ring, self.ink("ink"), width=2)]

    def arrow(self, source: Box, target: Box, colour: str) -> str:
        """An arrow from the end of one box to the start of another."""
        middle = (LANE - 4) / 2
        x0, y0 = self.x(source.end), self.y(source.lane) + middle
        x1, y1 = self.x(target.start), self.y(target.lane) + middle
        head = [(x1, y1), (x1 - 6, y1 - 3.5), (x1 - 6, y1 + 3.5)]
        shaft = svg.line([(x0, y0), (x1 - 5, y1)], colour, width=1.6)
        return shaft + svg.area(head, colour)

    def marks(self) -> list[str]:
        """The knobs that were turned."""
        parts, free = [], float(LEFT)
        bottom = self.y(len(self.layout.lanes)) - 4
        ends = self.record.ops()["t_end"]
        for row in self.record.knobs():
            value = float(int(row["t"]) - self.record.conditions.t_start)
            if self.view.axis == "events":
                value = float((ends < int(row["t"])).sum())
            x = self.x(value)
            if not LEFT <= x <= self.width - RIGHT:
                continue
            mark = self.ink("mark")
            parts.append(svg.line([(x, TOP - 12), (x, bottom)], mark, dash="4 3"))
            strings = self.record.strings
            words = f"{strings[row['name']]}={strings[row['new']]}"
            room = len(words) * 10 * svg.CHARACTER + 6
            if x >= free and x + room < self.width - RIGHT:
                parts.append(svg.text(x + 4, TOP - 6, words, mark, size=10))
                free = x + room
        return parts

    def legend(self) -> list[str]:
        """What the colours mean."""
        if self.view.colour == "phase":
            used = {PHASES[box.phase]: box.phase for box in self.layout.boxes}
            order = sorted(used, key=PHASES.index)
            names = [(name, palette.phase(name, dark=self.dark)) for name in order]
        else:
            names = [
                (self.record.strings[s] or "no layer", palette.layer(n, dark=self.dark))
                for s, n in list(self.layers.items())[:8]
            ]
        return svg.legend(LEFT, self.height - 10, names, dark=self.dark)

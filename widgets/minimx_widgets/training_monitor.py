"""How training goes: loss, accuracy, throughput, and where the workers' time went."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any

import numpy as np
import traitlets

from minimx.events import PHASES
from minimx_widgets import esm, palette, svg
from minimx_widgets.base import View
from minimx_widgets.packing import Array, Coder, Columns
from minimx_widgets.run import News
from minimx_widgets.tables import Table
from minimx_widgets.units import human_count, human_share

LOSS, TRAIN, TEST, SPEED = "loss", "train accuracy", "test accuracy", "samples/s"
Point = tuple[float, float]
RECENT = 1_000_000_000  # nanoseconds over which the split by phase is taken


class TrainingMonitor(View):
    """Loss, accuracy and throughput of a run; `axis` is "steps" or "time"."""

    _esm = esm.module("training_monitor")
    rate = 5.0

    axis = traitlets.Enum(("steps", "time"), "steps").tag(sync=True)
    height = traitlets.Int(150).tag(sync=True)

    def __init__(self, record: Any = None, **settings: Any) -> None:
        self._phases = Coder(PHASES)
        # (when, busy nanoseconds by phase) of the last second.
        self._recent: deque[tuple[int, Array]] = deque()
        super().__init__(record, **settings)

    def series(self, name: str) -> tuple[Array, Array]:
        """Axis values and values of a metric, in the order in which it was observed."""
        metrics, strings = self.record.metrics(), self.record.strings
        if name not in strings:
            return np.zeros(0), np.zeros(0)
        rows = metrics[metrics["name"] == strings.index(name)]
        if self.axis == "steps":
            return rows["step"].astype(float), rows["value"]
        return (rows["t"] - self.record.conditions.t_start).astype(float), rows["value"]

    def last(self, name: str) -> float | None:
        """The newest value of a metric, if there is one."""
        _, values = self.series(name)
        return float(values[-1]) if len(values) else None

    def __repr__(self) -> str:
        steps, _ = self.series(LOSS)
        parts = [f"{len(steps)} steps"]
        loss, test, train = (self.last(name) for name in (LOSS, TEST, TRAIN))
        if loss is not None:
            parts.append(f"loss={loss:.4f}")
        if train is not None:
            parts.append(f"train={100 * train:.1f}%")
        if test is not None:
            parts.append(f"test={100 * test:.2f}%")
        return f"TrainingMonitor({', '.join(parts)})"

    def columns(self, news: News) -> Columns:
        """Metrics, times relative to the record's start."""
        if news.full:
            self._phases, self._recent = Coder(PHASES), deque()
        self._count_phases(news)
        rows = news.batch["metrics"]
        start = self.record.conditions.t_start
        return {
            "metrics": {
                "t": (rows["t"] - start).astype("f8"),
                "step": rows["step"].astype("f8"),
                "name": rows["name"].astype("u4"),
                "value": rows["value"].astype("f8"),
            }
        }

    def extras(self, news: Sequence[News]) -> dict[str, Any]:
        """The session's state, and busy time by phase over the last second."""
        total = sum((busy for _, busy in self._recent), np.zeros(len(PHASES)))
        return {"status": dict(self.run.status), "phases": total.tolist()}

    def table(self) -> Table:
        """One row per epoch: what was observed last in it."""
        metrics, strings = self.record.metrics(), self.record.strings
        names = [LOSS, TRAIN, TEST, SPEED]
        found: dict[int, dict[str, float]] = {}
        epoch = 1
        for row in metrics:
            name = strings[row["name"]]
            if name == "epoch":
                epoch = int(row["value"])
            elif name in names:
                found.setdefault(epoch, {})[name] = float(row["value"])
        rows = [
            (
                str(number),
                _maybe(values.get(LOSS), lambda v: f"{v:.4f}"),
                _maybe(values.get(TRAIN), lambda v: f"{100 * v:.2f} %"),
                _maybe(values.get(TEST), lambda v: f"{100 * v:.2f} %"),
                _maybe(values.get(SPEED), human_count),
            )
            for number, values in sorted(found.items())
        ]
        heads = ("epoch", LOSS, TRAIN, TEST, SPEED)
        return Table.of(heads, rows, "At the end of each epoch")

    def phases(self) -> dict[str, float]:
        """The share of all busy time that each phase took, 0 to 1."""
        ops = self.record.ops()
        codes = Coder(PHASES).codes(self.record.strings, ops["phase"])
        busy = _busy(ops, codes)
        total = float(busy.sum()) or 1.0
        return {name: float(busy[i]) / total for i, name in enumerate(PHASES)}

    def svg(self, *, dark: bool = False, width: int = 900) -> str:
        """A static picture: three charts and the split by phase."""
        return draw(self, dark=dark, width=width)

    def _count_phases(self, news: News) -> None:
        """Add the busy time of new operations, forget what is older than a second."""
        ops = news.batch["ops"]
        if not len(ops):
            return
        busy = _busy(ops, self._phases.codes(news.strings, ops["phase"]))
        newest = int(ops["t_end"].max())
        if news.full:
            recent = ops["t_end"] > newest - RECENT
            busy = _busy(
                ops[recent], self._phases.codes(news.strings, ops["phase"][recent])
            )
        self._recent.append((newest, busy))
        while self._recent and self._recent[0][0] < newest - RECENT:
            self._recent.popleft()


def _busy(ops: Array, codes: Array) -> Array:
    took = (ops["t_end"] - ops["t_start"]).astype(float)
    return np.bincount(codes, weights=took, minlength=len(PHASES))


def _maybe(value: float | None, words: Any) -> str:
    return "" if value is None else str(words(value))


def draw(view: TrainingMonitor, *, dark: bool, width: int) -> str:
    """The three charts side by side, and under them the split by phase."""
    height = view.height + 74
    third = (width - 28) / 3
    forward, evaluate, update = (
        palette.phase(name, dark=dark) for name in ("forward", "evaluate", "update")
    )
    ink, muted = (palette.surface(name, dark=dark) for name in ("ink", "muted"))
    loss, test, speed = view.last(LOSS), view.last(TEST), view.last(SPEED)
    charts = [
        (LOSS, _maybe(loss, lambda v: f"{v:.4f}"), [(LOSS, forward)], None),
        (
            "accuracy",
            _maybe(test, lambda v: f"{100 * v:.1f} %"),
            [(TRAIN, forward), (TEST, evaluate)],
            1.0,
        ),
        ("samples per second", _maybe(speed, human_count), [(SPEED, update)], None),
    ]
    parts = [svg.text(14, 21, "Training", ink, size=13, bold=True)]
    words = repr(view).removeprefix("TrainingMonitor(").removesuffix(")")
    parts.append(svg.text(82, 21, words.replace(", ", " · "), muted, size=11.5))
    for i, (title, value, series, top) in enumerate(charts):
        box = (14 + i * third, 32.0, third - 12, float(view.height))
        lines = [(name, *view.series(name), colour) for name, colour in series]
        parts += _chart(title, value, lines, top, box, dark=dark)
    parts += _split(view, height - 34, width, dark=dark)
    return svg.picture(width, height, parts, title=repr(view), dark=dark)


def _chart(
    title: str,
    value: str,
    lines: list[tuple[str, Array, Array, str]],
    top: float | None,
    box: tuple[float, float, float, float],
    *,
    dark: bool,
) -> list[str]:
    x, y, wide, high = box
    left, right, upper, lower = x + 40, x + wide, y + 22, y + high - 18
    ink, muted, rule = (palette.surface(n, dark=dark) for n in ("ink", "muted", "line"))
    parts = [
        svg.text(x, y + 11, title, ink, bold=True),
        svg.text(right, y + 11, value, ink, anchor="end", bold=True),
    ]
    known = [line for line in lines if len(line[1])]
    if not known:
        return parts
    most = top or max(float(ys.max()) for _, _, ys, _ in known) * 1.05 or 1.0
    first = min(float(xs[0]) for _, xs, _, _ in known)
    last = max(max(float(xs[-1]) for _, xs, _, _ in known), first + 1)
    for tick in svg.ticks(0, most, 4):
        at = lower - tick / most * (lower - upper)
        parts.append(svg.line([(left, at), (right, at)], rule))
        label = human_share(tick) if top else human_count(tick)
        parts.append(svg.text(left - 5, at + 3.5, label, muted, anchor="end", size=10))
    for tick in svg.ticks(first, last, 4):
        at = left + (tick - first) / (last - first) * (right - left)
        label = human_count(tick)
        parts.append(svg.text(at, lower + 13, label, muted, anchor="middle", size=10))
    for name, xs, ys, colour in known:
        across = left + (xs - first) / (last - first) * (right - left)
        down = lower - np.clip(ys / most, 0, 1) * (lower - upper)
        points = _thinned(list(zip(across.tolist(), down.tolist(), strict=True)))
        parts.append(svg.line(points, colour, width=1.6))
        if name == TEST:
            parts += [svg.dot(a, b, colour) for a, b in points]
    return parts


def _thinned(points: list[Point], most: int = 300) -> list[Point]:
    """At most so many points, each the mean of its neighbourhood."""
    if len(points) <= most:
        return points
    groups = np.array_split(np.array(points), most)
    return [(float(x), float(y)) for x, y in (group.mean(axis=0) for group in groups)]


def _split(view: TrainingMonitor, y: float, width: int, *, dark: bool) -> list[str]:
    """One bar: the share of each phase in the busy time."""
    parts, x, room = [], 14.0, width - 28.0
    paper = palette.surface("paper", dark=dark)
    for name, share in view.phases().items():
        wide = share * room
        if wide <= 0:
            continue
        colour, words = palette.phase(name, dark=dark), f"{name} {human_share(share)}"
        shown = max(wide - 2, 0.5)
        parts.append(svg.rect(x, y, shown, 18, colour, title=words, round_=3))
        label = svg.clipped(words, wide - 12, 10.5)
        if label == words:
            parts.append(svg.text(x + 6, y + 13, label, paper, size=10.5))
        x += wide
    return parts

"""`TrainingMonitor` as a static picture: three charts and the split by phase."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from minimx_widgets import palette, svg
from minimx_widgets.packing import Array
from minimx_widgets.pictures.training_series import (
    BATCH,
    LOSS,
    SCALES,
    SPEED,
    TEST,
    TRAIN,
    extent,
    running_mean,
    running_median,
    trend,
)
from minimx_widgets.units import human_count, human_loss, human_share

if TYPE_CHECKING:
    from minimx_widgets.views.training_monitor import TrainingMonitor

Point = tuple[float, float]


@dataclass(frozen=True)
class Drawn:
    """A line of a chart.

    kind: "line", "dash", "faint", "dots", "shadow" or "points".
    """

    xs: Array
    ys: Array
    colour: str
    kind: str = "line"


@dataclass(frozen=True)
class Chart:
    """What a chart shows; titles: the same words, from long to short."""

    titles: tuple[str, ...]
    value: str
    lines: list[Drawn]
    scale: str
    cover: tuple[float, ...]
    label: Callable[[float], str]


def draw(view: TrainingMonitor, *, dark: bool, width: int) -> str:
    """The three charts side by side, and under them the split by phase."""
    height = view.height + 74
    third = (width - 28) / 3
    text = repr(view).removeprefix("TrainingMonitor(").removesuffix(")")
    text = text.replace(", ", " · ") + (
        " · grey: the run before" if view.shadow else ""
    )
    parts = svg.heading("Training", text, width, dark=dark)
    for i, one in enumerate(_charts(view, dark=dark)):
        box = (14 + i * third, 32.0, third - 12, float(view.height))
        parts += drawn(one, box, dark=dark)
    parts += _split(view, height - 34, width, dark=dark)
    return svg.picture(width, height, parts, title=repr(view), dark=dark)


def _charts(view: TrainingMonitor, *, dark: bool) -> list[Chart]:
    forward, evaluate, update = (
        palette.phase(name, dark=dark) for name in ("forward", "evaluate", "update")
    )
    loss, test, speed = view.last(LOSS), view.last(TEST), view.speed
    steps, losses = view.series(LOSS)
    linear = view.loss_scale == "linear"
    shown = BATCH if len(view.series(BATCH)[1]) else TRAIN
    at, right = view.series(shown)
    right = running_mean(right) if shown == BATCH else right
    when, speeds = view.series(SPEED)
    clock = "virtual" if view.record.conditions.clock == "virtual" else "measured"
    return [
        Chart(
            ("loss",) if linear else ("loss, logarithmic", "loss"),
            _maybe(loss, human_loss),
            [*_shadow(view, LOSS, dark), Drawn(steps, losses, forward, "faint"),
             Drawn(steps, trend(losses), forward)],
            view.loss_scale, (0.0,) if linear else (), human_count,
        ),
        Chart(
            ("accuracy",),
            _maybe(test, lambda v: f"{100 * v:.1f} %"),
            [*_shadow(view, shown, dark), *_shadow(view, TEST, dark, "points"),
             Drawn(at, right, forward), Drawn(*view.series(TEST), evaluate, "dots")],
            view.accuracy_scale, (0.0, 0.9 if view.accuracy_scale == "nines" else 1.0),
            lambda v: f"{100 * v:g} %",
        ),
        Chart(
            (f"samples per second, {clock}", "samples per second", "samples/s"),
            _maybe(speed, human_count),
            [*_shadow(view, SPEED, dark), Drawn(when, speeds, update, "faint"),
             Drawn(when, running_median(speeds), update)],
            "linear", (0.0,), human_count,
        ),
    ]  # fmt: skip


def _shadow(
    view: TrainingMonitor, name: str, dark: bool, kind: str = "shadow"
) -> list[Drawn]:
    line = view.shadow.get(name)
    if line is None:
        return []
    grey = palette.surface("muted", dark=dark)
    return [Drawn(line.at(view.axis), line.values, grey, kind)]


def _maybe(value: float | None, text: Any) -> str:
    return "" if value is None else str(text(value))


def drawn(
    chart: Chart, box: tuple[float, float, float, float], *, dark: bool
) -> list[str]:
    """The parts of a chart in a box: left, top, width, height."""
    x, y, wide, high = box
    left, right, upper, lower = x + 44, x + wide, y + 22, y + high - 18
    ink, muted, rule = (palette.surface(n, dark=dark) for n in ("ink", "muted", "line"))
    space = wide - svg.width_of(chart.value, bold=True) - 10
    title = _fitting(chart.titles, space)
    parts = [
        svg.text(x, y + 11, title, ink, bold=True, space=space),
        svg.text(right, y + 11, chart.value, ink, anchor="end", bold=True),
    ]
    lines = [line for line in chart.lines if len(line.xs)]
    own = [line for line in lines if line.kind not in ("shadow", "points")]
    if not own:
        return parts
    scale = SCALES[chart.scale]
    low, most = extent(scale, [line.ys for line in lines], cover=chart.cover)
    most += 0.05 * (most - low)
    first = min(float(line.xs[0]) for line in own)
    last = max(max(float(line.xs[-1]) for line in own), first + 1)
    ends = [float(line.xs[-1]) for line in lines]
    last = max(last, min(max(ends), first + 3 * (last - first)))

    def height(value: float) -> float:
        return lower - (scale.to(value) - low) / (most - low) * (lower - upper)

    bounds = _values(chart.scale, low, most)
    for tick in scale.ticks(*bounds, 4):
        at = height(tick)
        parts.append(svg.line([(left, at), (right, at)], rule))
        label = chart.label(tick)
        parts.append(svg.text(left - 5, at + 3.5, label, muted, anchor="end", size=10))
    for tick in svg.ticks(first, last, 4):
        at = left + (tick - first) / (last - first) * (right - left)
        label = human_count(tick)
        parts.append(svg.tick(at, lower + 13, label, muted, x, right + 8))
    for line in lines:
        inside = (line.xs <= last) & np.isfinite(line.ys)
        line = replace(line, xs=line.xs[inside], ys=line.ys[inside])
        across = left + (line.xs - first) / (last - first) * (right - left)
        down = [height(float(value)) for value in line.ys]
        parts += _line(line, list(zip(across.tolist(), down, strict=True)))
    return parts


def _line(line: Drawn, points: list[Point]) -> list[str]:
    points = [point for point in points if math.isfinite(point[1])]
    few = _thinned(points)
    width = {"line": 1.6, "faint": 1.0}.get(line.kind, 1.3)
    opacity = {"faint": 0.35, "shadow": 0.6}.get(line.kind, 1.0)
    parts = []
    if line.kind != "points":
        dash = "5 4" if line.kind == "dash" else ""
        parts.append(
            svg.line(few, line.colour, width=width, opacity=opacity, dash=dash)
        )
    if line.kind in ("dots", "points"):
        parts += [svg.dot(a, b, line.colour) for a, b in few]
    return parts


def _fitting(titles: tuple[str, ...], space: float) -> str:
    """The longest of the words that fits a width, or the last."""
    fits = (text for text in titles if svg.width_of(text, bold=True) <= space)
    return next(fits, titles[-1])


def _values(scale: str, low: float, high: float) -> tuple[float, float]:
    """Two heights as values again."""
    if scale == "log":
        return 10**low, 10**high
    if scale == "nines":
        return 1 - 10**-low, 1 - 10**-high
    return low, high


def _thinned(points: list[Point], most: int = 300) -> list[Point]:
    """At most so many points, each the mean of its neighbourhood."""
    if len(points) <= most:
        return points
    groups = np.array_split(np.array(points), most)
    return [(float(x), float(y)) for x, y in (group.mean(axis=0) for group in groups)]


def _split(view: TrainingMonitor, y: float, width: int, *, dark: bool) -> list[str]:
    """One bar: the share of each phase in the busy time."""
    parts, x, space = [], 14.0, width - 28.0
    paper = palette.surface("paper", dark=dark)
    for name, share in view.phases().items():
        wide = share * space
        if wide <= 0:
            continue
        colour, text = palette.phase(name, dark=dark), f"{name} {human_share(share)}"
        shown = max(wide - 2, 0.5)
        parts.append(svg.rect(x, y, shown, 18, colour, title=text, round_=3))
        if svg.width_of(text, 10.5) <= wide - 12:
            parts.append(svg.text(x + 6, y + 13, text, paper, size=10.5))
        x += wide
    return parts

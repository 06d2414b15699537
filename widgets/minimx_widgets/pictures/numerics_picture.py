"""The static picture of `NumericsMonitor`: one step, and lanes over all steps."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from minimx.core.dtypes import LAYOUTS, POWERS
from minimx.numerics import ZONES
from minimx_widgets import palette, svg
from minimx_widgets.units import human_count, human_share

if TYPE_CHECKING:
    from minimx_widgets.packing import Array
    from minimx_widgets.views.numerics_monitor import NumericsMonitor, Row

LEFT, FACTS, TOP, LANE = 118.0, 184.0, 62.0, 52.0
#: Where the columns of facts end, from the right: lost, overflow, norm.
LOST, OVER, NORM = 134, 78, 14
MOST_ROWS = 40
KIND = {"weight": "parameter", "activation": "activation", "gradient": "gradient"}
_DIGITS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def power_of_two(power: int) -> str:
    """A power of two in words.

    >>> power_of_two(-14), power_of_two(0)
    ('2⁻¹⁴', '1')
    """
    return "2" + str(power).translate(_DIGITS) if power else "1"


def draw(view: NumericsMonitor, *, dark: bool, width: int) -> str:
    """Rows of histograms, and below them loss scale and gradient norm."""
    muted = palette.surface("muted", dark=dark)
    rows = view.rows()
    text = repr(view).removeprefix("NumericsMonitor(").removesuffix(")")
    parts = svg.heading("Numbers", text.replace(", ", " · "), width, dark=dark)
    if not rows:
        parts.append(svg.text(14, 48, "Nothing was looked at.", muted))
        return svg.picture(width, 64, parts, title=repr(view), dark=dark)
    shown = rows[:MOST_ROWS]
    high = 24.0 if len(shown) <= 14 else 15.0
    axis = _Axis(shown, width)
    bottom = TOP + high * len(shown)
    parts += _heads(shown[0].dtype, axis, width, dark=dark)
    for i, row in enumerate(shown):
        parts += _row(row, axis, TOP + i * high, high, view.kind, width, dark=dark)
    parts += _powers(axis, bottom, dark=dark)
    y = bottom + 34
    if len(rows) > len(shown):
        label = f"and {len(rows) - len(shown)} more: see the table"
        parts.append(svg.text(LEFT, bottom + 28, label, muted, size=10))
    parts += _lanes(view, y, width, dark=dark)
    colours = [
        (f"{view.kind}s", palette.category(KIND[view.kind], dark=dark)),
        ("become zero", muted),
        ("subnormal: fewer digits", palette.category("workspace", dark=dark)),
        ("overflow, skipped step", palette.surface("alert", dark=dark)),
    ]
    y += 2 * LANE + 44
    legend, low = svg.legend(14, y, colours, width - 14, dark=dark)
    height = y + 12 + low
    return svg.picture(width, height, parts + legend, title=repr(view), dark=dark)


class _Axis:
    """Powers of two across: all that occur, and the edges of float16."""

    def __init__(self, rows: list[Row], width: int) -> None:
        spans = [
            span
            for row in rows
            for span in (row.shown.span, row.recorded.span)
            if span is not None
        ]
        self.low = min([low for low, _ in spans] + [-28]) - 1
        self.high = max([high for _, high in spans] + [18]) + 2
        self.left, self.right = LEFT, width - FACTS
        self.step = (self.right - self.left) / (self.high - self.low)

    def x(self, power: float) -> float:
        """Where a power begins."""
        return self.left + (power - self.low) * self.step

    def stretches(self, dtype: str) -> list[tuple[str, float, float]]:
        """Each zone of a type, and the powers from and to which it is seen."""
        layout = LAYOUTS[dtype]
        edges = (self.low, layout.lowest - 1, layout.normal, layout.highest + 1)
        within = [min(self.high, max(self.low, edge)) for edge in edges]
        ends = [*within[1:], self.high]
        return list(zip(ZONES, within, ends, strict=True))


def _zone_colour(zone: str, *, dark: bool) -> str:
    return {
        "zero": palette.surface("muted", dark=dark),
        "subnormal": palette.category("workspace", dark=dark),
        "overflow": palette.surface("alert", dark=dark),
    }.get(zone, "")


def _heads(dtype: str, axis: _Axis, width: int, *, dark: bool) -> list[str]:
    muted = palette.surface("muted", dark=dark)
    parts = []
    for zone, low, high in axis.stretches(dtype):
        wide, text = (high - low) * axis.step, zone
        if zone == "zero":
            text = "becomes zero"
        if svg.width_of(text, 10) + 4 < wide:
            colour = _zone_colour(zone, dark=dark) or muted
            at = axis.x((low + high) / 2)
            parts.append(svg.text(at, TOP - 7, text, colour, anchor="middle", size=10))
    for text, place in (("lost", LOST), ("overflow", OVER), ("norm", NORM)):
        at = width - place
        parts.append(svg.text(at, TOP - 7, text, muted, anchor="end", size=10))
    return parts


def _row(
    row: Row, axis: _Axis, y: float, high: float, kind: str, width: int, *, dark: bool
) -> list[str]:
    ink, muted = (palette.surface(name, dark=dark) for name in ("ink", "muted"))
    middle = y + high / 2 + 4
    parts = [svg.text(14, middle, row.label, ink, space=LEFT - 20)]
    for zone, low, end in axis.stretches(row.dtype):
        tint = _zone_colour(zone, dark=dark)
        if tint and end > low:
            wide = (end - low) * axis.step
            parts.append(
                svg.rect(axis.x(low), y + 1, wide, high - 2, tint, opacity=0.16)
            )
    most = math.log1p(max(int(row.shown.counts.max()), 1))
    layout, own = LAYOUTS[row.dtype], palette.category(KIND[kind], dark=dark)
    for place in np.flatnonzero(row.shown.counts).tolist():
        power, many = POWERS[place], int(row.shown.counts[place])
        tall = max(1.5, math.log1p(many) / most * (high - 5))
        zone = layout.zone(power)
        colour = _zone_colour(zone, dark=dark) or own
        title = f"{row.label}: {many:,} of {power_of_two(power)}, {zone}"
        wide = max(axis.step - 1, 1)
        top = y + high - 2 - tall
        parts.append(
            svg.rect(axis.x(power) + 0.5, top, wide, tall, colour, title=title)
        )
    shares, broken = row.shares, row.shown.infinite + row.shown.nan
    over = f"{human_count(broken)} ∞" if broken else human_share(shares["overflow"])
    alert = palette.surface("alert", dark=dark) if shares["overflow"] else muted
    facts = ((human_share(shares["zero"]), LOST, muted), (over, OVER, alert))
    for text, place, colour in (*facts, (f"{row.norm:.3g}", NORM, muted)):
        parts.append(svg.text(width - place, middle, text, colour, anchor="end"))
    return parts


def _powers(axis: _Axis, bottom: float, *, dark: bool) -> list[str]:
    rule, muted = (palette.surface(name, dark=dark) for name in ("line", "muted"))
    parts = []
    every = 8 if axis.step * 8 > 34 else 16 if axis.step * 16 > 34 else 32
    for power in range(math.ceil(axis.low / every) * every, axis.high, every):
        x = axis.x(power)
        parts.append(svg.line([(x, TOP), (x, bottom)], rule))
        text = power_of_two(power)
        parts.append(svg.text(x, bottom + 14, text, muted, anchor="middle", size=10))
    return parts


def _lanes(view: NumericsMonitor, y: float, width: int, *, dark: bool) -> list[str]:
    scaling = view.record.scalings()
    steps, norms = view.norms()
    ends = [*scaling["step"].tolist(), *steps.tolist(), *view.steps]
    first = min(ends, default=0)
    last = max(max(ends, default=1), first + 1)
    right = width - 14.0

    def x(step: float) -> float:
        return LEFT + (step - first) / (last - first) * (right - LEFT)

    parts = _scale_lane(scaling, x, y, right, dark=dark)
    lower = y + LANE + 12
    parts += _norm_lane(steps, norms, x, lower, right, dark=dark)
    accent = palette.surface("accent", dark=dark)
    now = x(view.step)
    parts.append(svg.line([(now, y - 3), (now, lower + LANE)], accent, width=1.4))
    muted = palette.surface("muted", dark=dark)
    for tick in svg.ticks(first, last, 6):
        if tick == int(tick):
            text = human_count(tick)
            at = lower + LANE + 14
            parts.append(svg.tick(x(tick), at, text, muted, LEFT - 20, width - 8.0))
    return parts


def _lane(label: str, y: float, right: float, *, dark: bool) -> list[str]:
    ink, card = (palette.surface(name, dark=dark) for name in ("ink", "card"))
    return [
        svg.rect(LEFT, y, right - LEFT, LANE, card),
        *(
            svg.text(14, y + 11 + 14 * i, word, ink, bold=True)
            for i, word in enumerate(label.split())
        ),
    ]


def _scale_lane(
    scaling: Array, x: Callable[[float], float], y: float, right: float, *, dark: bool
) -> list[str]:
    parts = _lane("loss scale", y, right, dark=dark)
    muted, accent, alert = (
        palette.surface(name, dark=dark) for name in ("muted", "accent", "alert")
    )
    if not len(scaling):
        at = (LEFT + right) / 2
        label = "no loss was scaled"
        return [*parts, svg.text(at, y + LANE / 2 + 4, label, muted, anchor="middle")]
    powers = np.log2(scaling["scale"])
    low, high = float(powers.min()) - 1, float(powers.max()) + 1

    def down(power: float) -> float:
        return y + LANE - (power - low) / (high - low) * LANE

    for tick in svg.ticks(low, high, 3):
        if tick == int(tick):
            text = power_of_two(int(tick))
            at = down(tick) + 3.5
            parts.append(svg.text(LEFT - 5, at, text, muted, anchor="end", size=10))
    points: list[tuple[float, float]] = []
    for step, power in zip(scaling["step"].tolist(), powers.tolist(), strict=True):
        if not points or points[-1][1] != down(power):
            if points:
                points.append((x(step), points[-1][1]))
            points.append((x(step), down(power)))
    points.append((x(int(scaling["step"][-1])), points[-1][1]))
    parts.append(svg.line(points, accent, width=1.6))
    for row, power in zip(scaling, powers.tolist(), strict=True):
        if row["skipped"]:
            title = f"step {row['step']} was skipped"
            parts.append(svg.dot(x(int(row["step"])), down(power), alert, title))
    return parts


def _norm_lane(
    steps: Array, norms: Array, x: Callable[[float], float], y: float, right: float,
    *, dark: bool,
) -> list[str]:  # fmt: skip
    parts = _lane("gradient norm", y, right, dark=dark)
    positive = norms > 0
    if not positive.any():
        return parts
    muted = palette.surface("muted", dark=dark)
    logs = np.log10(norms[positive])
    low = math.floor(float(logs.min()) - 0.1)
    high = max(low + 1, math.ceil(float(logs.max()) + 0.1))
    for power in range(low, high + 1, max(1, (high - low) // 3)):
        at = y + LANE - (power - low) / (high - low) * LANE + 3.5
        text = f"{10.0**power:g}"
        parts.append(svg.text(LEFT - 5, at, text, muted, anchor="end", size=10))
    down = y + LANE - (logs - low) / (high - low) * LANE
    points = list(zip(map(x, steps[positive].tolist()), down.tolist(), strict=True))
    colour = palette.category("gradient", dark=dark)
    return [*parts, svg.line(points, colour, width=1.6)]

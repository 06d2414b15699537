"""`SideBySide` as a static picture: charts of the steps, the last ones, the figures."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from minimx.core.events import PHASES
from minimx_widgets import palette, svg
from minimx_widgets.lab.turn_text import milliseconds
from minimx_widgets.pictures.training_picture import Chart, Drawn, drawn
from minimx_widgets.pictures.training_series import running_mean, running_median, trend
from minimx_widgets.units import human_bytes, human_count, human_time

State = dict[str, Any]
#: The running mean of accuracy goes over so many batches.
BATCHES = 10
LEFT, ROW, MEMORY, LANE = 14.0, 20.0, 96.0, 15.0


def colour(side: int, *, dark: bool) -> str:
    """The colour of A (0) or B (1), everywhere."""
    return palette.layer(side, dark=dark)


def draw(state: State, text: str, *, height: int, dark: bool, width: int) -> str:
    """The whole picture."""
    ink, muted = (palette.surface(name, dark=dark) for name in ("ink", "muted"))
    parts = [svg.text(LEFT, 21, "A | B", ink, size=13, bold=True)]
    x = 60.0
    for side, one in enumerate(state["sides"]):
        label, right = f"{one['name']}: {one['words']}", x + (width - 80) / 3
        entry = (label, colour(side, dark=dark))
        parts += svg.legend(x, 21, [entry], right, dark=dark)[0]
        x = min(right, x + 15 + svg.width_of(label, 10.5)) + 14
    space, right = width - x - 14, width - LEFT
    headline = state["headline"]
    parts.append(svg.text(right, 21, headline, muted, anchor="end", space=space))
    quarter = (width - 28) / 4
    for i, chart in enumerate(charts(state, dark=dark)):
        box = (LEFT + i * quarter, 34.0, quarter - 12, float(height))
        parts += drawn(chart, box, dark=dark)
    y = 34.0 + height + 14
    lower, more = _last_steps(state, y, width, dark=dark)
    parts += more
    y = lower + 12
    for note in state["notes"]:
        alert = palette.surface("alert", dark=dark)
        more, y = svg.paragraph(LEFT, y, note, alert, space=width - 28, step=ROW)
        parts += more
    places = [(0.22, "A"), (0.40, "B"), (0.58, "B against A"), (0.80, "")]
    for share, head in places:
        parts.append(svg.text(width * share, y, head, muted, size=10.5))
    y += ROW
    keys = ("before", "after", "change", "source")
    for row in state["rows"]:
        parts.append(svg.text(LEFT, y, row["label"], ink, space=width * 0.2))
        fills = (ink, ink, _verdict(row, dark), muted)
        for (share, _), key, fill in zip(places, keys, fills, strict=True):
            space = width * (0.17 if share < 0.5 else 0.2) - 4
            parts.append(svg.text(width * share, y, row[key], fill, space=space))
        y += ROW
    return svg.picture(width, y - 6, parts, title=text, dark=dark)


def _verdict(row: State, dark: bool) -> str:
    if row["verdict"] == "better":
        return palette.state("added", dark=dark)
    if row["verdict"] == "worse":
        return palette.surface("alert", dark=dark)
    return palette.surface("ink", dark=dark)


def charts(state: State, *, dark: bool) -> list[Chart]:
    """The four charts over the steps; each line in the colour of its side."""
    found = []
    smooths: list[tuple[str, str, Any, Callable[[float], str], tuple[float, ...]]] = [
        ("step peak", "peak", None, human_bytes, (0.0,)),
        ("time per step", "ms", running_median, milliseconds, (0.0,)),
        ("loss", "loss", trend, human_count, (0.0,)),
        (
            "accuracy of batches", "accuracy", lambda v: running_mean(v, BATCHES),
            lambda v: f"{100 * v:g} %", (0.0, 1.0),
        ),
    ]  # fmt: skip
    for title, key, smooth, label, cover in smooths:
        lines = []
        for side, one in enumerate(state["sides"]):
            raw = np.array(one[key], float)
            steps = np.arange(1.0, len(raw) + 1)
            if key == "ms":  # the first step also prepares
                steps, raw = steps[1:], raw[1:]
            paint = colour(side, dark=dark)
            if smooth is not None and len(raw):
                lines.append(Drawn(steps, raw, paint, "faint"))
                lines.append(Drawn(steps, smooth(raw), paint))
            else:
                lines.append(Drawn(steps, raw, paint))
            planned = np.array(one["planned"], float)
            if key == "peak" and np.isfinite(planned).any():
                lines.append(Drawn(steps, planned, paint, "dash"))
        scale = "bytes" if label is human_bytes else "linear"
        found.append(Chart((title,), "", lines, scale, cover, label))
    return found


def _last_steps(
    state: State, y: float, width: int, *, dark: bool
) -> tuple[float, list[str]]:
    """Memory of both sides over each other, and below it the lanes of A, then of B."""
    ink, muted, rule = (palette.surface(n, dark=dark) for n in ("ink", "muted", "line"))
    known = [(i, one) for i, one in enumerate(state["last"]) if one]
    if not known:
        return y, []
    whole = max(one["took"] for _, one in known) or 1.0
    most = max(max(one["bytes"], default=0.0) for _, one in known) or 1.0
    left, right = LEFT + 92, width - LEFT
    parts = [svg.text(LEFT, y, "The last two steps: memory in use", ink, bold=True)]
    bottom = y + 10 + MEMORY

    def across(t: float) -> float:
        return left + min(max(t / whole, 0.0), 1.0) * (right - left)

    for tick in svg.byte_ticks(most, 4):
        at = bottom - tick / (1.05 * most) * MEMORY
        parts.append(svg.line([(left, at), (right, at)], rule))
        label = human_bytes(tick)
        parts.append(svg.text(left - 5, at + 3.5, label, muted, anchor="end", size=10))
    for side, one in known:
        points, before = [], bottom
        for t, used in zip(one["times"], one["bytes"], strict=True):
            at = bottom - max(used, 0.0) / (1.05 * most) * MEMORY
            points += [(across(t), before), (across(t), at)]
            before = at
        points.append((across(one["took"]), before))
        parts.append(svg.line(points[1:], colour(side, dark=dark), width=1.6))
    y = bottom + 8
    for side, one in known:
        name = state["sides"][side]["name"]
        for lane, label in enumerate(one["lanes"]):
            text, space = f"{name} {label}", left - LEFT - 6
            parts.append(svg.text(LEFT, y + 11, text, muted, size=10.5, space=space))
            parts.append(
                svg.rect(
                    left, y, right - left, LANE - 2, palette.surface("card", dark=dark)
                )
            )
            for _, start, end, phase, what in (b for b in one["boxes"] if b[0] == lane):
                wide = max(across(end) - across(start), 0.5)
                fill = palette.phase(PHASES[phase], dark=dark)
                parts.append(
                    svg.rect(across(start), y, wide, LANE - 2, fill, title=what)
                )
            y += LANE
    for moment in svg.ticks(0, whole, 6):
        label = human_time(moment)
        parts.append(svg.tick(across(moment), y + 11, label, muted, LEFT, width - 8))
    return y + 22, parts

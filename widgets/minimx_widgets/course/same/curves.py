"""Both libraries' curves in one picture: losses step by step, scores after epochs."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from minimx_widgets import palette, svg
from minimx_widgets.course.parts.text import Shown
from minimx_widgets.course.same.record import LIBRARIES, TITLES, Comparison

WIDTH, HEIGHT = 900.0, 300.0
TOP, BOTTOM = 64.0, 254.0
#: Left and right edge of the losses, and of the scores.
LOSSES, SCORES = (50.0, 560.0), (630.0, 880.0)
DASH = {"minimx": "", "torch": "4 3"}
SMOOTH = 40  # a point is the mean of one part in 40 of all steps

Point = tuple[float, float]


@dataclass(frozen=True)
class Panel:
    """Axes from (0, low) to (last, high)."""

    left: float
    right: float
    last: float
    low: float
    high: float

    def at(self, x: float, y: float) -> Point:
        """The place of a point."""
        across = self.left + x / self.last * (self.right - self.left)
        up = (y - self.low) / (self.high - self.low)
        return across, BOTTOM - up * (BOTTOM - TOP)

    def axes(self, title: str, below: str, *, dark: bool) -> Iterator[str]:
        """Rules with numbers, and what is drawn."""
        rule, muted = (palette.surface(name, dark=dark) for name in ("line", "muted"))
        yield svg.text(self.left, TOP - 14, title, muted)
        for level in svg.ticks(self.low, self.high, 5):
            x, y = self.at(0, level)
            yield svg.line([(x, y), (self.right, y)], rule)
            yield svg.text(x - 6, y + 3.5, f"{level:g}", muted, anchor="end", size=10)
        for step in svg.ticks(0, self.last, 5):
            x, y = self.at(step, self.low)
            yield svg.text(x, y + 14, f"{step:g}", muted, anchor="middle", size=10)
        middle = (self.left + self.right) / 2
        yield svg.text(middle, BOTTOM + 28, below, muted, anchor="middle", size=10)


def curves(
    comparison: Comparison, live: Sequence[float] = (), *, dark: bool = False
) -> Shown:
    """What both learnt, a line for each seed; live: losses of a run of one's own."""
    steps = len(comparison.runs[0]["minimx"]["losses"])
    span = max(steps // SMOOTH, 1)
    lines = {
        (library, run["seed"]): smoothed(run[library]["losses"], span)
        for library in LIBRARIES
        for run in comparison.runs
    }
    every = [y for _, ys in lines.values() for y in ys]
    left = Panel(*LOSSES, steps, min(0.0, *every), math.ceil(max(every)))
    ink = palette.surface("ink", dark=dark)
    mark = palette.surface("mark", dark=dark)
    parts = [svg.text(14, 22, TITLES[comparison.name], ink, size=13, bold=True)]
    parts += left.axes("loss", "step", dark=dark)
    for (library, _), (xs, ys) in lines.items():
        places = [left.at(x, y) for x, y in zip(xs, ys, strict=True)]
        looks: dict[str, Any] = {"dash": DASH[library], "opacity": 0.85, "width": 1.4}
        parts.append(svg.line(places, colour(library, dark), **looks))
    if live:
        own = smoothed(live, min(span, len(live)))
        places = [left.at(x, y) for x, y in zip(*own, strict=True)]
        parts.append(svg.line(places, mark, width=2.4))
    parts += _scores(comparison, dark=dark)
    names = [(text, colour(name, dark)) for name, text in LIBRARIES.items()]
    names += [("yours, just now", mark)] if live else []
    parts += svg.legend(LOSSES[0] + 60, 42, names, LOSSES[1], dark=dark)[0]
    title = comparison.verdict()
    picture = svg.picture(WIDTH, HEIGHT, parts, title=title, dark=dark)
    return Shown(title, picture, "image/svg+xml")


def beginning(comparison: Comparison, steps: int, *, dark: bool = False) -> Shown:
    """Both libraries' losses of the first steps, a line for each seed and library."""
    ink = palette.surface("ink", dark=dark)
    lines = [
        (name, run[name]["losses"][:steps])
        for run in comparison.runs
        for name in LIBRARIES
    ]
    every = [loss for _, losses in lines for loss in losses]
    low, high = math.floor(min(every)), math.ceil(max(every))
    panel = Panel(LOSSES[0], SCORES[1], steps, low, high)
    parts = [svg.text(14, 22, TITLES[comparison.name], ink, size=13, bold=True)]
    parts += panel.axes("loss", "step", dark=dark)
    for name, losses in lines:
        points = [panel.at(k, loss) for k, loss in enumerate(losses, 1)]
        looks: dict[str, Any] = {"dash": DASH[name], "width": 2.4}
        parts.append(svg.line(points, colour(name, dark), **looks))
    names = [(text, colour(name, dark)) for name, text in LIBRARIES.items()]
    parts += svg.legend(LOSSES[0] + 60, 42, names, SCORES[1], dark=dark)[0]
    title = f"{TITLES[comparison.name]}: the first {steps} losses of {len(lines)} runs"
    picture = svg.picture(WIDTH, HEIGHT, parts, title=title, dark=dark)
    return Shown(title, picture, "image/svg+xml")


def _scores(comparison: Comparison, *, dark: bool) -> list[str]:
    """A line for each seed through the scores after every epoch."""
    runs = comparison.runs
    every = [
        score for run in runs for name in LIBRARIES for score in run[name]["scores"]
    ]
    epochs = len(runs[0]["minimx"]["scores"])
    low = 0.0 if comparison.kind == "accuracy" else min(every) * 0.9
    panel = Panel(*SCORES, epochs, low, max(max(every) * 1.04, 1.0))
    parts = list(panel.axes(comparison.kind, "epoch", dark=dark))
    for run in runs:
        for name in LIBRARIES:
            ink = colour(name, dark)
            points = [panel.at(k, y) for k, y in enumerate(run[name]["scores"], 1)]
            parts.append(svg.line(points, ink, dash=DASH[name], opacity=0.85))
            for (x, y), score in zip(points, run[name]["scores"], strict=True):
                text = f"{LIBRARIES[name]}, seed {run['seed']}: {score:.4f}"
                parts.append(svg.dot(x, y, ink, text))
    return parts


def smoothed(losses: Sequence[float], span: int) -> tuple[list[float], list[float]]:
    """Steps, and the mean of so many losses around each.

    >>> smoothed([4.0, 2.0, 3.0, 1.0], 2)
    ([1.0, 2.0, 3.0], [3.0, 2.5, 2.0])
    """
    means = np.convolve(losses, np.full(span, 1 / span), "valid")
    return [k + span / 2 for k in range(len(means))], [float(mean) for mean in means]


def colour(library: str, dark: bool) -> str:
    """Of a library's lines."""
    return palette.layer(list(LIBRARIES).index(library), dark=dark)

"""The roofline plot: operations a second over operations for each byte, as SVG.

The sloping part of a roof is what memory allows, the flat part what the processor can
compute. How far a point is below the roof is what its operator leaves.
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from tests.benchmarks.roofline.measuring import Point, Roofline

SIZE, FONT = (9.0, 5.4), 8.5  # inches, points
INK, FAINT, GRID = "#22262b", "#6b7480", "#e6e9ed"
#: From which share of the roof on a point has a colour, and what it says.
COLOURS = (
    (0.5, "#1b7f6b", "half or more"),
    (0.25, "#c98a00", "a quarter or more"),
    (0.0, "#b8412f", "less"),
)
#: Up to so many typographic points up or down no line leads to a name.
NEAR = 9
Box = tuple[float, float, float, float]


def digest(data: Path) -> str:
    """What ties a picture to the file that it shows."""
    return f"{data.name} {hashlib.sha256(data.read_bytes()).hexdigest()[:16]}"


def draw(found: Roofline, told: str, kind: str = "svg") -> bytes:
    """The picture; told: kept in its metadata. The same data give the same bytes."""
    import matplotlib

    settings: dict[Any, Any] = {
        "svg.fonttype": "none",
        "svg.hashsalt": "roofline",
        "font.size": FONT,
    }
    with matplotlib.rc_context(settings):
        from matplotlib.figure import Figure

        figure = Figure(SIZE, facecolor="white")
        axes = figure.add_axes((0.075, 0.1, 0.9, 0.81))
        points = [point for point in found.points if point.flops]
        _frame(axes, found, points)
        taken = _roofs(axes, found)
        _points(axes, found, points, taken)
        out = io.BytesIO()
        metadata = {"Date": None, "Description": told} if kind == "svg" else None
        figure.savefig(out, format=kind, metadata=metadata, dpi=130)
    return out.getvalue()


def _frame(axes: Any, found: Roofline, points: Iterable[Point]) -> None:
    axes.set(xscale="log", yscale="log")
    rates = [point.rate / 1e9 for point in points]
    at = [point.intensity for point in points]
    axes.set_xlim(min(at, default=0.1) / 2, max(at, default=100) * 25)
    top = max(*rates, *(peak.flops / 1e9 for peak in found.peaks.values()))
    axes.set_ylim(min(rates, default=1) / 3, top * 3)
    axes.set_xlabel("operations for each byte that is moved", color=INK)
    axes.set_ylabel("billion operations a second", color=INK)
    axes.grid(color=GRID, linewidth=0.7)
    axes.set_axisbelow(True)
    axes.tick_params(colors=FAINT, which="both", length=0)
    for format_of in (axes.xaxis, axes.yaxis):
        format_of.set_major_formatter(lambda value, place: f"{value:g}")
    for side in axes.spines.values():
        side.set_visible(False)
    where = found.conditions
    axes.set_title(
        f"How near operators come to the machine: {where['cores']} cores of "
        f"{where['cpu']}, {where['date']}",
        loc="left",
        color=INK,
        fontsize=FONT + 2.5,
    )


def _roofs(axes: Any, found: Roofline) -> list[Box]:
    """Draw them; where they and their names are, in pixels."""
    (low, high), scale = axes.get_xlim(), axes.figure.dpi / 72
    taken: list[Box] = []
    for cores, peak in sorted(found.peaks.items()):
        all_of_them = cores == max(found.peaks)
        x = np.geomspace(low, high, 100)
        y = np.minimum(peak.flops, x * peak.bandwidth) / 1e9
        style: dict[str, Any] = {"linewidth": 2.2, "color": INK}
        if not all_of_them:
            style = {"linewidth": 1.1, "color": FAINT, "dashes": (4, 3)}
        axes.plot(x, y, **style)
        text = (
            f"{cores} core{'s' if cores > 1 else ''}: {peak.flops / 1e9:.0f} GFLOP/s, "
            f"{peak.bandwidth / 1e9:.0f} GB/s"
        )
        # On the flat part, above the line; that of fewer cores below its own.
        up = 8 if all_of_them else -9
        at = high, peak.flops / 1e9
        where = {"textcoords": "offset points", "ha": "right", "va": "center"}
        axes.annotate(text, at, xytext=(-4, up), color=style["color"], **where)
        end, middle = axes.transData.transform(at)
        taken.append(_box(end - 4 * scale, middle + up * scale, text, scale, "right"))
        for px, py in axes.transData.transform(np.stack([x, y], 1)):
            taken.append((px - 2, py - 2, px + 2, py + 2))
    return taken


def _box(x: float, y: float, text: str, scale: float, side: str) -> Box:
    """Where a line of text is that ends (`right`) or begins at a place."""
    width, height = 0.56 * FONT * scale * len(text), 1.25 * FONT * scale
    left = x - width if side == "right" else x
    return left, y - height / 2, left + width, y + height / 2


def colour(share: float) -> str:
    """That of a point."""
    return next(shade for least, shade, _ in COLOURS if share >= least)


def _points(axes: Any, found: Roofline, points: list[Point], taken: list[Box]) -> None:
    for _, shade, word in COLOURS:
        mine = [p for p in points if colour(p.share(found.peak)) == shade]
        if mine:
            x, y = [p.intensity for p in mine], [p.rate / 1e9 for p in mine]
            axes.scatter(x, y, s=34, color=shade, label=word, zorder=3)
    key = axes.legend(
        loc="lower right", frameon=False, title="of the roof", labelcolor=INK
    )
    key.get_title().set_color(INK)
    axes.figure.canvas.draw()
    taken.append(tuple(key.get_window_extent().extents))
    _labels(axes, found, points, taken)


def _labels(axes: Any, found: Roofline, points: list[Point], taken: list[Box]) -> None:
    """A name beside each point, where little else is; lines lead to those far off.

    taken: where nothing else should be. The cost of a place is its distance, and more
    for each thing that the name or its line would be drawn over.
    """
    scale = axes.figure.dpi / 72  # pixels of a typographic point
    place = {
        p.name: axes.transData.transform((p.intensity, p.rate / 1e9)) for p in points
    }
    r = 5 * scale
    dots = [(x - r, y - r, x + r, y + r) for x, y in place.values()]
    names, lines = [*taken], list[Box]()
    frame = axes.get_window_extent()

    def cost(dy: float, box: Box, line: list[Box]) -> float:
        if box[0] < frame.x0 or frame.x1 < box[2] or box[1] < frame.y0:
            return np.inf
        over_names = sum(_overlap(box, one) for one in names)
        over_dots = sum(_overlap(box, one) for one in dots)
        crossed = sum(any(_overlap(part, one) for part in line) for one in names)
        met = any(_overlap(box, one) for one in lines)
        return abs(dy) + 40 * over_names + 40 * over_dots + 20 * crossed + 40 * met

    for point in sorted(points, key=lambda p: -p.rate):
        text = f"{point.name} {point.share(found.peak):.0%}"
        x, y = place[point.name]
        best, chosen = np.inf, None
        for dx, dy, side in _places():
            box = _box(x + dx * scale, y + dy * scale, text, scale, side)
            end = x + dx * scale, y + dy * scale
            line = _line((x, y), end) if abs(dy) > NEAR else []
            if (now := cost(dy, box, line)) < best:
                best, chosen = now, (dx, dy, side, box, line)
        assert chosen is not None, "the picture is too small for a name"
        dx, dy, side, box, line = chosen
        names.append(box)
        lines += line
        way = {"arrowstyle": "-", "color": FAINT, "linewidth": 0.6, "shrinkB": 3}
        axes.annotate(
            text,
            (point.intensity, point.rate / 1e9),
            xytext=(dx, dy),
            textcoords="offset points",
            ha=side,
            va="center",
            color=INK,
            arrowprops=way if line else None,
        )


def _line(begin: Any, end: tuple[float, float]) -> list[Box]:
    """The places of a line, without its ends."""
    return [
        (x - 1, y - 1, x + 1, y + 1)
        for x, y in np.linspace(begin, end, 16)[3:-1].tolist()
    ]


def _places() -> Iterator[tuple[float, float, str]]:
    """Offsets in typographic points, the nearest first; the text's end at the point."""
    for step in range(30):
        for dy in (-4 * step, 4 * step) if step else (0,):
            for far in (7.0, 7 + step / 2, 7 + 2 * step):
                yield far, dy, "left"
                yield -far, dy, "right"


def _overlap(a: Box, b: Box) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]

"""`KVStoreView` as a static picture: topology above, timeline below, scaling beside."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from minimx_widgets import palette, svg
from minimx_widgets.pictures.kvstore.layout import Point, Wire
from minimx_widgets.pictures.kvstore.scene import (
    KINDS,
    LINE_OF,
    PULL,
    PUSH,
    REDUCE,
    Load,
    Scene,
)
from minimx_widgets.pictures.kvstore.text import speed, summary
from minimx_widgets.units import human_bytes, human_share, human_time

TOP, LEFT, MAP, BOTTOM = 52.0, 112.0, 200.0, 26.0
BAND, THIN = 11.0, 5.0  # the line of computing, and the others
#: More bars than this in a line are drawn joined where they touch.
MOST_BARS = 1200


def colour(kind: int, *, dark: bool) -> str:
    """What computes has the colour of its phase; push, reduce and pull their own."""
    shared = {PUSH: "communication", REDUCE: "workspace", PULL: "data"}
    if kind in shared:
        return palette.category(shared[kind], dark=dark)
    return palette.phase(KINDS[kind], dark=dark)


def load_colour(share: float, *, dark: bool) -> str:
    """From the colour of lines for an idle link over yellow to red for a busy one."""
    stops = (
        palette.surface("line", dark=dark),
        palette.category("workspace", dark=dark),
        palette.surface("alert", dark=dark),
    )
    place = 2 * min(max(share, 0.0), 1.0)
    low = min(int(place), 1)
    return mixed(stops[low], stops[low + 1], place - low)


def mixed(a: str, b: str, share: float) -> str:
    """A colour between two.

    >>> mixed("#000000", "#ff0000", 0.5)
    '#800000'
    """
    pairs = zip((a[1:3], a[3:5], a[5:7]), (b[1:3], b[3:5], b[5:7]), strict=True)
    parts = [int(x, 16) + (int(y, 16) - int(x, 16)) * share for x, y in pairs]
    return "#" + "".join(f"{math.floor(part + 0.5):02x}" for part in parts)


def thickness(bandwidth: float) -> float:
    """Pixels of a link: 1.5 at 0.1 GB/s, and 2 more for each tenfold.

    >>> thickness(1e8), thickness(1e10), thickness(0)
    (1.5, 5.5, 1.5)
    """
    return min(7.0, 1.5 + 2 * math.log10(max(bandwidth, 1e8) / 1e8))


def draw(
    scene: Scene, curve: Mapping[str, Any], title: str, *, dark: bool, width: int
) -> str:
    """The whole picture."""
    head = f"{scene.title} · {scene.source}"
    parts = svg.heading("KVStore", head, width, dark=dark)
    said = scene.lesson if scene.numbers is None else " · ".join(summary(scene.numbers))
    tone = palette.surface("alert" if scene.lesson else "ink", dark=dark)
    parts.append(svg.text(14, 40, said, tone, size=11.5, space=width - 28))
    beside = 250.0 if curve.get("workers") and width >= 640 else 0.0
    box = 14.0, TOP, width - 28 - beside, MAP
    parts += _Topology(scene, box, dark).parts()
    if beside:
        parts += _curve(curve, (width - beside + 26, TOP + 22, beside - 50, MAP - 58),
                        dark=dark)  # fmt: skip
    rows, height = _timeline(scene, TOP + MAP + 14, width, dark=dark)
    parts += rows
    names = [(KINDS[k], colour(k, dark=dark)) for k in (0, 1, 2, 3, 4, 5)]
    names.append(("waits", palette.surface("alert", dark=dark)))
    legend, low = svg.legend(14, height + 16, names, width - 14, dark=dark)
    height += 28 + low
    return svg.picture(width, height, parts + legend, title=title, dark=dark)


class _Topology:
    """Places, switches and links in a box."""

    def __init__(
        self, scene: Scene, box: tuple[float, float, float, float], dark: bool
    ) -> None:
        self.scene, self.box, self.dark = scene, box, dark

    def parts(self) -> list[str]:
        """Links below, then switches, then places."""
        scene, dark = self.scene, self.dark
        muted, paper = (palette.surface(n, dark=dark) for n in ("muted", "paper"))
        parts = []
        for wire, load in zip(scene.layout.wires, scene.loads, strict=True):
            parts += self._wire(wire, load)
        for bus in scene.layout.buses:
            (left, y), (right, _) = self.at((bus.left, bus.y)), self.at((bus.right, 0))
            parts.append(svg.rect(left, y - 7, right - left, 14, muted, round_=5))
            space = right - left - 16
            parts.append(
                svg.text(left + 8, y + 3.5, bus.name, paper, size=10, space=space)
            )
        for place in scene.layout.places:
            x, y = self.at((place.x, place.y))
            parts += self._place(x, y, place.name, place.count, place.factor)
        return parts

    def at(self, point: Point) -> Point:
        """A point of the unit square in the box."""
        left, top, width, height = self.box
        return left + point[0] * width, top + point[1] * height

    def _place(
        self, x: float, y: float, name: str, count: int, factor: float
    ) -> list[str]:
        dark = self.dark
        card, ink = (palette.surface(n, dark=dark) for n in ("card", "ink"))
        slow = palette.surface("alert", dark=dark)
        line = slow if factor > 1 else palette.surface("muted", dark=dark)
        columns = max(len(self.scene.layout.places), 1)
        half = min(30.0, 0.42 * self.box[2] / columns)
        labels = [f"{count:,} ×"] if count > 1 else [name, name.rpartition(" ")[2]]
        labels.append("".join(filter(str.isdigit, name)))
        fits = (one for one in labels if svg.width_of(one, 10) <= 2 * half)
        said = f"{name}, computes {factor:g} times as long" if factor > 1 else name
        return [
            svg.rect(x - half - 1, y - 11, 2 * half + 2, 22, line, round_=5),
            svg.rect(x - half, y - 10, 2 * half, 20, card, round_=4, title=said),
            svg.text(x, y + 4, next(fits, ""), ink, anchor="middle", size=10),
        ]

    def _wire(self, wire: Wire, load: Load) -> list[str]:
        points = [self.at(point) for point in polyline(wire)]
        points = beside(points, 3.5 if not wire.curved else 0.0)
        if wire.state == "cut":
            alert = palette.surface("alert", dark=self.dark)
            return [svg.line(points, alert, width=1.5, dash="2 4")]
        fill = load_colour(load.share, dark=self.dark)
        wide = thickness(wire.now.bandwidth if wire.now else 0)
        wide *= 0.5 if wire.curved else 1.0
        dash = "6 3" if wire.state == "slow" else ""
        said = (
            f"{wire.name}: {speed(wire.now and wire.now.bandwidth)}, "
            f"{human_bytes(load.nbytes)}, load {human_share(load.share)}"
        )
        line = svg.line(points, fill, width=wide, dash=dash)
        return [line.replace("/>", f"><title>{said}</title></polyline>")]


def polyline(wire: Wire) -> list[Point]:
    """The points of a link: two, or those of an arc, up for one direction and down."""
    (ax, ay), (bx, by) = wire.points
    if not wire.curved:
        return [(ax, ay), (bx, by)]
    lift = -min(0.05 + 0.2 * abs(bx - ax), 0.2) * (1 if ay < 0.5 else -1)
    lift *= 1.0 if bx > ax else 0.84
    return [
        (ax + (bx - ax) * t, ay + (by - ay) * t + 4 * lift * t * (1 - t))
        for t in (k / 12 for k in range(13))
    ]


def beside(points: list[Point], by: float) -> list[Point]:
    """A straight line moved to its right, so that two directions lie side by side."""
    (ax, ay), (bx, by_) = points[0], points[-1]
    long = math.hypot(bx - ax, by_ - ay) or 1.0
    dx, dy = -(by_ - ay) / long * by, (bx - ax) / long * by
    return [(x + dx, y + dy) for x, y in points]


def _timeline(
    scene: Scene, top: float, width: float, *, dark: bool
) -> tuple[list[str], float]:
    """A band for each place; returns where the axis ends as well."""
    muted, rule = (palette.surface(n, dark=dark) for n in ("muted", "line"))
    scale = (width - LEFT - 20) / scene.span
    parts, y, tops = [], top, {}
    for k, row in enumerate(scene.rows):
        space = LEFT - 20
        parts.append(svg.text(14, y + 9, row.label, muted, size=10.5, space=space))
        before = y
        for line in row.lines:
            tops[k, line] = y
            y += BAND if line == 0 else THIN
        y = max(y + 4, before + 13)
    for number, start, end in scene.waits:
        x, wide = LEFT + start * scale, (end - start) * scale
        parts.append(_hatched(x, tops[number, 0], wide, dark=dark))
    for (number, line), at in tops.items():
        high = BAND - 2 if line == 0 else THIN - 1
        for kind, start, end in _runs(scene, number, line, 1 / scale):
            fill = colour(kind, dark=dark)
            wide = max(0.5, (end - start) * scale)
            said = f"{KINDS[kind]}: {human_time(start)} to {human_time(end)}"
            parts.append(
                svg.rect(LEFT + start * scale, at, wide, high, fill, title=said)
            )
    for tick in svg.ticks(0, scene.span, 6) if scene.rows else []:
        x = LEFT + tick * scale
        parts.insert(0, svg.line([(x, top - 2), (x, y)], rule))
        label = human_time(tick)
        parts.append(svg.tick(x, y + 12, label, muted, LEFT - 20, width - 8))
    return parts, y + (BOTTOM if scene.rows else 0)


def _runs(
    scene: Scene, row: int, line: int, pixel: float
) -> list[tuple[int, float, float]]:
    """The bars of a line, joined where they are nearer than a pixel and of one kind."""
    bars = scene.bars
    mine = np.flatnonzero((bars.row == row) & (np.array(LINE_OF)[bars.kind] == line))
    found: list[tuple[int, float, float]] = []
    gap = pixel if len(mine) > MOST_BARS or line else 0.0
    for k in mine.tolist():
        kind, start, end = int(bars.kind[k]), float(bars.start[k]), float(bars.end[k])
        if found and gap and found[-1][0] == kind and start <= found[-1][2] + gap:
            found[-1] = kind, found[-1][1], max(found[-1][2], end)
        else:
            found.append((kind, start, end))
    return found


def _hatched(x: float, y: float, width: float, *, dark: bool) -> str:
    alert = palette.surface("alert", dark=dark)
    middle = y + (BAND - 2) / 2
    return svg.line([(x, middle), (x + width, middle)], alert, width=1.5, dash="2 3")


def _curve(
    curve: Mapping[str, Any], box: tuple[float, float, float, float], *, dark: bool
) -> list[str]:
    """Efficiency over workers, and where the picture's own number lies."""
    left, top, width, height = box
    muted, rule, accent, ink = (
        palette.surface(n, dark=dark) for n in ("muted", "line", "accent", "ink")
    )
    last = math.log2(max(curve["workers"][-1], 2))

    def at(workers: int, share: float) -> Point:
        up = min(max(share, 0.0), 1.0)
        return left + width * math.log2(workers) / last, top + height * (1 - up)

    parts = [svg.text(left - 26, top - 10, "Efficiency over workers", ink, size=11,
                      bold=True)]  # fmt: skip
    for share in (0, 0.5, 1):
        _, y = at(1, share)
        parts.append(svg.line([(left, y), (left + width, y)], rule))
        parts.append(svg.text(left - 5, y + 3.5, f"{100 * share:.0f} %", muted,
                              anchor="end", size=9.5))  # fmt: skip
    for workers in curve["workers"][::3]:
        x, _ = at(workers, 0)
        parts.append(svg.text(x, top + height + 13, f"{workers:,}", muted,
                              anchor="middle", size=9.5))  # fmt: skip
    pairs = [*zip(curve["workers"], curve["efficiency"], strict=True)]
    parts.append(svg.line([at(*pair) for pair in pairs], accent, width=1.8))
    for workers, share in pairs:
        said = f"{workers:,} workers: {human_share(share)}"
        parts.append(svg.dot(*at(workers, share), accent, said))
    end = human_share(pairs[-1][1])
    text = f"{pairs[-1][0]:,} workers: {end} (modelled)"
    parts.append(svg.text(left - 26, top + height + 30, text, muted, size=10))
    return parts

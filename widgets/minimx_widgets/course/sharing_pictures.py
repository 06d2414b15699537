"""Notebook 07's two pictures: memory by match range, and memory against time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from minimx_widgets import palette, svg
from minimx_widgets.course.parts.text import Shown
from minimx_widgets.course.sharing import Ran, kib

LEFT, TOP, WIDE, HIGH = 132, 58, 76, 32  # of the map: margins and a cell


def phase_map(
    nets: Mapping[str, Any], ranges: Sequence[int], *, dark: bool = False
) -> Shown:
    """A row for each network, a column for each match range, KiB of the plan within.

    The deeper the colour, the larger the share that the best plan of the row does not
    need. A frame marks the best.
    """
    rows = {
        name: [kib(net, NNVM_EXEC_MATCH_RANGE=reach) for reach in ranges]
        for name, net in nets.items()
    }
    name_width = max(len(name) for name in ("match range", *rows))
    lines = [
        f"{name:<{name_width}}" + "".join(f"{number:>6g}" for number in numbers)
        for name, numbers in [("match range", ranges), *rows.items()]
    ]
    ink, muted, mark = (
        palette.surface(name, dark=dark) for name in ("ink", "muted", "mark")
    )
    height = TOP + HIGH * len(rows) + 36
    width = LEFT + WIDE * len(ranges) + 20
    parts = [
        svg.text(14, 22, "KiB of the plan", ink, size=13, bold=True),
        svg.text(LEFT, 22, "by match range", muted, size=11.5),
    ]
    for column, reach in enumerate(ranges):
        x = LEFT + WIDE * (column + 0.5)
        parts.append(svg.text(x, TOP - 12, str(reach), muted, anchor="middle"))
    for row, (name, totals) in enumerate(rows.items()):
        y = TOP + HIGH * row
        parts.append(svg.text(LEFT - 12, y + HIGH / 2 + 4, name, ink, anchor="end"))
        for column, total in enumerate(totals):
            title = f"{name}, range {ranges[column]}: {total:g} KiB"
            best = min(totals)
            parts += _cell(LEFT + WIDE * column, y, total, best, title, dark=dark)
    deep = palette.category("gradient", dark=dark)
    legend = [("the best of the row", mark), ("more than the best", deep)]
    more, low = svg.legend(LEFT, height - 12, legend, width - 14, dark=dark)
    parts += more
    title = f"{len(rows)} networks, {len(ranges)} match ranges"
    picture = svg.picture(width, height + low, parts, title=title, dark=dark)
    return Shown("\n".join(lines), picture, "image/svg+xml")


def _cell(
    x: float, y: float, total: float, best: float, title: str, *, dark: bool
) -> list[str]:
    """A number on a colour that says how far from the best it is."""
    ink, paper, mark = (
        palette.surface(name, dark=dark) for name in ("ink", "paper", "mark")
    )
    colour = palette.category("gradient", dark=dark)
    box = (x + 2, y + 2, WIDE - 4, HIGH - 4)
    frame = [svg.rect(x, y, WIDE, HIGH, mark, round_=4)] if total == best else []
    return [
        *frame,
        svg.rect(*box, paper, round_=3),
        svg.rect(*box, colour, opacity=1 - best / total, title=title, round_=3),
        svg.text(x + WIDE / 2, y + HIGH / 2 + 4, f"{total:g}", ink, anchor="middle"),
    ]


PLOT = (66.0, 40.0, 560.0, 250.0)  # left, top, right, bottom of the axes


def tradeoff(series: Mapping[str, Sequence[Ran]], *, dark: bool = False) -> Shown:
    """Memory across, time upwards; a line for each network, a point for each colour."""
    ink, muted, rule = (
        palette.surface(name, dark=dark) for name in ("ink", "muted", "line")
    )
    left, top, right, bottom = PLOT
    every = [run for runs in series.values() for run in runs]
    wide = 1.08 * max(run.kib for run in every)
    high = 1.08 * max(run.microseconds for run in every)

    def at(memory: float, time: float) -> tuple[float, float]:
        x = left + memory / wide * (right - left)
        return x, bottom - time / high * (bottom - top)

    parts = [svg.text(14, 22, "Memory against time", ink, size=13, bold=True)]
    for tick in map(round, svg.ticks(0, high, 5)):
        _, y = at(0, tick)
        parts.append(svg.line([(left, y), (right, y)], rule))
        text = f"{tick} µs"
        parts.append(svg.text(left - 7, y + 3.5, text, muted, anchor="end"))
    for tick in svg.byte_ticks(wide, 6):
        x, _ = at(tick, 0)
        text = f"{tick} KiB"
        parts.append(svg.text(x, bottom + 17, text, muted, anchor="middle"))
    for index, runs in enumerate(series.values()):
        colour = palette.layer(index, dark=dark)
        points = [at(run.kib, run.microseconds) for run in runs]
        parts.append(svg.line(points, colour, width=1.5))
        for count, ((x, y), run) in enumerate(zip(points, runs, strict=True), 1):
            parts.append(svg.dot(x, y, colour, f"{_colours(count)}: {run}"))
            beside = (x + 5, y - 7) if index % 2 == 0 else (x - 3, y + 17)
            parts.append(svg.text(*beside, str(count), colour, bold=True))
    entries = [(name, palette.layer(k, dark=dark)) for k, name in enumerate(series)]
    more, low = svg.legend(left, bottom + 42, entries, right, dark=dark)
    parts += more
    lines = [
        f"{name}, {_colours(count)}: {run}"
        for name, runs in series.items()
        for count, run in enumerate(runs, 1)
    ]
    title = "memory against time, a number for the colours at each point"
    height = bottom + 56 + low
    picture = svg.picture(right + 24, height, parts, title=title, dark=dark)
    return Shown("\n".join(lines), picture, "image/svg+xml")


def _colours(count: int) -> str:
    return "1 colour" if count == 1 else f"{count} colours"

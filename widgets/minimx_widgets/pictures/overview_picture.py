"""The static picture of `Overview`: a pure function of its state."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from minimx_widgets import palette, svg
from minimx_widgets.units import human_bytes, human_share, human_time

LEFT = 14.0
NAME = 150.0  # how wide names of lanes, operators and blocks are
LANE, ROW = 20.0, 17.0
PLOT = 230.0  # how high the roofline is
SHOWN = 12  # operators, blocks and lanes


def picture(state: dict[str, Any], *, dark: bool, width: int) -> str:
    """Lanes, the roofline beside operators, blocks beside memory, and the notes."""
    parts, y = svg.heading("Overview", _facts(state), width, dark=dark), 40.0
    more, y = _lanes(state, y, width, dark=dark)
    parts += more
    half = width / 2
    plot, low = _roofline(state, y, half - LEFT, dark=dark)
    table, lower = _operators(state, y, half + 8, width - LEFT, dark=dark)
    parts += plot + table
    y = max(low, lower) + 8
    blocks, low = _blocks(state, y, half - LEFT, dark=dark)
    memory, lower = _memory(state, y, half + 8, width - LEFT, dark=dark)
    parts += blocks + memory
    y = max(low, lower) + 6
    muted = palette.surface("muted", dark=dark)
    lines: dict[str, Any] = {"space": width - 2 * LEFT, "size": 10, "step": 14}
    for note in state["notes"]:
        more, y = svg.paragraph(LEFT, y + 14, note, muted, **lines)
        parts, y = parts + more, y - 14
    return svg.picture(width, y + 14, parts, title=state["title"], dark=dark)


def _facts(state: dict[str, Any]) -> str:
    return (
        f"{state['count']:,} operations in {human_time(state['span'])}"
        f"{' of the virtual clock' * (state['clock'] == 'virtual')}, peak "
        f"{human_bytes(state['memory']['nbytes'])}"
    )


def _head(x: float, y: float, text: str, *, dark: bool) -> str:
    ink = palette.surface("ink", dark=dark)
    return svg.text(x, y + 12, text, ink, size=11.5, bold=True)


def _lanes(
    state: dict[str, Any], y: float, width: float, *, dark: bool
) -> tuple[list[str], float]:
    """One bar for each lane, and what its colours mean."""
    muted = palette.surface("muted", dark=dark)
    parts = [_head(LEFT, y, "Where time went", dark=dark)]
    y += 20
    shown = state["lanes"][:SHOWN]
    for name, ns in shown:
        parts.append(svg.text(LEFT, y + 12, name, muted, space=NAME - 8))
        values = zip(state["buckets"], ns, strict=True)
        coloured = [(n, v, palette.bucket(n, dark=dark)) for n, v in values]
        parts += _stack(
            LEFT + NAME, y + 2, width - 2 * LEFT - NAME, coloured, human_time
        )
        y += LANE
    if more := len(state["lanes"]) - len(shown):
        parts.append(svg.text(LEFT, y + 12, f"… and {more} more", muted))
        y += LANE
    used = [
        (name, palette.bucket(name, dark=dark))
        for i, name in enumerate(state["buckets"])
        if any(ns[i] for _, ns in shown)
    ]
    legend, low = svg.legend(LEFT + NAME, y + 12, used, width - LEFT, dark=dark)
    return parts + legend, y + 28 + low


def _stack(
    x: float,
    y: float,
    width: float,
    values: Sequence[tuple[str, float, str]],
    text: Any,
) -> list[str]:
    """A bar of coloured parts that add up to its width."""
    whole = sum(value for _, value, _ in values) or 1
    parts = []
    for name, value, colour in values:
        long = width * value / whole
        if value:
            title = f"{name}: {text(value)}, {human_share(value / whole)}"
            parts.append(svg.rect(x, y, max(long, 0.3), 13, colour, title=title))
        x += long
    return parts


class Scale:
    """The axes of a roofline: powers of ten, operations per byte and per second."""

    def __init__(self, state: dict[str, Any]) -> None:
        dots = [each for each in state["operators"] if each["flops"] and each["ns"]]
        across = [each["intensity"] for each in dots]
        upwards = [each["rate"] for each in dots]
        for flops, bandwidth, _ in state["roofs"]:
            across.append(flops / bandwidth)
            upwards.append(flops)
        self.dots = dots
        self.x = _decades(across or [0.1, 10])
        self.y = _decades(upwards or [1e6, 1e9])

    def at(
        self, intensity: float, rate: float, box: tuple[float, ...]
    ) -> tuple[float, float]:
        """A point of the plot in a box of left, top, width, height."""
        left, top, width, height = box
        x, y = (
            (math.log10(value) - low) / (high - low)
            for value, (low, high) in ((intensity, self.x), (rate, self.y))
        )
        return left + width * x, top + height * (1 - y)


def _decades(values: Sequence[float]) -> tuple[int, int]:
    low = math.floor(math.log10(min(values)))
    high = math.ceil(math.log10(max(values)) + 0.1)
    return low, max(high, low + 1)


def _roofline(
    state: dict[str, Any], y: float, width: float, *, dark: bool
) -> tuple[list[str], float]:
    """Operators as dots under the roofs."""
    muted, edge, ink = (
        palette.surface(name, dark=dark) for name in ("muted", "line", "ink")
    )
    parts = [_head(LEFT, y, "Under the roof", dark=dark)]
    scale = Scale(state)
    box = (LEFT + 52, y + 24, width - LEFT - 52, PLOT - 62)
    left, top, wide, high = box
    for power in range(scale.x[0], scale.x[1] + 1):
        x, _ = scale.at(10.0**power, 10.0 ** scale.y[0], box)
        parts.append(svg.line([(x, top), (x, top + high)], edge))
        text = f"{10.0**power:g}"
        parts.append(
            svg.text(x, top + high + 14, text, muted, anchor="middle", size=10)
        )
    for power in range(scale.y[0], scale.y[1] + 1):
        _, place = scale.at(10.0 ** scale.x[0], 10.0**power, box)
        parts.append(svg.line([(left, place), (left + wide, place)], edge))
        text = rate_text(10.0**power)
        parts.append(svg.text(left - 6, place + 3, text, muted, anchor="end", size=10))
    text = "operations per byte →"
    parts.append(
        svg.text(left + wide, top + high + 28, text, muted, anchor="end", size=10)
    )
    for k, (flops, bandwidth, label) in enumerate(state["roofs"]):
        points = [scale.at(x, r, box) for x, r in _roof(scale, flops, bandwidth)]
        parts.append(svg.line(points, ink, width=1.6))
        low = top + high + 44 + 13 * k
        parts.append(svg.text(left, low, label, muted, size=10, space=wide))
    for each in scale.dots:
        colour = palette.bucket(each["kind"], dark=dark)
        title = f"{each['name']}: {rate_text(each['rate'])}FLOP/s"
        parts.append(
            svg.dot(*scale.at(each["intensity"], each["rate"], box), colour, title)
        )
    if not state["roofs"]:
        text = "no roof yet: Measure, or view.measure()"
        low = top + high + 44
        parts.append(svg.text(left, low, text, muted, size=10, space=wide))
    return parts, y + PLOT + 16 + 13 * max(0, len(state["roofs"]) - 1)


def _roof(scale: Scale, flops: float, bandwidth: float) -> list[tuple[float, float]]:
    """The corners of a roof within the plot."""
    ridge, left = flops / bandwidth, 10.0 ** scale.x[0]
    low = max(left, 10.0 ** scale.y[0] / bandwidth)
    corners = [(low, low * bandwidth)] if low < ridge else []
    corners.append((max(ridge, left), flops))
    return [*corners, (10.0 ** scale.x[1], flops)]


def rate_text(rate: float) -> str:
    """A rate with a prefix.

    >>> rate_text(1e9), rate_text(2.5e7)
    ('1 G', '25 M')
    """
    for size, prefix in zip((1e18, 1e15, 1e12, 1e9, 1e6, 1e3), "EPTGMk", strict=True):
        if rate >= size:
            return f"{rate / size:.3g} {prefix}"
    return f"{rate:.3g} "


def _operators(
    state: dict[str, Any], y: float, x: float, right: float, *, dark: bool
) -> tuple[list[str], float]:
    """The operators that took longest: time, and what they reached of the roof."""
    ink, muted = (palette.surface(name, dark=dark) for name in ("ink", "muted"))
    parts = [_head(x, y, "Operators", dark=dark)]
    heads = (("time", right - 150), ("share", right - 90), ("of the roof", right))
    for text, place in heads:
        parts.append(svg.text(place, y + 12, text, muted, anchor="end", size=10))
    y += 18
    busy = state["busy"] or 1
    for each in state["operators"][:SHOWN]:
        colour = palette.bucket(each["kind"], dark=dark)
        parts.append(svg.rect(x, y + 3, 8, 8, colour, round_=2))
        space = heads[0][1] - 60 - x
        parts.append(svg.text(x + 13, y + 11, each["name"], ink, space=space))
        part = each["fraction"]
        text = "" if part is None else f"{human_share(part)} {each['bound']}"
        cells = (human_time(each["ns"]), human_share(each["ns"] / busy), text)
        for cell, (_, place) in zip(cells, heads, strict=True):
            parts.append(svg.text(place, y + 11, cell, ink, anchor="end", size=10.5))
        y += ROW
    return parts, y


def _blocks(
    state: dict[str, Any], y: float, right: float, *, dark: bool
) -> tuple[list[str], float]:
    """The tree of blocks with its time, forward and backward."""
    ink, muted = (palette.surface(name, dark=dark) for name in ("ink", "muted"))
    parts = [_head(LEFT, y, "Blocks", dark=dark)]
    phases = [
        (n, palette.phase(n, dark=dark)) for n in ("forward", "backward", "other")
    ]
    parts += svg.legend(LEFT + 70, y + 12, phases, right, dark=dark)[0]
    y += 20
    busy = state["busy"] or 1
    for each in state["blocks"][:SHOWN]:
        x = LEFT + 10 * each["depth"]
        space = NAME - 10 * each["depth"]
        parts.append(svg.text(x, y + 11, each["name"], ink, space=space))
        other = each["ns"] - each["forward"] - each["backward"]
        values = (each["forward"], each["backward"], other)
        coloured = [(n, v, c) for (n, c), v in zip(phases, values, strict=True)]
        space = (right - LEFT - NAME - 120) * each["ns"] / busy
        parts += _stack(LEFT + NAME + 6, y + 1, space, coloured, human_time)
        text = f"{human_time(each['ns'])}, {human_share(each['ns'] / busy)}"
        parts.append(svg.text(right, y + 11, text, muted, anchor="end", size=10.5))
        y += ROW
    return parts, y


def _memory(
    state: dict[str, Any], y: float, x: float, right: float, *, dark: bool
) -> tuple[list[str], float]:
    """What memory held at its peak."""
    memory = state["memory"]
    ink, muted = (palette.surface(name, dark=dark) for name in ("ink", "muted"))
    when = f"after {human_time(memory['t'])}" if memory["nbytes"] else ""
    parts = [
        _head(x, y, f"Memory at its peak: {human_bytes(memory['nbytes'])}", dark=dark),
        svg.text(right, y + 12, when, muted, anchor="end", size=10),
    ]
    y += 22
    categories = [
        (n, v, palette.category(n, dark=dark)) for n, v in memory["categories"]
    ]
    layers = [
        (n or "no block", v, palette.layer(i, dark=dark))
        for i, (n, v) in enumerate(memory["layers"])
    ]
    for values in (categories, layers):
        parts += _stack(x, y, right - x, values, human_bytes)
        y += 18
        for name, nbytes, colour in values[:5]:
            parts.append(svg.rect(x, y + 3, 9, 9, colour, round_=2))
            space = right - x - 90
            parts.append(svg.text(x + 14, y + 11, name, ink, space=space))
            text = human_bytes(nbytes)
            parts.append(svg.text(right, y + 11, text, muted, anchor="end", size=10.5))
            y += 14.5
        y += 6
    return parts, y

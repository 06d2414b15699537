"""A comparison as static pictures: figures and memory, and the changes as bars."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from minimx_widgets import palette, svg
from minimx_widgets.compare.differences import Delta
from minimx_widgets.sources import PREDICTED
from minimx_widgets.units import human_bytes, human_time
from minimx_widgets.views.engine_timeline import LEFT, RIGHT

if TYPE_CHECKING:
    from minimx_widgets.views.ab_compare import ABCompare

ROW, CHART = 18, 96


def board(view: ABCompare, *, dark: bool, width: int) -> str:
    """The figures of both sides, their memory along one axis, and the causes."""
    ink, muted, rule = (palette.surface(n, dark=dark) for n in ("ink", "muted", "line"))
    shares = (0.0, 0.25, 0.43, 0.61, 0.86, 1.0)
    columns = [16 + share * (width - 32) for share in shares]
    heads = ["", "A", "B", "B against A", "ratio"]
    for place, side in enumerate(view.sides):
        heads[1 + place] += f", {PREDICTED}" if side.predicted else ""
    parts = [svg.text(16, 22, "A | B", ink, size=13, bold=True)]

    def cells(y: float, words: Sequence[str], fill: str) -> list[str]:
        return [
            svg.text(x, y, word, fill, space=end - x - 6)
            for x, end, word in zip(columns, columns[1:], words, strict=False)
        ]

    parts += cells(42, heads, muted)
    y = 42.0
    for row in view.rows:
        y += ROW
        parts.append(svg.line([(16, y - 13), (width - 16, y - 13)], rule))
        words = (row.label, row.before, row.after, row.difference, row.ratio)
        parts += cells(y, words, ink)
    parts += _memory(view, y + 30, dark=dark, width=width)
    y += 30 + CHART + 24
    names = [
        (sided(letter, title), palette.layer(place, dark=dark))
        for place, (letter, title) in enumerate(zip("AB", view.names, strict=True))
    ]
    legend, low = svg.legend(16, y, names, width - 16, dark=dark)
    lines, y = svg.paragraph(
        16, y + low + 20, view.said, ink, space=width - 32, step=16
    )
    parts += [*legend, *lines]
    return svg.picture(width, y - 2, parts, title=repr(view), dark=dark)


def sided(letter: str, title: str) -> str:
    """A side with what it is called.

    >>> sided("A", "monday"), sided("A", "A"), sided("B", "A replayed")
    ('A: monday', 'A', 'B: A replayed')
    """
    return letter if title == letter else f"{letter}: {title}"


def _memory(view: ABCompare, top: float, *, dark: bool, width: int) -> list[str]:
    """Bytes in use on the first device, A and B on one axis."""
    rule, muted = (palette.surface(name, dark=dark) for name in ("line", "muted"))
    device = next((d for side in view.sides for d in side.devices), None)
    if device is None:
        return []
    lines = [side.line(device) for side in view.sides]
    most = max([1.0, *(float(line.nbytes.max(initial=0)) for line in lines)]) * 1.05
    whole = max(1, *(side.took for side in view.sides))
    bottom = top + CHART
    parts = [svg.text(16, top - 8, f"memory in use, {device}", muted)]
    for value in svg.byte_ticks(most, 4):
        y = bottom - CHART * value / most
        parts.append(svg.line([(LEFT, y), (width - RIGHT, y)], rule))
        label = human_bytes(value)
        parts.append(svg.text(LEFT - 6, y + 3.5, label, muted, anchor="end"))
    for place, (line, side) in enumerate(zip(lines, view.sides, strict=True)):
        points, before = [], 0.0
        for t, nbytes in zip(line.t.tolist(), line.nbytes.tolist(), strict=True):
            x = LEFT + (width - LEFT - RIGHT) * min(max(t / whole, 0.0), 1.0)
            points += [(x, bottom - CHART * before / most)]
            points += [(x, bottom - CHART * nbytes / most)]
            before = nbytes
        if points:
            end = LEFT + (width - LEFT - RIGHT) * side.took / whole
            points.append((max(end, points[-1][0]), points[-1][1]))
            parts.append(svg.line(points, palette.layer(place, dark=dark), width=1.6))
    return parts


def bars(changes: Sequence[Delta], *, dark: bool, width: int) -> str:
    """A bar for each change, to the left what got quicker."""
    ink, muted = (palette.surface(name, dark=dark) for name in ("ink", "muted"))
    shown = [one for one in changes if one.change]
    most = max((abs(one.change) for one in shown), default=1)
    middle, space = width * 0.6, width * 0.28
    text = "A → B: which operators changed"
    parts = [svg.text(16, 22, text, ink, size=13, bold=True)]
    for k, one in enumerate(shown):
        y = 40.0 + ROW * k
        name = f"{one.operator} ({one.layer or 'other'})"
        room = middle - space - 24
        parts.append(svg.text(16, y + 10, name, ink, space=room))
        long = max(1.0, space * abs(one.change) / most)
        quicker = one.change < 0
        colour = palette.state("added" if quicker else "removed", dark=dark)
        x = middle - long if quicker else middle
        parts.append(svg.rect(x, y, long, 12, colour))
        sign = "-" if quicker else "+"
        label = f"{sign}{human_time(abs(one.change))}"
        parts.append(svg.text(middle + space + 12, y + 10, label, muted))
    if not shown:
        parts.append(svg.text(16, 50, "No operator takes longer or shorter.", muted))
    high = 40.0 + ROW * max(1, len(shown)) + 10
    if shown:
        parts.append(svg.line([(middle, 34), (middle, high - 8)], muted))
    return svg.picture(width, high, parts, title=text, dark=dark)

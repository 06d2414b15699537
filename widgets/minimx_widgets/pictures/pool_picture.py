"""The static picture of a pool map: size classes, addresses, and the whole record."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from minimx.core.events import CATEGORIES
from minimx.core.replay import History
from minimx.core.replay.history import ALLOC, FLUSH, HIT, OOM
from minimx_widgets import palette, svg
from minimx_widgets.packing import Array
from minimx_widgets.pictures.pool_scene import (
    CACHED,
    IN_USE,
    Region,
    SizeClass,
    holes,
    size_classes,
)
from minimx_widgets.units import human_bytes

if TYPE_CHECKING:
    from minimx_widgets.views.pool_map import PoolMap, Shown

ROW, MOST_CLASSES = 17, 12
LINES = 12  # of the address map
TOP, CHART, LANE = 52, 92, 20
LANES = (("driver calls", ALLOC), ("used again", HIT), ("flushes", FLUSH))
FINEST = 400  # columns of the chart at most


class Colours(NamedTuple):
    """The colours of one theme."""

    ink: str
    muted: str
    line: str
    card: str
    alert: str
    mark: str
    accent: str
    dark: bool

    @classmethod
    def of(cls, dark: bool) -> Colours:
        """Those of the palette."""
        names = ("ink", "muted", "line", "card", "alert", "mark", "accent")
        found = {name: palette.surface(name, dark=dark) for name in names}
        return cls(**found, dark=dark)

    @property
    def hatched(self) -> str:
        """The fill of what is stranded."""
        return f"url(#mx-stranded-{'dark' if self.dark else 'light'})"

    def category(self, name: str) -> str:
        """The colour of a category of memory."""
        return palette.category(name, dark=self.dark)


def _hatching(ink: Colours) -> str:
    name = ink.hatched[5:-1]
    return (
        f'<defs><pattern id="{name}" width="5" height="5" '
        f'patternUnits="userSpaceOnUse" patternTransform="rotate(45)">'
        f'<rect width="5" height="5" fill="{ink.card}"/>'
        f'<rect width="2.2" height="5" fill="{ink.muted}"/></pattern></defs>'
    )


def draw(view: PoolMap, *, dark: bool, width: int) -> str:
    """One moment above, the whole record below."""
    shown, shadow, ink = view.shown(), view.shadow(), Colours.of(dark)
    middle = TOP + LINES * ROW + 28
    height = middle + CHART + len(LANES) * LANE + 58
    parts = _head(view, shown, shadow, width, ink)
    if not len(shown.history):
        text = "no pool events in this record"
        parts.append(svg.text(width / 2, 120, text, ink.muted, anchor="middle"))
        return svg.picture(width, height, parts, title=repr(view), dark=dark)
    regions = view.regions(shown)
    ghost = view.regions(shadow) if shadow is not None else []
    half = width * 0.44
    parts.append(_hatching(ink))
    parts += _classes(regions, ghost, shown.category, half, ink)
    parts += _addresses(shown, regions, ghost, half + 22, width, ink)
    parts += _over_time(view, shown, shadow, middle, width, ink)
    used = [CATEGORIES[code] for code in np.unique(shown.category).tolist()]
    first = [(name, ink.category(name)) for name in used]
    rest = [("rounding waste", ink.alert), ("cached", ink.line)]
    rest.append(("stranded", ink.hatched))
    more = [(f"ghost: {shadow.text}", ink.mark)] if shadow is not None else []
    names = [*first, *rest, *more]
    legend, low = svg.legend(14, height - 12, names, width - 14, dark=dark)
    parts += legend
    return svg.picture(width, height + low, parts, title=repr(view), dark=dark)


def _head(
    view: PoolMap, shown: Shown, shadow: Shown | None, width: int, ink: Colours
) -> list[str]:
    history = shown.history
    text = (
        f"{view.shown_device} · {view.pool} · at most "
        f"{human_bytes(history.peak_reserved)} reserved · {history.calls:,} driver "
        f"calls · {history.count(FLUSH)} flushes"
    )
    if history.count(OOM):
        text += f" · {history.count(OOM):,} refused"
    if shadow is None:
        return svg.heading("Pool", text, width, dark=ink.dark)
    ghost = shadow.history
    said = f"ghost: {shadow.text}, {human_bytes(ghost.peak_reserved)}, "
    said += f"{ghost.calls:,} calls"
    # The ghost's words follow, and get at least four tenths of the line.
    place = max(width * 0.6, width - 28 - svg.width_of(said, 11.5))
    place = min(place, 72 + svg.width_of(text, 11.5))
    ends: dict[str, Any] = {"size": 11.5, "space": width - 14 - place}
    return [
        *svg.heading("Pool", text, place, dark=ink.dark),
        svg.text(place, 21, said, ink.mark, **ends),
    ]


def _classes(
    regions: list[Region],
    ghost: list[Region],
    category: Array,
    width: float,
    ink: Colours,
) -> list[str]:
    """One bar for each size of block, and the ghost's as an outline."""
    known = {one.size: one for one in size_classes(regions)}
    others = {one.size: one for one in size_classes(ghost)}
    held = {
        size: max(one.nbytes for one in (known.get(size), others.get(size)) if one)
        for size in {*known, *others}
    }
    sizes = sorted(sorted(held, key=lambda size: -held[size])[:MOST_CLASSES])[::-1]
    most = max(held.values(), default=1)
    left, space = 76, width - 76 - 92
    title = f"{len(known)} size class{'es' if len(known) != 1 else ''}"
    title += f", {len(sizes)} shown" if len(held) > len(sizes) else ""
    parts = [svg.text(14, TOP - 10, title, ink.ink, size=11.5, bold=True)]
    for k, size in enumerate(sizes):
        y = TOP + k * ROW
        one = known.get(size, SizeClass(size))
        label = human_bytes(size)
        parts.append(svg.text(left - 6, y + 11, label, ink.muted, anchor="end"))
        x = float(left)
        for nbytes, colour in _parts_of(one, regions, category, ink):
            wide = nbytes / most * space
            if wide > 0:
                parts.append(svg.rect(x, y + 2, wide, ROW - 5, colour))
            x += wide
        if size in others:
            wide = others[size].nbytes / most * space
            parts.append(_outline(left, y, wide, ink))
            x = max(x, left + wide)
        text = f"{one.in_use} + {one.cached} + {one.stranded}"
        parts.append(svg.text(x + 6, y + 11, text, ink.muted, size=10))
    return parts


def _outline(x: float, y: float, wide: float, ink: Colours) -> str:
    right, low = x + wide, y + ROW - 2
    ends = [(x, y + 1), (right, y + 1), (right, low), (x, low), (x, y + 1)]
    return svg.line(ends, ink.mark, dash="3 2", width=1.2)


def _parts_of(
    one: SizeClass, regions: list[Region], category: Array, ink: Colours
) -> list[tuple[int, str]]:
    """What a bar is made of: bytes and colour."""
    asked: dict[int, int] = {}
    for region in regions:
        if region.size == one.size and region.state == IN_USE:
            code = int(category[region.row])
            asked[code] = asked.get(code, 0) + region.requested
    named = sorted(asked.items())
    return [
        *((nbytes, ink.category(CATEGORIES[code])) for code, nbytes in named),
        (one.waste, ink.alert),
        (one.cached * one.size, ink.line),
        (one.stranded * one.size, ink.hatched),
    ]


def _addresses(
    shown: Shown,
    regions: list[Region],
    ghost: list[Region],
    left: float,
    width: float,
    ink: Colours,
) -> list[str]:
    """The device's addresses in lines, as a page is read."""
    history, space = shown.history, width - left - 14
    span = _span(history, regions, ghost)
    gaps = holes(regions, history.capacity)
    free, largest = sum(n for _, n in gaps), max((n for _, n in gaps), default=0)
    text = f"free {human_bytes(free)}, largest hole {human_bytes(largest)}"
    parts = [
        svg.text(left, TOP - 10, "Addresses", ink.ink, size=11.5, bold=True),
        svg.text(left + 80, TOP - 10, text, ink.muted, size=10.5, space=space - 80),
    ]
    for k in range(LINES):
        parts.append(svg.rect(left, TOP + k * ROW + 2, space, ROW - 5, ink.card))
    for one in regions:
        colour = ink.category(CATEGORIES[int(shown.category[one.row])])
        if one.state != IN_USE:
            colour = ink.line if one.state == CACHED else ink.hatched
        text = f"{human_bytes(one.size)} at {one.address:,}, {one.state}"
        for x, y, wide in _lines_of(one.address, one.size, span, left, space):
            box = (x, y + 2, max(wide - 0.6, 0.5), ROW - 5)
            parts.append(svg.rect(*box, colour, title=text))
    for start, length in _merged(ghost):
        for x, y, wide in _lines_of(start, length, span, left, space):
            parts.append(_outline(x, y, wide, ink))
    y = TOP + LINES * ROW + 12
    text = human_bytes(span)
    parts.append(svg.text(left, y, "0", ink.muted, size=10))
    parts.append(svg.text(left + space, y, text, ink.muted, anchor="end", size=10))
    return parts


def _span(history: History, *held: list[Region]) -> int:
    """How much of the device the map shows: all of it, or the used part of much."""
    tops = [one.address + one.size for regions in held for one in regions]
    tops.append(int((history.address + history.size).max(initial=1)))
    return min(max(tops), history.capacity) if history.capacity else max(tops)


def _lines_of(
    start: int, length: int, span: int, left: float, space: float
) -> list[tuple[float, float, float]]:
    """A range of addresses as boxes on the lines of the map: (x, y, width)."""
    per = span / LINES
    first, last = int(start // per), int((start + length - 1) // per)
    boxes = []
    for k in range(first, min(last, LINES - 1) + 1):
        begin, end = max(start, k * per), min(start + length, (k + 1) * per)
        x = left + (begin - k * per) / per * space
        boxes.append((x, float(TOP + k * ROW), (end - begin) / per * space))
    return boxes


def _merged(regions: list[Region]) -> list[tuple[int, int]]:
    """Neighbouring blocks as one range."""
    found: list[tuple[int, int]] = []
    for one in regions:
        if found and sum(found[-1]) == one.address:
            found[-1] = (found[-1][0], found[-1][1] + one.size)
        else:
            found.append((one.address, one.size))
    return found


def _over_time(
    view: PoolMap,
    shown: Shown,
    shadow: Shown | None,
    top: float,
    width: float,
    ink: Colours,
) -> list[str]:
    """Reserved and in use over the steps, the calls below, and the play head."""
    left, right = 92.0, width - 14.0
    both = [shown.history] + ([shadow.history] if shadow is not None else [])
    steps = max(int(one.step[-1]) + 1 for one in both if len(one))
    high = max(one.peak_reserved for one in both) * 1.06 or 1.0
    edges = np.linspace(0, steps, min(steps, FINEST) + 1)
    per = (right - left) / (len(edges) - 1)
    parts = []
    for nbytes in svg.byte_ticks(high, 4):
        y = top + CHART * (1 - nbytes / high)
        parts.append(svg.line([(left, y), (right, y)], ink.line))
        label = human_bytes(nbytes)
        parts.append(svg.text(left - 7, y + 3.5, label, ink.muted, anchor="end"))

    def stairs(curve: Array) -> list[tuple[float, float]]:
        points = []
        for k, value in enumerate(curve.tolist()):
            y = top + CHART * (1 - value / high)
            points += [(left + k * per, y), (left + (k + 1) * per, y)]
        return points

    mine, below = shown.history, np.zeros(len(edges) - 1)
    at = _fullest(mine, edges)
    for code in np.unique(shown.category).tolist():
        name = CATEGORIES[code]
        above = below + mine.in_use_of(shown.category == code)[at]
        shape = stairs(above) + stairs(below)[::-1]
        parts.append(svg.area(shape, ink.category(name), name))
        below = above
    parts.append(svg.line(stairs(_highest(mine, mine.reserved, edges)), ink.ink))
    if shadow is not None:
        ghost = stairs(_highest(shadow.history, shadow.history.reserved, edges))
        parts.append(svg.line(ghost, ink.mark, dash="4 3", width=1.4))
    y = top + CHART + 6
    for text, event in LANES:
        parts += _lane(mine, text, event, edges, (left, right, y), ink)
        y += LANE
    row = view.moment(shown)
    head = left + (int(mine.step[row]) + 0.5) / steps * (right - left)
    parts.append(svg.line([(head, top - 4), (head, y)], ink.mark, width=1.4))
    text = f"step {int(mine.step[row]):,} of {steps:,}"
    anchor = "end" if head > width / 2 else "start"
    x = head - 5 if anchor == "end" else head + 5
    parts.append(svg.text(x, y + 12, text, ink.mark, anchor=anchor, size=10))
    return parts


def _lane(
    history: History,
    text: str,
    event: int,
    edges: Array,
    box: tuple[float, float, float],
    ink: Colours,
) -> list[str]:
    """How often an event happened in each column."""
    left, right, y = box
    per = (right - left) / (len(edges) - 1)
    counts, _ = np.histogram(history.step[history.event == event], edges)
    parts = [
        svg.text(left - 7, y + 13, text, ink.muted, anchor="end"),
        svg.rect(left, y + 2, right - left, LANE - 4, ink.card),
    ]
    colour = {ALLOC: ink.ink, HIT: ink.line}.get(event, ink.alert)
    most = max(int(counts.max(initial=0)), 1)
    for k in np.flatnonzero(counts).tolist():
        tall = max((LANE - 4) * counts[k] / most, 2)
        bar = (left + k * per, y + LANE - 2 - tall, max(per, 1.4), tall)
        parts.append(svg.rect(*bar, colour))
    return parts


def _fullest(history: History, edges: Array) -> Array:
    """By column, the event after which most was in use, so that no peak is lost."""
    first = np.searchsorted(history.step, edges[:-1], side="left")
    last = np.searchsorted(history.step, edges[1:], side="left")
    in_use = history.in_use
    return np.array(
        [
            a + int(in_use[a:b].argmax()) if b > a else max(a - 1, 0)
            for a, b in zip(first.tolist(), last.tolist(), strict=True)
        ]
    )


def _highest(history: History, curve: Array, edges: Array) -> Array:
    """The highest value of a curve in each column."""
    first = np.searchsorted(history.step, edges[:-1], side="left")
    last = np.searchsorted(history.step, edges[1:], side="left")
    pairs = zip(first.tolist(), last.tolist(), strict=True)
    return np.array([int(curve[max(a - 1, 0) : max(b, 1)].max()) for a, b in pairs])

"""The static picture of a MirrorExplorer: graph, memory over time, and the front."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from html import escape
from typing import TYPE_CHECKING

from minimx_widgets import palette, svg
from minimx_widgets.pictures.graph_picture import draw as draw_graph
from minimx_widgets.units import human_bytes, human_share
from minimx_widgets.views.memory_plan import ROLES

if TYPE_CHECKING:
    from minimx_widgets.views.mirror_explorer import MirrorExplorer

LEFT, TOP = 14.0, 40.0
TALLEST = 1200.0
CHART = 190.0
#: What becomes of a node's results, as what a pass does to a node is drawn.
LOOKS = {"kept": "kept", "recomputed": "changed", "fixed": "kept", "let go": "removed"}
Box = tuple[float, float, float, float]


def draw(view: MirrorExplorer, *, dark: bool, width: int) -> str:
    """The graph on the left; the curve above the front on the right."""
    ink, muted = (palette.surface(name, dark=dark) for name in ("ink", "muted"))
    found, base = view.planned, view.base()
    text = (
        f"{view.policy} · {human_bytes(found.peak)} of {human_bytes(base.peak)} · "
        f"{human_share(found.extra)} more work"
    )
    parts = svg.heading("Mirror", text, width, dark=dark)
    whole = view.picture()
    fates = {node.name: view.fate(node) for node in view._line.nodes}
    boxes = tuple(
        replace(box, state=LOOKS[fates.get(box.name, "fixed")]) for box in whole.boxes
    )
    space = width * 0.36
    layout = whole.layout
    scale = min(1.0, space / max(layout.width, 1), TALLEST / max(layout.height, 1))
    picture = replace(whole, boxes=boxes)
    parts += draw_graph(picture, x=LEFT, y=TOP, scale=scale, dark=dark)
    x = LEFT + max(space, layout.width * scale) + 76
    right = width - 16.0
    parts += _curve(view, (x, right, TOP, TOP + CHART), dark=dark)
    lower = TOP + CHART + 62
    parts += _front(view, (x, right, lower, lower + CHART), dark=dark)
    height = max(TOP + layout.height * scale, lower + CHART) + 58
    names = [("computed again", palette.state("changed", dark=dark))]
    names += [("needed at each step", ink), ("everything kept", muted)]
    names += [("◇ measured", ink)] if view.measured() else []
    legend, low = svg.legend(LEFT, height - 12, names, right, dark=dark)
    parts += legend
    return svg.picture(width, height + low, parts, title=repr(view), dark=dark)


def _curve(view: MirrorExplorer, box: Box, *, dark: bool) -> list[str]:
    """The bytes that are needed at each step, and with everything kept."""
    left, right, top, bottom = box
    ink, muted = (palette.surface(name, dark=dark) for name in ("ink", "muted"))
    mark = palette.surface("mark", dark=dark)
    now, base = view.state["curve"], view.state["base"]
    most = max([n for *_, n in [*now, *base]], default=1) * 1.08 or 1
    parts = [svg.text(left, top - 6, "Bytes over steps", ink, size=11, bold=True)]
    parts += _rows(box, most, dark=dark)
    place = {name: step for step, (name, *_) in enumerate(now)}

    def at(step: float, nbytes: float) -> tuple[float, float]:
        x = left + step / max(1, len(now)) * (right - left)
        return x, bottom - nbytes / most * (bottom - top)

    again = ROLES.index("recomputed")
    for step, (_, role, _) in enumerate(now):
        if role == again:
            x, _ = at(step, 0)
            wide = (right - left) / len(now)
            parts.append(svg.rect(x, top, wide, bottom - top, mark, opacity=0.16))
    before = [at(place[n] + d, b) for n, _, b in base if n in place for d in (0, 1)]
    parts.append(svg.line(before, muted, dash="5 3"))
    stairs = [at(step + d, b) for step, (_, _, b) in enumerate(now) for d in (0, 1)]
    parts.append(svg.line(stairs, ink, width=1.5))
    for tick in svg.ticks(0, len(now), 6):
        x, _ = at(tick, 0)
        label = f"#{tick:.0f}"
        parts.append(svg.text(x, bottom + 14, label, muted, anchor="middle", size=10))
    return parts


def _rows(box: Box, most: float, *, dark: bool) -> list[str]:
    left, right, top, bottom = box
    rule, muted = (palette.surface(name, dark=dark) for name in ("line", "muted"))
    parts = []
    for nbytes in svg.byte_ticks(most, 4):
        y = bottom - nbytes / most * (bottom - top)
        parts.append(svg.line([(left, y), (right, y)], rule))
        label = human_bytes(nbytes)
        parts.append(svg.text(left - 6, y + 3.5, label, muted, anchor="end", size=10))
    return parts


def _front(view: MirrorExplorer, box: Box, *, dark: bool) -> list[str]:
    """Peak against extra work: all ways, the front, √N, what is drawn or measured."""
    left, right, top, bottom = box
    ink, muted, accent, mark = (
        palette.surface(name, dark=dark) for name in ("ink", "muted", "accent", "mark")
    )
    points, found, measured = view.front(), view.planned, view.measured()
    seen = [(one.peak, one.extra) for one in measured.values()]
    seen += [(found.peak, found.extra), *((p.peak, p.extra) for p in points)]
    most = max(peak for peak, _ in seen) * 1.08 or 1
    widest = max(0.05, *(extra for _, extra in seen)) * 1.08
    title = "Peak against extra work"
    parts = [svg.text(left, top - 6, title, ink, size=11, bold=True)]
    parts += _rows(box, most, dark=dark)

    def at(extra: float, peak: float) -> tuple[float, float]:
        x = left + max(0.0, extra) / widest * (right - left)
        return x, bottom - peak / most * (bottom - top)

    for share in svg.ticks(0, widest, 5):
        x, _ = at(share, 0)
        label = human_share(share)
        parts.append(svg.text(x, bottom + 14, label, muted, anchor="middle", size=10))
    best = sorted((p for p in points if p.best), key=lambda p: p.extra)
    parts.append(svg.line([at(p.extra, p.peak) for p in best], accent, width=1.4))
    for point in points:
        x, y = at(point.extra, point.peak)
        colour = mark if point.root else accent if point.best else muted
        title = f"{point.name}: {human_bytes(point.peak)}, {human_share(point.extra)}"
        parts.append(svg.dot(x, y, colour, title))
        if point.root:
            parts.append(svg.text(x + 6, y - 5, "√N", mark, size=11, bold=True))
    parts += _ring(at(found.extra, found.peak), ink)
    for name, one in measured.items():
        text = f"{name}, measured: {human_bytes(one.peak)}, {human_share(one.extra)}"
        parts.append(_diamond(at(one.extra, one.peak), ink, text))
    return parts


def _diamond(at: tuple[float, float], ink: str, title: str) -> str:
    x, y = at
    corners = [(x, y - 5), (x + 5, y), (x, y + 5), (x - 5, y)]
    points = " ".join(f"{a:.1f},{b:.1f}" for a, b in corners)
    return (
        f'<polygon points="{points}" fill="none" stroke="{ink}" stroke-width="1.3">'
        f"<title>{escape(title)}</title></polygon>"
    )


def _ring(at: Sequence[float], ink: str) -> list[str]:
    x, y = at
    return [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="6.5" fill="none" stroke="{ink}"/>']

"""A graph as boxes and lines with places: what views of graphs draw, here and there.

The same picture goes to the browser as a message (`as_message`) and into a static
drawing (`draw`), so both show the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from os.path import commonprefix
from typing import Any

from minimx.core.graph.passes.families import FAMILIES, family
from minimx.core.graph.values.ir import Entry, Graph, Node
from minimx.core.graph.values.specs import Specs
from minimx.tools.drawing.layout import HIGH, WIDE, Layout, lay_out
from minimx.tools.graph_text import settings
from minimx_widgets import palette, svg
from minimx_widgets.pictures.graph_diff import STATES
from minimx_widgets.units import human_bytes

FAMILY_NAMES = tuple(FAMILIES)
MARGIN = 16.0
#: Boxes that are drawn smaller than this have one word or none.
READABLE = 0.75


@dataclass(frozen=True)
class Box:
    """One node.

    what: the operator, ∇ for the gradient of one, or "input". state: one of
    `graph_diff.STATES`. decided: the numbers of the changes that are about it.
    storage: its storage id, -1 for none. facts: pairs of label and text, shown when
    one points at it. badge: a few letters in the upper right corner of a drawing.
    """

    name: str
    what: str
    family: str
    state: str = "kept"
    decided: tuple[int, ...] = ()
    storage: int = -1
    backward: bool = False
    facts: tuple[tuple[str, str], ...] = ()
    badge: str = ""


@dataclass(frozen=True)
class GraphPicture:
    """Boxes, lines (from, to, state) and where they are."""

    boxes: tuple[Box, ...]
    lines: tuple[tuple[int, int, str], ...]
    layout: Layout = field(compare=False)

    @classmethod
    def of(
        cls, boxes: Sequence[Box], lines: Iterable[tuple[int, int, str]]
    ) -> GraphPicture:
        """Boxes and lines, laid out."""
        lines = tuple(lines)
        edges = [(a, b) for a, b, _ in lines]
        layout = lay_out(len(boxes), edges, [box.backward for box in boxes])
        return cls(tuple(boxes), lines, layout)

    def as_message(self) -> dict[str, Any]:
        """The picture as the browser wants it: lists of numbers and texts."""
        prefix = shared_prefix([box.name for box in self.boxes])
        boxes = [
            [
                box.name, box.name.removeprefix(prefix), box.what,
                FAMILY_NAMES.index(box.family), STATES.index(box.state),
                list(box.decided), box.storage, round(x), round(y),
                [list(fact) for fact in box.facts],
            ]
            for box, (x, y) in zip(self.boxes, self.layout.places, strict=True)
        ]  # fmt: skip
        lines = [
            [a, b, STATES.index(state), [round(v) for point in bends for v in point]]
            for (a, b, state), bends in zip(self.lines, self.layout.bends, strict=True)
        ]
        size = [round(self.layout.width), round(self.layout.height)]
        return {"boxes": boxes, "lines": lines, "size": size}


def shared_prefix(names: Sequence[str]) -> str:
    """What all names with an underscore begin with, up to an underscore.

    >>> shared_prefix(["net_conv0", "net_conv1", "data"])
    'net_'
    """
    prefixed = [name for name in names if "_" in name]
    if len(prefixed) < 2:
        return ""
    common = commonprefix(prefixed)
    return common[: common.rfind("_") + 1]


def backward_half(graph: Graph) -> set[Node]:
    """The nodes that compute gradients, and the variables that only they read."""
    found: set[Node] = set()
    readers: dict[Node, list[Node]] = {}
    for node in graph:
        if node.forward or any(entry.node in found for entry in node.inputs):
            found.add(node)
        for entry in node.inputs:
            readers.setdefault(entry.node, []).append(node)
    alone = [
        node
        for node in graph.variables
        if node in readers and all(reader in found for reader in readers[node])
    ]
    return found | set(alone)


def box_of(
    node: Node, specs: Specs | None = None, *, backward: bool = False, **more: Any
) -> Box:
    """The box of a node, with what is known of its values."""
    facts = [("node", node.name)]
    if node.op is not None:
        facts.append(("operator", node.op.name))
        facts += [(name, value) for name, value in settings(node.op).items()][:6]
    if node.layer:
        facts.append(("layer", node.layer))
    if node.forward:
        facts.append(("gradient of", node.forward))
    for slot in range(node.visible):
        spec = None if specs is None else specs.get(Entry(node, slot))
        if spec is not None:
            shape = "×".join(map(str, spec.shape)) or "scalar"
            text = f"{shape} {spec.dtype.name}, {human_bytes(spec.nbytes)}"
            facts.append((f"output {slot}" if node.visible > 1 else "output", text))
    what = "input" if node.op is None else node.op.name
    if what.startswith("_backward_"):
        what = f"∇ {what.removeprefix('_backward_')}"
    return Box(
        node.name, what, family(node), backward=backward, facts=tuple(facts), **more
    )


# -- the static drawing ---------------------------------------------------------------


def draw(
    picture: GraphPicture, *, x: float, y: float, scale: float, dark: bool
) -> list[str]:
    """The picture with its upper left corner at a point, as parts of an SVG."""
    muted, alert = (palette.surface(name, dark=dark) for name in ("muted", "alert"))
    inks = {"added": palette.state("added", dark=dark), "removed": alert}
    parts = []
    for (a, b, state), bends in zip(picture.lines, picture.layout.bends, strict=True):
        stops = route(picture.layout, a, b, bends)
        points = [(x + u * scale, y + v * scale) for u, v in stops]
        dash = "4 3" if state == "removed" else ""
        ink = inks.get(state, muted)
        opacity = 0.55 if state == "kept" else 0.9
        parts.append(svg.line(points, ink, opacity=opacity, dash=dash))
    for box, (u, v) in zip(picture.boxes, picture.layout.places, strict=True):
        parts += _box(box, x + u * scale, y + v * scale, scale, dark=dark)
    return parts


def route(
    layout: Layout, a: int, b: int, bends: Sequence[tuple[float, float]]
) -> list[tuple[float, float]]:
    """The points of an edge: out of one box, through its bends, into the other."""
    (u, v), (s, t) = layout.places[a], layout.places[b]
    if v == t:  # beside each other: from side to side
        step = WIDE / 2 if s > u else -WIDE / 2
        return [(u + step, v), (s - step, t)]
    step = HIGH / 2 if t > v else -HIGH / 2
    return [(u, v + step), *bends, (s, t - step)]


def _box(box: Box, x: float, y: float, scale: float, *, dark: bool) -> list[str]:
    wide, high = WIDE * scale, HIGH * scale
    fill = palette.family(box.family, dark=dark)
    title = "\n".join(f"{label}: {text}" for label, text in box.facts)
    ghost = box.state == "removed"
    paper = palette.surface("card", dark=dark)
    left, top = x - wide / 2, y - high / 2
    parts = [svg.rect(left, top, wide, high, paper, title=title, round_=5 * scale)]
    parts.append(svg.rect(left, top, 5 * scale, high, fill, round_=2 * scale))
    edge = palette.state(box.state, dark=dark)
    corners = [
        (left, top), (left + wide, top), (left + wide, top + high),
        (left, top + high), (left, top),
    ]  # fmt: skip
    dash = "4 3" if ghost else ""
    width = 1.0 if box.state == "kept" else 2.0
    parts.append(svg.line(corners, edge, width=width, dash=dash))
    ink = palette.surface("muted" if ghost else "ink", dark=dark)
    if scale < READABLE and high >= 12:
        more: dict[str, Any] = {"size": 9, "space": wide - 9}
        parts.append(svg.text(left + 5 * scale + 3, y + 3, box.what, ink, **more))
    if scale >= READABLE:
        muted = palette.surface("muted", dark=dark)
        size, space = max(9.0, 11 * scale), wide - 16 * scale
        at, upper, lower = left + 11 * scale, y - 3 * scale, y + 10.5 * scale
        more = {"size": max(8.0, 9.5 * scale), "bold": True}
        room = svg.width_of(box.badge, **more) + 6 if box.badge else 0
        end = left + wide - 6 * scale
        parts.append(svg.text(end, upper, box.badge, muted, anchor="end", **more))
        more = {"size": size, "bold": True, "space": space - room}
        parts.append(svg.text(at, upper, box.what, ink, **more))
        more = {"size": max(8.0, 9.5 * scale), "space": space}
        parts.append(svg.text(at, lower, box.name, muted, **more))
    return parts

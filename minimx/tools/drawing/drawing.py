"""A `graphviz.Digraph` that can also draw itself.

Graphviz's program `dot` draws better than we do, and into any format; but a notebook
must show its graphs on a machine without it. `svg()` is a plain picture of the same
nodes and edges, placed by `layout`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any
from xml.sax.saxutils import escape, quoteattr

import graphviz

from minimx.tools.drawing.layout import HIGH, WIDE, Layout, lay_out

SVG = "image/svg+xml"
MARGIN = 12.0
FONT, CHARACTER = 10.0, 5.9  # pixels: of a line, and of a letter
#: Around words that lines cross.
HALO = ' stroke="#ffffff" stroke-width="3" paint-order="stroke"'
NO_DOT = (
    "Drawing into a file takes Graphviz's program `dot`, which is not on the PATH: "
    "`apt-get install graphviz`, `brew install graphviz` or https://graphviz.org. "
    "Without it a notebook still shows the drawing, `.svg()` gives that as text, and "
    "`.source` is the graph in the language DOT."
)


class Drawing(graphviz.Digraph):  # type: ignore[misc]
    """Nodes and edges, as DOT and as a picture.

    All of `graphviz.Digraph` is there. What needs the program `dot` (`render`, `view`,
    `pipe`) raises `graphviz.ExecutableNotFound` without it; showing a drawing in a
    notebook does not need it.
    """

    def __init__(self, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **settings)
        #: Label and attributes of each node, by its key.
        self._nodes: dict[str, tuple[str, dict[str, str]]] = {}
        self._edges: list[tuple[str, str, str]] = []

    def node(self, name: str, label: str | None = None, **settings: Any) -> None:
        """Add a node; see `graphviz.Digraph.node`."""
        super().node(name, label, **settings)
        self._nodes[name] = (name if label is None else label, settings)

    def edge(
        self, tail_name: str, head_name: str, label: str | None = None, **settings: Any
    ) -> None:
        """Add an edge; see `graphviz.Digraph.edge`."""
        super().edge(tail_name, head_name, label, **settings)
        for name in (tail_name, head_name):
            self._nodes.setdefault(name, (name, {}))
        self._edges.append((tail_name, head_name, label or ""))

    def copy(self) -> Drawing:
        """A drawing of its own with the same nodes and edges."""
        other: Drawing = super().copy()
        other._nodes, other._edges = dict(self._nodes), list(self._edges)
        return other

    def render(self, *args: Any, **settings: Any) -> Any:
        """Draw into a file; see `graphviz.Digraph.render`. Needs the program `dot`."""
        with _no_dot():
            return super().render(*args, **settings)

    def pipe(self, *args: Any, **settings: Any) -> Any:
        """The drawing as bytes; see `graphviz.Digraph.pipe`. Needs `dot`."""
        with _no_dot():
            return super().pipe(*args, **settings)

    def _repr_mimebundle_(
        self,
        include: Iterable[str] | None = None,
        exclude: Iterable[str] | None = None,
        **settings: Any,
    ) -> dict[str, Any]:
        """What a notebook shows: Graphviz's drawing, or without the program ours."""
        try:
            found: dict[str, Any] = super()._repr_mimebundle_(
                include, exclude, **settings
            )
        except graphviz.ExecutableNotFound:
            found = {SVG: self.svg()} if SVG not in set(exclude or ()) else {}
        return found

    def svg(self) -> str:
        """The picture that needs no program, as SVG; up and down only, not sideways."""
        keys = list(self._nodes)
        number = {key: place for place, key in enumerate(keys)}
        edges = [(number[a], number[b]) for a, b, _ in self._edges]
        layout = lay_out(len(keys), edges)
        upwards = self.graph_attr.get("rankdir") == "BT"
        place = _Place(layout, upwards)
        parts = [
            part
            for (a, b), bends, (*_, label) in zip(
                edges, layout.bends, self._edges, strict=True
            )
            for part in _edge(place.way(a, b, bends), label)
        ]
        for key, centre in zip(keys, layout.places, strict=True):
            label, looks = self._nodes[key]
            parts += _box(*place.at(*centre), label, {**self.node_attr, **looks})
        return _picture(layout, str(self.name), parts)


@contextmanager
def _no_dot() -> Iterator[None]:
    """Say in the error that `dot` is missing what can be done without it."""
    try:
        yield
    except graphviz.ExecutableNotFound as missing:
        missing.args = (NO_DOT,)
        raise


Point = tuple[float, float]


class _Place:
    """From places of the layout, which runs down, to those of the picture."""

    def __init__(self, layout: Layout, upwards: bool) -> None:
        self.layout, self.upwards = layout, upwards

    def at(self, x: float, y: float) -> Point:
        """A point of the picture."""
        down = self.layout.height - y if self.upwards else y
        return x + MARGIN, down + MARGIN

    def way(self, a: int, b: int, bends: Iterable[Point]) -> list[Point]:
        """From the rim of one box to the rim of another."""
        (u, v), (s, t) = self.layout.places[a], self.layout.places[b]
        half = HIGH / 2 if t >= v else -HIGH / 2
        return [self.at(*p) for p in ((u, v + half), *bends, (s, t - half))]


def _edge(way: list[Point], label: str) -> list[str]:
    places = " ".join(f"{x:.0f},{y:.0f}" for x, y in way)
    parts = [
        f'<polyline points="{places}" fill="none" stroke="#5c6773" '
        'marker-end="url(#arrow)"/>'
    ]
    if label:
        (x, y), (u, v) = way[-2:]
        x, y = (x + u) / 2 + 4, (y + v) / 2 + 3
        parts.append(_text(x, y, label, size=8, anchor="start", more=HALO))
    return parts


def _box(x: float, y: float, label: str, looks: dict[str, str]) -> list[str]:
    """A node: its first lines, and all of them when one points at it."""
    lines = label.replace("\\\\", "\\").split("\n")
    dashes = ' stroke-dasharray="4 3"' if "dashed" in looks.get("style", "") else ""
    line = f'stroke="{looks.get("color", "#5c6773")}"{dashes}'
    round_ = HIGH / 2 if looks.get("shape") == "ellipse" else 5.0
    width = float(looks.get("penwidth", 1))
    fill = looks.get("fillcolor", "#ffffff")
    parts = [f"<g><title>{escape(label)}</title>"]
    for inset in range(0, 3 * int(looks.get("peripheries", 1)), 3):
        parts.append(
            f'<rect x="{x - WIDE / 2 + inset:.0f}" y="{y - HIGH / 2 + inset:.0f}" '
            f'width="{WIDE - 2 * inset:.0f}" height="{HIGH - 2 * inset:.0f}" '
            f'rx="{round_:.0f}" fill="{fill}" stroke-width="{width:g}" {line}/>'
        )
    shown = lines[:2]
    for place, text in enumerate(shown):
        down = y + 3.5 + 11.5 * (place - (len(shown) - 1) / 2)
        parts.append(_text(x, down, text, size=FONT))
    return [*parts, "</g>"]


def _text(
    x: float,
    y: float,
    text: str,
    *,
    size: float,
    anchor: str = "middle",
    more: str = "",
) -> str:
    most = int((WIDE - 10) / CHARACTER)
    cut = text if len(text) <= most else text[: most - 1] + "…"
    return (
        f'<text x="{x:.0f}" y="{y:.0f}" text-anchor="{anchor}" fill="#1c2330" '
        f'font-size="{size:g}"{more}>{escape(cut)}</text>'
    )


def _picture(layout: Layout, title: str, parts: Iterable[str]) -> str:
    wide, high = layout.width + 2 * MARGIN, layout.height + 2 * MARGIN
    arrow = (
        '<defs><marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="6" '
        'markerHeight="6" orient="auto"><path d="M0,0 8,4 0,8z" fill="#5c6773"/>'
        "</marker></defs>"
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" '
        f'aria-label={quoteattr(title)} width="{wide:.0f}" height="{high:.0f}" '
        f'viewBox="0 0 {wide:.0f} {high:.0f}" '
        f'font-family="Helvetica, Arial, sans-serif">{arrow}'
        f'<rect width="100%" height="100%" fill="#ffffff"/>{"".join(parts)}</svg>'
    )

"""A graph as DOT, for Graphviz: to look at, to print, to put into a paper.

    from minimx.tools.drawing.dot import digraph
    drawing = digraph(net.graph)
    drawing.source                  # text in the language DOT
    drawing.svg()                   # a plain picture, as a notebook shows it
    drawing.render("net")           # a file, where the program `dot` is installed

The package `graphviz` writes the text; only files need the program.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

from minimx.core.errors import ArgumentError
from minimx.core.graph.passes.families import family
from minimx.core.graph.values.ir import Entry, Graph, Node
from minimx.core.graph.values.specs import Specs
from minimx.tools.graph_text import settings

if TYPE_CHECKING:
    from minimx.tools.drawing.drawing import Drawing

#: family: (filling, border). Light enough for black words, distinct in print.
COLOURS: dict[str, tuple[str, str]] = {
    "variable": ("#f1f3f6", "#8b95a1"),
    "product": ("#dbe6fa", "#3367c9"),
    "norm": ("#eadff7", "#8557c7"),
    "elementwise": ("#fbe4d3", "#e2762b"),
    "reduce": ("#d5efe5", "#2c9a72"),
    "shape": ("#d9f0f6", "#2f9fbd"),
    "random": ("#f8dbe7", "#c9477f"),
    "fused": ("#f6eccd", "#c29a14"),
    "other": ("#e8eaee", "#5c6773"),
}
# One hue for each storage id; after eight they come again.
STORAGE = (
    "#3367c9", "#e2762b", "#2c9a72", "#c9477f", "#8557c7", "#c29a14", "#2f9fbd",
    "#7a5c3e",
)  # fmt: skip


def digraph(
    graph: Graph,
    *,
    title: str = "graph",
    specs: Specs | None = None,
    storage: Mapping[Entry, int] | None = None,
    hidden: Collection[Node] = (),
    direction: str = "TB",
) -> Drawing:
    """The graph as a `graphviz.Digraph` that shows itself also without `dot`.

    specs: what is known of values; edges then tell shapes.
    storage: a storage id for entries (negative ids are not the planner's); borders then
    have its colour and nodes tell it, in place of the family's.
    hidden: nodes that are left out, such as all weights.
    direction: where the graph runs: TB, BT, LR or RL.

    Raises ArgumentError for another direction, and ImportError where the package
    graphviz is missing.
    """
    if direction not in ("TB", "BT", "LR", "RL"):
        raise ArgumentError(
            f"digraph: direction={direction!r}: choose TB (down), BT, LR (right) or RL."
        )
    drawing = _drawing_class()(
        title,
        graph_attr={"rankdir": direction, "nodesep": "0.25", "ranksep": "0.35"},
        node_attr={
            "shape": "box", "style": "filled,rounded", "fontname": "Helvetica",
            "fontsize": "10", "height": "0.3", "margin": "0.12,0.04",
        },
        edge_attr={
            "fontname": "Helvetica", "fontsize": "8", "color": "#5c6773",
            "arrowsize": "0.6",
        },
    )  # fmt: skip
    shown = [node for node in graph if node not in hidden]
    keys = {node: f"n{place}" for place, node in enumerate(shown)}
    outputs = {entry.node for entry in graph.outputs}
    states = set(graph.states)
    for node in shown:
        looks = _looks(node, storage, state=node in states, output=node in outputs)
        drawing.node(keys[node], _label(node, storage), **looks)
    for node in shown:
        for entry in node.inputs:
            if entry.node in keys:
                label = _shape(entry, specs)
                drawing.edge(keys[entry.node], keys[node], label=label)
    return drawing


def _drawing_class() -> type[Drawing]:
    try:
        from minimx.tools.drawing.drawing import Drawing
    except ImportError:
        raise ImportError(
            "drawing a graph as DOT needs the Python package graphviz: "
            "`pip install graphviz`. Without it, print(words.program(graph)) lists the "
            "graph, and minimx_widgets.GraphPassDiff draws it."
        ) from None
    return Drawing


def _label(node: Node, storage: Mapping[Entry, int] | None) -> str:
    """Name, operator and the settings that are not at their defaults."""
    if node.op is None:
        return _quiet(node.name)
    lines = [node.op.name, node.name]
    chosen = [f"{name}={value}" for name, value in settings(node.op).items()]
    lines += [_short(", ".join(chosen))] if chosen else []
    ids = [] if storage is None else _ids(node, storage)
    lines += [f"storage {', '.join(map(str, ids))}"] if ids else []
    return "\n".join(map(_quiet, lines))


def _looks(
    node: Node, storage: Mapping[Entry, int] | None, *, state: bool, output: bool
) -> dict[str, str]:
    fill, border = COLOURS[family(node)]
    ids = [] if storage is None else _ids(node, storage)
    if ids:
        border = STORAGE[ids[0] % len(STORAGE)]
    looks = {"fillcolor": fill, "color": border}
    if ids:
        looks["penwidth"] = "2.5"
    if state:
        looks["style"] = "filled,rounded,dashed"
    if output:
        looks["peripheries"] = "2"
    if node.op is None:
        looks["shape"] = "ellipse"
        looks["style"] = looks.get("style", "filled").replace(",rounded", "")
    return looks


def _ids(node: Node, storage: Mapping[Entry, int]) -> list[int]:
    found = [storage.get(Entry(node, slot), -1) for slot in range(node.visible)]
    return [number for number in found if number >= 0]


def _shape(entry: Entry, specs: Specs | None) -> str:
    spec = None if specs is None else specs.get(entry)
    return "" if spec is None else "×".join(map(str, spec.shape)) or "scalar"


def _short(text: str, most: int = 44) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"


def _quiet(text: str) -> str:
    """Words as Graphviz must not read them: a backslash would begin an escape."""
    return text.replace("\\", "\\\\")

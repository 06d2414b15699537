"""`mx.viz`: a network as a table, and as a drawing.

    mx.viz.print_summary(net, shape={"data": (1, 3, 224, 224)})
    mx.viz.plot_network(net, shape={"data": (1, 3, 224, 224)}).render("net")

The drawing is text in the language DOT, from the package graphviz. A notebook shows it
on any machine; only `render` needs the program `dot`.
"""

from __future__ import annotations

import math
import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from minimx.core.dtypes import resolve
from minimx.core.errors import ArgumentError, MissingArgument
from minimx.core.graph.values.ir import Entry, Graph, Node
from minimx.core.ops.spec import Spec
from minimx.core.shapes import Shape
from minimx.symbol import Symbol
from minimx.tools.drawing.dot import digraph

if TYPE_CHECKING:
    from minimx.tools.drawing.drawing import Drawing

__all__ = ["plot_network", "print_summary"]

#: How the names of variables end that belong to a layer.
OF_LAYERS = (
    *("_weight", "_bias", "_gamma", "_beta"),
    *("_moving_mean", "_moving_var", "_running_mean", "_running_var"),
)


def _shapes(symbol: Symbol, known: Mapping[str, Shape] | None) -> dict[Entry, Shape]:
    """The shapes of all entries that follow from the known ones."""
    if not isinstance(symbol, Symbol):
        raise MissingArgument(
            f"a network is drawn from its symbol, not from a {type(symbol).__name__}; "
            "net(mx.sym.var('data')) gives that of a HybridBlock."
        )
    if known is None:
        return {}
    inner = symbol.get_internals()
    _, found, _ = inner.infer_shape(**known)
    if found is None:
        raise ArgumentError(
            f"the shapes {dict(known)} do not tell all others; give those of every "
            f"input among {symbol.list_inputs()}."
        )
    return dict(zip(inner.graph.outputs, found, strict=True))


def print_summary(
    symbol: Symbol,
    shape: Mapping[str, Shape] | None = None,
    line_length: int = 120,
    positions: Sequence[float] = (0.44, 0.64, 0.74, 1.0),
) -> None:
    """Print a line for each layer: what comes out, its parameters, what is before it.

    shape: of the inputs, by name; without it neither shapes nor sizes are known.
    line_length: of a line, in characters. positions: where the columns end, as shares
    of the line. States, such as moving means, are no parameters.
    """
    shapes = _shapes(symbol, shape)
    ends = [int(line_length * end) if end <= 1 else int(end) for end in positions]
    layers = _layers(symbol.graph, set(shape or ()))
    counts = _sizes(symbol.graph, layers, shapes)
    rows = [_row(node, layers, shapes, counts[node]) for node in layers]
    line = "_" * line_length
    print(line)
    titles = "Layer (type)", "Output Shape", "Param #", "Previous Layer"
    _print_row(titles, ends)
    print("=" * line_length)
    for number, (first, *more) in enumerate(rows, 1):
        _print_row(first, ends)
        for other in more:
            _print_row(other, ends)
        print("=" * line_length if number == len(rows) else line)
    print(f"Total params: {sum(counts.values())}")
    print(line)


def _layers(graph: Graph, inputs: set[str]) -> list[Node]:
    """Operators, and what they compute from."""
    return [
        node
        for place, node in enumerate(graph)
        if node.op is not None or place == 0 or node.name in inputs
    ]


def _sizes(
    graph: Graph, layers: list[Node], shapes: dict[Entry, Shape]
) -> dict[Node, int]:
    """How many numbers each layer learns; what two share counts for the first."""
    seen = {*layers, *graph.states}
    found = {}
    for node in layers:
        own = [e for e in node.inputs if e.node not in seen and _of_layer(e.node)]
        found[node] = sum(math.prod(shapes.get(entry, (0,))) for entry in own)
        seen.update(entry.node for entry in own)
    return found


def _of_layer(node: Node) -> bool:
    return node.op is None and not node.name.endswith("label")


def _row(
    node: Node, layers: list[Node], shapes: dict[Entry, Shape], count: int
) -> list[tuple[str, str, str, str]]:
    """The lines of a layer: one for each layer before it."""
    kind = "null" if node.op is None else node.op.name
    before = [entry.node.name for entry in node.inputs if entry.node in layers] or [""]
    size = "x".join(map(str, shapes.get(Entry(node), ())[1:]))
    first = (f"{node.name}({kind})", size, str(count), before[0])
    return [first, *(("", "", "", name) for name in before[1:])]


def _print_row(fields: Sequence[str], ends: Sequence[int]) -> None:
    line = ""
    for field, end in zip(fields, ends, strict=True):
        line = (line + field)[:end].ljust(end)
    print(line)


def plot_network(
    symbol: Symbol,
    title: str = "plot",
    save_format: str = "pdf",
    shape: Mapping[str, Shape] | None = None,
    dtype: Any = None,
    node_attrs: Mapping[str, str] | None = None,
    hide_weights: bool = True,
) -> Drawing:
    """The network as a `graphviz.Digraph`, with the data at the bottom.

    shape: of the inputs, by name; edges then tell shapes. dtype: of the values, which
    are not drawn. node_attrs: attributes of Graphviz for all nodes. hide_weights: leave
    out what belongs to one layer. save_format: of the file that `render` writes.
    Raises ImportError where the package graphviz is missing.
    """
    shapes = _shapes(symbol, shape)
    names = Counter(node.name for node in symbol.graph)
    twice = sorted(name for name, count in names.items() if count > 1)
    if twice:
        warnings.warn(
            "There are multiple variables with the same name in your graph: "
            f"{', '.join(twice)}. The drawing shows each of them.",
            stacklevel=2,
        )
    floats = resolve(np.float32)
    specs = {entry: Spec(found, floats) for entry, found in shapes.items()}
    weights = [
        node
        for node in symbol.graph
        if node.op is None and node.name.endswith(OF_LAYERS)
    ]
    drawing = digraph(
        symbol.graph,
        title=title,
        specs=specs,
        hidden=weights if hide_weights else (),
        direction="BT",
    )
    drawing.format = save_format
    drawing.node_attr.update(node_attrs or {})
    return drawing

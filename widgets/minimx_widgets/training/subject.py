"""What a view of graphs looks at: a symbol or a block, and the shapes that go in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from minimx import nd, np
from minimx.core.dtypes import FLOAT32, resolve
from minimx.core.errors import ArgumentError, ShapeError, did_you_mean
from minimx.core.graph.values.infer import infer
from minimx.core.graph.values.ir import Entry, Graph, Node
from minimx.core.np_semantics import is_np_array
from minimx.core.ops.spec import Spec
from minimx.gluon import HybridBlock
from minimx.gluon.tracing import trace as tracing
from minimx.symbol import Symbol


@dataclass(frozen=True)
class Subject:
    """A graph whose variables have shapes.

    given: the names of the variables whose shapes were given: the data. All other
    arguments are parameters, whose gradients training computes.
    """

    name: str
    graph: Graph
    variables: Mapping[Node, Spec]
    given: tuple[str, ...]

    @property
    def wanted(self) -> tuple[Node, ...]:
        """The arguments that training needs the gradients of."""
        return tuple(n for n in self.graph.arguments if n.name not in self.given)

    @classmethod
    def of(cls, net: Any, shapes: Mapping[str, Any], view: str) -> Subject:
        """The graph of a Symbol, a HybridBlock or a Graph.

        shapes: by the names of the inputs, a shape, or an array for its shape and type.
        Raises ArgumentError for a name that the graph does not have or another kind of
        net, and ShapeError where the shapes do not settle everything.
        """
        known = {name: _spec(value) for name, value in shapes.items()}
        if isinstance(net, HybridBlock):
            graph, known = _written(net, known, view)
        else:
            graph = _graph_of(net, view)
        names = [node.name for node in graph.variables]
        for name in known:
            if name not in names:
                near = did_you_mean(name, names)
                raise ArgumentError(f"{view}: the graph has no input {name!r}.{near}")
        found = infer(
            graph,
            {name: spec.shape for name, spec in known.items()},
            {name: spec.dtype for name, spec in known.items()},
        )
        variables, open_ones = {}, []
        for node in graph.variables:
            spec = found.spec(Entry(node))
            if spec is None:
                open_ones.append(node.name)
            else:
                variables[node] = spec
        if open_ones:
            raise ShapeError(
                f"{view}: the shapes of {', '.join(open_ones[:5])} are not known. Give "
                f"them by name, such as {view}(net, {open_ones[0]}=(1, 28, 28))."
            )
        return cls(
            getattr(net, "name", None) or "graph", graph, variables, tuple(known)
        )


def _graph_of(net: Any, view: str) -> Graph:
    if isinstance(net, Graph):
        return net
    if isinstance(net, Symbol):
        return net.graph
    raise ArgumentError(
        f"{view}: {type(net).__name__} has no graph. Give a Symbol or a HybridBlock."
    )


def _written(
    net: HybridBlock, known: Mapping[str, Spec], view: str
) -> tuple[Graph, dict[str, Spec]]:
    """A block as `hybridize` writes it down, and the specs by the graph's own names.

    Inputs count by their order: what a block calls its arguments is its own affair.
    """
    if not known:
        raise ArgumentError(
            f"{view}: a block has no graph before it gets an input. Give the shape of "
            f"each, in order, such as {view}(net, data=(1, 1, 28, 28))."
        )
    make = np.zeros if is_np_array() else nd.zeros
    arrays = [make(spec.shape, dtype=spec.dtype.name) for spec in known.values()]
    made = tracing.write(net, tuple(arrays), arrays)
    specs = zip(made.inputs, known.values(), strict=True)
    return made.graph, {node.name: spec for node, spec in specs}


def _spec(value: Any) -> Spec:
    """The spec of a shape, or of an array."""
    if hasattr(value, "shape") and hasattr(value, "dtype"):
        return Spec.of(tuple(value.shape), resolve(value.dtype))
    return Spec.of(tuple(int(length) for length in value), FLOAT32)

"""Questions to a symbol: shapes and element types of arguments, outputs and states."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from minimx.core import np_semantics
from minimx.core.dtypes import FLOAT32, DType, resolve, scalar_type
from minimx.core.errors import ArgumentError, did_you_mean
from minimx.core.graph.values.infer import Inference, infer, opened
from minimx.core.graph.values.ir import Entry, Graph, Node
from minimx.core.shapes import Open, is_whole

Answer = tuple[list[Any] | None, list[Any] | None, list[Any] | None]
_NOTHING: Answer = (None, None, None)


class InferenceMethods:
    """The inference methods of a symbol."""

    __slots__ = ()

    graph: Graph

    def infer_shape(self, *args: Any, **kwargs: Any) -> Answer:
        """The shapes of arguments, outputs and states, from those of some variables.

        Shapes are given by name, or by place for the arguments. Three Nones if they do
        not determine everything; ShapeError if they contradict each other.
        """
        found = infer(self.graph, _shapes(self.graph, args, kwargs), {})
        answer = self._sorted(found.shapes)
        if not all(is_whole(shape) for part in answer for shape in part):
            return _NOTHING
        return answer

    def infer_shape_partial(self, *args: Any, **kwargs: Any) -> Answer:
        """The same, as far as it is known.

        What is not known is 0, or () for a whole shape; where NumPy's rules hold
        (`mx.np_shape`) it is -1, or None.
        """
        found = infer(self.graph, _shapes(self.graph, args, kwargs), {})
        arguments, outputs, states = self._sorted(found.shapes)
        return _shown(arguments), _shown(outputs), _shown(states)

    def infer_type(self, *args: Any, **kwargs: Any) -> Answer:
        """The element types of arguments, outputs and states, from those of some."""
        found = infer(self.graph, {}, _dtypes(self.graph, args, kwargs))
        answer = self._sorted(found.dtypes)
        if any(dtype is None for part in answer for dtype in part):
            return _NOTHING
        arguments, outputs, states = answer
        return _types(arguments), _types(outputs), _types(states)

    def infer_type_partial(self, *args: Any, **kwargs: Any) -> Answer:
        """The same, as far as it is known; None for what is not known."""
        found = infer(self.graph, {}, _dtypes(self.graph, args, kwargs), None)
        arguments, outputs, states = self._sorted(found.dtypes)
        return _types(arguments), _types(outputs), _types(states)

    def _sorted(
        self, known: Mapping[Entry, Any]
    ) -> tuple[list[Any], list[Any], list[Any]]:
        def of(nodes: Iterable[Node]) -> list[Any]:
            return [known.get(Entry(node)) for node in nodes]

        outputs = [known.get(entry) for entry in self.graph.outputs]
        return of(self.graph.arguments), outputs, of(self.graph.states)

    def _infer(self, shapes: Mapping[str, Any], dtypes: Mapping[str, Any]) -> Inference:
        """Shapes and types together; names that the graph has not are passed over.

        So callers may give the shapes of all their data, used or not, as in MXNet.
        """
        known = {node.name for node in self.graph.variables}
        shapes = {name: s for name, s in shapes.items() if name in known}
        dtypes = {name: t for name, t in dtypes.items() if name in known}
        return infer(
            self.graph,
            _shapes(self.graph, (), shapes),
            _dtypes(self.graph, (), dtypes),
            FLOAT32,
        )


def _shapes(graph: Graph, args: Any, kwargs: dict[str, Any]) -> dict[str, Open]:
    np_shape = np_semantics.is_np_shape()

    def read(name: str, value: Any) -> Open:
        if not isinstance(value, (tuple, list)):
            raise TypeError(f"infer_shape: the shape of {name} must be a tuple")
        return opened(tuple(int(n) for n in value), np_shape)

    return _given(graph, args, kwargs, read)


def _dtypes(graph: Graph, args: Any, kwargs: dict[str, Any]) -> dict[str, DType]:
    return _given(graph, args, kwargs, lambda name, value: resolve(value))


def _given(
    graph: Graph, args: Any, kwargs: dict[str, Any], read: Callable[[str, Any], Any]
) -> dict[str, Any]:
    """What is given by place (for arguments) or by name, without what is None."""
    if args and kwargs:
        raise ArgumentError("infer: give all by place or all by name.")
    names = [node.name for node in graph.arguments]
    if len(args) > len(names):
        raise ArgumentError(f"infer: {len(args)} given, there are {len(names)}.")
    named = dict(zip(names, args, strict=False)) or kwargs
    known = {node.name for node in graph.variables}
    for name in named:
        if name not in known:
            hint = did_you_mean(name, known)
            raise ArgumentError(f"infer: there is no variable {name!r}.{hint}")
    return {name: read(name, v) for name, v in named.items() if v is not None}


def _shown(shapes: list[Open]) -> list[Any]:
    if np_semantics.is_np_shape():
        unknown: Any = None
        axis = -1
    else:
        unknown, axis = (), 0
    return [
        unknown if shape is None else tuple(axis if n is None else n for n in shape)
        for shape in shapes
    ]


def _types(dtypes: list[DType | None]) -> list[Any]:
    return [None if dtype is None else scalar_type(dtype) for dtype in dtypes]

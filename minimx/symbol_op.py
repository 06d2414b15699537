"""`mx.nd.CachedOp`: a symbol that is called like an operator.

    op = mx.nd.CachedOp(mx.sym.var("a") * mx.sym.var("b"))
    op(mx.nd.ones(2), mx.nd.ones(2))

It is what programs use that make graphs without Gluon; `cached_op.py` runs them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from minimx.core.arrays.array import NDArray
from minimx.core.cached_op import CachedOp, Flags
from minimx.core.errors import ArgumentError
from minimx.core.graph.values.ir import Graph
from minimx.symbol import Symbol

__all__ = ["SymbolOp"]


class SymbolOp:
    """A symbol, to be called with an array for each of `sym.list_inputs()`.

    flags: pairs of a setting of `hybridize` and its value, or a dictionary of them.
    """

    def __init__(
        self, sym: Symbol, flags: Mapping[str, Any] | Iterable[tuple[str, Any]] = ()
    ) -> None:
        known = {
            k: v for k, v in dict(flags).items() if k in Flags.__dataclass_fields__
        }
        graph = Graph(sym.outputs)
        self._op = CachedOp(graph, Flags(**known))
        places = {node: k for k, node in enumerate(graph.variables)}
        self._order = [places[node] for node in self._op.variables]

    def __call__(self, *args: NDArray, out: Any = None, **kwargs: Any) -> Any:
        """The output, or a list of them.

        out: arrays to write them to. Raises ArgumentError for another number of arrays.
        """
        default_ctx = kwargs.pop("default_ctx", None)
        if kwargs:
            raise ArgumentError(f"CachedOp has no argument {min(kwargs)!r}.")
        if len(args) != len(self._order):
            raise ArgumentError(
                f"CachedOp: a symbol of {len(self._order)} variables was called with "
                f"{len(args)} arrays. Give one for each of list_inputs()."
            )
        found = self._op([args[place] for place in self._order], default_ctx)
        if out is None:
            return found[0] if len(found) == 1 else found
        targets = out if isinstance(out, (list, tuple)) else [out]
        for target, value in zip(targets, found, strict=True):
            target[:] = value
        return out

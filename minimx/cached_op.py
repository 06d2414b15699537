"""CachedOp: a graph that is called like an operator, prepared once for many calls.

    op = CachedOp(graph, Flags(static_alloc=True))
    outputs = op(arrays)                # for graph.arguments, then graph.states

It is what `hybridize` puts in the place of a block's Python code.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from minimx.device import Device, current_context
from minimx.errors import ArgumentError
from minimx.graph.infer import settled
from minimx.graph.ir import Graph, Node
from minimx.graph.run import evaluate
from minimx.nd.array import NDArray

__all__ = ["CachedOp", "Flags"]


@dataclass(frozen=True)
class Flags:
    """How a graph is to be run; the settings of `hybridize`.

    static_alloc: keep the memory from call to call. static_shape: also bind every
    operator to it once; needs static_alloc. inline_limit: a graph of at most so many
    operators is recorded operator by operator. forward_bulk_size, backward_bulk_size:
    how many operators are joined; the knobs say so where it is None.
    """

    static_alloc: bool = False
    static_shape: bool = False
    inline_limit: int = 2
    forward_bulk_size: int | None = None
    backward_bulk_size: int | None = None

    def __post_init__(self) -> None:
        if self.static_shape and not self.static_alloc:
            raise ArgumentError(
                "static_shape=True binds operators to memory that stays, so it needs "
                "static_alloc=True."
            )


class CachedOp:
    """A graph to be called with an array for each of its variables."""

    def __init__(self, graph: Graph, flags: Flags | None = None) -> None:
        self.graph = graph
        self.flags = flags or Flags()
        self.variables: tuple[Node, ...] = (*graph.arguments, *graph.states)

    def __call__(
        self, inputs: Sequence[NDArray], ctx: Device | None = None
    ) -> list[NDArray]:
        """The outputs, recorded if `autograd` records.

        inputs: an array for each of `graph.arguments`, then of `graph.states`.
        ctx: where a graph without inputs computes.
        """
        if len(inputs) != len(self.variables):
            raise ArgumentError(
                f"a graph of {len(self.variables)} variables "
                f"({', '.join(node.name for node in self.variables[:8])}) was called "
                f"with {len(inputs)} arrays. Give one for each."
            )
        if ctx is None:
            ctx = inputs[0].context if inputs else current_context()
        return self._one_by_one(inputs, ctx)

    def _one_by_one(self, inputs: Sequence[NDArray], ctx: Device) -> list[NDArray]:
        """Call the operators in order, as if they were called by hand."""
        pairs = list(zip(self.variables, inputs, strict=True))
        runs = settled(self.graph, {node.name: array.spec for node, array in pairs})
        return evaluate(runs, dict(pairs), ctx)

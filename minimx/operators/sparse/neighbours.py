"""Operators that draw a part of a graph: vertices, and some of their neighbours.

The Deep Graph Library (DGL) trains on such parts, where a graph is too large.

MXNet 1.9.1: src/operator/contrib/dgl_graph.cc. The vertices that are drawn are others
than MXNet's for the same seed.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from minimx.core.dtypes import FLOAT32, INT64
from minimx.core.errors import OperatorError, ShapeError
from minimx.core.ops import register
from minimx.core.ops.registry import Types, with_settings
from minimx.core.ops.spec import Spec
from minimx.core.ops.stypes import CSR, Entries, spec_of
from minimx.operators.sparse import Answer, rule
from minimx.operators.sparse.graphs import OnGraphs, check_vertices, store


@with_settings
class Sampling(OnGraphs):
    """What both ways to draw neighbours share."""

    num_hops: int = 1
    num_neighbor: int = 2
    max_num_vertices: int = 100
    num_args: int = 2

    variadic = True
    needs_rng = True
    deterministic = False
    #: How many inputs come before the vertices to begin with.
    leading: ClassVar[int] = 1

    @property
    def visible(self) -> int:  # type: ignore[override]
        """Vertices, graphs, perhaps probabilities, and hops, for each list."""
        return (2 + self.leading) * (self.num_args - self.leading)

    def infer(self, *specs: Spec) -> tuple[Spec, ...]:
        """Room for max_num_vertices."""
        self.expect_axes(specs)
        seeds, most = specs[self.leading :], self.max_num_vertices
        self.expect_numbers(*seeds)
        graph = specs[0].shape
        if graph[0] != graph[1] or not seeds:
            raise ShapeError(
                f"{self.name}: the graph {graph} must be square, a row and a column "
                "for each vertex, and lists of vertices must follow."
            )
        if min(self.num_hops, self.num_neighbor) < 0 or any(
            spec.size > most for spec in seeds
        ):
            raise OperatorError(
                f"{self.name}: num_hops={self.num_hops} and num_neighbor="
                f"{self.num_neighbor} must not be negative, and max_num_vertices="
                f"{most} has to hold the {max(spec.size for spec in seeds)} vertices "
                "given."
            )
        kinds = [Spec.of((most + 1,), INT64), spec_of((most, graph[1]), INT64, CSR)]
        kinds += [spec.with_shape((most,)) for spec in specs[1 : self.leading]]
        kinds.append(Spec.of((most,), INT64))
        return tuple(kind for kind in kinds for _ in seeds)


@register("_contrib_dgl_csr_neighbor_uniform_sample")
class UniformSample(Sampling):
    """Walk through a graph from some vertices, along edges that are drawn evenly.

    data: a graph (n, n), csr, int64, and then s lists of vertices to begin with, int64;
    outs, each s times, one for each list, with m = max_num_vertices:
    - vertices (m + 1,), int64: those reached, rising, then -1; the last element counts
      them
    - graphs (m, n), csr, int64: row i has the edges drawn from the i-th vertex reached,
      with their numbers
    - hops (m,), int64: how many edges lie between a vertex and the beginning, then -1

    Of every vertex less than num_hops edges away, num_neighbor edges are drawn without
    repetition; all, where there are no more. The walk ends when m vertices are reached:
    the edges drawn last may then end at others.

    Raises ShapeError, DTypeError or OperatorError for other inputs, and OperatorError,
    where the numbers are waited for, for vertices that do not exist.
    """


@register("_contrib_dgl_csr_neighbor_non_uniform_sample")
class NonUniformSample(Sampling):
    """Walk through a graph from some vertices, along edges with given probabilities.

    data: a graph (n, n), csr, int64, probabilities (n,), and then s lists of vertices;
    outs: as of `dgl_csr_neighbor_uniform_sample`, and before the hops, for each list,
    (m,) in the type of the probabilities: those of the vertices reached, then 0

    Edges are drawn one after the other, each in proportion to the probability of the
    vertex where it ends; one that ends where it is 0 is drawn only where all are taken.
    Raises what that operator raises, and ShapeError if there are not n probabilities.
    """

    leading = 2

    def deduce_types(self, ins: Types, outs: Types) -> tuple[Types, Types]:
        """Of probabilities, those given; they are the third kind of four."""
        ins = [*ins[:1], *[dtype or FLOAT32 for dtype in ins[1:2]], *ins[2:]]
        count = len(outs) // 4
        ins, outs = super().deduce_types(ins, outs)
        return ins, [*outs[: -2 * count], *ins[1:2] * count, *outs[-count:]]

    def infer(self, *specs: Spec) -> tuple[Spec, ...]:
        """And a probability for each vertex."""
        found = super().infer(*specs)
        if specs[1].shape != specs[0].shape[:1]:
            raise ShapeError(
                f"{self.name}: the graph {specs[0].shape} asks for as many "
                f"probabilities as vertices; there are {specs[1].shape}."
            )
        return found


@rule("_contrib_dgl_csr_neighbor_uniform_sample", "any")
@rule("_contrib_dgl_csr_neighbor_non_uniform_sample", "any")
def sample(op: Sampling, *specs: Spec) -> Answer | None:
    """List by list, in the order of the program."""
    first, last = op.leading, len(specs)

    def run(*arrays: Any) -> None:
        parts, *chances = arrays[:first]
        generator = arrays[-1]
        weights = chances[0].astype(np.float64) if chances else None
        if weights is not None and not (weights >= 0).all():
            raise OperatorError(f"{op.name}: probabilities must not be negative.")
        outs = arrays[last:-1]
        for k, seeds in enumerate(arrays[first:last]):
            check_vertices(op, seeds, specs[0].shape[0])
            hops, drawn = _walk(op, parts, seeds, weights, generator)
            vertices, graph, *odds, away = outs[k :: last - first]
            vertices.fill(-1)
            vertices[: len(hops)] = reached = np.sort(np.array(list(hops), np.int64))
            vertices[-1] = len(hops)
            away.fill(-1)
            away[: len(hops)] = [hops[vertex] for vertex in reached.tolist()]
            for out in odds:
                out.fill(0)
                out[: len(hops)] = chances[0][reached]
            rows = [drawn.get(vertex, _NONE) for vertex in reached.tolist()]
            places = np.concatenate([_NONE, *rows])
            lengths = [len(row) for row in rows]
            lengths += [0] * (op.max_num_vertices - len(rows))
            indptr = np.append(0, np.cumsum(lengths, dtype=np.int64))
            store(graph, parts.data[places], parts.indices[places], indptr)

    return op.answer(specs, run)


_NONE: Any = np.empty(0, np.int64)


def _walk(
    op: Sampling, parts: Entries, seeds: Any, weights: Any, generator: Any
) -> tuple[dict[int, int], dict[int, Any]]:
    """The vertices reached with their hops, and the places of the edges of each."""
    hops = dict.fromkeys(seeds.tolist(), 0)
    queue, drawn = list(hops), {}
    for vertex in queue:  # which grows meanwhile
        if hops[vertex] >= op.num_hops or len(hops) >= op.max_num_vertices:
            break
        edges = np.arange(parts.indptr[vertex], parts.indptr[vertex + 1])
        if len(edges) > op.num_neighbor:
            chances = None if weights is None else weights[parts.indices[edges]]
            edges = edges[_draw(len(edges), op.num_neighbor, chances, generator)]
        drawn[vertex] = edges
        for end in parts.indices[edges].tolist():
            if end not in hops and len(hops) < op.max_num_vertices:
                hops[end] = hops[vertex] + 1
                queue.append(end)
    return hops, drawn


def _draw(length: int, count: int, chances: Any, generator: Any) -> Any:
    """`count` of the first `length` numbers, each at most once, rising."""
    if chances is None:
        return np.sort(generator.choice(length, count, replace=False))
    # Of exponential waiting times the shortest ends at i with probability i's rate by
    # the sum of all, and so on among the others.
    possible = np.flatnonzero(chances)
    waits = generator.exponential(size=len(possible)) / chances[possible]
    return np.sort(possible[np.argsort(waits)[:count]])

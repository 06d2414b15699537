"""Operators on graphs: the edge from vertex u to v is the element (u, v) of a matrix.

The matrix is csr; what it stores are the numbers of the edges. An edge is there if its
element is stored, so one may well have the number 0. The Deep Graph Library (DGL) asks
for these operators; none has a gradient, and all compute on the host.

MXNet 1.9.1: src/operator/contrib/dgl_graph.cc. `neighbours.py` draws from graphs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from minimx.core.dtypes import FLOAT32, INT64
from minimx.core.errors import DTypeError, OperatorError, ShapeError
from minimx.core.kernels import find
from minimx.core.ops import Op, register
from minimx.core.ops.casting import WIDEST
from minimx.core.ops.registry import Types
from minimx.core.ops.spec import Spec
from minimx.core.ops.stypes import CSR, DEFAULT, Entries, spec_of, stypes_of
from minimx.core.shapes import Shape
from minimx.operators.sparse import Answer, Target, rule
from minimx.operators.sparse.pointwise import same_places


class OnGraphs(Op):
    """What these operators share."""

    casting = WIDEST
    differentiable = False
    #: How many of the inputs, the first ones, are graphs.
    graphs: ClassVar[Any] = 1

    @staticmethod
    def eager(op: Op, inputs: Sequence[Any], out: Any) -> Any:
        """Refuse arrays of other storage types: those that fit have a rule.

        Raises OperatorError.
        """
        found = ", ".join([x.stype for x in inputs])
        raise OperatorError(
            f"{op.name}: the storage types are {found}. A graph is a csr matrix, which "
            "comes first, and the other arrays are dense. Make it one with "
            "mx.nd.sparse.csr_matrix(...) or tostype('csr')."
        )

    def answer(self, specs: Sequence[Spec], kernel: Any) -> Answer | None:
        """How the operator computes; None where storage types do not fit."""
        stypes, count = stypes_of(specs), self.graphs
        wanted = (CSR,) * count + (DEFAULT,) * (len(specs) - count)
        return Answer(self.infer(*specs), kernel) if stypes == wanted else None

    def deduce_types(self, ins: Types, outs: Types) -> tuple[Types, Types]:
        """Numbers of edges and of vertices, unless known otherwise."""
        return [dtype or INT64 for dtype in ins], [INT64] * len(outs)

    def expect_axes(self, specs: Sequence[Spec], *, numbered: bool = True) -> None:
        """Refuse graphs that are no matrices, and other inputs that are no lists.

        numbered: graphs hold numbers of edges, and so are int64.
        """
        for k, spec in enumerate(specs):
            graph = k < self.graphs
            if spec.ndim != 1 + graph:
                what = "graph, a matrix" if graph else "list with one axis"
                raise ShapeError(
                    f"{self.name}: input {k} {spec.shape} must be a {what}."
                )
            if numbered and graph and spec.dtype != INT64:
                raise DTypeError(
                    f"{self.name}: the graph is {spec.dtype.name}, and numbers of "
                    "edges are int64. Convert it with .astype('int64')."
                )

    def expect_numbers(self, *specs: Spec) -> None:
        """Refuse lists of vertices that are not int64."""
        for spec in specs:
            if spec.dtype != INT64:
                raise DTypeError(
                    f"{self.name}: vertices are {spec.dtype.name}, and must be int64. "
                    "Make them with mx.nd.array(..., dtype='int64')."
                )


def check_vertices(op: Op, vertices: Any, count: int) -> None:
    """Refuse vertices that a graph of `count` vertices does not have."""
    wrong = vertices[(vertices < 0) | (vertices >= count)]
    if wrong.size:
        raise OperatorError(
            f"{op.name}: there is no vertex {wrong[0]} in a graph of {count} vertices, "
            f"which are numbered 0 to {count - 1}."
        )


# -- edges -----------------------------------------------------------------------------


@register("_contrib_edge_id")
class EdgeId(OnGraphs):
    """The number of the edge between two vertices, or -1.

    data (n, m): a graph, csr, of any type; u, v (k,): vertices, of any type; out (k,),
    of data's type: what data stores at (u[i], v[i]), or -1 if it stores nothing there

    Raises ShapeError if u and v are not lists of one length, OperatorError if data is
    not csr, and, where the numbers are waited for, if a row u[i] does not exist.
    """

    inputs = ("data", "u", "v")

    deduce_types = Op.deduce_types

    def infer(self, *specs: Spec) -> Spec:
        """A number for each pair."""
        data, u, v = specs
        self.expect_axes(specs, numbered=False)
        if u.shape != v.shape:
            raise ShapeError(
                f"edge_id: u {u.shape} and v {v.shape} must be as long as each other: "
                "an edge goes from u[i] to v[i]."
            )
        return Spec.of(u.shape, data.dtype)


@rule("_contrib_edge_id", "csr default default")
def edge_id(op: EdgeId, data: Spec, u: Spec, v: Spec) -> Answer | None:
    """By a search in each row."""

    def run(parts: Entries, begin: Any, end: Any, out: Any) -> None:
        rows, columns = begin.astype(np.int64), end.astype(np.int64)
        check_vertices(op, rows, data.shape[0])
        places = np.empty(len(rows), np.int64)
        find("sparse.places")(parts.indices, parts.indptr, rows, columns, places)
        there = places >= 0
        np.copyto(out, np.array(-1), casting="unsafe")
        out[there] = parts.data[places[there]]

    return op.answer((data, u, v), run)


@register("_contrib_dgl_adjacency")
class Adjacency(OnGraphs):
    """The same graph with 1 for every edge.

    data (n, m): a graph, csr, int64; out (n, m), csr, float32. Raises DTypeError for
    another type, OperatorError if data is not csr.
    """

    def deduce_types(self, ins: Types, outs: Types) -> tuple[Types, Types]:
        """From numbers of edges to ones."""
        return [ins[0] or INT64], [FLOAT32]

    def infer(self, *specs: Spec) -> Spec:
        """The shape of data."""
        self.expect_axes(specs)
        return spec_of(specs[0].shape, FLOAT32, CSR)


@rule("_contrib_dgl_adjacency", CSR)
def adjacency(op: Adjacency, data: Spec) -> Answer | None:
    """Ones where data stores something."""
    return op.answer((data,), lambda parts, out: same_places(parts, out).fill(1))


# -- parts of graphs -------------------------------------------------------------------


def store(out: Target, data: Any, indices: Any, indptr: Any) -> None:
    """Store a whole csr matrix."""
    made = out.entries(len(indices))
    made.data[...], made.indices[...], made.indptr[...] = data, indices, indptr


@register("_contrib_dgl_subgraph")
class Subgraph(OnGraphs):
    """Some vertices of a graph, and the edges among them.

    data: a graph (n, n), csr, int64, and then one or more lists of vertices, int64,
    rising; outs: for each list of k vertices a graph (k, k), csr, whose edges are
    numbered anew, row by row. return_mapping: as many graphs follow, which have the
    numbers from before.

    Raises ShapeError or DTypeError for other inputs, OperatorError if the graph is not
    csr, and, where the numbers are waited for, for vertices that do not exist or do not
    rise.
    """

    return_mapping: bool
    num_args: int = 2

    variadic = True

    @property
    def visible(self) -> int:  # type: ignore[override]
        """One or two graphs for each list."""
        return (self.num_args - 1) * (1 + self.return_mapping)

    def infer(self, *specs: Spec) -> tuple[Spec, ...]:
        """As many vertices as each list has."""
        self.expect_axes(specs)
        self.expect_numbers(*specs[1:])
        found = [spec_of(2 * spec.shape, INT64, CSR) for spec in specs[1:]]
        return tuple(found * (1 + self.return_mapping))


@rule("_contrib_dgl_subgraph", "any")
def subgraph(op: Subgraph, *specs: Spec) -> Answer | None:
    """List by list."""

    def run(parts: Entries, *arrays: Any) -> None:
        count = len(specs) - 1
        for k, vertices in enumerate(arrays[:count]):
            check_vertices(op, vertices, specs[0].shape[0])
            if (vertices[1:] < vertices[:-1]).any():
                raise OperatorError(
                    f"{op.name}: the vertices of list {k} must rise. Sort them."
                )
            data, indices, indptr = _among(parts, vertices, max(specs[0].shape))
            store(arrays[count + k], np.arange(len(data)), indices, indptr)
            if op.return_mapping:
                store(arrays[2 * count + k], data, indices, indptr)

    return op.answer(specs, run)


def _among(parts: Entries, vertices: Any, count: int) -> Entries:
    """The edges among some of `count` vertices, which are numbered anew."""
    new = np.full(count, -1)
    new[vertices] = np.arange(len(vertices))
    lengths = parts.indptr[vertices + 1] - parts.indptr[vertices]
    rows = np.repeat(np.arange(len(vertices)), lengths)
    within = np.arange(len(rows)) - (np.cumsum(lengths) - lengths)[rows]
    places = parts.indptr[vertices][rows] + within
    columns = new[parts.indices[places]]
    kept = columns >= 0
    ends = np.cumsum(np.bincount(rows[kept], minlength=len(vertices)))
    return Entries(parts.data[places[kept]], columns[kept], np.append(0, ends))


@register("_contrib_dgl_graph_compact")
class Compact(OnGraphs):
    """Number the vertices of sampled graphs anew, without rows and columns of others.

    data: g graphs (m, n), csr, int64, then for each the list (m + 1,), int64, of its
    vertices, whose last element is their count, both as `dgl_csr_neighbor_…_sample`
    gives them; outs: for each a graph (k, k), csr, for k of graph_sizes, whose edges
    are numbered anew. return_mapping: g graphs follow, which have the numbers from
    before.

    Raises ShapeError or DTypeError for other inputs, OperatorError if a graph is not
    csr, and, where the numbers are waited for, if a count is not the one of
    graph_sizes, or an edge ends at a vertex that was not sampled.
    """

    return_mapping: bool
    graph_sizes: Shape
    num_args: int = 2

    variadic = True

    @property
    def graphs(self) -> int:
        """Half of the inputs."""
        return self.num_args // 2

    @property
    def visible(self) -> int:  # type: ignore[override]
        """One or two for each graph."""
        return self.graphs * (1 + self.return_mapping)

    def infer(self, *specs: Spec) -> tuple[Spec, ...]:
        """As large as graph_sizes says."""
        count, sizes = self.graphs, self.graph_sizes
        if len(specs) != 2 * count or len(sizes) != count:
            raise OperatorError(
                f"{self.name}: {len(specs)} arrays and graph_sizes={sizes}: it takes "
                "graphs, as many lists of vertices, and a size for each graph."
            )
        self.expect_axes(specs)
        self.expect_numbers(*specs[count:])
        for graph, vertices, size in zip(specs, specs[count:], sizes, strict=False):
            rows = graph.shape[0]
            if not 0 <= size <= min(graph.shape) or vertices.shape != (rows + 1,):
                raise ShapeError(
                    f"{self.name}: a graph {graph.shape} with vertices "
                    f"{vertices.shape} and size {size}: there must be {rows + 1} "
                    "vertices, the last one their count, and no larger size."
                )
        found = [spec_of((size, size), INT64, CSR) for size in sizes]
        return tuple(found * (1 + self.return_mapping))


@rule("_contrib_dgl_graph_compact", "any")
def compact(op: Compact, *specs: Spec) -> Answer | None:
    """Graph by graph."""

    def run(*arrays: Any) -> None:
        count = op.graphs
        for k, size in enumerate(op.graph_sizes):
            parts, vertices = arrays[k], arrays[count + k]
            if vertices[-1] != size:
                raise OperatorError(
                    f"{op.name}: graph_sizes has {size} for graph {k}, which has "
                    f"{vertices[-1]} vertices, the last element of its list."
                )
            indptr = parts.indptr[: size + 1]
            data, ends = (x[: indptr[-1]] for x in (parts.data, parts.indices))
            new = _places_in(op, vertices[:size], ends)
            store(arrays[2 * count + k], np.arange(len(data)), new, indptr)
            if op.return_mapping:
                store(arrays[3 * count + k], data, new, indptr)

    return op.answer(specs, run)


def _places_in(op: Op, vertices: Any, wanted: Any) -> Any:
    """Where each wanted vertex stands in a list."""
    order = np.argsort(vertices, kind="stable")
    found = np.searchsorted(vertices, wanted, sorter=order)
    there = found < len(order)
    there[there] = vertices[order[found[there]]] == wanted[there]
    if not there.all():
        raise OperatorError(
            f"{op.name}: an edge ends at vertex {wanted[~there][0]}, which was not "
            "sampled. Sample with a larger max_num_vertices."
        )
    return order[found]

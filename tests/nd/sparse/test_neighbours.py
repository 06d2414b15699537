"""Graphs kept as csr matrices: edges looked up, parts taken, neighbours drawn.

What is expected comes from MXNet 1.9.1, or from a plain computation.
"""

from __future__ import annotations

from collections import Counter
from itertools import permutations
from typing import Any

import numpy as np
import pytest

import minimx as mx
from minimx import nd
from minimx.core.errors import DTypeError, OperatorError, ShapeError

contrib: Any = nd.contrib


def numbers(*values: Any, dtype: str = "int64") -> Any:
    return nd.array(list(values), dtype=dtype)


def graph(dtype: str = "int64") -> Any:
    """Five vertices, each with an edge to every other; edges are numbered from 0."""
    ends = [v for u in range(5) for v in range(5) if v != u]
    begins = np.arange(0, 21, 4)
    parts = (np.arange(20), np.array(ends), begins)
    return nd.sparse.csr_matrix(parts, shape=(5, 5), dtype=dtype)


def edges(found: Any) -> dict[tuple[int, int], int]:
    """What a csr matrix stores."""
    found.check_format()
    matrix = found.asscipy().tocoo()
    triples = zip(matrix.row, matrix.col, matrix.data, strict=True)
    return {(int(u), int(v)): int(number) for u, v, number in triples}


# -- edges -----------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["int64", "float32", "float64", "float16", "uint8"])
def test_numbers_of_edges(dtype: str) -> None:
    found = contrib.edge_id(graph(dtype), numbers(0, 0, 1, 4), numbers(1, 0, 9, 3))
    assert found.dtype == np.dtype(dtype)
    missing = np.array(-1).astype(dtype)
    assert found.asnumpy().tolist() == [0, missing, missing, 19]


def test_an_edge_is_there_though_its_row_is_in_no_order() -> None:
    parts = (np.array([7, 5]), np.array([2, 0]), np.array([0, 2, 2, 2]))
    x = nd.sparse.csr_matrix(parts, shape=(3, 3))
    pairs = numbers(0, 0, 0, dtype="float32"), numbers(0, 1, 2, dtype="float32")
    assert contrib.edge_id(x, *pairs).asnumpy().tolist() == [5, -1, 7]
    empty = nd.sparse.zeros("csr", (3, 3))
    assert contrib.edge_id(empty, *pairs).asnumpy().tolist() == [-1, -1, -1]


@pytest.mark.parametrize("vertex", [-1, 5])
def test_an_edge_from_no_vertex_is_refused(vertex: int) -> None:
    found = contrib.edge_id(graph(), numbers(0, vertex), numbers(1, 1))
    with pytest.raises(OperatorError, match=f"no vertex {vertex} in a graph of 5"):
        found.asnumpy()


def test_pairs_of_vertices_are_complete() -> None:
    with pytest.raises(ShapeError, match="as long as each other"):
        contrib.edge_id(graph(), numbers(0, 1), numbers(1))


def test_adjacency_has_ones() -> None:
    x = graph()
    found = contrib.dgl_adjacency(x)
    assert found.dtype == np.float32
    assert edges(found) == dict.fromkeys(edges(x), 1)
    with pytest.raises(DTypeError, match=r"graph is float32.*astype\('int64'\)"):
        contrib.dgl_adjacency(graph("float32"))


def test_a_graph_is_csr() -> None:
    x = graph().tostype("default")
    with pytest.raises(OperatorError, match="storage types are default, default"):
        contrib.dgl_subgraph(x, numbers(0, 1), return_mapping=True)
    with pytest.raises(OperatorError, match="storage types are default"):
        contrib.dgl_adjacency(x)
    with (
        mx.knobs(MXNET_STORAGE_FALLBACK_LOG_VERBOSE=False),
        pytest.raises(OperatorError, match="storage types are default, default"),
    ):
        contrib.dgl_csr_neighbor_uniform_sample(
            graph(), numbers(0).tostype("row_sparse")
        )


# -- parts of graphs -------------------------------------------------------------------


@pytest.mark.parametrize("density", [0.0, 0.2, 1.0])
def test_a_part_has_the_edges_among_its_vertices(density: float) -> None:
    rng = np.random.default_rng(0)
    there = rng.uniform(size=(30, 30)) < density
    full = np.where(there, np.arange(1, 901).reshape(30, 30), 0)
    x = nd.array(full, dtype="int64").tostype("csr")
    lists = [np.sort(rng.choice(30, size, replace=False)) for size in (0, 1, 12)]
    lists.append(np.arange(30))
    given = [nd.array(vertices, dtype="int64") for vertices in lists]
    found = contrib.dgl_subgraph(x, *given, return_mapping=True)
    assert len(found) == 8
    for vertices, new, old in zip(lists, found[:4], found[4:], strict=True):
        assert new.shape == old.shape == (len(vertices),) * 2
        wanted = full[np.ix_(vertices, vertices)]
        assert old.asnumpy().tolist() == wanted.tolist()
        places = zip(*np.nonzero(wanted), strict=True)
        assert edges(new) == {place: k for k, place in enumerate(places)}


def test_a_part_without_the_numbers_from_before() -> None:
    found = contrib.dgl_subgraph(graph(), numbers(0, 2, 3), return_mapping=False)
    assert edges(found) == dict(zip(permutations(range(3), 2), range(6), strict=True))


@pytest.mark.parametrize(
    ("vertices", "what"), [((3, 2), "must rise"), ((3, 7), "no vertex 7")]
)
def test_vertices_of_a_part_exist_and_rise(vertices: Any, what: str) -> None:
    found = contrib.dgl_subgraph(graph(), numbers(*vertices), return_mapping=False)
    with pytest.raises(OperatorError, match=what):
        found.asnumpy()


def test_vertices_are_whole_numbers() -> None:
    with pytest.raises(DTypeError, match="vertices are float32, and must be int64"):
        contrib.dgl_subgraph(graph(), nd.array([0, 1]), return_mapping=False)
    with pytest.raises(ShapeError, match="list with one axis"):
        contrib.dgl_subgraph(graph(), numbers([0, 1]), return_mapping=False)
    with pytest.raises(OperatorError, match="needs return_mapping"):
        contrib.dgl_subgraph(graph(), numbers(0, 1))


# -- samples ---------------------------------------------------------------------------


def sampled(*seeds: Any, chances: Any = None, **settings: Any) -> Any:
    if chances is None:
        return contrib.dgl_csr_neighbor_uniform_sample(graph(), *seeds, **settings)
    return contrib.dgl_csr_neighbor_non_uniform_sample(
        graph(), nd.array(chances), *seeds, **settings
    )


def test_all_neighbours_are_taken_where_there_are_no_more() -> None:
    vertices, found, hops = sampled(numbers(2), num_neighbor=4, max_num_vertices=7)
    assert vertices.asnumpy().tolist() == [0, 1, 2, 3, 4, -1, -1, 5]
    assert hops.asnumpy().tolist() == [1, 1, 0, 1, 1, -1, -1]
    assert found.shape == (7, 5)
    assert edges(found) == {(2, 0): 8, (2, 1): 9, (2, 3): 10, (2, 4): 11}


@pytest.mark.parametrize("chances", [None, [0.9, 0.8, 0.2, 0.4, 0.1]])
def test_a_walk_keeps_its_promises(chances: Any) -> None:
    mx.random.seed(1)
    whole = edges(graph())
    for _ in range(20):
        outs = sampled(
            numbers(0), numbers(1, 1), chances=chances,
            num_hops=2, num_neighbor=1, max_num_vertices=4,
        )  # fmt: skip
        assert len(outs) == (6 if chances is None else 8)
        for k, begin in enumerate((0, 1)):
            vertices, found, *odds, hops = (x for x in outs[k::2])
            count = int(vertices[-1].asscalar())
            reached = vertices.asnumpy()[:count].tolist()
            away = dict(zip(reached, hops.asnumpy().tolist(), strict=False))
            assert sorted(away) == reached and away[begin] == 0
            assert vertices.asnumpy()[count:-1].tolist() == [-1] * (4 - count)
            drawn = {(reached[u], v): n for (u, v), n in edges(found).items()}
            assert drawn.items() <= whole.items()
            assert {u for u, _ in drawn} == {v for v in away if away[v] < 2}
            assert all(away[v] <= away[u] + 1 for u, v in drawn)
            for out in odds:
                wanted = np.array(chances, np.float32)[reached].tolist() + [0] * (
                    4 - count
                )
                assert out.asnumpy().tolist() == wanted


def test_every_neighbour_is_drawn_as_often_as_it_should_be() -> None:
    mx.random.seed(2)
    chances = [5, 0.5, 0.25, 0.125, 0.125]
    for given in (None, chances):
        found: Counter[tuple[int, ...]] = Counter()
        for _ in range(600):
            vertices = sampled(numbers(0), chances=given)[0].asnumpy()
            found[tuple(vertices[1:3].tolist())] += 1
        odds = np.array([0, 1, 1, 1, 1] if given is None else chances)
        total = odds[1:].sum()
        for (a, b), times in found.items():
            p, q = odds[a] / total, odds[b] / total
            likely = p * q / (1 - p) + q * p / (1 - q)
            spread = 4.5 * np.sqrt(600 * likely * (1 - likely))
            assert abs(times - 600 * likely) < spread, (a, b)
        assert len(found) == 6


def test_who_has_no_probability_is_not_drawn() -> None:
    mx.random.seed(3)
    outs = sampled(numbers(0), chances=[1, 0, 0, 1, 0], num_neighbor=3)
    assert outs[0].asnumpy()[:3].tolist() == [0, 3, -1]
    wrong = sampled(numbers(0), chances=[1, 0, 0, 1, -1])
    with pytest.raises(OperatorError, match="must not be negative"):
        wrong[0].asnumpy()


def test_a_seed_repeats_a_walk_and_calls_differ() -> None:
    def walks() -> list[Any]:
        mx.random.seed(4)
        return [sampled(numbers(0))[0].asnumpy().tolist() for _ in range(12)]

    first = walks()
    assert first == walks()
    assert len({str(vertices) for vertices in first}) > 1


def test_a_walk_ends_where_there_is_no_room() -> None:
    vertices, found, hops = sampled(numbers(0), num_neighbor=3, max_num_vertices=3)
    assert vertices.asnumpy()[-1] == 3
    assert hops.asnumpy().tolist() == [0, 1, 1]
    assert len(edges(found)) == 3
    small = contrib.dgl_graph_compact(
        found, vertices, graph_sizes=3, return_mapping=False
    )
    with pytest.raises(OperatorError, match=r"was not sampled.*larger max_num_vert"):
        small.asnumpy()


def test_samples_are_refused_that_cannot_be() -> None:
    with pytest.raises(OperatorError, match="has to hold the 3 vertices"):
        sampled(numbers(0, 1, 2), max_num_vertices=2)
    with pytest.raises(OperatorError, match="num_hops=-1"):
        sampled(numbers(0), num_hops=-1)
    with pytest.raises(ShapeError, match=r"as vertices; there are \(2,\)"):
        sampled(numbers(0), chances=[1, 2])
    with pytest.raises(ShapeError, match="must follow"):
        contrib.dgl_csr_neighbor_uniform_sample(graph())
    with pytest.raises(ShapeError, match="must be square"):
        x = nd.sparse.zeros("csr", (3, 4), dtype="int64")
        contrib.dgl_csr_neighbor_uniform_sample(x, numbers(0))
    with pytest.raises(OperatorError, match="no vertex 5"):
        sampled(numbers(5))[0].asnumpy()


# -- samples without their empty rows --------------------------------------------------


def test_samples_become_small_graphs() -> None:
    mx.random.seed(5)
    v, w, x, y, *_ = sampled(numbers(4, 2), numbers(3), num_neighbor=2)
    sizes = int(v[-1].asscalar()), int(w[-1].asscalar())
    outs = contrib.dgl_graph_compact(x, y, v, w, graph_sizes=sizes, return_mapping=True)
    assert len(outs) == 4
    for vertices, wide, new, old in zip(
        (v, w), (x, y), outs[:2], outs[2:], strict=True
    ):
        names = vertices.asnumpy().tolist()
        there = {(u, names[v]): n for (u, v), n in edges(old).items()}
        assert there == edges(wide)
        assert list(edges(new).values()) == list(range(len(there)))
        assert edges(new).keys() == edges(old).keys()


def test_the_size_of_a_small_graph_is_that_of_the_sample() -> None:
    vertices, found, _ = sampled(numbers(0), num_neighbor=2, max_num_vertices=6)
    settings = {"return_mapping": False}
    wrong = contrib.dgl_graph_compact(found, vertices, graph_sizes=2, **settings)
    with pytest.raises(
        OperatorError, match="graph_sizes has 2 for graph 0, which has 3"
    ):
        wrong.asnumpy()
    with pytest.raises(ShapeError, match="no larger size"):
        contrib.dgl_graph_compact(found, vertices, graph_sizes=6, **settings)
    with pytest.raises(OperatorError, match="a size for each graph"):
        contrib.dgl_graph_compact(found, vertices, graph_sizes=(3, 3), **settings)


# -- symbols ---------------------------------------------------------------------------


def test_symbols_know_shapes_and_compute() -> None:
    x, u, v = mx.sym.var("x", stype="csr"), mx.sym.var("u"), mx.sym.var("v")
    found = mx.sym.contrib.edge_id(x, u, v).eval(
        x=graph(), u=numbers(0, 1), v=numbers(1, 1)
    )
    assert found[0].asnumpy().tolist() == [0, -1]
    part = mx.sym.contrib.dgl_subgraph(x, u, return_mapping=True)
    assert part.list_outputs() == ["dgl_subgraph0_output0", "dgl_subgraph0_output1"]
    assert part.infer_shape(x=(5, 5), u=(3,))[1] == [(3, 3), (3, 3)]
    new, old = part.eval(x=graph(), u=numbers(1, 3))
    assert edges(new) == {(0, 1): 0, (1, 0): 1}
    assert edges(old) == {(0, 1): 6, (1, 0): 13}
    walk = mx.sym.contrib.dgl_csr_neighbor_uniform_sample(x, u)
    assert walk.infer_shape(x=(5, 5), u=(3,))[1] == [(101,), (100, 5), (100,)]
    assert mx.sym.contrib.dgl_adjacency(x).infer_type(x="int64")[1] == [np.float32]
    walk = mx.sym.contrib.dgl_csr_neighbor_non_uniform_sample(x, v, u)
    wanted = (
        [np.int64, np.float16, np.int64],
        [np.int64, np.int64, np.float16, np.int64],
    )
    assert walk.infer_type(v="float16")[:2] == wanted


def test_a_bound_graph_draws_what_calls_draw() -> None:
    settings = {"num_args": 2, "num_hops": 2, "num_neighbor": 2, "max_num_vertices": 5}
    op: Any = mx.sym.contrib.dgl_csr_neighbor_uniform_sample
    symbol = op(mx.sym.var("graph", stype="csr"), mx.sym.var("seeds"), **settings)
    arrays = {"graph": graph(), "seeds": numbers(0, 3)}
    executor = symbol.bind(mx.cpu(), arrays, grad_req="null")
    for seed in (1, 2):
        mx.random.seed(seed)
        seen = [out.asnumpy().tolist() for out in executor.forward()]
        seen += [out.asnumpy().tolist() for out in executor.forward()]
        mx.random.seed(seed)
        expected = []
        for _ in range(2):
            outs = contrib.dgl_csr_neighbor_uniform_sample(*arrays.values(), **settings)
            expected += [out.asnumpy().tolist() for out in outs]
        assert seen == expected

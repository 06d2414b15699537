"""Sparse arrays: what they are made of, what they tell, what they refuse."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import minimx as mx
from minimx import nd
from minimx.core.errors import ArgumentError, DataError, OperatorError, ShapeError

DENSE = np.array([[0, 1, 0], [2, 0, 0], [0, 0, 0], [0, 0, 3]], np.float32)


def csr() -> Any:
    return nd.sparse.csr_matrix(([1, 2, 3], [1, 0, 2], [0, 1, 2, 2, 3]), shape=(4, 3))


def rows() -> Any:
    return nd.sparse.row_sparse_array(([[1, 2], [3, 4]], [1, 4]), shape=(6, 2))


def lists(array: Any) -> list[list[Any]]:
    names = (
        ("indptr", "indices", "data") if array.stype == "csr" else ("indices", "data")
    )
    return [getattr(array, name).asnumpy().tolist() for name in names]


def test_csr_is_three_lists() -> None:
    x = csr()
    assert (x.stype, x.shape, x.dtype) == ("csr", (4, 3), np.float32)
    assert lists(x) == [[0, 1, 2, 2, 3], [1, 0, 2], [1, 2, 3]]
    np.testing.assert_array_equal(x.asnumpy(), DENSE)
    assert repr(x) == "\n<CSRNDArray 4x3 @cpu(0)>"
    assert x.indices.dtype is np.int64
    x.check_format()


def test_row_sparse_is_rows_and_their_numbers() -> None:
    x = rows()
    assert (x.stype, x.shape) == ("row_sparse", (6, 2))
    assert lists(x) == [[1, 4], [[1, 2], [3, 4]]]
    assert repr(x) == "\n<RowSparseNDArray 6x2 @cpu(0)>"
    assert x.asnumpy()[4].tolist() == [3, 4]
    assert x.asnumpy()[0].tolist() == [0, 0]


@pytest.mark.parametrize("stype", ["csr", "row_sparse"])
@pytest.mark.parametrize("dtype", ["float32", "float16", "float64", "int32", "uint8"])
def test_to_sparse_and_back(stype: str, dtype: str) -> None:
    x = nd.array(DENSE, dtype=dtype).tostype(stype)
    x.check_format()
    back = x.tostype("default")
    assert back.stype == "default"
    assert back.dtype == np.dtype(dtype)
    np.testing.assert_array_equal(back.asnumpy(), DENSE)


@pytest.mark.parametrize(
    "make",
    [
        lambda: nd.sparse.csr_matrix(DENSE),
        lambda: nd.sparse.csr_matrix(DENSE.tolist()),
        lambda: nd.sparse.csr_matrix(nd.array(DENSE)),
        lambda: nd.sparse.csr_matrix(csr()),
        lambda: nd.array(csr()),
        lambda: nd.sparse.csr_matrix(([3, 1, 2], ([3, 0, 1], [2, 1, 0]))),
        lambda: (
            nd.sparse.csr_matrix(([1, 2, 2, 1], ([3, 0, 1, 3], [2, 1, 0, 2])))
            - nd.sparse.csr_matrix(([1, -1], ([0, 3], [1, 2])), shape=(4, 3))
        ),
    ],
)
def test_ways_to_a_csr_matrix(make: Any) -> None:
    found = make()
    assert found.stype == "csr"
    np.testing.assert_array_equal(found.asnumpy(), DENSE)


def test_scipy_and_back() -> None:
    sparse = pytest.importorskip("scipy.sparse")
    messy = sparse.csr_matrix(
        ([1.0, 2, 3, 4, 5, 6, 1], [0, 2, 2, 0, 1, 2, 1], [0, 2, 3, 7]), shape=(3, 3)
    )
    ours = nd.sparse.csr_matrix(messy)
    assert ours.dtype is np.float64
    assert lists(ours) == [[0, 2, 3, 6], [0, 2, 2, 0, 1, 2], [1, 2, 3, 4, 6, 6]]
    np.testing.assert_array_equal(ours.asscipy().toarray(), messy.toarray())
    assert nd.array(messy).stype == "csr"


@pytest.mark.parametrize("stype", ["csr", "row_sparse"])
def test_nothing_is_stored_in_zeros(stype: str) -> None:
    for x in (
        nd.zeros((4, 3), stype=stype),
        nd.empty((4, 3), stype=stype),
        nd.sparse.zeros(stype, (4, 3)),
        csr().tostype("default").tostype(stype) * 0,
    ):
        assert x.asnumpy().tolist() == np.zeros((4, 3)).tolist()
    assert len(nd.sparse.zeros(stype, (4, 3)).data) == 0


@pytest.mark.parametrize("make", [csr, rows])
def test_copies(make: Any) -> None:
    x = make()
    for copy in (
        x.copy(),
        x.copyto(mx.gpu(0)),
        x.as_in_context(mx.cpu(1)),
        pickle.loads(pickle.dumps(x)),
        x.astype("float64"),
        x.copyto(nd.sparse.zeros(x.stype, x.shape)),
    ):
        assert type(copy) is type(x)
        assert lists(copy) == lists(x)
    assert x.copyto(mx.gpu(0)).context == mx.gpu(0)
    assert x.astype("float32", copy=False) is x
    np.testing.assert_array_equal(x.copyto(nd.ones(x.shape)).asnumpy(), x.asnumpy())


@pytest.mark.parametrize("make", [csr, rows])
def test_overwriting(make: Any) -> None:
    x = make()
    x[:] = nd.ones(x.shape)
    assert x.asnumpy().min() == 1
    x[:] = make()
    assert lists(x) == lists(make())
    x += x
    np.testing.assert_array_equal(x.asnumpy(), 2 * make().asnumpy())
    dense = nd.ones(x.shape)
    dense[:] = make()
    np.testing.assert_array_equal(dense.asnumpy(), make().asnumpy())


def test_rows_of_csr() -> None:
    x = csr()
    for key in (slice(1, 3), slice(2, None), slice(None, 2), slice(-2, None)):
        np.testing.assert_array_equal(x[key].asnumpy(), DENSE[key])
        assert x[key].stype == "csr"
    assert x[-1].asnumpy().tolist() == [[0, 0, 3]]
    assert x[:] is x
    part = nd.slice(x, begin=(0, 1), end=(4, 3))
    assert part.stype == "csr"
    np.testing.assert_array_equal(part.asnumpy(), DENSE[:, 1:])


def test_retain_keeps_the_rows_that_are_named() -> None:
    kept = rows().retain(nd.array([0, 4]))
    assert lists(kept) == [[0, 4], [[0, 0], [3, 4]]]


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda: nd.ones((2, 2, 2)).tostype("csr"), ShapeError, "matrices"),
        (lambda: nd.ones((2, 2)).tostype("cst"), OperatorError, "Did you mean csr"),
        (lambda: csr().tostype("row_sparse"), ArgumentError, "cannot become"),
        (lambda: nd.sparse.csr_matrix((2, 2), shape=(3, 2)), ShapeError, "asked for"),
        (
            lambda: nd.sparse.csr_matrix(([1], [0], [0, 1]), (2, 2)),
            ShapeError,
            "indptr",
        ),
        (
            lambda: nd.sparse.csr_matrix(([1], ([5], [0])), (2, 2)),
            ShapeError,
            "outside",
        ),
        (lambda: nd.sparse.csr_matrix(rows()), ArgumentError, "row_sparse"),
        (lambda: nd.sparse.zeros("what", (2, 2)), OperatorError, "not known"),
        (lambda: rows()[1], OperatorError, "as a whole"),
        (lambda: csr()[::2], ArgumentError, "without gaps"),
        (lambda: csr()[9], IndexError, "row 9 of 4"),
        (lambda: csr().reshape((3, 4)), OperatorError, "reshaped"),
        (lambda: csr().copyto(rows()), TypeError, "csr"),
        (lambda: csr().size, NotImplementedError, "no size"),
    ],
)
def test_refusals_say_why(make: Any, error: Any, words: str) -> None:
    with pytest.raises(error, match=words):
        make()


@pytest.mark.parametrize(
    ("indices", "indptr", "words"),
    [
        ([0, 2, 1], [0, 5, 2, 3], "never fall"),
        ([1, 2, 1], [0, 2, 2, 4], "lead from 0"),
        ([2, 1, 1], [0, 2, 2, 3], "must rise"),
        ([0, 9, 1], [0, 2, 2, 3], "no column"),
        ([0, -2, 1], [0, 2, 2, 3], "no column"),
    ],
)
def test_malformed_csr(indices: Any, indptr: Any, words: str) -> None:
    x = nd.sparse.csr_matrix(([7, 8, 9], indices, indptr), shape=(3, 4))
    with pytest.raises(DataError, match=words):
        x.check_format()


def test_nobody_computes_with_places_that_do_not_exist() -> None:
    x = nd.sparse.csr_matrix(([7], [10**9], [0, 1]), shape=(1, 4))
    y = nd.dot(x, nd.ones((4, 2)))
    with pytest.raises(DataError, match="no column"):
        y.asnumpy()
    bad = nd.sparse.row_sparse_array(([[1.0]], [7]), shape=(3, 1))
    with pytest.raises(DataError, match="no row"):
        bad.asnumpy()


def test_unsorted_places_mean_what_they_say() -> None:
    x = nd.sparse.csr_matrix(([1, 2], [2, 0], [0, 2]), shape=(1, 3))
    assert (x + x).asnumpy().tolist() == [[4, 0, 2]]
    r = nd.sparse.row_sparse_array(([[1.0], [2.0]], [2, 0]), shape=(3, 1))
    assert (r + r).asnumpy().tolist() == [[4], [0], [2]]


@pytest.mark.parametrize("engine", ["NaiveEngine", "ThreadedEnginePerDevice"])
def test_memory_is_the_pools(engine: str) -> None:
    with mx.knobs(MXNET_ENGINE_TYPE=engine):
        x = nd.ones((64, 64)).tostype("csr")
        x.wait_to_read()
        assert x.chunk.block is not None
        assert x.chunk.block.requested >= 64 * 64 * 12
        x[:] = nd.zeros((64, 64))
        x.wait_to_read()
        assert x.chunk.block.requested < 64 * 64

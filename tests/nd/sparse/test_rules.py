"""What calls with sparse arrays give: numbers as of dense ones, stored as in MXNet."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import minimx as mx
from minimx import nd
from minimx.core import autograd
from minimx.core.ops.registry import forget_plans, lookup
from minimx.nd.sparse import StorageFallback
from minimx.operators.sparse import answer
from tests.nd.sparse import mxnet_stypes

STYPES = {"r": "row_sparse", "c": "csr", "d": "default"}
_internal = nd._internal


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    with mx.knobs(MXNET_STORAGE_FALLBACK_LOG_VERBOSE=False):
        yield


def numbers(*shape: int, seed: int = 0, density: float = 0.5) -> Any:
    rng = np.random.default_rng(seed)
    found = rng.uniform(0.1, 0.9, shape) * (rng.uniform(size=shape) < density)
    found[len(found) // 2] = 0
    return found.astype(np.float32)


def array(letter: str, *shape: int, seed: int = 0) -> Any:
    found = nd.array(numbers(*shape, seed=seed))
    return found if letter == "d" else found.tostype(STYPES[letter])


def dense(values: Any) -> list[Any]:
    return [x.tostype("default") if x.stype != "default" else x for x in values]


def agree(call: Any, *inputs: Any) -> Any:
    """The result with sparse inputs, which has to be that with dense ones."""
    found = call(*inputs)
    wanted = call(*dense(inputs))
    if found.stype != "default":
        found.check_format()
    np.testing.assert_allclose(
        found.asnumpy(), wanted.asnumpy(), rtol=1e-5, atol=1e-6, equal_nan=True
    )
    return found


@pytest.mark.parametrize(("name", "stype", "expected"), mxnet_stypes.UNARY)
def test_one_array(name: str, stype: str, expected: str) -> None:
    function = getattr(nd, name)
    found = agree(function, array(stype, 5, 4))
    assert found.stype == STYPES[expected]


@pytest.mark.parametrize(("name", "stype", "scalar", "expected"), mxnet_stypes.SCALAR)
def test_an_array_and_a_number(
    name: str, stype: str, scalar: float, expected: str
) -> None:
    function = getattr(_internal, name)
    found = agree(lambda x: function(x, scalar=scalar), array(stype, 5, 4))
    assert found.stype == STYPES[expected]


@pytest.mark.parametrize(("name", "lhs", "rhs", "expected"), mxnet_stypes.BINARY)
def test_two_arrays(name: str, lhs: str, rhs: str, expected: str) -> None:
    function = getattr(nd, name)
    found = agree(function, array(lhs, 5, 4), array(rhs, 5, 4, seed=1))
    assert found.stype == STYPES[expected]


@pytest.mark.parametrize(
    ("lhs", "rhs", "ta", "tb", "asked", "expected"), mxnet_stypes.DOT
)
def test_products(
    lhs: str, rhs: str, ta: int, tb: int, asked: str, expected: str
) -> None:
    a = array(lhs, *((6, 5) if ta else (5, 6)))
    b = array(rhs, *((4, 6) if tb else (6, 4)), seed=1)
    settings: dict[str, Any] = {"transpose_a": bool(ta), "transpose_b": bool(tb)}
    if asked:
        settings["forward_stype"] = STYPES[asked]
    found = nd.dot(a, b, **settings)
    assert found.stype == STYPES[expected]
    plain_a, plain_b = dense([a, b])
    wanted = nd.dot(plain_a, plain_b, transpose_a=bool(ta), transpose_b=bool(tb))
    np.testing.assert_allclose(found.asnumpy(), wanted.asnumpy(), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("dtype", ["float16", "float64", "bfloat16"])
@pytest.mark.parametrize("turned", [False, True])
def test_products_in_other_types(dtype: str, turned: bool) -> None:
    a = nd.array(numbers(6, 5), dtype=dtype)
    b = nd.array(numbers(6 if turned else 5, 4, seed=1), dtype=dtype)
    found = nd.dot(a.tostype("csr"), b, transpose_a=turned)
    wanted = nd.dot(a, b, transpose_a=turned)
    assert found.dtype == wanted.dtype
    np.testing.assert_allclose(
        found.asnumpy().astype("f4"), wanted.asnumpy().astype("f4"), rtol=1e-2
    )


def test_a_csr_matrix_times_a_vector() -> None:
    agree(nd.dot, array("c", 5, 6), array("d", 6))


@pytest.mark.parametrize(
    "call",
    [
        lambda x: nd.sum(x, axis=0),
        lambda x: nd.sum(x, axis=1),
        lambda x: nd.mean(x, axis=0),
        lambda x: nd.mean(x, axis=1),
        lambda x: nd.norm(x),
        lambda x: nd.norm(x, axis=1),
        lambda x: nd.sum(x),
        lambda x: nd.take(x, nd.array([4, 0, 0, 9]), mode="clip"),
        lambda x: nd.take(x, nd.array([4, -1, 7]), mode="wrap"),
        lambda x: nd.concat(x, x, dim=0),
        lambda x: nd.concat(x, x, dim=1),
        lambda x: nd.slice(x, begin=(1, 1), end=(4, 3)),
        lambda x: nd.slice(x, begin=(1,), end=(4,), step=(2,)),
        lambda x: nd.where(x, nd.ones((5, 4)), nd.zeros((5, 4))),
        lambda x: nd.clip(x, -1, 0.5),
        lambda x: nd.clip(x, 0.2, 0.5),
        lambda x: nd.contrib.getnnz(x),
        lambda x: nd.contrib.getnnz(x, axis=1),
        lambda x: x.T,
        lambda x: x * nd.ones((5, 1)) * 3,
        lambda x: x / nd.array([1, 2, 3, 4]),
        lambda x: x + nd.array([1, 2, 3, 4]),
        lambda x: 1 - x,
        lambda x: x + 2,
    ],
)
def test_csr_gives_what_dense_gives(call: Any) -> None:
    agree(call, array("c", 5, 4))


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("keepdims", [False, True])
def test_square_sums(axis: int, keepdims: bool) -> None:
    found = agree(
        lambda x: _internal._square_sum(x, axis=axis, keepdims=keepdims),
        array("r", 5, 4),
    )
    assert found.stype == ("row_sparse" if axis == 1 and keepdims else "default")


def test_sums_of_many() -> None:
    many = [array("r", 5, 4, seed=k) for k in range(4)]
    assert agree(nd.add_n, *many).stype == "row_sparse"
    assert agree(nd.add_n, *many, array("c", 5, 4), array("d", 5, 4)).stype == "default"


def test_lookups_in_rows() -> None:
    ids = nd.array([0, 3, 9, 3])
    agree(lambda w: nd.Embedding(ids, w, input_dim=5, output_dim=4), array("r", 5, 4))


def test_results_are_written_where_they_are_wanted() -> None:
    x = array("c", 5, 4)
    out = nd.zeros((5, 4), stype="csr")
    assert nd.square(x, out=out) is out
    np.testing.assert_allclose(out.asnumpy(), x.asnumpy() ** 2, rtol=1e-6)
    nd.square(x, out=x)
    np.testing.assert_array_equal(x.asnumpy(), out.asnumpy())
    ones = nd.ones((5, 4))
    nd.broadcast_add(ones, ones, out=out)
    assert out.asnumpy().tolist() == (2 * np.ones((5, 4))).tolist()
    plain = nd.zeros((5, 4))
    nd.sin(x, out=plain)
    np.testing.assert_allclose(plain.asnumpy(), np.sin(x.asnumpy()), rtol=1e-6)


# -- gradients -------------------------------------------------------------------------


def test_the_gradient_of_a_product_with_csr_is_row_sparse() -> None:
    x, w = array("c", 5, 6), array("d", 6, 3)
    w.attach_grad(stype="row_sparse")
    with autograd.record():
        y = nd.dot(x, w)
    y.backward()
    assert w.grad.stype == "row_sparse"
    np.testing.assert_allclose(
        w.grad.asnumpy(), x.asnumpy().T @ np.ones((5, 3)), rtol=1e-5
    )
    touched = np.flatnonzero(x.asnumpy().any(0))
    assert w.grad.indices.asnumpy().tolist() == touched.tolist()


@pytest.mark.parametrize("req", ["write", "add"])
def test_the_gradient_of_a_lookup_is_row_sparse(req: str) -> None:
    w = array("d", 6, 3)
    w.attach_grad(req, stype="row_sparse")
    for _ in range(2):
        with autograd.record():
            y = nd.Embedding(nd.array([1, 4, 1]), w, 6, 3, sparse_grad=True) * 2
        y.backward()
    times = 4 if req == "add" else 2
    assert w.grad.indices.asnumpy().tolist() == [1, 4]
    assert w.grad.data.asnumpy()[:, 0].tolist() == [2 * times, times]


@pytest.mark.parametrize("stype", ["row_sparse", "csr"])
@pytest.mark.parametrize("name", ["sin", "square", "abs", "relu", "sqrt", "log1p"])
def test_gradients_of_sparse_arrays(name: str, stype: str) -> None:
    plain = nd.array(numbers(5, 4, density=1) + 0.1)
    sparse = plain.tostype(stype)
    assert sparse.grad is None
    grads = []
    for x in (plain, sparse):
        x.attach_grad()
        with autograd.record():
            y = getattr(nd, name)(x) * 3
        y.backward()
        grads.append(x.grad)
    assert grads[1].stype == stype
    np.testing.assert_allclose(grads[1].asnumpy(), grads[0].asnumpy(), rtol=1e-5)


def test_dense_computations_of_sparse_arrays_have_gradients() -> None:
    x = array("r", 5, 4)
    x.attach_grad(stype="default")
    with autograd.record():
        y = nd.exp(x).sum()
    y.backward()
    np.testing.assert_allclose(x.grad.asnumpy(), np.exp(x.asnumpy()), rtol=1e-5)


def test_gradients_pass_through_cast_storage() -> None:
    x = array("d", 5, 4)
    x.attach_grad()
    with autograd.record():
        y = (x.tostype("csr") * 2).tostype("default").sum()
    y.backward()
    assert x.grad.asnumpy().tolist() == (2 * np.ones((5, 4))).tolist()


# -- the notice ------------------------------------------------------------------------


def test_a_dense_computation_is_told_once() -> None:
    x = array("c", 5, 4)
    with mx.knobs(MXNET_STORAGE_FALLBACK_LOG_VERBOSE=True):
        with pytest.warns(
            StorageFallback, match=r"arctan2|erfinv has no sparse kernel"
        ):
            nd.erfinv(x)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            nd.erfinv(x)


def test_a_product_with_rows_that_are_all_there_but_in_another_order() -> None:
    left = array("c", 5, 4, seed=1)
    weight = np.arange(1, 9, dtype=np.float32).reshape(4, 2)
    for order in ([0, 1, 2, 3], [3, 1, 0, 2], [0, 1], [2, 3]):
        rows = nd.sparse.row_sparse_array((weight[order], order), shape=(4, 2))
        whole = np.zeros((4, 2), np.float32)
        whole[order] = weight[order]
        found = nd.sparse.dot(left, rows).asnumpy()
        np.testing.assert_array_equal(
            found, nd.sparse.dot(left, nd.array(whole)).asnumpy()
        )


def test_a_lazy_update_costs_what_its_rows_do() -> None:
    grad = nd.array(np.eye(1000, 8)).tostype("row_sparse")
    weight = nd.ones((1000, 8)).tostype("row_sparse")
    nd.waitall()
    with mx.Record() as record:
        for lazy in (True, False):
            nd.sgd_update(weight, grad, lr=0.1, out=weight, lazy_update=lazy)
        nd.waitall()
    moved = record.ops()["nbytes"].tolist()
    assert moved == [3 * grad.chunk.nbytes, 2 * weight.chunk.nbytes + grad.chunk.nbytes]


def test_rules_are_asked_again_when_knobs_turn_that_plans_depend_on() -> None:
    x = array("r", 5, 4)
    op = lookup("relu").of()
    first = answer(op, (x.spec,))
    assert first is not None
    assert answer(op, (x.spec,)) is first
    forget_plans()
    assert answer(op, (x.spec,)) is not first

"""Sparse arrays on CUDA: what they store lies there; most kernels visit the host."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import minimx as mx
import minimx.cuda.toolkit  # noqa: F401 (a condition below)
from minimx.core import autograd

GPU = mx.gpu(0)
X = np.array([[0, 1, 0, 2], [0, 0, 0, 0], [3, 0, 0, 4]], np.float32)
W = np.arange(8, dtype=np.float32).reshape(4, 2)


@pytest.fixture(autouse=True)
def _silent() -> Iterator[None]:
    with mx.knobs(MINIMX_CUDA_VERBOSE=0):
        yield


def sparse(stype: str, numbers: Any = X, dtype: Any = None) -> Any:
    return mx.nd.array(numbers, ctx=GPU, dtype=dtype).tostype(stype)


@pytest.mark.parametrize("dtype", ["float32", "float16", "int32", "bfloat16"])
@pytest.mark.parametrize("stype", ["csr", "row_sparse"])
def test_an_array_becomes_sparse_and_dense_again(stype: str, dtype: str) -> None:
    x = sparse(stype, dtype=dtype)
    assert (x.stype, x.context) == (stype, GPU)
    back = x.tostype("default")
    assert back.context is GPU
    np.testing.assert_array_equal(back.astype("float32").asnumpy(), X)
    places = [1, 3, 0, 3] if stype == "csr" else [0, 2]
    assert x.indices.asnumpy().tolist() == places
    assert x.data.context is GPU


@pytest.mark.skipif("not minimx.cuda.toolkit.simulated()", reason="asks the simulator")
def test_what_is_stored_lies_on_the_device() -> None:
    x = sparse("csr")
    x.wait_to_read()
    assert not any(isinstance(part, np.ndarray) for part in x.chunk.parts)
    assert x.chunk.nbytes > 0


@pytest.mark.parametrize("stype", ["csr", "row_sparse"])
def test_an_array_that_stores_nothing(stype: str) -> None:
    for x in (mx.nd.sparse.zeros(stype, (3, 4), ctx=GPU), sparse(stype, X * 0)):
        assert not x.asnumpy().any()
        assert x.data.shape[0] == 0
        assert not (x * 2).asnumpy().any()


@pytest.mark.parametrize("stype", ["csr", "row_sparse"])
def test_copies_to_other_devices_and_back(stype: str) -> None:
    here = mx.nd.array(X).tostype(stype)
    there = here.copyto(GPU)
    other = there.copyto(mx.cpu())
    assert (there.context, other.context) == (GPU, mx.cpu())
    for x in (there, other, there.astype("float64"), there.copyto(GPU)):
        assert x.stype == stype
        np.testing.assert_array_equal(x.asnumpy(), X)
    there[:] = 0
    np.testing.assert_array_equal(there.asnumpy(), X * 0)
    there[:] = X
    np.testing.assert_array_equal(there.asnumpy(), X)


def test_arrays_from_parts_and_their_check() -> None:
    parts = ([1.0, 2.0], [1, 0], [0, 1, 2])
    x = mx.nd.sparse.csr_matrix(parts, shape=(2, 3), ctx=GPU)
    x.check_format()
    assert x.asnumpy().tolist() == [[0, 1, 0], [2, 0, 0]]
    assert x[1].asnumpy().tolist() == [[2, 0, 0]]


def test_operators_with_a_sparse_rule_and_without() -> None:
    x = sparse("csr")
    w = mx.nd.array(W, ctx=GPU)
    np.testing.assert_allclose(mx.nd.dot(x, w).asnumpy(), X @ W)
    assert (x * 2).stype == "csr"
    np.testing.assert_array_equal((x * 2).asnumpy(), X * 2)
    np.testing.assert_array_equal((x + x).asnumpy(), X * 2)
    np.testing.assert_array_equal(mx.nd.sum(x, axis=1).asnumpy(), X.sum(1))
    with mx.knobs(MXNET_STORAGE_FALLBACK_LOG_VERBOSE=0):
        np.testing.assert_allclose(mx.nd.exp(x).asnumpy(), np.exp(X), rtol=1e-6)
    x[:] = x * 3
    np.testing.assert_array_equal(x.asnumpy(), X * 3)


@pytest.mark.parametrize("name", ["sgd", "adagrad", "adam"])
def test_a_table_learns_by_rows(name: str) -> None:
    found = []
    for device in (mx.cpu(), GPU):
        table = mx.nd.array(W, ctx=device)
        table.attach_grad(stype="row_sparse")
        step = mx.optimizer.create(name, learning_rate=0.1)
        state = step.create_state(0, table)
        for _ in range(2):
            with autograd.record():
                ids = mx.nd.array([3, 1, 3], ctx=device)
                rows = mx.nd.Embedding(ids, table, 4, 2, sparse_grad=True)
                loss = rows * rows
            loss.backward()
            assert table.grad.stype == "row_sparse"
            assert table.grad.indices.asnumpy().tolist() == [1, 3]
            step.update(0, table, table.grad, state)
        found.append(table.asnumpy())
    np.testing.assert_allclose(found[0], found[1], rtol=1e-6)
    assert (found[1] != W).any(1).tolist() == [False, True, False, True]


def test_a_sparse_weight_is_changed_where_it_lies() -> None:
    weight = mx.nd.array(W + 1, ctx=GPU).tostype("row_sparse")
    grad = mx.nd.sparse.row_sparse_array(([[1.0, 2.0]], [2]), shape=(4, 2), ctx=GPU)
    momentum = mx.nd.zeros((4, 2), ctx=GPU)
    mx.nd.sgd_mom_update(weight, grad, momentum, lr=1.0, momentum=0.5, out=weight)
    expected = W + 1
    expected[2] -= [1, 2]
    np.testing.assert_array_equal(weight.asnumpy(), expected)
    assert momentum.asnumpy()[2].tolist() == [-1, -2]


def test_a_visit_to_the_host_is_said() -> None:
    with (
        mx.knobs(MINIMX_CUDA_VERBOSE=1),
        pytest.warns(UserWarning, match="runs on the host"),
    ):
        x = sparse("csr") * 2
    assert x.stype == "csr"


@pytest.mark.filterwarnings("error")
def test_storage_types_and_products_stay_on_the_device() -> None:
    rng = np.random.default_rng(2)
    numbers = (rng.uniform(-1, 1, (7, 9)) * (rng.random((7, 9)) < 0.3)).astype("f4")
    numbers[4] = 0
    w = rng.uniform(-1, 1, (9, 3)).astype("f4")
    with mx.knobs(MINIMX_CUDA_VERBOSE=1):
        for stype in ("csr", "row_sparse"):
            x = sparse(stype, numbers)
            its = mx.nd.array(numbers).tostype(stype)
            np.testing.assert_array_equal(x.asnumpy(), numbers)
            np.testing.assert_array_equal(x.data.asnumpy(), its.data.asnumpy())
            assert x.indices.asnumpy().tolist() == its.indices.asnumpy().tolist()
        rows = mx.nd.array(np.ones((5,)), ctx=GPU).tostype("row_sparse")
        assert rows.asnumpy().tolist() == [1] * 5
        found = mx.nd.dot(sparse("csr", numbers), mx.nd.array(w, ctx=GPU))
        np.testing.assert_allclose(found.asnumpy(), numbers @ w, rtol=1e-5, atol=1e-6)
        nothing = mx.nd.dot(sparse("csr", numbers * 0), mx.nd.array(w, ctx=GPU))
        assert not nothing.asnumpy().any()

"""Linear algebra, transforms, percentiles and counts on CUDA, where rows do not ask."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minimx as mx
from minimx.cuda import toolkit
from minimx.cuda.kernels.arrays import linalg
from minimx.cuda.kernels.numpy import np_random

GPU = mx.gpu(0)


@pytest.fixture(autouse=True, params=[1, 4], ids=["alone", "four"])
def teams(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """The simulator's threads work alone otherwise: waiting for each other is slow."""
    if toolkit.simulated():
        monkeypatch.setattr(linalg, "TEAMS", [request.param] * 2)
        monkeypatch.setattr(np_random, "TEAM", [request.param])


def there(*arrays: Any) -> list[Any]:
    return [mx.nd.array(x, ctx=GPU, dtype=np.asarray(x).dtype) for x in arrays]


def matrices(*shape: int) -> Any:
    return np.random.default_rng(3).normal(size=shape)


def test_factors_of_a_stack_are_those_of_lapack() -> None:
    a = matrices(2, 5, 5)
    symmetric = a @ a.swapaxes(1, 2) + np.eye(5)
    x, s = there(a, symmetric)
    low = mx.nd.linalg.potrf(s).asnumpy()
    np.testing.assert_allclose(low, np.linalg.cholesky(symmetric), atol=1e-10)
    np.testing.assert_allclose(
        mx.nd.linalg.inverse(x).asnumpy(), np.linalg.inv(a), atol=1e-10
    )
    np.testing.assert_allclose(
        mx.nd.linalg.det(x).asnumpy(), np.linalg.det(a), rtol=1e-10
    )


def test_matrices_that_the_cpu_refuses_give_nan_beside_good_ones() -> None:
    good, singular = np.eye(3), np.ones((3, 3))
    (both,) = there(np.stack([good, singular]))
    inverse = mx.nd.linalg.inverse(both).asnumpy()
    np.testing.assert_array_equal(inverse[0], good)
    assert np.isnan(inverse[1]).all()
    assert mx.nd._inverse_or_zeros(both)[1].asnumpy().tolist() == [[0.0] * 3] * 3
    sign, logarithm = mx.nd.linalg.slogdet(both)
    assert sign.asnumpy().tolist() == [1, 0]
    assert logarithm.asnumpy().tolist() == [0, -np.inf]
    low = mx.nd.linalg.potrf(both).asnumpy()
    np.testing.assert_array_equal(low[0], good)
    assert np.isnan(low[1, 1:, 1:][np.tril_indices(2)]).all()
    halves = mx.nd.linalg.trsm(*there(np.diag([1.0, 0.0]), np.ones((2, 1))))
    assert halves.asnumpy().tolist() == [[1], [np.inf]]


def test_eigenvectors_of_any_symmetric_matrix_are_orthonormal() -> None:
    plain = matrices(2, 5, 5)
    plain[1] = np.diag([2.0, -1, 2, 0, -1]) + np.eye(5)[::-1]  # values come twice
    a = np.tril(plain) + np.tril(plain, -1).swapaxes(1, 2)
    u, values = (x.asnumpy() for x in mx.nd.linalg.syevd(*there(plain)))
    np.testing.assert_allclose(values, np.linalg.eigvalsh(a), atol=1e-12)
    np.testing.assert_allclose(u @ u.swapaxes(1, 2), [np.eye(5)] * 2, atol=1e-12)
    found = u.swapaxes(1, 2) @ (values[..., None] * u)
    np.testing.assert_allclose(found, a, atol=1e-12)
    assert (np.take_along_axis(u, np.abs(u).argmax(-1)[..., None], -1) > 0).all()


@pytest.mark.parametrize("shape", [(4, 5), (5, 4), (1, 3), (3, 1)])
def test_singular_vectors_are_orthonormal_where_rows_are_missing(
    shape: tuple[int, ...],
) -> None:
    a = matrices(3, *shape)
    a[1, :, -1] = a[1, :, 0] + a[1, 0, 0]  # of a lower rank
    a[1, -1] = 2 * a[1, 0]
    a[2] = 0
    u, values, v = (
        x.asnumpy() for x in mx.np.linalg.svd(mx.np.array(a, ctx=GPU, dtype="float64"))
    )
    k = min(shape)
    np.testing.assert_allclose(values, np.linalg.svd(a)[1], atol=1e-12)
    np.testing.assert_allclose(u * values[:, None] @ v, a, atol=1e-12)
    np.testing.assert_allclose(u.swapaxes(1, 2) @ u, [np.eye(k)] * 3, atol=1e-12)
    np.testing.assert_allclose(v @ v.swapaxes(1, 2), [np.eye(k)] * 3, atol=1e-12)


def test_rows_are_made_orthonormal_as_lapack_does() -> None:
    a = matrices(2, 3, 5)
    a[1, 0] = [-2, 0, 0, 0, 0]  # a row that needs no mirror keeps its sign
    q, low = (x.asnumpy() for x in mx.nd.linalg.gelqf(*there(a)))
    columns, upper = np.linalg.qr(a.swapaxes(1, 2))
    np.testing.assert_allclose(q, columns.swapaxes(1, 2), atol=1e-12)
    np.testing.assert_allclose(low, upper.swapaxes(1, 2), atol=1e-12)


@pytest.mark.parametrize("which", [0, 1])
def test_an_answer_may_be_written_over_a_question(which: int) -> None:
    pair = matrices(2, 3, 3) + 3 * np.eye(3)
    calls: Any = mx.nd.dot, mx.nd.linalg.gemm2, mx.nd.linalg.trsm, mx.nd.linalg.trmm
    for call in calls:
        expected = call(*[mx.nd.array(x, dtype="float64") for x in pair]).asnumpy()
        inputs = there(*pair)
        call(*inputs, out=inputs[which])
        np.testing.assert_allclose(inputs[which].asnumpy(), expected, atol=1e-12)


def test_matrices_with_nan_have_no_factors() -> None:
    a = np.eye(3)
    a[1, 0] = np.nan
    (x,) = there(a)
    for out in (*mx.nd.linalg.syevd(x), *mx.np.linalg.svd(x.as_np_ndarray())):
        assert np.isnan(out.asnumpy()).all()


def test_percentiles_are_those_of_numpy() -> None:
    x, q = matrices(3, 4, 2), np.array([0, 12.5, 50, 66, 100])
    x[0, 1, 0] = np.nan
    a, percents = (mx.np.array(y, ctx=GPU, dtype="float64") for y in (x, q))
    for method in ("linear", "lower", "higher", "midpoint", "nearest"):
        found = mx.np.percentile(a, percents, axis=1, interpolation=method)
        np.testing.assert_allclose(
            found.asnumpy(), np.percentile(x, q, 1, method=method), rtol=1e-14
        )
    wrong = mx.np.array([50, 101], ctx=GPU)
    assert np.isnan(mx.np.percentile(a[1:], wrong).asnumpy()).tolist() == [False, True]


@pytest.mark.parametrize("n", [1, 7, 12])
def test_a_transform_of_any_length_comes_back(n: int) -> None:
    x = matrices(2, n)
    (a,) = there(x)
    pairs = mx.nd.contrib.fft(a)
    found, its = pairs.asnumpy(), np.fft.fft(x)
    np.testing.assert_allclose(found[:, 0::2] + 1j * found[:, 1::2], its, atol=1e-12)
    np.testing.assert_allclose(mx.nd.contrib.ifft(pairs).asnumpy(), n * x, atol=1e-12)


def test_counts_of_outcomes_follow_their_probabilities() -> None:
    p = [0.2, 0.5, 0.0, 0.3]
    with GPU:
        counts = mx.np.random.multinomial(400, p, size=2).asnumpy()
        asked = mx.np.random.multinomial(3, mx.np.array([0.5, 0.6])).asnumpy()
    assert counts.sum(1).tolist() == [400, 400]
    np.testing.assert_allclose(counts / 400, [p, p], atol=0.1)
    assert asked.tolist() == [-1, -1]


def test_numbers_of_a_row_are_different() -> None:
    with GPU:
        found, tries = mx.nd._sample_unique_zipfian(range_max=6, shape=(3, 5))
    rows = found.asnumpy()
    assert all(len({*row}) == 5 and min(row) >= 0 and max(row) < 6 for row in rows)
    assert (tries.asnumpy() >= 5).all()


def test_sums_of_products_without_common_axes() -> None:
    x, y = matrices(2, 3), matrices(4)
    a, b = (mx.np.array(z, ctx=GPU, dtype="float64") for z in (x, y))
    for text in ("ij,k->kji", "ij,k->", "ij,ik,ij,l->kl"):
        arrays = [a, b] if text.count(",") == 1 else [a, a, a, b]
        plain = [x, y] if text.count(",") == 1 else [x, x, x, y]
        np.testing.assert_allclose(
            mx.np.einsum(text, *arrays).asnumpy(), np.einsum(text, *plain), atol=1e-12
        )

"""Sorting, searching, counting, sums of products: what NumPy says."""

from __future__ import annotations

from typing import Any

import numpy as onp
import pytest

from minimx import np
from minimx.core import autograd
from minimx.core.errors import DTypeError, MXNetError, OperatorError, ShapeError

X = onp.array([[3.0, 1.0, 2.0], [0.0, 5.0, 5.0]], "float32")


def same(found: Any, expected: Any) -> None:
    assert found.shape == onp.shape(expected)
    onp.testing.assert_allclose(found.asnumpy(), expected, rtol=1e-6)


@pytest.mark.parametrize("axis", [0, 1, -1, None])
def test_order(axis: Any) -> None:
    same(np.sort(np.array(X), axis), onp.sort(X, axis))
    places = np.argsort(np.array(X), axis)
    assert places.dtype == onp.int64
    same(places, onp.argsort(X, axis, kind="stable"))


def test_take() -> None:
    x, places = np.array(X), np.array([[0, 2]], dtype="int64")
    same(np.take(x, places, axis=1), onp.take(X, [[0, 2]], axis=1))
    same(np.take(x, 4), onp.take(X, 4))
    same(np.take(x, np.array([-1, 7]), mode="wrap"), onp.take(X, [-1, 7], mode="wrap"))
    with pytest.raises(OperatorError, match="does not exist"):
        np.take(x, np.array([9])).asnumpy()
    rows = np.argsort(x, 1)
    same(np.take_along_axis(x, rows, 1), onp.sort(X, 1))
    same(
        np.take_along_axis(x, rows[:1], 1),
        onp.take_along_axis(X, rows[:1].asnumpy(), 1),
    )


def test_places_of_what_is_not_zero() -> None:
    x = np.array(X)
    for mine, its in zip(np.nonzero(x), onp.nonzero(X), strict=True):
        same(mine, its)
    same(np.argwhere(x), onp.argwhere(X))
    same(np.flatnonzero(x), onp.flatnonzero(X))
    assert np.nonzero(np.array(3.0))[0].tolist() == [0]
    assert np.nonzero(np.zeros((0, 2)))[0].shape == (0,)


def test_sets() -> None:
    values, first, inverse, counts = np.unique(np.array(X), True, True, True)
    same(values, onp.unique(X))
    assert (inverse.shape, first.dtype, counts.tolist()) == (
        (6,),
        onp.int64,
        [1] * 4 + [2],
    )
    same(np.unique(np.array([[1, 1], [1, 1]]), axis=0), [[1.0, 1.0]])
    assert np.unique_counts(np.array(X))[1].sum() == 6
    assert np.unique_inverse(np.array(X))[1].shape == (2, 3)


def test_counts() -> None:
    numbers = np.array([0, 3, 3], dtype="int32")
    assert np.bincount(numbers, minlength=5).tolist() == [1, 0, 0, 2, 0]
    assert np.bincount(numbers, np.array([0.5, 1, 2])).tolist() == [0.5, 0, 0, 3]
    with pytest.raises(DTypeError):
        np.bincount(np.ones((2,)))
    counts, edges = np.histogram(np.array(X), bins=5, range=(0, 5))
    expected = onp.histogram(X, 5, (0, 5))
    same(counts, expected[0])
    same(edges, expected[1])


@pytest.mark.parametrize("method", ["linear", "lower", "higher", "midpoint", "nearest"])
def test_percentiles(method: Any) -> None:
    x = np.array(X)
    found = np.percentile(x, np.array([25, 60]), 0, interpolation=method)
    same(found, onp.percentile(X, [25, 60], 0, method=method))
    found = np.quantile(x, 0.3, interpolation=method, keepdims=True)
    same(found, onp.quantile(X, 0.3, method=method, keepdims=True))
    assert np.median(x).item() == 2.5
    with pytest.raises(OperatorError, match="between 0 and 100"):
        np.percentile(x, np.array([101.0])).asnumpy()


def test_places_as_one_number() -> None:
    found = np.unravel_index(np.array([1, 5], dtype="int64"), (2, 3))
    assert [row.tolist() for row in found] == [[0, 1], [1, 2]]
    assert np.ravel_multi_index(found, (2, 3)).tolist() == [1, 5]
    assert np.unravel_index(5, (2, 3)) == (1, 2)


def test_differences_and_polynomials() -> None:
    x = np.array(X)
    same(np.diff(x, 2, 1), onp.diff(X, 2, 1))
    same(np.diff(x, append=9), onp.diff(X, append=onp.float32(9)))
    same(np.ediff1d(x, 7, np.array([1, 2])), onp.ediff1d(X, 7, [1, 2]))
    p, at = np.array([2.0, -1.0, 3.0]), np.array([0.5, 2.0])
    p.attach_grad()
    with autograd.record():
        np.polyval(p, at).sum().backward()
    assert p.grad.tolist() == [4.25, 2.5, 2]


def test_sums_of_products() -> None:
    a, b = onp.random.default_rng(0).random((2, 3, 4)), onp.ones((4, 3))
    mine, other = np.array(a), np.array(b)
    same(np.einsum("ijk,kj->i", mine, other), onp.einsum("ijk,kj->i", a, b))
    same(np.tensordot(mine, other, ([2, 1], [0, 1])), a.sum((1, 2)))
    same(np.tensordot(mine, other, 1), onp.tensordot(a, b, 1))
    same(np.tensordot(mine, other, (2, 0)), onp.tensordot(a, b, (2, 0)))
    with pytest.raises(ShapeError, match="einsum"):
        np.einsum("ij,jk", mine, other)
    with pytest.raises(OperatorError, match="operands"):
        np.einsum("ij,jk", other)


def test_second_derivative_of_einsum() -> None:
    x = np.array([1.0, 2.0, 3.0])
    x.attach_grad()
    with autograd.record():
        y = np.einsum("i,i,i->", x, x, x)
        (slope,) = autograd.grad(y, [x], create_graph=True)
        slope.sum().backward()
    assert x.grad.tolist() == [6, 12, 18]


def test_windows() -> None:
    for name in ("hanning", "hamming", "blackman"):
        found = getattr(np, name)(7)
        assert found.dtype == onp.float32
        onp.testing.assert_allclose(found.asnumpy(), getattr(onp, name)(7), atol=1e-7)


def test_what_numpy_computes() -> None:
    assert np.interp(np.array([0.5]), np.array([0, 1]), np.array([0, 4])).tolist() == [
        2
    ]
    assert np.allclose(np.ones((2,)), np.ones((2,)))
    assert "interp" in np.fallback.__all__
    x = np.ones((2,))
    x.attach_grad()
    with autograd.record(), pytest.raises(MXNetError, match="no gradient"):
        np.interp(x, np.array([0, 1]), np.array([0, 4]))

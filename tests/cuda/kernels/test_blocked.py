"""Matrices that are cut into blocks, against those of one block and NumPy's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minimx as mx
from minimx.core.errors import DeviceError
from minimx.cuda import toolkit
from minimx.cuda.kernels import recording
from minimx.cuda.kernels.arrays import blocked, rotations

GPU = mx.gpu(0)
#: Sides that are cut into blocks, and the last one of which is not full.
SIDES = (7, 9, 11) if toolkit.simulated() else (257, 300, 449)


def there(*arrays: Any) -> list[Any]:
    return [mx.nd.array(x, ctx=GPU, dtype=np.asarray(x).dtype) for x in arrays]


def matrices(*shape: int) -> Any:
    return np.random.default_rng(3).normal(size=shape)


def positive(count: int, side: int) -> Any:
    a = matrices(count, side, side)
    return a @ a.swapaxes(1, 2) + side * np.eye(side)


def both(
    monkeypatch: pytest.MonkeyPatch, call: Callable[[], Any]
) -> tuple[list[Any], list[Any]]:
    """The outputs of a call in blocks, and by one block."""
    found = []
    for large in (blocked.LARGE, 1 << 30):
        monkeypatch.setattr(blocked, "LARGE", large)
        outs = call()
        outs = outs if isinstance(outs, list | tuple) else [outs]
        found.append([out.asnumpy() for out in outs])
    return found[0], found[1]


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("lower", [True, False])
def test_cholesky_in_blocks(
    side: int, lower: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    s = positive(2, side)
    upper_half = np.triu(np.full((side, side), np.nan), 1)
    (x,) = there(s + (upper_half if lower else upper_half.T))  # is not read
    (large,), (small,) = both(monkeypatch, lambda: mx.nd.linalg.potrf(x, lower=lower))
    np.testing.assert_allclose(large, small, rtol=1e-12, atol=1e-10)
    its = np.linalg.cholesky(s)
    its = its if lower else its.swapaxes(1, 2)
    np.testing.assert_allclose(large, its, rtol=1e-12, atol=1e-10)


@pytest.mark.parametrize("lower", [True, False])
@pytest.mark.parametrize("where", [0, 4, SIDES[1] - 2])
def test_columns_are_nan_from_the_one_on_that_has_no_root(
    where: int, lower: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    side = SIDES[1]
    s = positive(1, side)[0]
    s[where, where] = -1
    (x,) = there(np.stack([s, np.eye(side)]))
    (large,), (small,) = both(monkeypatch, lambda: mx.nd.linalg.potrf(x, lower=lower))
    np.testing.assert_array_equal(np.isnan(large), np.isnan(small))
    factor = large[0] if lower else large[0].T
    assert np.isnan(factor[where:, where:][np.tril_indices(side - where)]).all()
    np.testing.assert_allclose(
        factor[:where, :where], np.linalg.cholesky(s[:where, :where]), atol=1e-10
    )
    np.testing.assert_array_equal(large[1], np.eye(side))


@pytest.mark.parametrize("lower", [True, False])
@pytest.mark.parametrize("rightside", [True, False])
@pytest.mark.parametrize("transpose", [True, False])
@pytest.mark.parametrize("width", [1, 5])
def test_triangular_systems_in_blocks(
    width: int,
    transpose: bool,
    rightside: bool,
    lower: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    side = SIDES[width % 2]
    a = matrices(2, side, side) / side + 2 * np.eye(side)
    b = matrices(2, *((width, side) if rightside else (side, width)))
    triangle = np.tril(a) if lower else np.triu(a)
    op = triangle.swapaxes(1, 2) if transpose else triangle
    settings: dict[str, Any] = {
        "transpose": transpose,
        "rightside": rightside,
        "lower": lower,
    }
    x, y = there(a, b)
    (large,), (small,) = both(
        monkeypatch, lambda: mx.nd.linalg.trsm(x, y, alpha=1.5, **settings)
    )
    np.testing.assert_allclose(large, small, rtol=1e-12, atol=1e-12)
    found = large @ op if rightside else op @ large
    np.testing.assert_allclose(found, 1.5 * b, rtol=1e-12, atol=1e-12)


def test_an_answer_in_blocks_may_be_written_over_a_question() -> None:
    side = SIDES[1]
    pair = [x / side + 2 * np.eye(side) for x in matrices(2, side, side)]
    for which in (0, 1):
        inputs = there(*pair)
        mx.nd.linalg.trsm(*inputs, out=inputs[which])
        its = np.linalg.solve(np.tril(pair[0]), pair[1])
        np.testing.assert_allclose(inputs[which].asnumpy(), its, atol=1e-12)
    (x,) = there(positive(1, side))
    its = np.linalg.cholesky(x.asnumpy())
    mx.nd.linalg.potrf(x, out=x)
    np.testing.assert_allclose(x.asnumpy(), its, atol=1e-12)


@pytest.mark.parametrize("width", [1, 6])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_systems_and_determinants_in_blocks(
    dtype: str, width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    side, close = SIDES[width % 2], 1e-3 if dtype == "float32" else 1e-10
    a, b = matrices(2, side, side), matrices(2, side, width)
    a[1] = np.eye(side)[::-1] * 2  # every row changes its place
    if dtype == "float32":  # no large condition number
        a[0] = a[0] / (4 * side**0.5) + np.roll(np.eye(side), 3, 0)
    x, y = (mx.np.array(z, ctx=GPU, dtype=dtype) for z in (a, b))
    (large,), (small,) = both(monkeypatch, lambda: mx.np.linalg.solve(x, y))
    np.testing.assert_allclose(large, small, rtol=close, atol=close)
    np.testing.assert_allclose(large, np.linalg.solve(a, b), rtol=close, atol=close)
    (large,), (small,) = both(monkeypatch, lambda: mx.np.linalg.inv(x))
    np.testing.assert_allclose(large, small, rtol=close, atol=close)
    np.testing.assert_allclose(large, np.linalg.inv(a), rtol=close, atol=close)
    signs, sizes = both(monkeypatch, lambda: mx.np.linalg.slogdet(x))[0]
    its = np.linalg.slogdet(a)
    np.testing.assert_array_equal(signs, its[0])
    np.testing.assert_allclose(sizes, its[1], rtol=close, atol=close)


def test_singular_matrices_in_blocks_give_what_small_ones_give(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    side = SIDES[0]
    good, singular = np.eye(side), np.ones((side, side))
    (x,) = there(np.stack([singular, good, 2 * singular]))
    (large,), (small,) = both(monkeypatch, lambda: mx.nd.linalg.inverse(x))
    np.testing.assert_array_equal(large, small)
    assert np.isnan(large[[0, 2]]).all()
    np.testing.assert_array_equal(large[1], good)
    (zeros,) = both(monkeypatch, lambda: mx.nd._inverse_or_zeros(x))[0]
    np.testing.assert_array_equal(zeros, [0 * good, good, 0 * good])
    outs = both(monkeypatch, lambda: mx.nd.linalg.slogdet(x))[0]
    assert [out.tolist() for out in outs] == [[0, 1, 0], [-np.inf, 0, -np.inf]]
    # Equal pivots: the first row is chosen, in blocks as well.
    (tied,) = there(np.where(np.tri(side) > 0, 1.0, -1.0)[None])
    (large,), (small,) = both(monkeypatch, lambda: mx.nd.linalg.inverse(tied))
    np.testing.assert_allclose(large, small, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("shape", [(0, 2), (1, 0), (1, 1)])
def test_rows_are_made_orthonormal_one_by_one(
    shape: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    a = matrices(2, *(SIDES[which] for which in sorted(shape)))
    a[1, 0] = 0
    a[1, 0, 0] = -2  # a row that needs no mirror keeps its sign
    (x,) = there(a)
    (q, low), (its, other) = both(monkeypatch, lambda: mx.nd.linalg.gelqf(x))
    np.testing.assert_allclose(q, its, atol=1e-11)
    np.testing.assert_allclose(low, other, atol=1e-11)
    np.testing.assert_allclose(low @ q, a, atol=1e-11)
    np.testing.assert_allclose(q @ q.swapaxes(1, 2), [np.eye(q.shape[1])] * 2,
                               atol=1e-12)  # fmt: skip


@pytest.mark.parametrize("side", SIDES[:2])
def test_eigenvectors_of_large_matrices(side: int) -> None:
    plain = matrices(2, side, side)
    plain[1] = np.diag(np.arange(side) % 3 - 1.0) + np.eye(side)[::-1]  # values repeat
    a = np.tril(plain) + np.tril(plain, -1).swapaxes(1, 2)
    calls = [mx.nd.linalg.syevd(*there(plain)) for _ in range(2)]
    (u, values), again = ([x.asnumpy() for x in outs] for outs in calls)
    np.testing.assert_array_equal(u, again[0])  # the same to the bit
    np.testing.assert_allclose(values, np.linalg.eigvalsh(a), atol=1e-10)
    np.testing.assert_allclose(u @ u.swapaxes(1, 2), [np.eye(side)] * 2, atol=1e-10)
    found = u.swapaxes(1, 2) @ (values[..., None] * u)
    np.testing.assert_allclose(found, a, atol=1e-10)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("turned", [True, False])
def test_singular_vectors_of_large_matrices(turned: bool, dtype: str) -> None:
    shape = SIDES[:2] if turned else SIDES[1::-1]
    a, k, close = matrices(3, *shape), SIDES[0], 1e-10 if dtype == "float64" else 1e-4
    a[1, :, -1], a[1, -1] = 0, 0  # of a lower rank
    a[2, 1, 1] = np.nan
    x = mx.np.array(a, ctx=GPU, dtype=dtype)
    u, values, v = (out.asnumpy() for out in mx.np.linalg.svd(x))
    assert all(np.isnan(out[2]).all() for out in (u, values, v))
    a, u, values, v = (out[:2] for out in (a, u, values, v))
    np.testing.assert_allclose(values, np.linalg.svd(a)[1], atol=close)
    np.testing.assert_allclose(u * values[:, None] @ v, a, atol=close)
    np.testing.assert_allclose(u.swapaxes(1, 2) @ u, [np.eye(k)] * 2, atol=close)
    np.testing.assert_allclose(v @ v.swapaxes(1, 2), [np.eye(k)] * 2, atol=close)


@pytest.mark.usefixtures("working")
def test_rounds_whose_number_the_host_decides_are_not_recorded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(recording._thread, "writes", True, raising=False)
    side = SIDES[0]
    a = np.eye(side)
    with pytest.raises(DeviceError, match="which a CUDA graph must not"):
        rotations.syevd(a, a.copy(), np.zeros(side))

"""`np.linalg`: factors multiply back, inverses invert, gradients are slopes."""

from __future__ import annotations

from math import inf
from typing import Any

import numpy as onp
import pytest

from minimx import np
from minimx.core import autograd
from minimx.core.errors import MXNetError, OperatorError, ShapeError

RNG = onp.random.default_rng(5)
STACK = RNG.normal(size=(2, 3, 3)).astype("float32") + 3 * onp.eye(3, dtype="float32")
SYMMETRIC = (STACK @ STACK.transpose(0, 2, 1)).astype("float32")


def close(found: Any, expected: Any, slack: float = 1e-4) -> None:
    assert found.shape == onp.shape(expected)
    onp.testing.assert_allclose(found.asnumpy(), expected, rtol=slack, atol=slack)


@pytest.mark.parametrize("shape", [(3, 5), (5, 3), (4, 4), (2, 3, 4), (0, 3, 4)])
def test_factors_multiply_back(shape: Any) -> None:
    numbers = RNG.normal(size=shape).astype("float32")
    a = np.array(numbers)
    u, values, v = np.linalg.svd(a)
    close(
        np.matmul(u * values.reshape((*values.shape[:-1], 1, -1)), v) if a.size else a,
        numbers,
    )
    close(values, onp.linalg.svd(numbers, compute_uv=False))
    q, r = np.linalg.qr(a)
    close(np.matmul(q, r) if a.size else a, numbers)


def test_symmetric_matrices() -> None:
    a = np.array(SYMMETRIC)
    low = np.linalg.cholesky(a)
    close(np.matmul(low, low.transpose(0, 2, 1)), SYMMETRIC, 1e-3)
    for half in ("L", "U"):
        values, vectors = np.linalg.eigh(a, half)
        close(values, onp.linalg.eigvalsh(SYMMETRIC), 1e-3)
        close(
            np.matmul(a, vectors), (vectors * values.reshape(2, 1, 3)).asnumpy(), 1e-3
        )
        close(np.linalg.eigvalsh(a, half), onp.linalg.eigvalsh(SYMMETRIC), 1e-3)


def test_inverses_and_equations() -> None:
    a, b = np.array(STACK), np.array(STACK[:, :, :2])
    one = onp.broadcast_to(onp.eye(3), (2, 3, 3))
    close(np.matmul(np.linalg.inv(a), a), one)
    close(np.matmul(np.linalg.pinv(a), a), one)
    close(np.linalg.solve(a, b), onp.linalg.solve(STACK, STACK[:, :, :2]))
    close(np.linalg.solve(a[0], b[0, :, 0]), [1, 0, 0])
    close(np.linalg.det(a), onp.linalg.det(STACK))
    assert np.linalg.det(a[0]).shape == ()
    for mine, its in zip(np.linalg.slogdet(a), onp.linalg.slogdet(STACK), strict=True):
        close(mine, its)
    close(np.linalg.matrix_power(a, 3), STACK @ STACK @ STACK, 1e-3)
    close(np.linalg.matrix_power(a, 0), one)
    close(np.linalg.matrix_power(a, -1), onp.linalg.inv(STACK))
    close(
        np.linalg.multi_dot([a[0], a[1], a[0, 0]]),
        STACK[0] @ STACK[1] @ STACK[0, 0],
        1e-3,
    )
    assert np.linalg.matrix_rank(np.ones((3, 3))).item() == 1
    close(np.linalg.cond(a), onp.linalg.cond(STACK))
    close(np.linalg.lstsq(a[0], a[0, :, 1])[0], [0, 1, 0])


def test_tensors_as_matrices() -> None:
    numbers = RNG.normal(size=(2, 3, 6)).astype("float64")
    a = np.array(numbers)
    close(np.linalg.tensorinv(a, 2), onp.linalg.tensorinv(numbers, 2))
    b = onp.ones((2, 3))
    close(np.linalg.tensorsolve(a, np.array(b)), onp.linalg.tensorsolve(numbers, b))
    turned = numbers.transpose(0, 2, 1)
    found = np.linalg.tensorsolve(np.array(turned), np.array(b), axes=(1,))
    close(found, onp.linalg.tensorsolve(turned, b, axes=(1,)))


@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize(
    ("order", "axis"),
    [
        (None, None), (None, 1), (2, 1), (1, 0), (0, 2), (3, 1), (-1, 2), (inf, 0),
        (-inf, 0), ("fro", (0, 2)), ("nuc", (2, 1)), (1, (0, 1)), (-1, (2, 0)),
        (inf, (1, 2)), (2, (1, 2)), (-2, (0, 1)),
    ],
)  # fmt: skip
def test_norms(order: Any, axis: Any, keepdims: bool) -> None:
    numbers = RNG.normal(size=(2, 3, 4)).astype("float32")
    found = np.linalg.norm(np.array(numbers), order, axis, keepdims)
    close(found, onp.linalg.norm(numbers, order, axis, keepdims))


def test_names_of_norms() -> None:
    x = np.array([[3.0, -4.0]])
    assert np.linalg.norm(x, "inf", axis=1).item() == 4
    with pytest.raises(ValueError, match="for matrices"):
        np.linalg.norm(x, "fro", axis=1)
    with pytest.raises(ValueError, match="not one of a matrix"):
        np.linalg.norm(x, 3, axis=(0, 1))


@pytest.mark.parametrize(
    "function",
    [
        lambda a: np.linalg.norm(a, "nuc"),
        lambda a: np.linalg.pinv(a),
        lambda a: np.linalg.qr(a)[1],
        lambda a: np.linalg.qr(a[:2])[0],
        lambda a: np.linalg.eigh(np.matmul(a, a.T))[0],
        lambda a: np.linalg.matrix_power(a, -2),
    ],
)
def test_gradient_is_the_slope(function: Any) -> None:
    numbers = STACK[0].astype("float64")
    a = np.array(numbers)
    a.attach_grad()
    with autograd.record():
        y = function(a)
        weights = np.arange(1, y.size + 1, dtype="float64").reshape(y.shape)
        (y * weights).sum().backward()
    for place in ((0, 0), (2, 1)):
        step = onp.zeros_like(numbers)
        step[place] = 1e-6
        ends = [
            (function(np.array(numbers + s)) * weights).sum() for s in (step, -step)
        ]
        slope = (ends[0] - ends[1]).item() / 2e-6
        assert a.grad[place].item() == pytest.approx(slope, rel=1e-4, abs=1e-6)


def test_what_lapack_refuses_comes_where_somebody_waits() -> None:
    singular = np.zeros((2, 2))
    promises = [
        np.linalg.inv(singular),
        np.linalg.solve(singular, np.ones((2,))),
        np.linalg.cholesky(-np.ones((2, 2))),
        np.linalg.eigvals(np.array([[0, 1], [-1, 0]])),
    ]
    for promise in promises:
        with pytest.raises(OperatorError):
            promise.asnumpy()
    with pytest.raises(ShapeError, match="square"):
        np.linalg.det(np.ones((2, 3)))
    with pytest.raises(MXNetError):
        np.linalg.solve(np.ones((3, 3)), np.ones((2,)))

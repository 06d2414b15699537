"""Linear algebra where one operator's answer is another one's question."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minimx as mx
from minimx import nd
from minimx.core import autograd
from minimx.operators.kernels.arrays import linalg as kernels

linalg: Any = nd.linalg


def matrices(*shape: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed).uniform(-1, 1, shape)


def symmetric(x: Any) -> Any:
    return linalg.syrk(x) + nd.array(np.eye(x.shape[-1]), dtype="float64")


def lower(x: Any) -> Any:
    return linalg.maketrian(linalg.extracttrian(x)) + nd.array(
        2 * np.eye(x.shape[-1]), dtype="float64"
    )


def numbers_of(found: Any, weights: list[Any]) -> Any:
    outs = found if isinstance(found, list) else [found]
    return sum((out * w).sum() for out, w in zip(outs, weights, strict=True))


CALLS: dict[str, Callable[[Any], Any]] = {
    "potrf": lambda x: linalg.potrf(symmetric(x)),
    "potrf upper": lambda x: linalg.potrf(symmetric(x), lower=False),
    "potri upper": lambda x: linalg.potri(lower(x).swapaxes(1, 2), lower=False),
    "potri": lambda x: linalg.potri(lower(x)),
    "potri of potrf": lambda x: linalg.potri(linalg.potrf(symmetric(x))),
    "syevd": lambda x: linalg.syevd(symmetric(x)),
    "gelqf": linalg.gelqf,
    "trsm": lambda x: linalg.trsm(lower(x), x, transpose=True),
    "inverse": lambda x: linalg.inverse(symmetric(x)),
    "det": linalg.det,
    "slogdet": lambda x: linalg.slogdet(symmetric(x))[1],
    "sumlogdiag": lambda x: linalg.sumlogdiag(linalg.potrf(symmetric(x))),
}


def slope(f: Callable[[Any], float], x: Any, step: float = 1e-5) -> Any:
    out = np.empty(x.size)
    for i in range(x.size):
        sides = []
        for move in (step, -step):
            moved = x.copy()
            moved.reshape(-1)[i] += move
            sides.append(f(moved))
        out[i] = (sides[0] - sides[1]) / (2 * step)
    return out.reshape(x.shape)


@pytest.mark.parametrize("name", CALLS)
def test_gradient_is_the_slope_and_so_is_its_own(name: str) -> None:
    call, x0 = CALLS[name], matrices(2, 3, 3)
    x = nd.array(x0, dtype="float64")
    found = call(x)
    outs = found if isinstance(found, list) else [found]
    weights = [
        nd.array(matrices(*out.shape, seed=k + 5), dtype="float64")
        for k, out in enumerate(outs)
    ]

    def total(numbers: Any) -> float:
        made = numbers_of(call(nd.array(numbers, dtype="float64")), weights)
        return float(made.asnumpy().sum())

    def gradient(numbers: Any) -> Any:
        y = nd.array(numbers, dtype="float64")
        y.attach_grad()
        with autograd.record():
            z = numbers_of(call(y), weights)
        z.backward()
        return y.grad.asnumpy()

    np.testing.assert_allclose(gradient(x0), slope(total, x0), rtol=1e-4, atol=1e-6)
    x.attach_grad()
    direction = matrices(2, 3, 3, seed=9)
    with autograd.record():
        z = numbers_of(call(x), weights)
        (first,) = autograd.grad(z, [x], create_graph=True, retain_graph=True)
        along = (first * nd.array(direction, dtype="float64")).sum()
    along.backward()
    second = slope(lambda y: float((gradient(y) * direction).sum()), x0)
    np.testing.assert_allclose(x.grad.asnumpy(), second, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("library", [True, False])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", [(1, 1), (100, 5), (3, 40, 7), (4, 3, 2), (0, 3, 2)])
def test_triangles_are_solved_from_each_side(
    shape: tuple[int, ...], dtype: str, library: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not library:  # a NumPy whose BLAS cannot be found
        monkeypatch.setattr(kernels, "_blas_solver", lambda dtype: None)
    *stack, rows, _ = shape
    # The other triangle holds numbers as well: it is not read.
    a = matrices(*stack, rows, rows) + 2 * rows * np.eye(rows)
    close = 1e-4 if dtype == "float32" else 1e-10
    for transpose, rightside, lower in np.ndindex(2, 2, 2):
        b = matrices(*stack, *((shape[-1], rows) if rightside else shape[-2:]), seed=1)
        found = linalg.trsm(
            nd.array(a, dtype=dtype), nd.array(b, dtype=dtype), transpose=transpose,
            rightside=rightside, lower=lower, alpha=0.5,
        )  # fmt: skip
        triangle = np.tril(a) if lower else np.triu(a)
        turned = np.swapaxes(triangle, -1, -2) if transpose else triangle
        solved = found.asnumpy()
        product = solved @ turned if rightside else turned @ solved
        np.testing.assert_allclose(product, 0.5 * b, rtol=close, atol=close)


@pytest.mark.parametrize("which", [0, 1])
@pytest.mark.parametrize("rows", [5, 40])
def test_a_solution_may_be_written_over_an_input(which: int, rows: int) -> None:
    a, b = matrices(2, rows, rows)
    a += 2 * rows * np.eye(rows)
    pair = [nd.array(x, dtype="float64") for x in (a, b)]
    linalg.trsm(*pair, out=pair[which])
    solved = np.linalg.solve(np.tril(a), b)
    np.testing.assert_allclose(pair[which].asnumpy(), solved, atol=1e-12)
    same = nd.array(a, dtype="float64")
    linalg.potri(same, out=same)
    inverse = np.linalg.inv(np.tril(a))
    np.testing.assert_allclose(same.asnumpy(), inverse.T @ inverse, atol=1e-12)


@pytest.mark.parametrize("which", [0, 1])
def test_a_product_may_be_written_over_a_factor(which: int) -> None:
    pair = matrices(2, 40, 40)
    calls: Any = nd.dot, linalg.gemm2, linalg.trmm
    for call in calls:
        factors = [nd.array(x, dtype="float64") for x in pair]
        expected = call(*factors).asnumpy()
        call(*factors, out=factors[which])
        np.testing.assert_allclose(factors[which].asnumpy(), expected, atol=1e-12)


@pytest.mark.parametrize(
    ("name", "matrix"),
    [
        ("potrf", -np.eye(2)),
        ("inverse", np.ones((2, 2))),
        ("potri", np.zeros((2, 2))),
        ("potri", np.zeros((3, 40, 40))),
    ],
)
def test_a_matrix_that_cannot_be_is_refused_at_the_wait(name: str, matrix: Any) -> None:
    found = getattr(linalg, name)(nd.array(matrix))
    with pytest.raises(mx.base.MXNetError, match=f"linalg.{name}: the matrix"):
        found.wait_to_read()


def test_a_singular_matrix_has_a_determinant_and_no_gradient() -> None:
    x = nd.array([np.ones((2, 2)), [[2.0, 1.0], [1.0, 3.0]]])
    x.attach_grad()
    with autograd.record():
        y = linalg.det(x)
    y.backward()
    np.testing.assert_allclose(y.asnumpy(), [0, 5], atol=1e-6)
    np.testing.assert_allclose(
        x.grad.asnumpy(), np.array([np.zeros((2, 2)), [[3, -1], [-1, 2]]]), atol=1e-5
    )
    sign, logarithm = linalg.slogdet(x)
    assert sign.asnumpy().tolist() == [0, 1]
    assert logarithm.asnumpy()[0] == -np.inf


def test_only_square_matrices_of_real_numbers_are_taken() -> None:
    with pytest.raises(ValueError, match="square"):
        linalg.det(nd.ones((2, 3)))
    with pytest.raises(TypeError, match="float32"):
        linalg.potrf(nd.ones((2, 2), dtype="int32"))
    with pytest.raises(ValueError, match="triangle"):
        linalg.maketrian(nd.ones((4,)))


@pytest.mark.parametrize("n", [1, 2, 5, 40, 600])
def test_triangles_and_diagonals_are_read_in_their_order(n: int) -> None:
    x = np.arange(2 * n * n, dtype="float32").reshape(2, n, n)
    array = nd.array(x)
    for offset in {-(n - 1), -(n // 2), 0, n // 2, n - 1}:
        for low in (True, False):
            upper = offset > 0 or (offset == 0 and not low)
            rows, columns = np.tril_indices(n, -offset if upper else offset)
            place = (..., columns, rows) if upper else (..., rows, columns)
            found = linalg.extracttrian(array, offset=offset, lower=low)
            assert (found.asnumpy() == x[place]).all()
            made = linalg.maketrian(found, offset=offset, lower=low).asnumpy()
            wanted = np.zeros_like(x)
            wanted[place] = x[place]
            assert (made == wanted).all()
        line = linalg.extractdiag(array, offset=offset)
        assert (line.asnumpy() == np.diagonal(x, offset, 1, 2)).all()
        made = linalg.makediag(line, offset=offset).asnumpy()
        assert (made == x * np.eye(n, k=offset, dtype="float32")).all()

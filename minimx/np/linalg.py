"""`mx.np.linalg`: linear algebra on matrices and on stacks of them.

Matrices are the last two axes of an array. Computation is in float32 or float64; other
types are converted to float32 first. What LAPACK refuses (a singular matrix, one that
is not positive definite) is raised where the numbers are waited for. Gradients flow
through everything but `eig`, `eigvals`, `lstsq` and `matrix_rank`.
"""

from __future__ import annotations

from math import inf, prod
from typing import Any

import numpy as onp

from minimx.core.dtypes import FLOAT32, FLOAT64
from minimx.core.errors import ArgumentError, ShapeError
from minimx.core.shapes import normalize_axis
from minimx.np.calling.calls import arrays_of, as_tuple, call, whole
from minimx.np.calling.fallback_linalg import lstsq, matrix_rank
from minimx.np.calling.promotion import cast, real
from minimx.np.moving import diagonal, matrix_transpose, trace
from minimx.np.multiarray import as_ndarray, ndarray
from minimx.np.products import cross, matmul, outer
from minimx.np.reductions import max as np_max
from minimx.np.reductions import min as np_min
from minimx.np.reductions import sum as np_sum
from minimx.np.sums import tensordot


def _matrices(a: Any, who: str, square: bool = False) -> ndarray:
    """A stack of matrices of numbers that LAPACK knows: float32 or float64."""
    a = as_ndarray(a, who)
    a = cast(a, a.spec.dtype if a.spec.dtype == FLOAT64 else FLOAT32)
    if a.ndim < 2 or (square and a.shape[-1] != a.shape[-2]):
        what = "square matrices" if square else "matrices"
        raise ShapeError(
            f"linalg.{who}: {a.shape} is no stack of {what}; the last two axes are "
            "those of a matrix."
        )
    return a


# -- norms -----------------------------------------------------------------------------


def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> ndarray:  # noqa: A002
    """The length of vectors, or the size of matrices.

    axis: one for vectors, two for matrices; None takes the whole array, which must have
    one or two axes if `ord` is given.
    ord: for vectors any number p, (Σ |x|^p)^(1/p), with 0 for how many are not 0, inf
    and -inf for the largest and smallest; for matrices "fro", "nuc", 1, -1, inf, -inf
    (sums of columns and rows), 2, -2 (singular values).
    """
    x = as_ndarray(x, "norm", "x")
    x = cast(x, real(x.spec.dtype))
    ord = {"inf": inf, "-inf": -inf}.get(ord, ord) if isinstance(ord, str) else ord  # noqa: A001
    if axis is None:
        axes = tuple(range(x.ndim))
        if ord is None:
            return _root(np_sum(x * x, axis=axes or None, keepdims=keepdims))
    else:
        axes = tuple(normalize_axis("norm", k, x.ndim) for k in as_tuple(axis))
    if len(axes) == 1:
        return _vector_norm(x, ord, axes[0], keepdims)
    if len(axes) == 2 and axes[0] != axes[1]:
        return _matrix_norm(x, ord, axes, keepdims)
    raise ValueError(
        f"linalg.norm: axis={axis} of shape {x.shape}: give one axis for vectors or "
        "two for matrices."
    )


def _root(x: Any) -> ndarray:
    return call("sqrt", x)


def _vector_norm(x: Any, ord: Any, axis: int, keepdims: bool) -> ndarray:  # noqa: A002
    over: dict[str, Any] = {"axis": axis, "keepdims": keepdims}
    if ord is None or ord == 2:
        return _root(np_sum(x * x, **over))
    if isinstance(ord, str):
        raise ValueError(f"linalg.norm: ord={ord!r} is for matrices; give two axes.")
    size = call("abs", x)
    if ord == inf:
        return np_max(size, **over)
    if ord == -inf:
        return np_min(size, **over)
    if ord == 0:
        return np_sum(cast(x != 0, x.spec.dtype), **over)
    if ord == 1:
        return np_sum(size, **over)
    return np_sum(size**ord, **over) ** (1.0 / ord)


def _matrix_norm(x: Any, ord: Any, axes: Any, keepdims: bool) -> Any:  # noqa: A002
    row, column = axes
    if ord is None or ord == "fro":
        return _root(np_sum(x * x, axis=axes, keepdims=keepdims))
    if ord in (1, -1, inf, -inf):
        inside, outside = (row, column) if abs(ord) == 1 else (column, row)
        sums = np_sum(call("abs", x), axis=inside, keepdims=True)
        choose = np_max if ord > 0 else np_min
        found = choose(sums, axis=outside, keepdims=True)
    elif ord in (2, -2, "nuc"):
        turned = call("_np_moveaxis", x, source=axes, destination=(-2, -1))
        values = svdvals(turned)
        over: Any = {2: np_max, -2: np_min, "nuc": np_sum}[ord]
        found = over(values, axis=-1)
    else:
        raise ValueError(
            f"linalg.norm: ord={ord!r} is not one of a matrix: fro, nuc, 1, -1, 2, -2, "
            "inf, -inf."
        )
    kept = [1 if k in axes else n for k, n in enumerate(x.shape)]
    dropped = [n for k, n in enumerate(x.shape) if k not in axes]
    return found.reshape_view(kept if keepdims else dropped)


# -- factorisations --------------------------------------------------------------------


def svd(a: Any) -> tuple[ndarray, ndarray, ndarray]:
    """U, L, V with a = U · diag(L) · V: orthonormal columns in U and rows in V.

    a (..., m, n); U (..., m, k), L (..., k) descending, V (..., k, n), k = min(m, n)
    """
    u, values, v = call("_npi_svd", _matrices(a, "svd"))
    return u, values, v


def svdvals(x: Any) -> ndarray:
    """The singular values, descending. x (..., m, n); result (..., min(m, n))."""
    return svd(x)[1]


def cholesky(a: Any) -> ndarray:
    """The lower triangle L with a = L · Lᵀ, for a symmetric, positive definite a."""
    return call("_linalg_potrf", _matrices(a, "cholesky", square=True))


def qr(a: Any, mode: str = "reduced") -> tuple[ndarray, ndarray]:
    """Q, R with a = Q · R: orthonormal columns in Q, an upper triangle R.

    a (..., m, n); Q (..., m, k), R (..., k, n) with k = min(m, n)
    """
    a = _matrices(a, "qr")
    if mode != "reduced":
        raise ArgumentError(
            f"linalg.qr: mode={mode!r} is not available; use 'reduced'."
        )
    m, n = a.shape[-2:]
    square = a[..., :m] if n > m else a
    rows, lower = call("_linalg_gelqf", matrix_transpose(square))
    q = matrix_transpose(rows)
    if n > m:
        return q, matmul(rows, a)
    return q, matrix_transpose(lower)


def eigh(a: Any, UPLO: str = "L") -> tuple[ndarray, ndarray]:  # noqa: N803 (NumPy's name)
    """Eigenvalues, ascending, and eigenvectors, in columns, of symmetric matrices.

    UPLO: which triangle is read, "L" or "U"
    """
    rows, values = call("_linalg_syevd", _triangle(a, "eigh", UPLO))
    return values, matrix_transpose(rows)


def eigvalsh(a: Any, UPLO: str = "L") -> ndarray:  # noqa: N803 (NumPy's name)
    """The eigenvalues of symmetric matrices, ascending."""
    return call("_linalg_syevd", _triangle(a, "eigvalsh", UPLO))[1]


def _triangle(a: Any, who: str, word: str) -> ndarray:
    a = _matrices(a, who, square=True)
    if word not in ("L", "U", "l", "u"):
        raise ValueError(f"linalg.{who}: UPLO={word!r}: choose 'L' or 'U'.")
    return a if word in "Ll" else matrix_transpose(a)


def eig(a: Any) -> tuple[ndarray, ndarray]:
    """Eigenvalues and eigenvectors, in columns, of square matrices; no gradient.

    Complex ones give an error where the result is waited for: arrays hold real numbers.
    """
    values, vectors = call("_npi_eig", _matrices(a, "eig", square=True))
    return values, vectors


def eigvals(a: Any) -> ndarray:
    """The eigenvalues of square matrices; no gradient."""
    return call("_npi_eigvals", _matrices(a, "eigvals", square=True))


# -- inverses and equations ------------------------------------------------------------


def inv(a: Any) -> ndarray:
    """The inverse of every matrix."""
    return call("_linalg_inverse", _matrices(a, "inv", square=True))


def det(a: Any) -> ndarray:
    """The determinant of every matrix. a (..., n, n); result (...)."""
    a = _matrices(a, "det", square=True)
    return call("_npi_det", a)


def slogdet(a: Any) -> list[ndarray]:
    """The sign of the determinant, and the logarithm of its size."""
    a = _matrices(a, "slogdet", square=True)
    return list(call("_npi_slogdet", a))


def solve(a: Any, b: Any) -> ndarray:
    """The x with a · x = b. a (..., n, n), b (..., n) or (..., n, k); x like b."""
    a = _matrices(a, "solve", square=True)
    b = cast(as_ndarray(b, "solve", "b"), a.spec.dtype)
    is_vector = b.ndim == a.ndim - 1
    stack = b.shape[:-1] if is_vector else b.shape[:-2]
    if stack != a.shape[:-2]:
        try:
            common = onp.broadcast_shapes(stack, a.shape[:-2])
        except ValueError:
            raise ShapeError(
                f"linalg.solve: the stacks of a {a.shape} and b {b.shape} do not fit."
            ) from None
        a = call("_npi_broadcast_to", a, shape=(*common, *a.shape[-2:]))
        own = b.shape[len(stack) :]
        b = call("_npi_broadcast_to", b, shape=(*common, *own))
    return call("_npi_solve", a, b)


def pinv(a: Any, rcond: Any = 1e-15, hermitian: bool = False) -> ndarray:
    """The pseudo-inverse: V · diag(1 / L) · Uᵀ, without the smallest singular values.

    rcond: singular values below rcond times the largest count as 0; a number, or an
    array with one for each matrix
    """
    u, values, v = svd(_matrices(a, "pinv"))
    if values.shape[-1] == 0:
        return matrix_transpose(_matrices(a, "pinv"))
    largest = np_max(values, axis=-1, keepdims=True)
    if hasattr(rcond, "ndim") and rcond.ndim:
        rcond = cast(as_ndarray(rcond, "pinv", "rcond"), values.spec.dtype)
        rcond = rcond.reshape_view((*rcond.shape, 1))
    kept = cast(values > largest * rcond, values.spec.dtype)
    # 1 / L where it is kept, 0 elsewhere, without a division by 0.
    inverse = kept / (values * kept + (1 - kept))
    column = inverse.reshape_view((*inverse.shape, 1))
    return matmul(matrix_transpose(v), column * matrix_transpose(u))


def tensorinv(a: Any, ind: int = 2) -> ndarray:
    """The inverse of an array as a map from its last axes to its first `ind`."""
    a = as_ndarray(a, "tensorinv")
    if ind <= 0:
        raise ValueError(f"linalg.tensorinv: ind={ind} must be positive.")
    head, tail = a.shape[:ind], a.shape[ind:]
    if prod(head) != prod(tail):
        raise ShapeError(
            f"linalg.tensorinv: shape {a.shape}: the first {ind} axes must hold as "
            "many elements as the others."
        )
    return inv(a.reshape_view(prod(head), prod(tail))).reshape_view((*tail, *head))


def tensorsolve(a: Any, b: Any, axes: Any = None) -> ndarray:
    """The x with tensordot(a, x, x.ndim) = b; `axes` of a are moved to its end."""
    a, b = arrays_of("tensorsolve", [a, b])
    if axes:
        last = whole(as_tuple(axes))
        last = tuple(normalize_axis("tensorsolve", k, a.ndim) for k in last)
        order = [k for k in range(a.ndim) if k not in last]
        a = a.transpose((*order, *last))
    shape = a.shape[b.ndim - a.ndim :]  # all of a's where both have as many axes
    if prod(shape) != b.size or a.size != b.size**2:
        raise ShapeError(
            f"linalg.tensorsolve: a {a.shape} with b {b.shape} is no system of "
            f"{b.size} equations for as many numbers."
        )
    return solve(a.reshape_view(b.size, b.size), b.reshape_view(-1)).reshape_view(shape)


# -- products and numbers --------------------------------------------------------------


def matrix_power(a: Any, n: int) -> ndarray:
    """A square matrix times itself, n times; the inverse's power for negative n."""
    a = _matrices(a, "matrix_power", square=True)
    n = whole(n)
    if n < 0:
        a, n = inv(a), -n
    result = None
    while n:
        if n & 1:
            result = a if result is None else matmul(result, a)
        n >>= 1
        a = matmul(a, a) if n else a
    if result is not None:
        return result
    ones = call("_npi_broadcast_to", call("ones_like", a[..., 0]), shape=a.shape[:-1])
    return call("_linalg_makediag", ones)


def multi_dot(arrays: Any, *, out: Any = None) -> ndarray:
    """The product of several matrices, in an order that saves work.

    The first and the last may be vectors: a row, a column.
    """
    arrays = arrays_of("multi_dot", arrays)
    if len(arrays) < 2:
        raise ValueError("linalg.multi_dot: give two arrays or more.")
    letters = [chr(ord("a") + k) for k in range(len(arrays) + 1)]
    terms = [one + two for one, two in zip(letters, letters[1:], strict=False)]
    first, last = arrays[0].ndim == 1, arrays[-1].ndim == 1
    if first:
        terms[0] = terms[0][1:]
    if last:
        terms[-1] = terms[-1][0]
    text = ",".join(terms) + "->"
    text += ("" if first else letters[0]) + ("" if last else letters[-1])
    return call("_npi_einsum", *arrays, subscripts=text, optimize=1, out=out)


def cond(x: Any, p: Any = None) -> ndarray:
    """How much errors may grow when an equation with this matrix is solved.

    p: the `ord` of the norm; by default 2, the ratio of extreme singular values
    """
    x = _matrices(x, "cond")
    if p in (None, 2, -2):
        values = svdvals(x)
        ratio = values[..., 0] / values[..., -1]
        return 1 / ratio if p == -2 else ratio
    return norm(x, p, axis=(-2, -1)) * norm(inv(x), p, axis=(-2, -1))


def vecdot(a: Any, b: Any, axis: int = -1) -> ndarray:
    """The sum of the products of elements along an axis."""
    return np_sum(as_ndarray(a, "vecdot") * as_ndarray(b, "vecdot", "b"), axis=axis)


__all__ = [
    "cholesky", "cond", "cross", "det", "diagonal", "eig", "eigh", "eigvals",
    "eigvalsh", "inv", "lstsq", "matmul", "matrix_power", "matrix_rank",
    "matrix_transpose", "multi_dot", "norm", "outer", "pinv", "qr", "slogdet", "solve",
    "svd", "svdvals", "tensordot", "tensorinv", "tensorsolve", "trace", "vecdot",
]  # fmt: skip


def __dir__() -> list[str]:
    return __all__

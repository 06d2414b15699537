"""Linear algebra on stacks of small matrices, by LAPACK through NumPy.

Every kernel is `(*ins, *outs)`; matrices are the last two axes, the axes before them
the stack. What LAPACK refuses is an OperatorError.
"""

from __future__ import annotations

from collections.abc import Callable
from ctypes import c_double, c_float, c_int, c_int64, c_size_t
from functools import lru_cache, wraps
from typing import Any

import numpy as np

from minimx.core.errors import OperatorError
from minimx.core.kernels.cpu.blas import one_thread, routine

Launch = Callable[..., None]

#: Stacks of triangles up to this size are solved together, by the general solver.
SHORT = 32
#: Up to this size it is kept where triangles lie: a megabyte for each.
SMALL = 512


def _explained(text: str) -> Callable[[Launch], Launch]:
    """Say in our words what LAPACK's error means; BLAS gets one thread."""

    def decorate(run: Launch) -> Launch:
        @wraps(run)
        def launch(*arrays: Any, **kwargs: Any) -> None:
            try:
                with one_thread:
                    run(*arrays, **kwargs)
            except np.linalg.LinAlgError as reason:
                raise OperatorError(f"{text} (LAPACK says: {reason}.)") from None

        return launch

    return decorate


def _turned(x: Any) -> Any:
    return np.swapaxes(x, -1, -2)


def matmul(axis: int, ta: bool, tb: bool, alpha: float, beta: float) -> Launch:
    """(a, b[, c], out): alpha op(a) op(b) + beta c, with the rows along `axis`."""

    def launch(a: Any, b: Any, *rest: Any) -> None:
        *c, out = rest
        a, b = (np.moveaxis(x, axis, -2) for x in (a, b))
        found = (_turned(a) if ta else a) @ (_turned(b) if tb else b)
        np.moveaxis(out, axis, -2)[...] = alpha * found
        for more in c:
            out += beta * more

    return launch


@_explained(
    "linalg.potrf: the matrix is not positive definite. Its lower triangle must be "
    "that of a symmetric matrix with positive eigenvalues; a little on its diagonal "
    "helps where rounding is to blame."
)
def potrf(a: Any, out: Any) -> None:
    """The lower factor of a = out outᵀ; only the lower triangle is read."""
    np.copyto(out, np.linalg.cholesky(np.tril(a)))


_SINGULAR = (
    "the matrix is singular: one of the numbers on its diagonal is 0. Nothing can be "
    "divided by it."
)


@_explained(f"linalg.potri: {_SINGULAR}")
def potri(a: Any, out: Any) -> None:
    """(a aᵀ)⁻¹ of a lower triangle."""
    inverse = np.broadcast_to(np.eye(a.shape[-1], dtype=a.dtype), a.shape).copy()
    _solve(a, inverse, False, False, True, 1.0)
    np.copyto(out, _turned(inverse) @ inverse)


@lru_cache
def _blas_solver(dtype: Any) -> Any:
    """`trsm` of NumPy's BLAS for an element type; None where it has none."""
    found = routine("strsm" if dtype == np.float32 else "dtrsm")
    if found is not None:
        long = c_int64 if found.__name__.endswith("64_") else c_int
        real = c_float if dtype == np.float32 else c_double
        matrix = c_size_t, long
        found.argtypes = (*(c_int,) * 5, long, long, real, *matrix, *matrix)
        found.restype = None
    return found


def _solve(
    a: Any, b: Any, transpose: bool, rightside: bool, lower: bool, alpha: float
) -> None:
    """Write over b: op(a) x = alpha b, or x op(a) = alpha b, for triangles a."""
    if not np.diagonal(a, 0, -2, -1).all():
        raise np.linalg.LinAlgError("Singular matrix")
    solver, order = _blas_solver(b.dtype), a.shape[-1]
    if solver is None or (a.ndim > 2 and order <= SHORT):
        a = np.tril(a) if lower else np.triu(a)
        a = _turned(a) if transpose else a
        if rightside:  # x a = b is aᵀ xᵀ = bᵀ
            a, b = _turned(a), _turned(b)
        b[...] = alpha * np.linalg.solve(a, b)
    elif b.size:
        side, part, turn = 141 + rightside, 121 + lower, 111 + transpose
        rows, columns = b.shape[-2:]
        for left, right in zip(
            a.reshape(-1, order, order), b.reshape(-1, rows, columns), strict=True
        ):
            solver(
                101, side, part, turn, 131, rows, columns, alpha,
                left.ctypes.data, order, right.ctypes.data, columns,
            )  # fmt: skip


def trsm(transpose: bool, rightside: bool, lower: bool, alpha: float) -> Launch:
    """(a, b, out): op(a) out = alpha b, or out op(a) = alpha b."""

    @_explained(f"linalg.trsm: {_SINGULAR}")
    def launch(a: Any, b: Any, out: Any) -> None:
        a = a.copy() if np.may_share_memory(a, out) else a  # it is read once out is b
        np.copyto(out, b)
        _solve(a, out, transpose, rightside, lower, alpha)

    return launch


def trmm(transpose: bool, rightside: bool, lower: bool, alpha: float) -> Launch:
    """(a, b, out): alpha op(a) b, or alpha b op(a), for a triangle a."""

    def launch(a: Any, b: Any, out: Any) -> None:
        a = np.tril(a) if lower else np.triu(a)
        a = _turned(a) if transpose else a
        with one_thread:
            np.copyto(out, alpha * (b @ a if rightside else a @ b))

    return launch


def syrk(transpose: bool, alpha: float) -> Launch:
    """(a, out): alpha a aᵀ, or alpha aᵀ a."""

    def launch(a: Any, out: Any) -> None:
        with one_thread:
            found = _turned(a) @ a if transpose else a @ _turned(a)
        np.copyto(out, alpha * found)

    return launch


def gelqf(a: Any, q: Any, left: Any) -> None:
    """A = left q, with orthonormal rows in q: the QR of aᵀ, turned."""
    with one_thread:
        columns, upper = np.linalg.qr(_turned(a))
    np.copyto(q, _turned(columns))
    np.copyto(left, _turned(upper))


@_explained("linalg.syevd: the eigenvalues were not found.")
def syevd(a: Any, u: Any, values: Any) -> None:
    """A = uᵀ diag(values) u; the largest element of each row of u is positive."""
    found, columns = np.linalg.eigh(np.tril(a), "L")
    rows = _turned(columns)
    if not rows.size:
        return
    largest = np.argmax(np.abs(rows), -1)[..., None]
    signs = np.where(np.take_along_axis(rows, largest, -1) < 0, -1, 1)
    np.copyto(u, rows * signs, casting="same_kind")
    np.copyto(values, found)


@_explained(
    "linalg.inverse: the matrix is singular, so there is none. Its determinant is 0; "
    "linalg.det and linalg.slogdet take such matrices."
)
def inverse(a: Any, out: Any) -> None:
    """The inverse of every matrix."""
    np.copyto(out, np.linalg.inv(a))


def inverse_or_zeros(a: Any, out: Any) -> None:
    """The inverse of every matrix that has one, zeros for the others."""
    with one_thread, np.errstate(invalid="ignore"):
        regular = np.linalg.slogdet(a)[0] != 0
        out.fill(0)
        out[regular] = np.linalg.inv(a[regular])


def det(a: Any, out: Any) -> None:
    """The determinant of every matrix."""
    with one_thread:
        np.copyto(out, np.reshape(np.linalg.det(a), out.shape))


def slogdet(a: Any, sign: Any, logarithm: Any) -> None:
    """The sign of the determinant, and the logarithm of its size."""
    with one_thread, np.errstate(all="ignore"):
        signs, logs = np.linalg.slogdet(a)
    np.copyto(sign, np.reshape(signs, sign.shape))
    np.copyto(logarithm, np.reshape(logs, sign.shape))


def sumlogdiag(a: Any, out: Any) -> None:
    """The sum of the logarithms on the diagonal."""
    with np.errstate(all="ignore"):
        logs = np.log(np.diagonal(a, 0, -2, -1))
    np.copyto(out, np.reshape(logs.sum(-1), out.shape))


# -- diagonals and triangles as vectors ------------------------------------------------


@lru_cache(maxsize=16)
def _kept(n: int, offset: int, lower: bool) -> Any:
    """Where the elements of a triangle lie in an n × n matrix, in their order.

    A lower triangle is read row by row, an upper one column by column: that is the
    lower one of the transposed.
    """
    upper = offset > 0 or (offset == 0 and not lower)
    rows, columns = np.nonzero(np.tri(n, n, -offset if upper else offset))
    return columns * n + rows if upper else rows * n + columns


def _triangle(a: Any, offset: int, lower: bool) -> tuple[Any, Any]:
    """Every matrix as a line, and where a triangle lies in it."""
    n = a.shape[-1]
    found = _kept if n <= SMALL else _kept.__wrapped__
    return a.reshape(*a.shape[:-2], n * n), found(n, offset, lower)


def extractdiag(offset: int) -> Launch:
    """(a, out): a diagonal of every matrix."""
    return lambda a, out: np.copyto(out, np.diagonal(a, offset, -2, -1))


def makediag(offset: int) -> Launch:
    """(a, out): a matrix with that diagonal, zeros elsewhere."""

    def launch(a: Any, out: Any) -> None:
        out.fill(0)
        n = out.shape[-1]
        lines = out.reshape(*out.shape[:-2], n * n)
        first = offset if offset >= 0 else -offset * n
        lines[..., first :: n + 1][..., : n - abs(offset)] = a

    return launch


def extracttrian(offset: int, lower: bool) -> Launch:
    """(a, out): the elements of a triangle: of a lower one row by row."""

    def launch(a: Any, out: Any) -> None:
        lines, places = _triangle(a, offset, lower)
        np.copyto(out, lines.take(places, -1))

    return launch


def maketrian(offset: int, lower: bool) -> Launch:
    """(a, out): a matrix with that triangle, zeros elsewhere."""

    def launch(a: Any, out: Any) -> None:
        out.fill(0)
        lines, places = _triangle(out, offset, lower)
        lines[..., places] = a

    return launch


def khatri_rao(*arrays: Any) -> None:
    """Column by column, the Kronecker product of the columns of all matrices."""
    *matrices, out = arrays
    found = matrices[0]
    for more in matrices[1:]:
        found = (found[:, None] * more[None]).reshape(-1, out.shape[1])
    np.copyto(out, found)

"""Linear algebra on stacks of matrices, by LAPACK through NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from minimx.core.errors import OperatorError
from minimx.core.kernels.cpu.blas import one_thread
from minimx.core.shapes import Shape

Launch = Callable[..., None]


def svd(a: Any, u: Any, values: Any, v: Any) -> None:
    """A = u diag(values) v, thin; the largest element of a column of u is positive."""
    try:
        with one_thread:
            left, found, right = np.linalg.svd(a, full_matrices=False)
    except np.linalg.LinAlgError:
        raise OperatorError(
            "svd: the singular values were not found; the matrix may hold NaN."
        ) from None
    if a.size:
        largest = np.argmax(np.abs(left), -2)[..., None, :]
        signs = np.where(np.take_along_axis(left, largest, -2) < 0, -1, 1)
        left, right = left * signs, right * np.swapaxes(signs, -1, -2)
    np.copyto(u, left, casting="same_kind")
    np.copyto(values, found)
    np.copyto(v, right, casting="same_kind")


def solve(columns: Shape) -> Launch:
    """(a, b, out): the solution of a out = b, for b in the shape `columns`."""

    def launch(a: Any, b: Any, out: Any) -> None:
        try:
            with one_thread:
                found = np.linalg.solve(a, b.reshape(columns))
        except np.linalg.LinAlgError:
            raise OperatorError(
                "solve: the matrix is singular, so the system has no solution or many. "
                "Its determinant is 0; lstsq finds the nearest solution."
            ) from None
        np.copyto(out, found.reshape(out.shape))

    return launch


def _real(found: Any) -> Any:
    # Since NumPy 2.5 what is real comes as complex numbers as well.
    if not np.iscomplexobj(found) or not found.imag.any():
        return found.real
    raise OperatorError(
        "eig: the matrix has complex eigenvalues, and arrays hold real numbers. "
        "Symmetric matrices have real ones: eigh and eigvalsh take those."
    )


def eig(a: Any, values: Any, vectors: Any) -> None:
    """Eigenvalues, and eigenvectors in the columns."""
    with one_thread:
        found, columns = np.linalg.eig(a)
    np.copyto(values, _real(found))
    np.copyto(vectors, _real(columns))


def eigvals(a: Any, values: Any) -> None:
    """Eigenvalues."""
    with one_thread:
        np.copyto(values, _real(np.linalg.eigvals(a)))

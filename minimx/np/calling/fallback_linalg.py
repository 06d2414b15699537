"""Linear algebra that official NumPy computes, on copies, as `fallback.py` explains."""

from __future__ import annotations

from typing import Any

import numpy as onp

from minimx.np.calling.dispatch import by_numpy
from minimx.np.multiarray import as_ndarray, ndarray


def lstsq(a: Any, b: Any, rcond: Any = "warn") -> Any:
    """X with the least |a · x - b|², the residuals, the rank of a, its singular values.

    Computed by NumPy on copies: it waits for its arrays, and has no gradient.
    """
    rcond = None if isinstance(rcond, str) else rcond
    return by_numpy(onp.linalg.lstsq, (as_ndarray(a, "lstsq"), b, rcond), {})


def matrix_rank(
    A: Any,  # noqa: N803 (NumPy's name)
    tol: Any = None,
    hermitian: bool = False,
) -> ndarray:
    """How many singular values are not 0.

    Computed by NumPy on copies: it waits for its arrays, and has no gradient.
    """
    matrix = as_ndarray(A, "matrix_rank", "A")
    return by_numpy(onp.linalg.matrix_rank, (matrix, tol, hermitian), {})


__all__ = ["lstsq", "matrix_rank"]

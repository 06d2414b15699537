"""Launches of linear algebra: factorisations, systems of equations, and transforms.

Eigenvalues of nonsymmetric matrices stay on the host, as MXNet's do on GPUs.
"""

from __future__ import annotations

from math import nan
from typing import Any

from minimx.core.dtypes import FLOAT32, FLOAT64
from minimx.core.ops.registry import Kernel
from minimx.core.ops.spec import Spec
from minimx.cuda.kernels.arrays import fourier, linalg, orthogonal
from minimx.cuda.launches import implements


def real(*specs: Spec) -> bool:
    """Whether there are kernels for these types."""
    return all(spec.dtype in (FLOAT32, FLOAT64) for spec in specs)


@implements("_linalg_trsm")
def triangular(op: Any, *specs: Spec) -> Kernel | None:
    """Systems of equations by substitution."""
    if not real(*specs):
        return None
    return linalg.trsm(op.transpose, op.rightside, op.lower, op.alpha)


@implements("_linalg_potrf")
def cholesky(op: Any, *specs: Spec) -> Kernel | None:
    """Cholesky's factor."""
    return linalg.potrf(op.lower) if real(*specs) else None


@implements("_linalg_inverse", "_inverse_or_zeros")
def inverse(op: Any, *specs: Spec) -> Kernel | None:
    """By LU; where there is no inverse NaN, or zeros."""
    if not real(*specs):
        return None
    return linalg.inverse(nan if op.name == "_linalg_inverse" else 0.0)


@implements("_linalg_det", "_linalg_slogdet", "_npi_det", "_npi_slogdet")
def determinant(op: Any, *specs: Spec) -> Kernel | None:
    """From the diagonal of U."""
    return linalg.determinants if real(*specs) else None


@implements("_npi_solve")
def solve(op: Any, *specs: Spec) -> Kernel | None:
    """By LU, all columns side by side."""
    return linalg.solve(op.columns(*specs)[-1]) if real(*specs) else None


@implements("_linalg_gelqf")
def rows(op: Any, *specs: Spec) -> Kernel | None:
    """Householder's reflections."""
    return orthogonal.gelqf if real(*specs) else None


@implements("_linalg_syevd")
def symmetric(op: Any, *specs: Spec) -> Kernel | None:
    """Jacobi's rotations, of rows and of columns."""
    return orthogonal.syevd if real(*specs) else None


@implements("_npi_svd")
def singular(op: Any, *specs: Spec) -> Kernel | None:
    """Jacobi's rotations, of columns only."""
    return orthogonal.svd if real(*specs) else None


@implements("_contrib_fft", "_contrib_ifft")
def transformed(op: Any, *specs: Spec) -> Kernel | None:
    """A transform along the last axis."""
    (data,) = specs
    if not real(data):
        return None
    if op.name == "_contrib_fft":
        return fourier.fft(data.shape[-1])
    return fourier.ifft(data.shape[-1] // 2)

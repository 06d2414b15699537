"""Sums of products, differences, polynomials, and the windows of signal processing."""

from __future__ import annotations

from typing import Any

import numpy as onp

from minimx.core.arrays.array import NDArray
from minimx.core.dtypes import resolve
from minimx.core.errors import ArgumentError, ShapeError
from minimx.np.calling.calls import arrays_of, call, value_beside, whole
from minimx.np.calling.promotion import is_number
from minimx.np.creation import array
from minimx.np.joining import concatenate
from minimx.np.multiarray import as_ndarray, ndarray

# -- sums of products ------------------------------------------------------------------


def einsum(*operands: Any, out: Any = None, optimize: Any = False) -> ndarray:
    """Sums of products, by Einstein's rule: `einsum("ij,jk->ik", a, b)`.

    Axes that the output does not name are summed over; "..." stands for all axes that
    are not named. optimize: multiply several operands pair by pair, in an order that
    saves work. Gradients flow to every operand.
    """
    if not operands or not isinstance(operands[0], str):
        raise ArgumentError(
            'np.einsum: begin with the subscripts, as in einsum("ij,jk->ik", a, b).'
        )
    text, *rest = operands
    arrays = arrays_of("einsum", rest)
    return call(
        "_npi_einsum", *arrays, subscripts=text, optimize=int(bool(optimize)), out=out
    )


def tensordot(a: Any, b: Any, axes: Any = 2) -> ndarray:
    """Sum over some axes of a and as many of b.

    axes: how many of the last of a and the first of b, or two rows of axes in pairs
    """
    if is_number(a) or is_number(b):
        raise ArgumentError("np.tensordot: sums run over axes; use * with a number.")
    a, b = arrays_of("tensordot", [a, b])
    if onp.ndim(axes) == 0:
        return call("_npi_tensordot_int_axes", a, b, axes=whole(axes))
    left, right = axes
    mine, its = (whole(x) if onp.ndim(x) else (whole(x),) for x in (left, right))
    return call("_npi_tensordot", a, b, a_axes_summed=mine, b_axes_summed=its)


# -- differences -----------------------------------------------------------------------


def diff(
    a: Any, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None
) -> ndarray:
    """What each element adds to the one before it along an axis, n times over.

    prepend, append: values to put before and after the array first
    """
    a = as_ndarray(a, "diff")
    if a.ndim == 0:
        raise ShapeError("np.diff: an array without axes has no differences.")
    ends = [
        None if v is None else value_beside(v, a, "diff") for v in (prepend, append)
    ]
    if any(end is not None for end in ends):
        shape = (*a.shape[: axis % a.ndim], 1, *a.shape[axis % a.ndim + 1 :])
        wide = [
            call("_npi_broadcast_to", end, shape=shape)
            if end is not None and end.ndim == 0
            else end
            for end in ends
        ]
        parts = [part for part in (wide[0], a, wide[1]) if part is not None]
        a = concatenate(parts, axis)
    return call("_npi_diff", a, n=n, axis=axis)


def ediff1d(ary: Any, to_end: Any = None, to_begin: Any = None) -> ndarray:
    """The differences of the flat array, with further numbers before and after them."""
    ary = as_ndarray(ary, "ediff1d", "ary").reshape_view(-1)
    parts = [call("_npi_diff", ary)]
    if to_begin is not None:
        parts.insert(
            0, value_beside(to_begin, ary, "ediff1d", "to_begin").reshape_view(-1)
        )
    if to_end is not None:
        parts.append(value_beside(to_end, ary, "ediff1d", "to_end").reshape_view(-1))
    return concatenate(parts) if len(parts) > 1 else parts[0]


# -- polynomials -----------------------------------------------------------------------


def polyval(p: Any, x: Any) -> ndarray:
    """A polynomial at x; p has its coefficients, the highest power first.

    Computed by Horner's rule; gradients flow to both.
    """
    if not isinstance(p, NDArray) or not isinstance(x, NDArray):
        raise TypeError("np.polyval: p and x must be mx.np arrays.")
    p, x = as_ndarray(p, "polyval", "p"), as_ndarray(x, "polyval", "x")
    if p.ndim != 1:
        raise ShapeError(f"np.polyval: coefficients are one row; p is {p.shape}.")
    if p.size == 0:
        return x * 0
    total = x * 0 + p[0]
    for k in range(1, p.size):
        total = total * x + p[k]
    return total


# -- windows ---------------------------------------------------------------------------


def _window(name: str, M: Any, dtype: Any, ctx: Any, device: Any) -> ndarray:  # noqa: N803
    numbers = getattr(onp, name)(int(M))
    kind = resolve("float32" if dtype is None else dtype)
    return array(numbers.astype(kind), dtype=kind, ctx=ctx or device)


def hanning(M: int, dtype: Any = None, ctx: Any = None, device: Any = None) -> ndarray:  # noqa: N803
    """Hann's window of M points: one arch of a cosine, 0 at both ends."""
    return _window("hanning", M, dtype, ctx, device)


def hamming(M: int, dtype: Any = None, ctx: Any = None, device: Any = None) -> ndarray:  # noqa: N803
    """Hamming's window of M points: Hann's, lifted so that it ends at 0.08."""
    return _window("hamming", M, dtype, ctx, device)


def blackman(M: int, dtype: Any = None, ctx: Any = None, device: Any = None) -> ndarray:  # noqa: N803
    """Blackman's window of M points: two cosines, flatter at its ends."""
    return _window("blackman", M, dtype, ctx, device)


__all__ = [
    "blackman", "diff", "ediff1d", "einsum", "hamming", "hanning", "polyval",
    "tensordot",
]  # fmt: skip

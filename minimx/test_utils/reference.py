"""What an operator should give, in plain NumPy; and matrices that are well behaved."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from minimx.core.errors import ArgumentError

Array = Any


def assign_each(the_input: Array, function: Callable[[Any], Any] | None) -> Array:
    """A NumPy array with `function` applied to each element, as float64.

    Without a function it is a copy, in the type of the input.
    """
    if function is None:
        return np.array(the_input)
    return np.vectorize(function, otypes=[float])(the_input)


def assign_each2(
    input1: Array, input2: Array, function: Callable[[Any, Any], Any] | None
) -> Array:
    """A NumPy array of `function(x, y)` for the elements of two arrays, as float64.

    Without a function it is a copy of the first. Raises `ArgumentError` for different
    shapes.
    """
    if function is None:
        return np.array(input1)
    if input1.shape != input2.shape:
        raise ArgumentError(
            f"assign_each2: {input1.shape} and {input2.shape} are not one shape."
        )
    return np.vectorize(function, otypes=[float])(input1, input2)


def np_reduce(
    dat: Array,
    axis: int | Sequence[int] | None,
    keepdims: bool,
    numpy_reduce_func: Callable[..., Array],
) -> Array:
    """Reduce a NumPy array over several axes, one after the other, the last first.

    axis: None for all; negative ones count from the end. numpy_reduce_func: called with
    `axis=`, such as `numpy.sum`.
    """
    if axis is None:
        axes = list(range(dat.ndim))
    else:
        axes = [axis] if isinstance(axis, int) else list(axis)
    axes = sorted(a % dat.ndim for a in axes)
    found = dat
    for a in reversed(axes):
        found = numpy_reduce_func(found, axis=a)
    if keepdims:
        found = np.reshape(found, [1 if i in axes else n for i, n in _axes(dat)])
    return found


def _axes(dat: Array) -> list[tuple[int, int]]:
    return list(enumerate(dat.shape))


def collapse_sum_like(a: Array, shape: tuple[int, ...]) -> Array:
    """Sum over the axes along which an array of `shape` was broadcast to become `a`.

    Returns an array of `shape`: the gradient of broadcasting. Raises `ArgumentError` if
    `shape` does not broadcast to `a.shape`.
    """
    if prod(shape) == 0 or a.size == 0:
        return np.zeros(shape, a.dtype)
    extra = a.ndim - len(shape)
    for wanted, given in zip(shape, a.shape[extra:], strict=True):
        if wanted not in (1, given):
            raise ArgumentError(f"{shape} cannot have been stretched to {a.shape}.")
    stretched = [extra + i for i, n in enumerate(shape) if n != a.shape[extra + i]]
    return np.sum(a, axis=(*range(extra), *stretched)).reshape(shape)


def new_matrix_with_real_eigvals_2d(n: int) -> Array:
    """A random (n, n) matrix with real eigenvalues between -10 and 10, as float64."""
    basis = _well_conditioned(n)
    values = np.diag(np.random.uniform(-10.0, 10.0, n))
    return np.linalg.inv(basis) @ values @ basis


def _well_conditioned(n: int) -> Array:
    """A reflection with stretched axes, the longest at most 3 times the shortest."""
    while True:
        stretch = np.diag(np.random.uniform(-1.0, 1.0, n))
        normal = np.random.uniform(-1.0, 1.0, (n, 1))
        normal /= np.linalg.norm(normal)
        found = (np.eye(n) - 2 * normal @ normal.T) @ stretch
        if np.linalg.cond(found, 2) < 3:
            return found


def new_matrix_with_real_eigvals_nd(shape: tuple[int, ...]) -> Array:
    """Random matrices with real eigenvalues; shape: (..., n, n)."""
    return _stack(shape, new_matrix_with_real_eigvals_2d)


def new_orthonormal_matrix_2d(n: int) -> Array:
    """A random orthogonal (n, n) matrix, as float64."""
    return np.linalg.qr(np.random.randn(n, n))[0]


def new_sym_matrix_with_real_eigvals_2d(n: int) -> Array:
    """A random symmetric (n, n) matrix, eigenvalues between -10 and 10, as float64."""
    basis = new_orthonormal_matrix_2d(n)
    return basis.T @ np.diag(np.random.uniform(-10.0, 10.0, n)) @ basis


def new_sym_matrix_with_real_eigvals_nd(shape: tuple[int, ...]) -> Array:
    """Random symmetric matrices; shape: (..., n, n)."""
    return _stack(shape, new_sym_matrix_with_real_eigvals_2d)


def _stack(shape: tuple[int, ...], make: Callable[[int], Array]) -> Array:
    count = prod(shape[:-2])
    return np.array([make(shape[-1]) for _ in range(count)]).reshape(shape)

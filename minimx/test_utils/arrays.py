"""Random arrays and random shapes, drawn from NumPy's global generator.

Tests seed that one with `numpy.random.seed`.
"""

from __future__ import annotations

from collections.abc import Callable, MutableSequence, Sequence
from typing import Any

import numpy as np

from minimx.core.arrays.array import NDArray
from minimx.core.arrays.creation import arange, array, zeros
from minimx.core.device import Device
from minimx.core.errors import ArgumentError
from minimx.test_utils.defaults import default_context, default_dtype
from minimx.test_utils.sparse import rand_sparse_ndarray

Array = Any


def _from(allow_zero_size: bool) -> int:
    return 0 if allow_zero_size else 1


def rand_shape_2d(
    dim0: int = 10, dim1: int = 10, allow_zero_size: bool = False
) -> tuple[int, ...]:
    """A random shape (m, n) with m ≤ dim0 and n ≤ dim1.

    allow_zero_size: axes may be 0 long; otherwise they are 1 long at least.
    """
    return _shape([dim0, dim1], allow_zero_size)


def rand_shape_3d(
    dim0: int = 10, dim1: int = 10, dim2: int = 10, allow_zero_size: bool = False
) -> tuple[int, ...]:
    """A random shape of three axes, none longer than `dim0`, `dim1`, `dim2`.

    allow_zero_size: as for `rand_shape_2d`.
    """
    return _shape([dim0, dim1, dim2], allow_zero_size)


def rand_shape_nd(
    num_dim: int, dim: int = 10, allow_zero_size: bool = False
) -> tuple[int, ...]:
    """A random shape of `num_dim` axes, none longer than `dim`.

    allow_zero_size: as for `rand_shape_2d`.
    """
    return _shape([dim] * num_dim, allow_zero_size)


def _shape(longest: Sequence[int], allow_zero_size: bool) -> tuple[int, ...]:
    low = _from(allow_zero_size)
    return tuple(int(np.random.randint(low, length + 1)) for length in longest)


def rand_coord_2d(x_low: int, x_high: int, y_low: int, y_high: int) -> tuple[int, int]:
    """Random whole numbers (x, y), with x_low ≤ x < x_high and y_low ≤ y < y_high."""
    return int(np.random.randint(x_low, x_high)), int(np.random.randint(y_low, y_high))


def random_arrays(*shapes: tuple[int, ...]) -> Any:
    """NumPy arrays of `default_dtype` with standard normal numbers, one per shape.

    Returns the array itself for one shape, else a list.
    """
    made = [
        np.asarray(np.random.standard_normal(shape), default_dtype())
        for shape in shapes
    ]
    return made[0] if len(made) == 1 else made


def random_uniform_arrays(
    *shapes: tuple[int, ...], low: float = 0.0, high: float = 1.0, dtype: Any = None
) -> list[Array]:
    """A list of NumPy arrays, one per shape, uniform in [low, high).

    dtype: `default_dtype` if not given.
    """
    kind = default_dtype() if dtype is None else dtype
    return [np.asarray(np.random.uniform(low, high, s)).astype(kind) for s in shapes]


def random_sample(population: MutableSequence[Any], k: int) -> Any:
    """`k` elements of a sequence, in random order, each at most once.

    Returns a sequence of the same kind; `population` stays as it is. Raises
    `ArgumentError` for more elements than there are.
    """
    if not 0 <= k <= len(population):
        raise ArgumentError(
            f"random_sample: {k} of {len(population)} elements cannot be drawn."
        )
    shuffled = population[:]
    np.random.shuffle(shuffled)
    return shuffled[:k]


def rand_ndarray(
    shape: tuple[int, ...],
    stype: str = "default",
    density: float | None = None,
    dtype: Any = None,
    modifier_func: Callable[[float], float] | None = None,
    shuffle_csr_indices: bool = False,
    distribution: str | None = None,
    ctx: Device | None = None,
) -> NDArray:
    """A random array: dense and standard normal, or sparse with the given density.

    modifier_func: applied to each number of a sparse array.
    """
    if stype == "default":
        kind = default_dtype() if dtype is None else dtype
        dense: NDArray = array(
            random_arrays(shape), dtype=kind, ctx=ctx or default_context()
        )
        return dense
    found: NDArray = rand_sparse_ndarray(
        shape,
        stype,
        density=density,
        modifier_func=modifier_func,
        dtype=dtype,
        shuffle_csr_indices=shuffle_csr_indices,
        distribution=distribution,
        ctx=ctx,
    )[0]
    return found


def create_2d_tensor(rows: int, columns: int, dtype: Any = np.int64) -> NDArray:
    """An NDArray (rows, columns) in which every element is the number of its row."""
    column = arange(0, rows, dtype=dtype).reshape(rows, 1)
    found: NDArray = column.broadcast_to(shape=(rows, columns))
    return found


def create_vector(size: int, dtype: Any = np.int64) -> NDArray:
    """An NDArray (size,) of the numbers from 0 to `size` - 1."""
    found: NDArray = arange(0, size, dtype=dtype)
    return found


def get_identity_mat(size: int) -> NDArray:
    """The identity matrix, a float32 NDArray (size, size)."""
    found: NDArray = zeros((size, size))
    found[:] = array(np.eye(size))
    return found


def get_identity_mat_batch(size: int) -> NDArray:
    """Two identity matrices, a float32 NDArray (2, size, size)."""
    found: NDArray = array(np.stack([np.eye(size)] * 2))
    return found

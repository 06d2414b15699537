"""Matrix products on CUDA: the readable one, the tiled one, and cuBLAS's.

    product(a, b, out, ta, tb)     out = op(a) · op(b), for stacks of matrices

Small products give every thread one element of the answer. Large ones are cut into
tiles (`tiled`). Where CuPy is installed, its cuBLAS does the large ones instead.
Nothing else of CuPy is used: it sees our arrays as its own, without a copy, and works
in our stream.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module, util
from typing import Any

from minimx.cuda.driver import current_stream
from minimx.cuda.kernels import launching, scratch
from minimx.cuda.kernels.core import tiled
from minimx.cuda.kernels.launching import cuda
from minimx.cuda.kernels.recording import not_recorded
from minimx.fast.convolution.algorithms import parts

#: Products with fewer multiplications than this are not worth shared memory.
SMALL = 1 << 15


@launching.kernel
def _direct(
    a: Any, b: Any, out: Any, count: int, sizes: Any, steps: Any, zero: Any
) -> None:
    """One thread for each element; steps: of a along i, k; of b along k, j."""
    m, n, k = sizes
    for at in range(cuda.grid(1), count, cuda.gridsize(1)):
        s, i, j = at // (m * n), at // n % m, at % n
        left, right = s * m * k + i * steps[0], s * k * n + j * steps[3]
        total = zero
        for p in range(k):
            total += a[left + p * steps[1]] * b[right + p * steps[2]]
        out[at] = total


@launching.inner
def step_of(k: int, s: int, at: Any) -> Any:
    """Where a step of the sum begins in both factors of a product of the stack."""
    m, n, depth = at[0], at[1], at[2]
    return s * m * depth + k * at[3], s * depth * n + k * at[4], 0, 0


@launching.inner
def column_of(col: int, s: int, at: Any) -> Any:
    """Where a column of the right factor begins."""
    return col * at[5], 0, 0


@launching.inner
def target_of(col: int, s: int, at: Any) -> Any:
    """Where a column of the answer begins."""
    return s * at[0] * at[1] + col


@launching.inner
def element(b: Any, place: int, y: int, x: int, zero: Any, at: Any) -> Any:
    """An element of the right factor."""
    return b[place]


def product(a: Any, b: Any, out: Any, ta: bool = False, tb: bool = False) -> None:
    """Fill out (m, n) or (stack, m, n) with op(a) · op(b); ta, tb: transpose first.

    out may be a or b.
    """
    with scratch.aside(out, a, b) as place:
        _product(a, b, place, ta, tb)


def _product(a: Any, b: Any, out: Any, ta: bool, tb: bool) -> None:
    m, n = (int(length) for length in tuple(out.shape)[-2:])
    k = int(tuple(a.shape)[-2 if ta else -1])
    stack = out.size // (m * n)
    if m * n * k * stack >= SMALL and cublas() is not None:
        _by_cublas(a, b, out, ta, tb)
        return
    steps = ((1, m) if ta else (k, 1)) + ((1, k) if tb else (n, 1))
    if m * n * k * stack < SMALL:
        zero = out.dtype.type(0)
        launching.over(_direct, out.size, (a, b, out), (m, n, k), steps, zero)
        return
    in_tiles(launching.flat(a, b, out), (stack, m, n, k), steps)


@cache
def cublas() -> Any:
    """The module `cupy`, or None where it is not installed or CUDA is simulated."""
    if launching.SIMULATED or util.find_spec("cupy") is None:
        return None
    return import_module("cupy")


def _by_cublas(a: Any, b: Any, out: Any, ta: bool, tb: bool) -> None:
    not_recorded("CuPy takes memory from a pool of its own")
    cupy = cublas()
    with cupy.cuda.ExternalStream(int(current_stream())):
        left, right, result = map(cupy.asarray, (a, b, out))
        left = left.swapaxes(-1, -2) if ta else left
        right = right.swapaxes(-1, -2) if tb else right
        cupy.matmul(left, right, out=result)


def in_tiles(arrays: Any, sizes: Any, steps: Any) -> None:
    """Launch the tiled kernel on flat arrays; sizes: stack, m, n, k."""
    stack, m, n, k = sizes
    row, *rest = steps
    these = tiled.Matrices(
        (step_of, column_of, target_of, element), m, n, k, stack,
        parts(m, n, k, stack), row, n, (steps[1] == 1, steps[2] == 1),
    )  # fmt: skip
    a, b, out = arrays
    tiled.run(these, a, b, None, out, (m, n, k, *rest))

"""Matrix products on CUDA: the readable one, the tiled one, and cuBLAS's.

    product(a, b, out, ta, tb)     out = op(a) · op(b), for stacks of matrices

Small products give every thread one element of the answer. Large ones are cut into
tiles: the threads of a block fetch a tile of each factor into shared memory, where
every number is then used TILE times. Where CuPy is installed, its cuBLAS does the large
ones instead. Nothing else of CuPy is used: it sees our arrays as its own, without a
copy, and works in our stream.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module, util
from typing import Any

import numpy as np

from minimx.cuda.driver import current_stream
from minimx.cuda.kernels import launching, scratch
from minimx.cuda.kernels.launching import cuda
from minimx.cuda.kernels.recording import not_recorded

#: Products with fewer multiplications than this are not worth shared memory.
SMALL = 1 << 15
#: The side of a tile on a device; in the simulator tests choose a smaller one.
TILE = 16


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


@cache
def tiled(tile: int, real: Any) -> Any:
    """The kernel for tiles of this side: blocks of tile × tile threads."""

    @launching.kernel
    def kernel(a: Any, b: Any, out: Any, sizes: Any, steps: Any, zero: Any) -> None:
        left = cuda.shared.array((tile, tile), real)
        right = cuda.shared.array((tile, tile), real)
        m, n, k = sizes
        x, y, s = cuda.threadIdx.x, cuda.threadIdx.y, cuda.blockIdx.z
        i, j = cuda.blockIdx.y * tile + y, cuda.blockIdx.x * tile + x
        a_at, b_at = s * m * k + i * steps[0], s * k * n + j * steps[3]
        total = zero
        for first in range(0, k, tile):
            p, q = first + x, first + y
            left[y, x] = a[a_at + p * steps[1]] if i < m and p < k else zero
            right[y, x] = b[b_at + q * steps[2]] if j < n and q < k else zero
            cuda.syncthreads()
            for r in range(tile):
                total += left[y, r] * right[r, x]
            cuda.syncthreads()
        if i < m and j < n:
            out[(s * m + i) * n + j] = total

    return kernel


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
    if m * n * k * stack >= SMALL and _cupy() is not None:
        _by_cublas(a, b, out, ta, tb)
        return
    steps = ((1, m) if ta else (k, 1)) + ((1, k) if tb else (n, 1))
    zero = out.dtype.type(0)
    if m * n * k * stack < SMALL:
        launching.over(_direct, out.size, (a, b, out), (m, n, k), steps, zero)
        return
    in_tiles(launching.flat(a, b, out), (stack, m, n, k), steps, zero, TILE)


@cache
def _cupy() -> Any:
    """The module `cupy`, or None where it is not installed or CUDA is simulated."""
    if launching.SIMULATED or util.find_spec("cupy") is None:
        return None
    return import_module("cupy")


def _by_cublas(a: Any, b: Any, out: Any, ta: bool, tb: bool) -> None:
    not_recorded("CuPy takes memory from a pool of its own")
    cupy = _cupy()
    with cupy.cuda.ExternalStream(int(current_stream())):
        left, right, result = map(cupy.asarray, (a, b, out))
        left = left.swapaxes(-1, -2) if ta else left
        right = right.swapaxes(-1, -2) if tb else right
        cupy.matmul(left, right, out=result)


def in_tiles(arrays: Any, sizes: Any, steps: Any, zero: Any, tile: int) -> None:
    """Launch the tiled kernel on flat arrays; sizes: stack, m, n, k."""
    stack, m, n, k = sizes
    blocks = -(-n // tile), -(-m // tile), stack
    found = tiled(tile, np.dtype(zero.dtype))
    found[blocks, (tile, tile), current_stream()](*arrays, (m, n, k), steps, zero)

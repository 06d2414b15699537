"""Matrix products, cut into tiles that threads share.

    product(a, b, out, ta, tb)     out = op(a) · op(b), for stacks of matrices
    biased(a, b, bias, out)        out = a · bᵀ, and a row added to every row

How a product is cut depends on its shape only, so its bits do not depend on the number
of threads. What is not float32 or float64 is left to NumPy.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from minimx.core.dtypes import FLOAT16, NARROW
from minimx.core.extensions import provided
from minimx.core.kernels import find, threads
from minimx.core.kernels.cpu.blas import gemm, one_thread
from minimx.core.kernels.cpu.widths import convert, widened
from minimx.core.kernels.parts import dealt
from minimx.core.knobs import knobs

# A tile is large enough that BLAS's own preparations do not count, and small enough
# that a common layer has several.
TILE_ROWS, TILE_COLUMNS = 256, 512


@threads.jit(parallel=True)
def tiles(
    part: Any, a: Any, b: Any, out: Any, ta: bool, tb: bool, rows: int, columns: int
) -> None:
    """Fill out (stack, m, n), cut into tiles of rows × columns."""
    stack, m, n = out.shape
    k = a.shape[1] if ta else a.shape[2]
    down, across = -(-m // rows), -(-n // columns)
    for tile in dealt(stack * down * across, part):
        s, place = tile // (down * across), tile % (down * across)
        i, j = place // across * rows, place % across * columns
        gemm(
            ta, tb, min(rows, m - i), min(columns, n - j), k,
            a[s], i if ta else i * a.shape[2], a.shape[2],
            b[s], j * b.shape[2] if tb else j, b.shape[2],
            0.0, out[s], i * n + j, n,
        )  # fmt: skip


def tiling(m: int, n: int, stack: int = 1) -> tuple[int, int]:
    """Rows and columns of a tile for an m × n product.

    A stack of many products needs no cutting; one that would be a single tile is halved
    along its longer side, so that two threads have work.

    >>> tiling(128, 500, stack=2), tiling(256, 10), tiling(64, 64, stack=8)
    ((128, 500), (128, 10), (64, 64))
    """
    rows, columns = _even(m, TILE_ROWS), _even(n, TILE_COLUMNS)
    if stack * -(-m // rows) * -(-n // columns) < 2 and max(m, n) > 32:
        if m >= n:
            rows = -(-m // 2)
        else:
            columns = -(-n // 2)
    return rows, columns


def _even(length: int, largest: int) -> int:
    """Parts of equal length, none longer than `largest`."""
    return -(-length // max(1, -(-length // largest)))


def effort(m: int, n: int, k: int, stack: int = 1) -> int:
    """How long a product takes, as elements of a pointwise loop: 16 terms are one.

    BLAS adds up 16 terms of its sums in about the time that such a loop needs for an
    element: 0.4 million of them take 15 µs on one thread and 50 to 70 on two, of which
    one has to be woken; 4 million take as long on one as on two. Reading and writing
    counts as well: a row times a matrix is mostly that.

    >>> effort(16, 256, 64), effort(1, 1000, 1000)
    (37888, 1064500)
    """
    return stack * (m * n * k // 16 + m * k + k * n + m * n)


def product(a: Any, b: Any, out: Any, ta: bool = False, tb: bool = False) -> None:
    """Fill out (m, n) or (stack, m, n) with op(a) · op(b); ta, tb: transpose first.

    op(a) (m, k) and op(b) (k, n), each with the stack in front if out has one. float32
    and float64 by BLAS, tile by tile on several threads; two-byte numbers are added up
    in float32 and rounded once; integers by NumPy.
    """
    if np.may_share_memory(out, a) or np.may_share_memory(out, b):
        a, b = a.copy(), b.copy()  # both are read again after rows of out are there
    if out.dtype in NARROW and a.size and out.size and not _added_narrowly(out):
        if out.dtype == FLOAT16 or not _by_library(a, b, out, ta, tb):
            wide = np.empty(out.shape, np.float32)
            product(widened(a), widened(b), wide, ta, tb)
            convert(wide, out)
        return
    if out.dtype.kind != "f" or out.dtype.itemsize < 4 or out.size == 0 or a.size == 0:
        _by_numpy(a, b, out, ta, tb)
        return
    m, n = out.shape[-2:]
    stack = out.size // (m * n)
    a, b = a.reshape(stack, *a.shape[-2:]), b.reshape(stack, *b.shape[-2:])
    out = out.reshape(stack, m, n)
    work = effort(m, n, a.shape[-2 if ta else -1], stack)
    with one_thread:
        run = tiles.threaded if threads.parts(work) > 1 else tiles.serial
        run(a, b, out, ta, tb, *tiling(m, n, stack))


def biased(a: Any, b: Any, bias: Any, out: Any) -> None:
    """Fill out (m, n) with a (m, k) · bᵀ, b (n, k), and add bias (n,) to every row.

    For bfloat16 the bias is added in float32, before the result is rounded; it is the
    one type that is not NumPy's own, which calls its kind "V".
    """
    if out.dtype.kind != "V" or not (a.size and out.size):
        product(a, b, out, False, True)
        out += bias
    elif not _by_library(a, b, out, False, True, bias):
        wide = np.empty(out.shape, np.float32)
        product(widened(a), widened(b), wide, False, True)
        wide += widened(bias)
        convert(wide, out)


def _by_library(*product: Any) -> bool:
    """Whether oneDNN multiplied these matrices of bfloat16."""
    return bool(provided("oneDNN products").multiply(*product))


def _by_numpy(a: Any, b: Any, out: Any, ta: bool, tb: bool) -> None:
    """Integers have no BLAS, and half precision is added up in single precision."""
    a = a.swapaxes(-1, -2) if ta else a
    b = b.swapaxes(-1, -2) if tb else b
    if out.dtype in NARROW:
        narrow_product(a, b, out)
    else:
        np.matmul(a, b, out=out)


def _added_narrowly(out: Any) -> bool:
    """Whether sums of products are rounded to float16 after every addition."""
    return out.dtype == np.float16 and bool(knobs.get("MXNET_FC_TRUE_FP16"))


def narrow_product(a: Any, b: Any, out: Any) -> None:
    """Fill out (…, m, n) of two-byte numbers with a (…, m, k) · b (…, k, n).

    Added up in float32, float16 in float16 if MXNET_FC_TRUE_FP16 says so.
    """
    a, b = a.astype(np.float32), b.astype(np.float32)
    if _added_narrowly(out) and a.size:
        stack = out.shape[:-2]
        matrices = [
            np.broadcast_to(x, (*stack, *x.shape[-2:])).reshape(-1, *x.shape[-2:])
            for x in (a, b)
        ]
        result = np.empty(out.shape, np.float32)
        find("narrow.product")(*matrices, result.reshape(-1, *out.shape[-2:]))
    else:
        with np.errstate(all="ignore"):  # what is too large becomes infinite
            result = np.matmul(a, b)
    with np.errstate(all="ignore"):
        out[...] = result

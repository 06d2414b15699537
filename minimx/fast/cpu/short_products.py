"""Small matrix products as calls of machine code, for `kernels/prebuilt.py`.

is_small(dtype, m, n, k, stack)    whether `matmul.product` comes down to them
direct(product, …)                 the product itself, without what a large one asks
biased(product, rows, columns)     the same, and a row added to every row
calls(a, b, out, ta, tb)           the calls: the same tiles, by the same BLAS
bias_calls(out, bias)              a row added to every row, as one call
"""

from __future__ import annotations

from functools import cache
from itertools import product
from math import prod
from typing import Any

import numpy as np
from numba import carray, float32, float64  # type: ignore[attr-defined]

from minimx.core.dtypes import FLOAT32, DType
from minimx.core.kernels import threads
from minimx.core.kernels.cpu.blas import gemm, one_thread
from minimx.core.kernels.cpu.matmul import effort, tiles, tiling
from minimx.core.kernels.native import load, operand, row_kernel, store
from minimx.core.kernels.prebuilt import Call, addresses
from minimx.core.ops.registry import Kernel
from minimx.core.shapes import Shape
from minimx.fast import tuning

#: A product of more matrices is no small one.
FEW = 4
#: For so many terms of its sums BLAS uses one thread by itself.
TERMS = 1 << 18
_TYPES: dict[DType, Any] = {FLOAT32: float32, np.dtype("float64"): float64}


@cache
def _tile_code(dtype: DType) -> int:
    """Code for a tile; steps: the transposes, three lengths, three lengths of rows."""
    real = _TYPES[dtype]

    def tile(args: Any, steps: Any, n: int) -> None:
        a = carray(operand(args, 0, real), 1)
        b = carray(operand(args, 1, real), 1)
        out = carray(operand(args, 2, real), 1)
        gemm(
            steps[0] != 0, steps[1] != 0, steps[2], steps[3], steps[4],
            a, 0, steps[5], b, 0, steps[6], 0.0, out, 0, steps[7],
        )  # fmt: skip

    return code_of(tile)


@cache
def _bias_code(dtype: DType) -> int:
    """Code that adds a row to n rows; steps: how long they are."""
    real = _TYPES[dtype]

    def add(args: Any, steps: Any, n: int) -> None:
        bias, out = operand(args, 0, real), operand(args, 1, real)
        width = steps[0]
        for i in range(n):
            for j in range(width):
                here = i * width + j
                store(out, here, load(out, here) + load(bias, j))

    return code_of(add)


def code_of(function: Any) -> int:
    """Where the machine code of a function of the shape of `row_kernel` starts."""
    made = threads.compiled(lambda: row_kernel(function))
    _alive.append(made)
    return int(made.address)


_alive: list[Any] = []  # code lives as long as what numba made


def is_small(
    dtype: DType, m: int, n: int, k: int, stack: int = 1, bias: bool = False
) -> bool:
    """Whether a product, and a bias after it, come down to a few calls."""
    if dtype not in _TYPES or 0 in (m, n, k, stack):
        return False
    rows, columns = tiling(m, n, stack)
    few = stack * -(-m // rows) * -(-n // columns) <= FEW
    alone = threads.parts(effort(m, n, k, stack)) == 1
    return few and alone and not (bias and m * n >= tuning.SMALL)


def direct(
    product: Kernel, ta: bool, tb: bool, a: Shape, b: Shape, out: Shape
) -> Kernel:
    """A kernel of a small product that has few terms, else `product`.

    a, b, out: the shapes of its arrays, seen as (stacks of) matrices. Which tiles there
    are is found out here. That BLAS has one thread needs no asking.
    """
    m, n = out[-2:]
    stack, k = prod(out[:-2]), a[-2 if ta else -1]
    if stack * m * n * k > TERMS:
        return product
    rows, columns = tiling(m, n, stack)
    left, right, to = ((stack, *shape[-2:]) for shape in (a, b, out))

    def launch(lhs: Any, rhs: Any, result: Any) -> None:
        if np.may_share_memory(result, lhs) or np.may_share_memory(result, rhs):
            product(lhs, rhs, result)
            return
        x, y, z = lhs.reshape(left), rhs.reshape(right), result.reshape(to)
        tiles.small(x, y, z, ta, tb, rows, columns)

    return launch


def biased(product: Kernel, rows: int, columns: int) -> Kernel:
    """A kernel (a, b, bias, out) that adds a row to a product of so many of each."""

    def launch(a: Any, b: Any, bias: Any, out: Any) -> None:
        product(a, b, out)
        matrix = out.reshape(rows, columns)
        np.add(matrix, bias.reshape(columns), matrix)

    return launch


def calls(a: Any, b: Any, out: Any, ta: bool, tb: bool) -> list[Call]:
    """What `matmul.product` does on small matrices: a call for each tile."""
    m, n = out.shape[-2:]
    stack, k = out.size // (m * n), a.shape[-2 if ta else -1]
    rows, columns = tiling(m, n, stack)
    (lhs, rhs, to), width = addresses([a, b, out]), out.itemsize
    found = []
    for s, i, j in product(range(stack), range(0, m, rows), range(0, n, columns)):
        starts = (
            lhs + width * (s * m * k + (i if ta else i * k)),
            rhs + width * (s * k * n + (j * k if tb else j)),
            to + width * (s * m * n + i * n + j),
        )
        lengths = (min(rows, m - i), min(columns, n - j), k)
        steps = (int(ta), int(tb), *lengths, m if ta else k, k if tb else n, n)
        work = effort(*lengths)  # says how long the call takes; the code needs no n
        found.append(Call(_tile_code(out.dtype), starts, steps, work, one_thread))
    return found


def bias_calls(out: Any, bias: Any) -> list[Call]:
    """Add a row (n,) to every row of a small out (m, n)."""
    starts = addresses([bias, out])
    return [Call(_bias_code(out.dtype), starts, bias.shape, out.size // bias.size)]

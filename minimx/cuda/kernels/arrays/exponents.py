"""How many numbers of an array have which power of two, on CUDA.

The bits are read as on the CPU (`kernels.cpu.exponents`). Every block counts in shared
memory, as neighbours are often alike and would wait for one another; at its end it adds
that to what all have. Squares are added up thread by thread, block by block: how many
there are of both depends on the size only, so the sum is the same in every run.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from minimx.core.dtypes import POWERS
from minimx.cuda.kernels import launching, packed, pointwise, scratch
from minimx.cuda.kernels.launching import cuda

LOWEST, HIGHEST, HEAD = POWERS[0], POWERS[-1], 4
COLUMNS = HEAD + len(POWERS)
THREADS, BLOCKS = launching.THREADS, 512
_whole: Any = np.int64


@launching.kernel
def _counted(
    bits: Any, counts: Any, sums: Any, n: int, fraction: int, mask: int
) -> None:
    mine = cuda.shared.array(COLUMNS, np.int32)
    squares = cuda.shared.array(THREADS, np.float64)
    t, width = cuda.threadIdx.x, cuda.blockDim.x
    for k in range(t, COLUMNS, width):
        mine[k] = 0
    cuda.syncthreads()
    unit, total = _whole(1) << fraction, 0.0
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        word = _whole(bits[i])
        field, part = (word >> fraction) & mask, word & (unit - 1)
        column = 2 if part != 0 else 1
        if field == 0 and part == 0:
            column = 0
        elif field != mask:
            base = max(field, _whole(1)) - (mask >> 1) - fraction
            whole = part | unit if field != 0 else part
            power, rest = base, whole
            while rest > 1:
                rest >>= 1
                power += 1
            total += math.ldexp(float(whole) * float(whole), int(2 * base))
            column = HEAD - LOWEST + min(max(power, LOWEST), HIGHEST)
        cuda.atomic.add(mine, column, 1)
    squares[t] = total
    cuda.syncthreads()
    for k in range(t, COLUMNS, width):
        if mine[k] != 0:
            cuda.atomic.add(counts, k, mine[k])
    if t == 0:
        for k in range(1, width):
            total += squares[k]
        sums[cuda.blockIdx.x] = total


@launching.kernel
def _written(counts: Any, sums: Any, out: Any, n: int, blocks: int) -> None:
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        number = float(counts[i])
        if i == HEAD - 1:
            for k in range(blocks):
                number += sums[k]
        out[i] = number


def count(bits: Any, fraction: int, mask: int, out: Any) -> None:
    """Out = the row of counts of numbers given as the bits of their type.

    bits: (n,), unsigned. fraction: how many bits the fraction has. mask: the exponent
    field, shifted down, when all its bits are one. out: (COLUMNS,), float64.
    """
    n = bits.size
    blocks, threads = launching.geometry(n)
    blocks = min(blocks, BLOCKS)
    with scratch.allocated((COLUMNS, np.int64), (blocks, np.float64)) as (counts, sums):
        pointwise.filler(np.int64(0))(counts)
        settings = n, fraction, mask
        packed.launch(_counted, blocks, threads, bits, counts, sums, *settings)
        launching.over(_written, COLUMNS, (counts, sums, out), blocks)

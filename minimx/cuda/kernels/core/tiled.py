"""Products of matrices in tiles on CUDA: what `matmul` and `implicit` have in common.

    answer (rows, columns) = left (rows, depth) · right (depth, columns)

A block of TILE × TILE threads makes a tile of TILE · down by TILE · across elements of
the answer, each thread down × across of them, in registers. For DEPTH steps of the sum
at a time the block has both factors in shared memory, where each number is used by TILE
threads, and by each of them `across` or `down` times. While they multiply, the numbers
of the next DEPTH steps are on their way from memory to registers.

Neither factor has to exist as a matrix. Where an element lies in memory follows from
its place, by functions of a kind of product:

    step(k, group, at)         where the k-th step of the sum begins, in the left and in
                               the right factor; and how far it moves a window, (y, x)
    column(col, group, at)     where a column of the right factor begins, and (y, x)
    target(col, group, at)     where a column of the answer begins
    fetch(b, place, y, x, …)   an element of the right factor, or 0 beyond the border

Rows are equally far apart. What a step and a column say costs divisions, so it is
computed once for the whole block: that of the columns at the start, that of DEPTH steps
before their numbers are fetched.

Sums are added up in the order of k, in parts that shapes decide: the same to the bit in
every run.

A product can also be subtracted from what the answer holds, everywhere or only on one
side of its diagonal: what factors of a matrix, of which a part is done, leave of the
rest.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np

from minimx.cuda.kernels import launching, packed, scratch
from minimx.cuda.kernels.launching import cuda

#: Threads along a side of a block, and steps of the sum that are fetched at a time.
TILE, DEPTH = (2, 2) if launching.SIMULATED else (16, 8)
#: Elements of a thread, (down, across), and what an element costs by comparison: larger
#: tiles fetch less.
SHAPES = {(8, 8): 1.0, (4, 8): 1.2, (4, 4): 1.6, (2, 2): 3.0}
if launching.SIMULATED:
    SHAPES = {(2, 2): 1.0, (1, 2): 1.2, (1, 1): 2.0}
#: So many blocks keep every device busy: with fewer, smaller tiles are worth more.
ENOUGH = 128
#: Numbers that one instruction fetches from shared memory, and by which a row of it is
#: extended, so that neighbours in a column are not in one bank.
QUAD = 4
#: The bytes of sums that the registers of a thread can hold; and how many registers it
#: may have, so that two blocks fit on a multiprocessor.
MOST_BYTES, REGISTERS = 256, 128
#: What happens to the answer: it becomes the product, or the product is subtracted from
#: it; from all of it, or only where its column is at most its row, or at least.
SET, LESS, LESS_BELOW, LESS_ABOVE = 0, 1, 2, 3


class Matrices(NamedTuple):
    """What one launch multiplies; elements for lengths and steps.

    kind: which functions say where elements lie. groups: products that do not meet.
    row, out_row: how far apart rows of the left factor and of the answer are. parts:
    into how many sums the depth is cut. runs: whether neighbours in memory are
    neighbours along the depth, in the left and in the right factor. what: happens to
    the answer; with anything but SET, parts is 1.
    """

    kind: Any
    rows: int
    columns: int
    depth: int
    groups: int
    parts: int
    row: int
    out_row: int
    runs: tuple[bool, bool]
    what: int = SET

    def tiles(self, shape: tuple[int, int]) -> int:
        """How many tiles make the answer, with so many elements for a thread."""
        down, across = (TILE * count for count in shape)
        count = -(-self.rows // down) * -(-self.columns // across)
        return count * self.groups * self.parts

    def shape(self, itemsize: int) -> tuple[int, int]:
        """The cheapest tiles of those of which there are enough, or the smallest."""
        costs = {
            shape: self.tiles(shape) * shape[0] * shape[1] * cost
            for shape, cost in SHAPES.items()
            if shape[0] * shape[1] * itemsize <= MOST_BYTES
        }
        busy = [shape for shape in costs if self.tiles(shape) >= ENOUGH]
        return min(busy, key=costs.__getitem__) if busy else min(costs)


@cache
def _product(
    kind: Any, shape: tuple[int, int], runs: tuple[bool, bool], what: int, real: Any
) -> Any:
    """The kernel of a kind of product, for tiles of one shape."""
    step, column, target, fetch = kind
    (down, across), (left_runs, right_runs) = shape, runs
    tile, depth, high, wide = TILE, DEPTH, TILE * down, TILE * across
    team, quad, left_row, right_row = (
        tile * tile,
        min(QUAD, across),
        high + QUAD,
        wide + QUAD,
    )
    left_loads, right_loads = high * depth // team, wide * depth // team

    def kernel(
        a: Any, b: Any, bias: Any, out: Any, sizes: Any, biased: bool, zero: Any,
        at: Any,
    ) -> None:  # fmt: skip
        left = cuda.shared.array((depth, left_row), real, alignment=16)
        right = cuda.shared.array((depth, right_row), real, alignment=16)
        step_at = cuda.shared.array((2, depth), np.int64)
        step_to = cuda.shared.array((2, depth), np.int32)
        column_at = cuda.shared.array(wide, np.int64)
        column_to = cuda.shared.array((2, wide), np.int32)
        next_left = cuda.local.array(left_loads, real)
        next_right = cuda.local.array(right_loads, real)
        sums = cuda.local.array((down, across), real)
        ls, rs = cuda.local.array(down, real), cuda.local.array(across, real)
        rows, columns, whole, chunk, groups, row, out_row, n = sizes
        x, y = cuda.threadIdx.x, cuda.threadIdx.y
        t, block = y * tile + x, cuda.blockIdx.x
        tiles = -(-columns // wide)
        col0, block = block % tiles * wide, block // tiles
        tiles = -(-rows // high)
        row0, block = block % tiles * high, block // tiles
        group, part = block % groups, block // groups
        if what == LESS_BELOW and col0 >= row0 + high:
            return
        if what == LESS_ABOVE and row0 >= col0 + wide:
            return
        for c in range(t, wide, team):
            if col0 + c < columns:
                place, to_y, to_x = column(col0 + c, group, at)
                column_at[c], column_to[0, c], column_to[1, c] = place, to_y, to_x
        for i in range(down):
            for j in range(across):
                sums[i, j] = zero
        begin = part * chunk
        end = min(begin + chunk, whole)
        for these in range(begin - depth, end, depth):
            first = these + depth  # the next ones
            if t < depth and first + t < end:
                place, other, to_y, to_x = step(first + t, group, at)
                step_at[0, t], step_at[1, t] = place, other
                step_to[0, t], step_to[1, t] = to_y, to_x
            if these >= begin:
                for load in range(left_loads):
                    e = load * team + t
                    if left_runs:
                        left[e % depth, e // depth] = next_left[load]
                    else:
                        left[e // high, e % high] = next_left[load]
                for load in range(right_loads):
                    e = load * team + t
                    if right_runs:
                        right[e % depth, e // depth] = next_right[load]
                    else:
                        right[e // wide, e % wide] = next_right[load]
            cuda.syncthreads()
            if first < end:
                for load in range(left_loads):
                    e = load * team + t
                    r, p = (
                        (e // depth, e % depth) if left_runs else (e % high, e // high)
                    )
                    number = zero
                    if row0 + r < rows and first + p < end:
                        number = a[(row0 + r) * row + step_at[0, p]]
                    next_left[load] = number
                for load in range(right_loads):
                    e = load * team + t
                    c, p = (
                        (e // depth, e % depth) if right_runs else (e % wide, e // wide)
                    )
                    number = zero
                    if col0 + c < columns and first + p < end:
                        place = column_at[c] + step_at[1, p]
                        to_y = column_to[0, c] + step_to[0, p]
                        to_x = column_to[1, c] + step_to[1, p]
                        number = fetch(b, place, to_y, to_x, zero, at)
                    next_right[load] = number
            if these >= begin:
                for p in range(depth):
                    for i in range(down):
                        ls[i] = left[p, y * down + i]
                    for j in range(across):
                        rs[j] = right[p, j // quad * quad * tile + x * quad + j % quad]
                    for i in range(down):
                        for j in range(across):
                            sums[i, j] += ls[i] * rs[j]
            cuda.syncthreads()
        # All have read where the right factor's columns begin; now the answer's.
        for c in range(t, wide, team):
            if col0 + c < columns:
                column_at[c] = part * n + target(col0 + c, group, at)
        cuda.syncthreads()
        for i in range(down):
            r = row0 + y * down + i
            if r < rows:
                more = bias[group * rows + r] if biased else zero
                for j in range(across):
                    c = j // quad * quad * tile + x * quad + j % quad
                    if col0 + c < columns:
                        if what == SET:
                            out[column_at[c] + r * out_row] = sums[i, j] + more
                        elif (
                            what == LESS
                            or (what == LESS_BELOW and col0 + c <= r)
                            or (what == LESS_ABOVE and col0 + c >= r)
                        ):
                            out[column_at[c] + r * out_row] -= sums[i, j]

    return launching.kernel(kernel, REGISTERS)


@launching.kernel
def _joined(parts: Any, out: Any, n: int, count: int) -> None:
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        total = parts[i]
        for part in range(1, count):
            total += parts[part * n + i]
        out[i] = total


def run(these: Matrices, a: Any, b: Any, bias: Any, out: Any, at: Any) -> None:
    """One product into `out`; all arrays are flat.

    out is neither of the factors, or what is written there is not read here.

    bias: a number for each row of every group, or None; only where parts is 1. at: what
    the functions of the kind want to know.
    """
    real, n = np.dtype(out.dtype), out.size
    shape, zero = these.shape(real.itemsize), real.type(0)
    found = _product(these.kind, shape, these.runs, these.what, real)
    chunk = -(-these.depth // these.parts)
    sizes = these.rows, these.columns, these.depth, chunk, these.groups
    rest = (*sizes, these.row, these.out_row, n), bias is not None, zero, at
    config = these.tiles(shape), (TILE, TILE)
    if these.parts == 1:
        packed.launch(found, *config, a, b, out if bias is None else bias, out, *rest)
        return
    with scratch.allocated((these.parts * n, real)) as (parts,):
        packed.launch(found, *config, a, b, parts, parts, *rest)
        launching.over(_joined, n, (parts, out), these.parts)

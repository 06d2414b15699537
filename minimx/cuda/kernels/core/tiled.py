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
TEAM = TILE * TILE
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


@launching.inner
def _corner(block: int, high: int, wide: int, sizes: Any) -> Any:
    """The first row and column of a block's tile; its group; its part of the sum."""
    tiles = -(-sizes[1] // wide)
    column, block = block % tiles * wide, block // tiles
    tiles = -(-sizes[0] // high)
    row, block = block % tiles * high, block // tiles
    return row, column, block % sizes[4], block // sizes[4]


@launching.inner
def _place(e: int, side: int, runs: bool) -> Any:
    """The row or column, and the step of the sum, of element e that a block fetches."""
    return (e // DEPTH, e % DEPTH) if runs else (e % side, e // side)


@launching.inner
def _outside(corner: Any, high: int, wide: int, what: int) -> Any:
    """Whether a tile is all on the side of the diagonal that stays as it is."""
    row, column = corner[0], corner[1]
    if what == LESS_BELOW:
        return column >= row + high
    return what == LESS_ABOVE and row >= column + wide


@launching.inner
def _columns(
    column_at: Any, column_to: Any, t: int, wide: int, corner: Any, sizes: Any,
    at: Any, column: Any,
) -> None:  # fmt: skip
    """Where the right factor's columns begin, for the whole block."""
    for c in range(t, wide, TEAM):
        if corner[1] + c < sizes[1]:
            place, to_y, to_x = column(corner[1] + c, corner[2], at)
            column_at[c], column_to[0, c], column_to[1, c] = place, to_y, to_x


@launching.inner
def _targets(
    column_at: Any, t: int, wide: int, corner: Any, sizes: Any, at: Any, target: Any
) -> None:
    """The same of the answer's columns."""
    for c in range(t, wide, TEAM):
        if corner[1] + c < sizes[1]:
            place = target(corner[1] + c, corner[2], at)
            column_at[c] = corner[3] * sizes[7] + place


@launching.inner
def _clear(sums: Any, zero: Any, fixed: Any) -> None:
    """Begin with nothing; fixed: as for `_multiply`."""
    for i in range(fixed[0]):
        for j in range(fixed[1]):
            sums[i, j] = zero


@launching.inner
def _keep(numbers: Any, tile: Any, count: int, t: int, side: int, runs: bool) -> None:
    """From a thread's registers to shared memory."""
    for load in range(count):
        line, p = _place(load * TEAM + t, side, runs)
        tile[p, line] = numbers[load]


@launching.inner
def _from_left(
    a: Any, numbers: Any, step_at: Any, t: int, row0: int, first: int, end: int,
    sizes: Any, zero: Any, fixed: Any,
) -> None:  # fmt: skip
    """What a thread fetches of the left factor; fixed: how many, side, runs."""
    for load in range(fixed[0]):
        r, p = _place(load * TEAM + t, fixed[1], fixed[2])
        number = zero
        if row0 + r < sizes[0] and first + p < end:
            number = a[(row0 + r) * sizes[5] + step_at[0, p]]
        numbers[load] = number


@launching.inner
def _from_right(
    b: Any, numbers: Any, tables: Any, t: int, col0: int, first: int, end: int,
    sizes: Any, zero: Any, at: Any, fetch: Any, fixed: Any,
) -> None:  # fmt: skip
    """The same of the right factor; tables: what steps and columns say."""
    step_at, step_to, column_at, column_to = tables
    for load in range(fixed[0]):
        c, p = _place(load * TEAM + t, fixed[1], fixed[2])
        number = zero
        if col0 + c < sizes[1] and first + p < end:
            y, x = column_to[0, c] + step_to[0, p], column_to[1, c] + step_to[1, p]
            number = fetch(b, column_at[c] + step_at[1, p], y, x, zero, at)
        numbers[load] = number


@launching.inner
def _multiply(
    left: Any, right: Any, sums: Any, ls: Any, rs: Any, x: int, y: int, fixed: Any
) -> None:
    """Add what DEPTH steps give; fixed: down, across, neighbours in a row."""
    down, across, quad = fixed
    for p in range(DEPTH):
        for i in range(down):
            ls[i] = left[p, y * down + i]
        for j in range(across):
            rs[j] = right[p, j // quad * quad * TILE + x * quad + j % quad]
        for i in range(down):
            for j in range(across):
                sums[i, j] += ls[i] * rs[j]


@launching.inner
def _write(
    sums: Any, bias: Any, out: Any, column_at: Any, corner: Any, sizes: Any,
    biased: bool, zero: Any, x: int, y: int, what: int, fixed: Any,
) -> None:  # fmt: skip
    """A thread's part of the answer; fixed: as for `_multiply`."""
    down, across, quad = fixed
    for i in range(down):
        r = corner[0] + y * down + i
        if r < sizes[0]:
            more = bias[corner[2] * sizes[0] + r] if biased else zero
            for j in range(across):
                c = j // quad * quad * TILE + x * quad + j % quad
                at, beyond = column_at[c] + r * sizes[6], corner[1] + c - r
                if corner[1] + c < sizes[1]:
                    if what == SET:
                        out[at] = sums[i, j] + more
                    elif (
                        what == LESS
                        or (what == LESS_BELOW and beyond <= 0)
                        or (what == LESS_ABOVE and beyond >= 0)
                    ):
                        out[at] -= sums[i, j]


@cache
def _product(
    kind: Any, shape: tuple[int, int], runs: tuple[bool, bool], what: int, real: Any
) -> Any:
    """The kernel of a kind of product, for tiles of one shape; sizes: see `run`."""
    step, column, target, fetch = kind
    (down, across), (left_runs, right_runs) = shape, runs
    high, wide, quad = TILE * down, TILE * across, min(QUAD, across)
    left_row, right_row = high + QUAD, wide + QUAD
    left_count, right_count = high * DEPTH // TEAM, wide * DEPTH // TEAM

    def kernel(
        a: Any, b: Any, bias: Any, out: Any, sizes: Any, biased: bool, zero: Any,
        at: Any,
    ) -> None:  # fmt: skip
        left = cuda.shared.array((DEPTH, left_row), real, alignment=16)
        right = cuda.shared.array((DEPTH, right_row), real, alignment=16)
        step_at = cuda.shared.array((2, DEPTH), np.int64)
        step_to = cuda.shared.array((2, DEPTH), np.int32)
        column_at = cuda.shared.array(wide, np.int64)
        column_to = cuda.shared.array((2, wide), np.int32)
        next_left = cuda.local.array(left_count, real)
        next_right = cuda.local.array(right_count, real)
        sums = cuda.local.array((down, across), real)
        ls, rs = cuda.local.array(down, real), cuda.local.array(across, real)
        x, y = cuda.threadIdx.x, cuda.threadIdx.y
        t = y * TILE + x
        corner = _corner(cuda.blockIdx.x, high, wide, sizes)
        row0, col0, group, part = corner
        if _outside(corner, high, wide, what):
            return
        _columns(column_at, column_to, t, wide, corner, sizes, at, column)
        _clear(sums, zero, (down, across))
        tables = step_at, step_to, column_at, column_to
        begin = part * sizes[3]
        end = min(begin + sizes[3], sizes[2])
        for these in range(begin - DEPTH, end, DEPTH):
            first = these + DEPTH  # the next ones
            if t < DEPTH and first + t < end:
                place, other, to_y, to_x = step(first + t, group, at)
                step_at[0, t], step_at[1, t] = place, other
                step_to[0, t], step_to[1, t] = to_y, to_x
            if these >= begin:
                _keep(next_left, left, left_count, t, high, left_runs)
                _keep(next_right, right, right_count, t, wide, right_runs)
            cuda.syncthreads()
            if first < end:
                _from_left(a, next_left, step_at, t, row0, first, end, sizes, zero,
                           (left_count, high, left_runs))  # fmt: skip
                _from_right(b, next_right, tables, t, col0, first, end, sizes, zero, at,
                            fetch, (right_count, wide, right_runs))  # fmt: skip
            if these >= begin:
                _multiply(left, right, sums, ls, rs, x, y, (down, across, quad))
            cuda.syncthreads()
        # All have read where the right factor's columns begin; now the answer's.
        _targets(column_at, t, wide, corner, sizes, at, target)
        cuda.syncthreads()
        _write(sums, bias, out, column_at, corner, sizes, biased, zero, x, y, what,
               (down, across, quad))  # fmt: skip

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

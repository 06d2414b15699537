"""Large matrices on CUDA, cut into blocks of columns for all multiprocessors.

A block of threads factorises a few columns, or solves for a few rows of an answer; what
those leave of the rest is a product of matrices, which all multiprocessors share
(`tiled`), and which is most of the work:

    subtract(a, left, b, right, x, out, sizes)     out -= left · right
    eliminate(a, triangle, x, system, sizes)       out of triangle · answer = system

Both work inside larger matrices. A `Part` says where one begins and how far apart its
rows and columns are: transposed, or read from its last row to its first one, it is the
same memory with other steps, so there is one kind of triangle only, the lower one.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np

from minimx.cuda.kernels import launching
from minimx.cuda.kernels.core import tiled
from minimx.cuda.kernels.core.matmul import element
from minimx.cuda.kernels.launching import cuda

#: Sides of matrices above this are cut into blocks.
LARGE = 6 if launching.SIMULATED else 256
#: Rows of a triangle that one block solves for, and columns of a factor that it makes.
WIDE, PANEL = (4, 2) if launching.SIMULATED else (64, 32)
#: Threads that fetch a triangle and a strip of an answer; columns of that strip, each
#: of which one of them solves for; rows that it has in registers meanwhile.
TEAM, STRIP, QUAD = (2, 2, 2) if launching.SIMULATED else (128, 32, 4)


class Part(NamedTuple):
    """A matrix inside of each matrix of a stack; all in elements.

    at: where the first one begins. apart: from matrix to matrix. down, across: from row
    to row and from column to column; below 0, it is read backwards.
    """

    at: int
    apart: int
    down: int
    across: int

    def shifted(self, row: int, column: int) -> Part:
        """The part that begins at this row and column."""
        return self._replace(at=self.at + row * self.down + column * self.across)

    def turned(self) -> Part:
        """The transposed matrix."""
        return self._replace(down=self.across, across=self.down)

    def reversed(self, rows: int, columns: int) -> Part:
        """The same, from the last of these rows and of these columns to the first.

        With 0 columns those stay as they are.
        """
        last, across = self.shifted(rows - 1, max(columns - 1, 0)), self.across
        return last._replace(down=-self.down, across=-across if columns else across)


# -- products --------------------------------------------------------------------------


@launching.inner
def step_of(k: int, s: int, at: Any) -> Any:
    """Where a step of the sum begins in both factors, in a matrix of the stack."""
    return at[0] + s * at[1] + k * at[2], at[3] + s * at[4] + k * at[5], 0, 0


@launching.inner
def column_of(col: int, s: int, at: Any) -> Any:
    """Where a column of the right factor begins."""
    return col * at[6], 0, 0


@launching.inner
def target_of(col: int, s: int, at: Any) -> Any:
    """Where a column of the answer begins."""
    return at[7] + s * at[8] + col * at[9]


INSIDE = step_of, column_of, target_of, element


def subtract(
    a: Any, left: Part, b: Any, right: Part, x: Any, out: Part,
    sizes: tuple[int, int, int, int], what: int = tiled.LESS,
) -> None:  # fmt: skip
    """Subtract a product in flat arrays: out -= left · right.

    sizes: the stack, rows, columns, depth. The three may be in one array, if the answer
    meets no factor. what: of `tiled`.
    """
    stack, rows, columns, depth = sizes
    if min(rows, columns, depth) == 0:
        return
    if abs(out.across) != 1 and abs(out.down) == 1:
        # Threads that are neighbours write to neighbours: by columns, transposed.
        a, left, b, right, out = b, right.turned(), a, left.turned(), out.turned()
        rows, columns = columns, rows
        other = {tiled.LESS_BELOW: tiled.LESS_ABOVE, tiled.LESS_ABOVE: tiled.LESS_BELOW}
        what = other.get(what, what)
    runs = abs(left.across) == 1, abs(right.down) == 1
    these = tiled.Matrices(
        INSIDE, rows, columns, depth, stack, 1, left.down, out.down, runs, what
    )
    at = (left.at, left.apart, left.across, *right, out.at, out.apart, out.across)
    tiled.run(these, a, b, None, x, at)


# -- triangles -------------------------------------------------------------------------


@launching.inner
def _solved(low: Any, x: Any, c: int, n: int, sums: Any, unit: bool) -> None:
    """Solve for the first n rows of column c of x; low: the triangle, row by row.

    QUAD rows at a time: what is known already is taken from all of them at once.
    """
    for row in range(0, n, QUAD):
        for q in range(QUAD):
            sums[q] = x[row + q, c]
        for j in range(row):
            known = x[j, c]
            for q in range(QUAD):
                i = row + q
                sums[q] -= low[i * (i + 1) // 2 + j] * known
        for q in range(QUAD):
            i = row + q
            for p in range(q):
                sums[q] -= low[i * (i + 1) // 2 + row + p] * sums[p]
            if not unit:
                sums[q] /= low[i * (i + 1) // 2 + i]
            x[i, c] = sums[q]


@launching.inner
def _place(e: int, along: int) -> Any:
    """The row and the column of an element of a strip; neighbours in memory follow."""
    row, column = e // STRIP, e % STRIP
    if abs(along) == 1:
        row, column = e % WIDE, e // WIDE
    return row, column


@cache
def _solving(real: Any) -> Any:
    """The kernel in which a block solves for at most WIDE rows of a strip.

    A thread has a column for itself, so none waits for another.
    """
    packed, beside, zero, one = WIDE * (WIDE + 1) // 2, STRIP + 1, real(0), real(1)

    @launching.kernel
    def kernel(
        a: Any, x: Any, count: int, strips: int, n: int, width: int, triangle: Any,
        system: Any, unit: bool,
    ) -> None:  # fmt: skip
        low = cuda.shared.array(packed, real)
        mine = cuda.shared.array((WIDE, beside), real)
        sums = cuda.local.array(QUAD, real)
        t = cuda.threadIdx.x
        corner, apart, down, across = triangle
        begin, far, along, next_ = system
        for w in range(cuda.blockIdx.x, count, cuda.gridDim.x):
            s, first = w // strips, w % strips * STRIP
            at, top = begin + s * far + first * next_, corner + s * apart
            for e in range(t, WIDE * WIDE, TEAM):
                i, j = e // WIDE, e % WIDE
                if abs(down) == 1:
                    i, j = j, i
                if j <= i:  # rows that are missing are those of the identity
                    number = one if i == j else zero
                    if i < n:
                        number = a[top + i * down + j * across]
                    low[i * (i + 1) // 2 + j] = number
            for e in range(t, WIDE * STRIP, TEAM):
                i, c = _place(e, along)
                number = zero
                if i < n and first + c < width:
                    number = x[at + i * along + c * next_]
                mine[i, c] = number
            cuda.syncthreads()
            if t < STRIP:
                _solved(low, mine, t, n, sums, unit)
            cuda.syncthreads()
            for e in range(t, WIDE * STRIP, TEAM):
                i, c = _place(e, along)
                if i < n and first + c < width:
                    x[at + i * along + c * next_] = mine[i, c]
            cuda.syncthreads()

    return kernel


def solve_rows(
    a: Any, triangle: Part, x: Any, system: Part, sizes: tuple[int, int, int],
    unit: bool = False,
) -> None:  # fmt: skip
    """Solve for at most WIDE rows, by a lower triangle; in place, in flat arrays.

    sizes: the stack, rows, columns. unit: the triangle's diagonal is 1.
    """
    stack, n, width = sizes
    strips = -(-width // STRIP)
    if strips:
        found = _solving(np.dtype(x.dtype).type)
        count, steps = stack * strips, (tuple(triangle), tuple(system))
        launching.by_teams(found, count, TEAM, a, x, count, strips, n, width, *steps,
                           unit)  # fmt: skip


def eliminate(
    a: Any, triangle: Part, x: Any, system: Part, sizes: tuple[int, int, int],
    lower: bool = True, unit: bool = False,
) -> None:  # fmt: skip
    """In place of the right sides of a triangular system its answers, in flat arrays.

    sizes: the stack, rows, columns. unit: the triangle's diagonal is 1.
    """
    stack, n, width = sizes
    if not lower:
        triangle, system = triangle.reversed(n, n), system.reversed(n, 0)
    for k in range(0, n, WIDE):
        end = min(k + WIDE, n)
        rows, rest = (stack, end - k, width), (stack, n - end, width, end - k)
        done = system.shifted(k, 0)
        solve_rows(a, triangle.shifted(k, k), x, done, rows, unit)
        below = system.shifted(end, 0)
        subtract(a, triangle.shifted(end, k), x, done, x, below, rest)

"""Linear algebra on stacks of matrices on CUDA: factors, and what they solve.

A block of threads does a matrix, or, of those with more than `blocked.LARGE` rows, some
columns at a time; all multiprocessors do the rest of such a matrix (`blocked`).

Everything is in place and right-looking: when a column of a factor is done, all threads
of the block take its share from what lies right and below; when a row of the answer to
a system is, they take it from the rows below. Many columns of an answer are cut into
strips, with a block for each.

A kernel cannot raise errors. Where the CPU says that a matrix is not positive definite,
or singular, numbers here are NaN or infinite: each function says where.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from minimx.cuda.kernels import launching, scratch
from minimx.cuda.kernels.arrays import blocked
from minimx.cuda.kernels.arrays.blocked import Part
from minimx.cuda.kernels.core import tiled
from minimx.cuda.kernels.default_launch import real, runs
from minimx.cuda.kernels.launching import cuda
from minimx.cuda.kernels.mathematics import abs as size_of
from minimx.cuda.kernels.mathematics import log, sign, sqrt

#: The threads of a matrix whose side is at most SMALL, and of larger ones.
TEAMS, SMALL = ([1, 1] if launching.SIMULATED else [32, 256]), 32
#: The threads that choose the rows of large matrices.
CHOOSING = 4 if launching.SIMULATED else 512
#: So many threads of a block share a row of what is updated; so many rows a thread asks
#: memory for before it waits.
LANES, AHEAD = (2, 2) if launching.SIMULATED else (32, 8)
#: So many columns of an answer are a block's.
STRIP = 2 if launching.SIMULATED else 32


def together(make: Callable[[int], Any], count: int, side: int, *args: Any) -> None:
    """Launch a kernel with a block for each of `count` matrices."""
    team = TEAMS[side > SMALL]
    launching.by_teams(make(team), count, team, *args)


def sides(x: Any) -> tuple[int, int]:
    """The rows and the columns of every matrix."""
    rows, columns = tuple(x.shape)[-2:]
    return int(rows), int(columns)


@launching.inner
def meet(team: int) -> None:
    """Wait for all threads of the block; a single thread need not."""
    if team > 1:
        cuda.syncthreads()


# -- triangles -------------------------------------------------------------------------


@launching.inner
def _eliminate(
    a: Any, corner: int, down: int, across: int, x: Any, at: int, along: int,
    next_: int, width: int, n: int, lower: bool, unit: bool, team: int,
) -> None:  # fmt: skip
    """In place of the right sides of a triangular system its answers.

    a: the triangle, from `corner` on with these steps; unit: its diagonal is 1. x: n
    rows of `width` numbers, from `at` on, `along` apart, the numbers `next_` apart.
    """
    t = cuda.threadIdx.x
    for p in range(n):
        i = p if lower else n - 1 - p
        row = at + i * along
        if not unit:
            for c in range(t, width, team):
                x[row + c * next_] /= a[corner + i * (down + across)]
            meet(team)
        for e in range(t, (n - 1 - p) * width, team):
            k, c = e // width, e % width * next_
            j = p + 1 + k if lower else k
            x[at + j * along + c] -= a[corner + j * down + i * across] * x[row + c]
        meet(team)


@cache
def _triangular(team: int) -> Any:
    """The kernel in which `team` threads solve for a strip of columns."""

    @launching.kernel
    def kernel(
        a: Any, b: Any, out: Any, count: int, strips: int, per: int, n: int,
        steps: Any, lower: bool, alpha: Any,
    ) -> None:  # fmt: skip
        down, across, next_, along = steps
        for w in range(cuda.blockIdx.x, count, cuda.gridDim.x):
            s, first = w // strips, w % strips * STRIP
            width, at = min(STRIP, per - first), s * n * per + first * next_
            for e in range(cuda.threadIdx.x, n * width, team):
                place = at + e // width * along + e % width * next_
                out[place] = alpha * b[place]
            meet(team)
            _eliminate(
                a, s * n * n, down, across, out, at, along, next_, width, n, lower,
                False, team,
            )  # fmt: skip

    return kernel


@launching.kernel
def _scaled(b: Any, out: Any, n: int, alpha: Any) -> None:
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        out[i] = alpha * b[i]


@runs("_linalg_trsm", types=real)
def trsm(
    a: Any, b: Any, transpose: bool, rightside: bool, lower: bool, alpha: float,
    out: Any,
) -> None:  # fmt: skip
    """Solve op(a) out = alpha b, or out op(a) = alpha b.

    A 0 on the diagonal gives infinities and NaN.
    """
    # x a = b is aᵀ xᵀ = bᵀ.
    turn = transpose != rightside
    side, per = sides(a)[0], sides(b)[not rightside]
    triangle = (1, side) if turn else (side, 1)
    steps = (*triangle, *((side, 1) if rightside else (1, per)))
    strips, factor = -(-per // STRIP), out.dtype.type(alpha)
    stack = out.size // (side * per)
    count = stack * strips
    sizes = count, strips, per, side, steps, lower != turn, factor
    with scratch.aside(out, a) as target:
        if side > blocked.LARGE:
            launching.over(_scaled, out.size, (b, target), factor)
            flat_a, x = launching.flat(a, target)
            system = Part(0, side * per, steps[3], steps[2])
            blocked.eliminate(
                flat_a, Part(0, side * side, *triangle), x, system, (stack, side, per),
                lower != turn,
            )  # fmt: skip
            return
        together(_triangular, count, side, *launching.flat(a, b, target), *sizes)


@launching.kernel
def _halved(a: Any, out: Any, size: int, n: int, lower: bool) -> None:
    """A triangle of each matrix, and zeros on the other side."""
    for e in range(cuda.grid(1), size, cuda.gridsize(1)):
        i, j = e // n % n, e % n
        out[e] = a[e] if (i >= j if lower else i <= j) else 0


@cache
def _cholesky(team: int) -> Any:
    """The kernel in which `team` threads factorise a matrix, in its place."""
    lanes = min(LANES, team)

    @launching.kernel
    def kernel(
        out: Any, count: int, n: int, begin: int, apart: int, down: int, across: int
    ) -> None:
        """The lower triangle with these steps, n rows from `begin` on."""
        t = cuda.threadIdx.x
        for s in range(cuda.blockIdx.x, count, cuda.gridDim.x):
            for k in range(n):
                at = begin + s * apart + k * (down + across)
                pivot = out[at]
                # Of a negative number NaN; so that 0 is no better, 0 / 0.
                root = sqrt(pivot) if pivot != 0 else pivot / pivot
                meet(team)
                for i in range(t, n - k, team):
                    out[at + i * down] = out[at + i * down] / root if i else root
                meet(team)
                for i in range(1 + t // lanes, n - k, team // lanes):
                    for j in range(1 + t % lanes, i + 1, lanes):
                        share = out[at + i * down] * out[at + j * down]
                        out[at + i * down + j * across] -= share
                meet(team)

    return kernel


@runs("_linalg_potrf", types=real)
def potrf(a: Any, lower: bool, out: Any) -> None:
    """The factor of a = out outᵀ, or of a = outᵀ out if it is the upper one.

    Of a matrix that is not positive definite the columns (rows) are NaN from the one on
    where that shows: MXNet does not look at what cuSOLVER says of it either.
    """
    n = sides(a)[0]
    count, x = out.size // (n * n), out.reshape(-1)
    launching.over(_halved, out.size, (a, out), n, lower)
    wide = blocked.WIDE if n > blocked.LARGE else n
    whole = Part(0, n * n, *((n, 1) if lower else (1, n)))
    for k in range(0, n, wide):
        end = min(k + wide, n)
        rest, corner = n - end, whole.shifted(k, k)
        together(_cholesky, count, end - k, x, count, end - k, *corner)
        if rest:
            panel, inner = whole.shifted(end, k), whole.shifted(end, end)
            sizes = count, end - k, rest
            blocked.solve_rows(x, corner, x, panel.turned(), sizes)
            blocked.subtract(
                x, panel, x, panel.turned(), x, inner, (count, rest, rest, end - k),
                tiled.LESS_BELOW,
            )  # fmt: skip


# -- LU --------------------------------------------------------------------------------


@launching.inner
def _largest(best: Any, where: Any, team: int) -> None:
    """The largest of what the threads of a block have, in the first place.

    Of equal ones the first.
    """
    t, half = cuda.threadIdx.x, team // 2
    meet(team)
    while half > 0:
        if t < half:
            other, place = best[t + half], where[t + half]
            if other > best[t] or (other == best[t] and place < where[t]):
                best[t], where[t] = other, place
        cuda.syncthreads()
        half //= 2


@cache
def _lu(team: int, real: Any) -> Any:
    """The kernel in which `team` threads factorise columns, in their place."""
    lanes, ahead = min(LANES, team), AHEAD
    rows = team // lanes

    @launching.kernel
    def kernel(a: Any, swaps: Any, count: int, n: int, begin: int, end: int) -> None:
        """Columns from `begin` to `end`, of those rows that are not chosen yet."""
        best = cuda.shared.array(team, np.float64)
        where = cuda.shared.array(team, np.int64)
        held = cuda.local.array(ahead, real)
        t = cuda.threadIdx.x
        for s in range(cuda.blockIdx.x, count, cuda.gridDim.x):
            corner = s * n * n
            for k in range(begin, end):
                best[t], where[t] = -1.0, k
                for i in range(k + t, n, team):
                    length = size_of(a[corner + i * n + k])
                    if length > best[t]:
                        best[t], where[t] = length, i
                _largest(best, where, team)
                chosen, top = where[0], corner + k * n
                if t == 0:
                    swaps[s * n + k] = chosen
                if chosen != k:
                    other = corner + chosen * n
                    for j in range(begin + t, end, team):
                        a[top + j], a[other + j] = a[other + j], a[top + j]
                meet(team)
                pivot = a[top + k]
                if pivot != 0:
                    for i in range(k + 1 + t, n, team):
                        a[corner + i * n + k] /= pivot
                meet(team)
                for j in range(k + 1 + t % lanes, end, lanes):
                    above = a[top + j]
                    for first in range(k + 1 + t // lanes, n, ahead * rows):
                        for h in range(ahead):
                            place = corner + min(first + h * rows, n - 1) * n
                            held[h] = a[place + j] - a[place + k] * above
                        for h in range(ahead):
                            if first + h * rows < n:
                                a[corner + (first + h * rows) * n + j] = held[h]
                meet(team)

    return kernel


@launching.kernel
def _swapped(
    x: Any, swaps: Any, lines: int, n: int, per: int, begin: int, end: int, gap: Any
) -> None:
    """Swap rows of the columns of x as the rows from `begin` to `end` were chosen.

    n, per: rows and columns of every matrix. gap: between these columns all is done.
    """
    kept = per - gap[1] + gap[0]
    for c in range(cuda.grid(1), lines, cuda.gridsize(1)):
        s, j = c // kept, c % kept
        at = s * n * per + (j if j < gap[0] else j - gap[0] + gap[1])
        for i in range(begin, end):
            other = swaps[s * n + i]
            if other != i:
                one, two = at + i * per, at + other * per
                x[one], x[two] = x[two], x[one]


def _swap(x: Any, swaps: Any, sizes: Any, rows: Any, gap: Any = (0, 0)) -> None:
    """Swap rows of every column; sizes: the stack, rows, columns."""
    stack, n, per = sizes
    lines = stack * (per - gap[1] + gap[0])
    launching.run(_swapped, lines, x, swaps, lines, n, per, *rows, gap)


def _factorised(a: Any, factors: Any, swaps: Any) -> None:
    """Fill factors with L below its diagonal of ones, and U; swaps: of rows."""
    n = sides(a)[0]
    count, x = a.size // (n * n), factors.reshape(-1)
    large = n > blocked.LARGE
    wide, team = (blocked.PANEL, CHOOSING) if large else (n, TEAMS[n > SMALL])
    kernel = _lu(team, np.dtype(a.dtype).type)
    launching.duplicate(a, factors)
    whole = Part(0, n * n, n, 1)
    for k in range(0, n, wide):
        end = min(k + wide, n)
        launching.by_teams(kernel, count, team, x, swaps, count, n, k, end)
        _swap(x, swaps, (count, n, n), (k, end), (k, end))
        rest, depth, above = n - end, end - k, whole.shifted(k, end)
        blocked.solve_rows(
            x, whole.shifted(k, k), x, above, (count, depth, rest), unit=True
        )
        blocked.subtract(
            x, whole.shifted(end, k), x, above, x, whole.shifted(end, end),
            (count, rest, rest, depth),
        )  # fmt: skip


def _factors(a: Any) -> Any:
    """Memory for the factors of matrices like a."""
    return scratch.allocated(
        (tuple(a.shape), a.dtype), (a.size // sides(a)[0], np.int64)
    )


@cache
def _solving(team: int) -> Any:
    """The kernel in which `team` threads solve for a strip of columns, by LU."""

    @launching.kernel
    def kernel(
        factors: Any, swaps: Any, b: Any, out: Any, count: int, strips: int, per: int,
        n: int, unit: bool, otherwise: Any,
    ) -> None:  # fmt: skip
        """unit: b is the identity; otherwise: in place of what does not exist."""
        t = cuda.threadIdx.x
        for w in range(cuda.blockIdx.x, count, cuda.gridDim.x):
            s, first = w // strips, w % strips * STRIP
            width, at, singular = min(STRIP, per - first), s * n * per + first, False
            for e in range(t, n * width, team):
                i, place = e // width, at + e // width * per + e % width
                if unit:
                    out[place] = 1 if i == first + e % width else 0
                else:
                    out[place] = b[place]
            meet(team)
            for c in range(at + t, at + width, team):
                for i in range(n):
                    one, two = c + i * per, c + swaps[s * n + i] * per
                    out[one], out[two] = out[two], out[one]
            meet(team)
            for lower in (True, False):
                _eliminate(
                    factors, s * n * n, n, 1, out, at, per, 1, width, n, lower, lower,
                    team,
                )  # fmt: skip
            for i in range(n):
                if factors[(s * n + i) * n + i] == 0:
                    singular = True
            if singular:
                for e in range(t, n * width, team):
                    out[at + e // width * per + e % width] = otherwise
            meet(team)

    return kernel


@launching.kernel
def _identity(out: Any, size: int, n: int) -> None:
    for e in range(cuda.grid(1), size, cuda.gridsize(1)):
        out[e] = 1 if e // n % n == e % n else 0


@launching.kernel
def _regular(factors: Any, swaps: Any, count: int, n: int) -> None:
    """Instead of the first swap -1 where a matrix is singular; else as it is."""
    for s in range(cuda.grid(1), count, cuda.gridsize(1)):
        zeros = 0
        for i in range(n):
            zeros += factors[(s * n + i) * n + i] == 0
        if zeros:
            swaps[s * n] = -1


@launching.kernel
def _replaced(
    swaps: Any, out: Any, size: int, n: int, per: int, otherwise: Any
) -> None:
    """What `_regular` found singular has no solution."""
    for e in range(cuda.grid(1), size, cuda.gridsize(1)):
        if swaps[e // (n * per) * n] < 0:
            out[e] = otherwise


def _solved_in_blocks(
    arrays: Any, count: int, n: int, per: int, unit: bool, otherwise: Any
) -> None:
    """What `_solving` does, for large matrices; count: of them."""
    factors, swaps, b, out = arrays
    if unit:
        launching.run(_identity, out.size, out, out.size, n)
    else:
        launching.duplicate(b, out)
    _swap(out, swaps, (count, n, per), (0, n))
    whole, system = Part(0, n * n, n, 1), Part(0, n * per, per, 1)
    for lower in (True, False):
        sizes = count, n, per
        blocked.eliminate(factors, whole, out, system, sizes, lower, unit=lower)
    launching.run(_regular, count, factors, swaps, count, n)
    launching.run(_replaced, out.size, swaps, out, out.size, n, per, otherwise)


def _solved(a: Any, b: Any, out: Any, unit: bool, otherwise: float) -> None:
    """Fill out with the solution of a out = b; unit: b is not read."""
    n = sides(a)[0]
    per = out.size * n // a.size
    strips = -(-per // STRIP)
    count, number = a.size // (n * n) * strips, out.dtype.type(otherwise)
    with _factors(a) as (factors, swaps):
        _factorised(a, factors, swaps)
        arrays, sizes = launching.flat(factors, swaps, b, out), (count, strips, per, n)
        if n > blocked.LARGE:
            stack = a.size // (n * n)
            _solved_in_blocks(arrays, stack, n, per, unit, number)
            return
        together(_solving, count, n, *arrays, *sizes, unit, number)


@runs("_npi_solve", types=real)
def solve(a: Any, b: Any, out: Any) -> None:
    """The solution of a out = b; NaN where a matrix is singular."""
    _solved(a, b, out, False, np.nan)


@runs("_linalg_inverse", types=real)
def inverse(a: Any, out: Any) -> None:
    """The inverse of every matrix; of singular ones NaN."""
    _solved(a, a, out, True, np.nan)


@runs("_inverse_or_zeros", types=real)
def inverse_or_zeros(a: Any, out: Any) -> None:
    """The inverse of every matrix; of singular ones zeros."""
    _solved(a, a, out, True, 0.0)


@launching.kernel
def _multiplied(
    factors: Any, swaps: Any, first: Any, second: Any, count: int, n: int, apart: bool
) -> None:
    """apart: the sign and the logarithm of a determinant, else itself."""
    for s in range(cuda.grid(1), count, cuda.gridsize(1)):
        product, logs = 1.0, 0.0
        for k in range(n):
            number = factors[(s * n + k) * n + k]
            turned = swaps[s * n + k] != k
            if apart:
                logs += log(np.float64(size_of(number)))
                product *= sign(number)
            else:
                product *= number
            product = -product if turned else product
        first[s] = product
        if apart:
            second[s] = logs


@runs("_linalg_det", "_linalg_slogdet", "_npi_det", "_npi_slogdet", types=real)
def determinants(a: Any, *outs: Any) -> None:
    """(a, out): determinants; (a, sign, logarithm): their signs and sizes."""
    n = sides(a)[0]
    with _factors(a) as (factors, swaps):
        _factorised(a, factors, swaps)
        arrays = factors, swaps, outs[0], outs[-1]
        launching.over(_multiplied, a.size // (n * n), arrays, n, len(outs) > 1)

"""Linear algebra on stacks of small matrices on CUDA: a block of threads for a matrix.

Triangular systems: a thread owns a column of the answer (from the right: a row) and
goes down it by substitution. Factorisations are in place and right-looking: when a
column is done, all threads of the block take its share from what lies right and below.

A kernel cannot raise errors. Where the CPU says that a matrix is not positive definite,
or singular, numbers here are NaN or infinite: each function says where.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from minimx.drivers.cuda import current_stream
from minimx.kernels.cuda import launching, scratch
from minimx.kernels.cuda.launching import cuda
from minimx.kernels.cuda.mathematics import abs as size_of
from minimx.kernels.cuda.mathematics import log, sign, sqrt

Launch = Callable[..., None]

#: The threads of a matrix whose side is at most SMALL, and of larger ones.
TEAMS, SMALL = ([1, 1] if launching.PLAYING else [32, 256]), 32


def together(make: Callable[[int], Any], count: int, side: int, *args: Any) -> None:
    """Launch a kernel with a block for each of `count` matrices."""
    team = TEAMS[side > SMALL]
    blocks = min(count, launching.MOST_BLOCKS)
    make(team)[blocks, team, current_stream()](*args)


def sides(x: Any) -> tuple[int, int]:
    """The rows and the columns of every matrix."""
    rows, columns = tuple(x.shape)[-2:]
    return int(rows), int(columns)


@launching.inner
def meet(team: int) -> None:
    """Wait for all threads of the block; whoever is alone need not."""
    if team > 1:
        cuda.syncthreads()


# -- triangles -------------------------------------------------------------------------


@launching.kernel
def _substituted(
    a: Any, b: Any, out: Any, lines: int, per: int, side: int, steps: Any, lower: bool,
    alpha: Any,
) -> None:  # fmt: skip
    """steps: of a down and across; of b from line to line, and along one."""
    down, across, next_, along = steps
    for w in range(cuda.grid(1), lines, cuda.gridsize(1)):
        corner = w // per * side * side
        at = w // per * per * side + w % per * next_
        for p in range(side):
            i = p if lower else side - 1 - p
            row, total = corner + i * down, alpha * b[at + i * along]
            for q in range(p):
                j = q if lower else side - 1 - q
                total -= a[row + j * across] * out[at + j * along]
            out[at + i * along] = total / a[row + i * across]


def trsm(transpose: bool, rightside: bool, lower: bool, alpha: float) -> Launch:
    """(a, b, out): op(a) out = alpha b, or out op(a) = alpha b.

    A 0 on the diagonal gives infinities and NaN.
    """
    # x a = b is aᵀ xᵀ = bᵀ.
    turn = transpose != rightside

    def launch(a: Any, b: Any, out: Any) -> None:
        side, per = sides(a)[0], sides(b)[not rightside]
        triangle = (1, side) if turn else (side, 1)
        steps = (*triangle, *((side, 1) if rightside else (1, per)))
        lines, flat = out.size // side, [x.reshape(-1) for x in (a, b, out)]
        sizes = lines, per, side, steps, lower != turn, out.dtype.type(alpha)
        launching.run(_substituted, lines, *flat, *sizes)

    return launch


@launching.kernel
def _times(
    a: Any, b: Any, out: Any, n: int, sizes: Any, down: int, across: int, right: bool,
    lower: bool, alpha: Any, zero: Any,
) -> None:  # fmt: skip
    """One thread for each element; down, across: the steps in a."""
    rows, columns = sizes
    side = columns if right else rows
    for w in range(cuda.grid(1), n, cuda.gridsize(1)):
        s, i, j = w // (rows * columns), w // columns % rows, w % columns
        corner, here, own = s * side * side, s * rows * columns, j if right else i
        # Row `own` of the triangle, or from the right column `own`: one end of it.
        first, last = 0, own + 1
        if lower == right:
            first, last = own, side
        total = zero
        for p in range(first, last):
            if right:
                total += b[here + i * columns + p] * a[corner + p * down + j * across]
            else:
                total += a[corner + i * down + p * across] * b[here + p * columns + j]
        out[w] = alpha * total


def trmm(transpose: bool, rightside: bool, lower: bool, alpha: float) -> Launch:
    """(a, b, out): alpha op(a) b, or alpha b op(a), for a triangle a."""

    def launch(a: Any, b: Any, out: Any) -> None:
        side, n, real, sizes = sides(a)[0], out.size, out.dtype.type, sides(out)
        down, across = (1, side) if transpose else (side, 1)
        settings = down, across, rightside, lower != transpose, real(alpha), real(0)
        flat = [x.reshape(-1) for x in (a, b, out)]
        launching.run(_times, n, *flat, n, sizes, *settings)

    return launch


@launching.kernel
def _unit(out: Any, n: int, side: int) -> None:
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        out[i] = 1 if i // side % side == i % side else 0


def potri(lower: bool) -> Launch:
    """(a, out): (a aᵀ)⁻¹ of lower triangles, (aᵀ a)⁻¹ of upper ones, by two systems.

    A 0 on the diagonal gives infinities and NaN.
    """
    there = trsm(not lower, False, lower, 1.0)
    back = trsm(lower, False, lower, 1.0)

    def launch(a: Any, out: Any) -> None:
        with scratch.lent((tuple(out.shape), out.dtype)) as (room,):
            launching.run(_unit, out.size, room.reshape(-1), out.size, sides(a)[0])
            there(a, room, room)
            back(a, room, out)

    return launch


@cache
def _cholesky(team: int) -> Any:
    """The kernel in which `team` threads factorise a matrix."""

    @launching.kernel
    def kernel(a: Any, out: Any, count: int, n: int, down: int, across: int) -> None:
        t = cuda.threadIdx.x
        for s in range(cuda.blockIdx.x, count, cuda.gridDim.x):
            corner = s * n * n
            for e in range(t, n * n, team):
                i, j = e // n, e % n
                inside = i >= j if across == 1 else i <= j
                out[corner + e] = a[corner + e] if inside else 0
            meet(team)
            for k in range(n):
                at = corner + k * (down + across)
                pivot = out[at]
                # Of a negative number NaN; so that 0 is no better, 0 / 0.
                root = sqrt(pivot) if pivot != 0 else pivot / pivot
                meet(team)
                for i in range(t, n - k, team):
                    out[at + i * down] = out[at + i * down] / root if i else root
                meet(team)
                rest = n - k - 1
                for e in range(t, rest * rest, team):
                    i, j = e // rest + 1, e % rest + 1
                    if j <= i:
                        share = out[at + i * down] * out[at + j * down]
                        out[at + i * down + j * across] -= share
                meet(team)

    return kernel


def potrf(lower: bool) -> Launch:
    """(a, out): the factor of a = out outᵀ, or of a = outᵀ out if it is the upper one.

    Of a matrix that is not positive definite the columns (rows) are NaN from the one on
    where that shows: MXNet does not look at what cuSOLVER says of it either.
    """

    def launch(a: Any, out: Any) -> None:
        n = sides(a)[0]
        steps = (n, 1) if lower else (1, n)
        count, flat = out.size // (n * n), (a.reshape(-1), out.reshape(-1))
        together(_cholesky, count, n, *flat, count, n, *steps)

    return launch


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
def _lu(team: int) -> Any:
    """The kernel in which `team` threads factorise a matrix, in its place."""

    @launching.kernel
    def kernel(a: Any, swaps: Any, count: int, n: int) -> None:
        best = cuda.shared.array(team, np.float64)
        where = cuda.shared.array(team, np.int64)
        t = cuda.threadIdx.x
        for s in range(cuda.blockIdx.x, count, cuda.gridDim.x):
            corner = s * n * n
            for k in range(n):
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
                    for j in range(t, n, team):
                        a[top + j], a[other + j] = a[other + j], a[top + j]
                meet(team)
                pivot = a[top + k]
                if pivot != 0:
                    for i in range(k + 1 + t, n, team):
                        a[corner + i * n + k] /= pivot
                meet(team)
                rest = n - k - 1
                for e in range(t, rest * rest, team):
                    i, j = corner + (k + 1 + e // rest) * n, k + 1 + e % rest
                    a[i + j] -= a[i + k] * a[top + j]
                meet(team)

    return kernel


def _factorised(a: Any, factors: Any, swaps: Any) -> None:
    """Fill factors with L below its diagonal of ones, and U; swaps: of rows."""
    n = sides(a)[0]
    count = a.size // (n * n)
    launching.duplicate(a, factors)
    together(_lu, count, n, factors.reshape(-1), swaps, count, n)


def _rooms(a: Any) -> Any:
    """Memory for the factors of matrices like a."""
    return scratch.lent((tuple(a.shape), a.dtype), (a.size // sides(a)[0], np.int64))


@launching.kernel
def _solved(
    factors: Any, swaps: Any, b: Any, out: Any, lines: int, per: int, n: int,
    unit: bool, otherwise: Any,
) -> None:  # fmt: skip
    """unit: b is the identity; otherwise: what stands for those that do not exist."""
    for w in range(cuda.grid(1), lines, cuda.gridsize(1)):
        s, c = w // per, w % per
        corner, at, singular = s * n * n, s * n * per + c, False
        for i in range(n):
            if factors[corner + i * n + i] == 0:
                singular = True
        for i in range(n):
            if unit:
                out[at + i * per] = 1 if i == c else 0
            else:
                out[at + i * per] = b[at + i * per]
        for i in range(n):
            k = at + swaps[s * n + i] * per
            out[at + i * per], out[k] = out[k], out[at + i * per]
        for i in range(n):
            total = out[at + i * per]
            for j in range(i):
                total -= factors[corner + i * n + j] * out[at + j * per]
            out[at + i * per] = total
        for i in range(n - 1, -1, -1):
            total = out[at + i * per]
            for j in range(i + 1, n):
                total -= factors[corner + i * n + j] * out[at + j * per]
            found = total / factors[corner + i * n + i]
            out[at + i * per] = otherwise if singular else found


def solve(columns: int) -> Launch:
    """(a, b, out): the solution of a out = b, each with so many columns.

    NaN where a matrix is singular.
    """

    def launch(a: Any, b: Any, out: Any) -> None:
        n, lines = sides(a)[0], out.size // sides(a)[0]
        nan, flat = out.dtype.type(np.nan), (b.reshape(-1), out.reshape(-1))
        with _rooms(a) as (factors, swaps):
            _factorised(a, factors, swaps)
            place = factors.reshape(-1)
            sizes = lines, columns, n, False, nan
            launching.run(_solved, lines, place, swaps, *flat, *sizes)

    return launch


def inverse(otherwise: float) -> Launch:
    """(a, out): the inverse of every matrix; singular ones give one number only."""

    def launch(a: Any, out: Any) -> None:
        n, number = sides(a)[0], out.dtype.type(otherwise)
        lines, flat = out.size // n, out.reshape(-1)
        with _rooms(a) as (factors, swaps):
            _factorised(a, factors, swaps)
            place = factors.reshape(-1)
            sizes = lines, n, n, True, number
            launching.run(_solved, lines, place, swaps, place, flat, *sizes)

    return launch


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


def determinants(a: Any, *outs: Any) -> None:
    """(a, out): determinants; (a, sign, logarithm): their signs and sizes."""
    n = sides(a)[0]
    flat, count = [out.reshape(-1) for out in outs], a.size // (n * n)
    with _rooms(a) as (factors, swaps):
        _factorised(a, factors, swaps)
        places = factors.reshape(-1), swaps, flat[0], flat[-1]
        launching.run(_multiplied, count, *places, count, n, len(outs) > 1)

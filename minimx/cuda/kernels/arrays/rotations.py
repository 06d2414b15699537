"""Singular values and eigenvalues on CUDA, by Jacobi's rotations.

Each turns two columns within their plane, so that they become orthogonal. Pairs that
share nothing turn at once: a sweep is a tournament in which all meet all others in
n - 1 rounds. What is left shrinks from sweep to sweep, at last quadratically; where
nothing had to turn, it is done: the lengths of the columns are the singular values, and
all rotations together their right vectors. A symmetric matrix, with so much on its
diagonal that no eigenvalue is negative, has eigenvalues for singular values. All of
that is in float64. A matrix that holds NaN or infinity gives NaN: a kernel cannot raise
errors.

A block of threads does that for a matrix, with a thread for each pair. Of a matrix with
more than `blocked.LARGE` columns a block has a few pairs: there is a launch for every
round, and after every sweep the host asks whether something turned.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np

from minimx.core.drivers import copies
from minimx.cuda.kernels import launching, scratch
from minimx.cuda.kernels.arrays import blocked
from minimx.cuda.kernels.arrays.linalg import sides, together
from minimx.cuda.kernels.arrays.orthogonal import factored
from minimx.cuda.kernels.default_launch import real, runs
from minimx.cuda.kernels.launching import cuda
from minimx.cuda.kernels.mathematics import abs as size_of
from minimx.cuda.kernels.mathematics import sqrt
from minimx.cuda.kernels.recording import not_recorded

#: A dozen are enough for every matrix; the rounding of float64.
SWEEPS, ROUNDING = 40, 2.0**-52
#: How columns are taken from a matrix; of a symmetric one the lower triangle is read.
AS_IT_IS, TURNED, SYMMETRIC = 0, 1, 2
#: Threads of a block for pairs of a large matrix, and its pairs: neighbours in a row of
#: the matrix, so that memory, which is read in runs of 32 bytes, is used. Powers of 2.
TEAM, PAIRS = (4, 2) if launching.SIMULATED else (256, 4)


# Not those of other files: numba's simulator finds a barrier only in functions of the
# kernel's own file.
@launching.inner
def _meet(team: int) -> None:
    """Wait for all threads of the block; a single thread need not."""
    if team > 1:
        cuda.syncthreads()


@launching.inner
def _summed(part: Any, team: int) -> None:
    """Add up what the threads of a block have left, into the first place."""
    t, half = cuda.threadIdx.x, team // 2
    _meet(team)
    while half > 0:
        if t < half:
            part[t] += part[t + half]
        cuda.syncthreads()
        half //= 2


@launching.inner
def _pair(turn: int, i: int, n: int) -> Any:
    """The i-th pair of a round, of an even number n of players; the last one sits."""
    one, two = (turn + i) % (n - 1), (turn - i + n - 1) % (n - 1)
    if i == 0:
        one, two = turn, n - 1
    return min(one, two), max(one, two)


@launching.inner
def _angle(one: float, both: float, two: float) -> Any:
    """Cosine and sine of the rotation that clears [[one, both], [both, two]]."""
    slope = (two - one) / (2 * both)
    tangent = 1 / (size_of(slope) + sqrt(slope * slope + 1))
    if slope < 0:
        tangent = -tangent
    cosine = 1 / sqrt(tangent * tangent + 1)
    return cosine, tangent * cosine


@launching.inner
def _turned(x: Any, one: int, two: int, cosine: float, sine: float) -> None:
    """Two numbers of an array, turned."""
    a, b = x[one], x[two]
    x[one], x[two] = cosine * a - sine * b, sine * a + cosine * b


@launching.inner
def _apart(one: float, both: float, two: float, long: int, floor: float) -> Any:
    """Whether columns are orthogonal already, or nothing but rounding.

    one, two: the squares of their lengths; both: their product.
    """
    limit = ROUNDING * long * sqrt(one) * sqrt(two)
    return not (size_of(both) > limit and min(one, two) > floor)


@launching.inner
def _orthogonal(
    g: Any, r: Any, moved: Any, p: int, q: int, long: int, k: int, floor: float
) -> None:
    """Make columns p and q of g orthogonal, and turn those of r alike."""
    one, both, two = 0.0, 0.0, 0.0
    for d in range(long):
        x, y = g[d * k + p], g[d * k + q]
        one += x * x
        both += x * y
        two += y * y
    if not _apart(one, both, two, long, floor):
        cosine, sine = _angle(one, both, two)
        for d in range(long):
            _turned(g, d * k + p, d * k + q, cosine, sine)
        for d in range(k):
            _turned(r, d * k + p, d * k + q, cosine, sine)
        moved[0] = 1


@launching.inner
def _taken(a: Any, g: Any, r: Any, part: Any, sizes: Any, how: int, team: int) -> float:
    """Columns g of a matrix, and r the identity; what was added to g's diagonal."""
    long, k = sizes
    t, total = cuda.threadIdx.x, 0.0
    for e in range(t, long * k, team):
        d, c = e // k, e % k
        at = c * long + d if how == TURNED else e
        if how == SYMMETRIC:
            at = max(d, c) * k + min(d, c)
        g[e] = np.float64(a[at])
        total += g[e] * g[e]
    for e in range(t, k * k, team):
        r[e] = 1.0 if e // k == e % k else 0.0
    part[t] = total
    _summed(part, team)
    shift = sqrt(part[0]) if how == SYMMETRIC else 0.0
    if part[0] - part[0] != 0:  # not finite
        for e in range(t, long * k, team):
            g[e] = math.nan
        for e in range(t, k * k, team):
            r[e] = math.nan
    else:
        for c in range(t, k, team):
            g[c * k + c] += shift
    return shift


@cache
def _rotating(team: int) -> Any:
    """The kernel in which `team` threads make the columns of a matrix orthogonal."""

    @launching.kernel
    def kernel(
        a: Any, g: Any, r: Any, squares: Any, shifts: Any, count: int, long: int,
        k: int, how: int,
    ) -> None:  # fmt: skip
        part = cuda.shared.array(team, np.float64)
        moved = cuda.shared.array(1, np.int32)
        t, size, players = cuda.threadIdx.x, long * k, k + k % 2
        for s in range(cuda.blockIdx.x, count, cuda.gridDim.x):
            mine, turned = g[s * size :], r[s * k * k :]
            shift = _taken(a[s * size :], mine, turned, part, (long, k), how, team)
            # Columns as small as this are nothing but rounding.
            floor = (ROUNDING * long) * (ROUNDING * long) * part[0]
            again, sweep = True, 0
            while again and sweep < SWEEPS:
                _meet(team)
                if t == 0:
                    moved[0], shifts[s] = 0, shift
                _meet(team)
                for turn in range(players - 1):
                    for i in range(t, players // 2, team):
                        p, q = _pair(turn, i, players)
                        if q < k:
                            _orthogonal(mine, turned, moved, p, q, long, k, floor)
                    _meet(team)
                again = moved[0] == 1
                sweep += 1
            for c in range(t, k, team):
                total = 0.0
                for d in range(long):
                    total += mine[d * k + c] * mine[d * k + c]
                squares[s * k + c] = total
            _meet(team)

    return kernel


# -- rotations of large matrices -------------------------------------------------------


@cache
def _taking(team: int) -> Any:
    """The kernel in which `team` threads take the columns of a matrix."""

    @launching.kernel
    def kernel(
        a: Any, g: Any, r: Any, shifts: Any, floors: Any, moved: Any, count: int,
        long: int, k: int, how: int,
    ) -> None:  # fmt: skip
        part = cuda.shared.array(team, np.float64)
        for s in range(cuda.blockIdx.x, count, cuda.gridDim.x):
            at = s * long * k
            shift = _taken(a[at:], g[at:], r[s * k * k :], part, (long, k), how, team)
            if cuda.threadIdx.x == 0:
                shifts[s], moved[s] = shift, 0
                floors[s] = (ROUNDING * long) * (ROUNDING * long) * part[0]
            _meet(team)

    return kernel


@cache
def _round(team: int, pairs: int) -> Any:
    """The kernel of one round, in which a block has so many pairs of columns."""
    lines = team // pairs

    @launching.kernel
    def kernel(
        g: Any, r: Any, floors: Any, moved: Any, count: int, blocks: int, long: int,
        k: int, turn: int, sweep: int,
    ) -> None:  # fmt: skip
        """moved: in which sweep something turned last. blocks: for each matrix."""
        part = cuda.shared.array((3, team), np.float64)
        t, players = cuda.threadIdx.x, k + k % 2
        lane, line = t % pairs, t // pairs
        for b in range(cuda.blockIdx.x, count, cuda.gridDim.x):
            s, i = b // blocks, b % blocks * pairs + lane
            # What others write here in this sweep is above it as well.
            if moved[s] >= sweep - 1:
                p, q, one, both, two = 0, k, 0.0, 0.0, 0.0
                if i < players // 2:
                    p, q = _pair(turn, i, players)
                mine, turned = s * long * k, s * k * k
                if q < k:
                    for d in range(mine + line * k, mine + long * k, lines * k):
                        x, y = g[d + p], g[d + q]
                        one += x * x
                        both += x * y
                        two += y * y
                part[0, t], part[1, t], part[2, t] = one, both, two
                cuda.syncthreads()
                half = team // 2
                while half >= pairs:
                    if t < half:
                        for which in range(3):
                            part[which, t] += part[which, t + half]
                    cuda.syncthreads()
                    half //= 2
                one, both, two = part[0, lane], part[1, lane], part[2, lane]
                if q < k and not _apart(one, both, two, long, floors[s]):
                    cosine, sine = _angle(one, both, two)
                    for d in range(mine + line * k, mine + long * k, lines * k):
                        _turned(g, d + p, d + q, cosine, sine)
                    for d in range(turned + line * k, turned + k * k, lines * k):
                        _turned(r, d + p, d + q, cosine, sine)
                    moved[s] = sweep
                cuda.syncthreads()

    return kernel


@launching.kernel
def _squared(g: Any, squares: Any, lines: int, long: int, k: int) -> None:
    """The squares of the lengths of all columns."""
    for i in range(cuda.grid(1), lines, cuda.gridsize(1)):
        total = 0.0
        for d in range(long):
            number = g[(i // k * long + d) * k + i % k]
            total += number * number
        squares[i] = total


def _rotated_in_rounds(
    a: Any, found: Any, count: int, long: int, k: int, how: int
) -> None:
    """What the kernel `_rotating` does, for large matrices."""
    not_recorded("How often columns are turned depends on their numbers")
    g, r, squares, shifts = found
    players = k + k % 2
    blocks = -(-players // 2 // PAIRS)
    with scratch.allocated((count, np.float64), (count, np.int64)) as (floors, moved):
        sizes = count, long, k, how
        together(_taking, count, k, a, g, r, shifts, floors, moved, *sizes)
        kernel, groups = _round(TEAM, PAIRS), count * blocks
        for sweep in range(1, SWEEPS + 1):
            for turn in range(players - 1):
                steps = groups, blocks, long, k, turn, sweep
                launching.by_teams(kernel, groups, TEAM, g, r, floors, moved, *steps)
            if copies.fetch(moved).max() < sweep:
                break
        launching.run(_squared, count * k, g, squares, count * k, long, k)


@launching.kernel
def _ranked(squares: Any, order: Any, lines: int, k: int, ascending: bool) -> None:
    """Which column comes at which place; NaN anywhere means NaN everywhere."""
    for i in range(cuda.grid(1), lines, cuda.gridsize(1)):
        s, c, rank, value = i // k, i % k, 0, squares[i]
        for j in range(k):
            other = squares[s * k + j]
            less, more = other < value, other > value
            if (less if ascending else more) or (not (less or more) and j < c):
                rank += 1
        order[s * k + rank] = c


@launching.kernel
def _upright(
    g: Any, squares: Any, order: Any, rows: Any, lines: int, long: int, k: int
) -> None:
    """Columns as rows of length 1, in order; zeros for those that are only rounding."""
    for i in range(cuda.grid(1), lines, cuda.gridsize(1)):
        s, c, total = i // k, order[i], 0.0
        for j in range(k):
            total += squares[s * k + j]
        value = squares[s * k + c]
        floor = 4 * (ROUNDING * long) * (ROUNDING * long) * total
        scale = 0.0 if value <= floor else 1 / sqrt(value)
        for d in range(long):
            rows[i * long + d] = g[(s * long + d) * k + c] * scale


@launching.kernel
def _assembled(
    q: Any, w: Any, r: Any, squares: Any, shifts: Any, order: Any, left: Any,
    right: Any, values: Any, lines: int, long: int, k: int, steps: Any, tall: bool,
) -> None:  # fmt: skip
    """A thread for each value: its row of q to `left`, its column of r to `right`.

    w: the triangle for which q was made; it says whether a row of q has changed sides.
    steps: from vector to vector and along them, in left and in right. tall: of the
    vectors in left the largest elements become positive, else of those in right.
    """
    for i in range(cuda.grid(1), lines, cuda.gridsize(1)):
        s, rank, c, best, sign = i // k, i % k, order[i], 0.0, 1.0
        side = -1.0 if w[i * long + rank] < 0 else 1.0
        for d in range(long if tall else k):
            x = side * q[i * long + d] if tall else r[(s * k + d) * k + c]
            if size_of(x) > best:
                best, sign = size_of(x), -1.0 if x < 0 else 1.0
        at = s * long * k + rank * steps[0]
        for d in range(long):
            left[at + d * steps[1]] = sign * side * q[i * long + d]
        at = s * k * k + rank * steps[2]
        for d in range(k):
            right[at + d * steps[3]] = sign * r[(s * k + d) * k + c]
        values[i] = sqrt(squares[s * k + c]) - shifts[s]


def _rotated(a: Any, buffers: Any, count: int, long: int, k: int, how: int) -> None:
    """Fill g, r, squares, shifts and order, the memory in `buffers`."""
    *found, order = buffers
    if k > blocked.LARGE:
        _rotated_in_rounds(a.reshape(-1), found, count, long, k, how)
    else:
        together(_rotating, count, k, a.reshape(-1), *found, count, long, k, how)
    launching.over(_ranked, order.size, (found[2], order), k, how == SYMMETRIC)


def _wanted(count: int, long: int, k: int) -> list[tuple[int, Any]]:
    """What `_rotated` fills."""
    sizes = count * long * k, count * k * k, count * k, count
    return [*((size, np.float64) for size in sizes), (count * k, np.int64)]


@runs("_linalg_syevd", types=real)
def syevd(a: Any, u: Any, values: Any) -> None:
    """A = uᵀ diag(values) u; the largest element of each row of u is positive."""
    n = sides(a)[0]
    count = a.size // (n * n)
    with scratch.allocated(*_wanted(count, n, n)) as buffers:
        _rotated(a, buffers, count, n, n, SYMMETRIC)
        g, r, squares, shifts, order = buffers
        outs = g, u, values
        arrays, steps = (g, g, r, squares, shifts, order, *outs), (0, 0, n, 1)
        launching.over(_assembled, count * n, arrays, 0, n, steps, False)


@runs("_npi_svd", types=real)
def svd(a: Any, u: Any, values: Any, v: Any) -> None:
    """A = u diag(values) v, thin; the largest element of a column of u is positive.

    Where singular values are 0, their vectors come from Householder's factorisation of
    the others: they are orthogonal to those, and to each other.
    """
    m, n = sides(a)
    long, k, tall = max(m, n), min(m, n), m >= n
    count, more = a.size // (m * n), [(a.size, np.float64)] * 2
    with scratch.allocated(*_wanted(count, long, k), *more) as (*buffers, rows, q):
        _rotated(a, buffers, count, long, k, AS_IT_IS if tall else TURNED)
        g, r, squares, shifts, order = buffers
        lines, shape = count * k, (count, k, long)
        launching.over(_upright, lines, (g, squares, order, rows), long, k)
        factored(rows.reshape(*shape), q)
        outs = (u, v, values) if tall else (v, u, values)
        steps = (1, k, k, 1) if tall else (long, 1, 1, k)
        arrays = q, rows, r, squares, shifts, order, *outs
        launching.over(_assembled, lines, arrays, long, k, steps, tall)

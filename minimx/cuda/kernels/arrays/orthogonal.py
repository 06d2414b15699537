"""Factors with orthonormal rows or columns on CUDA, a block of threads for a matrix.

Householder's reflections make a triangle: each is a mirror that throws a row onto its
first element; all rows below are reflected in it, a thread for each.

Jacobi's rotations find singular values: each turns two columns within their plane, so
that they become orthogonal. Pairs that share nothing turn at once, a thread for each: a
sweep is a tournament in which all meet all others in n - 1 rounds. What is left
shrinks from sweep to sweep, at last quadratically; where nothing had to turn, it is
done: the lengths of the columns are the singular values, and all rotations together
their right vectors. A symmetric matrix, with so much on its diagonal that no eigenvalue
is negative, has eigenvalues for singular values. All of that is in float64. A matrix
that holds NaN or infinity gives NaN: a kernel cannot raise errors.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np

from minimx.cuda.kernels import launching, scratch
from minimx.cuda.kernels.arrays.linalg import sides, together
from minimx.cuda.kernels.default_launch import real, runs
from minimx.cuda.kernels.launching import cuda
from minimx.cuda.kernels.mathematics import abs as size_of
from minimx.cuda.kernels.mathematics import sqrt

#: A dozen are enough for every matrix; the rounding of float64.
SWEEPS, ROUNDING = 40, 2.0**-52
#: How columns are taken from a matrix; of a symmetric one the lower triangle is read.
AS_IT_IS, TURNED, SYMMETRIC = 0, 1, 2


# Not that of `linalg`: numba's simulator finds a barrier only in functions of the
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


# -- orthonormal rows ------------------------------------------------------------------


@launching.inner
def _reflected(x: Any, at: int, mirror: Any, on: int, count: int, factor: Any) -> None:
    """The numbers of a row that begin at `at`, in Householder's mirror.

    on: where the mirror's row begins, a 1 that is not stored, and `count` others.
    """
    along = x[at]
    for j in range(1, count + 1):
        along += x[at + j] * mirror[on + j]
    along *= factor
    x[at] -= along
    for j in range(1, count + 1):
        x[at + j] -= along * mirror[on + j]


@cache
def _householder(team: int) -> Any:
    """The kernel in which `team` threads reflect all rows below one."""

    @launching.kernel
    def kernel(w: Any, q: Any, factors: Any, count: int, m: int, n: int) -> None:
        part = cuda.shared.array(team, np.float64)
        t = cuda.threadIdx.x
        for s in range(cuda.blockIdx.x, count, cuda.gridDim.x):
            corner = s * m * n
            for k in range(m):
                top, rest = corner + k * n + k, 0.0
                for j in range(1 + t, n - k, team):
                    rest += np.float64(w[top + j]) * w[top + j]
                part[t] = rest
                _summed(part, team)
                rest, head = part[0], np.float64(w[top])
                _meet(team)
                # Of the two mirrors the one that nothing cancels in, as in LAPACK.
                whole = head
                if rest != 0:
                    length = sqrt(head * head + rest)
                    whole = -length if head >= 0 else length
                    for j in range(1 + t, n - k, team):
                        w[top + j] = w[top + j] / (head - whole)
                factor = (whole - head) / whole if rest != 0 else 0.0
                if t == 0:
                    w[top], factors[s * m + k] = whole, factor
                _meet(team)
                for i in range(1 + t, m - k, team):
                    _reflected(w, top + i * n, w, top, n - k - 1, factor)
                _meet(team)
            for i in range(t, m, team):
                row = corner + i * n
                for j in range(n):
                    q[row + j] = 1 if i == j else 0
                for k in range(i, -1, -1):
                    top = corner + k * n + k
                    _reflected(q, row + k, w, top, n - k - 1, factors[s * m + k])

    return kernel


def _factored(w: Any, q: Any) -> None:
    """Fill q with orthonormal rows; L is left in the lower triangle of w = L q."""
    m, n = sides(w)
    count = w.size // (m * n)
    with scratch.allocated((count * m, w.dtype)) as (factors,):
        flat = launching.flat(w, q, factors)
        together(_householder, count, m, *flat, count, m, n)


@launching.kernel
def _lower(w: Any, out: Any, size: int, m: int, n: int) -> None:
    for e in range(cuda.grid(1), size, cuda.gridsize(1)):
        line, j = e // m, e % m
        out[e] = w[line * n + j] if j <= line % m else 0


@runs("_linalg_gelqf", types=real)
def gelqf(a: Any, q: Any, left: Any) -> None:
    """A = left q, with orthonormal rows in q."""
    m, n = sides(a)
    with scratch.allocated((tuple(a.shape), a.dtype)) as (w,):
        launching.duplicate(a, w)
        _factored(w, q)
        launching.over(_lower, left.size, (w, left), m, n)


# -- rotations -------------------------------------------------------------------------


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
    limit = ROUNDING * long * sqrt(one) * sqrt(two)
    if size_of(both) > limit and min(one, two) > floor:
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
        _factored(rows.reshape(*shape), q)
        outs = (u, v, values) if tall else (v, u, values)
        steps = (1, k, k, 1) if tall else (long, 1, 1, k)
        arrays = q, rows, r, squares, shifts, order, *outs
        launching.over(_assembled, lines, arrays, long, k, steps, tall)

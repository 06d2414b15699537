"""Factors with orthonormal rows or columns on CUDA, a block of threads for a matrix.

Householder's reflections make a triangle: each is a mirror that throws a row onto its
first element; all rows below are reflected in it, a thread for each.

Jacobi's rotations find eigenvalues and singular values. A rotation turns two vectors
within their plane: so that an element beside the diagonal of a symmetric matrix becomes
0, or (one-sided) so that two columns of any matrix become orthogonal. Pairs that share
nothing turn at once: a sweep is a tournament in which everybody meets everybody in
n - 1 rounds. What is left shrinks from sweep to sweep, at last quadratically; where
nothing had to turn, it is done. All of that is in float64. A matrix that holds NaN or
infinity gives NaN: a kernel cannot raise errors.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np

from minimx.kernels.cuda import launching, scratch
from minimx.kernels.cuda.launching import cuda
from minimx.kernels.cuda.linalg import sides, together
from minimx.kernels.cuda.mathematics import abs as size_of
from minimx.kernels.cuda.mathematics import sqrt

#: A dozen are enough for every matrix; the rounding of float64.
SWEEPS, ROUNDING = 40, 2.0**-52


@launching.inner
def _meet(team: int) -> None:
    """Wait for all threads of the block; whoever is alone need not."""
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
    with scratch.lent((count * m, w.dtype)) as (factors,):
        flat = w.reshape(-1), q.reshape(-1), factors
        together(_householder, count, m, *flat, count, m, n)


@launching.kernel
def _lower(w: Any, out: Any, size: int, m: int, n: int) -> None:
    for e in range(cuda.grid(1), size, cuda.gridsize(1)):
        line, j = e // m, e % m
        out[e] = w[line * n + j] if j <= line % m else 0


def gelqf(a: Any, q: Any, left: Any) -> None:
    """A = left q, with orthonormal rows in q."""
    m, n = sides(a)
    with scratch.lent((tuple(a.shape), a.dtype)) as (w,):
        launching.duplicate(a, w)
        _factored(w, q)
        place, size = left.reshape(-1), left.size
        launching.run(_lower, size, w.reshape(-1), place, size, m, n)


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


# -- symmetric matrices ----------------------------------------------------------------


@launching.inner
def _choose(
    w: Any, angles: Any, moved: Any, n: int, turn: int, limit: float, team: int
) -> None:
    """The angle of every pair of a round; 0 where there is nothing to turn."""
    players = n + n % 2
    for i in range(cuda.threadIdx.x, players // 2, team):
        p, q = _pair(turn, i, players)
        cosine, sine = 1.0, 0.0
        if q < n and size_of(w[p * n + q]) > limit:
            cosine, sine = _angle(w[p * n + p], w[p * n + q], w[q * n + q])
            moved[0] = 1
        angles[2 * i], angles[2 * i + 1] = cosine, sine


@launching.inner
def _rows(w: Any, u: Any, angles: Any, n: int, turn: int, team: int) -> None:
    """Turn the rows of every pair, of the matrix and of the vectors."""
    players = n + n % 2
    for e in range(cuda.threadIdx.x, players // 2 * n, team):
        i, k = e // n, e % n
        p, q = _pair(turn, i, players)
        if q < n:
            cosine, sine = angles[2 * i], angles[2 * i + 1]
            _turned(w, p * n + k, q * n + k, cosine, sine)
            _turned(u, p * n + k, q * n + k, cosine, sine)


@launching.inner
def _columns(w: Any, angles: Any, n: int, turn: int, team: int) -> None:
    """Turn the columns of every pair; what was to become 0 is 0."""
    players = n + n % 2
    for e in range(cuda.threadIdx.x, players // 2 * n, team):
        i, k = e % (players // 2), e // (players // 2)
        p, q = _pair(turn, i, players)
        if q < n:
            cosine, sine = angles[2 * i], angles[2 * i + 1]
            _turned(w, k * n + p, k * n + q, cosine, sine)
            if sine != 0 and k == p:
                w[k * n + q] = 0
            if sine != 0 and k == q:
                w[k * n + p] = 0


@cache
def _diagonalised(team: int) -> Any:
    """The kernel in which `team` threads find the eigenvalues of a matrix."""

    @launching.kernel
    def kernel(a: Any, w: Any, u: Any, angles: Any, count: int, n: int) -> None:
        part = cuda.shared.array(team, np.float64)
        moved = cuda.shared.array(1, np.int32)
        t, size = cuda.threadIdx.x, n * n
        for s in range(cuda.blockIdx.x, count, cuda.gridDim.x):
            mine, vectors = w[s * size : s * size + size], u[s * size : s * size + size]
            turns, total = angles[s * (n + 1) : s * (n + 1) + n + 1], 0.0
            for e in range(t, size, team):
                i, j = e // n, e % n
                value = np.float64(a[s * size + max(i, j) * n + min(i, j)])
                mine[e], vectors[e] = value, 1.0 if i == j else 0.0
                total += value * value
            part[t] = total
            _summed(part, team)
            total = part[0]
            if total - total != 0:  # not finite
                for e in range(t, size, team):
                    mine[e] = vectors[e] = math.nan
                total = math.inf
            limit, again, sweep = ROUNDING * sqrt(total), True, 0
            while again and sweep < SWEEPS:
                _meet(team)
                if t == 0:
                    moved[0] = 0
                _meet(team)
                for turn in range(n + n % 2 - 1):
                    _choose(mine, turns, moved, n, turn, limit, team)
                    _meet(team)
                    _rows(mine, vectors, turns, n, turn, team)
                    _meet(team)
                    _columns(mine, turns, n, turn, team)
                    _meet(team)
                again = moved[0] == 1
                sweep += 1
            _meet(team)

    return kernel


@launching.kernel
def _ascending(w: Any, u: Any, out: Any, values: Any, lines: int, n: int) -> None:
    """A thread for each vector: to its place, its largest element positive."""
    for i in range(cuda.grid(1), lines, cuda.gridsize(1)):
        s, r = i // n * n, i % n
        value, rank, best = w[(s + r) * n + r], 0, 0
        for j in range(n):
            other = w[(s + j) * n + j]
            if other < value or (not value < other and j < r):
                rank += 1
            if size_of(u[i * n + j]) > size_of(u[i * n + best]):
                best = j
        flip = u[i * n + best] < 0
        for j in range(n):
            out[(s + rank) * n + j] = -u[i * n + j] if flip else u[i * n + j]
        values[s + rank] = value


def syevd(a: Any, u: Any, values: Any) -> None:
    """A = uᵀ diag(values) u; the largest element of each row of u is positive."""
    n, size = sides(a)[0], a.size
    count, real = size // (n * n), np.float64
    with scratch.lent((size, real), (size, real), (count * (n + 1), real)) as rooms:
        together(_diagonalised, count, n, a.reshape(-1), *rooms, count, n)
        flat = *rooms[:2], u.reshape(-1), values.reshape(-1)
        launching.run(_ascending, count * n, *flat, count * n, n)


# -- any matrices ----------------------------------------------------------------------


@launching.inner
def _meeting(
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


@cache
def _orthogonal(team: int) -> Any:
    """The kernel in which `team` threads, a pair each, make columns orthogonal."""

    @launching.kernel
    def kernel(
        a: Any, g: Any, r: Any, squares: Any, count: int, long: int, k: int, tall: bool
    ) -> None:
        part = cuda.shared.array(team, np.float64)
        moved = cuda.shared.array(1, np.int32)
        t, size, players = cuda.threadIdx.x, long * k, k + k % 2
        for s in range(cuda.blockIdx.x, count, cuda.gridDim.x):
            mine, turned, total = g[s * size :], r[s * k * k :], 0.0
            for e in range(t, size, team):
                d, c = e // k, e % k
                value = np.float64(a[s * size + (e if tall else c * long + d)])
                mine[e] = value
                total += value * value
            for e in range(t, k * k, team):
                turned[e] = 1.0 if e // k == e % k else 0.0
            part[t] = total
            _summed(part, team)
            total = part[0]
            if total - total != 0:  # not finite
                for e in range(t, size, team):
                    mine[e] = math.nan
                for e in range(t, k * k, team):
                    turned[e] = math.nan
            # Columns as small as this are nothing but rounding.
            floor = (ROUNDING * long) * (ROUNDING * long) * total
            again, sweep = True, 0
            while again and sweep < SWEEPS:
                _meet(team)
                if t == 0:
                    moved[0] = 0
                _meet(team)
                for turn in range(players - 1):
                    for i in range(t, players // 2, team):
                        p, q = _pair(turn, i, players)
                        if q < k:
                            _meeting(mine, turned, moved, p, q, long, k, floor)
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
def _descending(
    g: Any, squares: Any, order: Any, rows: Any, lines: int, long: int, k: int
) -> None:
    """Columns as rows of length 1 in order; zeros for those that are only rounding."""
    for i in range(cuda.grid(1), lines, cuda.gridsize(1)):
        s, c, rank, total = i // k, i % k, 0, 0.0
        value = squares[i]
        for j in range(k):
            other = squares[s * k + j]
            total += other
            if other > value or (not value > other and j < c):
                rank += 1
        floor = 4 * (ROUNDING * long) * (ROUNDING * long) * total
        order[s * k + rank] = c if not value <= floor else -1 - c
        for d in range(long):
            number = g[(s * long + d) * k + c] / sqrt(value) if value > floor else 0.0
            rows[(s * k + rank) * long + d] = number if value == value else value


@launching.kernel
def _assembled(
    rows: Any, more: Any, r: Any, squares: Any, order: Any, u: Any, values: Any, v: Any,
    lines: int, long: int, k: int, tall: bool,
) -> None:  # fmt: skip
    """A thread for each singular value; more: rows that are orthogonal to the others.

    The largest element of a column of u is positive.
    """
    for i in range(cuda.grid(1), lines, cuda.gridsize(1)):
        s, rank, c = i // k, i % k, order[i]
        own = c >= 0
        c = c if own else -1 - c
        best, flip = 0.0, False
        for d in range(long if tall else k):
            if tall:
                x = rows[i * long + d] if own else more[i * long + d]
            else:
                x = r[(s * k + d) * k + c]
            if size_of(x) > best:
                best, flip = size_of(x), x < 0
        sense = -1.0 if flip else 1.0
        for d in range(long):
            x = sense * (rows[i * long + d] if own else more[i * long + d])
            if tall:
                u[(s * long + d) * k + rank] = x
            else:
                v[i * long + d] = x
        for d in range(k):
            x = sense * r[(s * k + d) * k + c]
            if tall:
                v[i * k + d] = x
            else:
                u[(s * k + d) * k + rank] = x
        values[i] = sqrt(squares[s * k + c])


def svd(a: Any, u: Any, values: Any, v: Any) -> None:
    """A = u diag(values) v, thin; the largest element of a column of u is positive.

    Where singular values are 0, their vectors come from Householder's factorisation of
    the others: they are orthogonal to those, and to each other.
    """
    m, n = sides(a)
    long, k, tall, real = max(m, n), min(m, n), m >= n, np.float64
    count = a.size // (m * n)
    lines, sizes = count * k, (count, long, k)
    shape = count, k, long
    wanted = [(size, real) for size in (a.size, lines * k, lines, a.size, a.size)]
    with scratch.lent((lines, np.int64), *wanted) as (order, g, r, squares, rows, q):
        together(_orthogonal, count, k, a.reshape(-1), g, r, squares, *sizes, tall)
        launching.run(_descending, lines, g, squares, order, rows, lines, long, k)
        launching.duplicate(rows, g)  # which is not needed any more
        _factored(g.reshape(*shape), q)
        outs = u.reshape(-1), values.reshape(-1), v.reshape(-1)
        places = rows, q, r, squares, order
        launching.run(_assembled, lines, *places, *outs, lines, long, k, tall)

"""Orthonormal rows on CUDA, by Householder's reflections.

They make a triangle: each is a mirror that throws a row onto its first element; all
rows below are reflected in it. A block of threads does that for a matrix, with a thread
for each row. Of a matrix with more than `blocked.LARGE` rows each row is a block's:
there is a launch for every mirror.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from minimx.cuda.kernels import launching, scratch
from minimx.cuda.kernels.arrays import blocked
from minimx.cuda.kernels.arrays.linalg import sides, together
from minimx.cuda.kernels.default_launch import real, runs
from minimx.cuda.kernels.launching import cuda
from minimx.cuda.kernels.mathematics import sqrt

#: The threads that reflect a row of a large matrix.
ROW = 2 if launching.SIMULATED else 128


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


@launching.inner
def _reflected(x: Any, at: int, mirror: Any, on: int, count: int, factor: Any) -> None:
    """The numbers of a row that begin at `at`, in Householder's mirror.

    on: where the mirror's row begins, a 1 that is not stored, and `count` others.
    """
    along = x[at]
    for j in range(1, count + 1):
        along += x[at + j] * mirror[on + j]
    along *= factor
    for j in range(1, count + 1):
        x[at + j] -= along * mirror[on + j]
    # Last: before the loop, NVIDIA's compiler (12.9, 13.0) takes each product of the
    # loop for the next `along`.
    x[at] -= along


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


@cache
def _mirrored(team: int) -> Any:
    """The kernel in which a block reflects one row in a row above it."""

    @launching.kernel
    def kernel(
        w: Any, mirrors: Any, count: int, rows: int, m: int, n: int, k: int
    ) -> None:
        """The row itself stays as it is, since all others are reading it.

        mirrors: for each row what becomes of its first element, how strong its mirror
        is, and by how much the mirror's other elements are longer than the row's.
        """
        part = cuda.shared.array(team, np.float64)
        more = cuda.shared.array(team, np.float64)
        t = cuda.threadIdx.x
        for b in range(cuda.blockIdx.x, count, cuda.gridDim.x):
            s, i = b // rows, b % rows + k + 1
            top, mine, rest, along = (s * m + k) * n + k, (s * m + i) * n + k, 0.0, 0.0
            for j in range(1 + t, n - k, team):
                number = np.float64(w[top + j])
                rest += number * number
                if i < m:
                    along += number * w[mine + j]
            part[t], more[t] = rest, along
            _summed(part, team)
            _summed(more, team)
            rest, head = part[0], np.float64(w[top])
            # Of the two mirrors the one that nothing cancels in, as in LAPACK.
            whole, factor, scale = head, 0.0, 0.0
            if rest != 0:
                length = sqrt(head * head + rest)
                whole = -length if head >= 0 else length
                factor, scale = (whole - head) / whole, 1 / (head - whole)
            if i < m:
                along = (np.float64(w[mine]) + more[0] * scale) * factor
                _meet(team)
                for j in range(t, n - k, team):
                    w[mine + j] -= along * scale * w[top + j] if j else along
            if t == 0 and i == k + 1:
                place = (s * m + k) * 3
                mirrors[place], mirrors[place + 1] = whole, factor
                mirrors[place + 2] = scale
            _meet(team)

    return kernel


@cache
def _collected(team: int) -> Any:
    """The kernel in which a block reflects a row of the identity in all mirrors."""

    @launching.kernel
    def kernel(w: Any, mirrors: Any, q: Any, count: int, m: int, n: int) -> None:
        part = cuda.shared.array(team, np.float64)
        t = cuda.threadIdx.x
        for b in range(cuda.blockIdx.x, count, cuda.gridDim.x):
            s, i, row = b // m, b % m, b * n
            for j in range(t, n, team):
                q[row + j] = 1 if i == j else 0
            _meet(team)
            for k in range(i, -1, -1):
                top, on, along = (s * m + k) * n, (s * m + k) * 3, 0.0
                for j in range(k + 1 + t, n, team):
                    along += np.float64(w[top + j]) * q[row + j]
                part[t] = along
                _summed(part, team)
                scale, first = mirrors[on + 2], np.float64(q[row + k])
                along = (first + part[0] * scale) * mirrors[on + 1]
                _meet(team)
                for j in range(k + t, n, team):
                    q[row + j] -= along * scale * w[top + j] if j > k else along
                _meet(team)
            if t == 0:  # no block reads this element here
                w[row + i] = mirrors[b * 3]

    return kernel


def _factored_by_rows(w: Any, q: Any, count: int) -> None:
    """What `factored` does, for matrices with many rows."""
    m, n = sides(w)
    flat, out = launching.flat(w, q)
    with scratch.allocated((count * m * 3, np.float64)) as (mirrors,):
        kernel = _mirrored(ROW)
        for k in range(m):
            rows = max(m - k - 1, 1)  # the last row has a mirror, too
            sizes = count * rows, rows, m, n, k
            launching.by_teams(kernel, sizes[0], ROW, flat, mirrors, *sizes)
        lines = count * m
        kernel = _collected(ROW)
        launching.by_teams(kernel, lines, ROW, flat, mirrors, out, lines, m, n)


def factored(w: Any, q: Any) -> None:
    """Fill q with orthonormal rows; L is left in the lower triangle of w = L q."""
    m, n = sides(w)
    count = w.size // (m * n)
    if m > blocked.LARGE:
        _factored_by_rows(w, q, count)
        return
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
        factored(w, q)
        launching.over(_lower, left.size, (w, left), m, n)

"""Counts of outcomes, and rows of different numbers, on CUDA; see `distributions`."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from minimx.cuda.kernels import launching, pointwise, scratch
from minimx.cuda.kernels.arrays import places
from minimx.cuda.kernels.arrays.distributions import class_of, fine
from minimx.cuda.kernels.core.random import key_of
from minimx.cuda.kernels.default_launch import real, runs
from minimx.cuda.kernels.launching import cuda
from minimx.cuda.kernels.mathematics import exp

Launch = Callable[..., None]

#: The threads of a row of different numbers.
TEAM = [1 if launching.SIMULATED else 64]


@launching.kernel
def _thrown(ends: Any, out: Any, n: int, trials: int, k: int, key: Any) -> None:
    """A thread for each trial; counts are whole, so their order does not matter."""
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        total = ends[k - 1]
        u = fine(i, 0, key) * (total if total > 1 else 1.0)
        cuda.atomic.add(out, i // trials * k + class_of(u, ends, 0, k), 1)


@launching.kernel
def _checked(p: Any, ends: Any, n: int, k: int) -> None:
    """A total of NaN where probabilities are none; for one thread."""
    if cuda.grid(1) < n:
        wrong = not ends[k - 1] <= 1 + 1e-6
        for j in range(k):
            wrong = wrong or not p[j] >= 0
        if wrong:
            ends[k - 1] = math.nan


@launching.kernel
def _refused(ends: Any, out: Any, n: int, k: int) -> None:
    """No counts, -1, where there is no total."""
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        if ends[k - 1] != ends[k - 1]:
            out[i] = -1


def multinomial(trials: int, k: int, pvals: Any = None) -> Launch:
    """([p, ]out, generator): counts of k outcomes, a row for so many trials each.

    The last outcome gets what the others leave. Counts are -1 if an array p holds
    negative numbers or adds up to more than 1: a kernel cannot raise errors.
    """
    sums = places.cumsum((k,), 0, np.float64)
    there = None if pvals is None else places.held(np.array(pvals, np.float64))

    def launch(*arrays: Any) -> None:
        *given, out, generator = arrays
        p, n = given[0] if there is None else there(), out.size // k * trials
        pointwise.filler(out.dtype.type(0))(out)
        key = key_of(generator)
        with scratch.allocated((k, np.float64)) as (ends,):
            sums(p, ends)
            launching.over(_checked, 1, (p, ends), k)
            launching.over(_thrown, n, (ends, out), trials, k, key)
            launching.over(_refused, out.size, (ends, out), k)

    return launch


@cache
def _different(team: int) -> Any:
    """The kernel in which `team` threads look through what a row has."""

    @launching.kernel
    def kernel(
        out: Any, tries: Any, rows: int, length: int, most: int, scale: float, key: Any
    ) -> None:
        t = cuda.threadIdx.x
        for row in range(cuda.blockIdx.x, rows, cuda.gridDim.x):
            have, count = 0, 0
            while have < length:
                number = min(int(exp(fine(row, count, key) * scale) - 1), most)
                count += 1
                seen = 0
                for k in range(t, have, team):
                    if out[row * length + k] == number:
                        seen = 1
                if not cuda.syncthreads_or(seen):
                    if t == 0:
                        out[row * length + have] = number
                    have += 1
                cuda.syncthreads()
            if t == 0:
                tries[row] = count

    return kernel


@runs("_sample_unique_zipfian", types=real)
def unique_zipfian(range_max: int, out: Any, tries: Any, generator: Any) -> None:
    """Different numbers in each row of out, and in tries how many draws it took."""
    rows, team, scale = tries.size, TEAM[0], float(np.log(range_max + 1))
    sizes = rows, out.size // rows, range_max - 1, scale, key_of(generator)
    arrays = out.reshape(-1), tries
    launching.by_teams(_different(team), rows, team, *arrays, *sizes)

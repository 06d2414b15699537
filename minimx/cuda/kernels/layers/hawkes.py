"""The likelihood of events that excite further events, on CUDA.

A thread follows a sample, as on the CPU, whose file has the arrays. What it remembers
of every kind is kept as (K, N), so that threads side by side read side by side. A
kernel cannot raise errors: an event of no known kind only lets time pass.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from minimx.cuda.kernels import launching, scratch
from minimx.cuda.kernels.core.reduce import reduction
from minimx.cuda.kernels.default_launch import real_first, runs
from minimx.cuda.kernels.launching import cuda
from minimx.cuda.kernels.mathematics import exp, log

_REAL = np.dtype(np.float64)


@launching.inner
def _events(lengths: Any, n: int, most: int) -> int:
    """How many events of a sample count."""
    return min(int(lengths[n]), most)


@launching.kernel
def _likelihood(
    mu: Any, alpha: Any, beta: Any, state: Any, lags: Any, marks: Any, lengths: Any,
    times: Any, out: Any, after: Any, last: Any, excited: Any, batch: int, kinds: int,
    most: int,
) -> None:  # fmt: skip
    for n in range(cuda.grid(1), batch, cuda.gridsize(1)):
        for k in range(kinds):
            last[k * batch + n] = 0
            excited[k * batch + n] = state[n * kinds + k]
        total, now = np.float64(0), np.float64(0)
        for j in range(n * most, n * most + _events(lengths, n, most)):
            k = int(marks[j])
            now += lags[j]
            if k >= 0 and k < kinds:
                at = k * batch + n
                since, before = now - last[at], excited[at]
                left = exp(-beta[k] * since)
                own, more = np.float64(mu[n * kinds + k]), np.float64(alpha[k])
                rate = own + more * beta[k] * before * left
                total += log(rate) - (own * since + more * before * (1 - left))
                excited[at] = 1 + before * left
                last[at] = now
        for k in range(kinds):
            at = k * batch + n
            since, before = np.float64(times[n]) - last[at], excited[at]
            left = exp(-beta[k] * since)
            own, more = np.float64(mu[n * kinds + k]), np.float64(alpha[k])
            total -= own * since + more * before * (1 - left)
            after[n * kinds + k] = before * left
        out[n] = total


@launching.kernel
def _gradient(
    mu: Any, alpha: Any, beta: Any, state: Any, lags: Any, marks: Any, lengths: Any,
    times: Any, dout: Any, dmu: Any, dalpha: Any, dbeta: Any, last: Any, excited: Any,
    slope: Any, found: Any, batch: int, kinds: int, most: int,
) -> None:  # fmt: skip
    """Slope: of the excitement, in beta; found: three sums for every kind."""
    size = batch * kinds
    for n in range(cuda.grid(1), batch, cuda.gridsize(1)):
        for k in range(kinds):
            at = k * batch + n
            last[at], slope[at] = 0, 0
            excited[at] = state[n * kinds + k]
            found[at], found[size + at], found[2 * size + at] = 0, 0, 0
        now = np.float64(0)
        for j in range(n * most, n * most + _events(lengths, n, most)):
            k = int(marks[j])
            now += lags[j]
            if k >= 0 and k < kinds:
                at = k * batch + n
                since, before = now - last[at], excited[at]
                more, fast = np.float64(alpha[k]), np.float64(beta[k])
                left = exp(-fast * since)
                kept = before * left
                moved = (slope[at] - since * before) * left
                rate = mu[n * kinds + k] + more * fast * kept
                found[at] += 1 / rate - since
                found[size + at] += fast * kept / rate - (before - kept)
                change = more * (kept + fast * moved) / rate
                found[2 * size + at] += change - more * (slope[at] - moved)
                slope[at], excited[at], last[at] = moved, 1 + kept, now
        for k in range(kinds):
            at, to = k * batch + n, n * kinds + k
            since, before = np.float64(times[n]) - last[at], excited[at]
            left = exp(-beta[k] * since)
            kept = before * left
            moved = (slope[at] - since * before) * left
            head, more = np.float64(dout[n]), np.float64(alpha[k])
            dmu[to] = head * (found[at] - since)
            dalpha[to] = head * (found[size + at] - (before - kept))
            dbeta[to] = head * (found[2 * size + at] - more * (slope[at] - moved))


@runs("_contrib_hawkesll", types=real_first)
def likelihood(*arrays: Any) -> None:
    """(mu, …, times, out, after): logarithms, and the excitement at the end."""
    (batch, kinds), most = arrays[0].shape, arrays[4].shape[1]
    with scratch.allocated(*[(batch * kinds, _REAL)] * 2) as buffers:
        launching.over(_likelihood, batch, (*arrays, *buffers), kinds, most)


@runs("_contrib_backward_hawkesll", types=real_first)
def gradient(*arrays: Any) -> None:
    """(mu, …, times, dout, dmu (N, K), dalpha (K,), dbeta (K,)).

    What a parameter of all samples gets from each is added up afterwards, in one order.
    """
    (batch, kinds), most = arrays[0].shape, arrays[4].shape[1]
    size, real = batch * kinds, np.dtype(arrays[0].dtype)
    *given, dalpha, dbeta = arrays
    total: Any = reduction("sum", (batch, kinds), (0,), real)
    buffers = [(size, real)] * 2 + [(size, _REAL)] * 3 + [(3 * size, _REAL)]
    with scratch.allocated(*buffers) as (first, second, *state):
        outs = *given, first, second, *state
        launching.over(_gradient, batch, outs, kinds, most)
        total(first, dalpha)
        total(second, dbeta)

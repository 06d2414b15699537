"""The likelihood of events that excite further events, one sample after the other.

mu (N, K): how often each kind of event happens by itself; alpha (K,): how many more one
event brings about; beta (K,): how soon. state (N, K): the excitement at the start;
lags, marks (N, T): time since the event before, and the kind, of events in order;
lengths (N,): how many events there are; times (N,): how long was watched.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from minimx.core.kernels import threads
from minimx.core.kernels.parts import dealt


@threads.jit(parallel=True)
def likelihood(
    part: Any, mu: Any, alpha: Any, beta: Any, state: Any, lags: Any, marks: Any,
    lengths: Any, times: Any, out: Any, after: Any,
) -> None:  # fmt: skip
    """Fill out (N,) with logarithms, after (N, K) with the excitement at the end."""
    batch, kinds = mu.shape
    for n in dealt(batch, part):
        last, excited = np.zeros(kinds), state[n].astype(np.float64)
        total, now = 0.0, 0.0
        for j in range(lengths[n]):
            k = marks[n, j]
            now += lags[n, j]
            since = now - last[k]
            left = np.exp(-beta[k] * since)
            rate = mu[n, k] + alpha[k] * beta[k] * excited[k] * left
            expected = mu[n, k] * since + alpha[k] * excited[k] * (1 - left)
            total += np.log(rate) - expected
            excited[k] = 1 + excited[k] * left
            last[k] = now
        for k in range(kinds):
            since = times[n] - last[k]
            left = np.exp(-beta[k] * since)
            total -= mu[n, k] * since + alpha[k] * excited[k] * (1 - left)
            after[n, k] = excited[k] * left
        out[n] = total


@threads.jit(parallel=True)
def gradient(
    part: Any, mu: Any, alpha: Any, beta: Any, state: Any, lags: Any, marks: Any,
    lengths: Any, times: Any, dout: Any, dmu: Any, dalpha: Any, dbeta: Any,
) -> None:  # fmt: skip
    """Fill dmu, dalpha and dbeta, (N, K) each, from dout (N,)."""
    batch, kinds = mu.shape
    for n in dealt(batch, part):
        last, excited = np.zeros(kinds), state[n].astype(np.float64)
        slope = np.zeros(kinds)  # of the excitement, in beta
        found = np.zeros((3, kinds))
        now = 0.0
        for j in range(lengths[n]):
            k = marks[n, j]
            now += lags[n, j]
            since = now - last[k]
            left = np.exp(-beta[k] * since)
            kept = excited[k] * left
            moved = (slope[k] - since * excited[k]) * left
            rate = mu[n, k] + alpha[k] * beta[k] * kept
            found[0, k] += 1 / rate - since
            found[1, k] += beta[k] * kept / rate - (excited[k] - kept)
            found[2, k] += alpha[k] * (kept + beta[k] * moved) / rate
            found[2, k] -= alpha[k] * (slope[k] - moved)
            slope[k], excited[k], last[k] = moved, 1 + kept, now
        for k in range(kinds):
            since = times[n] - last[k]
            left = np.exp(-beta[k] * since)
            kept = excited[k] * left
            moved = (slope[k] - since * excited[k]) * left
            dmu[n, k] = dout[n] * (found[0, k] - since)
            dalpha[n, k] = dout[n] * (found[1, k] - (excited[k] - kept))
            dbeta[n, k] = dout[n] * (found[2, k] - alpha[k] * (slope[k] - moved))

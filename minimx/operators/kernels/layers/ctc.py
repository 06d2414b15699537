"""Connectionist temporal classification: the cost of all ways to read a label.

A sequence of T scores over an alphabet is read as a label by choosing a letter or the
blank at each step, dropping repeats, then blanks. The cost is -log of the summed
probability of all choices that read as the label. The sums run over the label with
blanks between its letters, S = 2·L + 1 places, forwards and backwards in time, on
logarithms in double precision.

    losses(data, labels, counts, lengths, blank, out)       one cost for each sample
    gradient(data, labels, counts, lengths, blank, dout, out)

data (T, N, alphabet); labels (N, longest); counts (N,): letters of each label; lengths
(N,): steps of each sample that count
"""

from __future__ import annotations

from typing import Any

import numpy as np

from minimx.core.kernels import threads
from minimx.core.kernels.parts import dealt


@threads.jit(inner=True)
def _add(a: float, b: float) -> float:
    """log(exp(a) + exp(b))."""
    high, low = max(a, b), min(a, b)
    return high if low == -np.inf else high + np.log1p(np.exp(low - high))


@threads.jit(inner=True)
def _log_softmax(scores: Any, out: Any) -> None:
    largest = np.float64(scores[0])
    for k in range(1, scores.size):
        largest = max(largest, np.float64(scores[k]))
    total = 0.0
    for k in range(scores.size):
        total += np.exp(scores[k] - largest)
    base = largest + np.log(total)
    for k in range(scores.size):
        out[k] = scores[k] - base


@threads.jit(inner=True)
def _logs(data: Any, n: int, steps: int) -> Any:
    """The log-probabilities of one sample, (steps, alphabet)."""
    logs = np.empty((steps, data.shape[2]))
    for t in range(steps):
        _log_softmax(data[t, n], logs[t])
    return logs


@threads.jit(inner=True)
def _places(label: Any, count: int, blank: int) -> Any:
    """The label with blanks before, between and after its letters."""
    places = np.full(2 * count + 1, blank, np.int64)
    for k in range(count):
        places[2 * k + 1] = label[k]
    return places


@threads.jit(inner=True)
def _steps_needed(places: Any) -> Any:
    """A step for each letter, and one more between equal neighbours."""
    needed = places.size // 2
    for s in range(3, places.size, 2):
        needed += places[s] == places[s - 2]
    return needed


@threads.jit(inner=True)
def _is_known(places: Any, alphabet: int) -> Any:
    return places.min() >= 0 and places.max() < alphabet


@threads.jit(inner=True)
def _forwards(logs: Any, places: Any) -> Any:
    """alphas[t, s]: of all beginnings that stand at place s after step t."""
    steps, size = logs.shape[0], places.size
    alphas = np.full((steps, size), -np.inf)
    alphas[0, 0] = logs[0, places[0]]
    if size > 1:
        alphas[0, 1] = logs[0, places[1]]
    for t in range(1, steps):
        for s in range(size):
            total = alphas[t - 1, s]
            if s > 0:
                total = _add(total, alphas[t - 1, s - 1])
            if s > 1 and s % 2 == 1 and places[s] != places[s - 2]:
                total = _add(total, alphas[t - 1, s - 2])
            alphas[t, s] = total + logs[t, places[s]]
    return alphas


@threads.jit()
def _read(alphas: Any) -> Any:
    """The log-probability of the label: at the end, or one before it."""
    steps, size = alphas.shape
    last = alphas[steps - 1, size - 1]
    return last if size == 1 else _add(last, alphas[steps - 1, size - 2])


@threads.jit(parallel=True)
def losses(
    part: Any, data: Any, labels: Any, counts: Any, lengths: Any, blank: int, out: Any
) -> None:
    """Fill out (N,); 0 for labels too long for their steps, NaN for unknown letters."""
    for n in dealt(out.size, part):
        places = _places(labels[n], counts[n], blank)
        if not _is_known(places, data.shape[2]):
            out[n] = np.nan
        elif lengths[n] < max(1, _steps_needed(places)):
            out[n] = 0
        else:
            out[n] = -_read(_forwards(_logs(data, n, lengths[n]), places))


@threads.jit(inner=True)
def _sample_gradient(logs: Any, places: Any, dout: float, n: int, out: Any) -> None:
    """The softmax less the share of each letter in all readings, for one sample."""
    steps, size = logs.shape[0], places.size
    alphas = _forwards(logs, places)
    whole = _read(alphas)
    # betas[s]: of all ends that come after place s at step t
    betas, later = np.full(size, -np.inf), np.empty(size)
    betas[size - 1] = 0
    if size > 1:
        betas[size - 2] = 0
    for t in range(steps - 1, -1, -1):
        if t < steps - 1:
            for s in range(size):
                later[s] = betas[s] + logs[t + 1, places[s]]
            for s in range(size):
                betas[s] = later[s]
                if s + 1 < size:
                    betas[s] = _add(betas[s], later[s + 1])
                if s + 2 < size and s % 2 == 1 and places[s] != places[s + 2]:
                    betas[s] = _add(betas[s], later[s + 2])
        shares = np.exp(logs[t])
        for s in range(size):
            shares[places[s]] -= np.exp(alphas[t, s] + betas[s] - whole)
        for k in range(shares.size):
            out[t, n, k] = shares[k] * dout


@threads.jit(parallel=True)
def gradient(
    part: Any, data: Any, labels: Any, counts: Any, lengths: Any, blank: int, dout: Any,
    out: Any,
) -> None:  # fmt: skip
    """Fill out (T, N, alphabet), the gradient of data; 0 beyond a sample's steps."""
    for n in dealt(dout.size, part):
        out[:, n] = 0
        places = _places(labels[n], counts[n], blank)
        if not _is_known(places, data.shape[2]):
            out[:, n] = np.nan
        elif lengths[n] >= max(1, _steps_needed(places)):
            logs = _logs(data, n, lengths[n])
            _sample_gradient(logs, places, np.float64(dout[n]), n, out)

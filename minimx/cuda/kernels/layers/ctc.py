"""Connectionist temporal classification on CUDA; the CPU's file says what it is.

    losses(data, labels, letters, times, first, out)           one cost for each sample
    gradient(data, labels, letters, times, first, dout, out)   that of data

letters, times (N,): how long each label and each sample are, or None; first: whether
letter 0 is the blank, rather than the last one.

A block of threads has a sample and goes from step to step with it; its threads have the
places of the label. What the places of one letter have in common is added up by one of
them, in order: the same to the bit in every run.
"""

from __future__ import annotations

import math
from collections import namedtuple
from typing import Any

import numpy as np

from minimx.cuda.kernels import launching, scratch
from minimx.cuda.kernels.launching import cuda
from minimx.cuda.kernels.mathematics import exp, log, log1p

#: The threads of a sample.
TEAM = 2 if launching.SIMULATED else 128


#: The lengths; rows: of how many steps the sums from the beginning are kept.
Sizes = namedtuple(
    "Sizes",
    "steps samples alphabet longest rows blank end counted timed",
)


@launching.kernel
def _bases(data: Any, bases: Any, n: int, alphabet: int) -> None:
    """What is taken off the scores of a step to make them logs of probabilities."""
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        largest, total = float(data[i * alphabet]), 0.0
        for k in range(i * alphabet + 1, (i + 1) * alphabet):
            largest = max(largest, float(data[k]))
        for k in range(i * alphabet, (i + 1) * alphabet):
            total += exp(data[k] - largest)
        bases[i] = largest + log(total)


@launching.inner
def _add(a: Any, b: Any) -> Any:
    """log(exp(a) + exp(b))."""
    high, low = max(a, b), min(a, b)
    return high if low == -math.inf else high + log1p(exp(low - high))


@launching.inner
def _letters(labels: Any, letters: Any, n: int, at: Any) -> int:
    """How many letters the label of a sample has."""
    count = at.longest
    if at.counted:
        count = min(int(letters[n]), count)
    else:
        for k in range(at.longest - 1, -1, -1):
            if int(labels[n * at.longest + k]) == at.end:
                count = k
    found: int = max(count, 0)
    return found


@launching.inner
def _needed(labels: Any, n: int, count: int, at: Any) -> int:
    """The steps that a label needs at least; -1 if it has an unknown letter."""
    needed, before, known = count, -1, True
    for k in range(n * at.longest, n * at.longest + count):
        letter = int(labels[k])
        known = known and letter >= 0 and letter < at.alphabet
        needed += 1 if letter == before else 0
        before = letter
    return max(needed, 1) if known else -1


@launching.inner
def _letter(labels: Any, n: int, s: int, at: Any) -> int:
    """The letter at a place: between the label's letters and around them, the blank."""
    return int(labels[n * at.longest + s // 2]) if s % 2 == 1 else at.blank


@launching.inner
def _log(data: Any, bases: Any, t: int, n: int, letter: int, at: Any) -> Any:
    """The logarithm of the probability of a letter at a step."""
    line = t * at.samples + n
    return data[line * at.alphabet + letter] - bases[line]


@launching.inner
def _walk(
    data: Any, bases: Any, labels: Any, alphas: Any, n: int, steps: int, size: int,
    at: Any,
) -> Any:  # fmt: skip
    """The sums from the beginning, step by step; the log-probability of the label."""
    most = 2 * at.longest + 1
    for t in range(steps):
        row = (n * at.rows + t % at.rows) * most
        before = (n * at.rows + (t - 1) % at.rows) * most
        for s in range(cuda.threadIdx.x, size, TEAM):
            letter = _letter(labels, n, s, at)
            total = 0.0 if s < 2 else -math.inf
            if t > 0:
                total = alphas[before + s]
                if s > 0:
                    total = _add(total, alphas[before + s - 1])
                if s % 2 == 1 and s > 1 and letter != _letter(labels, n, s - 2, at):
                    total = _add(total, alphas[before + s - 2])
            alphas[row + s] = total + _log(data, bases, t, n, letter, at)
        cuda.syncthreads()
    last = (n * at.rows + (steps - 1) % at.rows) * most + size - 1
    return _add(alphas[last], alphas[last - 1]) if size > 1 else alphas[last]


@launching.kernel
def _losses(
    data: Any, bases: Any, labels: Any, letters: Any, times: Any, alphas: Any, out: Any,
    at: Any,
) -> None:  # fmt: skip
    for n in range(cuda.blockIdx.x, at.samples, cuda.gridDim.x):
        count = _letters(labels, letters, n, at)
        steps = min(at.steps, int(times[n])) if at.timed else at.steps
        needed, loss = _needed(labels, n, count, at), 0.0
        if needed < 0:
            loss = math.nan
        elif steps >= needed:
            loss = -_walk(data, bases, labels, alphas, n, steps, 2 * count + 1, at)
        if cuda.threadIdx.x == 0:
            out[n] = loss


@launching.inner
def _later(
    data: Any, bases: Any, labels: Any, betas: Any, t: int, n: int, s: int, at: Any
) -> Any:
    """Of all ends that stand at place s at step t."""
    row = (2 * n + t % 2) * (2 * at.longest + 1)
    return betas[row + s] + _log(data, bases, t, n, _letter(labels, n, s, at), at)


@launching.inner
def _share(
    data: Any, bases: Any, labels: Any, betas: Any, t: int, n: int, s: int, size: int,
    steps: int, at: Any,
) -> Any:  # fmt: skip
    """Of all ends that come after place s at step t."""
    if t == steps - 1:
        return 0.0 if s >= size - 2 else -math.inf
    total = _later(data, bases, labels, betas, t + 1, n, s, at)
    if s + 1 < size:
        total = _add(total, _later(data, bases, labels, betas, t + 1, n, s + 1, at))
    after = s + 2 if s % 2 == 1 and s + 2 < size else s
    if _letter(labels, n, s, at) != _letter(labels, n, after, at):
        total = _add(total, _later(data, bases, labels, betas, t + 1, n, after, at))
    return total


@launching.kernel
def _gradients(
    data: Any, bases: Any, labels: Any, letters: Any, times: Any, alphas: Any,
    betas: Any, dout: Any, out: Any, at: Any,
) -> None:  # fmt: skip
    """The softmax less the share of each letter in all readings."""
    first, most = cuda.threadIdx.x, 2 * at.longest + 1
    for n in range(cuda.blockIdx.x, at.samples, cuda.gridDim.x):
        count = _letters(labels, letters, n, at)
        steps = min(at.steps, int(times[n])) if at.timed else at.steps
        needed, size, whole = _needed(labels, n, count, at), 2 * count + 1, 0.0
        rest = 0.0 if needed >= 0 else math.nan
        if needed < 0 or steps < needed:
            steps = 0
        else:
            whole = _walk(data, bases, labels, alphas, n, steps, size, at)
            cuda.syncthreads()  # all have read it: what it was read from may change
        for t in range(at.steps - 1, -1, -1):
            line = (t * at.samples + n) * at.alphabet
            for k in range(first, at.alphabet, TEAM):
                inside = t < steps
                share = exp(_log(data, bases, t, n, k, at)) if inside else rest
                out[line + k] = share * dout[n] if inside else share
            if t < steps:
                row, place = (2 * n + t % 2) * most, (n * at.rows + t) * most
                for s in range(first, size, TEAM):
                    beta = _share(data, bases, labels, betas, t, n, s, size, steps, at)
                    betas[row + s] = beta
                    alphas[place + s] = exp(alphas[place + s] + beta - whole)
                cuda.syncthreads()
                for s in range(first, size, TEAM):
                    letter, earlier = _letter(labels, n, s, at), False
                    share = exp(_log(data, bases, t, n, letter, at))
                    for other in range(size):
                        if _letter(labels, n, other, at) == letter:
                            earlier = earlier or other < s
                            share -= alphas[place + other]
                    if not earlier:
                        out[line + letter] = share * dout[n]


def _sizes(
    data: Any, labels: Any, letters: Any, times: Any, first: bool, rows: int
) -> Sizes:
    steps, samples, alphabet = data.shape
    blank, end = (0, 0) if first else (alphabet - 1, -1)
    more = blank, end, letters is not None, times is not None
    return Sizes(steps, samples, alphabet, labels.shape[1], rows, *more)


def _given(data: Any, labels: Any, letters: Any, times: Any) -> tuple[Any, ...]:
    """Flat arrays; what is not given is not read."""
    lengths = [labels if x is None else x for x in (letters, times)]
    return tuple(launching.flat(data, labels, *lengths))


def losses(
    data: Any, labels: Any, letters: Any, times: Any, first: bool, out: Any
) -> None:
    """Fill out (N,); 0 for labels too long for their steps, NaN for unknown letters."""
    at = _sizes(data, labels, letters, times, first, 2)
    x, *given = _given(data, labels, letters, times)
    lines, most = at.steps * at.samples, 2 * at.longest + 1
    buffer = (at.samples * 2 * most, np.float64)
    with scratch.allocated((lines, np.float64), buffer) as (bases, alphas):
        launching.over(_bases, lines, (x, bases), at.alphabet)
        arrays = x, bases, *given, alphas, out
        launching.by_teams(_losses, at.samples, TEAM, *arrays, at)


def gradient(
    data: Any, labels: Any, letters: Any, times: Any, first: bool, dout: Any, out: Any
) -> None:
    """Fill out (T, N, alphabet), the gradient of data; 0 beyond a sample's steps."""
    at = _sizes(data, labels, letters, times, first, int(data.shape[0]))
    x, *given = _given(data, labels, letters, times)
    lines, places = at.steps * at.samples, at.samples * (2 * at.longest + 1)
    buffers = [(n, np.float64) for n in (lines, at.steps * places, 2 * places)]
    with scratch.allocated(*buffers) as (bases, alphas, betas):
        launching.over(_bases, lines, (x, bases), at.alphabet)
        arrays = x, bases, *given, alphas, betas, dout, out.reshape(-1)
        launching.by_teams(_gradients, at.samples, TEAM, *arrays, at)

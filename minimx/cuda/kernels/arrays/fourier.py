"""Fourier's transform on CUDA, for any length: one pass for each prime factor of it.

Before a pass with the factor p, every (n / done)-th number belongs to one transform of
length `done`; frequency f of the s-th of them stands at f · (n / done) + s. The pass
joins p of them: a thread owns a number of what comes out and adds up p numbers, each
turned by its angle. At the end there is one transform, its frequencies in order
(Stockham's way: nothing is shuffled, and neighbours read neighbours).
"""

from __future__ import annotations

from functools import cache
from typing import Any

from minimx.cuda.kernels import launching, scratch
from minimx.cuda.kernels.default_launch import real, runs
from minimx.cuda.kernels.launching import cuda
from minimx.cuda.kernels.mathematics import cos, sin

_TWO_PI = 6.283185307179586


@cache
def factors(n: int) -> list[int]:
    """The prime factors of a length, the small ones first.

    >>> factors(60), factors(1)
    ([2, 2, 3, 5], [1])
    """
    found, p = [], 2
    while p * p <= n:
        if n % p:
            p += 1
        else:
            found.append(p)
            n //= p
    return found + [n] if n > 1 or not found else found


@launching.kernel
def _pass(
    x: Any, out: Any, count: int, n: int, p: int, done: int, sense: float,
    real_in: bool, real_out: bool,
) -> None:  # fmt: skip
    """sense: of the angles; real_in, real_out: no imaginary parts are there."""
    longer = done * p
    apart = n // longer  # of neighbouring frequencies
    for w in range(cuda.grid(1), count, cuda.gridsize(1)):
        line, i = w // n * n, w % n
        f, s = i // apart, i % apart
        at = line + f % done * apart * p + s
        total, second = 0.0, 0.0
        for j in range(p):
            # A whole number of turns is left out first: the angle stays exact.
            angle = sense * _TWO_PI * (f * j % longer) / longer
            c, d, k = cos(angle), sin(angle), at + j * apart
            if real_in:
                total += c * x[k]
                second += d * x[k]
            else:
                total += c * x[2 * k] - d * x[2 * k + 1]
                second += d * x[2 * k] + c * x[2 * k + 1]
        if real_out:
            out[w] = total
        else:
            out[2 * w], out[2 * w + 1] = total, second


def _transform(
    x: Any, out: Any, n: int, sense: float, real_in: bool, real_out: bool
) -> None:
    parts, count = factors(n), x.size if real_in else x.size // 2
    with scratch.allocated(*[(2 * count, out.dtype)] * 2) as buffers:
        source, done = x, 1
        for k, p in enumerate(parts):
            last = k == len(parts) - 1
            target = out if last else buffers[k % 2]
            kinds = real_in and k == 0, real_out and last
            launching.over(_pass, count, (source, target), n, p, done, sense, *kinds)
            source, done = target, done * p


@runs("_contrib_fft", types=real)
def fft(x: Any, out: Any) -> None:
    """X (..., n) real; out (..., 2 n): real and imaginary parts in turns."""
    _transform(x, out, tuple(x.shape)[-1], -1.0, True, False)


@runs("_contrib_ifft", types=real)
def ifft(x: Any, out: Any) -> None:
    """X (..., 2 n) pairs; out (..., n): the real part, not divided by n."""
    _transform(x, out, tuple(out.shape)[-1], 1.0, False, True)

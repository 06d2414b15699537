"""Random numbers on CUDA: Philox, a generator that counts instead of remembering.

The k-th number of a call is a mixture of k and the call's key, so any thread can make
it, in any order. The key is drawn from the device's stream (minimx/core/rng.py), which
`mx.random.seed` restarts; the numbers are not those of the CPU. (Salmon et al.,
"Parallel random numbers: as easy as 1, 2, 3", 2011.)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from minimx.cuda.kernels import launching
from minimx.cuda.kernels.launching import cuda
from minimx.cuda.kernels.mathematics import cos, log, sqrt

_word = np.uint64
_MASK, _SHIFT = _word(0xFFFFFFFF), _word(32)
_FACTOR_A, _FACTOR_B = _word(0xD2511F53), _word(0xCD9E8D57)
_STEP_A, _STEP_B = _word(0x9E3779B9), _word(0xBB67AE85)
_TWO_PI, _UNIT = 6.283185307179586, 1 / 4294967296


@launching.inner
def words(counter: Any, attempt: Any, key: Any) -> Any:
    """Four words of 32 bits, in 64, of a key and two counters of 64 bits each."""
    a, b = counter & _MASK, counter >> _SHIFT
    c, d = attempt & _MASK, attempt >> _SHIFT
    k, m = key & _MASK, key >> _SHIFT
    for _ in range(10):
        first, second = _FACTOR_A * a, _FACTOR_B * c
        a, b, c, d = (
            (second >> _SHIFT) ^ b ^ k,
            second & _MASK,
            (first >> _SHIFT) ^ d ^ m,
            first & _MASK,
        )
        k, m = (k + _STEP_A) & _MASK, (m + _STEP_B) & _MASK
    return a, b, c, d


@launching.inner
def philox(counter: Any, key: Any) -> Any:
    """The same for who never needs more than the first four."""
    return words(counter, _word(0), key)


@launching.kernel
def _uniform(out: Any, n: int, key: Any, low: float, width: float) -> None:
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        words = philox(_word(i), key)
        # 24 bits, so that a float32 below 1 stays below 1.
        out[i] = low + width * (float(words[0] >> _word(8)) / 16777216.0)


@launching.kernel
def _normal(out: Any, n: int, key: Any, loc: float, scale: float) -> None:
    """Box and Muller's way: a random radius and a random angle."""
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        words = philox(_word(i), key)
        radius = sqrt(-2.0 * log((float(words[0]) + 0.5) * _UNIT))
        angle = _TWO_PI * (float(words[1]) * _UNIT)
        out[i] = loc + scale * radius * cos(angle)


def key_of(generator: np.random.Generator) -> Any:
    """The key of a call, the next one of a stream."""
    return _word(generator.integers(0, 1 << 64, dtype=np.uint64))


def uniform(low: float, high: float) -> Callable[..., None]:
    """(out, generator): evenly in [low, high)."""
    settings = float(low), float(high - low)
    return lambda out, generator: launching.over(
        _uniform, out.size, (out,), key_of(generator), *settings
    )


def normal(loc: float, scale: float) -> Callable[..., None]:
    """(out, generator): mean `loc`, standard deviation `scale`."""
    settings = float(loc), float(scale)
    return lambda out, generator: launching.over(
        _normal, out.size, (out,), key_of(generator), *settings
    )

"""Dropout on CUDA: one bit for each element, eight in a byte, as on the CPU."""

from __future__ import annotations

from typing import Any

import numpy as np

from minimx.core.shapes import Shape
from minimx.cuda.kernels import launching
from minimx.cuda.kernels.core.random import key_of, philox
from minimx.cuda.kernels.launching import cuda

_word = np.uint64
_LOW, _HALF = _word(0xFFFF), _word(16)


@launching.kernel
def _draw(bits: Any, n: int, key: Any, limit: Any) -> None:
    """Four words of 32 bits are eight decisions of 16."""
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        words = philox(_word(i), key)
        byte = 0
        for k in range(4):
            if (words[k] & _LOW) < limit:
                byte += 1 << (2 * k)
            if (words[k] >> _HALF) < limit:
                byte += 2 << (2 * k)
        bits[i] = byte


@launching.kernel
def _apply(data: Any, bits: Any, out: Any, n: int, scale: Any, zero: Any) -> None:
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        stays = (int(bits[i // 8]) >> (i % 8)) & 1
        out[i] = data[i] * scale if stays else zero


@launching.kernel
def _apply_shared(
    data: Any, bits: Any, out: Any, n: int, scale: Any, zero: Any, axes: int, steps: Any
) -> None:
    """steps: for each axis, the innermost first, its length and how bits advance."""
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        at, rest = 0, i
        for axis in range(axes):
            at += rest % steps[2 * axis] * steps[2 * axis + 1]
            rest //= steps[2 * axis]
        stays = (int(bits[at // 8]) >> (at % 8)) & 1
        out[i] = data[i] * scale if stays else zero


def draw(rng: np.random.Generator, bits: Any, keep: float) -> None:
    """Set each bit with probability `keep`, to within one in 65,536."""
    limit = _word(round(keep * (1 << 16)))
    launching.over(_draw, bits.size, (bits,), key_of(rng), limit)


def apply(data: Any, bits: Any, scale: Any, out: Any) -> None:
    """Fill out with data * scale where the bit is set, else 0."""
    settings = scale, out.dtype.type(0)
    launching.over(_apply, out.size, (data, bits, out), *settings)


def apply_shared(
    data: Any, bits: Any, scale: Any, out: Any, shape: Shape, decisions: Shape
) -> None:
    """The same, with a bit for each of `decisions`, which are stretched to `shape`."""
    settings, steps, step = (scale, out.dtype.type(0), len(shape)), [], 1
    for length, own in zip(reversed(shape), reversed(decisions), strict=True):
        steps += [length, step if own > 1 else 0]
        step *= own
    arrays = data, bits, out
    launching.over(_apply_shared, out.size, arrays, *settings, tuple(steps))

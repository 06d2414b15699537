"""Dropout: set some elements to zero, and scale the others up to make good for it.

The mask is kept as one bit for each element, so it is 32 times smaller than the data.

    draw(rng, bits, keep)              which elements stay
    apply(data, bits, scale, out)      out = data * scale where they stay, else 0
"""

from __future__ import annotations

from typing import Any

import numpy as np

from minimx.core.kernels import threads
from minimx.core.kernels.parts import dealt

# Elements are handled in runs of this many, so that threads never share a byte.
RUN = 1 << 14


@threads.jit()
def _pack(words: Any, limit: Any, bits: Any) -> None:
    """Bit i of `bits` says whether the i-th random number is below `limit`."""
    for b in range(bits.size):
        byte = np.uint8(0)
        for k in range(8):
            stays = words[8 * b + k] < limit
            byte |= np.uint8(np.uint8(stays) << np.uint8(k))
        bits[b] = byte


@threads.jit(parallel=True)
def apply(part: Any, data: Any, bits: Any, scale: Any, out: Any) -> None:
    """Fill out with data * scale where the bit is set, else 0.

    data, out: flat, of one float type, as is scale; bits: uint8, element i's is bit
    i % 8 of byte i // 8.
    """
    size = out.size
    zero = out.dtype.type(0)
    for run in dealt(-(-size // RUN), part):
        for i in range(np.uintp(run * RUN), np.uintp(min((run + 1) * RUN, size))):
            bit = (bits[i >> np.uintp(3)] >> np.uint8(i & np.uintp(7))) & np.uint8(1)
            out[i] = data[i] * scale if bit else zero


def draw(rng: np.random.Generator, bits: Any, keep: float) -> None:
    """Set each bit with probability `keep`, to within one in 65,536.

    The generator is asked in order, by one thread: the mask depends on its state only.
    """
    limit = np.uint32(round(keep * (1 << 16)))
    step = 1 << 13
    for first in range(0, bits.size, step):
        part = bits[first : first + step]
        words = rng.integers(0, 1 << 16, 8 * part.size, dtype=np.uint16)
        _pack(words, limit, part)

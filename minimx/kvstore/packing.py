"""Gradients in one or two bits: kernels that pack, and unpack, on the host.

What packing loses is not forgotten: it stays in a residual, which the next gradient is
added to. Bits and bytes are laid out as MXNet's are (`gradient_compression-inl.h`).

    2bit   16 numbers in 32 bits, the first in the two highest of byte 0:
           11 is threshold, 10 is -threshold, 00 is 0
    1bit   32 numbers in 32 bits, the first in the highest of byte 0: 1 is 1, 0 is -1
"""

from __future__ import annotations

from typing import Any

import numpy as np

from minimx.core.kernels import threads
from minimx.core.kernels.parts import dealt

_RUN = 1 << 12  # bytes that one thread packs before it looks for more


@threads.jit(parallel=True)
def pack2(part: Any, gradient: Any, residual: Any, threshold: Any, packed: Any) -> None:
    """Pack float32 (n,) into uint8 (whole words), and change the residual (n,)."""
    n, none = gradient.size, np.float32(0)
    for run in dealt(-(-packed.size // _RUN), part):
        for k in range(run * _RUN, min((run + 1) * _RUN, packed.size)):
            byte = 0
            for i in range(4 * k, min(4 * k + 4, n)):
                value = residual[i] + gradient[i]
                shift = 6 - 2 * (i - 4 * k)
                sent = none
                if value >= threshold:
                    byte |= 3 << shift
                    sent = threshold
                elif value <= -threshold:
                    byte |= 2 << shift
                    sent = -threshold
                residual[i] = value - sent
            packed[k] = np.uint8(byte)


@threads.jit(parallel=True)
def unpack2(part: Any, packed: Any, threshold: Any, out: Any) -> None:
    """Fill float32 (n,) with threshold, -threshold and 0."""
    n = out.size
    for run in dealt(-(-n // _RUN), part):
        for i in range(run * _RUN, min((run + 1) * _RUN, n)):
            bits = (packed[i >> 2] >> (6 - 2 * (i & 3))) & 3
            value = np.float32(0)
            if bits == 3:
                value = threshold
            elif bits == 2:
                value = -threshold
            out[i] = value


@threads.jit(parallel=True)
def pack1(part: Any, gradient: Any, residual: Any, threshold: Any, packed: Any) -> None:
    """Pack float32 (n,) into uint8 (whole words), and change the residual (n,)."""
    n, one = gradient.size, np.float32(1)
    for run in dealt(-(-packed.size // _RUN), part):
        for k in range(run * _RUN, min((run + 1) * _RUN, packed.size)):
            byte = 0
            for i in range(8 * k, min(8 * k + 8, n)):
                value = residual[i] + gradient[i]
                sent = -one
                if value > threshold:
                    byte |= 1 << (7 - (i - 8 * k))
                    sent = one
                residual[i] = value - sent
            packed[k] = np.uint8(byte)


@threads.jit(parallel=True)
def unpack1(part: Any, packed: Any, threshold: Any, out: Any) -> None:
    """Fill float32 (n,) with 1 and -1; the threshold decided only which."""
    n, one = out.size, np.float32(1)
    for run in dealt(-(-n // _RUN), part):
        for i in range(run * _RUN, min((run + 1) * _RUN, n)):
            out[i] = one if (packed[i >> 3] >> (7 - (i & 7))) & 1 else -one

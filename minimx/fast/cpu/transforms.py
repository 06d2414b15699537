"""Fourier transforms and count sketches, by NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np


def fft(x: Any, out: Any) -> None:
    """X (..., n) real; out (..., 2 n): real and imaginary parts in turns."""
    found = np.fft.fft(x, axis=-1)
    out[..., 0::2] = found.real
    out[..., 1::2] = found.imag


def ifft(x: Any, out: Any) -> None:
    """X (..., 2 n) pairs; out (..., n): the real part, not divided by n."""
    pairs = x[..., 0::2] + 1j * x[..., 1::2]
    out[...] = np.fft.ifft(pairs, axis=-1, norm="forward").real


def count_sketch(x: Any, h: Any, s: Any, out: Any) -> None:
    """Column j of x, times s[j], is added to column h[j] of out."""
    places = h.reshape(-1).astype(np.int64)
    wide = np.zeros(out.shape, np.float32 if out.dtype == np.float16 else out.dtype)
    np.add.at(np.moveaxis(wide, -1, 0), places, np.moveaxis(x * s.reshape(-1), -1, 0))
    out[...] = wide

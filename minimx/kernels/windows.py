"""The windows of pooling, before any array exists."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from minimx.dtypes import INT32, DType


class Windows(NamedTuple):
    """Every length that the loops run over; `planes` is N * C."""

    planes: int
    height: int
    width: int
    out_h: int
    out_w: int
    kernel_h: int
    kernel_w: int
    stride_h: int
    stride_w: int
    pad_h: int
    pad_w: int
    count_pad: bool
    divide: bool


def tap_dtype(kernel: tuple[int, ...]) -> DType:
    """The smallest element type that can number the taps of a window, and "nobody".

    >>> tap_dtype((2, 2)).name, tap_dtype((16, 16)).name
    ('uint8', 'int32')
    """
    return np.dtype(np.uint8) if np.prod(kernel) < 256 else INT32

"""The windows of pooling, before any array exists."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from minimx.core.dtypes import INT32, DType


class Windows(NamedTuple):
    """Every length that the loops run over; `planes` is N * C.

    A plane is a volume; an image is one of depth 1.
    """

    planes: int
    depth: int
    height: int
    width: int
    out_d: int
    out_h: int
    out_w: int
    kernel_d: int
    kernel_h: int
    kernel_w: int
    stride_d: int
    stride_h: int
    stride_w: int
    pad_d: int
    pad_h: int
    pad_w: int
    count_pad: bool
    divide: bool

    @property
    def data(self) -> tuple[int, int, int, int]:
        """The shape of the planes before pooling."""
        return self.planes, self.depth, self.height, self.width

    @property
    def out(self) -> tuple[int, int, int, int]:
        """The shape of the planes after pooling."""
        return self.planes, self.out_d, self.out_h, self.out_w

    @property
    def kernel(self) -> tuple[int, int, int]:
        """The taps of a window along each axis."""
        return self.kernel_d, self.kernel_h, self.kernel_w

    @property
    def is_whole(self) -> bool:
        """Whether there is one window, and it is the plane."""
        one = (*self.out[1:], self.pad_d, self.pad_h, self.pad_w) == (1, 1, 1, 0, 0, 0)
        return one and self.kernel == self.data[1:]

    @property
    def is_pairs(self) -> bool:
        """Whether windows are 2 by 2, touch, and all lie inside images."""
        steps = (self.stride_h, self.stride_w, self.pad_h, self.pad_w)
        inside = 2 * self.out_h <= self.height and 2 * self.out_w <= self.width
        return (*self.kernel, *steps) == (1, 2, 2, 2, 2, 0, 0) and inside


def tap_dtype(kernel: tuple[int, ...]) -> DType:
    """The smallest element type that can number the taps of a window, and "no tap".

    >>> tap_dtype((2, 2)).name, tap_dtype((16, 16)).name
    ('uint8', 'int32')
    """
    return np.dtype(np.uint8) if np.prod(kernel) < 256 else INT32

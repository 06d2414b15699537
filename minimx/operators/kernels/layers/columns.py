"""Windows of images as columns, and back: a copy for every tap, along any axes.

unfold(image, columns, steps)   image (N, C, *image), columns (N, C, *kernel, *stops)
fold(columns, image, steps)     its transpose: columns are added up
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from minimx.core.kernels.cpu.conv_direct import stops


class Steps(NamedTuple):
    """The lengths of the windows along each axis."""

    kernel: tuple[int, ...]
    stride: tuple[int, ...]
    dilate: tuple[int, ...]
    pad: tuple[int, ...]


def meeting(length: int, out: int, shift: int, stride: int) -> tuple[slice, slice]:
    """The stops at which a tap lies inside an axis, and the places it meets there."""
    first, last = stops.py_func(length, out, shift, stride)
    if last == first:
        return slice(0, 0), slice(0, 0)
    begin = first * stride + shift
    return slice(first, last), slice(begin, begin + (last - first) * stride, stride)


def _copies(image: Any, columns: Any, steps: Steps) -> Iterator[tuple[Any, Any]]:
    """For every tap a part of the columns, and the part of the image it shows."""
    axes = len(steps.kernel)
    lengths, outs = image.shape[2:], columns.shape[2 + axes :]
    for tap in np.ndindex(*steps.kernel):
        shifts = [
            k * d - p for k, d, p in zip(tap, steps.dilate, steps.pad, strict=True)
        ]
        met = list(map(meeting, lengths, outs, shifts, steps.stride))
        there = tuple(stop for stop, _ in met)
        places = tuple(place for _, place in met)
        yield columns[(slice(None), slice(None), *tap, *there)], image[..., *places]


def unfold(image: Any, columns: Any, steps: Steps) -> None:
    """Fill columns with what each tap sees at each stop, 0 where it is padding."""
    columns[...] = 0
    for column, part in _copies(image, columns, steps):
        column[...] = part


def fold(columns: Any, image: Any, steps: Steps) -> None:
    """Fill image with the sum of what every column says about a pixel."""
    image[...] = 0
    for column, part in _copies(image, columns, steps):
        part += column

"""Copies that put elements into another order.

NumPy's copying loops are as fast as memory allows and release the GIL, so these kernels
only say which view of the input goes to which view of the output.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import Any

import numpy as np

from minimx.core.shapes import Shape

Launch = Callable[..., None]
Key = tuple[Any, ...]


def transpose(axes: Shape) -> Launch:
    """A launch of (x, out): the axes of x in the order `axes`."""
    return lambda x, out: np.copyto(out, x.transpose(axes))


def pick(key: Key) -> Launch:
    """A launch of (x, …, out): x[key], for a NumPy key of slices and integers."""
    return lambda x, *to: np.copyto(to[-1], x[key].reshape(to[-1].shape))


def place(key: Key) -> Launch:
    """A launch of (part, out): zeros, then out[key] = part; the gradient of `pick`."""

    def launch(part: Any, out: Any) -> None:
        out.fill(0)
        target = out[(*key, ...)]  # a view, also where the key picks one element
        target[...] = part.reshape(target.shape)

    return launch


def concatenate(axis: int) -> Launch:
    """A launch of (*xs, out): arrays one after another along an axis."""

    def launch(*arrays: Any) -> None:
        np.concatenate(arrays[:-1], axis, out=arrays[-1])

    return launch


def stack(axis: int) -> Launch:
    """A launch of (*xs, out): arrays one after another along a new axis."""
    before = (slice(None),) * axis

    def launch(*arrays: Any) -> None:
        *xs, out = arrays
        for k, x in enumerate(xs):
            out[(*before, k)] = x

    return launch


def split(axis: int, lengths: Sequence[int]) -> Launch:
    """A launch of (x, *outs): pieces of x along an axis, of these lengths.

    An output may lack the axis if its piece has length 1.
    """
    before = (slice(None),) * axis
    ends = accumulate(lengths)
    keys = [
        (*before, slice(end - n, end)) for n, end in zip(lengths, ends, strict=True)
    ]

    def launch(x: Any, *outs: Any) -> None:
        for out, key in zip(outs, keys, strict=True):
            np.copyto(out, x[key].reshape(out.shape))

    return launch

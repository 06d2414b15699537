"""Convolution of float16 arrays with float16 sums: little memory, few digits.

The other algorithms need float32 copies of whole arrays. This one widens a slice of
them, multiplies it in float32 as mec does, and adds what comes out to the result, which
is float16 all the time. With every slice the sum is rounded to 11 bits.

The functions and their kernels are those of `conv`; their arrays are float16. `inner`
is the function of `conv` that makes the kernel for one slice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import prod
from typing import Any

import numpy as np

from minimx.core.kernels.convolution import Algorithm
from minimx.fast.convolution.algorithms import Slices

Run = Callable[..., None]


def forward(algorithm: Algorithm, inner: Any) -> Run:
    """`kernel(data, weight, bias or None, out, workspace)`: slices of channels."""
    run = _inner(algorithm, inner)

    def kernel(data: Any, weight: Any, bias: Any, out: Any, workspace: Any) -> None:
        out[...] = 0 if bias is None else bias[:, None, None]
        for part, buffer in _slices(algorithm.way, workspace):
            result = buffer.take(*out.shape)
            images, windows = buffer.wide(data[:, part]), buffer.wide(weight[:, part])
            run(images, windows, None, result, *buffer.rest())
            out += result.astype(np.float16)

    return kernel


def data_gradient(algorithm: Algorithm, inner: Any) -> Run:
    """`kernel(dout, weight, ddata, workspace)`: slices of filters."""
    run = _inner(algorithm, inner)

    def kernel(dout: Any, weight: Any, ddata: Any, workspace: Any) -> None:
        ddata[...] = 0
        for part, buffer in _slices(algorithm.way, workspace):
            result = buffer.take(*ddata.shape)
            heads, windows = buffer.wide(dout[:, part]), buffer.wide(weight[part])
            run(heads, windows, result, *buffer.rest())
            ddata += result.astype(np.float16)

    return kernel


def weight_gradient(algorithm: Algorithm, inner: Any) -> Run:
    """`kernel(dout, data, dweight, dbias or None, workspace)`: slices of images."""
    run = _inner(algorithm, inner)

    def kernel(dout: Any, data: Any, dweight: Any, dbias: Any, workspace: Any) -> None:
        dweight[...] = 0
        if dbias is not None:
            dbias[...] = 0
        for part, buffer in _slices(algorithm.way, workspace):
            result, heads = buffer.take(*dweight.shape), buffer.wide(dout[part])
            images, bias = buffer.wide(data[part]), buffer.take(dout.shape[1])
            run(heads, images, result, bias, *buffer.rest())
            dweight += result.astype(np.float16)
            if dbias is not None:
                dbias += bias.astype(np.float16)

    return kernel


class _Buffer:
    """The workspace of one slice: its arrays as float32, then mec's."""

    def __init__(self, workspace: Any) -> None:
        self.free = workspace.view(np.float32)

    def take(self, *shape: int) -> Any:
        size = prod(shape)
        taken, self.free = self.free[:size], self.free[size:]
        return taken.reshape(shape)

    def wide(self, array: Any) -> Any:
        """A copy of a float16 array."""
        copy = self.take(*array.shape)
        copy[...] = array
        return copy

    def rest(self) -> list[Any]:
        return [self.free.view(np.uint8)] if self.free.size else []


def _slices(way: Slices, workspace: Any) -> Iterator[tuple[slice, _Buffer]]:
    for begin in range(0, way.length, way.size):
        yield slice(begin, begin + way.size), _Buffer(workspace)


def _inner(algorithm: Algorithm, inner: Any) -> Any:
    """Mec's kernel for one slice."""
    way = algorithm.way
    mec = Algorithm(2, "mec", algorithm.direction, 4 * way.elements, way.lowering)
    return inner(mec, way.part)

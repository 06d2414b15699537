"""Convolution of tiny images: the batch becomes one tall image, and im2col takes that.

The product of an image of four stops would fetch the whole weight for four columns. In
the tall image all images are columns of the same product. Rows of zeros between them
pad both neighbours; see `Stack` in `fast/convolution/algorithms.py`.

The functions and their kernels are those of `conv`. `inner` is the function of `conv`
that makes the kernel for the tall image.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from minimx.core.kernels.convolution import Algorithm, Geometry

Run = Callable[..., None]


def forward(algorithm: Algorithm, at: Geometry, inner: Any) -> Run:
    """`kernel(data, weight, bias or None, out, workspace)`."""
    run, stack = _inner(algorithm, inner), _Stack(algorithm, at)

    def kernel(data: Any, weight: Any, bias: Any, out: Any, workspace: Any) -> None:
        image, result, rest = stack.cut(workspace, data.dtype)
        stack.fill(image, stack.images(image), data)
        run(image, weight, bias, result, *rest)
        out.swapaxes(0, 1)[...] = stack.outs(result)

    return kernel


def data_gradient(algorithm: Algorithm, at: Geometry, inner: Any) -> Run:
    """`kernel(dout, weight, ddata, workspace)`."""
    run, stack = _inner(algorithm, inner), _Stack(algorithm, at)

    def kernel(dout: Any, weight: Any, ddata: Any, workspace: Any) -> None:
        image, result, rest = stack.cut(workspace, dout.dtype)
        stack.fill(result, stack.outs(result), dout)
        run(result, weight, image, *rest)
        ddata[:, :, algorithm.way.used :] = 0
        inside = ddata[:, :, : algorithm.way.used]
        inside.swapaxes(0, 1)[...] = stack.images(image)

    return kernel


def weight_gradient(algorithm: Algorithm, at: Geometry, inner: Any) -> Run:
    """`kernel(dout, data, dweight, dbias or None, workspace)`."""
    run, stack = _inner(algorithm, inner), _Stack(algorithm, at)

    def kernel(dout: Any, data: Any, dweight: Any, dbias: Any, workspace: Any) -> None:
        image, result, rest = stack.cut(workspace, dout.dtype)
        stack.fill(image, stack.images(image), data)
        stack.fill(result, stack.outs(result), dout)
        run(result, image, dweight, dbias, *rest)

    return kernel


class _Stack:
    """Where the images and their outputs lie in the tall ones."""

    def __init__(self, algorithm: Algorithm, at: Geometry) -> None:
        self.at, self.way = at, algorithm.way

    def cut(self, workspace: Any, dtype: Any) -> tuple[Any, Any, list[Any]]:
        """The tall image (1, C, H, W), its output, and im2col's workspace."""
        part, free = self.way.part, workspace.view(dtype)
        shapes = (
            (1, part.channels, part.height, part.width),
            (1, part.filters, part.out_h, part.out_w),
        )
        found = []
        for shape in shapes:
            size = shape[1] * shape[2] * shape[3]
            found.append(free[:size].reshape(shape))
            free = free[size:]
        rest = [free[: self.way.elements].view(np.uint8)] if self.way.elements else []
        return found[0], found[1], rest

    def images(self, tall: Any) -> Any:
        """The rows in use of every image, (C, N, rows, W)."""
        return self._views(tall, self.way.rows, self.way.used)

    def outs(self, tall: Any) -> Any:
        """The outputs of every image, (F, N, H', W')."""
        return self._views(tall, self.way.rows // self.at.stride_h, self.at.out_h)

    def _views(self, tall: Any, apart: int, rows: int) -> Any:
        channel, row, pixel = tall.strides[1:]
        shape = (tall.shape[1], self.at.images, rows, tall.shape[3])
        return as_strided(tall, shape, (channel, apart * row, row, pixel))

    def fill(self, tall: Any, views: Any, batch: Any) -> None:
        """Copy a batch between rows of zeros."""
        tall[...] = 0
        views[...] = batch[:, :, : views.shape[2]].swapaxes(0, 1)


def _inner(algorithm: Algorithm, inner: Any) -> Any:
    """Im2col's kernel for the tall image."""
    way = algorithm.way
    columns = Algorithm(
        1, "im2col", algorithm.direction, 4 * way.elements, way.lowering
    )
    return inner(columns, way.part)

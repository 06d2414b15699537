"""Convolution over volumes, sample by sample, as convolution over stacks of slices.

data (N, C, D, H, W), weight (F, C / groups, KD, KH, KW), out (N, F, OD, OH, OW); see
`minimx.core.kernels.convolution.Depth`. The functions are those of `conv`, with the
depth as one more argument.

A sample is copied to slices (OD, C, KD, H, W): what the window covers at each stop
along the depth. Read as OD images of C * KD channels, with the weight read alike, they
are what the kernels of `conv` take.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from minimx.core.kernels.convolution import Algorithm, Depth, Geometry
from minimx.core.kernels.cpu import conv
from minimx.operators.kernels.layers.columns import meeting


def _taps(depth: Depth) -> list[tuple[int, slice, slice]]:
    """For each tap the stops at which it lies inside, and the slices it meets there."""
    taps = []
    for tap in range(depth.kernel):
        shift = tap * depth.dilate - depth.pad
        taps.append((tap, *meeting(depth.length, depth.out, shift, depth.stride)))
    return taps


def _lower(volume: Any, slices: Any, taps: list[tuple[int, slice, slice]]) -> None:
    """Copy volume (C, D, H, W) to slices (OD, C, KD, H, W), 0 where it is padded."""
    for tap, stops, met in taps:
        slices[: stops.start, :, tap] = 0
        slices[stops.stop :, :, tap] = 0
        slices[stops, :, tap] = volume[:, met].swapaxes(0, 1)


def _fold(slices: Any, volume: Any, taps: list[tuple[int, slice, slice]]) -> None:
    """The transpose of `_lower`: add every slice to where it came from."""
    volume[...] = 0
    for tap, stops, met in taps:
        volume[:, met] += slices[stops, :, tap].swapaxes(0, 1)


class _Scratch:
    """The workspace, cut to slices, their images, planes, and what is left."""

    def __init__(self, workspace: Any, dtype: Any, at: Geometry, depth: Depth) -> None:
        self.free = workspace.view(dtype)
        self.slices = self.take(*depth.slices(at))
        self.images = self.slices.reshape(at.images, at.channels, at.height, at.width)
        self.planes = self.take(*depth.planes(at))
        self.weight = at.filters, at.channels // at.groups, at.kernel_h, at.kernel_w

    def take(self, *shape: int) -> Any:
        size = prod(shape)
        taken, self.free = self.free[:size], self.free[size:]
        return taken.reshape(shape)

    def rest(self) -> list[Any]:
        return [self.free.view(np.uint8)] if self.free.size else []


def forward(algorithm: Algorithm, at: Geometry, depth: Depth) -> Callable[..., None]:
    """`kernel(data, weight, bias or None, out, workspace)`."""
    run, taps = conv.forward(algorithm, at), _taps(depth)

    def kernel(data: Any, weight: Any, bias: Any, out: Any, workspace: Any) -> None:
        scratch = _Scratch(workspace, data.dtype, at, depth)
        weight, rest = weight.reshape(scratch.weight), scratch.rest()
        for volume, result in zip(data, out, strict=True):
            _lower(volume, scratch.slices, taps)
            run(scratch.images, weight, bias, scratch.planes, *rest)
            result[...] = scratch.planes.swapaxes(0, 1)

    return kernel


def data_gradient(
    algorithm: Algorithm, at: Geometry, depth: Depth
) -> Callable[..., None]:
    """`kernel(dout, weight, ddata, workspace)`."""
    run, taps = conv.data_gradient(algorithm, at), _taps(depth)

    def kernel(dout: Any, weight: Any, ddata: Any, workspace: Any) -> None:
        scratch = _Scratch(workspace, dout.dtype, at, depth)
        weight, rest = weight.reshape(scratch.weight), scratch.rest()
        for head, result in zip(dout, ddata, strict=True):
            scratch.planes[...] = head.swapaxes(0, 1)
            run(scratch.planes, weight, scratch.images, *rest)
            _fold(scratch.slices, result, taps)

    return kernel


def weight_gradient(
    algorithm: Algorithm, at: Geometry, depth: Depth
) -> Callable[..., None]:
    """`kernel(dout, data, dweight, dbias or None, workspace)`."""
    run, taps = conv.weight_gradient(algorithm, at), _taps(depth)

    def kernel(dout: Any, data: Any, dweight: Any, dbias: Any, workspace: Any) -> None:
        scratch = _Scratch(workspace, dout.dtype, at, depth)
        part, bias = scratch.take(*scratch.weight), scratch.take(at.filters)
        rest = scratch.rest()
        total = dweight.reshape(scratch.weight)
        total[...] = 0
        if dbias is not None:
            dbias[...] = 0
        for head, volume in zip(dout, data, strict=True):
            scratch.planes[...] = head.swapaxes(0, 1)
            _lower(volume, scratch.slices, taps)
            run(scratch.planes, scratch.images, part, bias, *rest)
            total += part
            if dbias is not None:
                dbias += bias

    return kernel

"""Convolution over volumes on CUDA, sample by sample, as convolution over slices.

The same way as the CPU's file of this name: a sample is copied to slices (OD, C, KD, H,
W), what the window covers at each stop along the depth, and these are OD images of
C * KD channels for the kernels of `conv`. The launches take what those of `conv` take,
for volumes.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

from minimx.core.kernels.convolution import Algorithm, Depth, Geometry
from minimx.cuda.kernels import launching, scratch
from minimx.cuda.kernels.core import conv
from minimx.cuda.kernels.launching import cuda


@launching.kernel
def _lower(
    volume: Any, slices: Any, n: int, base: int, pixels: int, channels: int, zero: Any,
    depth: Any,
) -> None:  # fmt: skip
    """One sample, which begins at `base`, to slices."""
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        tap, c = i // pixels % depth.kernel, i // (pixels * depth.kernel) % channels
        stop = i // (pixels * depth.kernel * channels)
        z = stop * depth.stride + tap * depth.dilate - depth.pad
        inside = z >= 0 and z < depth.length
        at = base + (c * depth.length + z) * pixels + i % pixels
        slices[i] = volume[at] if inside else zero


@launching.kernel
def _fold(
    slices: Any, volume: Any, n: int, base: int, pixels: int, channels: int, zero: Any,
    depth: Any,
) -> None:  # fmt: skip
    """The transpose: a thread adds up what belongs to its place."""
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        z, c = i // pixels % depth.length, i // (pixels * depth.length)
        total = zero
        for tap in range(depth.kernel):
            down = z + depth.pad - tap * depth.dilate
            stop = down // depth.stride
            if down >= 0 and down % depth.stride == 0 and stop < depth.out:
                at = ((stop * channels + c) * depth.kernel + tap) * pixels
                total += slices[at + i % pixels]
        volume[base + i] = total


@launching.kernel
def _turn(
    x: Any, out: Any, n: int, x_base: int, out_base: int, rows: int, columns: int,
    inner: int,
) -> None:  # fmt: skip
    """X (rows, columns, inner) to out (columns, rows, inner)."""
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        row, column = i // inner % rows, i // (inner * rows)
        out[out_base + i] = x[x_base + (row * columns + column) * inner + i % inner]


@launching.kernel
def _add(part: Any, total: Any, n: int, first: bool) -> None:
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        total[i] = part[i] if first else total[i] + part[i]


class _Sizes:
    """How a sample is cut, and the launches that move it."""

    def __init__(self, at: Geometry, depth: Depth) -> None:
        self.depth, self.filters = depth, at.filters
        self.channels, self.pixels = at.channels // depth.kernel, at.height * at.width
        self.stops = at.out_h * at.out_w
        self.slices, self.planes = prod(depth.slices(at)), prod(depth.planes(at))
        self.volume = self.channels * depth.length * self.pixels

    def lower(self, volume: Any, slices: Any, sample: int) -> None:
        """The slices of a sample."""
        settings = sample * self.volume, self.pixels, self.channels
        arrays, zero = (volume, slices), slices.dtype.type(0)
        launching.over(_lower, self.slices, arrays, *settings, zero, self.depth)

    def fold(self, slices: Any, volume: Any, sample: int) -> None:
        """A sample from its slices."""
        settings = sample * self.volume, self.pixels, self.channels
        arrays, zero = (slices, volume), slices.dtype.type(0)
        launching.over(_fold, self.volume, arrays, *settings, zero, self.depth)

    def planes_of(self, out: Any, planes: Any, sample: int) -> None:
        """Stops first, then filters."""
        n, ways = self.planes, (self.filters, self.depth.out, self.stops)
        launching.over(_turn, n, (out, planes), sample * n, 0, *ways)

    def from_planes(self, planes: Any, out: Any, sample: int) -> None:
        """Filters first, then stops."""
        n, ways = self.planes, (self.depth.out, self.filters, self.stops)
        launching.over(_turn, n, (planes, out), 0, sample * n, *ways)


def forward(algorithm: Algorithm, at: Geometry, depth: Depth) -> Callable[..., None]:
    """The launch (data, weight, bias or None, out)."""
    run, sizes = conv.forward(algorithm, at), _Sizes(at, depth)

    def launch(data: Any, weight: Any, bias: Any, out: Any) -> None:
        real = data.dtype
        buffers = (sizes.slices, real), (sizes.planes, real)
        with scratch.allocated(*buffers) as (slices, planes):
            for sample in range(data.size // sizes.volume):
                sizes.lower(data, slices, sample)
                run(slices, weight, bias, planes)
                sizes.from_planes(planes, out, sample)

    return launch


def data_gradient(
    algorithm: Algorithm, at: Geometry, depth: Depth
) -> Callable[..., None]:
    """The launch (dout, weight, ddata)."""
    run, sizes = conv.data_gradient(algorithm, at), _Sizes(at, depth)

    def launch(dout: Any, weight: Any, ddata: Any) -> None:
        real = dout.dtype
        buffers = (sizes.slices, real), (sizes.planes, real)
        with scratch.allocated(*buffers) as (slices, planes):
            for sample in range(ddata.size // sizes.volume):
                sizes.planes_of(dout, planes, sample)
                run(planes, weight, slices)
                sizes.fold(slices, ddata, sample)

    return launch


def weight_gradient(
    algorithm: Algorithm, at: Geometry, depth: Depth
) -> Callable[..., None]:
    """The launch (dout, data, dweight, dbias or None)."""
    run, sizes = conv.weight_gradient(algorithm, at), _Sizes(at, depth)

    def launch(dout: Any, data: Any, dweight: Any, dbias: Any) -> None:
        real, n = dout.dtype, dweight.size
        buffers = [(size, real) for size in (sizes.slices, sizes.planes, n, at.filters)]
        with scratch.allocated(*buffers) as (slices, planes, part, bias):
            for sample in range(data.size // sizes.volume):
                sizes.planes_of(dout, planes, sample)
                sizes.lower(data, slices, sample)
                run(planes, slices, part, None if dbias is None else bias)
                launching.over(_add, n, (part, dweight), sample == 0)
                if dbias is not None:
                    launching.over(_add, bias.size, (bias, dbias), sample == 0)

    return launch

"""Convolution over images on CUDA, in three directions.

data (N, C, H, W), weight (F, C / groups, KH, KW), bias (F,), out (N, F, OH, OW)

    forward(algorithm, at)          (data, weight, bias or None, out)
    data_gradient(algorithm, at)    (dout, weight, ddata)
    weight_gradient(algorithm, at)  (dout, data, dweight, dbias or None)

Here stands the direct algorithm; `implicit` has the one of matrix products. Forward and
the gradient of the data gather: a thread owns one element of the answer and
fetches whatever belongs to it. An element of the weight's gradient is a sum over all
images and stops, so a block of threads shares it and folds its parts in one order:
every direction is the same to the bit in every run.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from minimx.core.kernels.convolution import DATA, FORWARD, WEIGHT, Algorithm, Geometry
from minimx.cuda.kernels import launching
from minimx.cuda.kernels.core import implicit, reduce
from minimx.cuda.kernels.launching import cuda

#: The threads that share one element of the weight's gradient (a power of 2).
TEAM = [1 if launching.SIMULATED else 128]


@launching.kernel
def _forward(
    data: Any, weight: Any, bias: Any, out: Any, n: int, biased: bool, zero: Any,
    at: Any,
) -> None:  # fmt: skip
    channels, filters = at.channels // at.groups, at.filters // at.groups
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        w, h = i % at.out_w, i // at.out_w % at.out_h
        f = i // (at.out_w * at.out_h) % at.filters
        image = i // (at.out_w * at.out_h * at.filters) * at.channels
        total = bias[f] if biased else zero
        for c in range(channels):
            plane = (image + f // filters * channels + c) * at.height
            taps = (f * channels + c) * at.kernel_h
            for kh in range(at.kernel_h):
                y = h * at.stride_h + kh * at.dilate_h - at.pad_h
                if y < 0 or y >= at.height:
                    continue
                for kw in range(at.kernel_w):
                    x = w * at.stride_w + kw * at.dilate_w - at.pad_w
                    if x >= 0 and x < at.width:
                        scale = weight[(taps + kh) * at.kernel_w + kw]
                        total += scale * data[(plane + y) * at.width + x]
        out[i] = total


@launching.kernel
def _data(dout: Any, weight: Any, ddata: Any, n: int, zero: Any, at: Any) -> None:
    channels, filters = at.channels // at.groups, at.filters // at.groups
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        x, y = i % at.width, i // at.width % at.height
        c = i // (at.width * at.height) % at.channels
        image = i // (at.width * at.height * at.channels) * at.filters
        first = c // channels * filters
        total = zero
        for f in range(first, first + filters):
            plane = (image + f) * at.out_h
            taps = (f * channels + c % channels) * at.kernel_h
            for kh in range(at.kernel_h):
                down = y + at.pad_h - kh * at.dilate_h
                h = down // at.stride_h
                if down < 0 or down % at.stride_h != 0 or h >= at.out_h:
                    continue
                for kw in range(at.kernel_w):
                    right = x + at.pad_w - kw * at.dilate_w
                    w = right // at.stride_w
                    if right >= 0 and right % at.stride_w == 0 and w < at.out_w:
                        scale = weight[(taps + kh) * at.kernel_w + kw]
                        total += scale * dout[(plane + h) * at.out_w + w]
        ddata[i] = total


@cache
def _weight(team: int, real: Any) -> Any:
    """The kernel in which `team` threads share an element."""

    @launching.kernel
    def kernel(dout: Any, data: Any, dweight: Any, n: int, zero: Any, at: Any) -> None:
        part = cuda.shared.array(team, real)
        t = cuda.threadIdx.x
        channels, filters = at.channels // at.groups, at.filters // at.groups
        stops = at.out_h * at.out_w
        for i in range(cuda.blockIdx.x, n, cuda.gridDim.x):
            kw, kh = i % at.kernel_w, i // at.kernel_w % at.kernel_h
            c = i // (at.kernel_w * at.kernel_h) % channels
            f = i // (at.kernel_w * at.kernel_h * channels)
            source = f // filters * channels + c
            total = zero
            for stop in range(t, at.images * stops, team):
                image = stop // stops
                h, w = stop // at.out_w % at.out_h, stop % at.out_w
                y = h * at.stride_h + kh * at.dilate_h - at.pad_h
                x = w * at.stride_w + kw * at.dilate_w - at.pad_w
                if y >= 0 and y < at.height and x >= 0 and x < at.width:
                    plane = (image * at.channels + source) * at.height
                    head = dout[(image * at.filters + f) * stops + stop % stops]
                    total += head * data[(plane + y) * at.width + x]
            if team > 1:
                part[t] = total
                cuda.syncthreads()
                half = team // 2
                while half > 0:
                    if t < half:
                        part[t] += part[t + half]
                    cuda.syncthreads()
                    half //= 2
                total = part[0]
                cuda.syncthreads()
            if t == 0:
                dweight[i] = total

    return kernel


@cache
def _bias(shape: tuple[int, int, int], real: Any) -> Any:
    """The sum (dout, dbias) over images and stops; shape: images, filters, stops."""
    return reduce.reduction("sum", shape, (0, 2), real)


def forward(algorithm: Algorithm, at: Geometry) -> Callable[..., None]:
    """The launch (data, weight, bias or None, out)."""

    def launch(data: Any, weight: Any, bias: Any, out: Any) -> None:
        if algorithm.way is not None:
            a, b, target = launching.flat(weight, data, out)
            implicit.run(FORWARD, at, a, b, bias, target)
            return
        biased, zero = bias is not None, out.dtype.type(0)
        arrays = data, weight, bias if biased else out, out
        launching.over(_forward, out.size, arrays, biased, zero, at)

    return launch


def data_gradient(algorithm: Algorithm, at: Geometry) -> Callable[..., None]:
    """The launch (dout, weight, ddata)."""

    def launch(dout: Any, weight: Any, ddata: Any) -> None:
        if algorithm.way is not None:
            a, b, target = launching.flat(weight, dout, ddata)
            implicit.run(DATA, at, a, b, None, target)
            return
        zero = ddata.dtype.type(0)
        launching.over(_data, ddata.size, (dout, weight, ddata), zero, at)

    return launch


def weight_gradient(algorithm: Algorithm, at: Geometry) -> Callable[..., None]:
    """The launch (dout, data, dweight, dbias or None)."""
    shape = at.images, at.filters, at.out_h * at.out_w

    def launch(dout: Any, data: Any, dweight: Any, dbias: Any) -> None:
        flat = launching.flat(dout, data, dweight)
        n, zero, team = dweight.size, dweight.dtype.type(0), TEAM[0]
        if algorithm.way is not None:
            implicit.run(WEIGHT, at, flat[0], flat[1], None, flat[2])
        else:
            found = _weight(team, np.dtype(dweight.dtype))
            launching.by_teams(found, n, team, *flat, n, zero, at)
        if dbias is not None:
            _bias(shape, np.dtype(dbias.dtype))(dout.reshape(-1), dbias)

    return launch

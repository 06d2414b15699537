"""Convolutions through a transform, as the data sheets call them.

The functions and their kernels are those of `conv`; the algorithm's `way` says which
transform, and how the workspace is cut.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from minimx.core.kernels.convolution import DATA, FORWARD, WEIGHT, Algorithm, Geometry
from minimx.core.kernels.cpu.blas import one_thread
from minimx.fast.convolution.transforms import Tiling, turned
from minimx.fast.cpu import fourier, winograd
from minimx.fast.cpu.fourier import most
from minimx.fast.cpu.winograd import steps


def forward(algorithm: Algorithm, at: Geometry) -> Callable[..., None]:
    """`kernel(data, weight, bias or None, out, workspace)`."""
    way = algorithm.way

    def tiled(data: Any, weight: Any, bias: Any, out: Any, workspace: Any) -> None:
        _tiled(data, weight, bias, out, workspace.view(out.dtype), at, way)

    def by_fft(data: Any, weight: Any, bias: Any, out: Any, workspace: Any) -> None:
        run = fourier.run(FORWARD, at, way)
        run(weight, data, out, bias, workspace.view(out.dtype))

    return tiled if isinstance(way, Tiling) else by_fft


def data_gradient(algorithm: Algorithm, at: Geometry) -> Callable[..., None]:
    """`kernel(dout, weight, ddata, workspace)`."""
    way = algorithm.way

    def tiled(dout: Any, weight: Any, ddata: Any, workspace: Any) -> None:
        scratch = workspace.view(dout.dtype)
        _tiled(dout, weight, None, ddata, scratch, turned(at), way, turn=True)

    def by_fft(dout: Any, weight: Any, ddata: Any, workspace: Any) -> None:
        run = fourier.run(DATA, at, way)
        run(weight, dout, ddata, None, workspace.view(dout.dtype))

    return tiled if isinstance(way, Tiling) else by_fft


def weight_gradient(algorithm: Algorithm, at: Geometry) -> Callable[..., None]:
    """`kernel(dout, data, dweight, dbias or None, workspace)`."""
    way = algorithm.way

    def tiled(dout: Any, data: Any, dweight: Any, dbias: Any, workspace: Any) -> None:
        sums, inputs, heads = _cut(workspace.view(dout.dtype), at, way)
        with one_thread:
            run = partial(winograd.weight_tiled.sharing, most(at), steps(at, way))
            run(dout, data, sums, inputs, heads, at, way)
        winograd.gather_weight.sharing(most(at), sums, dweight, way)
        _sum_heads(dout, dbias)

    def by_fft(dout: Any, data: Any, dweight: Any, dbias: Any, workspace: Any) -> None:
        run = fourier.run(WEIGHT, at, way)
        run(dout, data, dweight, None, workspace.view(dout.dtype))
        _sum_heads(dout, dbias)

    return tiled if isinstance(way, Tiling) else by_fft


def _tiled(
    data: Any, weight: Any, bias: Any, out: Any, scratch: Any, at: Geometry,
    way: Tiling, *, turn: bool = False,
) -> None:  # fmt: skip
    """Winograd's convolution; `turn` for that of a data gradient."""
    matrices, inputs, products = _cut(scratch, at, way)
    bias = np.zeros(at.filters, out.dtype) if bias is None else bias
    winograd.transform_weight.sharing(most(at), weight, turn, matrices, way)
    with one_thread:
        run = partial(winograd.forward_tiled.sharing, most(at), steps(at, way))
        run(data, matrices, bias, out, inputs, products, at, way)


def _cut(scratch: Any, at: Geometry, way: Tiling) -> tuple[Any, Any, Any]:
    """Matrices (points, groups, F, C), inputs (points, C, tiles), outputs alike."""
    channels, filters = at.channels // at.groups, at.filters // at.groups
    shapes = (
        (way.points, at.groups, filters, channels),
        (way.points, channels, way.lead),
        (way.points, filters, way.lead),
    )
    *ends, last = np.cumsum([np.prod(shape) for shape in shapes])
    a, b, c = np.split(scratch[:last], ends)
    return a.reshape(shapes[0]), b.reshape(shapes[1]), c.reshape(shapes[2])


def _sum_heads(dout: Any, dbias: Any) -> None:
    """The gradient of the bias."""
    if dbias is not None:
        np.sum(dout, axis=(0, 2, 3), out=dbias)

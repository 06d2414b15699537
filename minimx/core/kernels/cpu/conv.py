"""Convolution over images, in three directions, by the algorithm that is named.

data (N, C, H, W), weight (F, C / groups, KH, KW), bias (F,), out (N, F, OH, OW); see
`minimx.fast.convolution.algorithms` for the algorithms and how work is cut.

    forward(algorithm, at)         kernel(data, weight, bias or None, out, workspace)
    data_gradient(algorithm, at)   kernel(dout, weight, ddata, workspace)
    weight_gradient(algorithm, at) kernel(dout, data, dweight, dbias or None, workspace)

Here it becomes matrix products. `conv_direct` has plain loops, `winograd` and `fourier`
go through transforms, `onednn` asks a library.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from minimx.core.kernels import find, threads
from minimx.core.kernels.convolution import Algorithm, Geometry
from minimx.core.kernels.cpu.blas import gemm, one_thread
from minimx.core.kernels.cpu.conv_direct import (
    data_direct,
    forward_direct,
    weight_direct,
)
from minimx.core.kernels.cpu.conv_lowering import fold, lower, pack, start
from minimx.core.kernels.parts import dealt

# numba lets a negative index count from the end, and asks at every access whether one
# does; of an unsigned number it need not ask.
_unsigned = np.uintp

# -- forward: weight matrix times lowered rows -----------------------------------------


@threads.jit(inner=True)
def _forward_band(
    data: Any, matrix: Any, bias: Any, out: Any, n: int, g: int, first: int,
    buffer: Any, at: Any, low: Any,
) -> None:  # fmt: skip
    """Output rows `first` to `first + band` of group `g` of image `n`."""
    channels, filters = at.channels // at.groups, at.filters // at.groups
    last = min(first + low.band, at.out_h)
    for f in range(g * filters, (g + 1) * filters):
        out[n, f, first:last] = bias[f]
    shape = (channels, low.taps, at.kernel_w, low.phases, low.rows, at.out_w)
    lead = low.phases * low.rows * at.out_w
    source, origin = buffer, 0
    if buffer.size == 0:  # pointwise: the image itself is the matrix
        source, lead = data.reshape(-1), at.height * at.width
        origin = (n * at.channels + g * channels) * lead + first * at.width
    else:
        lower(data, n, g * channels, first, buffer.reshape(shape), at)
    depth = channels * low.taps * at.kernel_w
    plane = at.out_h * at.out_w
    target = (n * at.filters + g * filters) * plane + first * at.out_w
    for product in range(low.products):
        left = (product * at.filters + g * filters) * depth
        right = origin + start(product, at, low)
        gemm(
            False, False, filters, (last - first) * at.out_w, depth,
            matrix, left, depth, source, right, lead, 1.0, out, target, plane,
        )  # fmt: skip


@threads.jit(parallel=True)
def forward_lowered(
    part: Any, data: Any, matrix: Any, bias: Any, out: Any, buffers: Any, at: Any,
    low: Any,
) -> None:  # fmt: skip
    """All bands of all images, dealt to `pieces`, one thread each.

    data (N, C, H, W); matrix: the weight as `pack` left it; bias (F,); out (N, F, H',
    W'). buffers: scratch memory of `low.pieces * low.buffer` elements. at: the
    geometry. low: how rows are copied for the products.
    """
    bands = -(-at.out_h // low.band)
    items = at.images * at.groups * bands
    for piece in dealt(low.pieces, part):
        buffer = buffers[piece * low.buffer : (piece + 1) * low.buffer]
        for item in range(
            piece * items // low.pieces, (piece + 1) * items // low.pieces
        ):
            n, g = item // bands // at.groups, item // bands % at.groups
            first = item % bands * low.band
            _forward_band(data, matrix, bias, out, n, g, first, buffer, at, low)


# -- gradient of the data: transposed weight times dout, folded back -------------------


@threads.jit(inner=True)
def _data_block(
    dout: Any, matrix: Any, ddata: Any, n: int, g: int, c0: int,
    buffer: Any, at: Any, low: Any,
) -> None:  # fmt: skip
    """Channels `c0` to `c0 + band` of group `g` of image `n`."""
    channels, filters = at.channels // at.groups, at.filters // at.groups
    block = min(low.band, channels - c0)
    row, depth = low.taps * at.kernel_w, channels * low.taps * at.kernel_w
    lead = low.phases * low.rows * at.out_w
    target, origin = buffer, 0
    if buffer.size == 0:
        target, lead = ddata.reshape(-1), at.height * at.width
        origin = (n * at.channels + g * channels + c0) * lead
    elif low.products > 1:
        buffer[: block * row * lead] = 0
    plane = at.out_h * at.out_w
    for product in range(low.products):
        left = (product * at.filters + g * filters) * depth + c0 * row
        right = (n * at.filters + g * filters) * plane
        gemm(
            True, False, block * row, plane, filters,
            matrix, left, depth, dout, right, plane,
            1.0 if low.products > 1 else 0.0, target,
            origin + start(product, at, low), lead,
        )  # fmt: skip
    if buffer.size:
        shape = (block, low.taps, at.kernel_w, low.phases, low.rows, at.out_w)
        rows = buffer[: block * row * lead].reshape(shape)
        fold(rows, ddata, n, g * channels + c0, at)


@threads.jit(parallel=True)
def data_lowered(
    part: Any, dout: Any, matrix: Any, ddata: Any, buffers: Any, at: Any, low: Any
) -> None:
    """All channel blocks of all images, dealt to `pieces`; the gradient of data.

    dout (N, F, H', W'), ddata (N, C, H, W); the rest as in `forward_lowered`.
    """
    blocks = -(-(at.channels // at.groups) // low.band)
    items = at.images * at.groups * blocks
    for piece in dealt(low.pieces, part):
        buffer = buffers[piece * low.buffer : (piece + 1) * low.buffer]
        for item in range(
            piece * items // low.pieces, (piece + 1) * items // low.pieces
        ):
            n, g = item // blocks // at.groups, item // blocks % at.groups
            c0 = item % blocks * low.band
            _data_block(dout, matrix, ddata, n, g, c0, buffer, at, low)


#: How many channels of a weight's gradient are reordered at a time.
BLOCK = 4

# -- gradient of the weight: lowered rows times transposed dout, summed over images ----


@threads.jit(inner=True, fastmath={"reassoc"})
def _sum_rows(dout: Any, n: int, f0: int, first: int, last: int, sums: Any) -> None:
    """Add the sum over rows `first` to `last` of every filter's dout, for the bias."""
    for f in range(sums.size):
        band = dout[n, f0 + f, first:last].reshape(-1)
        total = dout.dtype.type(0)
        for i in range(band.size):
            total += band[i]
        sums[f] += total


@threads.jit(inner=True)
def _turn(dout: Any, n: int, f0: int, first: int, turned: Any) -> None:
    """Copy dout from row `first` on as (stops, filters), the fastest layout."""
    height, filters = _unsigned(turned.shape[0]), _unsigned(turned.shape[1])
    begin = first * dout.shape[3]
    for f in range(filters):
        row = dout[n, f0 + f].reshape(-1)[begin : begin + turned.shape[0]]
        for i in range(height):
            turned[i, f] = row[i]


@threads.jit(inner=True)
def _weight_band(
    dout: Any, data: Any, sums: Any, n: int, g: int, first: int,
    buffer: Any, at: Any, low: Any,
) -> None:  # fmt: skip
    """Add what output rows `first` to `first + band` give to the weight's gradient."""
    channels, filters = at.channels // at.groups, at.filters // at.groups
    last, f0 = min(first + low.band, at.out_h), g * filters
    _sum_rows(dout, n, f0, first, last, sums[low.packed + f0 :][:filters])
    rows, plane = (last - first) * at.out_w, at.out_h * at.out_w
    right, at_right = dout.reshape(-1), (n * at.filters + f0) * plane
    lead_right = plane
    if low.turn:
        right, at_right, lead_right = buffer[: low.turn], 0, filters
        _turn(dout, n, f0, first, right[: rows * filters].reshape((rows, filters)))
    else:
        at_right += first * at.out_w
    left, at_left = buffer[low.turn :], 0
    lead = low.phases * low.rows * at.out_w
    if left.size:
        shape = (channels, low.taps, at.kernel_w, low.phases, low.rows, at.out_w)
        lower(data, n, g * channels, first, left.reshape(shape), at)
    else:
        left, lead = data.reshape(-1), at.height * at.width
        at_left = (n * at.channels + g * channels) * lead + first * at.width
    depth = channels * low.taps * at.kernel_w
    for product in range(low.products):
        gemm(
            False, low.turn == 0, depth, filters, rows,
            left, at_left + start(product, at, low), lead,
            right, at_right, lead_right,
            1.0, sums, product * depth * at.filters + f0, at.filters,
        )  # fmt: skip


@threads.jit(parallel=True)
def weight_lowered(
    part: Any, dout: Any, data: Any, sums: Any, buffers: Any, at: Any, low: Any
) -> None:
    """Running sums (pieces, weights + filters), each over its own images in order.

    The pieces do not depend on the number of threads, so neither do the bits. `collect`
    adds them up.
    """
    bands = -(-at.out_h // low.band)
    items = at.images * bands
    for piece in dealt(low.pieces, part):
        buffer = buffers[piece * low.buffer : (piece + 1) * low.buffer]
        sums[piece] = 0
        for item in range(
            piece * items // low.pieces, (piece + 1) * items // low.pieces
        ):
            for g in range(at.groups):
                n, first = item // bands, item % bands * low.band
                _weight_band(dout, data, sums[piece], n, g, first, buffer, at, low)


@threads.jit(parallel=True)
def collect(part: Any, sums: Any, dweight: Any, dbias: Any, at: Any, low: Any) -> None:
    """Add the running sums up, in order, and put each element where it belongs.

    A block of channels at a time, so that what a filter gets lies together.
    """
    channels, filters = at.channels // at.groups, at.filters
    window = at.kernel_h * at.kernel_w
    flat = dweight.reshape(filters, channels * window)
    for block in dealt(-(-channels // BLOCK), part):
        c0, last = block * BLOCK, min((block + 1) * BLOCK, channels)
        total = np.empty(((last - c0) * window, filters), sums.dtype)
        for row in range(total.shape[0]):
            c, kh = c0 + row // window, row % window // at.kernel_w
            product, tap = kh // low.taps, kh % low.taps
            line = (product * channels + c) * low.taps + tap
            first = (line * at.kernel_w + row % at.kernel_w) * filters
            for f in range(filters):
                total[row, f] = sums[0, first + f]
            for piece in range(1, low.pieces):
                more = sums[piece, first : first + filters]
                for f in range(filters):
                    total[row, f] += more[f]
        for f in range(filters):
            for row in range(total.shape[0]):
                flat[f, c0 * window + row] = total[row, f]
    for f in dealt(dbias.size, part):
        dbias[f] = 0
        for piece in range(low.pieces):
            dbias[f] += sums[piece, low.packed + f]


# -- kernels for the data sheets -------------------------------------------------------


def forward(algorithm: Algorithm, at: Geometry) -> Callable[..., None]:
    """The launch `kernel(data, weight, bias or None, out[, workspace])`.

    data (N, C, H, W), weight (F, C / groups, KH, KW), bias (F,), out (N, F, H', W').
    workspace: `algorithm.workspace` bytes; without it, memory is taken for the call.
    """
    low = algorithm.lowering

    def direct(data: Any, weight: Any, bias: Any, out: Any) -> None:
        bias = np.zeros(at.filters, data.dtype) if bias is None else bias
        _on(forward_direct, at)(data, weight, bias, out, at)

    def lowered(data: Any, weight: Any, bias: Any, out: Any, *workspace: Any) -> None:
        bias = np.zeros(at.filters, data.dtype) if bias is None else bias
        scratch = _scratch(workspace, data.dtype)
        with one_thread:
            matrix, buffers = _packed(weight, scratch, at, low)
            run, steps = forward_lowered, list[int]()
            if low is not None and low.cut:  # a copy and a product for each band
                run = find("conv_cut.forward_cut")
                steps = [2 * at.images * at.groups * -(-at.out_h // low.band)]
            _on(run, at)(*steps, data, matrix, bias, out, buffers, at, low)

    if algorithm.way is not None:
        return _elsewhere("forward", algorithm, at, forward)
    return direct if low is None else lowered


def data_gradient(algorithm: Algorithm, at: Geometry) -> Callable[..., None]:
    """The launch `kernel(dout, weight, ddata[, workspace])`, shapes as in `forward`.

    dout has the shape of out, ddata that of data, which is overwritten.
    """
    low = algorithm.lowering

    def direct(dout: Any, weight: Any, ddata: Any) -> None:
        _on(data_direct, at)(dout, weight, ddata, at)

    def lowered(dout: Any, weight: Any, ddata: Any, *workspace: Any) -> None:
        scratch = _scratch(workspace, dout.dtype)
        with one_thread:
            matrix, buffers = _packed(weight, scratch, at, low)
            _on(data_lowered, at)(dout, matrix, ddata, buffers, at, low)

    if algorithm.way is not None:
        return _elsewhere("data_gradient", algorithm, at, data_gradient)
    return direct if low is None else lowered


def weight_gradient(algorithm: Algorithm, at: Geometry) -> Callable[..., None]:
    """The launch `kernel(dout, data, dweight, dbias or None[, workspace])`.

    Shapes as in `forward`. The bits do not depend on the number of threads.
    """
    low = algorithm.lowering

    def direct(dout: Any, data: Any, dweight: Any, dbias: Any) -> None:
        _on(weight_direct, at)(dout, data, dweight, at)
        if dbias is not None:
            np.sum(dout, axis=(0, 2, 3), out=dbias)

    def cut(dout: Any, data: Any, dweight: Any, dbias: Any, *workspace: Any) -> None:
        scratch = _scratch(workspace, dout.dtype)
        with one_thread:
            _on(find("conv_cut.weight_cut"), at)(dout, data, dweight, scratch, at, low)
        if dbias is not None:
            np.sum(dout, axis=(0, 2, 3), out=dbias)

    def lowered(dout: Any, data: Any, dweight: Any, dbias: Any, workspace: Any) -> None:
        assert low is not None
        scratch = _scratch((workspace,), dout.dtype)
        kept = low.pieces * (low.packed + at.filters)
        sums = scratch[:kept].reshape(low.pieces, -1)
        dbias = np.empty(0, dout.dtype) if dbias is None else dbias
        with one_thread:
            _on(weight_lowered, at)(dout, data, sums, scratch[kept:], at, low)
            collect(sums, dweight, dbias, at, low)

    if algorithm.way is not None:
        return _elsewhere("weight_gradient", algorithm, at, weight_gradient)
    return direct if low is None else cut if low.cut else lowered


def _elsewhere(
    direction: str, algorithm: Algorithm, at: Geometry, plain: Any
) -> Callable[..., None]:
    """A kernel of one of the algorithms outside the core."""
    ways: Any = find(f"conv_ways.{direction}")
    kernel: Callable[..., None] = ways(algorithm, at, plain)
    return kernel


def _on(kernel: Any, at: Geometry) -> Any:
    """A kernel's edition for this much work, counted in multiplications."""
    return kernel.threaded if threads.parts(at.products) > 1 else kernel.serial


def _scratch(workspace: tuple[Any, ...], dtype: Any) -> Any:
    return workspace[0].view(dtype) if workspace else np.empty(0, dtype)


def _packed(weight: Any, scratch: Any, at: Geometry, low: Any) -> tuple[Any, Any]:
    """The weight as the matrices that the products want, and the rest of `scratch`."""
    if low.products == 1:
        return weight.reshape(-1), scratch
    pack(weight, scratch[: low.packed], at, low)
    return scratch[: low.packed], scratch[low.packed :]

"""im2col for images so small that pieces take filters or channels of them.

A 7×7 image has 49 stops. Cut into bands it makes products of a few columns, each of
which fetches the whole weight from memory, 9 MB for 512 filters and channels; and sums
of the weight's gradient that are as large. Cut this way, the weight is read once for an
image, and its gradient is written where it belongs.

`low.cut` (see `minimx.core.kernels.convolution`) is how many filters or channels a
block is.
"""

from __future__ import annotations

from typing import Any

from minimx.core.kernels import threads
from minimx.core.kernels.cpu.blas import gemm
from minimx.core.kernels.cpu.conv_lowering import lower
from minimx.core.kernels.parts import dealt


@threads.jit(parallel=True, steps=True)
def forward_cut(
    part: Any, step: int, data: Any, matrix: Any, bias: Any, out: Any, columns: Any,
    at: Any, low: Any,
) -> None:  # fmt: skip
    """All bands, one after the other; threads share the copy, then the product."""
    channels, filters = at.channels // at.groups, at.filters // at.groups
    depth, plane = channels * at.kernel_h * at.kernel_w, at.out_h * at.out_w
    bands, lead = -(-at.out_h // low.band), low.band * at.out_w
    each = low.buffer // channels
    image, first = step // 2 // bands, step // 2 % bands * low.band
    n, g = image // at.groups, image % at.groups
    last = min(first + low.band, at.out_h)
    source, origin = columns, 0
    if low.buffer == 0:  # pointwise: the image itself is the matrix
        source, lead = data.reshape(-1), plane
        origin = image * channels * plane + first * at.out_w
    elif step % 2 == 0:
        for piece in dealt(low.pieces, part):
            c0 = piece * channels // low.pieces
            end = (piece + 1) * channels // low.pieces
            shape = (end - c0, low.taps, at.kernel_w, 1, low.band, at.out_w)
            rows = columns[c0 * each : end * each].reshape(shape)
            lower(data, n, g * channels + c0, first, rows, at)
    if step % 2 == 1:
        for piece in dealt(low.pieces, part):
            f0 = g * filters + piece * low.cut
            end = min(f0 + low.cut, (g + 1) * filters)
            for f in range(f0, end):
                out[n, f, first:last] = bias[f]
            gemm(
                False, False, end - f0, (last - first) * at.out_w, depth,
                matrix, f0 * depth, depth, source, origin, lead,
                1.0, out, (n * at.filters + f0) * plane + first * at.out_w, plane,
            )  # fmt: skip


@threads.jit(inner=True)
def _weight_block(
    dout: Any, data: Any, dweight: Any, g: int, c0: int, buffer: Any, at: Any, low: Any
) -> None:
    """What all bands say, in their order, about channels `c0` on of group `g`."""
    channels, filters = at.channels // at.groups, at.filters // at.groups
    count, window = min(low.cut, channels - c0), at.kernel_h * at.kernel_w
    bands, plane = -(-at.out_h // low.band), at.out_h * at.out_w
    for item in range(at.images * bands):
        n, first = item // bands, item % bands * low.band
        last = min(first + low.band, at.out_h)
        left = (n * at.filters + g * filters) * plane + first * at.out_w
        source, origin, lead = buffer, 0, low.band * at.out_w
        if low.buffer == 0:
            source, lead = data.reshape(-1), plane
            origin = (n * at.channels + g * channels + c0) * plane + first * at.out_w
        else:
            shape = (count, low.taps, at.kernel_w, 1, low.band, at.out_w)
            rows = buffer[: count * window * lead].reshape(shape)
            lower(data, n, g * channels + c0, first, rows, at)
        gemm(
            False, True, filters, count * window, (last - first) * at.out_w,
            dout, left, plane, source, origin, lead, 0.0 if item == 0 else 1.0,
            dweight, (g * filters * channels + c0) * window, channels * window,
        )  # fmt: skip


@threads.jit(parallel=True)
def weight_cut(
    part: Any, dout: Any, data: Any, dweight: Any, buffers: Any, at: Any, low: Any
) -> None:
    """Blocks of channels, dealt to `pieces`: no other piece adds to their gradient."""
    blocks = -(-(at.channels // at.groups) // low.cut)
    items = at.groups * blocks
    for piece in dealt(low.pieces, part):
        buffer = buffers[piece * low.buffer : (piece + 1) * low.buffer]
        for item in range(
            piece * items // low.pieces, (piece + 1) * items // low.pieces
        ):
            g, c0 = item // blocks, item % blocks * low.cut
            _weight_block(dout, data, dweight, g, c0, buffer, at, low)

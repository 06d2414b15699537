"""Convolution as it is defined: nested loops. Read it to know what a convolution is.

data (N, C, H, W), weight (F, C / groups, KH, KW), bias (F,), out (N, F, OH, OW)
"""

from __future__ import annotations

from typing import Any

from minimx.core.kernels import threads
from minimx.core.kernels.parts import dealt


@threads.jit()
def stops(length: int, out: int, shift: int, stride: int) -> tuple[int, int]:
    """The first and one past the last stop whose tap falls inside an axis.

    At stop o the tap is at o * stride + shift; outside 0 .. length - 1 is padding.
    """
    first = 0 if shift >= 0 else (-shift + stride - 1) // stride
    last = min(out, (length - 1 - shift) // stride + 1)
    return first, max(first, last)


@threads.jit(parallel=True)
def forward_direct(
    part: Any, data: Any, weight: Any, bias: Any, out: Any, at: Any
) -> None:
    """Every output row is a weighted sum of shifted input rows; no scratch memory.

    data (N, C, H, W), weight (F, C / groups, KH, KW), bias (F,), out (N, F, H', W').
    """
    channels, filters = at.channels // at.groups, at.filters // at.groups
    for plane in dealt(at.images * at.filters, part):
        n, f = plane // at.filters, plane % at.filters
        out[n, f] = bias[f]
        for c in range(channels):
            image = data[n, f // filters * channels + c]
            for kh in range(at.kernel_h):
                down = kh * at.dilate_h - at.pad_h
                top, bottom = stops(at.height, at.out_h, down, at.stride_h)
                for kw in range(at.kernel_w):
                    right = kw * at.dilate_w - at.pad_w
                    lo, hi = stops(at.width, at.out_w, right, at.stride_w)
                    scale = weight[f, c, kh, kw]
                    for h in range(top, bottom):
                        start = lo * at.stride_w + right
                        taps = image[h * at.stride_h + down, start :: at.stride_w]
                        row = out[n, f, h, lo:hi]
                        for w in range(hi - lo):
                            row[w] += scale * taps[w]


@threads.jit(parallel=True)
def data_direct(part: Any, dout: Any, weight: Any, ddata: Any, at: Any) -> None:
    """What a pixel gave to every output comes back, times the same weight.

    dout (N, F, H', W'), weight (F, C / groups, KH, KW), ddata (N, C, H, W).
    """
    channels, filters = at.channels // at.groups, at.filters // at.groups
    for plane in dealt(at.images * at.channels, part):
        n, c = plane // at.channels, plane % at.channels
        ddata[n, c] = 0
        for f in range(filters):
            image = dout[n, c // channels * filters + f]
            for kh in range(at.kernel_h):
                down = kh * at.dilate_h - at.pad_h
                top, bottom = stops(at.height, at.out_h, down, at.stride_h)
                for kw in range(at.kernel_w):
                    right = kw * at.dilate_w - at.pad_w
                    lo, hi = stops(at.width, at.out_w, right, at.stride_w)
                    scale = weight[c // channels * filters + f, c % channels, kh, kw]
                    for h in range(top, bottom):
                        start = lo * at.stride_w + right
                        line = ddata[n, c, h * at.stride_h + down]
                        taps = line[start :: at.stride_w]
                        row = image[h, lo:hi]
                        for w in range(hi - lo):
                            taps[w] += scale * row[w]


@threads.jit(parallel=True, fastmath={"reassoc"})
def weight_direct(part: Any, dout: Any, data: Any, dweight: Any, at: Any) -> None:
    """A weight's gradient sums, over images and stops, what went through it.

    dout (N, F, H', W'), data (N, C, H, W), dweight (F, C / groups, KH, KW).
    """
    channels, filters = at.channels // at.groups, at.filters // at.groups
    for pair in dealt(at.filters * channels, part):
        f, c = pair // channels, pair % channels
        source = f // filters * channels + c
        for kh in range(at.kernel_h):
            down = kh * at.dilate_h - at.pad_h
            top, bottom = stops(at.height, at.out_h, down, at.stride_h)
            for kw in range(at.kernel_w):
                right = kw * at.dilate_w - at.pad_w
                lo, hi = stops(at.width, at.out_w, right, at.stride_w)
                start = lo * at.stride_w + right
                total = dout.dtype.type(0)
                for n in range(at.images):
                    for h in range(top, bottom):
                        line = data[n, source, h * at.stride_h + down]
                        taps = line[start :: at.stride_w]
                        row = dout[n, f, h, lo:hi]
                        for w in range(hi - lo):
                            total += row[w] * taps[w]
                dweight[f, c, kh, kw] = total

"""Convolution on CUDA as a product of matrices that are never stored.

    answer = left · right,   by group (`minimx.fast.convolution.algorithms.tiles`)

                    left                right                       answer
    forward         weight (F, CK)      pixels (CK, stops)          out
    data gradient   weightᵀ (C, FK)     gradients (FK, pixels)      ddata
    weight gradient dout (F, stops)     pixels (stops, CK)          dweight

Where an element of a factor lies follows from its place (`tiled`): that is the whole of
im2col. A pixel is met where a stop, h · stride - pad, and a tap of the window,
kh · dilate, lead together; one of the two is the step of the sum, the other the column.
"""

from __future__ import annotations

from typing import Any

from minimx.core.kernels.convolution import DATA, FORWARD, WEIGHT, Geometry
from minimx.cuda.kernels import launching
from minimx.cuda.kernels.core import tiled
from minimx.fast.convolution.algorithms import tiles


@launching.inner
def stop_of(number: int, at: Any) -> Any:
    """The image of a stop, and where its window begins."""
    w, h = number % at.out_w, number // at.out_w % at.out_h
    image = number // (at.out_w * at.out_h)
    return image, h * at.stride_h - at.pad_h, w * at.stride_w - at.pad_w


@launching.inner
def tap_of(number: int, at: Any) -> Any:
    """The channel, or filter, of a tap, and how far it is from the window's start."""
    kw, kh = number % at.kernel_w, number // at.kernel_w % at.kernel_h
    plane = number // (at.kernel_w * at.kernel_h)
    return plane, kh * at.dilate_h, kw * at.dilate_w


@launching.inner
def pixel(b: Any, place: int, y: int, x: int, zero: Any, at: Any) -> Any:
    """A pixel of the image whose plane begins at a place."""
    if y < 0 or y >= at.height or x < 0 or x >= at.width:
        return zero
    return b[place + y * at.width + x]


@launching.inner
def forward_step(k: int, group: int, at: Any) -> Any:
    """A tap: its weight in the first filter, and its channel."""
    channels, filters = at.channels // at.groups, at.filters // at.groups
    c, y, x = tap_of(k, at)
    depth = channels * at.kernel_h * at.kernel_w
    plane = (group * channels + c) * at.height * at.width
    return group * filters * depth + k, plane, y, x


@launching.inner
def forward_column(col: int, group: int, at: Any) -> Any:
    """A stop."""
    image, y, x = stop_of(col, at)
    return image * at.channels * at.height * at.width, y, x


@launching.inner
def forward_target(col: int, group: int, at: Any) -> Any:
    """Where a stop of the first filter lies in the output."""
    stops = at.out_h * at.out_w
    f = group * (at.filters // at.groups)
    return (col // stops * at.filters + f) * stops + col % stops


@launching.inner
def data_step(k: int, group: int, at: Any) -> Any:
    """A tap: its weight for the first channel, and the gradients of its filter."""
    channels, filters = at.channels // at.groups, at.filters // at.groups
    window = at.kernel_h * at.kernel_w
    f, y, x = tap_of(k, at)
    f += group * filters
    return f * channels * window + k % window, f * at.out_h * at.out_w, -y, -x


@launching.inner
def data_column(col: int, group: int, at: Any) -> Any:
    """A pixel; the window that begins there is the last one that meets it."""
    x, y = col % at.width, col // at.width % at.height
    image = col // (at.width * at.height)
    plane = image * at.filters * at.out_h * at.out_w
    return plane, y + at.pad_h, x + at.pad_w


@launching.inner
def data_target(col: int, group: int, at: Any) -> Any:
    """Where a pixel's gradient lies in the first channel."""
    pixels = at.height * at.width
    c = group * (at.channels // at.groups)
    return (col // pixels * at.channels + c) * pixels + col % pixels


@launching.inner
def gradient(b: Any, place: int, y: int, x: int, zero: Any, at: Any) -> Any:
    """The gradient of the stop whose window begins here, if there is one."""
    if y < 0 or x < 0:
        return zero
    if at.stride_h > 1:
        if y % at.stride_h != 0:
            return zero
        y //= at.stride_h
    if at.stride_w > 1:
        if x % at.stride_w != 0:
            return zero
        x //= at.stride_w
    if y >= at.out_h or x >= at.out_w:
        return zero
    return b[place + y * at.out_w + x]


@launching.inner
def weight_step(k: int, group: int, at: Any) -> Any:
    """A stop: its gradient in the first filter, and where its window begins."""
    stops = at.out_h * at.out_w
    image, y, x = stop_of(k, at)
    f = image * at.filters + group * (at.filters // at.groups)
    return f * stops + k % stops, image * at.channels * at.height * at.width, y, x


@launching.inner
def weight_column(col: int, group: int, at: Any) -> Any:
    """A tap, and its channel."""
    c, y, x = tap_of(col, at)
    c += group * (at.channels // at.groups)
    return c * at.height * at.width, y, x


@launching.inner
def weight_target(col: int, group: int, at: Any) -> Any:
    """Where the gradient of a tap lies in the first filter."""
    depth = at.channels // at.groups * at.kernel_h * at.kernel_w
    return group * (at.filters // at.groups) * depth + col


_KINDS = {
    FORWARD: (forward_step, forward_column, forward_target, pixel),
    DATA: (data_step, data_column, data_target, gradient),
    WEIGHT: (weight_step, weight_column, weight_target, pixel),
}


def run(direction: str, at: Geometry, a: Any, b: Any, bias: Any, out: Any) -> None:
    """One direction; a, b: the two factors, flat; bias may be None."""
    rows, columns, depth, parts = tiles(direction, at)
    stops, window = at.out_h * at.out_w, at.kernel_h * at.kernel_w
    row, out_row = {
        FORWARD: (depth, stops),
        DATA: (window, at.height * at.width),
        WEIGHT: (stops, columns),
    }[direction]
    runs = direction != DATA or window > 1, direction == WEIGHT
    these = tiled.Matrices(
        _KINDS[direction], rows, columns, depth, at.groups, parts, row, out_row, runs
    )
    tiled.run(these, a, b, bias, out, at)

"""Reading images at places between pixels.

data (B, C, H, W) is read at y, x (B, P), counted in pixels from the middle of the first
one: out (B, C, P) lies on the bilinear surface through the four pixels around. Outside
the image there is 0. The surface runs down to it over one pixel; or, with `sharp`, it
ends at the image's last pixels, beyond which, up to one pixel further, it is level.

    sample(data, y, x, sharp, out)
    sample_gradient(dout, data, y, x, sharp, ddata, dy, dx)
    fetch(data, y, x, out)       the pixels at whole places, 0 outside
    put(dout, y, x, ddata)       its transpose: add up what arrives at each pixel
"""

from __future__ import annotations

from typing import Any

import numpy as np

from minimx.core.kernels import threads
from minimx.core.kernels.parts import dealt


@threads.jit()
def _axis(at: Any, length: int, sharp: bool) -> tuple[bool, int, Any, bool]:
    """Whether a place is inside; the pixel before it, the rest, and if that matters."""
    lowest = 0 if sharp else -1
    inside = (at >= lowest if sharp else at > lowest) and at < length
    if not inside:  # so is what is not a number
        return False, 0, at - at, False
    first = int(np.floor(at))
    if sharp and first >= length - 1:
        return True, first, at - at, False
    return True, first, at - first, True


@threads.jit()
def pixel(image: Any, row: int, column: int) -> Any:
    """A pixel of an image, 0 outside."""
    if 0 <= row < image.shape[0] and 0 <= column < image.shape[1]:
        return image[row, column]
    return image.dtype.type(0)


@threads.jit()
def add(image: Any, row: int, column: int, value: Any) -> None:
    """Add to a pixel of an image, if it is one."""
    if 0 <= row < image.shape[0] and 0 <= column < image.shape[1]:
        image[row, column] += value


@threads.jit(parallel=True)
def sample(part: Any, data: Any, y: Any, x: Any, sharp: bool, out: Any) -> None:
    """out[b, c, p]: the image (b, c) at place p of b."""
    batch, channels, height, width = data.shape
    real = out.dtype.type
    for plane in dealt(batch * channels, part):
        b, c = plane // channels, plane % channels
        image = data[b, c]
        for p in range(y.shape[1]):
            tall, row, down, _ = _axis(y[b, p], height, sharp)
            wide, column, right, _ = _axis(x[b, p], width, sharp)
            value = real(0)
            if tall and wide:
                one = real(1)
                upper = (one - right) * pixel(image, row, column)
                upper += right * pixel(image, row, column + 1)
                lower = (one - right) * pixel(image, row + 1, column)
                lower += right * pixel(image, row + 1, column + 1)
                value = (one - down) * upper + down * lower
            out[b, c, p] = value


@threads.jit(parallel=True)
def _to_data(part: Any, dout: Any, y: Any, x: Any, sharp: bool, ddata: Any) -> None:
    batch, channels, height, width = ddata.shape
    for plane in dealt(batch * channels, part):
        b, c = plane // channels, plane % channels
        image = ddata[b, c]
        image[:] = 0
        for p in range(y.shape[1]):
            tall, row, down, _ = _axis(y[b, p], height, sharp)
            wide, column, right, _ = _axis(x[b, p], width, sharp)
            if tall and wide:
                upper, lower = dout[b, c, p] * (1 - down), dout[b, c, p] * down
                add(image, row, column, upper * (1 - right))
                add(image, row, column + 1, upper * right)
                add(image, row + 1, column, lower * (1 - right))
                add(image, row + 1, column + 1, lower * right)


@threads.jit(parallel=True)
def _to_places(
    part: Any, dout: Any, data: Any, y: Any, x: Any, sharp: bool, dy: Any, dx: Any
) -> None:
    batch, channels, height, width = data.shape
    places = y.shape[1]
    for place in dealt(batch * places, part):
        b, p = place // places, place % places
        tall, row, down, slope_y = _axis(y[b, p], height, sharp)
        wide, column, right, slope_x = _axis(x[b, p], width, sharp)
        along_y, along_x = 0.0, 0.0
        if tall and wide:
            for c in range(channels):
                image, head = data[b, c], dout[b, c, p]
                a, b_ = pixel(image, row, column), pixel(image, row, column + 1)
                c_ = pixel(image, row + 1, column)
                d = pixel(image, row + 1, column + 1)
                along_y += head * ((1 - right) * (c_ - a) + right * (d - b_))
                along_x += head * ((1 - down) * (b_ - a) + down * (d - c_))
        dy[b, p] = along_y if slope_y else 0.0
        dx[b, p] = along_x if slope_x else 0.0


def sample_gradient(
    dout: Any, data: Any, y: Any, x: Any, sharp: bool, ddata: Any, dy: Any, dx: Any
) -> None:
    """The gradients of the images and of the places."""
    _to_data(dout, y, x, sharp, ddata)
    _to_places(dout, data, y, x, sharp, dy, dx)


@threads.jit(inner=True)
def _whole(at: Any, length: int) -> int:
    """A whole number as an index, -1 for what is outside."""
    return int(at) if 0 <= at < length else -1


@threads.jit(parallel=True)
def fetch(part: Any, data: Any, y: Any, x: Any, out: Any) -> None:
    """out[b, c, p] = data[b, c, y[b, p], x[b, p]], 0 outside."""
    batch, channels, height, width = data.shape
    for plane in dealt(batch * channels, part):
        b, c = plane // channels, plane % channels
        for p in range(y.shape[1]):
            row, column = _whole(y[b, p], height), _whole(x[b, p], width)
            out[b, c, p] = pixel(data[b, c], row, column)


@threads.jit(parallel=True)
def put(part: Any, dout: Any, y: Any, x: Any, ddata: Any) -> None:
    """ddata[b, c, y[b, p], x[b, p]] += dout[b, c, p], from 0."""
    batch, channels, height, width = ddata.shape
    for plane in dealt(batch * channels, part):
        b, c = plane // channels, plane % channels
        ddata[b, c] = 0
        for p in range(y.shape[1]):
            row, column = _whole(y[b, p], height), _whole(x[b, p], width)
            add(ddata[b, c], row, column, dout[b, c, p])

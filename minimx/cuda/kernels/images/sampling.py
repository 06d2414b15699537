"""Reading images at points between pixels on CUDA; the CPU's file has the rules.

A thread owns a number of the answer. What goes back to the images meets there, and is
added by atomic additions; with MXNET_ENFORCE_DETERMINISM one thread goes through all
points of a plane, so that it is added in one order.
"""

from __future__ import annotations

from typing import Any

from minimx.core.knobs import knobs
from minimx.cuda.kernels import launching
from minimx.cuda.kernels.default_launch import real, runs
from minimx.cuda.kernels.launching import cuda
from minimx.cuda.kernels.mathematics import floor
from minimx.cuda.kernels.pointwise import filler


@launching.inner
def _inside(at: Any, length: int, sharp: bool) -> Any:
    """Whether a place is on the surface."""
    return (at >= 0 if sharp else at > -1) and at < length


@launching.inner
def _axis(at: Any, length: int, sharp: bool, zero: Any) -> Any:
    """The pixel before a place inside, the rest, and if that matters."""
    first = int(floor(at))
    if sharp and first >= length - 1:
        return first, zero, False
    return first, at - first, True


@launching.inner
def _pixel(
    data: Any, plane: int, row: int, column: int, height: int, width: int, zero: Any
) -> Any:
    """A pixel of a plane, 0 outside."""
    if row >= 0 and row < height and column >= 0 and column < width:
        return data[(plane * height + row) * width + column]
    return zero


@launching.kernel
def _sample(
    data: Any, y: Any, x: Any, out: Any, n: int, channels: int, height: int, width: int,
    points: int, sharp: bool, zero: Any,
) -> None:  # fmt: skip
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        plane = i // points
        at = plane // channels * points + i % points
        value = zero
        if _inside(y[at], height, sharp) and _inside(x[at], width, sharp):
            row, down, _ = _axis(y[at], height, sharp, zero)
            column, right, _ = _axis(x[at], width, sharp, zero)
            a = _pixel(data, plane, row, column, height, width, zero)
            b = _pixel(data, plane, row, column + 1, height, width, zero)
            c = _pixel(data, plane, row + 1, column, height, width, zero)
            d = _pixel(data, plane, row + 1, column + 1, height, width, zero)
            upper, lower = (1 - right) * a + right * b, (1 - right) * c + right * d
            value = (1 - down) * upper + down * lower
        out[i] = value


@launching.inner
def _add(
    data: Any, plane: int, row: int, column: int, height: int, width: int, value: Any
) -> None:
    if row >= 0 and row < height and column >= 0 and column < width:
        cuda.atomic.add(data, (plane * height + row) * width + column, value)


@launching.kernel
def _to_data(
    dout: Any, y: Any, x: Any, ddata: Any, n: int, channels: int, height: int,
    width: int, points: int, each: int, sharp: bool, zero: Any,
) -> None:  # fmt: skip
    """each: so many points of a plane, one after the other, are a piece of work."""
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        for k in range(i * each, i * each + each):
            plane = k // points
            at = plane // channels * points + k % points
            if _inside(y[at], height, sharp) and _inside(x[at], width, sharp):
                row, down, _ = _axis(y[at], height, sharp, zero)
                column, right, _ = _axis(x[at], width, sharp, zero)
                upper, lower = dout[k] * (1 - down), dout[k] * down
                _add(ddata, plane, row, column, height, width, upper * (1 - right))
                _add(ddata, plane, row, column + 1, height, width, upper * right)
                _add(ddata, plane, row + 1, column, height, width, lower * (1 - right))
                _add(ddata, plane, row + 1, column + 1, height, width, lower * right)


@launching.kernel
def _to_points(
    dout: Any, data: Any, y: Any, x: Any, dy: Any, dx: Any, n: int, channels: int,
    height: int, width: int, points: int, sharp: bool, zero: Any,
) -> None:  # fmt: skip
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        along_y, along_x = 0.0, 0.0
        if _inside(y[i], height, sharp) and _inside(x[i], width, sharp):
            row, down, slope_y = _axis(y[i], height, sharp, zero)
            column, right, slope_x = _axis(x[i], width, sharp, zero)
            for channel in range(channels):
                plane = i // points * channels + channel
                head = dout[plane * points + i % points]
                a = _pixel(data, plane, row, column, height, width, zero)
                b = _pixel(data, plane, row, column + 1, height, width, zero)
                c = _pixel(data, plane, row + 1, column, height, width, zero)
                d = _pixel(data, plane, row + 1, column + 1, height, width, zero)
                if slope_y:
                    along_y += head * ((1 - right) * (c - a) + right * (d - b))
                if slope_x:
                    along_x += head * ((1 - down) * (b - a) + down * (d - c))
        dy[i], dx[i] = along_y, along_x


@launching.kernel
def _fetch(
    data: Any, y: Any, x: Any, out: Any, n: int, channels: int, height: int, width: int,
    points: int, zero: Any,
) -> None:  # fmt: skip
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        plane = i // points
        at = plane // channels * points + i % points
        value = zero
        if y[at] >= 0 and y[at] < height and x[at] >= 0 and x[at] < width:
            value = data[(plane * height + int(y[at])) * width + int(x[at])]
        out[i] = value


@launching.kernel
def _put(
    dout: Any, y: Any, x: Any, ddata: Any, n: int, channels: int, height: int,
    width: int, points: int, each: int,
) -> None:  # fmt: skip
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        for k in range(i * each, i * each + each):
            plane = k // points
            at = plane // channels * points + k % points
            if y[at] >= 0 and y[at] < height and x[at] >= 0 and x[at] < width:
                _add(ddata, plane, int(y[at]), int(x[at]), height, width, dout[k])


def _sizes(data: Any, y: Any) -> tuple[int, ...]:
    """Channels, height, width and points."""
    _, channels, height, width = data.shape
    return int(channels), int(height), int(width), int(y.shape[1])


def _each(points: int) -> int:
    """The points that one thread has to go through."""
    return points if knobs.get("MXNET_ENFORCE_DETERMINISM") else 1


@runs("_sample_pixels", types=real)
def sample(data: Any, y: Any, x: Any, sharp: bool, out: Any) -> None:
    """out[b, c, p]: the image (b, c) at point p of b."""
    sizes, zero = _sizes(data, y), out.dtype.type(0)
    launching.over(_sample, out.size, (data, y, x, out), *sizes, sharp, zero)


@runs("_backward_sample_pixels", types=real)
def sample_gradient(
    dout: Any, data: Any, y: Any, x: Any, sharp: bool, ddata: Any, dy: Any, dx: Any
) -> None:
    """The gradients of the images and of the points."""
    zero, sizes, each = ddata.dtype.type(0), _sizes(data, y), _each(int(y.shape[1]))
    filler(zero)(ddata)
    heads, n = (dout, y, x, ddata), dout.size // each
    launching.over(_to_data, n, heads, *sizes, each, sharp, zero)
    arrays = dout, data, y, x, dy, dx
    launching.over(_to_points, dy.size, arrays, *sizes, sharp, zero)


@runs("_fetch_pixels", types=real)
def fetch(data: Any, y: Any, x: Any, out: Any) -> None:
    """out[b, c, p] = data[b, c, y[b, p], x[b, p]], 0 outside."""
    sizes, zero = _sizes(data, y), out.dtype.type(0)
    launching.over(_fetch, out.size, (data, y, x, out), *sizes, zero)


@runs("_put_pixels", types=real)
def put(dout: Any, y: Any, x: Any, ddata: Any) -> None:
    """ddata[b, c, y[b, p], x[b, p]] += dout[b, c, p], from 0."""
    sizes, each = _sizes(ddata, y), _each(int(y.shape[1]))
    filler(ddata.dtype.type(0))(ddata)
    launching.over(_put, dout.size // each, (dout, y, x, ddata), *sizes, each)


@launching.kernel
def _deform(
    offset: Any, y: Any, x: Any, taps: int, stops: int, width: int, columns: int,
    steps: Any, real: Any,
) -> None:  # fmt: skip
    """steps: stride, dilation and padding, down and right each; real: a number 1."""
    for i in range(cuda.grid(1), y.size, cuda.gridsize(1)):
        stop, tap = i % stops, i // stops % taps
        start = i // stops * 2 * stops + stop
        down = stop // width * steps[0] + tap // columns * steps[2] - steps[4]
        right = stop % width * steps[1] + tap % columns * steps[3] - steps[5]
        y[i] = offset[start] + real * down
        x[i] = offset[start + stops] + real * right


def deform(
    kernel: Any, width: int, steps: tuple[int, ...], offset: Any, y: Any, x: Any
) -> None:
    """Where taps are: (groups, taps * stops) from offset, for stops in rows of width.

    offset (groups, taps, 2, stops): how far down and right; steps: stride, dilation and
    padding of a convolution, down and right each
    """
    taps = kernel[0] * kernel[1]
    sizes = taps, int(y.shape[1]) // taps, width, kernel[1], steps, y.dtype.type(1)
    launching.run(_deform, y.size, *launching.flat(offset, y, x), *sizes)

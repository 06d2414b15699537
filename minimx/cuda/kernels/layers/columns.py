"""Windows of images as columns on CUDA, and back; the CPU's file says the rest.

A thread owns an element of the answer: of the columns, or a pixel, for which it visits
the columns that say something about it, in one order.
"""

from __future__ import annotations

from collections import namedtuple
from typing import Any

from minimx.core.shapes import Shape
from minimx.cuda.kernels import launching
from minimx.cuda.kernels.launching import cuda

#: Every length along the three axes of a volume; a line is one of one row.
Sides = namedtuple(
    "Sides",
    "depth height width out_d out_h out_w kernel_d kernel_h kernel_w stride_d "
    "stride_h stride_w dilate_d dilate_h dilate_w pad_d pad_h pad_w",
)


@launching.kernel
def _unfold(image: Any, columns: Any, n: int, zero: Any, at: Any) -> None:
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        w, h, d = i % at.out_w, i // at.out_w % at.out_h, i // (at.out_w * at.out_h)
        d, tap = d % at.out_d, d // at.out_d
        kw, kh = tap % at.kernel_w, tap // at.kernel_w % at.kernel_h
        kd = tap // (at.kernel_w * at.kernel_h)
        plane, kd = kd // at.kernel_d, kd % at.kernel_d
        z = d * at.stride_d + kd * at.dilate_d - at.pad_d
        y = h * at.stride_h + kh * at.dilate_h - at.pad_h
        x = w * at.stride_w + kw * at.dilate_w - at.pad_w
        inside = z >= 0 and z < at.depth and y >= 0 and y < at.height
        inside = inside and x >= 0 and x < at.width
        pixel = ((plane * at.depth + z) * at.height + y) * at.width + x
        columns[i] = image[pixel] if inside else zero


@launching.inner
def _stop(place: int, tap: int, stride: int, dilate: int, pad: int, out: int) -> int:
    """The stop at which a tap meets a place of an axis, or -1."""
    reach = place + pad - tap * dilate
    if reach < 0 or reach % stride != 0 or reach // stride >= out:
        return -1
    return reach // stride


@launching.kernel
def _fold(columns: Any, image: Any, n: int, zero: Any, at: Any) -> None:
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        x, y, z = i % at.width, i // at.width % at.height, i // (at.width * at.height)
        plane, z = z // at.depth, z % at.depth
        total = zero
        for kd in range(at.kernel_d):
            d = _stop(z, kd, at.stride_d, at.dilate_d, at.pad_d, at.out_d)
            for kh in range(at.kernel_h):
                h = _stop(y, kh, at.stride_h, at.dilate_h, at.pad_h, at.out_h)
                if d < 0 or h < 0:
                    continue
                for kw in range(at.kernel_w):
                    w = _stop(x, kw, at.stride_w, at.dilate_w, at.pad_w, at.out_w)
                    if w >= 0:
                        tap = (plane * at.kernel_d + kd) * at.kernel_h + kh
                        row = (tap * at.kernel_w + kw) * at.out_d + d
                        total += columns[(row * at.out_h + h) * at.out_w + w]
        image[i] = total


def _sides(image: Shape, stops: Shape, steps: tuple[Shape, ...]) -> Sides:
    """The lengths for an image without its samples and channels."""
    missing = 3 - len(image)
    ones, zeros = (1,) * missing, (0,) * missing
    *more, pad = steps
    lengths = [n for axes in (image, stops, *more) for n in (*ones, *axes)]
    return Sides._make((*lengths, *zeros, *pad))


def unfold(image: Shape, stops: Shape, steps: tuple[Shape, ...]) -> Any:
    """The launch (image, columns); steps: kernel, stride, dilate and pad."""
    at = _sides(image, stops, steps)
    return lambda data, columns: launching.over(
        _unfold, columns.size, (data, columns), columns.dtype.type(0), at
    )


def fold(image: Shape, stops: Shape, steps: tuple[Shape, ...]) -> Any:
    """The launch (columns, image), the transpose."""
    at = _sides(image, stops, steps)
    return lambda columns, data: launching.over(
        _fold, data.size, (columns, data), data.dtype.type(0), at
    )

"""Colours of images (H, W, C) on CUDA, changed by a number; C is 3 or 1.

Every function reads an image of any type, computes in float32 as the CPU's of its name,
and writes into an image of any type: whole numbers are cut off at its limits. A thread
owns a number, or a pixel where the answer needs all three of its colours.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from minimx.core.dtypes import FLOAT32, FLOAT64
from minimx.cuda.kernels import launching, mathematics, scratch
from minimx.cuda.kernels.core.reduce import reduction
from minimx.cuda.kernels.launching import cuda
from minimx.cuda.kernels.mathematics import maximum, minimum
from minimx.operators.kernels.images.colours import DIRECTIONS, LUMINANCE

_single = np.float32
_RED, _GREEN, _BLUE = map(_single, LUMINANCE)
_EPSILON = np.finfo(np.float32).eps
_ONE, _TWO, _FOUR, _SIX, _MOST = map(_single, (1, 2, 4, 6, 255))
_once = mathematics.rounded_float32


def _limits(dtype: Any) -> tuple[Any, Any]:
    """The smallest and the largest number of an element type, as kernels want them."""
    if dtype.kind not in "iu":
        return _single(-np.inf), _single(np.inf)
    ends = np.iinfo(dtype)
    return _single(ends.min), _single(ends.max)


@launching.inner
def _cut(x: Any, low: Any, high: Any) -> Any:
    """A number between two limits; NaN stays what it is."""
    return minimum(maximum(x, low), high)


@launching.inner
def _brightness(red: Any, green: Any, blue: Any) -> Any:
    """How bright a pixel looks."""
    return _once(_RED * red) + _once(_GREEN * green) + _once(_BLUE * blue)


@launching.kernel
def _times(x: Any, out: Any, n: int, factor: Any, low: Any, high: Any) -> None:
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        out[i] = _cut(_single(x[i]) * factor, low, high)


@launching.kernel
def _greyed(x: Any, out: Any, n: int, colours: bool) -> None:
    """The brightness of every pixel."""
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        if colours:
            at = 3 * i
            red, green, blue = _single(x[at]), _single(x[at + 1]), _single(x[at + 2])
            out[i] = _brightness(red, green, blue)
        else:
            out[i] = _single(x[i])


@launching.kernel
def _from_mean(
    x: Any, mean: Any, out: Any, n: int, factor: Any, rest: float, low: Any, high: Any
) -> None:
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        own = _once(_single(x[i]) * factor)
        out[i] = _cut(own + _single(rest * mean[0]), low, high)


@launching.kernel
def _from_grey(
    x: Any, out: Any, n: int, factor: Any, rest: Any, low: Any, high: Any
) -> None:
    """Pixels away from their brightness."""
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        at = 3 * i
        red, green, blue = _single(x[at]), _single(x[at + 1]), _single(x[at + 2])
        grey = _once(_brightness(red, green, blue) * rest)
        out[at] = _cut(_once(red * factor) + grey, low, high)
        out[at + 1] = _cut(_once(green * factor) + grey, low, high)
        out[at + 2] = _cut(_once(blue * factor) + grey, low, high)


@launching.inner
def _channel(place: Any, lowest: Any, span: Any) -> Any:
    """How strong a colour is at a place of the circle, counted from where it is 0."""
    place = place - _SIX if place >= _SIX else place
    slope = _cut(minimum(place, _FOUR - place), _single(0), _ONE)
    return lowest + span * slope


@launching.inner
def _angle(red: Any, green: Any, blue: Any, high: Any, span: Any) -> Any:
    """Where a colour lies on the circle, in sixths of it from red."""
    if high == red:
        found = (green - blue) / span
    elif high == green:
        found = (blue - red) / span + _TWO
    else:
        found = (red - green) / span + _FOUR
    return found + _SIX if found < 0 else found


@launching.kernel
def _turned(x: Any, out: Any, n: int, turn: Any, low: Any, high: Any) -> None:
    """By way of hue, lightness and saturation; turn: sixths of the circle, 0 to 6."""
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        at = 3 * i
        red, green = _single(x[at]) / _MOST, _single(x[at + 1]) / _MOST
        blue = _single(x[at + 2]) / _MOST
        most, least = max(red, max(green, blue)), min(red, min(green, blue))
        light, span = (most + least) / _TWO, most - least
        angle, strength = _single(0), _single(0)
        if span > _EPSILON:
            limit = most + least if light < _single(0.5) else _TWO - most - least
            strength = span / (_ONE if limit == 0 else limit)
            angle = _angle(red, green, blue, most, span)
        angle += turn
        angle = angle - _SIX if angle >= _SIX else angle
        top = light + strength * min(light, _ONE - light)
        bottom = _TWO * light - top
        wide = top - bottom
        out[at] = _cut(_channel(angle + _TWO, bottom, wide) * _MOST, low, high)
        out[at + 1] = _cut(_channel(angle, bottom, wide) * _MOST, low, high)
        out[at + 2] = _cut(_channel(angle + _FOUR, bottom, wide) * _MOST, low, high)


@cache
def _moved(dtype: Any) -> Any:
    """The kernel that adds a colour to every pixel, computing in this type."""
    real = dtype.type

    @launching.kernel
    def kernel(x: Any, out: Any, n: int, shift: Any, low: Any, high: Any) -> None:
        for i in range(cuda.grid(1), n, cuda.gridsize(1)):
            out[i] = _cut(real(x[i]) + shift[i % 3], low, high)

    return kernel


def brightness(x: Any, factor: float, out: Any) -> None:
    """Every number times factor."""
    limits = _limits(out.dtype)
    launching.over(_times, x.size, (x, out), _single(factor), *limits)


def contrast(x: Any, factor: float, out: Any) -> None:
    """Away from the mean brightness of the image by factor."""
    pixels, colours = x.size // x.shape[2], x.shape[2] == 3
    total: Any = reduction("mean", (pixels,), (0,), FLOAT64)
    with scratch.allocated((pixels, FLOAT64), (1, FLOAT64)) as (grey, mean):
        launching.over(_greyed, pixels, (x, grey), colours)
        total(grey, mean)
        numbers = _single(factor), 1.0 - factor, *_limits(out.dtype)
        launching.over(_from_mean, x.size, (x, mean, out), *numbers)


def saturation(x: Any, factor: float, out: Any) -> None:
    """Away from the brightness of each pixel by factor."""
    if x.shape[2] == 1:
        brightness(x, 1.0, out)
        return
    numbers = _single(factor), _single(1 - factor), *_limits(out.dtype)
    launching.over(_from_grey, x.size // 3, (x, out), *numbers)


def hue(x: Any, turn: float, out: Any) -> None:
    """Round the circle of colours by `turn` of it; lightness and saturation stay."""
    if x.shape[2] == 1:
        brightness(x, 1.0, out)
        return
    sixths = _single(6 * _single(turn)) % _SIX
    launching.over(_turned, x.size // 3, (x, out), sixths, *_limits(out.dtype))


def lighting(x: Any, amounts: Any, out: Any) -> None:
    """Along the directions in which the colours of photographs vary."""
    real = FLOAT64 if x.dtype == FLOAT64 else FLOAT32
    shift = DIRECTIONS @ np.asarray(amounts, np.float32)
    if x.shape[2] == 1:
        shift = np.zeros(3, np.float32)
    numbers, limits = tuple(map(real.type, shift)), map(real.type, _limits(out.dtype))
    launching.over(_moved(real), x.size, (x, out), numbers, *limits)

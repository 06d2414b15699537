"""Images (H, W, C) in another size.

Every new row is a weighted sum of a few old ones, and every new column likewise; only
the weights differ between the ways to interpolate.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from minimx.core.kernels import threads
from minimx.core.kernels.parts import dealt

NEAREST, LINEAR, CUBIC, AREA, LANCZOS = range(5)
KEPT = 512  # pairs of lengths, as those of images that are cut at random
GROWN = 5  # what AREA means for an image that grows in some direction


def _cubic(distance: Any) -> Any:
    """A piecewise cubic through the pixels, whose slope at distance 1 is -0.75."""
    d, a = np.abs(distance), -0.75
    near = ((a + 2) * d - (a + 3)) * d * d + 1
    far = ((a * d - 5 * a) * d + 8 * a) * d - 4 * a
    return np.where(d <= 1, near, np.where(d < 2, far, 0))


def _lanczos(distance: Any) -> Any:
    """sinc(d) · sinc(d / 4), for d < 4."""
    return np.sinc(distance) * np.sinc(distance / 4) * (np.abs(distance) < 4)


_CURVES: dict[int, tuple[int, Callable[[Any], Any]]] = {
    LINEAR: (1, lambda distance: np.maximum(0, 1 - np.abs(distance))),
    CUBIC: (2, _cubic),
    LANCZOS: (4, _lanczos),
}


def taps(old: int, new: int, way: int) -> tuple[Any, Any]:
    """Old places (new, k) and their weights; beyond the border stands the border.

    >>> places, weights = taps(4, 2, LINEAR)
    >>> places.tolist(), weights.tolist()
    ([[0, 1], [2, 3]], [[0.5, 0.5], [0.5, 0.5]])
    """
    scale = old / new
    if way == NEAREST:
        places = np.minimum((np.arange(new) * scale).astype(np.int64), old - 1)
        return places[:, None], np.ones((new, 1))
    if way == AREA:
        return _shares(old, new)
    if way == GROWN:
        return _grown(old, new)
    reach, curve = _CURVES[way]
    centres = (np.arange(new) + 0.5) * scale - 0.5
    first = np.floor(centres).astype(np.int64) - reach + 1
    places = first[:, None] + np.arange(2 * reach)
    weights = curve(centres[:, None] - places)
    weights /= weights.sum(1, keepdims=True)
    return np.clip(places, 0, old - 1), weights


def _shares(old: int, new: int) -> tuple[Any, Any]:
    """How much of each old pixel a new one covers."""
    scale = old / new
    begin, end = np.arange(new) * scale, np.arange(1, new + 1) * scale
    places = np.floor(begin).astype(np.int64)[:, None] + np.arange(int(scale) + 2)
    covered = np.minimum(places + 1, end[:, None]) - np.maximum(places, begin[:, None])
    return np.minimum(places, old - 1), np.maximum(covered, 0) / scale


def _grown(old: int, new: int) -> tuple[Any, Any]:
    """The pixel that lies under a new one; a mixture where two do, as OpenCV has it."""
    first = np.floor(np.arange(new) * (old / new)).astype(np.int64)
    beyond = np.maximum(0, np.arange(1, new + 1) - (first + 1) * (new / old))
    second = (beyond - np.floor(beyond)) * (first < old - 1)
    places = np.minimum(first[:, None] + np.arange(2), old - 1)
    return places, np.stack([1 - second, second], 1)


@threads.jit(parallel=True)
def _down(part: Any, image: Any, places: Any, weights: Any, out: Any) -> None:
    """Fill out (new, W) from image (H, W), row by row."""
    for i in dealt(out.shape[0], part):
        out[i] = 0
        for k in range(places.shape[1]):
            weight, row = weights[i, k], image[places[i, k]]
            for j in range(out.shape[1]):
                out[i, j] += weight * row[j]


@threads.jit(parallel=True)
def _across(part: Any, image: Any, places: Any, weights: Any, out: Any) -> None:
    """Fill out (H, new, C) from image (H, W, C), column by column."""
    for i in dealt(out.shape[0], part):
        out[i] = 0
        for j in range(out.shape[1]):
            for k in range(places.shape[1]):
                weight, at = weights[j, k], places[j, k]
                for c in range(out.shape[2]):
                    out[i, j, c] += weight * image[i, at, c]


@threads.jit(parallel=True)
def _down_cut(part: Any, image: Any, places: Any, weights: Any, out: Any) -> None:
    """Fill out (new, W, C) with bytes from image (H, W, C); each product is cut off."""
    for i in dealt(out.shape[0], part):
        one, two = image[places[i, 0]], image[places[i, 1]]
        for j in range(out.shape[1]):
            for c in range(out.shape[2]):
                found = ((one[j, c] >> 4) * weights[i, 0]) >> 16
                found += ((two[j, c] >> 4) * weights[i, 1]) >> 16
                out[i, j, c] = min(max((found + 2) >> 2, 0), 255)


@lru_cache(KEPT)
def _whole_taps(old: int, new: int, way: int) -> tuple[Any, Any]:
    """The same with weights in steps of 1 / 2048."""
    places, weights = taps(old, new, way)
    return places, np.rint(weights * 2048).astype(np.int32)


def _resize_bytes(image: Any, way: int, out: Any) -> None:
    """As OpenCV does it, and so MXNet: weights in steps of 1 / 2048, sums in integers.

    It cuts the products of two linear weights off before it adds them up; the rounding
    at the end does not quite make up for that. Cubic sums are single precision in the
    second direction, from the last row to the first.
    """
    down, rows = _whole_taps(image.shape[0], out.shape[0], way)
    across, columns = _whole_taps(image.shape[1], out.shape[1], way)
    middle = np.empty((image.shape[0], *out.shape[1:]), np.int32)
    small = middle.size < threads.SMALL  # such threads keep the GIL
    (_across.small if small else _across)(image, across, columns, middle)
    if way in (LINEAR, GROWN):
        (_down_cut.small if small else _down_cut)(middle, down, rows, out)
        return
    terms = [(middle[down[:, k]], rows[:, k, None, None]) for k in range(rows.shape[1])]
    if way == CUBIC:
        unit = np.float32(2.0**-22)
        found: Any = sum(
            m.astype(np.float32) * (row.astype(np.float32) * unit)
            for m, row in reversed(terms)
        )
        out[...] = np.clip(np.rint(found), 0, 255)
        return
    found = sum(m * row.astype(np.int64) for m, row in terms)
    out[...] = np.clip((found + (1 << 21)) >> 22, 0, 255)


def resize(image: Any, way: int, out: Any) -> None:
    """Fill out (H', W', C) from image (H, W, C); whole numbers are rounded."""
    grows = any(n > m for m, n in zip(image.shape[:2], out.shape[:2], strict=True))
    if way == AREA and grows:
        way = GROWN
    if image.dtype == np.uint8 and way in (*_CURVES, GROWN):
        _resize_bytes(image, way, out)
    else:
        _resize_real(image, way, out)


def _resize_real(image: Any, way: int, out: Any) -> None:
    """The weighted sums themselves, in real numbers."""
    height, width, channels = image.shape
    real = np.float64 if image.dtype == np.float64 else np.float32
    places, weights = taps(height, out.shape[0], way)
    middle = np.empty((out.shape[0], width * channels), real)
    rows = image.reshape(height, -1).astype(real, copy=False)
    _down(rows, places, weights.astype(real), middle)
    places, weights = taps(width, out.shape[1], way)
    found = np.empty(out.shape, real)
    middle = middle.reshape(out.shape[0], width, channels)
    _across(middle, places, weights.astype(real), found)
    if out.dtype.kind in "iu":
        if way == AREA and image.shape[:2] == (2 * out.shape[0], 2 * out.shape[1]):
            found = np.floor(found + 0.5)  # here OpenCV rounds halves up
        limits = np.iinfo(out.dtype)
        found = np.clip(np.rint(found), limits.min, limits.max)
    out[...] = found

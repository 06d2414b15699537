"""Colours of images (H, W, C), changed by a number; C is 3 (red, green, blue) or 1.

Every function takes an image of any type and gives float32; `converted` puts that back
into a type, cut at its limits.
"""

from __future__ import annotations

from typing import Any

import numpy as np

# How bright red, green and blue look.
LUMINANCE = np.array([0.299, 0.587, 0.114], np.float32)
# The directions in which the colours of photographs vary, times how much they do.
DIRECTIONS = np.array(
    [
        [55.46 * -0.5675, 4.794 * 0.7192, 1.148 * 0.4009],
        [55.46 * -0.5808, 4.794 * -0.0045, 1.148 * -0.8140],
        [55.46 * -0.5836, 4.794 * -0.6948, 1.148 * 0.4203],
    ],
    np.float32,
)


def converted(image: Any, dtype: Any) -> Any:
    """Into an element type; whole numbers are cut off at the type's limits."""
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        image = np.clip(image, limits.min, limits.max)
    return image.astype(dtype)


def _grey(image: Any) -> Any:
    """(H, W, 1)."""
    image = image.astype(np.float32, copy=False)
    return image if image.shape[-1] == 1 else (image @ LUMINANCE)[..., None]


def brightness(image: Any, factor: float) -> Any:
    """Every number times factor."""
    return image.astype(np.float32) * np.float32(factor)


def contrast(image: Any, factor: float) -> Any:
    """Away from the mean brightness of the image by factor."""
    mean = _grey(image).mean(dtype=np.float64)
    return image.astype(np.float32) * np.float32(factor) + np.float32(
        (1 - factor) * mean
    )


def saturation(image: Any, factor: float) -> Any:
    """Away from the brightness of each pixel by factor."""
    if image.shape[-1] == 1:
        return image.astype(np.float32)
    own = image.astype(np.float32) * np.float32(factor)
    return own + _grey(image) * np.float32(1 - factor)


def hue(image: Any, turn: float) -> Any:
    """Round the circle of colours by `turn` of it; lightness and saturation stay."""
    if image.shape[-1] == 1:
        return image.astype(np.float32)
    angle, light, strength = _to_hls(image.astype(np.float32) / 255)
    return _from_hls((angle + 6 * np.float32(turn)) % 6, light, strength) * 255


def lighting(image: Any, amounts: Any) -> Any:
    """Along the directions in which the colours of photographs vary."""
    if image.dtype != np.float64:
        image = image.astype(np.float32)
    if image.shape[-1] == 1:
        return image
    return image + DIRECTIONS @ np.asarray(amounts, np.float32)


def _to_hls(image: Any) -> tuple[Any, Any, Any]:
    """Hue in sixths of the circle from red, lightness and saturation; (H, W) each."""
    red, green, blue = np.moveaxis(image, -1, 0)
    high, low = image.max(-1), image.min(-1)
    light, span = (high + low) / 2, high - low
    coloured = span > np.finfo(np.float32).eps
    width = np.where(coloured, span, 1)
    span_left = np.where(light < 0.5, high + low, 2 - high - low)
    strength = np.where(coloured, span / np.where(span_left == 0, 1, span_left), 0)
    angle = np.select(
        [high == red, high == green],
        [(green - blue) / width, (blue - red) / width + 2],
        (red - green) / width + 4,
    )
    return np.where(coloured, angle % 6, 0), light, strength


def _from_hls(angle: Any, light: Any, strength: Any) -> Any:
    """Back to red, green and blue, (H, W, 3)."""
    high = light + strength * np.minimum(light, 1 - light)
    low = 2 * light - high

    def channel(shift: int) -> Any:
        place = (angle + shift) % 6
        slope = np.clip(np.minimum(place, 4 - place), 0, 1)
        return low + (high - low) * slope

    channels = [channel(2), channel(0), channel(4)]
    return np.stack(channels, -1).astype(np.float32)

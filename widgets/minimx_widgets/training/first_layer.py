"""Images as pixels, and the weights of a first layer as images."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from minimx.gluon import Block

Array = npt.NDArray[Any]
MOST_TILES = 32
MOST_SIDE = 48  # pixels; larger pictures are shrunk
ZERO, LOST = 127, 255  # codes of a weight that is zero, and of one that is not finite


@dataclass(frozen=True)
class Filters:
    """The first weights of a network as images.

    tiles: (tiles, rows, columns, 1 or 3) of uint8: ZERO is zero, 0 and 254 are minus
    and plus `largest`, LOST is not finite. many: how many there are in all. kind: what
    one tile is, in words.
    """

    name: str
    kind: str
    tiles: Array
    many: int
    largest: float


def filters_of(net: Block, image: tuple[int, ...]) -> Filters | None:
    """The weights of the first layer that has some, or None.

    image: the shape of one input. A convolution gives a tile for each of its filters,
    a Dense layer the weights of each neuron, in the shape of the image where they fit.
    """
    for parameter in net.collect_params().values():
        weights = parameter.list_data()[0]
        if parameter.grad_req != "null" and len(weights.shape) >= 2:
            shape = weights.shape
            values = weights[:MOST_TILES].asnumpy().astype(np.float32)
            many = int(shape[0])
            tiles, kind = _tiles(values, image)
            return _coded(parameter.name, kind, tiles, many)
    return None


def _tiles(weights: Array, image: tuple[int, ...]) -> tuple[Array, str]:
    """Weights as (tiles, channels, rows, columns), and what a tile is."""
    count = len(weights)
    if weights.ndim == 2:
        if weights.shape[1] == math.prod(image) and len(image) == 3:
            return weights.reshape(count, *image), "the weights of one neuron"
        return weights.reshape(count, 1, 1, -1), "the weights of one neuron"
    while weights.ndim > 4:  # of a volume, the middle slice
        weights = weights[:, :, weights.shape[2] // 2]
    if weights.ndim == 3:  # (filters, channels, length)
        return weights[:, None], "one filter, a row for each channel"
    return weights, "one filter"


def _coded(name: str, kind: str, tiles: Array, many: int) -> Filters:
    """Tiles as codes; of other channels than 1 or 3 the mean is shown."""
    lost: Array = np.asarray(~np.isfinite(tiles))
    tiles = np.where(lost, 0, tiles)
    if tiles.shape[1] not in (1, 3):
        tiles = tiles.mean(1, keepdims=True)
        lost = np.asarray(lost.any(1, keepdims=True))
        kind += ", the mean of its channels"
    shown, gone = (
        np.stack([_shrunk(tile.astype(np.float32)) for tile in x.transpose(0, 2, 3, 1)])
        for x in (tiles, lost)
    )
    largest = float(np.abs(shown).max(initial=0))
    codes = np.round(shown / (largest or 1.0) * ZERO) + ZERO
    coded = np.where(gone > 0, LOST, codes).astype(np.uint8)
    return Filters(name, kind, coded, many, largest)


def picture(image: Array) -> Array:
    """An image as (rows, columns, 1 or 3) of uint8, shrunk where it is large.

    image: (channels, rows, columns) from 0 to 1; of other channels than 1 or 3 the mean
    is shown. What has one axis only is a square if it can be, else a row.

    >>> picture(np.ones((1, 2, 3))).shape, picture(np.zeros(16)).shape
    ((2, 3, 1), (4, 4, 1))
    """
    if image.ndim == 1:
        side = math.isqrt(len(image))
        image = image.reshape(1, side if side * side == len(image) else 1, -1)
    if image.ndim == 2:
        image = image[None]
    if image.shape[0] not in (1, 3):
        image = image.mean(axis=0, keepdims=True)
    pixels = _shrunk(image.transpose(1, 2, 0))
    return np.round(255 * np.clip(pixels, 0, 1)).astype(np.uint8)


def _shrunk(pixels: Array) -> Array:
    """The means of squares of pixels, so that no side is longer than MOST_SIDE."""
    by = math.ceil(max(pixels.shape[:2]) / MOST_SIDE)
    if by <= 1:
        return pixels
    high, wide = (max(1, length // by) for length in pixels.shape[:2])
    cut = pixels[: high * by, : wide * by]
    result: Array = np.add.reduceat(
        np.add.reduceat(cut, np.arange(0, len(cut), by), axis=0),
        np.arange(0, cut.shape[1], by),
        axis=1,
    )
    rows = np.diff([*range(0, len(cut), by), len(cut)])
    columns = np.diff([*range(0, cut.shape[1], by), cut.shape[1]])
    means: Array = result / (rows[:, None, None] * columns[None, :, None])
    return means

"""Rows for images; other colours are asked of Python's own `colorsys`."""

from __future__ import annotations

from typing import Any

import numpy as np

from minimx.operators.images.images import Crop
from tests.core.ops.sample import Sample, numbers

IMAGE = numbers(4, 5, 3)
BATCH = numbers(2, 4, 6, 3)
FEW = np.array([[0, 9, 200], [90, 3, 60], [30, 255, 7]], np.uint8)[..., None]
BYTES = np.random.default_rng(0).integers(0, 256, (5, 4, 3)).astype(np.uint8)
ONE = np.full((2, 2, 3), 7.0)


def linear(image: Any, height: int, width: int) -> Any:
    """One new pixel at a time, from the four around its centre."""
    rows, columns = image.shape[-3:-1]
    out = np.zeros((*image.shape[:-3], height, width, image.shape[-1]))
    for i, j in np.ndindex(height, width):
        y = np.clip((i + 0.5) * rows / height - 0.5, 0, rows - 1)
        x = np.clip((j + 0.5) * columns / width - 0.5, 0, columns - 1)
        for a, b in ((0, 0), (0, 1), (1, 0), (1, 1)):
            at = min(int(y) + a, rows - 1), min(int(x) + b, columns - 1)
            share = abs(1 - a - y % 1) * abs(1 - b - x % 1)
            out[..., i, j, :] += share * image[..., at[0], at[1], :]
    return out


def nearest(image: Any, height: int, width: int) -> Any:
    rows = [i * image.shape[0] // height for i in range(height)]
    columns = [j * image.shape[1] // width for j in range(width)]
    return image[np.ix_(rows, columns)]


def halved(image: Any) -> Any:
    rows, columns, channels = image.shape
    return image.reshape(rows // 2, 2, columns // 2, 2, channels).mean((1, 3))


#: FEW in size 5, by OpenCV.
RESIZED = np.array([
    [0, 3, 9, 123, 200],
    [36, 24, 6, 89, 144],
    [90, 55, 3, 37, 60],
    [54, 94, 154, 78, 28],
    [30, 120, 255, 106, 7],
])[..., None]  # fmt: skip


def _sizes() -> list[Sample]:
    return [
        Sample(
            "_image_resize", (BATCH,), {"size": (3, 7)}, lambda x: linear(x, 7, 3),
            tolerance=32,
        ),
        Sample(
            "_image_resize", (FEW,), {"size": 5, "keep_ratio": True},
            lambda x: RESIZED,
            dtypes=("float32",), note="bytes",
        ),
        Sample(
            "_image_resize", (IMAGE,), {"size": (7, 6), "interp": 0},
            lambda x: nearest(x, 6, 7),
        ),
        Sample(
            "_image_resize", (BATCH[0],), {"size": (3, 2), "interp": 3}, halved,
            tolerance=32,
        ),
        Sample(
            "_image_resize", (BYTES[:4],), {"size": 2, "interp": 3},
            lambda x: np.floor(halved(x) + 0.5), dtypes=("float32",), note="bytes",
        ),
        Sample("_image_resize", (ONE,), {"size": 5, "interp": 2}, lambda x: flat(7)),
        Sample("_image_resize", (ONE,), {"size": 5, "interp": 4}, lambda x: flat(7)),
    ]  # fmt: skip


def flat(value: float) -> Any:
    return np.full((5, 5, 3), value)


def _places() -> list[Sample]:
    part = {"x": 1, "y": 2, "width": 3, "height": 2}
    whole = lambda d: np.pad(d, ((2, 0), (1, 1), (0, 0)))  # noqa: E731
    crop = Crop.of(**part)
    return [
        Sample("_image_flip_left_right", (BATCH,), {}, lambda x: x[:, :, ::-1]),
        Sample("_image_flip_left_right", (IMAGE,), {}, lambda x: x[:, ::-1]),
        Sample("_image_flip_top_bottom", (IMAGE,), {}, lambda x: x[::-1]),
        Sample("_image_random_flip_left_right", (IMAGE,), {}),
        Sample("_image_random_flip_top_bottom", (IMAGE,), {}),
        Sample("_image_crop", (IMAGE,), part, lambda x: x[2:4, 1:4]),
        Sample("_image_crop", (BATCH,), part, lambda x: x[:, 2:4, 1:4]),
        Sample(
            "_backward_image_crop", (numbers(2, 3, 3),),
            {"forward": crop, "shape": (4, 5, 3)}, whole,
        ),
    ]  # fmt: skip


def _tensors() -> list[Sample]:
    mean, std = (0.1, 0.2, 0.3), (0.5, 2.0, 4.0)
    column: Any = lambda values: np.array(values)[:, None, None]  # noqa: E731
    x = numbers(2, 3, 4, 5)
    return [
        Sample(
            "_image_to_tensor", (BYTES,), {}, lambda x: x.transpose(2, 0, 1) / 255,
            dtypes=("float32",),
        ),
        Sample(
            "_image_to_tensor", (BATCH,), {}, lambda x: x.transpose(0, 3, 1, 2) / 255,
        ),
        Sample(
            "_image_normalize", (x,), {"mean": mean, "std": std},
            lambda x: (x - column(mean)) / column(std), tolerance=16,
        ),
        Sample(
            "_image_normalize", (x[0],), {"mean": 0.5, "std": (2.0,)},
            lambda x: (x - 0.5) / 2,
        ),
    ]  # fmt: skip


def lit(x: Any) -> Any:
    """One step along the first direction, the strongest."""
    return x + 55.46 * np.array([-0.5675, -0.5808, -0.5836]) * 0.1


def _colours() -> list[Sample]:
    names = ("brightness", "contrast", "saturation", "hue")
    one = {"min_factor": 0.5, "max_factor": 1.5}
    jitter = dict.fromkeys(names, 0.3)
    return [
        *(Sample(f"_image_random_{name}", (BYTES,), one) for name in names),
        Sample("_image_random_color_jitter", (BYTES,), jitter),
        Sample("_image_random_lighting", (IMAGE,), {}),
        Sample(
            "_image_adjust_lighting", (IMAGE,), {"alpha": (0.1, 0.0, 0.0)}, lit,
            dtypes=("float32",), tolerance=64,
        ),
    ]  # fmt: skip


ROWS = [*_sizes(), *_places(), *_tensors(), *_colours()]

"""Random changes of an image before it goes into a batch, in the order of MXNet.

Sizes first, then turning and shearing, a border, a cut, colours. `Distortion` holds
the settings, with MXNet's names and defaults; calling it is a pure function of the
image and of a source of random numbers.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass
from typing import Any

import numpy as np

from minimx.core.errors import ArgumentError, Unavailable
from minimx.image import codec
from minimx.image.augment import EIGENVALUES, EIGENVECTORS
from minimx.image.functions import interpolation, short_size

#: The ways to resize beside those of `codec.WAYS`: chosen by the sizes, or drawn.
_AUTO, _DRAWN = 9, 10


@dataclass(frozen=True)
class Distortion:
    """What `ImageRecordIter` does to an image; see its settings of the same names."""

    resize: int = -1
    rand_crop: bool = False
    random_resized_crop: bool = False
    max_rotate_angle: int = 0
    rotate: int = -1
    max_aspect_ratio: float = 0.0
    min_aspect_ratio: float | None = None
    max_shear_ratio: float = 0.0
    max_crop_size: int = -1
    min_crop_size: int = -1
    max_random_scale: float = 1.0
    min_random_scale: float = 1.0
    max_random_area: float = 1.0
    min_random_area: float = 1.0
    max_img_size: float = 1e10
    min_img_size: float = 0.0
    brightness: float = 0.0
    contrast: float = 0.0
    saturation: float = 0.0
    pca_noise: float = 0.0
    random_h: int = 0
    random_s: int = 0
    random_l: int = 0
    fill_value: int = 255
    inter_method: int = 1
    pad: int = 0

    def __post_init__(self) -> None:
        if self.inter_method not in (*codec.WAYS, _AUTO, _DRAWN):
            raise ArgumentError(
                f"inter_method={self.inter_method} must be 0 to 4, 9 (by the sizes) or "
                "10 (drawn)."
            )
        cuts = self.rand_crop or max(self.max_crop_size, self.min_crop_size) > 0
        if self.random_resized_crop and cuts:
            raise ArgumentError(
                "random_resized_crop cuts already: leave rand_crop, max_crop_size and "
                "min_crop_size away."
            )

    @property
    def aspects(self) -> tuple[float, float]:
        """The bounds of width by height, compared with the image's."""
        if self.min_aspect_ratio is None:
            return 1 - self.max_aspect_ratio, 1 + self.max_aspect_ratio
        return self.min_aspect_ratio, self.max_aspect_ratio

    @property
    def turns(self) -> bool:
        """Whether the image is turned, sheared, scaled or stretched."""
        stretched = not self.random_resized_crop and self.aspects != (1, 1)
        scaled = (self.max_random_scale, self.min_random_scale) != (1, 1)
        bounded = self.max_img_size != 1e10 or self.min_img_size != 0
        turned = self.max_rotate_angle > 0 or self.rotate > 0
        return turned or self.max_shear_ratio > 0 or scaled or stretched or bounded

    def __call__(self, image: Any, height: int, width: int, rng: random.Random) -> Any:
        """The image as (height, width, C) of uint8; image: (H, W, C), red first."""
        if self.resize > 0:
            image = self._resized(image, *short_size(image.shape, self.resize), rng)
        if self.turns:
            image = self._turned(image, rng)
        if self.pad > 0:
            image = codec.border(image, (self.pad,) * 4, 0, self.fill_value)
        image = self._cut(image, height, width, rng)
        if image.shape[2] == 3:
            image = self._coloured(image, rng)
        return image

    def _way(
        self, old: tuple[int, ...], new: tuple[int, int], rng: random.Random
    ) -> int:
        if self.inter_method == _DRAWN:
            return rng.randint(0, 4)
        return interpolation(self.inter_method, (*old[:2], *new))

    def _resized(self, image: Any, height: int, width: int, rng: random.Random) -> Any:
        way = self._way(image.shape, (height, width), rng)
        return codec.resize(np.ascontiguousarray(image), width, height, way)

    def _turned(self, image: Any, rng: random.Random) -> Any:
        """Sheared, turned, scaled and stretched about the middle."""
        cv2 = codec.opencv()
        if cv2 is None:
            raise Unavailable("images are turned and stretched by OpenCV; install it.")
        shear = rng.uniform(-self.max_shear_ratio, self.max_shear_ratio)
        angle = rng.randint(-self.max_rotate_angle, self.max_rotate_angle)
        turn = math.radians(self.rotate if self.rotate > 0 else angle)
        scale = rng.uniform(self.min_random_scale, self.max_random_scale)
        ratio = 1.0 if self.random_resized_crop else rng.uniform(*self.aspects)
        tall = 2 * scale / (1 + ratio)
        wide = ratio * tall
        a, b = math.cos(turn), math.sin(turn)
        matrix = np.array(
            [
                [tall * a - shear * b * wide, tall * b + shear * a * wide],
                [-b * wide, a * wide],
            ]
        )
        size = np.array([image.shape[1], image.shape[0]])
        new = np.clip(scale * size, self.min_img_size, self.max_img_size)
        shift = (new - matrix @ size) / 2
        channels = image.shape[2]
        found = cv2.warpAffine(
            np.ascontiguousarray(image),
            np.concatenate([matrix, shift[:, None]], 1).astype(np.float32),
            (int(new[0]), int(new[1])),
            flags=self._way(image.shape, (int(new[1]), int(new[0])), rng),
            borderMode=cv2.BORDER_CONSTANT,
            borderValue=(self.fill_value,) * 4,
        )
        return found.reshape(*found.shape[:2], channels)

    def _cut(self, image: Any, height: int, width: int, rng: random.Random) -> Any:
        """A part of the size (height, width)."""
        if self.random_resized_crop:
            for _ in range(10):
                part = self._drawn_part(image, rng)
                if part is not None:
                    return self._resized(part, height, width, rng)
        elif max(self.max_crop_size, self.min_crop_size) > 0:
            side = rng.randint(max(self.min_crop_size, 1), self.max_crop_size)
            if side > min(image.shape[:2]):
                raise ArgumentError(
                    f"max_crop_size={self.max_crop_size} is larger than an image of "
                    f"{image.shape[:2]}."
                )
            part = self._part(image, side, side, rng)
            return self._resized(part, height, width, rng)
        if image.shape[0] < height:
            wide = max(int(height / image.shape[0] * image.shape[1]), 1)
            image = self._resized(image, height, wide, rng)
        if image.shape[1] < width:
            tall = max(int(width / image.shape[1] * image.shape[0]), height)
            image = self._resized(image, tall, width, rng)
        return self._part(image, height, width, rng)

    def _part(self, image: Any, height: int, width: int, rng: random.Random) -> Any:
        y, x = image.shape[0] - height, image.shape[1] - width
        if self.rand_crop:
            y, x = rng.randint(0, y), rng.randint(0, x)
        else:
            y, x = y // 2, x // 2
        return image[y : y + height, x : x + width]

    def _drawn_part(self, image: Any, rng: random.Random) -> Any:
        height, width = image.shape[:2]
        area = height * width * rng.uniform(self.min_random_area, self.max_random_area)
        ratio = max(rng.uniform(*self.aspects), 1e-6)
        w, h = round(math.sqrt(area * ratio)), round(math.sqrt(area / ratio))
        if rng.random() > 0.5:
            w, h = h, w
        if not (0 < h <= height and 0 < w <= width):
            return None
        y, x = rng.randint(0, height - h), rng.randint(0, width - w)
        return image[y : y + h, x : x + w]

    def _coloured(self, image: Any, rng: random.Random) -> Any:
        """Brightness, contrast and saturation in random order, hue, and noise."""
        steps = [
            (name, most)
            for name in ("brightness", "contrast", "saturation")
            if (most := getattr(self, name)) > 0
        ]
        rng.shuffle(steps)
        for name, most in steps:
            factor = 1 + rng.uniform(-most, most)
            image = _mixed(image, factor, _other(image, name))
        if self.random_h or self.random_s or self.random_l:
            image = self._in_other_hues(image, rng)
        if self.pca_noise > 0:
            far = np.array([rng.gauss(0, self.pca_noise) for _ in range(3)])
            shift = EIGENVECTORS @ (far * EIGENVALUES)
            image = _rounded(image + shift)
        return image

    def _in_other_hues(self, image: Any, rng: random.Random) -> Any:
        cv2 = codec.opencv()
        if cv2 is None:
            raise Unavailable("hue and lightness are changed by OpenCV; install it.")
        most = (self.random_h, self.random_l, self.random_s)
        steps = [int(rng.uniform(-limit, limit)) for limit in most]
        spaced = cv2.cvtColor(np.ascontiguousarray(image), cv2.COLOR_RGB2HLS)
        spaced = np.clip(spaced.astype(np.int16) + steps, 0, [180, 255, 255])
        return cv2.cvtColor(spaced.astype(np.uint8), cv2.COLOR_HLS2RGB)


def _other(image: Any, name: str) -> Any:
    """What an image is mixed with: black, its mean brightness, or its grey image."""
    if name == "brightness":
        return 0.0
    grey = image @ np.array([0.299, 0.587, 0.114])
    return grey.mean() if name == "contrast" else grey[..., None]


def _mixed(image: Any, factor: float, other: Any) -> Any:
    return _rounded(image * factor + other * (1 - factor))


def _rounded(image: Any) -> Any:
    return np.rint(image).clip(0, 255).astype(np.uint8)

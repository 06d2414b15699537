"""Augmenters of images with boxes: the image changes, and the boxes with it.

A label is an array (N, 5 or more): class, left, top, right, bottom, as shares of the
width and the height. What a cut leaves of the boxes is decided by `covered` and
`clipped`, which are pure.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence
from typing import Any

import numpy as np

from minimx import nd
from minimx.core.errors import ArgumentError
from minimx.core.rng import python as random
from minimx.image import functions
from minimx.image.augment import Augmenter, ForceResizeAug, ResizeAug, colour_augmenters

Range = tuple[float, float]
#: Left, top, width and height of a part of an image, in pixels.
Box = tuple[int, int, int, int]


def areas(corners: Any) -> Any:
    """Areas of boxes (N, 4 or more): left, top, right, bottom; none is negative."""
    sides = np.maximum(0, corners[:, 2:4] - corners[:, :2])
    return sides[:, 0] * sides[:, 1]


def _clipped(corners: Any, box: Any) -> Any:
    """The parts of boxes (N, 4) that lie within another one."""
    return np.concatenate(
        [np.maximum(corners[:, :2], box[:2]), np.minimum(corners[:, 2:4], box[2:])], 1
    )


def coverages(label: Any, box: Any) -> Any:
    """The share of each box of a label that lies within a box."""
    with np.errstate(divide="ignore", invalid="ignore"):
        found = areas(_clipped(label[:, 1:5], box)) / areas(label[:, 1:5])
    return np.nan_to_num(found, nan=0.0, posinf=0.0)


def within(label: Any, part: Box, size: tuple[int, int]) -> Any:
    """A label as seen in a part of an image of the size (height, width)."""
    scale = np.array([size[1], size[0]] * 2)
    begin, extent = np.array(part[:2] * 2), np.array(part[2:] * 2)
    out = label.copy()
    out[:, 1:5] = (label[:, 1:5] * scale - begin) / extent
    return out


class DetAugmenter:
    """The base: an image (H, W, C) and its label go in and come out."""

    def __init__(self, **kwargs: Any) -> None:
        self._kwargs = Augmenter(**kwargs)._kwargs

    def dumps(self) -> Any:
        """The name and the settings, as JSON; a list for several augmenters."""
        return json.dumps([type(self).__name__.lower(), self._kwargs])

    def __call__(self, src: Any, label: Any) -> tuple[Any, Any]:
        """The image and the label, changed."""
        raise NotImplementedError(f"{type(self).__name__}: write __call__(src, label).")


class DetBorrowAug(DetAugmenter):
    """An augmenter that does not move anything, such as one of colours."""

    def __init__(self, augmenter: Augmenter) -> None:
        if not isinstance(augmenter, Augmenter):
            raise ArgumentError(f"DetBorrowAug takes an Augmenter, not {augmenter!r}.")
        super().__init__(augmenter=augmenter.dumps())
        self.augmenter = augmenter

    def dumps(self) -> Any:
        """The names and settings of this and of the augmenter inside."""
        return [type(self).__name__.lower(), self.augmenter.dumps()]

    def __call__(self, src: Any, label: Any) -> tuple[Any, Any]:
        """The image changed, the label as it is."""
        return self.augmenter(src), label


class DetRandomSelectAug(DetAugmenter):
    """One of several augmenters, or with probability skip_prob none."""

    def __init__(self, aug_list: Sequence[DetAugmenter], skip_prob: float = 0) -> None:
        for one in aug_list:
            if not isinstance(one, DetAugmenter):
                raise ArgumentError(f"DetRandomSelectAug takes DetAugmenters: {one!r}.")
        super().__init__(skip_prob=skip_prob)
        self.aug_list = list(aug_list)
        self.skip_prob = skip_prob if self.aug_list else 1

    def dumps(self) -> Any:
        """The name, and what the augmenters say."""
        return [type(self).__name__.lower(), [one.dumps() for one in self.aug_list]]

    def __call__(self, src: Any, label: Any) -> tuple[Any, Any]:
        """What the drawn one makes of them."""
        if random.random() < self.skip_prob:
            return src, label
        random.shuffle(self.aug_list)
        return self.aug_list[0](src, label)


class DetHorizontalFlipAug(DetAugmenter):
    """Left and right change places, with probability p."""

    def __init__(self, p: float) -> None:
        super().__init__(p=p)
        self.p = p

    def __call__(self, src: Any, label: Any) -> tuple[Any, Any]:
        """Both as they are, or both mirrored."""
        if random.random() < self.p:
            src = nd.flip(src, axis=1)
            label[:, 1], label[:, 3] = 1.0 - label[:, 3], 1.0 - label[:, 1]
        return src, label


class _Placed(DetAugmenter):
    """What random parts and random frames share: sizes are drawn until one fits."""

    def __init__(
        self, aspect_ratio_range: Any, area_range: Any, max_attempts: int, **more: Any
    ) -> None:
        aspects, shares = _range(aspect_ratio_range), _range(area_range)
        super().__init__(
            **more,
            aspect_ratio_range=aspects,
            area_range=shares,
            max_attempts=max_attempts,
        )
        self.aspect_ratio_range: Range = aspects
        self.area_range: Range = shares
        self.max_attempts = max_attempts
        self.enabled = 0 < aspects[0] <= aspects[1] and self._sensible(*shares)
        if not self.enabled:
            logging.warning(
                "%s never acts: aspect_ratio_range=%s and area_range=%s allow nothing.",
                type(self).__name__,
                aspects,
                shares,
            )

    def __call__(self, src: Any, label: Any) -> tuple[Any, Any]:
        """The image and its boxes after the first draw that fits, or as they are."""
        height, width = src.shape[:2]
        for _ in range(self.max_attempts if self.enabled and height and width else 0):
            part = self._drawn(height, width)
            found = None if part is None else self._changed(src, label, part)
            if found is not None:
                return found
        return src, label

    def _drawn(self, height: int, width: int) -> Box | None:
        """A part of the image, or a frame around it; None if this draw does not fit."""
        raise NotImplementedError

    def _changed(self, src: Any, label: Any, part: Box) -> tuple[Any, Any] | None:
        """The part with its boxes; None if too little of them is left."""
        raise NotImplementedError

    def _sensible(self, low: float, high: float) -> bool:
        return high > 0 and low <= high

    def _bounds(self, height: int, width: int) -> Range:
        """The fewest and the most pixels."""
        low, high = self.area_range
        return low * height * width, high * height * width


def _range(given: Any) -> Range:
    if isinstance(given, (tuple, list)):
        return given[0], given[1]
    return given, given


class DetRandomCropAug(_Placed):
    """A random part that shows enough of some object.

    min_object_covered: the share of an object that must be seen, for all that are seen
    at all; aspect_ratio_range, area_range: width by height, and the share of the image;
    min_eject_coverage: boxes of which less is left are dropped; max_attempts: after how
    many draws the image stays as it is.
    """

    def __init__(
        self,
        min_object_covered: float = 0.1,
        aspect_ratio_range: Any = (0.75, 1.33),
        area_range: Any = (0.05, 1.0),
        min_eject_coverage: float = 0.3,
        max_attempts: int = 50,
    ) -> None:
        super().__init__(
            aspect_ratio_range,
            area_range,
            max_attempts,
            min_object_covered=min_object_covered,
            min_eject_coverage=min_eject_coverage,
        )
        self.min_object_covered = min_object_covered
        self.min_eject_coverage = min_eject_coverage

    def _changed(self, src: Any, label: Any, part: Box) -> tuple[Any, Any] | None:
        kept = self._kept(label, part, *src.shape[:2])
        return None if kept is None else (functions.fixed_crop(src, *part), kept)

    def _drawn(self, height: int, width: int) -> Box | None:
        """A part of the image; None if this draw does not fit."""
        fewest, most = self._bounds(height, width)
        ratio = random.uniform(*self.aspect_ratio_range)
        least, tallest = (round(np.sqrt(area / ratio)) for area in (fewest, most))
        if round(tallest * ratio) > width:
            tallest = int((width + 0.4999999) / ratio)
        tallest = min(tallest, height)
        h = random.randint(least, tallest) if least < tallest else tallest
        for step in (1, -1):  # rounding may have left the bounds
            area = h * round(h * ratio)
            if (area < fewest) if step > 0 else (area > most):
                h += step
        w = round(h * ratio)
        if not (fewest <= w * h <= most and 0 < w <= width and 0 < h <= height):
            return None
        y, x = random.randint(0, height - h), random.randint(0, width - w)
        return x, y, w, h

    def _kept(self, label: Any, part: Box, height: int, width: int) -> Any:
        """What is left of a label; None if that is too little."""
        x, y, w, h = part
        if w * h < 2:
            return None
        box = np.array([x / width, y / height, (x + w) / width, (y + h) / height])
        large = areas(label[:, 1:]) * width * height > 2
        seen = coverages(label[large], box)
        seen = seen[seen > 0]
        if not seen.size or seen.min() <= self.min_object_covered:
            return None
        out = within(label, part, (height, width))
        out[:, 1:5] = out[:, 1:5].clip(0, 1)
        kept = (out[:, 3] > out[:, 1]) & (out[:, 4] > out[:, 2])
        kept &= coverages(label, box) > self.min_eject_coverage
        return out[kept] if kept.any() else None


class DetRandomPadAug(_Placed):
    """The image somewhere in a larger frame.

    aspect_ratio_range, area_range: of the frame, its area in images; max_attempts:
    after how many draws the image stays as it is; pad_val: the colour of the frame.
    """

    def __init__(
        self,
        aspect_ratio_range: Any = (0.75, 1.33),
        area_range: Any = (1.0, 3.0),
        max_attempts: int = 50,
        pad_val: Any = (128, 128, 128),
    ) -> None:
        pad_val = pad_val if isinstance(pad_val, (tuple, list)) else (pad_val,)
        super().__init__(aspect_ratio_range, area_range, max_attempts)
        self._kwargs["pad_val"] = pad_val
        self.pad_val = pad_val

    def _sensible(self, low: float, high: float) -> bool:
        return high > 1 and low <= high

    def _changed(self, src: Any, label: Any, part: Box) -> tuple[Any, Any] | None:
        height, width = src.shape[:2]
        x, y, w, h = part
        sides = (y, h - y - height, x, w - x - width)
        out = functions.copyMakeBorder(src, *sides, values=self.pad_val)
        return out, within(label, (-x, -y, w, h), (height, width))

    def _drawn(self, height: int, width: int) -> Box | None:
        """Where the image is in a frame, and the frame's size; None if it fits not."""
        fewest, most = self._bounds(height, width)
        ratio = random.uniform(*self.aspect_ratio_range)
        h, tallest = (round(np.sqrt(area / ratio)) for area in (fewest, most))
        if round(h * ratio) < width:
            h = int((width + 0.499999) / ratio)
        h = min(max(h, height), tallest)
        if h < tallest:
            h = random.randint(h, tallest)
        w = round(h * ratio)
        if h - height < 2 or w - width < 2:  # a frame so thin changes nothing
            return None
        y, x = random.randint(0, h - height), random.randint(0, w - width)
        return x, y, w, h


def CreateMultiRandCropAugmenter(
    min_object_covered: Any = 0.1,
    aspect_ratio_range: Any = (0.75, 1.33),
    area_range: Any = (0.05, 1.0),
    min_eject_coverage: Any = 0.3,
    max_attempts: Any = 50,
    skip_prob: float = 0,
) -> DetRandomSelectAug:
    """Several random cuts, of which one is drawn: each setting may be a list."""
    given = (
        min_object_covered,
        aspect_ratio_range,
        area_range,
        min_eject_coverage,
        max_attempts,
    )
    lists = [value if isinstance(value, list) else [value] for value in given]
    most = max(map(len, lists))
    if any(len(values) not in (1, most) for values in lists):
        raise ArgumentError(
            "CreateMultiRandCropAugmenter: lists must be of one length, not "
            f"{[len(values) for values in lists]}."
        )
    full = [values * most if len(values) == 1 else values for values in lists]
    cuts = [DetRandomCropAug(*settings) for settings in zip(*full, strict=True)]
    return DetRandomSelectAug(cuts, skip_prob)


def CreateDetAugmenter(
    data_shape: tuple[int, int, int],
    resize: int = 0,
    rand_crop: float = 0,
    rand_pad: float = 0,
    rand_gray: float = 0,
    rand_mirror: bool = False,
    mean: Any = None,
    std: Any = None,
    brightness: float = 0,
    contrast: float = 0,
    saturation: float = 0,
    pca_noise: float = 0,
    hue: float = 0,
    inter_method: int = 2,
    min_object_covered: Any = 0.1,
    aspect_ratio_range: Any = (0.75, 1.33),
    area_range: Any = (0.05, 3.0),
    min_eject_coverage: Any = 0.3,
    max_attempts: Any = 50,
    pad_val: Any = (127, 127, 127),
) -> list[DetAugmenter]:
    """The usual augmenters for detection, for images of data_shape (C, H, W).

    rand_crop, rand_pad, rand_gray: probabilities; the rest as in `CreateAugmenter`,
    `DetRandomCropAug` and `DetRandomPadAug`.
    """
    found: list[DetAugmenter] = []
    if resize > 0:
        found.append(DetBorrowAug(ResizeAug(resize, inter_method)))
    if rand_crop > 0:
        found.append(
            CreateMultiRandCropAugmenter(
                min_object_covered,
                aspect_ratio_range,
                area_range,
                min_eject_coverage,
                max_attempts,
                skip_prob=1 - rand_crop,
            )
        )
    if rand_mirror:
        found.append(DetHorizontalFlipAug(0.5))
    if rand_pad > 0:
        largest = _range(area_range)[1]
        pad = DetRandomPadAug(aspect_ratio_range, (1.0, largest), max_attempts, pad_val)
        found.append(DetRandomSelectAug([pad], 1 - rand_pad))
    size = (data_shape[2], data_shape[1])
    changes: list[Augmenter] = [ForceResizeAug(size, inter_method)]
    colours = (brightness, contrast, saturation, hue, pca_noise, rand_gray)
    changes += colour_augmenters(mean, std, *colours)
    return found + [DetBorrowAug(change) for change in changes]

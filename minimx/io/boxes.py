"""`ImageDetRecordIter`: batches of images with boxes, from files of records.

`BoxDistortion` holds the settings of the random changes, with MXNet's names; boxes are
rows of class, left, top, right and bottom, as shares of the width and the height.
"""

from __future__ import annotations

import dataclasses
import random
from typing import Any

import numpy as np

from minimx.core.errors import ArgumentError, DataError
from minimx.core.shapes import Shape
from minimx.image import codec
from minimx.image.boxes import areas, coverages, within
from minimx.io.batches import DataDesc
from minimx.io.distort import Distortion
from minimx.io.images import ImageRecordIter

#: What stands before the label of an image: channels, height, width, length.
_HEAD = 4
_CHANGES = ("hue", "saturation", "illumination", "contrast")


@dataclasses.dataclass(frozen=True)
class BoxDistortion:
    """What `ImageDetRecordIter` does to an image and its boxes.

    Each `…_prob` is a probability. The settings of cuts are lists, one number for each
    of `num_crop_sampler` kinds of cuts, of which one that succeeds is drawn.
    """

    resize: int = -1
    rand_crop_prob: float = 0.0
    min_crop_scales: Any = (0.0,)
    max_crop_scales: Any = (1.0,)
    min_crop_aspect_ratios: Any = (1.0,)
    max_crop_aspect_ratios: Any = (1.0,)
    min_crop_overlaps: Any = (0.0,)
    max_crop_overlaps: Any = (1.0,)
    min_crop_sample_coverages: Any = (0.0,)
    max_crop_sample_coverages: Any = (1.0,)
    min_crop_object_coverages: Any = (0.0,)
    max_crop_object_coverages: Any = (1.0,)
    num_crop_sampler: int = 1
    crop_emit_mode: str = "center"
    emit_overlap_thresh: float = 0.3
    max_crop_trials: Any = (25,)
    rand_pad_prob: float = 0.0
    max_pad_scale: float = 1.0
    max_random_hue: int = 0
    random_hue_prob: float = 0.0
    max_random_saturation: int = 0
    random_saturation_prob: float = 0.0
    max_random_illumination: int = 0
    random_illumination_prob: float = 0.0
    max_random_contrast: float = 0.0
    random_contrast_prob: float = 0.0
    rand_mirror_prob: float = 0.0
    fill_value: int = 127
    inter_method: int = 1
    resize_mode: str = "force"

    def __post_init__(self) -> None:
        modes = ("force", "shrink", "fit")
        if self.resize_mode not in modes or self.crop_emit_mode not in (
            "center",
            "overlap",
        ):
            raise ArgumentError(
                f"resize_mode={self.resize_mode!r} must be one of {modes}, and "
                f"crop_emit_mode={self.crop_emit_mode!r} 'center' or 'overlap'."
            )

    def _sampler(self, name: str, place: int) -> Any:
        """A setting of one kind of cuts."""
        values = getattr(self, name)
        values = values if isinstance(values, (tuple, list)) else (values,)
        return values[place] if place < len(values) else values[-1]

    def __call__(
        self, image: Any, boxes: Any, height: int, width: int, rng: random.Random
    ) -> tuple[Any, Any]:
        """The image as (height, width, C), and the boxes that are left."""
        if self.resize > 0:
            simple = Distortion(resize=self.resize, inter_method=self.inter_method)
            wanted = self.resize / min(image.shape[:2])
            tall, wide = (max(round(side * wanted), 1) for side in image.shape[:2])
            image = simple._resized(image, tall, wide, rng)
        if image.shape[2] == 3:
            image = self._coloured(image, rng)
        if rng.random() < self.rand_mirror_prob:
            image, boxes = image[:, ::-1], boxes.copy()
            boxes[:, 1], boxes[:, 3] = 1 - boxes[:, 3], 1 - boxes[:, 1]
        if rng.random() < self.rand_pad_prob and self.max_pad_scale > 1:
            image, boxes = self._framed(image, boxes, rng)
        if rng.random() < self.rand_crop_prob:
            image, boxes = self._cut(image, boxes, rng)
        return self._fitted(image, boxes, height, width, rng)

    def _coloured(self, image: Any, rng: random.Random) -> Any:
        """Hue, saturation, lightness and contrast, each with its probability."""
        steps = {}
        for name in _CHANGES:
            most = getattr(self, f"max_random_{name}")
            if most and rng.random() < getattr(self, f"random_{name}_prob"):
                steps[name] = most
        contrast = Distortion(contrast=steps.pop("contrast", 0.0))
        other = Distortion(
            random_h=steps.get("hue", 0),
            random_s=steps.get("saturation", 0),
            random_l=steps.get("illumination", 0),
        )
        return other._coloured(contrast._coloured(image, rng), rng)

    def _framed(self, image: Any, boxes: Any, rng: random.Random) -> tuple[Any, Any]:
        """The image somewhere in a larger frame."""
        height, width = image.shape[:2]
        scale = rng.uniform(1, self.max_pad_scale)
        tall, wide = int(height * scale), int(width * scale)
        y, x = rng.randint(0, tall - height), rng.randint(0, wide - width)
        sides = (y, tall - height - y, x, wide - width - x)
        image = codec.border(image, sides, 0, self.fill_value)
        return image, within(boxes, (-x, -y, wide, tall), (height, width))

    def _cut(self, image: Any, boxes: Any, rng: random.Random) -> tuple[Any, Any]:
        """A part that one of the kinds of cuts allows, or the image as it is."""
        height, width = image.shape[:2]
        found = []
        for kind in range(self.num_crop_sampler):
            for _ in range(int(self._sampler("max_crop_trials", kind))):
                box = self._drawn(kind, height, width, rng)
                if self._allowed(kind, boxes, box):
                    found.append(box)
                    break
        if not found:
            return image, boxes
        left, top, right, bottom = found[rng.randrange(len(found))]
        x, y = int(left * width), int(top * height)
        w, h = max(int((right - left) * width), 1), max(int((bottom - top) * height), 1)
        kept = self._kept(boxes, np.array([left, top, right, bottom]))
        out = within(kept, (x, y, w, h), (height, width))
        out[:, 1:5] = out[:, 1:5].clip(0, 1)
        return image[y : y + h, x : x + w], out

    def _drawn(self, kind: int, height: int, width: int, rng: random.Random) -> Any:
        """A part, as shares: of random scale and aspect at a random place."""
        scale = rng.uniform(
            self._sampler("min_crop_scales", kind),
            self._sampler("max_crop_scales", kind),
        )
        ratio = rng.uniform(
            self._sampler("min_crop_aspect_ratios", kind),
            self._sampler("max_crop_aspect_ratios", kind),
        )
        ratio *= height / width  # between shares, not pixels
        ratio = min(max(ratio, scale**2), 1 / max(scale, 1e-6) ** 2)
        wide, tall = min(scale * ratio**0.5, 1), min(scale / ratio**0.5, 1)
        left, top = rng.uniform(0, 1 - wide), rng.uniform(0, 1 - tall)
        return np.array([left, top, left + wide, top + tall])

    def _allowed(self, kind: int, boxes: Any, box: Any) -> bool:
        """Whether some object is seen as the settings of a kind want it."""
        own = areas(box[None])[0]
        if own <= 0:
            return False
        shares = coverages(boxes, box)
        seen = shares * areas(boxes[:, 1:])
        together = areas(boxes[:, 1:]) + own - seen
        values = {"overlaps": seen / together, "sample_coverages": seen / own}
        values["object_coverages"] = shares
        good = np.ones(len(boxes), bool)
        for name, found in values.items():
            least = self._sampler(f"min_crop_{name}", kind)
            good &= (found >= least) & (
                found <= self._sampler(f"max_crop_{name}", kind)
            )
        return bool((good & (seen > 0)).any()) and len(self._kept(boxes, box)) > 0

    def _kept(self, boxes: Any, box: Any) -> Any:
        """The boxes that stay after a cut."""
        if self.crop_emit_mode == "overlap":
            return boxes[coverages(boxes, box) > self.emit_overlap_thresh]
        middle = (boxes[:, 1:3] + boxes[:, 3:5]) / 2
        return boxes[((middle > box[:2]) & (middle < box[2:])).all(1)]

    def _fitted(
        self, image: Any, boxes: Any, height: int, width: int, rng: random.Random
    ) -> tuple[Any, Any]:
        """The image in the size of the batch; in a frame where the aspect is kept."""
        simple = Distortion(inter_method=self.inter_method)
        if self.resize_mode == "force":
            return simple._resized(image, height, width, rng), boxes
        scale = min(height / image.shape[0], width / image.shape[1])
        if self.resize_mode == "shrink":
            scale = min(scale, 1.0)
        tall, wide = (max(int(side * scale), 1) for side in image.shape[:2])
        image = simple._resized(image, tall, wide, rng)
        y, x = (height - tall) // 2, (width - wide) // 2
        sides = (y, height - tall - y, x, width - wide - x)
        image = codec.border(image, sides, 0, self.fill_value)
        return image, within(boxes, (-x, -y, width, height), (tall, wide))


class ImageDetRecordIter(ImageRecordIter):
    """Batches of images with boxes, and labels (batch, 4 + longest label).

    A label begins with the channels, height and width of the image and the length of
    what follows: the numbers of the record (how long its header is, how long a box, the
    rest of the header, the boxes), filled up with label_pad_value. label_pad_width:
    room for so many numbers, if that is more than the longest label. The settings of
    files, threads and batches are those of `ImageRecordIter`, the others those of
    `BoxDistortion`, mean_r … std_a and scale.
    """

    aug_seq = "det_aug_default"

    def __init__(
        self,
        path_imgrec: str = "./data/imgrec.rec",
        data_shape: Shape = (3, 300, 300),
        batch_size: int = 1,
        label_width: int = -1,
        label_pad_width: int = 0,
        label_pad_value: float = -1.0,
        **kwargs: Any,
    ) -> None:
        self._pad_width, self._pad_value = label_pad_width, label_pad_value
        super().__init__(
            path_imgrec, data_shape, batch_size, label_width=label_width, **kwargs
        )

    def _settings(self, settings: dict[str, Any]) -> None:
        for letter in "rgba":  # 0 is MXNet's default here, and means 1
            settings[f"std_{letter}"] = settings.get(f"std_{letter}") or 1.0
        names = [field.name for field in dataclasses.fields(BoxDistortion)]
        given = {word: settings.pop(word) for word in names if word in settings}
        super()._settings(settings)
        self._changes = BoxDistortion(**given)
        if self._normal.mirror or self._normal.rand_mirror:
            raise ArgumentError("ImageDetRecordIter mirrors by rand_mirror_prob.")

    def _described_label(self, name: str, batch_size: int) -> DataDesc:
        if self._label_width < 1:
            sizes = [self._records.label_size(i) for i in range(len(self._records))]
            self._label_width = max(sizes)
        length = max(self._label_width, self._pad_width)
        return DataDesc(name, (batch_size, _HEAD + length))

    def _put(self, number: int, place: int, data: Any, label: Any) -> int:
        """Decode a record into its place in a batch; returns the image's id."""
        found, numbers, content = self._records.sample(number)
        begin, wide = (int(n) for n in numbers[:2]) if numbers.size > 2 else (0, 0)
        if begin < 2 or wide < 5 or (numbers.size - begin) % wide:
            raise DataError(
                f"{self._records.name(number)} has a label of {numbers.size} numbers, "
                f"which cannot be a header of {begin} and boxes of {wide}."
            )
        rng, boxes = self._rng(place), numbers[begin:].reshape(-1, wide).copy()
        image = self._image(content, number)
        image, boxes = self._changes(image, boxes, *self._size, rng)
        self._normalize(image, data, rng)
        row = np.concatenate([self._shape, [0], numbers[:begin], boxes.ravel()])
        row[3] = len(row) - _HEAD
        if len(row) > label.shape[-1]:
            raise DataError(
                f"{self._records.name(number)} has a label of {len(row) - _HEAD} "
                f"numbers, and there is room for {label.shape[-1] - _HEAD}."
            )
        label[...] = self._pad_value
        label[..., : len(row)] = row
        return found

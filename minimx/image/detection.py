"""`mx.image.detection`: images with boxes, for networks that find objects.

`ImageDetIter` is an `ImageIter` whose labels are boxes; `boxes.py` has the augmenters.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from typing import Any, Self

import numpy as np

from minimx.aliases import resolve_missing as _resolve_missing
from minimx.core.arrays.array import NDArray
from minimx.core.errors import ArgumentError, DataError, ShapeError
from minimx.image import codec
from minimx.image.boxes import (
    CreateDetAugmenter,
    CreateMultiRandCropAugmenter,
    DetAugmenter,
    DetBorrowAug,
    DetHorizontalFlipAug,
    DetRandomCropAug,
    DetRandomPadAug,
    DetRandomSelectAug,
)
from minimx.image.iterator import ImageIter, LeftOut
from minimx.io.batches import DataDesc

__all__ = [
    "CreateDetAugmenter",
    "CreateMultiRandCropAugmenter",
    "DetAugmenter",
    "DetBorrowAug",
    "DetHorizontalFlipAug",
    "DetRandomCropAug",
    "DetRandomPadAug",
    "DetRandomSelectAug",
    "ImageDetIter",
]


class ImageDetIter(ImageIter):
    """Batches of images with boxes.

    The label of a sample is a row of numbers: how many numbers stand before the boxes,
    how many a box has (5 or more), more that is of no use here, then the boxes: class,
    left, top, right, bottom, as shares of the width and the height. In a batch they are
    (batch_size, most boxes, numbers of a box), filled up with -1. A sample without any
    valid box is left out, with a message in the log.

    The arguments are those of `ImageIter` and `CreateDetAugmenter`.
    """

    def __init__(
        self,
        batch_size: int,
        data_shape: tuple[int, int, int],
        path_imgrec: str | None = None,
        path_imglist: str | None = None,
        path_root: str | None = None,
        path_imgidx: str | None = None,
        shuffle: bool = False,
        part_index: int = 0,
        num_parts: int = 1,
        aug_list: Sequence[DetAugmenter] | None = None,
        imglist: Sequence[Any] | None = None,
        data_name: str = "data",
        label_name: str = "label",
        last_batch_handle: str = "pad",
        **kwargs: Any,
    ) -> None:
        super().__init__(
            batch_size,
            data_shape,
            path_imgrec=path_imgrec,
            path_imglist=path_imglist,
            path_root=path_root,
            path_imgidx=path_imgidx,
            shuffle=shuffle,
            part_index=part_index,
            num_parts=num_parts,
            aug_list=[],
            imglist=imglist,
            data_name=data_name,
            label_name=label_name,
            last_batch_handle=last_batch_handle,
        )
        if aug_list is None:
            self.auglist = CreateDetAugmenter(data_shape, **kwargs)
        else:
            self.auglist = list(aug_list)
        self.label_shape = self._estimate_label_shape()
        self.provide_label = [DataDesc(label_name, (batch_size, *self.label_shape))]

    def _estimate_label_shape(self) -> tuple[int, int]:
        """The most boxes of a sample, and how many numbers a box has."""
        most, wide = 0, 5
        self.reset()
        while True:
            try:
                boxes = self._parse_label(self.next_sample()[0])
            except StopIteration:
                break
            except LeftOut:
                continue
            most, wide = max(most, len(boxes)), boxes.shape[1]
        self.reset()
        return most, wide

    def _parse_label(self, label: Any) -> Any:
        """The boxes of a label, (N, 5 or more), without those that have no area."""
        raw = label.asnumpy() if isinstance(label, NDArray) else np.asarray(label)
        raw = raw.ravel()
        if raw.size < 7:
            raise DataError(
                f"ImageDetIter: a label of {raw.size} numbers holds no box. It begins "
                "with the length of its header (at least 2) and of a box (at least 5)."
            )
        begin, wide = int(raw[0]), int(raw[1])
        if begin < 2 or wide < 5 or (raw.size - begin) % wide:
            raise DataError(
                f"ImageDetIter: a label of {raw.size} numbers cannot have a header of "
                f"{begin} and then boxes of {wide}."
            )
        boxes = raw[begin:].reshape(-1, wide)
        boxes = boxes[(boxes[:, 3] > boxes[:, 1]) & (boxes[:, 4] > boxes[:, 2])]
        if not len(boxes):
            raise LeftOut("it has no box with an area.")
        return boxes.copy()

    def check_label_shape(self, label_shape: Sequence[int]) -> None:
        """Raise an error unless it is (boxes, numbers) with room for all of ours."""
        if len(label_shape) != 2:
            raise ShapeError(f"label_shape={label_shape} must be (boxes, numbers).")
        if label_shape[0] < self.label_shape[0] or (
            label_shape[1] != self.label_shape[1]
        ):
            raise ShapeError(
                f"label_shape={tuple(label_shape)} has no room for ours, "
                f"{self.label_shape}."
            )

    def reshape(
        self,
        data_shape: tuple[int, int, int] | None = None,
        label_shape: tuple[int, int] | None = None,
    ) -> None:
        """Make batches of another size of images, or with room for more boxes."""
        if data_shape is not None:
            self.check_data_shape(data_shape)
            name = self.provide_data[0].name
            self.provide_data = [DataDesc(name, (self.batch_size, *data_shape))]
            self.data_shape = tuple(data_shape)
        if label_shape is not None:
            self.check_label_shape(label_shape)
            name = self.provide_label[0].name
            self.provide_label = [DataDesc(name, (self.batch_size, *label_shape))]
            self.label_shape = label_shape

    def sync_label_shape(self, it: Self, verbose: bool = False) -> Self:
        """Give two iterators room for the same number of boxes; returns the other."""
        if not isinstance(it, ImageDetIter):
            raise ArgumentError(f"sync_label_shape takes an ImageDetIter, not {it!r}.")
        most = max(self.label_shape[0], it.label_shape[0])
        for one in (self, it):
            one.reshape(label_shape=(most, self.label_shape[1]))
        if verbose:
            logging.info("both iterators have room for %d boxes", most)
        return it

    def _fill(self, data: Any, label: Any, place: int) -> None:
        """Put the next sample into a batch."""
        numbers, content = self.next_sample()
        image, boxes = self._changed(numbers, content)
        if len(boxes) > label.shape[1]:
            raise ShapeError(
                f"ImageDetIter: a sample has {len(boxes)} boxes, and the batch room "
                f"for {label.shape[1]}."
            )
        data[place] = self._fitting(self.postprocess_data(image).asnumpy())
        label[place] = -1
        label[place, : len(boxes)] = boxes

    def _changed(self, numbers: Any, content: bytes) -> tuple[Any, Any]:
        """A sample, decoded and augmented."""
        image = self.imdecode(content)
        self.check_valid_image([image])
        boxes = self._parse_label(numbers)
        return self.augmentation_transform(image, boxes)

    def augmentation_transform(self, data: Any, label: Any) -> tuple[Any, Any]:  # type: ignore[override]
        """The image and its boxes after all augmenters."""
        for augmenter in self.auglist:
            data, label = augmenter(data, label)
        return data, label

    def draw_next(
        self,
        color: tuple[int, int, int] | None = None,
        thickness: int = 2,
        mean: Any = None,
        std: Any = None,
        clip: bool = True,
        waitKey: int | None = None,
        window_name: str = "draw_next",
        id2labels: Any = None,
    ) -> Iterator[Any]:
        """The following images with their boxes drawn on them, (H, W, 3), blue first.

        color: of the boxes, red, green, blue; else one for each class. mean, std: True,
        or arrays, to undo a normalization. clip: into 0 to 255. waitKey: show each in a
        window for so many milliseconds, which needs an OpenCV with windows. id2labels:
        the name of each class, by its number.
        """
        cv2 = codec.opencv()
        if cv2 is None:
            raise ArgumentError("draw_next: boxes are drawn by OpenCV; install it.")
        while True:
            try:
                image, boxes = self._changed(*self.next_sample())
            except StopIteration:
                return
            except LeftOut:
                continue
            picture = _undone(image.asnumpy(), mean, std, clip)[..., ::-1].copy()
            for box in boxes:
                _draw(cv2, picture, box, color, thickness, id2labels)
            if waitKey is not None:
                cv2.imshow(window_name, picture)
                cv2.waitKey(waitKey)
            yield picture


def _undone(image: Any, mean: Any, std: Any, clip: bool) -> Any:
    """An image before it was normalized, as uint8."""
    from minimx.image.augment import MEAN, STD

    image = image.astype(np.float64)
    if std is not None:
        image = image * (STD if std is True else np.asarray(std))
    if mean is not None:
        image = image + (MEAN if mean is True else np.asarray(mean))
    return (image.clip(0, 255) if clip else image).astype(np.uint8)


def _draw(
    cv2: Any, picture: Any, box: Any, color: Any, thickness: int, names: Any
) -> None:
    """Draw one box, and the name of its class if there are names."""
    height, width = picture.shape[:2]
    number = int(box[0])
    if color is None:
        color = np.random.RandomState(number).randint(0, 256, 3).tolist()
    left, top, right, bottom = (box[1:5] * [width, height, width, height]).astype(int)
    corners = (int(left), int(top)), (int(right), int(bottom))
    cv2.rectangle(picture, *corners, tuple(color[::-1]), thickness)
    if names is not None:
        place, font = (corners[0][0] + 5, corners[0][1] + 20), cv2.FONT_HERSHEY_SIMPLEX
        cv2.putText(picture, str(names[number]), place, font, 0.5, (255, 255, 255))


_resolve_missing(__name__, __all__)

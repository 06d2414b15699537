"""`ImageIter`: batches of images, from a file of records or from a list of files."""

from __future__ import annotations

import logging
import os
import random
from collections.abc import Sequence
from typing import Any

import numpy as np

from minimx.core.errors import ArgumentError, DataError
from minimx.image import codec
from minimx.image.augment import CreateAugmenter
from minimx.image.functions import imdecode, made
from minimx.image.sources import open_source
from minimx.io.batches import DataBatch, DataDesc, DataIter

HANDLES = ("pad", "discard", "roll_over")
DTYPES = ("int32", "float32", "int64", "float64")


class LeftOut(DataError):
    """A sample is of no use: the log says why, and the next one takes its place."""


class ImageIter(DataIter):
    """Batches of images, decoded and augmented in Python.

    data_shape: (3, H, W) of an image in a batch.
    label_width: how many numbers a label has.
    path_imgrec, path_imgidx: a file of records and its index.
    path_imglist: a file of lines `key<TAB>label<TAB>path`; imglist: the same as a list
    of [label, path], without keys; path_root: where the paths begin.
    aug_list: augmenters, else those of `CreateAugmenter` for the other arguments.
    num_parts, part_index: iterate over one of so many parts.
    last_batch_handle: "pad" fills the last batch from the beginning,
    "discard" drops it, "roll_over" lets it begin the next epoch.

    An image that does not decode raises an error that names it.
    """

    def __init__(
        self,
        batch_size: int,
        data_shape: tuple[int, int, int],
        label_width: int = 1,
        path_imgrec: str | None = None,
        path_imglist: str | None = None,
        path_root: str | None = None,
        path_imgidx: str | None = None,
        shuffle: bool = False,
        part_index: int = 0,
        num_parts: int = 1,
        aug_list: Sequence[Any] | None = None,
        imglist: Sequence[Any] | None = None,
        data_name: str = "data",
        label_name: str = "softmax_label",
        dtype: Any = "float32",
        last_batch_handle: str = "pad",
        **kwargs: Any,
    ) -> None:
        super().__init__(batch_size)
        self._check(dtype, last_batch_handle)
        self.check_data_shape(data_shape)
        self._source = open_source(
            path_imgrec, path_imgidx, path_imglist, imglist, path_root, dtype
        )
        self._root = path_root or ""
        self.dtype = dtype
        self.data_shape = tuple(data_shape)
        self.label_width = label_width
        self.shuffle = shuffle
        self.last_batch_handle = last_batch_handle
        self.seq = self._part(num_parts, part_index)
        self.num_image = None if self.seq is None else len(self.seq)
        wide = (batch_size, label_width) if label_width > 1 else (batch_size,)
        self.provide_data = [DataDesc(data_name, (batch_size, *data_shape))]
        self.provide_label = [DataDesc(label_name, wide)]
        if aug_list is None:
            self.auglist: list[Any] = CreateAugmenter(data_shape, **kwargs)
        else:
            self.auglist = list(aug_list)
        self.cur = 0
        self._ended = False
        #: A batch begun in the epoch before: images, labels, and how many there are.
        self._rolled: tuple[Any, Any, int] | None = None
        self.reset()

    def _check(self, dtype: Any, last_batch_handle: str) -> None:
        if np.dtype(dtype).name not in DTYPES or last_batch_handle not in HANDLES:
            raise ArgumentError(
                f"{type(self).__name__}: dtype={dtype!r} must be one of "
                f"{', '.join(DTYPES)}, and last_batch_handle={last_batch_handle!r} one "
                f"of {', '.join(HANDLES)}."
            )

    def _part(self, num_parts: int, part_index: int) -> list[Any] | None:
        """The keys of our part, if the samples have any."""
        keys = self._source.keys
        if keys is None and (self.shuffle or num_parts > 1):
            raise ArgumentError(
                f"{type(self).__name__}: records without an index come in their own "
                "order. Give path_imgidx to shuffle them or to take a part of them."
            )
        if not 0 <= part_index < num_parts:
            raise ArgumentError(
                f"{type(self).__name__}: there is no part {part_index} among "
                f"{num_parts}; parts are counted from 0."
            )
        if keys is None or num_parts == 1:
            return keys
        size = len(keys) // num_parts
        return keys[part_index * size : (part_index + 1) * size]

    def check_data_shape(self, data_shape: Sequence[int]) -> None:
        """Raise an error for anything but (3, height, width)."""
        if len(data_shape) != 3 or data_shape[0] != 3:
            raise ArgumentError(
                f"{type(self).__name__}: data_shape={tuple(data_shape)} must be (3, "
                "height, width)."
            )

    def check_valid_image(self, data: Sequence[Any]) -> None:
        """Raise `LeftOut` for an image without pixels."""
        if not data[0].size:
            raise LeftOut("it has no pixels.")

    def reset(self) -> None:
        """Begin an epoch, with what was left of the last one if it rolls over."""
        if self.seq is not None and self.shuffle:
            random.shuffle(self.seq)
        if self.last_batch_handle != "roll_over" or self._rolled is None:
            self._rewind()

    def hard_reset(self) -> None:
        """Begin an epoch, and forget what was rolled over."""
        self._rolled = None
        self.reset()

    def _rewind(self) -> None:
        self._source.reset()
        self.cur = 0
        self._ended = False

    def next_sample(self) -> tuple[Any, bytes]:
        """The label and the bytes of the next image."""
        if self._ended:
            raise StopIteration
        if self.seq is None:
            found = self._source.following()
        elif self.cur < len(self.seq):
            found = self._source.sample(self.seq[self.cur])
        else:
            found = None
        if found is None:
            if self.last_batch_handle != "discard":
                self._rewind()
            raise StopIteration
        self.cur += 1
        return found

    def imdecode(self, s: bytes) -> Any:
        """The image (H, W, 3). Raises DataError that names it."""
        try:
            return imdecode(s)
        except DataError as reason:
            key = self.cur - 1 if self.seq is None else self.seq[self.cur - 1]
            raise DataError(
                f"Broken image {self._source.name(key)}: {reason}"
            ) from reason

    def read_image(self, fname: str) -> bytes:
        """The bytes of an image file below path_root."""
        return codec.read(os.path.join(self._root, fname))

    def augmentation_transform(self, data: Any) -> Any:
        """The image after all augmenters."""
        for augmenter in self.auglist:
            data = augmenter(data)
        return data

    def postprocess_data(self, datum: Any) -> Any:
        """The image as it stands in a batch, (3, H, W)."""
        return datum.transpose((2, 0, 1))

    def _samples(self, data: Any, label: Any, start: int = 0) -> int:
        """Fill a batch from a place on; returns up to where."""
        place = start
        while place < self.batch_size:
            try:
                self._fill(data, label, place)
            except StopIteration:
                break
            except LeftOut as reason:
                logging.warning("an image is left out: %s", reason)
                continue
            place += 1
        return place

    def _fill(self, data: Any, label: Any, place: int) -> None:
        """Put the next sample into a batch."""
        numbers, content = self.next_sample()
        image = self.imdecode(content)
        self.check_valid_image([image])
        image = self.augmentation_transform(image)
        data[place] = self._fitting(self.postprocess_data(image).asnumpy())
        label[place] = np.reshape(numbers, label.shape[1:])

    def _fitting(self, image: Any) -> Any:
        if image.shape != self.data_shape:
            raise DataError(
                f"an image of shape {image.shape} does not fit into batches of "
                f"data_shape={self.data_shape}. An augmenter must resize or crop it."
            )
        return image

    def _empty(self) -> tuple[Any, Any]:
        """Arrays for a batch."""
        data = np.zeros(self.provide_data[0].shape, np.float32)
        return data, np.zeros(self.provide_label[0].shape, np.float32)

    def next(self) -> DataBatch:
        """The next batch; its `pad` counts examples that only fill it."""
        if self._rolled is not None:
            data, label, filled = self._rolled
        else:
            data, label = self._empty()
            filled = self._samples(data, label)
            if not filled:
                raise StopIteration
        pad = self.batch_size - filled
        if pad:
            if self.last_batch_handle == "discard":
                raise StopIteration
            if self.last_batch_handle == "roll_over" and self._rolled is None:
                self._rolled = data, label, filled
                raise StopIteration
            while filled < self.batch_size:
                more = self._samples(data, label, filled)
                if more == filled:
                    raise DataError(f"{type(self).__name__}: there are no images.")
                filled = more
            self._rolled = None
            self._ended = self.last_batch_handle == "pad"
        return DataBatch([made(data)], [made(label)], pad=pad)

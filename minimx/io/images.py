"""`ImageRecordIter`: batches of images from files of records, decoded ahead in threads.

The thread that asks for batches hands out the work: each batch is cut into as many
pieces as there are threads, and a few batches are on their way at any time. Random
numbers belong to a sample (its place in the program's life), not to a thread, so a run
does not depend on how many threads decode.
"""

from __future__ import annotations

import dataclasses
import os
import random
from collections import deque
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from minimx.core.arrays.array import NDArray, new
from minimx.core.arrays.creation import array
from minimx.core.device import cpu
from minimx.core.dtypes import resolve
from minimx.core.errors import ArgumentError, DataError, ShapeError
from minimx.core.ops.spec import Spec
from minimx.core.shapes import Shape
from minimx.image import codec
from minimx.image.sources import listed
from minimx.io.batches import DataBatch, DataDesc
from minimx.io.distort import Distortion
from minimx.io.files import MXDataIter, described, note_unknown
from minimx.io.records import ImageRecords
from minimx.io.rounds import Batch, Rounds, shuffled
from minimx.nd import serialize
from minimx.tools.progress import Bar

__all__ = [
    "ImageRecordInt8Iter", "ImageRecordIter", "ImageRecordIter_v1",
    "ImageRecordUInt8Iter", "ImageRecordUInt8Iter_v1",
]  # fmt: skip

if TYPE_CHECKING:
    from concurrent.futures import Future

DTYPES = ("float32", "uint8", "int8")
#: What the file may have for so many channels.
FLAGS = {1: codec.GREY, 3: codec.COLOUR, 4: codec.UNCHANGED}


@dataclasses.dataclass(frozen=True)
class Normal:
    """((x - mean) * contrast + illumination) * scale / std, and mirrored or not."""

    mean_img: str = ""
    mean_r: float = 0.0
    mean_g: float = 0.0
    mean_b: float = 0.0
    mean_a: float = 0.0
    std_r: float = 1.0
    std_g: float = 1.0
    std_b: float = 1.0
    std_a: float = 1.0
    scale: float = 1.0
    mirror: bool = False
    rand_mirror: bool = False
    max_random_contrast: float = 0.0
    max_random_illumination: float = 0.0

    def of(self, kind: str, channels: int) -> Any:
        """Mean or standard deviation, (C, 1, 1)."""
        found = [getattr(self, f"{kind}_{letter}") for letter in "rgba"[:channels]]
        return np.array(found, np.float32).reshape(-1, 1, 1)


class ImageRecordIter(MXDataIter):
    """Batches of images, (batch, C, H, W) of float32, and their labels.

    path_imgrec: a file of records, a folder of them, or several with `;` between;
    path_imgidx: its index, which saves looking through it. path_imglist: a list with
    other labels, by the id of the image. data_shape: (C, H, W), C being 1, 3 or 4.
    label_width: how many numbers a label has. preprocess_threads: that decode.
    prefetch_buffer: how many batches are made ahead. num_parts, part_index: read one of
    so many parts. shuffle, seed: in another order in every epoch. shuffle_chunk_size,
    shuffle_chunk_seed: take pieces of so many MB in another order in every epoch, which
    spares a disk; `shuffle` then mixes within a piece. seed_aug: for the random
    changes. round_batch: see `minimx.io.rounds`. dtype: float32, uint8 or int8.
    aug_seq: there is only one.

    The other settings are those of `Distortion` and, for float32, of `Normal`; mean_img
    names a file with a mean image, which is computed and stored if it is missing.
    """

    dtype = "float32"
    #: The only sequence of changes that there is.
    aug_seq = "aug_default"

    def __init__(
        self,
        path_imgrec: str,
        data_shape: Shape,
        batch_size: int,
        path_imglist: str = "",
        path_imgidx: str = "",
        label_width: int = 1,
        preprocess_threads: int = 4,
        prefetch_buffer: int = 4,
        num_parts: int = 1,
        part_index: int = 0,
        shuffle: bool = False,
        seed: int = 0,
        seed_aug: int | None = None,
        round_batch: bool = True,
        dtype: str | None = None,
        data_name: str = "data",
        label_name: str = "softmax_label",
        shuffle_chunk_size: int = 0,
        shuffle_chunk_seed: int = 0,
        aug_seq: str | None = None,
        **kwargs: Any,
    ) -> None:
        from concurrent.futures import ThreadPoolExecutor

        self._dtype = self.dtype if dtype is None else np.dtype(dtype).name
        self._check(tuple(data_shape), preprocess_threads, prefetch_buffer)
        self._check_order(shuffle_chunk_size, aug_seq)
        self._shape = tuple(data_shape)
        self._size = (data_shape[1], data_shape[2])
        self._threads, self._ahead = preprocess_threads, max(prefetch_buffer, 1)
        self._label_width = label_width
        self._seed = seed if seed_aug is None else seed_aug
        labels = None
        if path_imglist:
            labels = {key: label for key, label, _ in listed(path_imglist)}
        part = (num_parts, part_index)
        self._records = ImageRecords(path_imgrec, path_imgidx, part, labels)
        self._settings(kwargs)
        length = len(self._records)
        order = shuffled(length, seed) if shuffle else None
        if shuffle_chunk_size:
            order = self._records.chunked(
                shuffle_chunk_size, shuffle_chunk_seed, seed if shuffle else None
            )
        super().__init__(
            Rounds(length, batch_size, bool(round_batch), order),
            described(data_name, batch_size, data_shape, self._dtype),
            self._described_label(label_name, batch_size),
        )
        self._workers = ThreadPoolExecutor(preprocess_threads, "ImageRecordIter")
        self._places = count()
        self._mean: Any = None
        self._mean = self._mean_image()

    def _check(self, shape: Shape, threads: int, ahead: int) -> None:
        if len(shape) != 3 or shape[0] not in FLAGS or min(shape) < 1:
            raise ShapeError(
                f"{type(self).__name__}: data_shape={shape} must be (channels, height, "
                "width), with 1, 3 or 4 channels."
            )
        if self._dtype not in DTYPES or threads < 1 or ahead < 0:
            raise ArgumentError(
                f"{type(self).__name__}: dtype={self._dtype!r} must be one of "
                f"{DTYPES}, preprocess_threads={threads} at least 1, and "
                f"prefetch_buffer={ahead} not negative."
            )

    def _check_order(self, chunk: int, changes: str | None) -> None:
        if chunk < 0 or changes not in (None, self.aug_seq):
            raise ArgumentError(
                f"{type(self).__name__}: shuffle_chunk_size={chunk} must not be "
                f"negative, and aug_seq={changes!r} can only be {self.aug_seq!r}: its "
                "changes are settings of their own, such as rand_crop. For another "
                "sequence use mx.image.ImageIter(aug_list=[…])."
            )

    def _settings(self, settings: dict[str, Any]) -> None:
        """Part the other settings: changes of the image, and of its numbers."""
        names = [_names(Distortion), _names(Normal)]
        given: list[dict[str, Any]] = [
            {word: settings[word] for word in some if word in settings}
            for some in names
        ]
        self._distortion, self._normal = Distortion(**given[0]), Normal(**given[1])
        other = {w: x for w, x in settings.items() if w not in names[0] + names[1]}
        note_unknown(type(self).__name__, other, (*names[0], *names[1]))

    def _described_label(self, name: str, batch_size: int) -> DataDesc:
        return described(name, batch_size, (self._label_width,), "float32", label=True)

    def __del__(self) -> None:
        workers = getattr(self, "_workers", None)
        if workers is not None:
            workers.shutdown(wait=False, cancel_futures=True)

    # -- one image ---------------------------------------------------------------------

    def _rng(self, place: int) -> random.Random:
        return random.Random(self._seed * 0x9E3779B97F4A7C15 + place)

    def _image(self, content: bytes, number: int) -> Any:
        """The pixels of a record, (H, W, C)."""
        channels = self._shape[0]
        try:
            image = codec.decode(content, FLAGS[channels])
        except DataError as reason:
            raise DataError(f"{self._records.name(number)}: {reason}") from reason
        if image.shape[2] != channels:
            raise DataError(
                f"{self._records.name(number)} has {image.shape[2]} channels, and "
                f"data_shape={self._shape} asks for {channels}."
            )
        return image

    def _put(self, number: int, place: int, data: Any, label: Any) -> int:
        """Decode a record into its place in a batch; returns the image's id."""
        found, numbers, content = self._records.sample(number)
        if numbers.size != self._label_width:
            raise DataError(
                f"{self._records.name(number)} has a label of {numbers.size} numbers; "
                f"label_width is {self._label_width}."
            )
        rng = self._rng(place)
        image = self._distortion(self._image(content, number), *self._size, rng)
        self._normalize(image, data, rng)
        label[...] = numbers.reshape(label.shape)
        return found

    def _normalize(self, image: Any, out: Any, rng: random.Random) -> None:
        """Write an image (H, W, C) as (C, H, W) of our numbers."""
        normal, channels = self._normal, self._shape[0]
        if normal.mirror or (normal.rand_mirror and rng.random() < 0.5):
            image = image[:, ::-1]
        pixels = image.transpose(2, 0, 1)
        if self._dtype != "float32":
            limits = np.iinfo(self._dtype)
            out[...] = pixels.clip(limits.min, limits.max)
            return
        mean = normal.of("mean", channels) if self._mean is None else self._mean
        np.subtract(pixels, mean, out=out)
        if normal.max_random_contrast or normal.max_random_illumination:
            most = normal.max_random_contrast
            out *= 1 + rng.uniform(-most, most)
            most = normal.max_random_illumination
            out += rng.uniform(-most, most)
        factor = normal.scale / normal.of("std", channels)
        if (factor != 1).any():
            out *= factor

    # -- one batch ---------------------------------------------------------------------

    def _made(self, plan: Iterator[Batch]) -> Iterator[DataBatch]:
        """The batches of a plan; a few are on their way."""
        ahead: deque[_OnItsWay] = deque()
        try:
            for batch in plan:
                ahead.append(self._begun(batch))
                if len(ahead) > self._ahead:
                    yield self._finished(ahead.popleft())
            while ahead:
                yield self._finished(ahead.popleft())
        finally:
            for waiting in ahead:
                waiting.cancel()

    def _begun(self, batch: Batch) -> _OnItsWay:
        arrays = [
            new(Spec.of(desc.shape, resolve(desc.dtype)), cpu(), type(self).__name__)
            for desc in (self.provide_data[0], self.provide_label[0])
        ]
        # No other code can have the new arrays yet: they are filled without the engine.
        data, label = (one.view() for one in arrays)
        ids = np.zeros(len(batch.rows), np.uint64)
        first = next(self._places) * self.batch_size

        def fill(part: int) -> None:
            for place in range(part, len(batch.rows), self._threads):
                sample = (batch.rows[place], first + place)
                ids[place] = self._put(*sample, data[place], label[place : place + 1])

        parts = range(min(self._threads, len(batch.rows)))
        futures = [self._workers.submit(fill, part) for part in parts]
        return _OnItsWay(batch.pad, arrays, ids, futures)

    def _finished(self, waiting: _OnItsWay) -> DataBatch:
        for future in waiting.futures:
            future.result()
        data, label = waiting.arrays
        return self._batch(waiting.pad, data, label, waiting.ids)

    # -- the mean image ----------------------------------------------------------------

    def _mean_image(self) -> Any:
        """The mean of all images, (C, H, W); computed if the file is missing."""
        path = self._normal.mean_img
        if not path or self._dtype != "float32":
            return None
        if not os.path.exists(path):
            plain, self._normal = self._normal, Normal()
            total = np.zeros(self._shape)
            with Bar() as bar:
                for number in range(len(self._records)):
                    out = np.zeros(self._shape, np.float32)
                    self._put(number, number, out, np.zeros((1, self._label_width)))
                    total += out
                    bar.show(number + 1, len(self._records), "mean image")
            self._normal = plain
            mean = array((total / len(self._records)).astype(np.float32), ctx=cpu())
            partial = Path(f"{path}.{os.getpid()}.part")
            serialize.save(partial, {"mean_img": mean})
            partial.replace(path)
        stored = serialize.load(path)
        found = stored.get("mean_img") if isinstance(stored, dict) else stored[0]
        if found is None or found.shape != self._shape:
            raise DataError(
                f"{path!r} holds no mean image of the shape {self._shape}. Delete it "
                "to have it computed again."
            )
        return found.asnumpy()


@dataclasses.dataclass
class _OnItsWay:
    """A batch that threads are filling."""

    pad: int
    arrays: list[NDArray]
    ids: Any
    futures: list[Future[None]]

    def cancel(self) -> None:
        """Let those that have not begun never begin; no caller waits for the others.

        Waiting for them would be a trap: Python may collect an iterator, and so end its
        generator, in the very thread that is filling.
        """
        for future in self.futures:
            future.cancel()


class ImageRecordUInt8Iter(ImageRecordIter):
    """As `ImageRecordIter`, with the pixels themselves, of uint8."""

    dtype = "uint8"


class ImageRecordInt8Iter(ImageRecordIter):
    """As `ImageRecordIter`, with pixels of int8; above 127 they are 127."""

    dtype = "int8"


#: What an older implementation in MXNet is called.
ImageRecordIter_v1 = ImageRecordIter
ImageRecordUInt8Iter_v1 = ImageRecordUInt8Iter


def _names(kind: type[Any]) -> list[str]:
    return [field.name for field in dataclasses.fields(kind)]

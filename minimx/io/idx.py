"""IDX files, in which MNIST comes, and the iterator over them."""

from __future__ import annotations

import os
from math import prod
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from minimx.core.arrays.array import NDArray
from minimx.core.errors import DataError
from minimx.io.files import MXDataIter, described, note_unknown, on_host
from minimx.io.rounds import Rounds, shuffled

#: No such file holds more; a larger claim is a mistake or a trap.
MAX_BYTES = 1 << 30


def read_idx(path: Path) -> Any:
    """The array in an IDX file of unsigned bytes, packed with gzip or not."""
    import gzip  # unpacking is needed by few programs: not paid for at import
    import zlib

    try:
        with gzip.open(path) if path.suffix == ".gz" else open(path, "rb") as file:
            return _parse_idx(file, path)  # type: ignore[arg-type]
    except (OSError, EOFError, zlib.error) as reason:
        raise DataError(
            f"{path} cannot be unpacked: {reason}. Delete it to fetch it again."
        ) from reason


def _parse_idx(file: BinaryIO, path: Path) -> Any:
    magic = file.read(4)
    if len(magic) < 4 or magic[:3] != b"\0\0\x08" or not 1 <= magic[3] <= 4:
        raise DataError(
            f"{path} is no IDX file of bytes: it starts with {magic!r}. Is it the file "
            "that its name says?"
        )
    ndim = magic[3]
    header = file.read(4 * ndim)
    shape = tuple(int(n) for n in np.frombuffer(header[: len(header) // 4 * 4], ">u4"))
    size = prod(shape)
    if len(shape) != ndim or size > MAX_BYTES:
        raise DataError(f"{path} is damaged: its header claims the shape {shape}.")
    content = file.read(size + 1)
    if len(content) != size:
        raise DataError(
            f"{path} is damaged: its header claims {size} bytes of shape {shape}, but "
            f"{'more follow' if len(content) > size else f'{len(content)} follow'}. "
            "Delete it to fetch it again."
        )
    return np.frombuffer(content, np.uint8).reshape(shape)


class MNISTIter(MXDataIter):
    """Batches of the images of MNIST: (batch, 1, 28, 28) of numbers from 0 to 1.

    image, label: IDX files, packed with gzip or not. flat: (batch, 784) instead.
    shuffle: in an order drawn from `seed`, the same in every epoch. num_parts,
    part_index: read one of so many parts. A last batch that is not full is dropped.
    """

    def __init__(
        self,
        image: str = "./train-images-idx3-ubyte",
        label: str = "./train-labels-idx1-ubyte",
        batch_size: int = 128,
        shuffle: bool = True,
        flat: bool = False,
        seed: int = 0,
        num_parts: int = 1,
        part_index: int = 0,
        data_name: str = "data",
        label_name: str = "softmax_label",
        **kwargs: Any,
    ) -> None:
        note_unknown("MNISTIter", kwargs, ("data_shape", "input_shape", "dtype"))
        images, labels = read_idx(Path(image)), read_idx(Path(label))
        if images.ndim != 3 or labels.shape != images.shape[:1]:
            raise DataError(
                f"MNISTIter: {os.fspath(image)!r} holds {images.shape} and "
                f"{os.fspath(label)!r} {labels.shape}; these are no images with labels."
            )
        count = len(images)
        begin, end = (
            count * part // num_parts for part in (part_index, part_index + 1)
        )
        rows = np.arange(begin, end)
        if shuffle:
            rows = rows[shuffled(len(rows), seed)(0)]
        self._images, self._labels = images[rows], labels[rows]
        shape = (prod(images.shape[1:]),) if flat else (1, *images.shape[1:])
        whole = len(rows) // batch_size * batch_size
        if not whole:
            raise DataError(
                f"MNISTIter: {len(rows)} images do not fill a batch of {batch_size}."
            )
        super().__init__(
            Rounds(whole, batch_size),
            described(data_name, batch_size, shape, "float32"),
            described(label_name, batch_size, (1,), "float32", label=True),
        )

    def _arrays(self, rows: list[int]) -> tuple[NDArray, NDArray, Any]:
        data = self._images[rows].reshape(self.provide_data[0].shape)
        data = data.astype(np.float32) * np.float32(1 / 256)
        return on_host(data, "float32"), on_host(self._labels[rows], "float32"), rows

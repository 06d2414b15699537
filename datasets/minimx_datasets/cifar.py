"""CIFAR-10 and CIFAR-100 in their binary versions.

A file is a row of records: one label byte (two for CIFAR-100, coarse before fine), then
3,072 pixel bytes, all red ones first, then green, then blue, row by row. A. Krizhevsky,
2009. Not in the box: put the files in `$MXNET_HOME/datasets/cifar10` or `…/cifar100`.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from minimx_datasets.errors import DatasetError
from minimx_datasets.files import Reader, find, home
from minimx_datasets.split import Split

PIXELS = 3 * 32 * 32
#: Records in the largest file (CIFAR-100's `train.bin`).
MOST = 50_000

Half = tuple[NDArray[np.uint8], NDArray[np.uint8]]


def cifar10(folder: str | os.PathLike[str] | None = None) -> Split:
    """CIFAR-10: images (50000 + 10000, 32, 32, 3) of uint8, 10 classes."""
    at = _unpacked(home("cifar10", folder), "cifar-10-batches-bin")
    batches = [find(at, f"data_batch_{number}.bin") for number in range(1, 6)]
    train = _read(batches, labels=1, classes=10)
    return Split(*train, *_read([find(at, "test_batch.bin")], labels=1, classes=10))


def cifar100(
    folder: str | os.PathLike[str] | None = None, *, fine_label: bool = False
) -> Split:
    """CIFAR-100: as CIFAR-10, with 20 coarse classes, or 100 if `fine_label`."""
    at = _unpacked(home("cifar100", folder), "cifar-100-binary")
    classes, column = (100, 1) if fine_label else (20, 0)
    train, test = (
        _read([find(at, name)], labels=2, classes=classes, column=column)
        for name in ("train.bin", "test.bin")
    )
    return Split(*train, *test)


def _unpacked(folder: Path, inside: str) -> Path:
    """The folder itself, or the one that the set's archive makes inside it."""
    return folder / inside if (folder / inside).is_dir() else folder


def _read(paths: Sequence[Path], labels: int, classes: int, column: int = 0) -> Half:
    """Images (n, 32, 32, 3) and labels (n,) of some files, joined."""
    record = labels + PIXELS
    parts = []
    for path in paths:
        size = path.stat().st_size
        if path.suffix != ".bin" or size == 0 or size % record or size > MOST * record:
            raise DatasetError(
                f"{path}: {size:,} bytes are not 1 to {MOST:,} records of {record:,} "
                "bytes. The file is damaged, or the Python version of the set; fetch "
                "the binary version."
            )
        with Reader(path) as reader:
            content = reader.take(size, "the records")
        parts.append(np.frombuffer(content, np.uint8).reshape(-1, record))
    rows = np.concatenate(parts)
    numbers = np.ascontiguousarray(rows[:, column])
    if numbers.max() >= classes:
        raise DatasetError(
            f"{paths[0].parent}: a label is {numbers.max()}, but there are only "
            f"{classes} classes. The files are damaged, or of another set."
        )
    images = rows[:, labels:].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)
    return np.ascontiguousarray(images), numbers

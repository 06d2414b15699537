"""MNIST and Fashion-MNIST as they are handed out: idx files, often gzipped.

An idx file is 0, 0, a code for the element type, the number of axes, each axis' length
as a big-endian 32-bit number, and then the values, big-endian as well.
"""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minimx_datasets.errors import DatasetError
from minimx_datasets.files import Reader, find, home
from minimx_datasets.split import Split

TYPES = {0x08: ">u1", 0x09: ">i1", 0x0B: ">i2", 0x0C: ">i4", 0x0D: ">f4", 0x0E: ">f8"}
MOST_AXES = 8


def read_idx(path: str | os.PathLike[str]) -> NDArray[Any]:
    """The array in an idx file, gzipped if its name ends in .gz.

    Raises DatasetError if the file is not one, or holds fewer or more values than its
    header announces.
    """
    with Reader(Path(path)) as reader:
        zero, code, axes = np.frombuffer(reader.take(4, "the header"), ">u2,u1,u1")[0]
        if zero != 0 or code not in TYPES or not 1 <= axes <= MOST_AXES:
            raise reader.fail("does not begin like an idx file")
        lengths = np.frombuffer(reader.take(4 * int(axes), "the header"), ">u4")
        shape = tuple(int(length) for length in lengths)
        dtype = np.dtype(TYPES[int(code)])
        values = reader.take(math.prod(shape) * dtype.itemsize, f"an array {shape}")
        reader.end()
    array = np.frombuffer(values, dtype).reshape(shape)
    return array.astype(dtype.newbyteorder("="))


def mnist(folder: str | os.PathLike[str] | None = None) -> Split:
    """MNIST: images (60000 + 10000, 28, 28), from `$MXNET_HOME/datasets/mnist`.

    Y. LeCun, C. Cortes, C. J. C. Burges. Not in the box: put the four files there, or
    name another folder.
    """
    return _four_files(home("mnist", folder))


def fashion_mnist(folder: str | os.PathLike[str] | None = None) -> Split:
    """Fashion-MNIST: images of clothes, the same format, `…/datasets/fashion-mnist`.

    H. Xiao, K. Rasul, R. Vollgraf (2017), MIT licence. Not in the box.
    """
    return _four_files(home("fashion-mnist", folder))


def _four_files(folder: Path) -> Split:
    train_x, train_y = _half(folder, "train")
    test_x, test_y = _half(folder, "t10k")
    return Split(train_x, train_y, test_x, test_y)


def _half(folder: Path, part: str) -> tuple[NDArray[Any], NDArray[np.uint8]]:
    """Images and labels of one half, checked against each other."""
    paths = [
        find(folder, f"{part}-{stem}-ubyte", f"{part}-{stem.replace('-', '.')}-ubyte")
        for stem in ("images-idx3", "labels-idx1")
    ]
    images, labels = (read_idx(path) for path in paths)
    if images.ndim != 3 or labels.ndim != 1 or len(images) != len(labels):
        raise DatasetError(
            f"{paths[0].name} holds an array {images.shape} and {paths[1].name} one of "
            f"{labels.shape}; (n, height, width) and (n,) were expected. "
            f"Are the files in {folder} from one set?"
        )
    if (
        images.dtype != np.uint8
        or labels.dtype != np.uint8
        or labels.max(initial=0) > 9
    ):
        raise DatasetError(
            f"{paths[1]}: labels are expected to be bytes from 0 to 9, but they are "
            f"{labels.dtype} up to {labels.max(initial=0)}, and pixels {images.dtype}."
        )
    return images, labels

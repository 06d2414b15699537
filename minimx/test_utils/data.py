"""Files from the network, MNIST as NumPy arrays, and iterators for tests."""

from __future__ import annotations

import bz2
import os
import shutil
import zipfile
from typing import Any

import numpy as np

from minimx.errors import DataError
from minimx.gluon import utils
from minimx.gluon.data.vision import MNIST
from minimx.io import DataBatch, DataIter, NDArrayIter


def download(
    url: str,
    fname: str | None = None,
    dirname: str | None = None,
    overwrite: bool = False,
    retries: int = 5,
) -> str:
    """Fetch a file unless it is there, and return where it lies.

    fname: its name, the last part of the address by default. dirname: its folder.
    Raises DataError if it cannot be fetched.
    """
    path = fname or url.split("/")[-1]
    if dirname is not None:
        path = os.path.join(dirname, path)
    return utils.download(url, path, overwrite, retries=max(retries - 1, 0))


def get_mnist() -> dict[str, Any]:
    """MNIST: train_data (60000, 1, 28, 28) and test_data in [0, 1], and labels.

    Raises DataError, which says where to put the files, if they cannot be had.
    """
    found = {}
    for part, train in (("train", True), ("test", False)):
        images, labels = MNIST(train=train)[:]
        pixels = np.moveaxis(np.asarray(images), -1, 1).astype(np.float32)
        found[f"{part}_data"] = pixels / 255
        found[f"{part}_label"] = np.asarray(labels, np.int32)
    return found


def get_mnist_iterator(
    batch_size: int,
    input_shape: tuple[int, ...],
    num_parts: int = 1,
    part_index: int = 0,
) -> tuple[NDArrayIter, NDArrayIter]:
    """Iterators over MNIST: shuffled to train with, and to validate.

    input_shape: of an image, (1, 28, 28) or (784,). num_parts, part_index: only every
    so manieth image, from which on; workers that train together take one part each.
    """
    found = get_mnist()

    def images(part: str, rows: slice, shuffle: bool) -> NDArrayIter:
        pixels = found[f"{part}_data"][rows].reshape(-1, *input_shape)
        labels = found[f"{part}_label"][rows].astype(np.float32)
        return NDArrayIter(
            pixels, labels, batch_size, shuffle, label_name="softmax_label"
        )

    mine = slice(part_index, None, num_parts)
    return images("train", mine, True), images("test", mine, False)


class DummyIter(DataIter):
    """Gives the first batch of another iterator again and again, without an end.

    It costs nothing, so what is measured with it is training alone.
    """

    def __init__(self, real_iter: Any) -> None:
        super().__init__(real_iter.batch_size)
        self.real_iter = real_iter
        self.provide_data = real_iter.provide_data
        self.provide_label = real_iter.provide_label
        self.the_batch = next(real_iter)

    def next(self) -> DataBatch:
        """The batch."""
        return self.the_batch  # type: ignore[no-any-return]


def get_zip_data(data_dir: str, url: str, data_origin_name: str) -> None:
    """Fetch a zip archive into a folder, and unpack it there."""
    path = _fetched(data_dir, url, data_origin_name)
    try:
        with zipfile.ZipFile(path) as archive:
            archive.extractall(data_dir)
    except (OSError, zipfile.BadZipFile) as reason:
        raise DataError(f"{path!r} cannot be unpacked: {reason}.") from reason


def get_bz2_data(
    data_dir: str, data_name: str, url: str, data_origin_name: str
) -> None:
    """Fetch a file packed with bzip2 into a folder, and unpack it as data_name."""
    target = os.path.join(data_dir, data_name)
    if os.path.exists(target):
        return
    path = _fetched(data_dir, url, data_origin_name)
    partial = f"{target}.{os.getpid()}.part"
    try:
        with bz2.open(path) as source, open(partial, "wb") as file:
            shutil.copyfileobj(source, file)
        os.replace(partial, target)
    except (OSError, EOFError) as reason:
        raise DataError(f"{path!r} cannot be unpacked: {reason}.") from reason


def _fetched(data_dir: str, url: str, name: str) -> str:
    """An archive in a folder that may have to be made."""
    os.makedirs(data_dir, exist_ok=True)
    return download(url, os.path.join(data_dir, name))


#: Where MXNet's tests find their data.
_DATA = "http://data.mxnet.io/mxnet/data/"


def get_mnist_ubyte() -> None:
    """See to it that the files of MNIST lie in the folder data, unpacked."""
    kinds = ("images-idx3-ubyte", "labels-idx1-ubyte")
    names = [f"data/{part}-{kind}" for part in ("train", "t10k") for kind in kinds]
    if not all(os.path.exists(name) for name in names):
        get_zip_data("data", _DATA + "mnist.zip", "mnist.zip")


def get_cifar10() -> None:
    """See to it that the records of CIFAR-10 lie in the folder data/cifar."""
    names = [f"data/cifar/{name}" for name in ("train.rec", "test.rec")]
    if not all(os.path.exists(name) for name in names):
        get_zip_data("data", _DATA + "cifar10.zip", "cifar10.zip")

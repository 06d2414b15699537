"""Files from the network, MNIST as NumPy arrays, and iterators for tests."""

from __future__ import annotations

import bz2
import os
import shutil
import zipfile
from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from minimx.core.errors import ArgumentError, DataError
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
    """Download a zip archive into a folder, unless it is there, and unpack it.

    data_dir: made if missing. data_origin_name: the archive's name in it. Raises
    `DataError` for a damaged archive.
    """
    path = _fetched(data_dir, url, data_origin_name)
    try:
        with zipfile.ZipFile(path) as archive:
            archive.extractall(data_dir)
    except (OSError, zipfile.BadZipFile) as reason:
        raise DataError(f"{path!r} cannot be unpacked: {reason}.") from reason


def get_bz2_data(
    data_dir: str, data_name: str, url: str, data_origin_name: str
) -> None:
    """Download a bzip2 file into a folder and unpack it there as `data_name`.

    Does nothing if `data_name` is there. Raises `DataError` for a damaged file.
    """
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
    """Download MNIST's four files to `data/`, unless all are there.

    Raises `DataError` for a damaged archive.
    """
    kinds = ("images-idx3-ubyte", "labels-idx1-ubyte")
    names = [f"data/{part}-{kind}" for part in ("train", "t10k") for kind in kinds]
    if not all(os.path.exists(name) for name in names):
        get_zip_data("data", _DATA + "mnist.zip", "mnist.zip")


def get_cifar10() -> None:
    """Download CIFAR-10's two record files to `data/cifar/`, unless both are there.

    Raises `DataError` for a damaged archive.
    """
    names = [f"data/cifar/{name}" for name in ("train.rec", "test.rec")]
    if not all(os.path.exists(name) for name in names):
        get_zip_data("data", _DATA + "cifar10.zip", "cifar10.zip")


#: Where MXNet's project published trained networks: {name: their files' beginning}.
_MODELS: Final = {
    name: "http://data.mxnet.io/models/" + where
    for name, where in {
        "imagenet1k-inception-bn": "imagenet/inception-bn/Inception-BN",
        "imagenet1k-resnet-18": "imagenet/resnet/18-layers/resnet-18",
        "imagenet1k-resnet-34": "imagenet/resnet/34-layers/resnet-34",
        "imagenet1k-resnet-50": "imagenet/resnet/50-layers/resnet-50",
        "imagenet1k-resnet-101": "imagenet/resnet/101-layers/resnet-101",
        "imagenet1k-resnet-152": "imagenet/resnet/152-layers/resnet-152",
        "imagenet1k-resnext-50": "imagenet/resnext/50-layers/resnext-50",
        "imagenet1k-resnext-101": "imagenet/resnext/101-layers/resnext-101",
        "imagenet1k-resnext-101-64x4d": "imagenet/resnext/101-layers/resnext-101-64x4d",
        "imagenet11k-resnet-152": "imagenet-11k/resnet-152/resnet-152",
        "imagenet11k-place365ch-resnet-152": "imagenet-11k-place365-ch/resnet-152",
        "imagenet11k-place365ch-resnet-50": "imagenet-11k-place365-ch/resnet-50",
    }.items()
}


def download_model(
    model_name: str,
    dst_dir: str = "./",
    meta_info: Mapping[str, Mapping[str, str]] | None = None,
) -> tuple[str | None, int]:
    """Fetch a trained network, and return what `mx.model.load_checkpoint` asks for.

    meta_info: {name: {"symbol": address, "params": address}}; what MXNet's project
    published by default. The files are called NAME-symbol.json and NAME-0000.params;
    those that lie in dst_dir are not fetched again. An unknown name gives (None, 0).
    Raises DataError if a file cannot be fetched.
    """
    prefix = os.path.join(dst_dir, model_name)
    if meta_info is None:
        known = {name: _checkpoint(where) for name, where in _MODELS.items()}
    else:
        known = {name: dict(files) for name, files in meta_info.items()}
    if model_name not in known:
        return None, 0
    for part, ending in (("symbol", "-symbol.json"), ("params", "-0000.params")):
        if part not in known[model_name]:
            raise ArgumentError(
                f"download_model: meta_info[{model_name!r}] has no address of the "
                f"{part}; give both: {{'symbol': ..., 'params': ...}}."
            )
        download(known[model_name][part], prefix + ending)
    return prefix, 0


def _checkpoint(where: str) -> dict[str, str]:
    """The addresses of a network's graph and parameters."""
    epoch = "0126" if where.endswith("BN") else "0000"
    return {"symbol": f"{where}-symbol.json", "params": f"{where}-{epoch}.params"}

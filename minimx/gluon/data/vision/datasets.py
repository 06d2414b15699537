"""The standard image sets: MNIST, Fashion-MNIST, CIFAR-10 and CIFAR-100.

Files are looked for in MXNET_HOME/datasets/<name>. What is missing is fetched from
MXNET_GLUON_REPO (an http://, https:// or file:// address), where the files lie under
gluon/dataset/<name>/. Sums are checked where they are known; a file that was unpacked
by hand has none, and is checked for its form only.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

import minimx.nd as nd
from minimx import np as mxnp
from minimx.aliases import resolve_missing as _resolve_missing
from minimx.core.errors import DataError
from minimx.core.np_semantics import is_np_array
from minimx.gluon.data.dataset import Dataset, gather
from minimx.gluon.data.files import Known, fetched, folder
from minimx.gluon.np_arrays import as_np_if_set
from minimx.io.idx import MAX_BYTES, read_idx


class _ImageSet(Dataset):
    """Images (N, H, W, C) of uint8, and labels (N,) of int32, in memory.

    `data[i]`, a slice and a mask give images as arrays of MXNet and labels as numbers
    or arrays of NumPy; after `npx.set_np()` both are arrays of `mx.np`.
    root: where the files are; MXNET_HOME/datasets/<name> by default.
    train: the training part, or the test part.
    transform: a function `(image, label)` of each sample.
    """

    namespace: ClassVar[str]

    def __init__(
        self,
        root: str | os.PathLike[str] | None = None,
        train: bool = True,
        transform: Any = None,
    ) -> None:
        self._root = folder(root, self.namespace)
        self._train = train
        self._transform = transform
        images, labels = self._read()
        self._data = as_np_if_set(nd.array(images, dtype=np.uint8))
        numbers = labels.astype(np.int32)
        self._label = mxnp.array(numbers) if is_np_array() else numbers

    def _read(self) -> tuple[Any, Any]:
        """Images and labels as NumPy arrays."""
        raise DataError(f"{type(self).__name__} has no _read()")

    def __getitem__(self, idx: Any) -> Any:
        sample = self._data[idx], self._label[idx]
        return sample if self._transform is None else self._transform(*sample)

    def __len__(self) -> int:
        return len(self._label)

    def batch(self, indices: Any) -> Any:
        """Images and labels of several samples, unless a transform has to see each."""
        if self._transform is not None:
            return None
        return gather([self._data, self._label], indices)

    def _fetch(self, file: Known) -> Path:
        return fetched(type(self).__name__, self.namespace, self._root, file)


class MNIST(_ImageSet):
    """Handwritten digits: 60,000 and 10,000 images of 28×28×1, ten classes.

    http://yann.lecun.com/exdb/mnist/
    """

    namespace = "mnist"
    _train_files: ClassVar[tuple[Known, Known]] = (
        ("train-images-idx3-ubyte.gz", "6c95f4b05d2bf285e1bfb0e7960c31bd3b3f8a7d"),
        ("train-labels-idx1-ubyte.gz", "2a80914081dc54586dbdf242f9805a6b8d2a15fc"),
    )
    _test_files: ClassVar[tuple[Known, Known]] = (
        ("t10k-images-idx3-ubyte.gz", "c3a25af1f52dad7f726cce8cacb138654b760d48"),
        ("t10k-labels-idx1-ubyte.gz", "763e7fa3757d93b0cdec073cef058b2004252c17"),
    )

    def _read(self) -> tuple[Any, Any]:
        images, labels = (
            read_idx(self._find(*known))
            for known in (self._train_files if self._train else self._test_files)
        )
        if images.ndim != 3 or labels.shape != images.shape[:1]:
            raise DataError(
                f"{type(self).__name__}: the files in {self._root} hold images of "
                f"shape {images.shape} and labels of shape {labels.shape}, which do "
                "not go together. Are they of one set?"
            )
        return images[..., np.newaxis], labels

    def _find(self, name: str, sha1: str | None) -> Path:
        unpacked = self._root / name.removesuffix(".gz")
        return unpacked if unpacked.exists() else self._fetch((name, sha1))


class FashionMNIST(MNIST):
    """Pieces of clothing, in the form of MNIST.

    https://github.com/zalandoresearch/fashion-mnist
    """

    namespace = "fashion-mnist"
    _train_files = (
        ("train-images-idx3-ubyte.gz", "0cf37b0d40ed5169c6b3aba31069a9770ac9043d"),
        ("train-labels-idx1-ubyte.gz", "236021d52f1e40852b06a4c3008d8de8aef1e40b"),
    )
    _test_files = (
        ("t10k-images-idx3-ubyte.gz", "626ed6a7c06dd17c0eec72fa3be1740f146a2863"),
        ("t10k-labels-idx1-ubyte.gz", "17f9ab60e7257a1620f4ad76bbbaf857c3920701"),
    )


class CIFAR10(_ImageSet):
    """Photographs: 50,000 and 10,000 images of 32×32×3, ten classes.

    https://www.cs.toronto.edu/~kriz/cifar.html
    """

    namespace = "cifar10"
    _archive: ClassVar[Known] = (
        "cifar-10-binary.tar.gz",
        "fab780a1e191a7eda0f345501ccd62d20f7ed891",
    )
    _folder: ClassVar[str] = "cifar-10-batches-bin"  # inside the authors' archive
    _train_files: ClassVar[list[str]] = [f"data_batch_{i}.bin" for i in range(1, 6)]
    _test_files: ClassVar[list[str]] = ["test_batch.bin"]
    _label_bytes: ClassVar[int] = 1

    def _read(self) -> tuple[Any, Any]:
        names = self._train_files if self._train else self._test_files
        rows = np.concatenate([self._rows_of(path) for path in self._find(names)])
        images = rows[:, self._label_bytes :].reshape(-1, 3, 32, 32)
        return images.transpose(0, 2, 3, 1), self._labels_of(rows)

    def _labels_of(self, rows: Any) -> Any:
        return rows[:, 0]

    def _rows_of(self, path: Path) -> Any:
        length = self._label_bytes + 3 * 32 * 32
        content = np.fromfile(path, np.uint8)
        if not content.size or content.size % length:
            raise DataError(
                f"{type(self).__name__}: {path} has {content.size} bytes, which is no "
                f"whole number of images of {length} bytes. Delete it to fetch another."
            )
        return content.reshape(-1, length)

    def _find(self, names: list[str]) -> list[Path]:
        for place in (self._root, self._root / self._folder):
            paths = [place / name for name in names]
            if all(path.exists() for path in paths):
                return paths
        unpack(self._fetch(self._archive), names, self._root)
        return [self._root / name for name in names]


class CIFAR100(CIFAR10):
    """As CIFAR-10, with 20 coarse classes, or 100 fine ones (`fine_label`)."""

    namespace = "cifar100"
    _archive = (
        "cifar-100-binary.tar.gz",
        "a0bb982c76b83111308126cc779a992fa506b90b",
    )
    _folder = "cifar-100-binary"
    _train_files = ["train.bin"]
    _test_files = ["test.bin"]
    _label_bytes = 2

    def __init__(
        self,
        root: str | os.PathLike[str] | None = None,
        fine_label: bool = False,
        train: bool = True,
        transform: Any = None,
    ) -> None:
        self._fine_label = fine_label
        super().__init__(root, train, transform)

    def _labels_of(self, rows: Any) -> Any:
        return rows[:, int(self._fine_label)]


def unpack(archive: Path, names: list[str], folder: Path) -> None:
    """Take files out of a tar archive, by the last part of their names.

    Nothing else in the archive is touched, whatever paths or links it holds.
    """
    import tarfile
    import zlib

    waiting = set(names)
    try:
        with tarfile.open(archive) as tar:
            for member in tar:
                name = member.name.rsplit("/", 1)[-1]
                source = tar.extractfile(member) if member.isreg() else None
                if name not in waiting or source is None or member.size > MAX_BYTES:
                    continue
                partial = folder / f"{name}.{os.getpid()}.part"
                partial.write_bytes(source.read(member.size))
                partial.replace(folder / name)
                waiting.discard(name)
    except (OSError, EOFError, zlib.error, tarfile.TarError) as reason:
        raise DataError(
            f"{archive} cannot be unpacked: {reason}. Delete it to fetch it again."
        ) from reason
    if waiting:
        raise DataError(
            f"{archive} does not hold {', '.join(sorted(waiting))}. Is it the archive "
            "that its name says?"
        )


_resolve_missing(__name__, globals())

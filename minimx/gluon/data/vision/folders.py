"""Images in files: packed into records, sorted into folders, or named in a list."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from minimx import image
from minimx.core.errors import DataError
from minimx.gluon.data.dataset import Dataset
from minimx.gluon.data.records import RecordFileDataset
from minimx.image.sources import listed
from minimx.recordio import unpack

Transform = Callable[[Any, Any], Any]


class ImageRecordDataset(RecordFileDataset):
    """Images and labels of a file of records, as `minimx im2rec` makes it.

    flag: 1 for colours, 0 for grey. transform: a function `(image, label)` of each
    sample. Images are (H, W, C) of uint8; a label is a number, or several of float32.
    """

    def __init__(
        self,
        filename: str | os.PathLike[str],
        flag: int = 1,
        transform: Transform | None = None,
    ) -> None:
        super().__init__(filename)
        self._flag = flag
        self._transform = transform

    def __getitem__(self, idx: Any) -> Any:
        header, content = unpack(super().__getitem__(idx))
        try:
            sample = image.imdecode(content, self._flag), header.label
        except DataError as reason:
            raise DataError(f"record {idx} of {self.filename!r}: {reason}") from reason
        return sample if self._transform is None else self._transform(*sample)


class ImageFolderDataset(Dataset):
    """Images in folders, one for each class: root/cat/1.png, root/dog/7.jpg.

    flag: 1 for colours, 0 for grey. transform: a function `(image, label)` of each
    sample. `synsets` are the names of the classes, `items` the path and the label of
    each sample.
    """

    _exts = (".jpg", ".jpeg", ".png")

    def __init__(
        self,
        root: str | os.PathLike[str],
        flag: int = 1,
        transform: Transform | None = None,
    ) -> None:
        self._root = os.path.expanduser(os.fspath(root))
        self._flag = flag
        self._transform = transform
        self.synsets: list[str] = []
        self.items: list[tuple[str, int]] = []
        try:
            self._list_images(self._root)
        except OSError as reason:
            raise DataError(
                f"ImageFolderDataset: cannot read {self._root!r}: {reason.strerror}."
            ) from reason

    def _list_images(self, root: str) -> None:
        for folder in sorted(os.listdir(root)):
            path = os.path.join(root, folder)
            if not os.path.isdir(path):
                _ignored(path, "it is no folder of a class")
                continue
            label = len(self.synsets)
            self.synsets.append(folder)
            for name in sorted(os.listdir(path)):
                file = os.path.join(path, name)
                if os.path.splitext(name)[1].lower() in self._exts:
                    self.items.append((file, label))
                else:
                    _ignored(file, f"images end in {', '.join(self._exts)}")

    def __getitem__(self, idx: Any) -> Any:
        path, label = self.items[idx]
        sample = _read(path, self._flag), label
        return sample if self._transform is None else self._transform(*sample)

    def __len__(self) -> int:
        return len(self.items)


class ImageListDataset(Dataset):
    """Images that a list names, with labels.

    root: the folder in which the paths begin. imglist: a file of lines
    `number<TAB>label…<TAB>path`, or a list of [label, …, path]. flag: 1 for colours, 0
    for grey. A label is an array of float32.
    """

    def __init__(
        self,
        root: str | os.PathLike[str] = ".",
        imglist: str | os.PathLike[str] | Sequence[Sequence[Any]] | None = None,
        flag: int = 1,
    ) -> None:
        self._root = os.path.expanduser(os.fspath(root))
        self._flag = flag
        if imglist is None:
            raise DataError("ImageListDataset: name the images with imglist=.")
        if isinstance(imglist, (str, os.PathLike)):
            place = os.path.join(self._root, imglist)
            path = imglist if os.path.exists(imglist) else place
            self.items = [(name, label) for _, label, name in listed(path)]
        else:
            self.items = [(entry[-1], _label(entry[:-1])) for entry in imglist]

    def __getitem__(self, idx: Any) -> Any:
        name, label = self.items[idx]
        return _read(os.path.join(self._root, name), self._flag), label

    def __len__(self) -> int:
        return len(self.items)


def _label(numbers: Sequence[Any]) -> Any:
    found = numbers[0] if len(numbers) == 1 else numbers
    return np.atleast_1d(np.asarray(found, np.float32))


def _read(path: str, flag: int) -> Any:
    try:
        return image.imread(path, flag)
    except DataError as reason:
        raise DataError(f"{path!r}: {reason}") from reason


def _ignored(path: str, why: str) -> None:
    warnings.warn(f"ImageFolderDataset leaves {path!r} out: {why}.", stacklevel=4)

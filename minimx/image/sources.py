"""Where an iterator over images finds its samples: a file of records, or a list.

A source knows its keys, if it has any, and gives the label and the bytes of a sample.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from minimx import recordio
from minimx.core.errors import ArgumentError, DataError
from minimx.image import codec

#: A label, and where the image is.
Entry = tuple[Any, str]


class Source:
    """Samples by key, or one after the other where `keys` is None."""

    keys: list[Any] | None = None

    def sample(self, key: Any) -> tuple[Any, bytes]:
        """The label and the bytes of the image with a key."""
        raise NotImplementedError

    def following(self) -> tuple[Any, bytes] | None:
        """The next sample, where there are no keys; None at the end."""
        raise NotImplementedError

    def reset(self) -> None:
        """Go back to before the first sample."""

    def name(self, key: Any) -> str:
        """What errors call a sample."""
        return f"index: {key}"


class Files(Source):
    """Images in files of their own, from a list."""

    def __init__(self, entries: dict[Any, Entry], root: str | None) -> None:
        self.entries = entries
        self.root = root or ""
        self.keys = list(entries)

    def sample(self, key: Any) -> tuple[Any, bytes]:
        """The label in the list, and the file."""
        label, path = self.entries[key]
        return label, codec.read(os.path.join(self.root, path))

    def name(self, key: Any) -> str:
        """The file."""
        return f"filename: {self.entries[key][1]}"


class Records(Source):
    """Images in a file of records; labels there, or in a list."""

    def __init__(
        self, path: str, index: str | None, entries: dict[Any, Entry] | None
    ) -> None:
        self.entries = entries
        self.file: recordio.MXRecordIO
        if index:
            self.file = recordio.MXIndexedRecordIO(index, path, "r")
            self.keys = list(self.file.keys)
        else:
            self.file = recordio.MXRecordIO(path, "r")

    def sample(self, key: Any) -> tuple[Any, bytes]:
        """The record with a key; its label from the list, if there is one."""
        assert isinstance(self.file, recordio.MXIndexedRecordIO)  # it has keys
        record = self.file.read_idx(key)
        if record is None:
            raise DataError(f"{self.file.uri!r} ends before its record {key!r}.")
        header, content = recordio.unpack(record)
        if self.entries is None:
            return header.label, content
        if key not in self.entries:
            raise DataError(f"the list of images has no label for the record {key!r}.")
        return self.entries[key][0], content

    def following(self) -> tuple[Any, bytes] | None:
        """The next record."""
        record = self.file.read()
        if record is None:
            return None
        header, content = recordio.unpack(record)
        return header.label, content

    def reset(self) -> None:
        """Go back to the first record."""
        self.file.reset()


def open_source(
    path_imgrec: str | None,
    path_imgidx: str | None,
    path_imglist: str | None,
    imglist: Sequence[Any] | None,
    path_root: str | None,
    dtype: Any,
) -> Source:
    """What the arguments of an iterator name."""
    entries: dict[Any, Entry] | None = None
    if path_imglist:
        entries = {key: (label, path) for key, label, path in listed(path_imglist)}
    elif imglist is not None:
        entries = {
            str(number): (_label(entry[:-1], dtype), entry[-1])
            for number, entry in enumerate(imglist, 1)
        }
    if path_imgrec:
        return Records(path_imgrec, path_imgidx, entries if path_imglist else None)
    if entries is None:
        raise ArgumentError(
            "where are the images? Give path_imgrec, path_imglist or imglist (a list "
            "of [label, path])."
        )
    return Files(entries, path_root)


def _label(numbers: Sequence[Any], dtype: Any) -> Any:
    """The label in a list: a number, several, or an array."""
    found = np.asarray(numbers[0] if len(numbers) == 1 else numbers, dtype)
    return found.reshape(-1)


def listed(path: str | os.PathLike[str]) -> Iterator[tuple[int, Any, str]]:
    """Key, label (float32) and path of each line of a file, tabs between them."""
    try:
        lines = Path(path).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as reason:
        raise DataError(
            f"cannot read the list of images {os.fspath(path)!r}: {reason}."
        ) from reason
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            key, *words, name = line.strip().split("\t")
            entry = int(key), np.asarray(words, np.float64).astype(np.float32), name
        except ValueError as reason:
            raise DataError(
                f"{os.fspath(path)!r} is no list of images: line {number} is "
                f"{line[:60]!r}, not a number, labels and a path with tabs between."
            ) from reason
        yield entry

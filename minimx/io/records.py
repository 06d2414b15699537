"""Image records by number: where each begins in its file, and what it holds."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np

from minimx.core.errors import DataError
from minimx.io.files import files_at
from minimx.io.rounds import chunked, part_of
from minimx.recordio import FIRST, LAST, MAGIC, MOST_BYTES, WHOLE, MXRecordIO, unpack


def scan(path: str | os.PathLike[str]) -> list[int]:
    """Where each record of a file begins. Raises DataError where it is damaged."""
    found, at, wanted = [], 0, (WHOLE, FIRST)
    try:
        with open(path, "rb", buffering=0) as file:  # a buffer would read all of it
            size = os.fstat(file.fileno()).st_size
            while at < size:
                file.seek(at)
                head = file.read(8)
                word = int.from_bytes(head[4:], "little")
                kind, length = word >> 29, word & MOST_BYTES
                end = at + 8 + length + (-length & 3)
                if head[:4] != MAGIC or end > size or (kind in wanted) is False:
                    raise DataError(
                        f"{os.fspath(path)!r} is cut off or damaged, or no file of "
                        f"records: at byte {at} stands {head.hex(' ', 4)}."
                    )
                if kind in (WHOLE, FIRST):
                    found.append(at)
                over = kind in (WHOLE, LAST)
                wanted = (WHOLE, FIRST) if over else (2, LAST)
                at = end
    except OSError as reason:
        raise DataError(
            f"cannot read {os.fspath(path)!r}: {reason.strerror}."
        ) from reason
    return found


def indexed(path: str | os.PathLike[str]) -> list[int]:
    """The offsets in an index file, in the order of the file."""
    try:
        with open(path, "rb") as file:
            return [int(line.split(b"\t")[1]) for line in file]
    except OSError as reason:
        raise DataError(
            f"cannot read {os.fspath(path)!r}: {reason.strerror}."
        ) from reason
    except (ValueError, IndexError) as reason:
        raise DataError(
            f"{os.fspath(path)!r} is no index, or damaged: a line is a key, a tab and "
            "an offset."
        ) from reason


class ImageRecords:
    """The image records of a file, a folder of files or several with `;` between.

    index: an index file; without one, the file is looked through. num_parts,
    part_index: one of so many parts. labels: by the id of an image, instead of those in
    the records. Several threads may read.
    """

    def __init__(
        self,
        place: str,
        index: str = "",
        part: tuple[int, int] = (1, 0),
        labels: dict[int, Any] | None = None,
    ) -> None:
        self.labels = labels
        self._items: list[tuple[MXRecordIO, int]] = []
        #: Where each record begins, the files one after the other.
        self.starts: list[int] = []
        starts = self.starts
        before = 0
        for path in files_at(place):
            reader = MXRecordIO(path, "r")
            size = path.stat().st_size
            offsets = indexed(index) if index else scan(path)
            if any(not 0 <= at < size for at in offsets):
                raise DataError(
                    f"{index!r} is not the index of {os.fspath(path)!r}: it looks for "
                    f"records beyond its {size} bytes."
                )
            self._items += [(reader, at) for at in offsets]
            starts += [before + at for at in offsets]
            before += size
        if part[0] != 1 or part[1]:
            ranks = np.argsort(starts)[part_of(sorted(starts), before, *part)]
            self._items = [self._items[rank] for rank in ranks]
            self.starts = [starts[rank] for rank in ranks]
        if not self._items:
            raise DataError(f"there are no records for us in {place!r}.")

    def __len__(self) -> int:
        return len(self._items)

    def chunked(
        self, megabytes: int, seed: int, inside: int | None
    ) -> Callable[[int], list[int]]:
        """An order that takes pieces of about so many MB in turn: `rounds.chunked`."""
        low, high = min(self.starts), max(self.starts) + 1
        chunks = max(round((high - low) / (megabytes << 20)), 1)
        return chunked(self.starts, high, chunks, seed, inside)

    def name(self, number: int) -> str:
        """What errors call a record."""
        reader, at = self._items[number]
        return f"the record at byte {at} of {reader.uri!r}"

    def label_size(self, number: int) -> int:
        """How many numbers the label of a record has."""
        return int(self.sample(number)[1].size)

    def sample(self, number: int) -> tuple[int, Any, bytes]:
        """The id, the label (float32 numbers) and the bytes of an image."""
        reader, at = self._items[number]
        record = reader.read_at(at)
        if record is None:
            raise DataError(f"{self.name(number)} is not there any more.")
        header, content = unpack(record)
        label = header.label
        if self.labels is not None:
            label = self.labels.get(header.id)
            if label is None:
                raise DataError(
                    f"the list of images has no label for the image {header.id}, "
                    f"{self.name(number)}."
                )
        return header.id, np.atleast_1d(np.asarray(label, np.float32)), content

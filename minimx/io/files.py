"""`MXDataIter`: what iterators over files have in common.

Such an iterator knows which rows stand in a batch (`rounds.py`) and makes the arrays of
one batch in `_arrays`; those that take long make a few batches ahead.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from minimx.core.arrays.array import NDArray
from minimx.core.arrays.creation import array
from minimx.core.device import cpu
from minimx.core.errors import did_you_mean
from minimx.core.files import read_whole
from minimx.core.shapes import Shape
from minimx.io.batches import DataBatch, DataDesc, HoldingIter
from minimx.io.rounds import Batch, Rounds

#: Settings of MXNet's iterators that have nothing to act on here: batches are made when
#: they are asked for, and lie in plain memory.
IDLE = ("prefetch_buffer", "ctx", "verbose", "silent", "device_id", "handle")


class MXDataIter(HoldingIter):
    """The base of the iterators over files.

    rounds: which samples stand in which batch; data, label: what its arrays look like.
    A program does not make one of these; `CSVIter` and the others are such.
    """

    def __init__(self, rounds: Rounds, data: DataDesc, label: DataDesc) -> None:
        super().__init__(rounds.batch_size)
        self._rounds = rounds
        self.provide_data = [data]
        self.provide_label = [label]
        self._batches: Iterator[DataBatch] | None = None
        self._skip_load = False

    def _arrays(self, rows: list[int]) -> tuple[NDArray, NDArray, Any]:
        """Data, label and numbers of the samples of a batch."""
        raise NotImplementedError(f"{type(self).__name__}: write _arrays.")

    def _made(self, plan: Iterator[Batch]) -> Iterator[DataBatch]:
        """The batches of a plan, one after the other."""
        for rows, pad in plan:
            yield self._batch(pad, *self._arrays(rows))

    def _batch(self, pad: int, data: NDArray, label: NDArray, index: Any) -> DataBatch:
        found = DataBatch([data], [label], pad=pad, index=np.asarray(index, np.uint64))
        found.provide_data = self.provide_data
        found.provide_label = self.provide_label
        return found

    def reset(self) -> None:
        """Begin an epoch, without what the last batch has taken of it already."""
        self._batches = None
        self.current_batch = None

    def next(self) -> DataBatch:
        """The next batch. Raises StopIteration after the last."""
        if self._skip_load and self.current_batch is not None:
            return self.current_batch
        return super().next()

    def iter_next(self) -> bool:
        """Move to the next batch; False if there is none."""
        if self._batches is None:
            self._batches = self._made(self._rounds.epoch())
        self.current_batch = next(self._batches, None)
        return self.current_batch is not None

    def debug_skip_load(self) -> None:
        """Give the same batch again and again, to time a program without loading."""
        self._skip_load = True
        logging.info("%s: the first batch is given for ever.", type(self).__name__)

    def getdata(self) -> Any:
        """The data of the batch, one array."""
        data = self._current().data
        return data[0] if data else None

    def getlabel(self) -> Any:
        """The label of the batch, one array."""
        label = self._current().label
        return label[0] if label else None

    def getpad(self) -> int:
        """How many samples at the end of the batch only fill it."""
        return self._current().pad or 0


def described(
    name: str, batch_size: int, shape: Shape, dtype: Any, label: bool = False
) -> DataDesc:
    """An array of a batch; labels of one number have no axis of their own."""
    inner = () if label and tuple(shape) == (1,) else tuple(shape)
    return DataDesc(name, (batch_size, *inner), np.dtype(dtype).type)


def on_host(numbers: Any, dtype: Any) -> NDArray:
    """Numbers as an array on the host."""
    return array(numbers, ctx=cpu(), dtype=np.dtype(dtype))


def note_unknown(
    who: str, settings: dict[str, Any], known: tuple[str, ...] = ()
) -> None:
    """Say in the log which settings an iterator does not have; MXNet is silent."""
    for setting in settings:
        if setting not in IDLE and setting not in known:
            hint = did_you_mean(setting, known)
            logging.warning("%s has no %s; it is left alone.%s", who, setting, hint)


def files_at(place: str | os.PathLike[str]) -> list[Path]:
    """The files that a setting names: one, all of a folder, or several with `;`."""
    found: list[Path] = []
    for name in os.fspath(place).split(";"):
        path = Path(name)
        if path.is_dir():
            found += sorted(inner for inner in path.iterdir() if inner.is_file())
        else:
            found.append(path)
    return found


def content_of(place: str | os.PathLike[str]) -> bytes:
    """The bytes of all files that a setting names. Raises DataError."""
    parts = []
    for path in files_at(place):
        content = read_whole(path, "io")
        parts.append(content if content.endswith(b"\n") else content + b"\n")
    return b"".join(parts)

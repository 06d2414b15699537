"""Iterators over text files: `CSVIter` and `LibSVMIter`. The files are read at once."""

from __future__ import annotations

import io
from math import prod
from typing import Any

import numpy as np

from minimx.core.arrays.array import NDArray
from minimx.core.device import cpu
from minimx.core.errors import ArgumentError, DataError, Unavailable
from minimx.core.shapes import Shape
from minimx.io.batches import DataDesc
from minimx.io.files import MXDataIter, content_of, described, note_unknown, on_host
from minimx.io.rounds import Rounds, part_of
from minimx.nd.sparse import csr_matrix

CSV_TYPES = ("float32", "int32", "int64")


class CSVIter(MXDataIter):
    """Batches of the rows of a CSV file.

    data_csv, label_csv: a file, a folder of files, or several with `;` between;
    data_shape, label_shape: what a row is reshaped to. Without labels they are 0.
    round_batch: see `minimx.io.rounds`. dtype: float32, int32 or int64.
    """

    def __init__(
        self,
        data_csv: str,
        data_shape: Shape,
        batch_size: int,
        label_csv: str | None = None,
        label_shape: Shape = (1,),
        round_batch: bool = True,
        dtype: str | None = None,
        data_name: str = "data",
        label_name: str = "softmax_label",
        **kwargs: Any,
    ) -> None:
        note_unknown("CSVIter", kwargs)
        kind = "float32" if dtype is None else np.dtype(dtype).name
        if kind not in CSV_TYPES:
            raise ArgumentError(f"CSVIter: dtype={dtype!r} must be one of {CSV_TYPES}.")
        self._rows = _table(data_csv, tuple(data_shape), kind)
        if label_csv in (None, "NULL"):
            self._labels = np.zeros((len(self._rows), *label_shape), kind)
        else:
            self._labels = _table(str(label_csv), tuple(label_shape), kind)
        if len(self._labels) < len(self._rows):
            raise DataError(
                f"CSVIter: {data_csv!r} has {len(self._rows)} rows, and {label_csv!r} "
                f"only {len(self._labels)}."
            )
        data = described(data_name, batch_size, data_shape, kind)
        label = described(label_name, batch_size, label_shape, kind, label=True)
        super().__init__(
            Rounds(len(self._rows), batch_size, bool(round_batch)), data, label
        )

    def _arrays(self, rows: list[int]) -> tuple[NDArray, NDArray, Any]:
        label = self._labels[rows].reshape(self.provide_label[0].shape)
        kind = self._rows.dtype
        return on_host(self._rows[rows], kind), on_host(label, kind), rows


def _table(place: str, shape: Shape, kind: str) -> Any:
    """The rows of a CSV file, (N, *shape)."""
    text = content_of(place).decode("utf-8", "replace")
    try:
        found = _parsed(text, kind)
    except ValueError:
        try:
            found = _parsed(text, "float64").astype(kind)  # whole numbers with a point
        except ValueError as reason:
            raise DataError(
                f"CSVIter: {place!r} is no table of numbers: {reason}."
            ) from reason
    if found.shape[1] != prod(shape):
        raise DataError(
            f"CSVIter: a row of {place!r} has {found.shape[1]} numbers, which are "
            f"no array of shape {shape}."
        )
    return found.reshape(-1, *shape)


def _parsed(text: str, kind: str) -> Any:
    if not text.strip():
        return np.zeros((0, 0), kind)
    return np.loadtxt(io.StringIO(text), kind, None, ",", ndmin=2)


class LibSVMIter(MXDataIter):
    """Batches of the rows of a LibSVM file, as csr arrays.

    A row is `label index:value index:value …`; indices are counted from 0 and grow.
    data_libsvm, label_libsvm: a file, a folder, or several with `;` between. Labels are
    those in the data file, unless label_libsvm has some, which are csr arrays of
    label_shape then. num_parts, part_index: read one of so many parts.
    """

    def __init__(
        self,
        data_libsvm: str,
        data_shape: Shape,
        batch_size: int,
        label_libsvm: str | None = None,
        label_shape: Shape = (1,),
        num_parts: int = 1,
        part_index: int = 0,
        round_batch: bool = True,
        dtype: str | None = None,
        data_name: str = "data",
        label_name: str = "softmax_label",
        **kwargs: Any,
    ) -> None:
        note_unknown("LibSVMIter", kwargs)
        if not round_batch:
            raise Unavailable(
                "LibSVMIter: csr batches need round_batch=True, as in MXNet."
            )
        if dtype not in (None, "float32"):
            raise ArgumentError(f"LibSVMIter: dtype={dtype!r} must be float32.")
        part = (num_parts, part_index)
        self._data = _Rows(data_libsvm, data_shape, part)
        self._label: _Rows | None = None
        if label_libsvm not in (None, "NULL"):
            self._label = _Rows(str(label_libsvm), label_shape, part)
            if len(self._label.labels) != len(self._data.labels):
                raise DataError(
                    f"LibSVMIter: {data_libsvm!r} has {len(self._data.labels)} rows, "
                    f"and {label_libsvm!r} {len(self._label.labels)}."
                )
        data = described(data_name, batch_size, data_shape, "float32")
        wide = label_shape if self._label is not None else (1,)
        label = described(label_name, batch_size, wide, "float32", label=True)
        if self._label is not None:
            label = DataDesc(label_name, (batch_size, *label_shape))
        super().__init__(Rounds(len(self._data.labels), batch_size), data, label)

    def _arrays(self, rows: list[int]) -> tuple[NDArray, NDArray, Any]:
        if self._label is None:
            label = on_host(self._data.labels[rows], "float32")
        else:
            label = self._label.csr(rows)
        return self._data.csr(rows), label, rows


class _Rows:
    """The rows of a LibSVM file in memory."""

    def __init__(self, place: str, shape: Shape, part: tuple[int, int]) -> None:
        if len(shape) != 1:
            raise ArgumentError(
                f"LibSVMIter: a row has one axis, not the shape {shape}."
            )
        self.width = shape[0]
        lines = content_of(place).splitlines(keepends=True)
        starts = np.cumsum([0, *map(len, lines)]).tolist()
        lines = lines[part_of(starts[:-1], starts[-1], *part)]
        labels: list[float] = []
        self.indices: list[Any] = []
        self.values: list[Any] = []
        for number, line in enumerate(lines, 1):
            words = line.split(b"#", 1)[0].split()
            if not words:
                continue
            try:
                labels.append(float(words[0]))
                self._add([word.split(b":") for word in words[1:]])
            except ValueError as reason:
                raise DataError(
                    f"LibSVMIter: line {number} of {place!r} is {line[:60]!r}: "
                    f"{reason}. A line is `label index:value …`, with indices that "
                    f"grow from 0 to {self.width - 1}."
                ) from reason
        self.labels = np.asarray(labels, np.float32)

    def _add(self, pairs: list[list[bytes]]) -> None:
        if any(len(pair) != 2 for pair in pairs):
            raise ValueError("a value has no index")
        indices = [int(pair[0]) for pair in pairs]
        ordered = all(a < b for a, b in zip(indices, indices[1:], strict=False))
        if not ordered or (indices and not 0 <= indices[0] <= indices[-1] < self.width):
            raise ValueError(f"the indices are {indices[:8]}")
        self.indices.append(np.asarray(indices, np.int64))
        self.values.append(np.asarray([float(pair[1]) for pair in pairs], np.float32))

    def csr(self, rows: list[int]) -> NDArray:
        """Some rows as a csr array."""
        indices = [self.indices[row] for row in rows]
        ends = np.cumsum([0, *map(len, indices)])
        values = np.concatenate([self.values[row] for row in rows])
        parts = (values, np.concatenate(indices), ends)
        shape = (len(rows), self.width)
        return csr_matrix(parts, shape=shape, ctx=cpu(), dtype="float32")  # type: ignore[no-any-return]

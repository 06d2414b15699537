"""`NDArrayIter`: batches of arrays that are in memory.

A batch is a list of row numbers. The order of the rows is drawn once for an epoch, a
batch takes the next few of them, and what `last_batch_handle` says decides only which
numbers stand there when too few are left.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from minimx.core.arrays.array import NDArray
from minimx.core.arrays.creation import array
from minimx.core.errors import ArgumentError, DTypeError, Unavailable
from minimx.core.ops.registry import lookup
from minimx.io.batches import DataBatch, DataDesc, DataIter
from minimx.nd.sparse import CSRNDArray

HANDLES = ("pad", "discard", "roll_over")


class NDArrayIter(DataIter):
    """Batches of one or several arrays with the same examples.

    data, label: an array, a list of them or a dict of names; anything that `nd.array`
    takes. They come in the order of their names; the first array says how many examples
    there are. shuffle: in another order in each
    epoch, drawn from NumPy's global generator. last_batch_handle: "pad" fills the last
    batch with examples from the beginning, "discard" drops it, "roll_over" lets it
    begin the next epoch. layout: its N is the axis of the examples.

    >>> it = NDArrayIter(np.arange(10).reshape(5, 2), np.arange(5), batch_size=2)
    >>> it.provide_data
    [DataDesc[data,(2, 2),<class 'numpy.float32'>,NCHW]]
    >>> [(batch.label[0].asnumpy().tolist(), batch.pad) for batch in it]
    [([0.0, 1.0], 0), ([2.0, 3.0], 0), ([4.0, 0.0], 1)]
    """

    def __init__(
        self,
        data: Any,
        label: Any = None,
        batch_size: int = 1,
        shuffle: bool = False,
        last_batch_handle: str = "pad",
        data_name: str = "data",
        label_name: str = "softmax_label",
        layout: str = "NCHW",
    ) -> None:
        super().__init__(batch_size)
        self.data = _named(data, data_name)
        self.label = _named(label, label_name)
        self.shuffle = shuffle
        self.last_batch_handle = last_batch_handle
        self.layout = layout
        self._axis = layout.find("N")
        self._check()
        self.num_data = self.data[0][1].shape[self._axis]
        #: The rows in this epoch's order.
        self.idx = np.arange(self.num_data)
        #: Which of them comes first in the batch; negative for rows rolled over.
        self.cursor = -batch_size
        self._rolled = self._rows = self.idx[:0]
        self.hard_reset()

    def _check(self) -> None:
        if not self.data:
            raise ArgumentError("NDArrayIter: there is no data to iterate over.")
        if self.last_batch_handle not in HANDLES:
            raise ArgumentError(
                f"NDArrayIter: last_batch_handle={self.last_batch_handle!r} is none of "
                f"{', '.join(HANDLES)}."
            )
        if self._axis < 0 or self.batch_size < 1:
            raise ArgumentError(
                f"NDArrayIter: layout={self.layout!r} must have an N, for the axis of "
                f"the examples, and batch_size={self.batch_size} be at least 1."
            )
        both = [*self.data, *self.label]
        lengths = {name: found.shape[self._axis] for name, found in both}
        first = self.data[0][0]
        if min(lengths.values()) < lengths[first]:
            raise ArgumentError(
                f"NDArrayIter: {first} says how many examples there are, and no array "
                f"may have fewer: {lengths}."
            )
        sparse = any(isinstance(found, CSRNDArray) for _, found in both)
        if sparse and self.last_batch_handle != "discard":
            raise Unavailable(
                "NDArrayIter: batches of csr arrays are cut out, and not filled up. "
                "Give last_batch_handle='discard'."
            )

    @property
    def provide_data(self) -> list[DataDesc]:
        """What the data of a batch look like."""
        return self._described(self.data)

    @property
    def provide_label(self) -> list[DataDesc]:
        """What the labels of a batch look like."""
        return self._described(self.label)

    def _described(self, sources: list[tuple[str, NDArray]]) -> list[DataDesc]:
        axis, count = self._axis, self.batch_size
        return [
            DataDesc(
                name,
                (*found.shape[:axis], count, *found.shape[axis + 1 :]),
                found.dtype,
                self.layout,
            )
            for name, found in sources
        ]

    def hard_reset(self) -> None:
        """Begin an epoch, and forget what was rolled over."""
        self._rows = self.idx[:0]
        self.reset()

    def reset(self) -> None:
        """Begin an epoch, with what was left of the last one if it rolls over."""
        rolls = self.last_batch_handle == "roll_over"
        few = len(self._rows) < self.batch_size
        self._rolled = self._rows if rolls and few else self.idx[:0]
        self.cursor = -len(self._rolled) - self.batch_size
        if self.shuffle:
            self.idx = np.random.permutation(self.idx)

    def iter_next(self) -> bool:
        """Move to the next batch, which may be short; False if no row is left."""
        self.cursor += self.batch_size
        begin, end = self.cursor, self.cursor + self.batch_size
        rolled = self._rolled[begin:] if begin < 0 else self._rolled[:0]
        self._rows = np.concatenate([rolled, self.idx[max(begin, 0) : end]])
        return begin < self.num_data

    def next(self) -> DataBatch:
        """The next full batch. Raises StopIteration where too few rows are left."""
        if not self.iter_next():
            raise StopIteration
        if len(self._rows) < self.batch_size and self.last_batch_handle != "pad":
            raise StopIteration
        return DataBatch(self.getdata(), self.getlabel(), pad=self.getpad())

    def getdata(self) -> list[NDArray]:
        """The data of the batch."""
        return self._taken(self.data)

    def getlabel(self) -> list[NDArray]:
        """The labels of the batch; an empty list if there are none."""
        return self._taken(self.label)

    def _taken(self, sources: list[tuple[str, NDArray]]) -> list[NDArray]:
        rows = self._rows
        if not len(rows):
            raise ArgumentError(
                "NDArrayIter: there is no batch here. iter_next() moves to the next "
                "one, and reset() to before the first."
            )
        if self.last_batch_handle == "pad":
            rows = np.concatenate([rows, np.resize(self.idx, self.getpad())])
        return [_pick(found, rows, self._axis) for _, found in sources]

    def getpad(self) -> int:
        """How many examples fill the batch up, or were rolled over into it."""
        if self.last_batch_handle == "pad":
            return self.batch_size - len(self._rows)
        return max(-self.cursor, 0)


def _named(sources: Any, name: str) -> list[tuple[str, NDArray]]:
    """Arrays by name, in the order of their names."""
    if sources is None:
        sources = []
    if not isinstance(sources, (dict, list)):
        sources = [sources]
    if isinstance(sources, list):
        several = len(sources) > 1
        sources = {
            f"_{place}_{name}" if several else name: found
            for place, found in enumerate(sources)
        }
    return sorted((name, _as_array(found, name)) for name, found in sources.items())


def _as_array(source: Any, name: str) -> NDArray:
    if isinstance(source, NDArray):
        return source
    try:
        return array(source)
    except DTypeError as reason:
        raise DTypeError(f"NDArrayIter: {name} cannot be used. {reason}") from None


def _pick(source: NDArray, rows: Any, axis: int) -> NDArray:
    """Some rows of an array, in an order."""
    in_a_row = (rows == np.arange(rows[0], rows[0] + len(rows))).all()
    if isinstance(source, CSRNDArray):
        if in_a_row:
            return source[int(rows[0]) : int(rows[-1]) + 1]
        return array(source.asscipy()[rows], ctx=source.context, dtype=source.dtype)
    if in_a_row:
        span: Any = {"begin": int(rows[0]), "end": int(rows[-1]) + 1}
        return source.slice_axis(axis=axis, **span)
    indices = array(rows, ctx=source.context, dtype="int64")
    return source._bind(lookup("take").of(axis=axis), (source, indices))  # type: ignore[no-any-return]

"""What every iterator over data promises: batches, and what they look like."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from minimx.core.arrays.array import NDArray
from minimx.core.errors import ArgumentError
from minimx.core.events import called
from minimx.core.shapes import Shape


class DataDesc(namedtuple("DataDesc", ["name", "shape"])):
    """The name and shape of one array of a batch, with its dtype and layout.

    layout: a letter for each axis; N is the one along which examples are counted.

    >>> name, shape = DataDesc("data", (32, 3, 8, 8))
    >>> name, shape
    ('data', (32, 3, 8, 8))
    """

    dtype: Any
    layout: str | None

    def __new__(
        cls,
        name: str,
        shape: Shape,
        dtype: Any = np.float32,
        layout: str | None = "NCHW",
    ) -> Self:
        """Describe an array."""
        made = super().__new__(cls, name, shape)
        made.dtype = dtype
        made.layout = layout
        return made

    def __repr__(self) -> str:
        return f"DataDesc[{self.name},{self.shape},{self.dtype},{self.layout}]"

    @staticmethod
    def get_batch_axis(layout: str | None) -> int:
        """Which axis counts the examples; -1 if none does.

        >>> DataDesc.get_batch_axis("TNC")
        1
        """
        return 0 if layout is None else layout.find("N")

    @staticmethod
    def get_list(
        shapes: Sequence[tuple[str, Shape]], types: Sequence[tuple[str, Any]] | None
    ) -> list[DataDesc]:
        """Descriptions of arrays whose shapes, and perhaps dtypes, come by name."""
        known = dict(types or ())
        return [
            DataDesc(name, shape, known[name] if types else np.float32)
            for name, shape in shapes
        ]


class DataBatch:
    """The arrays of one step of training.

    data, label: lists of arrays; pad: how many examples at the end were put there only
    to fill the batch; index: which examples they are; bucket_key: which of several
    networks they are for; provide_data, provide_label: a DataDesc for each array.
    """

    def __init__(
        self,
        data: list[NDArray] | None,
        label: list[NDArray] | None = None,
        pad: int | None = None,
        index: Any = None,
        bucket_key: Any = None,
        provide_data: list[DataDesc] | None = None,
        provide_label: list[DataDesc] | None = None,
    ) -> None:
        for name, given in (("data", data), ("label", label)):
            if given is not None and not isinstance(given, (list, tuple)):
                raise ArgumentError(
                    f"DataBatch: {name} is a {type(given).__name__}; give a list of "
                    f"arrays, [{name}] for a single one."
                )
        self.data = data
        self.label = label
        self.pad = pad
        self.index = index
        self.bucket_key = bucket_key
        self.provide_data = provide_data
        self.provide_label = provide_label

    def __str__(self) -> str:
        data = [array.shape for array in self.data or ()]
        label = [array.shape for array in self.label] if self.label else None
        return f"{type(self).__name__}: data shapes: {data} label shapes: {label}"


class DataIter:
    """The base of all iterators: `for batch in it`, then `it.reset()`.

    One that derives from it moves on in `iter_next` and tells what is there in
    `getdata`, `getlabel`, `getpad` and `getindex`; or it overrides `next`.
    """

    def __init__(self, batch_size: int = 0) -> None:
        self.batch_size = batch_size

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> DataBatch:
        with called("MXDataIterNext"):
            return self.next()

    def reset(self) -> None:
        """Go back to before the first batch."""

    def next(self) -> DataBatch:
        """The next batch. Raises StopIteration after the last."""
        if not self.iter_next():
            raise StopIteration
        return DataBatch(
            self.getdata(), self.getlabel(), pad=self.getpad(), index=self.getindex()
        )

    def iter_next(self) -> bool:
        """Move to the next batch; False if there is none."""
        raise NotImplementedError(f"{type(self).__name__}: override iter_next or next.")

    def getdata(self) -> list[NDArray]:
        """The data of the batch."""
        raise NotImplementedError(f"{type(self).__name__}: override getdata or next.")

    def getlabel(self) -> list[NDArray] | None:
        """The labels of the batch; None if there are none."""
        return None

    def getindex(self) -> Any:
        """Which examples are in the batch; None if they are not counted."""
        return None

    def getpad(self) -> int | None:
        """How many examples at the end of the batch only fill it."""
        return 0


class HoldingIter(DataIter):
    """The base of iterators that hold the batch which they give: `current_batch`."""

    current_batch: DataBatch | None = None

    def _current(self) -> DataBatch:
        if self.current_batch is None:
            raise ArgumentError(
                f"{type(self).__name__}: there is no batch here. iter_next() moves to "
                "a batch, and reset() to before the first."
            )
        return self.current_batch

    def next(self) -> DataBatch:
        """The next batch. Raises StopIteration after the last."""
        if not self.iter_next():
            raise StopIteration
        return self._current()

    def getdata(self) -> Any:
        """The data of the batch."""
        return self._current().data

    def getlabel(self) -> Any:
        """The labels of the batch."""
        return self._current().label

    def getindex(self) -> Any:
        """Which examples are in the batch."""
        return self._current().index

    def getpad(self) -> int | None:
        """How many examples only fill the batch."""
        return self._current().pad

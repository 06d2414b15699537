"""Datasets: samples by number, and new datasets made from them.

A dataset may also hand out a whole batch at once (`batch`), which is much faster than
one sample at a time; the loader asks for it where the result is the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from minimx.aliases import resolve_missing as _resolve_missing
from minimx.core import engine
from minimx.core.arrays.array import NDArray, new
from minimx.core.device import current_context
from minimx.core.dtypes import SUPPORTED
from minimx.core.errors import ArgumentError
from minimx.core.ops.spec import Spec
from minimx.gluon.np_arrays import as_np_if_set


class Dataset:
    """Samples by number: write `__getitem__` and `__len__`."""

    def __getitem__(self, idx: Any) -> Any:
        raise ArgumentError(
            f"{type(self).__name__} has no __getitem__(idx). Write one."
        )

    def __len__(self) -> int:
        raise ArgumentError(f"{type(self).__name__} has no __len__. Write one.")

    def batch(self, indices: Sequence[int]) -> Any:
        """The samples of several numbers, stacked; None if it has to be done singly."""
        return None

    def filter(self, fn: Callable[[Any], Any]) -> Dataset:
        """The samples for which `fn(sample)` is true."""
        kept = [i for i in range(len(self)) if fn(self[i])]
        return _SampledDataset(self, kept)

    def shard(self, num_shards: int, index: int) -> Dataset:
        """Part `index` of `num_shards` parts, whose sizes differ by at most one."""
        if num_shards < 1 or not 0 <= index < num_shards:
            raise ArgumentError(
                f"shard: there is no part {index} among {num_shards}; parts are "
                "counted from 0."
            )
        size, rest = divmod(len(self), num_shards)
        begin = size * index + min(index, rest)
        return _SampledDataset(self, range(begin, begin + size + (index < rest)))

    def take(self, count: int | None) -> Dataset:
        """The first `count` samples; all if there are fewer, or for None."""
        if count is None or count > len(self):
            count = len(self)
        return _SampledDataset(self, range(count))

    def sample(self, sampler: Any) -> Dataset:
        """The samples whose numbers a sampler yields, in its order."""
        return _SampledDataset(self, list(sampler))

    def transform(self, fn: Callable[..., Any], lazy: bool = True) -> Dataset:
        """`fn(*sample)` of each sample: when asked for, or (not lazy) all of them now.

        A sample that is not a tuple goes in as it is. Eager results are kept, so a
        random `fn` is drawn once.
        """
        changed = _LazyTransformDataset(self, fn)
        return (
            changed if lazy else SimpleDataset([changed[i] for i in range(len(self))])
        )

    def transform_first(self, fn: Callable[[Any], Any], lazy: bool = True) -> Dataset:
        """`fn` of the first part of each sample, usually the image; labels stay."""
        return self.transform(_TransformFirst(fn), lazy)


class SimpleDataset(Dataset):
    """A list (or anything with a length and numbers) as a dataset."""

    def __init__(self, data: Any) -> None:
        self._data = data

    def __getitem__(self, idx: Any) -> Any:
        return self._data[idx]

    def __len__(self) -> int:
        return len(self._data)


class ArrayDataset(Dataset):
    """Arrays of the same length side by side: sample i is the tuple of their rows i.

    >>> pairs = ArrayDataset([1, 2, 3], ["a", "b", "c"])
    >>> pairs[1], len(pairs)
    ((2, 'b'), 3)
    """

    def __init__(self, *args: Any) -> None:
        if not args:
            raise ArgumentError("ArrayDataset needs at least one array.")
        self._length = len(args[0])
        self._data: list[Any] = []
        for place, column in enumerate(args):
            if len(column) != self._length:
                raise ArgumentError(
                    f"ArrayDataset: array {place} has {len(column)} rows, the first "
                    f"has {self._length}. Every sample needs a row in each."
                )
            if isinstance(column, NDArray) and column.ndim == 1:
                column = column.asnumpy()  # so that labels are numbers, not arrays
            self._data.append(column)

    def __getitem__(self, idx: Any) -> Any:
        if len(self._data) == 1:
            return self._data[0][idx]
        return tuple(column[idx] for column in self._data)

    def __len__(self) -> int:
        return self._length

    def batch(self, indices: Sequence[int]) -> Any:
        """Rows of every array, stacked; None if a column is no array on the host."""
        return gather(self._data, indices)

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(self._length))


class _SampledDataset(Dataset):
    """Some samples of another dataset."""

    def __init__(self, base: Dataset, indices: Sequence[int]) -> None:
        self._base = base
        self._indices = indices

    def __getitem__(self, idx: Any) -> Any:
        return self._base[self._indices[idx]]

    def __len__(self) -> int:
        return len(self._indices)

    def batch(self, indices: Sequence[int]) -> Any:
        """A batch of the other dataset."""
        return self._base.batch([self._indices[i] for i in indices])


class _LazyTransformDataset(Dataset):
    """A function of each sample of another dataset, when asked for."""

    def __init__(self, base: Dataset, fn: Callable[..., Any]) -> None:
        self._base = base
        self._fn = fn

    def __getitem__(self, idx: Any) -> Any:
        item = self._base[idx]
        return self._fn(*item) if isinstance(item, tuple) else self._fn(item)

    def __len__(self) -> int:
        return len(self._base)

    def batch(self, indices: Sequence[int]) -> Any:
        """The function of a whole batch, if it says that this is the same."""
        if not getattr(self._fn, "batchable", False):
            return None
        found = self._base.batch(indices)
        if found is None:
            return None
        changed = self._fn(*found) if isinstance(found, list) else self._fn(found)
        return list(changed) if isinstance(changed, tuple) else changed


class _TransformFirst:
    """A function of the first part of a sample."""

    def __init__(self, fn: Callable[[Any], Any]) -> None:
        self._fn = fn

    @property
    def batchable(self) -> bool:
        """Whether the function of a batch is the batch of the function."""
        return bool(getattr(self._fn, "batchable", False))

    def __call__(self, first: Any, *rest: Any) -> Any:
        return (self._fn(first), *rest) if rest else self._fn(first)


def gather(columns: Sequence[Any], indices: Sequence[int]) -> Any:
    """Rows of arrays, copied straight into new arrays; None if one is no host array.

    Returns one array, or a list of them for several columns.
    """
    sources = [_host_view(column) for column in columns]
    if any(source is None for source in sources):
        return None
    rows = np.asarray(indices, np.intp)
    found = [_take(source, rows) for source in sources]
    return found[0] if len(found) == 1 else found


def _host_view(column: Any) -> Any:
    """The memory of a column as NumPy sees it, or None."""
    if isinstance(column, NDArray):
        if column.context.device_type == "gpu":
            return None
        engine.wait_to_read(column.chunk)
        return column.view()
    if isinstance(column, np.ndarray) and column.ndim and column.dtype in SUPPORTED:
        return column
    return None


def _take(source: Any, rows: Any) -> NDArray:
    if len(rows) and not (-len(source) <= rows.min() and rows.max() < len(source)):
        raise IndexError(
            f"a sampler asks for samples {rows.min()} to {rows.max()} of a dataset of "
            f"{len(source)}."
        )
    spec = Spec.of((len(rows), *source.shape[1:]), source.dtype)
    where = current_context()
    if where.device_type == "gpu":
        from minimx.core.arrays.transfer import from_numpy_copy

        return as_np_if_set(from_numpy_copy(source[rows], where, NDArray))  # type: ignore[no-any-return]
    out = new(spec, where, "DataLoader")
    # No other code has the new array yet, so it is filled without the engine; "wrap"
    # lets NumPy write there directly, and negative numbers count from the end.
    np.take(source, rows, axis=0, out=out.view(), mode="wrap")
    return as_np_if_set(out)  # type: ignore[no-any-return]


_resolve_missing(__name__, globals())

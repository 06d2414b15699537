"""Iterators over other iterators: `ResizeIter` and `PrefetchingIter`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from minimx.core.errors import ArgumentError
from minimx.io.batches import DataBatch, DataDesc, HoldingIter

if TYPE_CHECKING:
    from concurrent.futures import Future


class ResizeIter(HoldingIter):
    """Another iterator, with `size` batches in an epoch.

    If the other one ends before, it is reset and goes on. reset_internal: whether
    `reset` resets it, too; else the next epoch goes on where this one ended.
    """

    def __init__(self, data_iter: Any, size: int, reset_internal: bool = True) -> None:
        super().__init__(data_iter.batch_size)
        self.data_iter = data_iter
        self.size = size
        self.reset_internal = reset_internal
        self.cur = 0
        self.provide_data = data_iter.provide_data
        self.provide_label = data_iter.provide_label
        if hasattr(data_iter, "default_bucket_key"):
            self.default_bucket_key = data_iter.default_bucket_key

    def reset(self) -> None:
        """Begin an epoch."""
        self.cur = 0
        if self.reset_internal:
            self.data_iter.reset()

    def iter_next(self) -> bool:
        """Move to the next batch; False after `size` of them."""
        if self.cur == self.size:
            return False
        try:
            self.current_batch = self.data_iter.next()
        except StopIteration:
            self.data_iter.reset()
            self.current_batch = self.data_iter.next()
        self.cur += 1
        return True


class PrefetchingIter(HoldingIter):
    """One iterator or several of them, each a batch ahead in a thread of its own.

    The batches of several are joined: their data and their labels one after the other.
    rename_data, rename_label: a dict of names for each iterator.
    """

    def __init__(
        self,
        iters: Any,
        rename_data: Sequence[dict[str, str]] | None = None,
        rename_label: Sequence[dict[str, str]] | None = None,
    ) -> None:
        from concurrent.futures import ThreadPoolExecutor

        self.iters = list(iters) if isinstance(iters, (list, tuple)) else [iters]
        if not self.iters:
            raise ArgumentError("PrefetchingIter: give at least one iterator.")
        self.n_iter = len(self.iters)
        self.rename_data = rename_data
        self.rename_label = rename_label
        super().__init__(self.provide_data[0][1][0])
        self._workers = ThreadPoolExecutor(self.n_iter, "PrefetchingIter")
        self._ahead: list[Future[DataBatch | None]] = []
        self._fetch()

    def __del__(self) -> None:
        workers = getattr(self, "_workers", None)
        if workers is not None:
            workers.shutdown(wait=False, cancel_futures=True)

    @property
    def provide_data(self) -> list[DataDesc]:
        """What the data of a batch look like."""
        return list(self._renamed("provide_data", self.rename_data))

    @property
    def provide_label(self) -> list[DataDesc]:
        """What the labels of a batch look like."""
        return list(self._renamed("provide_label", self.rename_label))

    def _renamed(
        self, which: str, names: Sequence[dict[str, str]] | None
    ) -> Iterator[DataDesc]:
        for place, one in enumerate(self.iters):
            for desc in getattr(one, which):
                name = names[place].get(desc[0], desc[0]) if names else desc[0]
                dtype = getattr(desc, "dtype", "float32")
                layout = getattr(desc, "layout", "NCHW")
                yield DataDesc(name, desc[1], dtype, layout)

    def _fetch(self) -> None:
        self._ahead = [self._workers.submit(_next_of, one.next) for one in self.iters]

    def reset(self) -> None:
        """Begin an epoch with all iterators; an error of a batch ahead is dropped."""
        for future in self._ahead:
            future.exception()  # waits
        for one in self.iters:
            one.reset()
        self._fetch()

    def iter_next(self) -> bool:
        """Move to the next batch; False if there is none."""
        found = [future.result() for future in self._ahead]
        if any(batch is None for batch in found):
            if any(batch is not None for batch in found):
                raise ArgumentError(
                    "PrefetchingIter: the iterators have different numbers of batches."
                )
            return False
        batches = [batch for batch in found if batch is not None]
        if len({batch.pad for batch in batches}) > 1:
            raise ArgumentError(
                "PrefetchingIter: the iterators fill their batches differently: pad is "
                f"{[batch.pad for batch in batches]}."
            )
        self.current_batch = DataBatch(
            [array for batch in batches for array in batch.data or ()],
            [array for batch in batches for array in batch.label or ()],
            batches[0].pad,
            batches[0].index,
            provide_data=self.provide_data,
            provide_label=self.provide_label,
        )
        self._fetch()
        return True


def _next_of(step: Callable[[], DataBatch]) -> DataBatch | None:
    """The next batch; None at the end, since StopIteration does not cross threads."""
    try:
        return step()
    except StopIteration:
        return None

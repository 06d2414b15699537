"""Loaders of `mx.gluon.data` in the hands of modules, and of libraries' own loaders."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from typing import Any

from minimx import nd
from minimx.core.device import cpu_pinned
from minimx.gluon.data.dataloader import _on
from minimx.io import DataDesc, DataIter

__all__ = ["DataLoaderIter", "_MultiWorkerIter"]


class DataLoaderIter(DataIter):
    """The batches of a `gluon.data.DataLoader` as `Module.fit` wants them.

    loader: gives (data, label), arrays whose first axis is the batch. data_name,
    label_name: what the graph calls them. dtype: to which both are converted. A last
    batch that is shorter is filled up; `getpad` says with how many samples.
    """

    def __init__(
        self,
        loader: Any,
        data_name: str = "data",
        label_name: str = "softmax_label",
        dtype: str = "float32",
    ) -> None:
        super().__init__()
        self._loader = loader
        self.dtype = dtype
        data, label = next(iter(loader))
        self.batch_size = data.shape[0]
        self.provide_data = [DataDesc(data_name, data.shape, dtype)]
        self.provide_label = [DataDesc(label_name, label.shape, dtype)]
        self._current: Any = None
        self.reset()

    def reset(self) -> None:
        """Begin with the first batch."""
        self._batches = iter(self._loader)

    def iter_next(self) -> bool:
        """Go to the next batch, if there is one."""
        self._current = next(self._batches, None)
        return self._current is not None

    def _filled(self, array: Any) -> list[Any]:
        found = array.astype(self.dtype)
        if self.getpad():
            rest = nd.zeros((self.getpad(), *array.shape[1:]), dtype=self.dtype)
            found = nd.concat(found, rest, dim=0)
        return [found]

    def getdata(self) -> list[Any]:
        """The data of the current batch."""
        return self._filled(self._current[0])

    def getlabel(self) -> list[Any]:
        """The labels of the current batch."""
        return self._filled(self._current[1])

    def getpad(self) -> int:
        """How many samples at the end of the batch are no samples."""
        return int(self.batch_size - self._current[0].shape[0])

    def getindex(self) -> None:
        """Not known."""


class _MultiWorkerIter:
    """Batches that a pool of workers makes ahead, in order, as MXNet's loader has it.

    worker_pool: of `multiprocessing`. worker_fn(indices, batchify_fn, dataset): run by
    a worker; it returns the batch, pickled where `dataset` is None. prefetch: how many
    batches are asked for at once. pin_memory: put batches into pinned memory.
    timeout: seconds to wait for one.
    """

    def __init__(
        self,
        worker_pool: Any,
        batchify_fn: Callable[..., Any],
        batch_sampler: Any,
        pin_memory: bool = False,
        pin_device_id: int = 0,
        worker_fn: Callable[..., Any] | None = None,
        prefetch: int = 0,
        dataset: Any = None,
        data_loader: Any = None,
        timeout: float = 120,
    ) -> None:
        self._worker_pool = worker_pool
        self._batchify_fn = batchify_fn
        self._batch_sampler = batch_sampler
        self._worker_fn: Any = worker_fn or _stacked
        self._pinned = cpu_pinned(pin_device_id) if pin_memory else None
        self._dataset = dataset
        self._data_loader = data_loader  # lives as long as its batches are wanted
        self._timeout = timeout
        self._iter = iter(batch_sampler)
        self._data_buffer: dict[int, Any] = {}
        self._rcvd_idx = self._sent_idx = 0
        for _ in range(prefetch):
            self._push_next()

    def __len__(self) -> int:
        return len(self._batch_sampler)

    def _push_next(self) -> None:
        """Let a worker make the next batch."""
        indices = next(self._iter, None)
        if indices is None:
            return
        asked = indices, self._batchify_fn, self._dataset
        made = self._worker_pool.apply_async(self._worker_fn, asked)
        self._data_buffer[self._sent_idx] = made
        self._sent_idx += 1

    def __next__(self) -> Any:
        self._push_next()
        if self._rcvd_idx == self._sent_idx:
            raise StopIteration
        batch = self._data_buffer.pop(self._rcvd_idx).get(self._timeout)
        self._rcvd_idx += 1
        if self._dataset is None:
            batch = pickle.loads(batch)
        return batch if self._pinned is None else _on(batch, self._pinned)

    def next(self) -> Any:
        """The next batch."""
        return self.__next__()

    def __iter__(self) -> Iterator[Any]:
        return self


def _stacked(indices: Any, batchify_fn: Callable[..., Any], dataset: Any) -> Any:
    return batchify_fn([dataset[i] for i in indices])

"""DataLoader: batches of a dataset, made in this thread or ahead of it in workers.

With `num_workers`, threads make batches while the network trains; NumPy and our kernels
release the interpreter while they work. At most `prefetch` batches wait at any time,
they come in the sampler's order, and an error in a worker is raised where its batch
would have come. Leaving the loop early stops the workers.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from minimx import flavour
from minimx.device import Context, cpu_pinned, current_context
from minimx.errors import ArgumentError, DataError
from minimx.events import attributed
from minimx.flavour import Flavour
from minimx.gluon.data.batchify import Stack, default_batchify_fn
from minimx.gluon.data.sampler import (
    BatchSampler,
    RandomSampler,
    Sampler,
    SequentialSampler,
)
from minimx.nd.array import NDArray

if TYPE_CHECKING:
    from concurrent.futures import Future

Batchify = Callable[[Sequence[Any]], Any]


class DataLoader:
    """Batches of a dataset.

    batch_size, shuffle, sampler, last_batch: which samples form a batch; see
        `BatchSampler`. batch_sampler: decides all four.
    batchify_fn: makes a batch of a list of samples; stacks them by default.
    num_workers: threads that make batches ahead; 0 makes them when asked for.
    pin_memory: put batches into pinned memory for GPU `pin_device_id`.
    prefetch: how many batches to make ahead; 2 * num_workers by default.
    timeout: seconds to wait for a batch from a worker.
    thread_pool, auto_reload, try_nopython: accepted for MXNet's sake. Workers are
        threads, and each pass starts its own.
    """

    def __init__(
        self,
        dataset: Any,
        batch_size: int | None = None,
        shuffle: bool = False,
        sampler: Sampler | None = None,
        last_batch: str | None = None,
        batch_sampler: Any = None,
        batchify_fn: Batchify | None = None,
        num_workers: int = 0,
        pin_memory: bool = False,
        pin_device_id: int = 0,
        prefetch: int | None = None,
        thread_pool: bool = False,
        timeout: float = 120,
        auto_reload: bool = False,
        try_nopython: bool | None = None,
    ) -> None:
        if num_workers < 0 or timeout <= 0 or (prefetch is not None and prefetch < 0):
            raise ArgumentError(
                f"DataLoader: num_workers={num_workers}, prefetch={prefetch} and "
                f"timeout={timeout} cannot be negative, and the last must not be 0."
            )
        self._dataset = dataset
        self._batch_sampler = _batch_sampler(
            dataset, batch_size, shuffle, sampler, last_batch, batch_sampler
        )
        self._batchify_fn = default_batchify_fn if batchify_fn is None else batchify_fn
        self._num_workers = num_workers
        self._pin_memory = pin_memory
        self._pin_device_id = pin_device_id
        self._prefetch = 2 * num_workers if prefetch is None else prefetch
        self._timeout = timeout
        plain = batchify_fn in (None, default_batchify_fn) or type(batchify_fn) is Stack
        self._whole_batches = plain and hasattr(dataset, "batch")

    def __len__(self) -> int:
        """How many batches a pass gives."""
        return len(self._batch_sampler)

    def __iter__(self) -> Iterator[Any]:
        device, spoken = current_context(), flavour.current()
        if self._pin_memory:
            device = cpu_pinned(self._pin_device_id)
        if self._num_workers:
            return self._from_workers(device, spoken)
        orders = self._batch_sampler
        return (self._make(indices, device, spoken) for indices in orders)

    def _make(self, indices: Sequence[int], device: Context, spoken: Flavour) -> Any:
        """One batch, on behalf of the data, on its device and in its flavour."""
        manner = flavour.Scope(spoken.np_shape, spoken.np_array)
        with attributed(layer="", phase="data", category="data"), device, manner:
            if self._whole_batches:
                batch = self._dataset.batch(indices)
                if batch is not None:
                    return batch
            batch = self._batchify_fn([self._dataset[i] for i in indices])
            return _on(batch, device) if self._pin_memory else batch

    def _from_workers(self, device: Context, spoken: Flavour) -> Iterator[Any]:
        from concurrent.futures import ThreadPoolExecutor, wait

        ahead: deque[Future[Any]] = deque()
        orders = iter(self._batch_sampler)
        workers = ThreadPoolExecutor(self._num_workers, "DataLoader")
        stuck = False
        try:
            while True:
                while len(ahead) <= self._prefetch:
                    indices = next(orders, None)
                    if indices is None:
                        break
                    ahead.append(workers.submit(self._make, indices, device, spoken))
                if not ahead:
                    break
                stuck = not wait([ahead[0]], self._timeout).done
                if stuck:
                    raise self._too_slow()
                yield ahead.popleft().result()
        finally:
            # Also after an early end no thread stays behind, unless it is stuck.
            workers.shutdown(wait=not stuck, cancel_futures=True)

    def _too_slow(self) -> DataError:
        return DataError(
            f"DataLoader: a worker has not finished its batch in {self._timeout} "
            "seconds. Is a sample stuck, on a lock or the network? If it is only slow, "
            "give a larger timeout."
        )


def _batch_sampler(
    dataset: Any,
    batch_size: int | None,
    shuffle: bool,
    sampler: Sampler | None,
    last_batch: str | None,
    batch_sampler: Any,
) -> Any:
    """The batch sampler asked for, after checking that the wishes go together."""
    if batch_sampler is not None:
        if batch_size is not None or shuffle or sampler is not None or last_batch:
            raise ArgumentError(
                "DataLoader: batch_sampler decides alone which samples form a batch; "
                "leave batch_size, shuffle, sampler and last_batch away."
            )
        return batch_sampler
    if batch_size is None:
        raise ArgumentError(
            "DataLoader: how many samples form a batch? Give batch_size, or a "
            "batch_sampler."
        )
    if sampler is not None and shuffle:
        raise ArgumentError(
            "DataLoader: sampler decides the order; leave shuffle away, or use "
            "shuffle alone."
        )
    if sampler is None:
        kind = RandomSampler if shuffle else SequentialSampler
        sampler = kind(len(dataset))
    return BatchSampler(sampler, batch_size, last_batch or "keep")


def _on(batch: Any, device: Context) -> Any:
    """Nested arrays on a device."""
    if isinstance(batch, NDArray):
        return batch.as_in_context(device)
    if isinstance(batch, (list, tuple)):
        return type(batch)(_on(part, device) for part in batch)
    return batch

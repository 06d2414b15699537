"""DataLoader: batches of a dataset, made in this thread or ahead of it by workers.

With `num_workers`, worker processes (or threads, `thread_pool`) make batches while the
network trains. At most `prefetch` batches wait at any time, they come in the sampler's
order, and an error in a worker is raised where its batch would have come. Leaving the
loop early ends the workers.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Any

from minimx.aliases import resolve_missing as _resolve_missing
from minimx.core import np_semantics
from minimx.core.arrays.array import NDArray
from minimx.core.device import Context, cpu_pinned, cpu_shared, current_context
from minimx.core.errors import ArgumentError
from minimx.core.events import attributed, called
from minimx.gluon.data import seeding
from minimx.gluon.data.batchify import (
    Stack,
    default_batchify_fn,
    default_mp_batchify_fn,
)
from minimx.gluon.data.sampler import (
    BatchSampler,
    RandomSampler,
    Sampler,
    SequentialSampler,
)

if TYPE_CHECKING:  # needed by few programs: not paid for at import
    from minimx.gluon.data.worker import Order
    from minimx.gluon.data.workers import Workers

__all__ = [
    "DataLoader",
    "default_batchify_fn",
    "default_mp_batchify_fn",
]

Batchify = Callable[[Sequence[Any]], Any]


@dataclass
class _Maker:
    """Makes a batch of the samples of these indices, in whatever process it is.

    whole_batches: the dataset may be asked for a whole batch; where says in which
    memory. None: that of the current device.
    """

    dataset: Any
    batchify_fn: Batchify
    whole_batches: bool
    where: Context | None = None

    def __call__(self, indices: Sequence[int]) -> Any:
        with attributed(layer="", phase="data", category="data"):
            if self.whole_batches:
                with self.where or nullcontext():
                    batch = self.dataset.batch(indices)
                if batch is not None:
                    return batch
            return self.batchify_fn([self.dataset[i] for i in indices])


class DataLoader:
    """Batches of a dataset.

    batch_size, shuffle, sampler, last_batch: which samples form a batch; see
        `BatchSampler`. batch_sampler: decides all four.
    batchify_fn: makes a batch of a list of samples; stacks them by default.
    num_workers: processes that make batches ahead; 0 makes them when asked for. Each
        has the dataset as it was at the first pass. Their batches are in memory that
        processes share, `cpu_shared(0)`, and are not copied on the way.
    thread_pool: workers are threads. They see the dataset as it is, start at once, and
        are as fast where samples are made outside of Python.
    pin_memory: put batches into pinned memory for GPU `pin_device_id`.
    prefetch: how many batches to make ahead; 2 * num_workers by default.
    timeout: seconds to wait for a batch from a worker.
    auto_reload, try_nopython: accepted for MXNet's sake.

    Before each batch a worker seeds the generators of NumPy, of Python and of
    `mx.random`, by what they are in the main program when a pass begins. So the same
    seeds give the same batches, with any number of workers. (Threads have generators of
    their own for that, which our transforms and `mx.random` know; a dataset that calls
    `random` or `numpy.random` itself is repeatable in processes only.)
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
        self._num_workers = num_workers
        self._thread_pool = thread_pool
        self._device: Context | None = cpu_shared(0) if num_workers else None
        if pin_memory:
            self._device = cpu_pinned(pin_device_id)
        # What libraries' own loaders read.
        self._pin_memory, self._pin_device_id = pin_memory, pin_device_id
        self._prefetch = 2 * num_workers if prefetch is None else prefetch
        self._timeout = timeout
        defaults = (None, default_batchify_fn, default_mp_batchify_fn)
        plain = batchify_fn in defaults or type(batchify_fn) is Stack
        if batchify_fn is None:
            batchify_fn = default_mp_batchify_fn if num_workers else default_batchify_fn
        whole = plain and hasattr(dataset, "batch")
        # Processes share memory; what they make elsewhere would be copied into it.
        where = cpu_shared(0) if num_workers and not thread_pool else self._device
        self._make = _Maker(dataset, batchify_fn, whole, where)
        self._idle: Workers | None = None

    def __len__(self) -> int:
        """How many batches a pass gives."""
        return len(self._batch_sampler)

    def __iter__(self) -> Iterator[Any]:
        if self._num_workers:
            return self._ahead(np_semantics.current())
        return (self._made(indices) for indices in self._batch_sampler)

    def _made(self, indices: Sequence[int], call: str = "DataLoader.next") -> Any:
        """A batch, made now."""
        with called(call):
            return self._placed(self._make(indices))

    def _ahead(self, semantics: np_semantics.NpSemantics) -> Iterator[Any]:
        """The batches of a pass, made by workers."""
        from minimx.gluon.data.worker import Order

        waiting: deque[int] = deque()
        entropy, orders = seeding.begin(iter(self._batch_sampler))
        numbers = count()
        workers = self._workers()
        try:
            while True:
                for indices in orders:
                    number = next(numbers)
                    how = (semantics.np_shape, semantics.np_array)
                    workers.order(Order(number, indices, entropy, *how))
                    waiting.append(number)
                    if len(waiting) > self._prefetch:
                        break
                if not waiting:
                    break
                with called("DataLoader.next"):
                    batch = workers.batch(waiting.popleft(), self._timeout)
                    batch = self._placed(batch)
                yield batch
            if workers.lasting and self._idle is None:
                self._idle = workers
        finally:
            # Also after an early end no worker stays behind.
            if workers is not self._idle:
                workers.close()

    def _workers(self) -> Workers:
        """Workers that have nothing to do: those of the last pass, or new ones."""
        from minimx.gluon.data.workers import Processes, Threads

        if self._thread_pool:
            device = current_context()
            return Threads(self._num_workers, partial(self._made_on, device))
        idle, self._idle = self._idle, None
        if idle is not None:
            if idle.alive():
                return idle
            idle.close()
        return Processes(self._num_workers, self._make)

    def _made_on(self, device: Context, order: Order) -> Any:
        """A batch that a thread makes, in the manner of the one that ordered it."""
        manner = np_semantics.Scope(order.np_shape, order.np_array)
        with device, manner, seeding.own(order.entropy, order.number):
            return self._made(order.indices, "DataLoader.make")

    def _placed(self, batch: Any) -> Any:
        """A batch in the memory where batches are wanted."""
        return batch if self._device is None else _on(batch, self._device)


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


_resolve_missing(__name__, __all__)

"""Samplers: in which order a dataset is visited, and how visits form batches.

Random orders come from NumPy's global generator, as in MXNet: `numpy.random.seed` makes
them repeat.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from minimx.core.errors import ArgumentError

__all__ = [
    "BatchSampler", "FilterSampler", "IntervalSampler", "RandomSampler", "Sampler",
    "SequentialSampler",
]  # fmt: skip

LAST_BATCH = ("keep", "discard", "rollover")


class Sampler:
    """Something that yields indices, and knows how many."""

    def __len__(self) -> int:
        raise ArgumentError(f"{type(self).__name__} has no __len__(). Write one.")

    def __iter__(self) -> Iterator[Any]:
        raise ArgumentError(f"{type(self).__name__} has no __iter__(). Write one.")


class SequentialSampler(Sampler):
    """start, start + 1, …, start + length - 1."""

    def __init__(self, length: int, start: int = 0) -> None:
        self._length = length
        self._start = start

    def __iter__(self) -> Iterator[int]:
        return iter(range(self._start, self._start + self._length))

    def __len__(self) -> int:
        return self._length


class RandomSampler(Sampler):
    """0 to length - 1 in a random order, without repetition."""

    def __init__(self, length: int) -> None:
        self._length = length

    def __iter__(self) -> Iterator[int]:
        order = np.arange(self._length)
        np.random.shuffle(order)
        return iter(order.tolist())

    def __len__(self) -> int:
        return self._length


class IntervalSampler(Sampler):
    """Every `interval`-th index; with `rollover`, again from 1, from 2 and so on.

    >>> list(IntervalSampler(7, interval=3))
    [0, 3, 6, 1, 4, 2, 5]
    """

    def __init__(self, length: int, interval: int, rollover: bool = True) -> None:
        if not 1 <= interval <= length:
            raise ArgumentError(
                f"IntervalSampler: interval={interval} must be between 1 and "
                f"length={length}."
            )
        self._length = length
        self._interval = interval
        self._rollover = rollover

    def __iter__(self) -> Iterator[int]:
        for start in range(self._interval if self._rollover else 1):
            yield from range(start, self._length, self._interval)

    def __len__(self) -> int:
        if self._rollover:
            return self._length
        return len(range(0, self._length, self._interval))


class FilterSampler(Sampler):
    """The indices of the samples for which `fn(sample)` is true."""

    def __init__(self, fn: Callable[[Any], Any], dataset: Any) -> None:
        self._indices = [i for i in range(len(dataset)) if fn(dataset[i])]

    def __iter__(self) -> Iterator[int]:
        return iter(self._indices)

    def __len__(self) -> int:
        return len(self._indices)


class BatchSampler(Sampler):
    """Lists of `batch_size` indices from another sampler.

    last_batch: what to do with fewer than `batch_size` indices at the end: `keep` them
        as a short batch, `discard` them, or `rollover` them to the next pass.

    >>> list(BatchSampler(SequentialSampler(5), 2, "discard"))
    [[0, 1], [2, 3]]
    """

    def __init__(
        self,
        sampler: Sampler | Sequence[int],
        batch_size: int,
        last_batch: str = "keep",
    ) -> None:
        if last_batch not in LAST_BATCH:
            raise ArgumentError(
                f"BatchSampler: last_batch={last_batch!r}: choose one of "
                f"{', '.join(LAST_BATCH)}."
            )
        if batch_size < 1:
            raise ArgumentError(
                f"BatchSampler: batch_size={batch_size}; give 1 or more."
            )
        self._sampler = sampler
        self._batch_size = batch_size
        self._last_batch = last_batch
        self._left: list[Any] = []  # rolled over from the last pass

    def __iter__(self) -> Iterator[list[Any]]:
        batch, self._left = self._left, []
        for index in self._sampler:
            batch.append(index)
            if len(batch) == self._batch_size:
                yield batch
                batch = []
        if not batch:
            return
        if self._last_batch == "keep":
            yield batch
        elif self._last_batch == "rollover":
            self._left = batch

    def __len__(self) -> int:
        count = len(self._sampler)
        if self._last_batch == "keep":
            return -(-count // self._batch_size)
        if self._last_batch == "rollover":
            count += len(self._left)
        return count // self._batch_size

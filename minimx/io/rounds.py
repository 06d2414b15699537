"""Which samples stand in which batch, for iterators over files: a pure policy.

With `round_batch` the last batch of an epoch is filled with samples of the next epoch,
which then begins after them. Without, it is filled with whatever stood at the same
places in the batch before. Either way `pad` says how many fill it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from minimx.core.errors import ArgumentError


class Batch(NamedTuple):
    """The numbers of the samples, and how many at the end only fill the batch."""

    rows: list[int]
    pad: int


class Rounds:
    """Batches of `count` samples, epoch after epoch.

    order: gives the order of an epoch, by its number; as they are by default.

    >>> rounds = Rounds(5, 2)
    >>> list(rounds.epoch())
    [Batch(rows=[0, 1], pad=0), Batch(rows=[2, 3], pad=0), Batch(rows=[4, 0], pad=1)]
    >>> [rows for rows, pad in rounds.epoch()]
    [[1, 2], [3, 4]]
    """

    def __init__(
        self,
        count: int,
        batch_size: int,
        round_batch: bool = True,
        order: Callable[[int], list[int]] | None = None,
    ) -> None:
        if count < 1 or batch_size < 1:
            raise ArgumentError(
                f"there are {count} samples for batches of {batch_size}; both must be "
                "at least 1."
            )
        self.count = count
        self.batch_size = batch_size
        self.round_batch = round_batch
        self._order = order or (lambda epoch: list(range(count)))
        self._epoch = 0
        #: What the epoch that begins next has left.
        self._left = self._order(0)

    def epoch(self) -> Iterator[Batch]:
        """The batches of one epoch; what the last one takes, the next epoch misses."""
        size = self.batch_size
        left, before = self._left, [0] * size
        self._left = self._following()
        for begin in range(0, len(left), size):
            rows = left[begin : begin + size]
            pad = size - len(rows)
            if pad and self.round_batch:
                while len(self._left) < size - len(rows):
                    self._left += self._following()
                taken = size - len(rows)
                rows += self._left[:taken]
                self._left = self._left[taken:] or self._following()
            elif pad:
                rows += before[len(rows) :]
            before = rows
            yield Batch(rows, pad)

    def _following(self) -> list[int]:
        """The order of the next epoch."""
        self._epoch += 1
        return list(self._order(self._epoch))


def shuffled(count: int, seed: int) -> Callable[[int], list[int]]:
    """An order for `Rounds` that is another one in each epoch."""

    def order(epoch: int) -> list[int]:
        found = np.random.default_rng([seed & 0xFFFFFFFF, epoch]).permutation(count)
        return [int(row) for row in found]

    return order


def chunked(
    starts: list[int], size: int, chunks: int, seed: int, inside: int | None = None
) -> Callable[[int], list[int]]:
    """An order for `Rounds` that takes pieces of a file in another order every epoch.

    A disk then reads long stretches and still gives another order: one movement of its
    head for a piece, not for a sample. starts: where the samples begin; size: where the
    last one ends; chunks: how many pieces of the same size. inside: a seed to shuffle
    within pieces as well.

    >>> chunked([0, 10, 20, 30, 40, 50], 60, 3, seed=1)(1)
    [4, 5, 0, 1, 2, 3]
    """
    low = min(starts)
    pieces: list[list[int]] = [[] for _ in range(chunks)]
    for row in np.argsort(starts, kind="stable"):
        pieces[(starts[row] - low) * chunks // max(size - low, 1)].append(int(row))

    def order(epoch: int) -> list[int]:
        rows: list[int] = []
        for number in shuffled(chunks, seed)(epoch):
            piece = pieces[number]
            if inside is not None:
                mixed = np.random.default_rng([inside & 0xFFFFFFFF, epoch, number])
                piece = [piece[k] for k in mixed.permutation(len(piece))]
            rows += piece
        return rows

    return order


def part_of(starts: list[int], size: int, num_parts: int, part_index: int) -> slice:
    """Which items of a file one of several readers takes, cutting by bytes as MXNet.

    starts: where the items begin; size: of the file. An item belongs to the part in
    which it begins; so parts differ where items do.

    >>> part_of([0, 16, 21, 46], 56, 2, 1)
    slice(3, 4, None)
    """
    if not 0 <= part_index < num_parts:
        raise ArgumentError(
            f"there is no part {part_index} among {num_parts}; parts are counted from "
            "0."
        )
    step = -(-size // num_parts)
    begin, end = np.searchsorted(starts, [part_index * step, (part_index + 1) * step])
    return slice(int(begin), int(end) if part_index < num_parts - 1 else len(starts))

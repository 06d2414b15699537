"""The vocabulary of plans: pieces of an array, copies of them, and sums.

A plan is a tuple of steps. A step may run as soon as the steps before it that it
depends on have run: a sum needs the copies that arrive at its place, a copy the sum at
its source. An engine that keeps reads and writes in order finds out by itself what may
run at the same time.

Places are numbers: the position of a device in the list of those that take part, or
`HOST`, the memory of the host.
"""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

#: The place that is no device.
HOST = -1


class Piece(NamedTuple):
    """Rows `start` to `stop` (exclusive) of axis 0; `stop` -1 is to the end."""

    start: int = 0
    stop: int = -1


WHOLE = Piece()


class Copy(NamedTuple):
    """What `source` has of a piece goes to `target`.

    While a plan reduces, it waits there for a sum; while it broadcasts, it is the
    result.
    """

    source: int
    target: int
    piece: Piece = WHOLE


class Sum(NamedTuple):
    """`place` adds what came from `sources`, in this order; the sum is its own then.

    The place itself among the sources stands for what it has already.
    """

    place: int
    sources: tuple[int, ...]
    piece: Piece = WHOLE


Step = Copy | Sum


class Plan(NamedTuple):
    """A reduction and the broadcast of its result.

    reduce: copies and sums, until each piece is complete at its root. broadcast: copies
    from there to all that take part. roots: where each piece is complete.
    """

    reduce: tuple[Step, ...]
    broadcast: tuple[Copy, ...]
    roots: dict[Piece, int]


def slices(rows: int, count: int) -> tuple[Piece, ...]:
    """`count` pieces of as many rows each; the last takes what remains.

    >>> slices(10, 4)
    (Piece(start=0, stop=2), Piece(start=2, stop=4), Piece(start=4, stop=6), \
Piece(start=6, stop=10))
    """
    size = rows // count
    ends = [size * (k + 1) for k in range(count - 1)] + [rows]
    return tuple(Piece(size * k, end) for k, end in enumerate(ends))


def traffic(
    steps: tuple[Step, ...], rows: int, nbytes: int
) -> Counter[tuple[int, int]]:
    """The bytes that copies bring over each pair of places.

    rows: the length of axis 0 of the array; nbytes: its size.

    >>> steps = (Copy(1, 0), Copy(2, 0, Piece(0, 1)), Sum(0, (0, 1, 2)))
    >>> dict(traffic(steps, rows=4, nbytes=100))
    {(1, 0): 100, (2, 0): 25}
    """
    found: Counter[tuple[int, int]] = Counter()
    for step in steps:
        if isinstance(step, Copy):
            start, stop = step.piece
            part = rows if stop < 0 else stop
            found[step.source, step.target] += (
                nbytes if step.piece == WHOLE else nbytes * (part - start) // rows
            )
    return found

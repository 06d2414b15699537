"""Which server keeps which part of which key, and how P3 cuts what it sends.

MXNet's documents call the server of a small key random; it is computed from the key, so
that all workers know it without asking.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import NamedTuple

_PRIME = 9973


class Part(NamedTuple):
    """Elements `start` to `stop` (exclusive) of a flat array, and their server."""

    server: int
    start: int
    stop: int


def place(key: int, elements: int, servers: int, bound: int) -> tuple[Part, ...]:
    """The parts of a key: one server for a small one, all of them for a large one.

    bound: MXNET_KVSTORE_BIGARRAY_BOUND; from so many elements on a key is split.

    >>> place(3, elements=10, servers=4, bound=100)
    (Part(server=3, start=0, stop=10),)
    >>> [part.stop - part.start for part in place(3, 10, 4, bound=10)]
    [3, 2, 3, 2]
    """
    if elements < bound:
        return (Part(key * _PRIME % servers, 0, elements),)
    ends = [_rounded(elements * k, servers) for k in range(servers + 1)]
    return tuple(Part(k, ends[k], ends[k + 1]) for k in range(servers))


def _rounded(number: int, divisor: int) -> int:
    """Number / divisor, with halves away from zero, as C++ rounds."""
    return (2 * number + divisor) // (2 * divisor)


class Slicer:
    """P3's slices: at most `threshold` elements each, dealt to servers in turn.

    The turn goes on from key to key (one counter for the process), so that the servers
    share the load however the sizes of the keys fall.

    >>> slicer = Slicer(servers=2, threshold=4)
    >>> list(slicer.slices(10))
    [Part(server=0, start=0, stop=4), Part(server=1, start=4, stop=8), \
Part(server=0, start=8, stop=10)]
    >>> next(slicer.slices(3)).server
    1
    """

    def __init__(self, servers: int, threshold: int) -> None:
        self._servers, self._threshold = servers, threshold
        self._turn = count()

    def slices(self, elements: int) -> Iterator[Part]:
        """The slices of one key, in the order in which they are sent."""
        for start in range(0, elements, self._threshold):
            stop = min(start + self._threshold, elements)
            yield Part(next(self._turn) % self._servers, start, stop)

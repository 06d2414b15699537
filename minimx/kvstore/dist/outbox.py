"""What waits to be sent: the most urgent first, to a receiver that has room."""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush
from itertools import count
from typing import Generic, TypeVar

ItemT = TypeVar("ItemT")


class Outbox(Generic[ItemT]):
    """Queues by receiver; of equal urgency the first that came is the first to go.

    >>> box = Outbox[str]()
    >>> for priority, item in [(-2, "last layer"), (-2, "more of it"), (0, "first")]:
    ...     box.put(7, item, priority)
    >>> [box.take(lambda to: True) for _ in range(3)]
    [(7, 'first'), (7, 'last layer'), (7, 'more of it')]
    """

    def __init__(self) -> None:
        self._queues: dict[int, list[tuple[int, int, ItemT]]] = {}
        self._turn = count()

    def put(self, to: int, item: ItemT, priority: int) -> None:
        """Let something wait."""
        queue = self._queues.setdefault(to, [])
        heappush(queue, (-priority, next(self._turn), item))

    def take(self, room: Callable[[int], bool]) -> tuple[int, ItemT] | None:
        """The most urgent of those whose receiver has room; None if there is none."""
        ready = [(queue[0][:2], to) for to, queue in self._queues.items() if room(to)]
        if not ready:
            return None
        _, to = min(ready)
        item = heappop(self._queues[to])[2]
        if not self._queues[to]:
            del self._queues[to]
        return to, item

    def __len__(self) -> int:
        return sum(map(len, self._queues.values()))

"""Messages that overtake, and messages that may be lost.

An `Outbox` lets the most urgent go first. What may be lost is sent again until it is
acknowledged, and taken once:

    PS_DROP_MSG          percent of arriving messages that are lost on purpose
    PS_RESEND            acknowledge messages, and send again what is not acknowledged
    PS_RESEND_TIMEOUT    after how many milliseconds

A message has a number, counted for each receiver. What arrives twice, because its
acknowledgement was lost, is dropped by that number. As in MXNet's parameter server.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable
from heapq import heappop, heappush
from itertools import count
from typing import Generic, TypeVar

FrameT = TypeVar("FrameT")
ItemT = TypeVar("ItemT")


class Reliable(Generic[FrameT]):
    """What was sent and is not acknowledged, and what has come already. It is pure.

    >>> link = Reliable[str]()
    >>> number = link.number(to=1)
    >>> link.sent(1, number, "gradient", now=0.0)
    >>> link.due(now=0.5, timeout=1.0), link.due(now=1.5, timeout=1.0)
    ([], [(1, 'gradient')])
    >>> link.acknowledged(1, number)
    >>> link.due(now=9.0, timeout=1.0)
    []
    >>> link.fresh(1, 0), link.fresh(1, 0)
    (True, False)
    """

    def __init__(self) -> None:
        self._next: dict[int, int] = defaultdict(int)
        self._open: dict[tuple[int, int], tuple[float, FrameT]] = {}
        # By sender: all numbers below the first have come, and those in the set.
        self._seen: dict[int, tuple[int, set[int]]] = {}

    def number(self, to: int) -> int:
        """The number of the next message to a receiver."""
        self._next[to] += 1
        return self._next[to] - 1

    def sent(self, to: int, number: int, frame: FrameT, now: float) -> None:
        """Remember a message until it is acknowledged."""
        self._open[to, number] = now, frame

    def acknowledged(self, source: int, number: int) -> None:
        """A receiver has a message; it may say so twice."""
        self._open.pop((source, number), None)

    def fresh(self, source: int, number: int) -> bool:
        """Whether a message comes for the first time."""
        below, beyond = self._seen.get(source, (0, set()))
        if number < below or number in beyond:
            return False
        beyond.add(number)
        while below in beyond:
            beyond.remove(below)
            below += 1
        self._seen[source] = below, beyond
        return True

    def due(self, now: float, timeout: float) -> list[tuple[int, FrameT]]:
        """What is to be sent again, after `timeout` seconds without an answer."""
        found = []
        for (to, number), (since, frame) in self._open.items():
            if now - since >= timeout:
                self._open[to, number] = now, frame
                found.append((to, frame))
        return found

    def unanswered(self) -> int:
        """How many messages are not acknowledged."""
        return len(self._open)


class Loss:
    """Which messages are lost on purpose; the same ones for the same seed."""

    def __init__(self, seed: int) -> None:
        self._draws = random.Random(seed)

    def hits(self, percent: int) -> bool:
        """Whether the message that comes now is lost."""
        return percent > 0 and self._draws.random() * 100 < percent


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

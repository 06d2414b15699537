"""Which collective operation comes next, decided by rank 0 for all ranks.

A collective operation (all ranks add up an array, say) returns when every rank has
called it, so all ranks must call them in the same order, or they wait for each other
for ever. But the order in which gradients become ready depends on each rank's threads.

So each rank *announces* an operation when its array is ready, by the number that it
has in the order of the program, which is the same on all ranks. Rank 0 waits until all
ranks announced a number. Of those that are complete it takes the most urgent, and lets
all ranks begin with it. Horovod's coordinator works like that.
"""

from __future__ import annotations

from heapq import heappop, heappush


class Order:
    """The announcements of all ranks.

    >>> order = Order(ranks=2)
    >>> for number, priority in enumerate([0, 5]):
    ...     order.announce(0, number, priority, f"sum of {number}")
    >>> order.next() is None, order.slow(), order.slow()
    (True, ['sum of 0: all wait for rank 1', 'sum of 1: all wait for rank 1'], [])
    >>> for number, priority in enumerate([0, 5]):
    ...     order.announce(1, number, priority, f"sum of {number}")
    >>> order.next(), order.next(), order.next()
    (1, 0, None)
    """

    def __init__(self, ranks: int) -> None:
        self._ranks = ranks
        self._announced: dict[int, dict[int, str]] = {}  # number -> rank -> text
        self._complete: list[tuple[int, int]] = []  # heap of (-priority, number)
        self._left: dict[int, str] = {}
        self._named: set[int] = set()

    def announce(self, rank: int, number: int, priority: int, text: str) -> None:
        """A rank is ready for an operation.

        text: what it is about to do, the same on all ranks. priority: rank 0's counts.
        """
        texts = self._announced.setdefault(number, {})
        texts[rank] = text
        if len(texts) == self._ranks and not self.mismatch(number):
            del self._announced[number]
            heappush(self._complete, (-priority, number))

    def leave(self, rank: int, why: str) -> None:
        """A rank will announce nothing more."""
        self._left[rank] = why

    def next(self) -> int | None:
        """The most urgent operation that all ranks are ready for, if there is one."""
        return heappop(self._complete)[1] if self._complete else None

    def mismatch(self, number: int) -> str:
        """What ranks say differently about an operation; empty if they agree."""
        texts = self._announced.get(number, {})
        if len(set(texts.values())) < 2:
            return ""
        by_text: dict[str, list[int]] = {}
        for rank, text in sorted(texts.items()):
            by_text.setdefault(text, []).append(rank)
        lines = "; ".join(f"{named(ranks)}: {text}" for text, ranks in by_text.items())
        return f"the ranks do not do the same: {lines}. Run the same program on all."

    def problem(self) -> str:
        """Why an announced operation will never be complete; empty if it may be."""
        for number, texts in sorted(self._announced.items()):
            if difference := self.mismatch(number):
                return difference
            for rank, why in self._left.items():
                if rank not in texts:
                    text = next(iter(texts.values()))
                    return f"rank {rank} {why} and takes no part in: {text}."
        return ""

    def slow(self) -> list[str]:
        """Who is waited for in what was announced; each number is given once."""
        lines = []
        for number, texts in sorted(self._announced.items()):
            if number not in self._named:
                self._named.add(number)
                missing = [rank for rank in range(self._ranks) if rank not in texts]
                text = next(iter(texts.values()))
                lines.append(f"{text}: all wait for {named(missing)}")
        return lines


def named(ranks: list[int]) -> str:
    """Ranks in a sentence.

    >>> named([1]), named([0, 2])
    ('rank 1', 'ranks 0, 2')
    """
    return f"rank{'s' * (len(ranks) > 1)} {', '.join(map(str, ranks))}"

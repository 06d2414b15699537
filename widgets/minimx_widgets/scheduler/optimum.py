"""The shortest time in which a program can be done: by branch and bound, exactly.

Workers may idle although something is ready, if that pays later, so more is searched
than what an engine would do. Every operation is tried next wherever all that it must
wait for is placed, at the earliest moment at which it and a worker are free; among
these orders is an optimum. A branch ends where no completion of it can be better than
the best schedule that is known: the longest path behind each operation, and the work
that is left, say so.
"""

from __future__ import annotations

from minimx_widgets.scheduler.lines import run
from minimx_widgets.scheduler.program import Program

#: More operations are not searched, and no more branches than so many.
MOST_OPERATIONS, MOST_BRANCHES = 14, 60_000


def optimum(program: Program, workers: int, push: int = 1) -> int | None:
    """The least µs for a program on so many workers; None where that takes too long.

    push: µs that the main thread takes to push an operation; none starts before it is
    pushed. workers: 0 is NaiveEngine, where there is nothing to choose.
    """
    engine = run(program, workers, push).makespan
    if workers == 0:
        return engine
    if len(program.operations) > MOST_OPERATIONS:
        return None
    search = _Search(program, workers, push, engine)
    return search.best if search.complete else None


class _Search:
    """The search: `best` is the least time found, `complete` whether none is less."""

    def __init__(self, program: Program, workers: int, push: int, best: int) -> None:
        count = len(program.operations)
        self.cost = [one.cost for one in program.operations]
        self.release = [number * push for number in range(count)]
        self.before: list[list[int]] = [[] for _ in range(count)]
        after: list[list[int]] = [[] for _ in range(count)]
        for first, second in program.ordered():
            self.before[second].append(first)
            after[first].append(second)
        # µs from the start of an operation to the end of all that waits for it.
        self.tail = [0] * count
        for number in reversed(range(count)):
            behind = max((self.tail[k] for k in after[number]), default=0)
            self.tail[number] = self.cost[number] + behind
        self.workers = workers
        self.best = best
        self.branches = 0
        self._seen: set[tuple[frozenset[int], tuple[int, ...], tuple[int, ...]]] = set()
        starts = (r + t for r, t in zip(self.release, self.tail, strict=True))
        self.least = max(max(starts), -(-sum(self.cost) // workers))
        self._go({}, [0] * workers)

    @property
    def complete(self) -> bool:
        return self.branches <= MOST_BRANCHES

    def _go(self, ends: dict[int, int], free: list[int]) -> None:
        """Place one more operation; ends: of those placed; free: when workers are."""
        self.branches += 1
        if not self.complete or self.best == self.least:
            return
        left = [k for k in range(len(self.cost)) if k not in ends]
        if not left:
            self.best = min(self.best, max(ends.values()))
            return
        if self._hopeless(left, ends, free) or self._known(left, ends, free):
            return
        ready = [k for k in left if all(b in ends for b in self.before[k])]
        ready.sort(key=lambda k: (self._earliest(k, ends), -self.tail[k]))
        for number in ready:
            worker = min(range(self.workers), key=free.__getitem__)
            start = max(self._earliest(number, ends), free[worker])
            # Of workers that are free by then, the last to become free idles least.
            idle = [k for k in range(self.workers) if free[k] <= start]
            worker = max(idle, key=free.__getitem__)
            kept, free[worker] = free[worker], start + self.cost[number]
            ends[number] = free[worker]
            self._go(ends, free)
            del ends[number]
            free[worker] = kept

    def _earliest(self, number: int, ends: dict[int, int]) -> int:
        waits = (ends[k] for k in self.before[number] if k in ends)
        return max(self.release[number], max(waits, default=0))

    def _hopeless(self, left: list[int], ends: dict[int, int], free: list[int]) -> bool:
        """Whether no way to go on is better than the best that is known."""
        soonest = min(free)
        path = max(max(self._earliest(k, ends), soonest) + self.tail[k] for k in left)
        work = -(-(sum(free) + sum(self.cost[k] for k in left)) // self.workers)
        return max(path, work, *ends.values(), 0) >= self.best

    def _known(self, left: list[int], ends: dict[int, int], free: list[int]) -> bool:
        """Whether another order has led to the same state."""
        matter = {k for number in left for k in self.before[number] if k in ends}
        state = (
            frozenset(left),
            tuple(sorted(free)),
            tuple(ends[k] for k in sorted(matter)),
        )
        if state in self._seen:
            return True
        self._seen.add(state)
        return False

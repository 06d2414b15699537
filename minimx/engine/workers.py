"""A lane at work: its queue, and the threads that take operations from it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from heapq import heappop, heappush
from itertools import count
from queue import SimpleQueue

from minimx.engine.lanes import Lane
from minimx.engine.operation import Operation

Queue = SimpleQueue[Operation | None]
Get = Callable[[], Operation | None]


class Worker(threading.Thread):
    """A thread that serves one lane; `serve` is the engine's loop.

    `get` gives the next operation, or None when it is time to go home. `done` counts
    the operations that the worker has finished and let go of. Only the worker itself
    writes it, so it needs no lock.
    """

    def __init__(self, name: str, get: Get, serve: Callable[[Worker], None]) -> None:
        super().__init__(name=name, daemon=True)
        self.get = get
        self.done = 0
        self._serve = serve

    def run(self) -> None:
        """Serve until told to go home."""
        self._serve(self)


def in_worker() -> bool:
    """Whether this thread is a worker, so that what it runs is an operation."""
    return isinstance(threading.current_thread(), Worker)


class WorkingLane:
    """A lane with its queue and the workers that have been started so far.

    `put` hands an operation over. It is a single call into C, which a KeyboardInterrupt
    can precede or follow but not split.
    """

    __slots__ = ("_get", "growing", "plan", "put", "started")

    def __init__(self, plan: Lane) -> None:
        queue: Queue = SimpleQueue()
        self.plan = plan
        self.put = queue.put
        self._get = _highest_first(queue) if plan.by_priority else _first_come(queue)
        self.started = 0
        self.growing = True

    def grow(
        self, wanted: int, serve: Callable[[Worker], None], crew: list[Worker]
    ) -> None:
        """Start workers until there are `wanted`, or as many as the plan allows.

        New ones are entered in `crew`.
        """
        wanted = min(wanted, self.plan.threads)
        while self.started < wanted:
            worker = Worker(f"{self.plan.name}/{self.started}", self._get, serve)
            crew.append(worker)
            self.started += 1
            try:
                worker.start()
            except BaseException:
                if worker.ident is None:  # it never came to life
                    crew.remove(worker)
                    self.started -= 1
                raise
        self.growing = self.started < self.plan.threads

    def stop(self) -> None:
        """Send all workers home. The queue must be empty."""
        self.put(None)


def _first_come(queue: Queue) -> Get:
    """How workers take operations in order of arrival."""
    get = queue.get

    def pass_on() -> Operation | None:
        item = get()
        if item is None:
            queue.put(None)  # for the next worker
        return item

    return pass_on


def _highest_first(queue: Queue) -> Get:
    """How workers take the highest priority from a plain queue: with a heap behind it.

    The worker whose turn it is moves everything from the queue to the heap and takes
    the best. If there is nothing it waits, and the others wait behind it for their
    turn. So whoever pushes needs no more than the queue.
    """
    turn = threading.Lock()
    heap: list[tuple[int, int, Operation]] = []
    arrivals = count()

    def get() -> Operation | None:
        with turn:
            while not heap or not queue.empty():
                item = queue.get()
                if item is None:
                    queue.put(None)  # for the next worker
                    return None
                heappush(heap, (-item.priority, next(arrivals), item))
                del item
            return heappop(heap)[2]

    return get

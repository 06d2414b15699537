"""A lane at work: its queue, and the threads that take operations from it."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Sequence
from heapq import heappop, heappush
from itertools import count
from queue import SimpleQueue
from typing import Any

from minimx.core.engine.lanes import Lane, Pick
from minimx.core.engine.operation import Operation
from minimx.core.errors import EngineError

Queue = SimpleQueue[Operation | None]
Spend = Callable[[Operation], None]

# Called without arguments by every worker before it serves its lane.
on_worker_start: list[Callable[[], object]] = []


class Worker(threading.Thread):
    """A thread that serves one lane; `serve` is the engine's loop.

    `get` gives the next operation, or None when the thread is to end; `serve` puts the
    None back into `queue` for the next worker. `done` counts the operations that
    the worker has finished and let go of. Only the worker itself writes it, so it needs
    no lock. `spend` lets an operation's time pass where the clock on the wall does not.
    `role` is its name in timelines: its own, unless the clock is virtual.
    """

    def __init__(
        self,
        name: str,
        queue: SimpleQueue[Any],
        serve: Callable[[Worker], None],
        get: Callable[[], Any] | None = None,
        spend: Spend | None = None,
    ) -> None:
        super().__init__(name=name, daemon=True)
        self.queue = queue
        self.get = queue.get if get is None else get
        self.done = 0
        self.spend = spend
        self.role = name
        self._serve = serve

    def run(self) -> None:
        """Serve until the queue is closed."""
        for callback in on_worker_start:
            try:
                callback()
            except Exception:  # report it and go on: a caller may wait for this lane
                sys.excepthook(*sys.exc_info())
        self._serve(self)


def in_worker() -> bool:
    """Whether this thread is a worker, so that what it runs is an operation."""
    return isinstance(threading.current_thread(), Worker)


def refuse_workers() -> None:
    """Raise `EngineError` on a worker's thread: it would wait for itself."""
    if in_worker():
        raise EngineError(
            "an operation waits for the engine that runs it, perhaps for ever. Add the "
            "vars that it needs to its `reads`: it starts when they are ready."
        )


class WorkingLane:
    """A lane with its queue and the workers that have been started so far.

    `put` hands an operation over. It is a single call into C, which a KeyboardInterrupt
    can precede or follow but not split.
    """

    __slots__ = ("_get", "growing", "plan", "put", "queue", "started")

    def __init__(self, plan: Lane) -> None:
        self.plan = plan
        self.queue: Queue = SimpleQueue()
        self.put = self.queue.put
        self._get = _highest_first(self.queue) if plan.by_priority else None
        if plan.pick is not None:
            self._get = _picked(self.queue, plan.pick)
        self.started = 0
        self.growing = True

    def grow(
        self,
        wanted: int,
        serve: Callable[[Worker], None],
        workers: list[Worker],
        spend: Spend | None = None,
    ) -> None:
        """Start workers until there are `wanted`, or as many as the plan allows.

        New ones are entered in `workers`. Each is counted first: a destructor that
        pushes while it is being started comes by here, and must not start it again.
        """
        wanted = min(wanted, self.plan.threads)
        while self.started < wanted:
            self.started += 1
            try:
                name = f"{self.plan.name}/{self.started - 1}"
                start(Worker(name, self.queue, serve, self._get, spend), workers)
            except BaseException:
                self.started -= 1
                raise
        self.growing = self.started < self.plan.threads

    def stop(self) -> None:
        """Let all workers end, one after the other. The queue must be empty."""
        self.put(None)


def start(worker: Worker, workers: list[Worker]) -> None:
    """Start a worker, and enter it in `workers` before it can have done anything.

    If this is interrupted, it is unknown whether the worker came to life. It stays in
    `workers`, so that what it does is counted, and the caller starts another one.
    """
    workers.append(worker)
    worker.start()


def join(workers: list[Worker], patience: float) -> None:
    """Wait until all have ended; one that hangs is left behind.

    patience: seconds to wait for each; -1 is for ever.
    """
    for worker in workers:
        if worker.is_alive():
            worker.join(None if patience < 0 else patience)


def _highest_first(queue: Queue) -> Callable[[], Operation | None]:
    """How workers take the highest priority: with a heap behind a plain queue."""
    heap: list[tuple[int, int, Operation]] = []
    arrivals = count()

    def add(item: Operation) -> None:
        heappush(heap, (-item.priority, next(arrivals), item))

    return _sorted_out(queue, heap, add, lambda: heappop(heap)[2])


def _picked(queue: Queue, pick: Pick) -> Callable[[], Operation | None]:
    """How workers take what a function picks of all that is ready."""
    ready: list[Operation] = []
    return _sorted_out(queue, ready, ready.append, lambda: ready.pop(pick(ready)))


def _sorted_out(
    queue: Queue,
    ready: Sequence[object],
    add: Callable[[Operation], object],
    take: Callable[[], Operation],
) -> Callable[[], Operation | None]:
    """How workers take operations in another order than that of their arrival.

    The worker whose turn it is moves everything from the queue to `ready` and takes
    the best. If there is nothing it waits, and the others wait behind it for their
    turn. So a thread that pushes needs no more than the queue.
    """
    turn = threading.Lock()

    def get() -> Operation | None:
        with turn:
            while not ready or not queue.empty():
                item = queue.get()
                if item is None:
                    return None
                add(item)
                del item
            return take()

    return get

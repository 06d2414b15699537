"""Who makes batches ahead of the training: threads, or processes.

Both take orders and hand out batches in the same way. Threads share the interpreter,
which is no loss where samples are made by NumPy, OpenCV or our kernels: those release
it. Processes share nothing but memory, so Python code runs at full speed in each.

Processes are forked. Only a fork knows datasets with lambdas, and classes that a
notebook defined; and starting takes milliseconds, not the seconds of an import. What
makes forks dangerous is dealt with where it is: the engine finishes its work and starts
anew in the child, pools are forked while their tables are consistent, and kernels never
touch OpenMP in a child. A program that has chosen a start method for `multiprocessing`
gets that one; its datasets must be picklable then. (On macOS, whose own libraries do
not survive a fork, Python's choice is taken.)
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import time
import warnings
import weakref
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import wait as wait_for_future
from multiprocessing.connection import Connection, wait
from typing import Any, Protocol

from minimx.core import engine
from minimx.core.errors import DataError
from minimx.core.events import attributed
from minimx.gluon.data import channel
from minimx.gluon.data.worker import Failure, Order, run

#: How long, in seconds, a worker may take to end when it is asked to.
PATIENCE = 5.0
Make = Callable[[Sequence[int]], Any]
#: Our ends of all pipes. A worker that had a copy of one would never see it close.
_our_ends: weakref.WeakSet[Connection] = weakref.WeakSet()


class Workers(Protocol):
    """Makers of batches. lasting: they may serve another pass."""

    lasting: bool

    def alive(self) -> bool:
        """Whether all of them can take orders."""

    def order(self, order: Order) -> None:
        """Have a batch made."""

    def batch(self, number: int, timeout: float) -> Any:
        """The batch of an order, waiting for it; raises what went wrong in it."""

    def close(self) -> None:
        """End all workers, whatever they do."""


class Threads:
    """Threads of this process."""

    lasting = False

    def __init__(self, count: int, make: Callable[[Order], Any]) -> None:
        self._make = make
        self._threads = ThreadPoolExecutor(count, "DataLoader")
        self._ordered: dict[int, Future[Any]] = {}
        self._stuck = False

    def order(self, order: Order) -> None:
        """Have a batch made."""
        self._ordered[order.number] = self._threads.submit(self._make, order)

    def batch(self, number: int, timeout: float) -> Any:
        """The batch of an order, waiting for it; raises what went wrong in it."""
        future = self._ordered.pop(number)
        self._stuck = not wait_for_future([future], timeout).done
        if self._stuck:
            raise _too_slow(timeout)
        return future.result()

    def alive(self) -> bool:
        """Threads do not die."""
        return True

    def close(self) -> None:
        """End all threads, but for one that is stuck: nothing can end that."""
        self._threads.shutdown(wait=not self._stuck, cancel_futures=True)


class _Worker:
    """A process, and our end of its pipe."""

    def __init__(self, number: int, make: Make) -> None:
        self.number = number
        self.ordered: set[int] = set()
        self.pipe, theirs = multiprocessing.Pipe()
        _our_ends.add(self.pipe)
        context: Any = multiprocessing.get_context(_start_method())
        self.process = context.Process(
            target=run,
            args=(theirs, make, os.getpid()),
            name=f"DataLoader-{number}",
            daemon=True,
        )
        try:
            with warnings.catch_warnings():
                # Other threads may hold locks in the child; see above for ours.
                warnings.filterwarnings("ignore", ".*fork", DeprecationWarning)
                self.process.start()
        finally:
            theirs.close()


class Processes:
    """Processes with a copy of the dataset, who share the memory of their batches.

    They stay from pass to pass. After an error or a pass that was broken off, close
    them: they may be busy with batches that are not wanted any more.
    """

    lasting = True

    def __init__(self, count: int, make: Make) -> None:
        self._owner = os.getpid()
        self._arrived: dict[int, Any] = {}
        self._workers: list[_Worker] = []
        # Also when there is no reference to us any more, and when the program ends.
        self._finish = weakref.finalize(self, _end, self._workers, self._owner)
        # `fork` takes the locks of the standard library (logging has one) before it has
        # the engine finish; an operation that logs would wait for its lock for ever.
        engine.wait_all()
        try:
            for number in range(count):
                self._workers.append(_Worker(number, make))
        except BaseException:
            self.close()
            raise

    def alive(self) -> bool:
        """Whether all processes can take orders."""
        ours = self._owner == os.getpid() and self._finish.alive
        return ours and all(worker.process.is_alive() for worker in self._workers)

    def order(self, order: Order) -> None:
        """Have a batch made, by the worker that has fewest orders."""
        worker = min(self._workers, key=lambda worker: len(worker.ordered))
        worker.ordered.add(order.number)
        try:
            worker.pipe.send(order)
        except OSError as reason:
            raise self._lost(worker) from reason

    def batch(self, number: int, timeout: float) -> Any:
        """The batch of an order, waiting for it; raises what went wrong in it."""
        deadline = time.monotonic() + timeout
        self._look(0)
        while number not in self._arrived:
            left = deadline - time.monotonic()
            if left <= 0:
                raise _too_slow(timeout)
            self._look(left)
        found = self._arrived.pop(number)
        if isinstance(found, Failure):
            found.error.add_note(f"In a worker of the DataLoader:\n{found.traceback}")
            raise found.error
        return found

    def close(self) -> None:
        """End all processes, whatever they do."""
        self._finish()

    def _look(self, seconds: float) -> None:
        """Take in what has arrived, waiting for the first if there is none.

        Raises `DataError` if a worker has ended: none does so by itself.
        """
        pipes = {worker.pipe: worker for worker in self._workers}
        ends = {worker.process.sentinel: worker for worker in self._workers}
        ready = wait([*pipes, *ends], seconds)
        for pipe in ready:
            if isinstance(pipe, Connection):
                self._take(pipes[pipe])
        for end in ready:
            if isinstance(end, int):
                raise self._lost(ends[end])

    def _take(self, worker: _Worker) -> None:
        try:
            with attributed(layer="", phase="data", category="data"):
                number, batch = channel.receive(worker.pipe)
        except (EOFError, ConnectionError) as reason:
            raise self._lost(worker) from reason
        worker.ordered.discard(number)
        self._arrived[number] = batch

    def _lost(self, worker: _Worker) -> DataError:
        """The error for a worker that has ended."""
        worker.process.join(PATIENCE)
        code = worker.process.exitcode
        how = f"ended with exit code {code}"
        if code is not None and code < 0:
            how = f"was ended by {signal.Signals(-code).name}"
        hint = "The system does that when memory runs out. " if code == -9 else ""
        batches = ", ".join(map(str, sorted(worker.ordered))) or "none"
        return DataError(
            f"DataLoader: worker {worker.number} (process {worker.process.pid}) {how}; "
            f"batches it had to make: {batches}. {hint}Run with num_workers=0 to see "
            "what a sample does."
        )


def _start_method() -> str | None:
    chosen = multiprocessing.get_start_method(allow_none=True)
    forks = hasattr(os, "fork") and sys.platform != "darwin"
    return "fork" if chosen is None and forks else chosen


def _end(workers: list[_Worker], owner: int) -> None:
    """End processes, and wait until they are gone."""
    for worker in workers:
        worker.pipe.close()
    if os.getpid() != owner:
        return  # a forked copy of us: the processes are not ours
    for worker in workers:
        worker.process.terminate()
    for worker in workers:
        worker.process.join(PATIENCE)
        if worker.process.exitcode is None:
            worker.process.kill()
            worker.process.join()
        worker.process.close()
    workers.clear()


def _too_slow(timeout: float) -> DataError:
    return DataError(
        f"DataLoader: a worker has not finished its batch in {timeout} seconds. Is a "
        "sample stuck, on a lock or the network? If it is only slow, give a larger "
        "timeout."
    )


def _close_our_ends() -> None:
    for pipe in list(_our_ends):
        pipe.close()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_close_our_ends)

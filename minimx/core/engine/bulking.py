"""Join short operations, so that the engine is asked once for many.

While a thread's bulk size is two or more, the plain operations that it pushes are
collected, and handed to the engine as one operation named `ImperativeBulk` when

- there are as many as the bulk size says, or the size is lowered to their number,
- one comes that runs on another device, is urgent, or is not plain work,
- a thread waits, or another thread pushes an operation on one of the same vars.

The price: all of them wait for everything that any of them needs, and what any of them
wrote is released at the end. Inside, the operations run in the order in which they were
pushed, and fail, skip and count versions one by one, as they would outside.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Final

from minimx.core import events
from minimx.core.engine.failures import pending_failures, poison
from minimx.core.engine.kinds import BULK, NORMAL
from minimx.core.engine.operation import Operation
from minimx.core.engine.running import perform
from minimx.core.engine.trace import PUSHER, Trace
from minimx.core.engine.var import Var
from minimx.core.engine.workers import Worker

NAME: Final = "ImperativeBulk"

Submit = Callable[[Operation], None]


class Collection:
    """Operations of one thread on one device that wait to be handed over together."""

    __slots__ = ("_lock", "_parts", "device", "sealed")

    def __init__(self, first: Operation) -> None:
        self.device = first.device
        self.sealed = False  # nothing more may join
        self._lock = threading.RLock()
        self._parts: deque[Operation] = deque()
        self.join(first)

    def join(self, operation: Operation) -> bool:
        """Add an operation; False if it does not fit in here."""
        if operation.device is not self.device:
            return False
        if operation.trace is not None:
            operation.trace.link(operation)
        # Between this look and `append` nothing is called, so no other thread seals it.
        if self.sealed:
            return False
        self._parts.append(operation)
        return True

    def touches(self, operation: Operation) -> bool:
        """Whether an operation has a var in common with those in here."""
        mine = self._vars()
        return any(var in mine for var in (*operation.reads, *operation.writes))

    def _vars(self) -> dict[Var, bool]:
        """The vars that are touched, and whether they are written."""
        found: dict[Var, bool] = {}
        for part in list(self._parts):
            for var in part.reads:
                found.setdefault(var, False)
            for var in part.writes:
                found[var] = True
        return found

    def full(self, size: int) -> bool:
        """Whether there are `size` operations or more."""
        return len(self._parts) >= size

    def hand_over(self, submit: Submit) -> None:
        """Let the engine have what is in here. A second call does nothing.

        If an interrupt hides whether `submit` succeeded, the next call submits again:
        the operations leave `_parts` as they run, so none of them runs twice.
        """
        with self._lock:
            if self not in collected:
                return
            self.sealed = True
            submit(self._joined())
            del collected[self]

    def _joined(self) -> Operation:
        """All in here as one operation."""
        traces = [part.trace for part in list(self._parts) if part.trace is not None]
        trace = None
        if traces:
            trace = Trace(traces[0].recorder, events.clock(), linked=True)
            for part in traces:
                part.inside = trace.op_id
                trace.recorder.dependency(trace.op_id, part.op_id, "BULK")
        touched = self._vars()
        joined = Operation(
            partial(_run, self._parts, trace),
            self.device,
            [var for var, written in touched.items() if not written],
            [var for var, written in touched.items() if written],
            NAME,
            prop=BULK,
        )
        joined.trace = trace
        joined.adds = 0  # the parts count the versions
        return joined


def _run(parts: deque[Operation], trace: Trace | None) -> None:
    """Run the parts in order, letting go of each before the next."""
    thread = threading.current_thread()
    worker, spend = PUSHER, None
    if isinstance(thread, Worker):
        worker, spend = thread.role, thread.spend
    while parts:
        part = parts.popleft()
        if part.trace is None and not pending_failures and spend is None:
            try:
                part.fn()
            except BaseException as error:
                poison(part, error)
        else:
            if part.trace is not None and trace is not None:
                part.trace.t_ready = trace.t_ready
            perform(part, worker, spend)
        for var in part.writes:
            var.version += 1


class _Thread(threading.local):
    """One thread's bulk size, and what it has collected."""

    size = 0
    collection: Collection | None = None


#: The bulk size of the thread that asks, and what it has collected.
here = _Thread()
# What all threads have collected, in the order of the first operations.
collected: dict[Collection, None] = {}
_users_lock = threading.Lock()

# How many threads join operations now. While there are none, pushing passes this room
# by.
users = 0


def route(operation: Operation, submit: Submit) -> None:
    """Join an operation to this thread's collection, or submit it on its own.

    Only operations of normal kind and priority 0 are joined. A collection of another
    thread that touches the same vars is submitted first, so that the order of pushes
    stays the order of effects. submit: hands an operation to the engine's workers.
    """
    mine = here.collection
    if len(collected) > (mine in collected):
        for collection in list(collected):
            if collection is not mine and collection.touches(operation):
                collection.hand_over(submit)
    size = here.size
    if size < 2 or operation.prop != NORMAL or operation.priority != 0:
        finish_here(submit)
        submit(operation)
        return
    if mine is None or not mine.join(operation):
        if mine is not None:
            mine.hand_over(submit)
        mine = Collection(operation)
        collected[mine] = None
        here.collection = mine
    if mine.full(size):
        mine.hand_over(submit)


def hand_over_all(submit: Submit) -> None:
    """Submit what all threads have collected; before a thread waits."""
    for collection in list(collected):
        collection.hand_over(submit)


def set_size(size: int, submit: Submit) -> int:
    """Set how many operations this thread joins to one; returns the old number.

    0 and 1 join nothing. What was collected and is now enough is submitted.
    """
    global users
    old = here.size
    mine = here.collection
    if mine is not None and (size < 2 or mine.full(size)):
        mine.hand_over(submit)
    with _users_lock:  # nothing is called inside, so no Ctrl-C separates the two
        users += (size > 1) - (old > 1)
        here.size = size
    return old


def forget_other_threads() -> None:
    """In a forked child: the other threads and their collections are not here."""
    global _users_lock, users
    _users_lock = threading.Lock()
    users = int(here.size > 1)
    collected.clear()
    here.collection = None


def finish_here(submit: Submit) -> None:
    """Submit what this thread has collected."""
    if here.collection is not None:
        here.collection.hand_over(submit)

"""Run it when its vars are ready, on the workers of its lane.

Pushing appends the operation to the queues of its vars (`var.py`) and returns. The
thread that makes an operation ready hands it to its lane: the pushing thread if nothing
was in the way, else the worker that finished what was. The same class serves as MXNet's
pooled engine and as its engine with workers per device; only the layout of lanes
differs.

Brief work on the CPU is run by the pushing thread at once, if all workers are idle and
nothing looks on. To wake a worker takes longer, and both want the interpreter.

Three rules keep memory where the program expects it. A worker lets go of an operation
as soon as it has run, before it wakes threads that wait. It holds nothing while it
waits for work. And the last reference to an operation is never dropped under the lock,
because that may run the destructor of an array.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Final

from minimx.core import events
from minimx.core.device import Device
from minimx.core.engine import bulking, urgency
from minimx.core.engine.base import Engine
from minimx.core.engine.failures import (
    pending_failures,
    poison,
    raise_oldest,
    raise_pending,
)
from minimx.core.engine.kinds import NORMAL
from minimx.core.engine.lanes import Layout, Sizes, per_device, pooled
from minimx.core.engine.operation import Operation
from minimx.core.engine.origin import Origin, capture
from minimx.core.engine.running import perform
from minimx.core.engine.var import Claim, Var, append, release, var_lock, withdraw
from minimx.core.engine.wait_log import logged
from minimx.core.engine.wakeup import Wakeup
from minimx.core.engine.workers import (
    Spend,
    Worker,
    WorkingLane,
    in_worker,
    join,
    refuse_workers,
)
from minimx.core.events import Work

#: Work of fewer operations and bytes is brief: a quarter of a millisecond, about. While
#: a worker has something to do, all that follows is queued, and the worker needs the
#: interpreter lock as well: a queued call costs three times one that runs here.
FLOPS: Final = 1 << 24
BYTES: Final = 1 << 21


class Waiter(Claim):
    """A claim of a thread that waits: once granted it wakes the thread and is gone."""

    __slots__ = ("wakeup",)

    def __init__(self, reads: tuple[Var, ...], writes: tuple[Var, ...]) -> None:
        super().__init__(reads, writes, adds=0)
        self.put = Waiter.wake
        self.wakeup = Wakeup()

    def wake(self) -> None:
        """Give the vars back, as nothing is done with them, and wake the thread.

        If it was interrupted meanwhile, the signal has no effect.
        """
        with var_lock:
            ready = release(self)
        if ready is not None:
            hand_over(ready)
        self.wakeup.signal()


def _free(reads: Sequence[Var], writes: Sequence[Var]) -> bool:
    """Whether nothing uses the vars, and nothing wants what will be overwritten."""
    for var in writes:
        if var.writer or var.readers or (var.kept is not None and var.kept()):
            return False
    return not any(var.writer for var in reads)


def _done() -> None:
    """The function of an operation that has run."""


def hand_over(ready: list[Claim]) -> None:
    """Hand claims that became ready to their lanes, in order."""
    for claim in ready:
        if claim.trace is not None:
            claim.trace.t_ready = events.clock()
        claim.put(claim)


class ThreadedEngine(Engine):
    """The engine whose operations run on worker threads."""

    def __init__(
        self,
        name: str,
        layout: Layout,
        sizes: Sizes,
        successor: Callable[[Engine], Engine],
        spend: Spend | None = None,
    ) -> None:
        """`successor(self)` gives the engine that takes over from a closed one.

        `spend` is called after each operation, to let its time pass.
        """
        self.name = name
        self._spend = spend
        self._stopped = False
        self._layout = layout
        self._sizes = sizes
        self._successor = successor
        self._lanes: dict[tuple[Device, int], WorkingLane] = {}
        self._lanes_by_name: dict[str, WorkingLane] = {}
        # A destructor that pushes may find it held by its own thread.
        self._lanes_lock = threading.RLock()
        self._workers: list[Worker] = []
        self._pushed = 0
        self._waiting: list[Wakeup] = []  # for everything to be done
        # A scheduler of the user's is to see every operation.
        self._runs_brief_work = layout in (pooled, per_device)

    # Pushing

    def push(
        self, fn: Callable[[], object], device: Device, reads: Sequence[Var],
        writes: Sequence[Var], name: str, priority: int = 0, prop: int = NORMAL,
        cost: Work | None = None, origin: Origin | None = None,
    ) -> int:  # fmt: skip
        """Queue `fn`, or run brief work here while all workers are idle.

        The arguments are those of `Engine.push`. What `fn` raises poisons what it
        writes, wherever it runs.
        """
        if (
            cost is not None
            and cost.flops < FLOPS
            and cost.bytes_moved < BYTES
            and device.device_type == "cpu"
            and self._runs_brief_work
            and events.recorder is None
            and not (pending_failures or bulking.collected or urgency.users)
        ):
            with var_lock:  # which keeps all others from the vars
                if self.open and not self._outstanding() and _free(reads, writes):
                    try:
                        fn()
                    except Exception as error:
                        origin = origin or events.attribution.origin or capture()
                        made = Operation(fn, device, reads, writes, name, origin=origin)
                        poison(made, error)
                    for var in {*writes}:
                        var.version += 1
                    return 0
        return super().push(
            fn, device, reads, writes, name, priority, prop, cost, origin
        )

    def submit(self, operation: Operation) -> None:
        """Append an operation to the queues of its vars; start it if it is ready."""
        lane = self._lanes.get((operation.device, operation.prop))
        if lane is None or lane.growing:
            lane = self._grown_lane(operation.device, operation.prop)
        if lane is None or not self._append(operation, lane):
            self._successor(self).submit(operation)

    def _append(self, operation: Operation, lane: WorkingLane) -> bool:
        """Append and start; False, and nothing is done, if the engine is closing."""
        operation.put = lane.put
        trace = operation.trace
        edges = None
        with var_lock:
            if not self.open and not in_worker():
                return False
            if trace is not None:
                edges = trace.edges(operation)
                trace.t_ready = events.clock()  # unless it has to wait
            try:
                ready = append(operation)
            except BaseException:  # a KeyboardInterrupt between two vars
                withdraw(operation)
                raise
            # No interrupt can come between here and the end of `put`.
            self._pushed += 1
            if ready:
                lane.put(operation)
        if trace is not None and edges:
            trace.emit_edges(edges)
        return True

    def _grown_lane(self, device: Device, prop: int) -> WorkingLane | None:
        """The lane for a kind of work, with workers enough; None once closed."""
        with self._lanes_lock:
            if self._stopped:
                return None
            plan = self._layout(device, prop, self._sizes)
            lane = self._lanes_by_name.get(plan.name)
            if lane is None:  # a destructor may make it while we do
                lane = self._lanes_by_name.setdefault(plan.name, WorkingLane(plan))
            self._lanes[device, prop] = lane
            if lane.growing:
                wanted = plan.threads if plan.eager else self._outstanding() + 1
                lane.grow(wanted, self._serve, self._workers, self._spend)
            return lane

    # Working

    def _serve(self, worker: Worker) -> None:
        """A worker's loop: take an operation, run it, hand over what it made ready.

        It ends when the queue gives None, which is put back for the next worker.
        """
        get, lock, unlock = worker.get, var_lock.acquire, var_lock.release
        spend = worker.spend
        while True:
            operation = get()
            if operation is None:
                worker.queue.put(None)
                return
            if operation.trace is None and not pending_failures and spend is None:
                try:
                    operation.fn()
                except BaseException as error:
                    poison(operation, error)
            else:
                perform(operation, worker.name, spend)
            operation.fn = _done  # its arrays are free before those who wait go on
            lock()
            ready = release(operation)
            unlock()
            operation = None
            if ready is not None:
                hand_over(ready)
                ready = None
            worker.done += 1
            if self._waiting:
                self._wake_if_idle()

    def _outstanding(self) -> int:
        """How many operations have been pushed and are not done."""
        return self._pushed - sum([worker.done for worker in self._workers])

    def _wake_if_idle(self) -> None:
        """Wake the threads that wait for everything, if everything is done."""
        with var_lock:
            if self._outstanding():
                return
            waiting, self._waiting = self._waiting, []
        for wakeup in waiting:
            wakeup.signal()

    # Waiting

    def wait_to_read(self, var: Var) -> None:
        """See `Engine.wait_to_read`; raises `EngineError` inside an operation."""
        self._before_waiting()
        if var.writer is not None:
            self._wait(var, Waiter((var,), ()))
        raise_pending(var)

    def wait_to_write(self, var: Var) -> None:
        """See `Engine.wait_to_write`; raises `EngineError` inside an operation."""
        self._before_waiting()
        if var.writer is not None or var.readers:
            self._wait(var, Waiter((), (var,)))
        raise_pending(var)

    def wait_all(self) -> None:
        """See `Engine.wait_all`; raises `EngineError` inside an operation."""
        self._before_waiting()
        self._wait_until_idle()
        raise_oldest()

    def _before_waiting(self) -> None:
        refuse_workers()
        if bulking.users:
            bulking.hand_over_all(self.submit)

    def _wait(self, var: Var, waiter: Waiter) -> None:
        with var_lock:
            writer = var.writer
            if writer is None and not (waiter.writes and var.readers):
                return  # it would be granted at once
            try:
                append(waiter)
            except BaseException:
                withdraw(waiter)
                raise
        with logged(writer):
            waiter.wakeup.wait()

    def _wait_until_idle(self, patience: float = -1) -> None:
        """Wait until nothing is outstanding."""
        wakeup = Wakeup()
        with var_lock:  # nothing is pushed while it is counted
            if not self._outstanding():
                return
            self._waiting.append(wakeup)
        self._wake_if_idle()
        with logged(f"everything: {self._outstanding()} operations"):
            wakeup.wait(patience)

    # Closing

    def close(self, patience: float = -1) -> None:
        """See `Engine.close`. Interrupted while it waits for work, it stays open."""
        self._before_waiting()
        with var_lock:  # a push that found it open has been counted
            self.open = False
        try:
            self._wait_until_idle(patience)
        except BaseException:
            self.open = True
            raise
        with self._lanes_lock:
            self._stopped = True
        for lane in self._lanes_by_name.values():
            lane.stop()
        join(self._workers, patience)

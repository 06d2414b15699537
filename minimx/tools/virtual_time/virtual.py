"""Run it for real, but on a clock of declared costs.

Every operation takes as long as its cost says for its device, and every push takes the
pushing thread `PUSH_NS`. So timelines and makespans are the same on every machine and
can be compared exactly. The lanes are those of the engine that `MXNET_ENGINE_TYPE`
names.

Results are real: when the program waits, the functions run, one after the other, in the
order of their virtual starts. They run on a thread of their own, so that an interrupted
wait leaves everything intact, as with the other engines.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from queue import SimpleQueue
from typing import Final

from minimx.core import events
from minimx.core.drivers import opened
from minimx.core.engine import bulking
from minimx.core.engine.base import Engine
from minimx.core.engine.costs import Wires, declared_ns
from minimx.core.engine.failures import (
    Failure,
    poison,
    raise_failure,
    raise_oldest,
    raise_pending,
)
from minimx.core.engine.kinds import BULK
from minimx.core.engine.lanes import Lane, Layout, Sizes, naive
from minimx.core.engine.operation import Operation
from minimx.core.engine.running import perform
from minimx.core.engine.trace import PUSHER
from minimx.core.engine.var import Var, var_lock
from minimx.core.engine.wakeup import Wakeup
from minimx.core.engine.workers import Worker, in_worker, join, refuse_workers, start
from minimx.tools.virtual_time.simulation import Job, Simulation

PUSH_NS: Final = 5_000

# So many operations may wait to be simulated; then the pushing thread waits, too.
MOST_PENDING: Final = 10_000


def now() -> int:
    """Nanoseconds of the clock in use: the virtual one if `MINIMX_CLOCK` says so."""
    return events.clock()


@dataclass(eq=False, slots=True)
class _Wait:
    """A thread waits: simulate until `over()`, then wake it."""

    over: Callable[[], bool]
    wakeup: Wakeup


class VirtualEngine(Engine):
    """The engine on the virtual clock."""

    def __init__(
        self,
        name: str,
        layout: Layout,
        sizes: Sizes,
        successor: Callable[[Engine], Engine],
        duration: Callable[[Operation], int] = declared_ns,
        push_ns: int = PUSH_NS,
        time: int = 0,
    ) -> None:
        """`duration` says how long an operation takes; it is `time` o'clock now.

        `successor(self)` gives the engine that takes over from a closed one.
        """
        self.name = name
        self.bulks = layout is not naive
        self.clock = self.now
        self._layout = layout
        self._sizes = sizes
        self._successor = successor
        self._duration = duration
        self._push_ns = push_ns
        self._python = time  # the time of the threads that push and wait
        self._running = time  # the time inside an operation
        self._wires = Wires()
        self._driver_ns = 0  # what all drivers had declared when an operation began
        self._simulation = Simulation(self._run, time)
        self._inbox: SimpleQueue[Job | _Wait | None] = SimpleQueue()
        self._workers: list[Worker] = []
        self._starting = threading.Lock()
        self._stopped = False
        self._failed: dict[Operation, Failure] = {}  # of the naive layout

    def now(self) -> int:
        """The virtual time of the calling thread, in nanoseconds."""
        return self._running if in_worker() else self._python

    # Pushing and waiting

    def submit(self, operation: Operation) -> None:
        """Queue an operation; as a rule it does not run before the program waits."""
        lane = self._layout(operation.device, operation.prop, self._sizes)
        own = self.bulks or in_worker() or operation.prop == BULK
        if bulking.collected and not own:
            bulking.hand_over_all(self.submit)  # joined while another engine closed
        if in_worker():
            self._enter(Job(operation, lane, self._running, operation.priority))
        elif not self._post(operation, lane):
            self._successor(self).submit(operation)
        elif self._layout is naive:
            self._wait(self._idle)
            failure = self._failed.pop(operation, None)
            if failure is not None:
                raise_failure(failure)
        elif self._inbox.qsize() + self._simulation.pending > MOST_PENDING:
            self._wait(lambda: self._simulation.pending <= MOST_PENDING // 2)

    def _post(self, operation: Operation, lane: Lane) -> bool:
        """Send an operation to the simulation; False if the engine closed."""
        with var_lock:
            if self.open:
                if operation.trace is not None:  # before later ones, joined or not, are
                    operation.trace.link(operation)
                self._python += self._push_ns
                self._inbox.put(Job(operation, lane, self._python, operation.priority))
            return self.open

    def _wait(self, over: Callable[[], bool], patience: float = -1) -> None:
        """Simulate until `over()`, and let this thread's time be the time of that."""
        wakeup = Wakeup()
        with self._starting:
            if self._stopped:
                return  # everything was done before it stopped
            if not self._workers:
                worker = Worker("virtual", self._inbox, self._serve, spend=self._spend)
                start(worker, self._workers)
            self._inbox.put(_Wait(over, wakeup))
        wakeup.wait(patience)

    def _idle(self) -> bool:
        return self._simulation.pending == 0

    def wait_to_read(self, var: Var) -> None:
        """See `Engine.wait_to_read`; raises `EngineError` inside an operation."""
        self._before_waiting()
        self._wait(lambda: var.writer is None)
        raise_pending(var)

    def wait_to_write(self, var: Var) -> None:
        """See `Engine.wait_to_write`; raises `EngineError` inside an operation."""
        self._before_waiting()
        self._wait(lambda: var.writer is None and not var.readers)
        raise_pending(var)

    def wait_all(self) -> None:
        """See `Engine.wait_all`; raises `EngineError` inside an operation."""
        self._before_waiting()
        self._wait(self._idle)
        raise_oldest()

    def _before_waiting(self) -> None:
        refuse_workers()
        if bulking.users:
            bulking.hand_over_all(self.submit)

    def close(self, patience: float = -1) -> None:
        """See `Engine.close`. Interrupted while it waits for work, it stays open."""
        self._before_waiting()
        with var_lock:
            self.open = False
        try:
            self._wait(self._idle, patience)
        except BaseException:
            self.open = True
            raise
        with self._starting:
            self._stopped = True
            self._inbox.put(None)
        join(self._workers, patience)

    # On the simulating thread

    def _serve(self, worker: Worker) -> None:
        """Take in what was pushed, and simulate when the program waits."""
        while True:
            item = worker.get()
            if item is None:
                return
            if isinstance(item, Job):
                self._enter(item)
            else:
                while self._simulation.pending and not item.over():
                    self._simulation.step()
                with var_lock:
                    self._python = max(self._python, self._simulation.time)
                item.wakeup.signal()
            item = None

    def _enter(self, job: Job) -> None:
        if job.claim.trace is not None:
            job.claim.trace.link(job.claim)
        self._simulation.push(job)

    def _run(self, job: Job, worker: str) -> int:
        """Run a job's operation from the present moment; returns when it ends."""
        operation = job.claim
        assert isinstance(operation, Operation)
        self._running = self._simulation.time
        self._driver_ns = _busy_drivers()
        if operation.trace is not None:
            operation.trace.t_ready = job.ready
        role = PUSHER if self._layout is naive else worker
        self._workers[0].role = role
        failure = perform(operation, role, self._spend)
        if failure is not None and self._layout is naive:
            self._failed[operation] = failure
        return self._running

    def _spend(self, operation: Operation) -> None:
        if operation.prop == BULK:
            return  # its parts take their time
        asked = _busy_drivers()
        self._running += asked - self._driver_ns
        self._driver_ns = asked
        try:
            ns = self._duration(operation)
            self._running = self._wires.occupy(operation, self._running, ns)
        except Exception as error:  # such as: there is no such device
            poison(operation, error)


def _busy_drivers() -> int:
    """What the calls of all drivers took so far, by what they declare."""
    return sum([driver.busy_ns for driver in opened()])

"""The job that this process is a rank of, and the one thread that talks to MPI.

An operation between ranks is an operation of the engine: it reads and writes vars, has
a priority, and what comes after it waits for it. When its vars are ready, the engine
hands it to the thread of this module, which announces it to rank 0 (`order.py`), runs
it when rank 0 says so, and gives its vars back. So no worker of the engine ever waits
for another process.

While it waits, the thread looks whether the processes of ranks on the same machine are
alive (`liveness.py`). If one is not, everything that waits for it fails with
`JobError`. (Where ranks run on several machines, `minimx launch` ends the job.)
"""

from __future__ import annotations

import atexit
import logging
import os
import socket
import sys
import threading
import time
import traceback
import warnings
from collections.abc import Callable
from itertools import count
from queue import Empty, SimpleQueue
from typing import Any, Final

import numpy as np

from minimx.core import engine, events
from minimx.core.device import cpu
from minimx.core.engine import bulking
from minimx.core.engine.failures import inherited, raise_pending
from minimx.core.engine.operation import Operation
from minimx.core.engine.origin import capture
from minimx.core.engine.running import perform
from minimx.core.engine.threaded import ThreadedEngine, hand_over
from minimx.core.engine.trace import Trace
from minimx.core.engine.var import Var, append, release, var_lock
from minimx.kvstore.dist.collectives import Collectives
from minimx.kvstore.dist.control import Control
from minimx.kvstore.dist.liveness import LOOK, Processes
from minimx.kvstore.dist.order import Order, named
from minimx.kvstore.dist.parity import MUST_AGREE, differences, facts
from minimx.kvstore.dist.start import (
    LAUNCHED,
    JobError,
    check_installed,
    check_launched,
    load_mpi,
)

#: After so many seconds of waiting, the ranks that all wait for are named.
SLOW: Final = 10.0
#: How long MPI is asked without a pause, and the pause afterwards, in seconds.
SPIN: Final = 0.0003
PAUSE: Final = 0.00005

log = logging.getLogger(__name__)


class Collective(Operation):
    """An operation that all ranks take part in.

    number: its position in the order of the program. text: what it does.
    """

    __slots__ = ("done", "number", "text")

    number: int
    text: str
    done: threading.Event


class Job:
    """All ranks, as seen by one of them.

    A process that no launcher has started is a job of one rank, without MPI.
    """

    rank = 0
    size = 1

    def __init__(self) -> None:
        self.failure: JobError | None = None
        check_installed()
        mpi = load_mpi() if any(name in os.environ for name in LAUNCHED) else None
        if mpi is None or mpi.COMM_WORLD.size == 1:
            return
        self._mpi = mpi
        self.rank, self.size = mpi.COMM_WORLD.rank, mpi.COMM_WORLD.size
        self._control = Control(mpi, mpi.COMM_WORLD.Dup())
        self._collectives = Collectives(mpi, mpi.COMM_WORLD.Dup(), self._complete)
        self._processes = self._compare()
        self._numbers = count()
        self._submitting = threading.Lock()
        self._queue: SimpleQueue[Any] = SimpleQueue()  # operations; None: the end
        self._waiting: dict[int, Collective] = {}  # announced, not run yet
        self._order = Order(self.size)  # used by rank 0
        self._idle_since = time.monotonic()
        self._named: set[int] = set()  # operations whose slow ranks were named
        self._error = ""  # why this rank ends, if it does by an error
        self._thread = threading.Thread(target=self._serve, name="mpi", daemon=True)
        self._thread.start()
        atexit.register(self.close)

    def _compare(self) -> Processes:
        """Compare what ranks should have in common; the other ranks on this host."""
        ranks = self._control.gather(facts())
        found = differences([one["compared"] for one in ranks])
        if any(name in found for name in MUST_AGREE):
            lines = "; ".join(found[name] for name in MUST_AGREE if name in found)
            raise JobError(f"the ranks cannot train together: {lines}.")
        if found and self.rank == 0:
            warnings.warn(
                "the ranks of this job differ, so they may not compute the same: "
                f"{'; '.join(found.values())}.",
                stacklevel=2,
            )
        here = socket.gethostname()
        return Processes(
            {
                rank: int(one["pid"])
                for rank, one in enumerate(ranks)
                if one["host"] == here and rank != self.rank
            }
        )

    # -- operations -------------------------------------------------------------------

    def submit(
        self,
        run: Callable[[], object],
        text: str,
        name: str,
        reads: list[Var],
        writes: list[Var],
        priority: int = 0,
    ) -> None:
        """Push an operation of all ranks; `run` is called on the thread of MPI.

        text: what it does, the same on all ranks. name: for timelines. At least one var
        is written: it brings the error if the job fails.
        """
        if bulking.users:
            bulking.hand_over_all(engine.current.submit)
        operation = Collective(
            run, cpu(), reads, writes, name, priority, origin=capture()
        )
        operation.text, operation.done = text, threading.Event()
        operation.put = self._queue.put
        if events.recorder is not None:
            operation.trace = Trace(events.recorder, events.clock())
        with self._submitting:
            operation.number = next(self._numbers)
            with var_lock:
                trace = operation.trace
                edges = trace.edges(operation) if trace is not None else None
                if trace is not None:
                    trace.t_ready = events.clock()
                if append(operation):
                    operation.put(operation)
        if trace is not None and edges:
            trace.emit_edges(edges)
        if isinstance(engine.current, ThreadedEngine):
            # `waitall` counts what the engine runs itself, so that it waits for this.
            engine.push(_nothing, cpu(), [writes[0]], [], "KVStoreDistArrived")
        else:
            operation.done.wait()
            raise_pending(writes[0])

    def agree(self, text: str) -> None:
        """Block until all ranks have come here; JobError if they are elsewhere."""
        if self.size == 1:
            return
        var = Var()
        self.submit(_nothing, text, "KVStoreDistBarrier", [], [var])
        engine.wait_to_read(var)

    # -- collectives, called by operations ----------------------------------------------

    def sum(self, key: Any, array: np.ndarray[Any, Any]) -> None:
        """Add up an array over all ranks, in place, to the bit the same on all."""
        self._collectives.sum(key, array)

    def spread(self, key: Any, array: np.ndarray[Any, Any]) -> None:
        """Fill an array on all ranks with what it is on rank 0."""
        self._collectives.spread(key, array)

    def _complete(self, request: Any) -> None:
        """Wait for MPI, and watch the other processes meanwhile."""
        begin = time.monotonic()
        while not request.Test():
            if time.monotonic() - begin > SPIN:
                self._look()
                if self.failure is not None:
                    raise self.failure
                time.sleep(PAUSE)

    # -- the thread ---------------------------------------------------------------------

    def _serve(self) -> None:
        ending = False
        while not (ending and not self._waiting):
            try:
                operation = self._queue.get(block=not self._waiting)
                if operation is None:
                    ending = True
                else:
                    self._begin(operation)
                continue
            except Empty:
                pass
            if self.failure is None:
                self._go_on()
            if self.failure is not None:
                for number in list(self._waiting):
                    self._finish(number)

    def _begin(self, operation: Collective) -> None:
        """Announce an operation whose vars are ready, unless they bring a failure."""
        self._waiting[operation.number] = operation
        self._idle_since = time.monotonic()
        if self.failure is not None:
            self._finish(operation.number)
            return
        if (failed := inherited(operation)) is not None:
            why = f"cannot do its part ({failed.name}: {failed.error})"
            self._leave(why)
            self._finish(operation.number)
            return
        if self.rank == 0:
            self._order.announce(
                0, operation.number, operation.priority, operation.text
            )
        else:
            ready = [operation.number, operation.priority, operation.text]
            self._control.send(0, {"ready": ready})

    def _go_on(self) -> None:
        """Run what rank 0 has decided on; or wait a little."""
        if self._error:
            self._leave(self._error)
            self._fail(self._error)
            return
        number = self._heard()
        if self.rank == 0:
            if problem := self._order.problem():
                self._fail(problem)
                for rank in range(1, self.size):
                    self._control.send(rank, {"stop": problem})
                return
            number = self._order.next()
            for rank in range(1, self.size) if number is not None else ():
                self._control.send(rank, {"go": number})
        if number is not None:
            self._finish(number)
            self._idle_since = time.monotonic()
            return
        waited = time.monotonic() - self._idle_since
        if waited > SPIN:
            self._look()
            time.sleep(PAUSE)
        if waited > SLOW and self.rank == 0:
            self._name_the_slow()

    def _finish(self, number: int) -> None:
        """Run an operation, or let it fail, and give its vars back."""
        operation = self._waiting.pop(number)
        if self.failure is not None:
            operation.fn = self._raise
        perform(operation, "mpi")
        with var_lock:
            ready = release(operation)
        operation.done.set()
        if ready is not None:
            hand_over(ready)

    def _raise(self) -> None:
        assert self.failure is not None
        raise JobError(str(self.failure))

    def _fail(self, why: str) -> None:
        if self.failure is None:
            self.failure = JobError(f"rank {self.rank} stops: {why}")

    # -- messages -------------------------------------------------------------------------

    def _heard(self) -> int | None:
        """Read messages up to one that lets an operation begin; its number."""
        for source, message in self._control.received():
            if "go" in message:
                return int(message["go"])
            if "ready" in message:
                number, priority, text = message["ready"]
                self._order.announce(source, number, priority, text)
            elif "left" in message:
                self._order.leave(source, message["left"])
                if source == 0 and self._waiting:
                    text = next(iter(self._waiting.values())).text
                    self._fail(f"rank 0 {message['left']}, before: {text}.")
            else:
                self._fail(message["stop"])
        return None

    def _leave(self, why: str) -> None:
        """Let the others know that this rank takes no part any more."""
        for rank in range(self.size):
            if rank != self.rank and self.failure is None:
                self._control.send(rank, {"left": why})
        if self.rank == 0:
            self._order.leave(0, why)

    # -- the other processes ----------------------------------------------------------------

    def _look(self) -> None:
        """Fail if a process of this machine has died."""
        died = self._processes.died()
        if died and self._waiting_after_messages():
            self._fail(died)

    def _waiting_after_messages(self) -> bool:
        """Whether no message explains what is wrong; True while something waits."""
        if self.rank != 0 or self.failure is not None:
            return self.failure is None
        self._heard()
        if problem := self._order.problem():
            self._fail(problem)
        return self.failure is None

    def _name_the_slow(self) -> None:
        for number, text, ranks in self._order.missing():
            if number not in self._named:
                self._named.add(number)
                log.warning(
                    "%s: all have waited for %s for %d s.", text, named(ranks), SLOW
                )

    # -- the end ------------------------------------------------------------------------------

    def close(self) -> None:
        """Finish what was begun, let the others know, and end MPI."""
        error = None if hasattr(sys, "ps1") else getattr(sys, "last_value", None)
        if error is None:
            try:
                engine.wait_all()
            except BaseException as reason:
                error = reason
                traceback.print_exception(reason)
        if error is not None:
            self._error = f"has failed ({type(error).__name__}: {error})"
        self._queue.put(None)
        self._thread.join(None if error is None else 5 * LOOK)
        if error is None and self.failure is None:
            self._leave("has ended")
            self._mpi.Finalize()
            return
        if not self._thread.is_alive():
            self._leave(self._error)
        # Neither MPI nor the engine can be ended in order: they wait for other ranks.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(1)


def _nothing() -> None:
    """What an operation does that only orders others."""


_job: Job | None = None
_making = threading.Lock()


def job() -> Job:
    """The job that this process is in; MPI begins with the first call."""
    global _job
    with _making:
        if _job is None:
            _job = Job()
        check_launched(_job.size)
        return _job

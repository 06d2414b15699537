"""The job that this process is a rank of, and the one thread that talks to MPI.

An operation between ranks is an operation of the engine: it reads and writes vars, has
a priority, and what comes after it waits for it. When its vars are ready, the engine
hands it to the thread of this module, which announces it to rank 0 (`order.py`), runs
it when rank 0 says so, and gives its vars back. So no worker of the engine ever waits
for another process.

While it waits, the thread looks whether the other processes are alive (`liveness.py`).
If one is not, everything that waits for it fails with `JobError`.
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
from collections import deque
from collections.abc import Callable, Container, Sequence
from itertools import count
from queue import Empty, SimpleQueue
from typing import Any, Final

from minimx.core import engine, events
from minimx.core.device import cpu
from minimx.core.engine.failures import inherited
from minimx.core.engine.origin import capture
from minimx.core.engine.var import Var
from minimx.core.knobs import knobs
from minimx.kvstore.dist.collectives import Collectives
from minimx.kvstore.dist.control import Control
from minimx.kvstore.dist.liveness import LOOK, SILENCE, Heartbeats, Processes
from minimx.kvstore.dist.operations import (
    Collective,
    appended,
    fail,
    finish,
    handed_over,
    nothing,
)
from minimx.kvstore.dist.order import Order
from minimx.kvstore.dist.parity import compare, facts
from minimx.kvstore.dist.pauses import SPIN, rest
from minimx.kvstore.dist.roles import assigned
from minimx.kvstore.dist.servers.post import Bytes, Header, Loopback, MpiWire, Post
from minimx.kvstore.dist.servers.service import Exchange, Message, Service
from minimx.kvstore.dist.start import (
    JobError,
    check_installed,
    check_launched,
    launched,
    load_mpi,
    wanted_servers,
)

#: After so many seconds of waiting, the ranks that all wait for are named.
SLOW: Final = 10.0

log = logging.getLogger(__name__)


class Job:
    """All processes, as seen by one of them.

    rank, size: which of the workers this process is, and how many there are; in a
    server or scheduler its own number, and how many workers there are. A process that
    no launcher has started is a job of one worker, without MPI.
    """

    rank = 0
    size = 1

    def __init__(self) -> None:
        self.failure: JobError | None = None
        check_installed()
        self._numbers = count()
        self._submitting = threading.Lock()
        self._queue: SimpleQueue[Any] = SimpleQueue()  # operations; None: the end
        self._waiting: dict[int, Collective] = {}  # announced, not run yet
        self._idle_since = time.monotonic()
        self._allowed: deque[int] = deque()  # what rank 0 lets begin
        self._asking = [0, 0]  # exchanges that the program has pushed; that have begun
        self._error = ""  # why this rank ends, if it does by an error
        self._left: dict[int, str] = {}  # processes that take no part any more: why
        self.service: Service | None = None
        self._thread = threading.Thread(target=self._serve, name="mpi", daemon=True)
        self._mpi = load_mpi() if launched() else None
        if self._mpi is None or self._mpi.COMM_WORLD.size == 1:
            self._be_alone()
            return
        self._begin_mpi(self._mpi)
        self._thread.start()
        atexit.register(self.close)

    def _be_alone(self) -> None:
        self._mpi, self._process = None, 0
        self._wire: Loopback | MpiWire = Loopback()
        self.roles = assigned([str(knobs.DMLC_ROLE)], wanted_servers())
        check_launched(self.roles)
        self._processes, self._heartbeats = Processes({}), Heartbeats(())

    def _begin_mpi(self, mpi: Any) -> None:
        world = mpi.COMM_WORLD
        self._process = world.rank
        self._control = Control(mpi, world.Dup())
        self._wire = MpiWire(mpi, world.Dup())
        ranks = self._control.gather(facts())
        self.roles = assigned([one["role"] for one in ranks], wanted_servers())
        check_launched(self.roles)
        workers = self.roles.workers
        works = self._process in workers
        group = world.Split(0 if works else 1, world.rank)
        self.arrays = Collectives(mpi, group, self._complete)
        self.rank, self.size = group.rank, len(workers)
        self._order = Order(self.size)  # used by rank 0
        here = socket.gethostname()
        others = [k for k in range(world.size) if k != self._process]
        pids = {k: int(ranks[k]["pid"]) for k in others if ranks[k]["host"] == here}
        self._processes = Processes(pids, self._process)
        self._heartbeats = Heartbeats(others, far=len(pids) < len(others))
        if works:
            compare([ranks[worker]["compared"] for worker in workers], self.rank == 0)
        else:
            self.serve()

    def serve(self) -> Service:
        """Begin to talk to servers, and to be one where the job wants that."""
        with self._submitting:
            if self.service is None:
                post = Post(self._wire, seed=self._process)
                self.service = Service(post, self.roles, self._process, self._finish)
                if self.title.startswith("rank"):
                    self.service.begin_to_serve()
                if self._mpi is None:
                    self._thread.start()
                self._queue.put(nothing)  # it looks for messages from now on
        return self.service

    @property
    def title(self) -> str:
        """What this process is called in messages, such as `rank 0`."""
        return self.roles.title(self._process)

    # -- operations --------------------------------------------------------------------

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
        operation = Collective(
            run, cpu(), reads, writes, name, priority, origin=capture()
        )
        operation.text = text
        self._push(operation)

    def exchange(
        self,
        begin: Callable[[], Sequence[Message]],
        came: Callable[[int, Header, Bytes | None], object],
        text: str,
        name: str,
        reads: list[Var],
        writes: list[Var],
        priority: int = 0,
        key: str = "",
    ) -> None:
        """Push an operation that asks servers; see `Exchange`.

        key: as which its bytes are recorded. The other arguments are `submit`'s.
        """
        operation = Exchange(
            nothing, cpu(), reads, writes, name, priority, origin=capture()
        )
        operation.begin, operation.came, operation.text = begin, came, text
        operation.key, operation.phase = key, events.attribution.phase
        self._push(operation)

    def _push(self, operation: Collective | Exchange) -> None:
        """Append an operation to its vars; the thread gets it when they are ready."""
        operation.put = self._queue.put
        with self._submitting:
            if isinstance(operation, Collective):
                operation.number = next(self._numbers)
            else:
                self._asking[0] += 1
            edges = appended(operation)
        handed_over(operation, edges)

    def agree(self, text: str) -> None:
        """Block until all ranks have come here; JobError if they are elsewhere."""
        if self.size == 1:
            return
        var = Var()
        self.submit(nothing, text, "KVStoreDistBarrier", [], [var])
        engine.wait_to_read(var)

    @property
    def local_rank(self) -> int:
        """Which of the workers on this machine this is, from 0."""
        return sum(k in self._processes.pids for k in self.roles.workers[: self.rank])

    def _complete(self, request: Any) -> None:
        """Wait for MPI, and watch the other processes meanwhile."""
        begin = time.monotonic()
        while not request.Test():
            waited = time.monotonic() - begin
            if waited > SPIN:
                self._look()
                if self.failure is not None:
                    raise self.failure
                rest(waited)

    # -- the thread --------------------------------------------------------------------

    def _serve(self) -> None:
        ending = self._process not in self.roles.workers  # it runs no program
        while not (ending and self._may_end()):
            try:
                operation = self._queue.get(timeout=self._patience())
                if operation is None:
                    ending = True
                elif operation is not nothing:
                    self._begin(operation)
                del operation  # it may be the last that knows a store, and arrays
                continue
            except Empty:
                pass
            if self.failure is None:
                self._go_on()
            if self.failure is not None:
                for number in list(self._waiting):
                    self._finish(self._waiting.pop(number))
                if self.service is not None:
                    self.service.fail(self.failure)
        if self.service is not None:
            self.service.stop()

    def _patience(self) -> float | None:
        """How long to wait for operations: 0 if messages may come, None: for ever."""
        service, alone = self.service, self._mpi is None
        served = service is not None and (service.waits or not alone)
        if self._waiting or served:
            return 0.0
        return LOOK if self._heartbeats.active else None

    def _may_end(self) -> bool:
        """Whether no process needs this one any more, once its program is over."""
        if self._waiting or (self.service is not None and self.service.waits):
            return False
        self._leave(self._error or "has ended", bool(self._error))
        if self.service is None or self.failure is not None or self._error:
            return True
        return all(worker in self._left for worker in self.roles.workers)

    def _begin(self, operation: Collective | Exchange) -> None:
        """Announce or send what is ready, unless its vars bring a failure."""
        self._idle_since = time.monotonic()
        self._asking[1] += isinstance(operation, Exchange)
        failed = inherited(operation)
        if failed is not None and self.failure is None and self.size > 1:
            why = f"cannot do its part ({failed.name}: {failed.error})"
            self._leave(why, True)
        if failed is not None or self.failure is not None:
            self._finish(operation)
        elif isinstance(operation, Exchange):
            assert self.service is not None
            self.service.begin(operation)
        else:
            self._announce(operation)

    def _announce(self, operation: Collective) -> None:
        ready = operation.number, operation.priority, operation.text
        self._waiting[operation.number] = operation
        if self.rank == 0:
            self._order.announce(0, *ready)
        else:
            self._send(0, {"ready": ready})

    def _go_on(self) -> None:
        """Run what rank 0 has decided on, and answer; or wait a little."""
        if self._error:
            self._leave(self._error, True)
            self._fail(self._error)
            return
        if self._mpi is not None:
            self._hear()
            self._check_coordinated()
        number = self._allowed.popleft() if self._allowed else None
        if self._coordinates:
            if problem := self._order.problem():
                self._stop_all(problem)
                return
            number = self._order.next()
            for rank in range(1, self.size) if number is not None else ():
                self._send(rank, {"go": number})
        if self.service is not None:
            self.service.step()
            if self.service.deadlock:
                self._stop_all(self.service.deadlock)
        if number is not None:
            self._finish(self._waiting.pop(number))
            self._idle_since = time.monotonic()
            return
        self._wait_a_little()

    def _check_coordinated(self) -> None:
        """Fail if something waits to be allowed by rank 0, which has left."""
        why = self._left.get(self.roles.workers[0])
        if why is None or self._coordinates:
            return
        for number, operation in self._waiting.items():
            if number not in self._allowed:
                self._fail(f"rank 0 {why}, before: {operation.text}.")

    @property
    def _coordinates(self) -> bool:
        """Whether this process decides about the order: rank 0 does."""
        return self._mpi is not None and self._process == self.roles.workers[0]

    def _wait_a_little(self) -> None:
        since = self._idle_since
        if self.service is not None:
            since = max(since, self.service.last_active)
        waited = time.monotonic() - since
        if waited > SPIN:
            self._look()
            asked = self.service is not None and self.service.waits
            rest(waited, asked or bool(self._waiting))
        if waited > SLOW and self._coordinates:
            for line in self._order.slow():
                log.warning("%s for %d s.", line, SLOW)
        if self.service is not None:
            if waited > SLOW:
                self.service.name_the_slow()
            if time.monotonic() - self._idle_since > SLOW:
                self._say_waits(self.service)

    def _say_waits(self, service: Service) -> None:
        """Let servers know what this worker waits for, if it will send them nothing."""
        asks = service.waits or self._asking[0] != self._asking[1]
        if self._waiting and not asks:
            self._idle_since = time.monotonic()  # when it was said last
            text = self._waiting[min(self._waiting)].text
            service.waiting(self.rank, text)
            for process in self._heartbeats.others:
                self._control.send(process, {"waits": text})

    def _finish(self, operation: Collective | Exchange) -> None:
        """Run an operation, or let it fail, and give its vars back."""
        if self.failure is not None:
            fail(operation, JobError(str(self.failure)))
        finish(operation)

    def _fail(self, why: str) -> None:
        if self.failure is None:
            self.failure = JobError(f"{self.title} stops: {why}")

    def _stop_all(self, why: str, known: Container[int] = ()) -> None:
        """Fail, and let all processes fail but those that know."""
        self._fail(why)
        for process in self._heartbeats.others:
            if process not in known:
                self._control.send(process, {"stop": why})

    # -- messages ----------------------------------------------------------------------

    def _send(self, rank: int, message: dict[str, Any]) -> None:
        self._control.send(self.roles.workers[rank], message)

    def _hear(self) -> None:
        """Read the messages that have come."""
        for source, message in self._control.received():
            self._heartbeats.heard(source)
            if "go" in message:
                self._allowed.append(int(message["go"]))
            elif "ready" in message:
                number, priority, text = message["ready"]
                rank = self.roles.workers.index(source)
                self._order.announce(rank, number, priority, text)
            elif "left" in message:
                self._has_left(source, message["left"], message["failed"])
            elif "waits" in message and self.service is not None:
                self.service.waiting(self.roles.workers.index(source), message["waits"])
            elif "stop" in message:
                self._fail(message["stop"])

    def _has_left(self, process: int, why: str, failed: bool) -> None:
        """A worker takes no part any more: by an error, or because it has ended."""
        self._left[process] = why
        rank = self.roles.workers.index(process)
        if self._coordinates:
            self._order.leave(rank, why)
        if self.service is not None:
            self.service.left(rank, why)
            if failed:
                self._fail(f"rank {rank} {why}.")

    def _leave(self, why: str, failed: bool = False) -> None:
        """Let the others know that this worker takes no part any more, once."""
        if self._process in self._left or self._process not in self.roles.workers:
            return
        self._left[self._process] = why
        if self._coordinates:
            self._order.leave(0, why)
        if self.service is not None:
            self.service.left(self.rank, why)
        for process in self._heartbeats.others if self.failure is None else ():
            self._control.send(process, {"left": why, "failed": failed})

    # -- the other processes -----------------------------------------------------------

    def _look(self) -> None:
        """Fail if another process has died, or has long been silent; say we live."""
        if self._mpi is None:
            return
        if dead := self._processes.died():
            self._hear()  # they may have said why they end
            if self._coordinates and (problem := self._order.problem()):
                self._fail(problem)
            dead = {k: which for k, which in dead.items() if k not in self._left}
            if dead:
                who = ", ".join(map(self.roles.title, sorted(dead)))
                self._fail(why := f"{who} died ({', '.join(dead.values())}).")
                if self._coordinates:  # those of this machine see it themselves
                    self._stop_all(why, {*self._processes.pids, *dead})
        if self._heartbeats.due():
            for process in self._heartbeats.others:
                if process not in self._left:
                    self._control.send(process, {"alive": True})
        if silent := self._heartbeats.silent(self._left):
            who = ", ".join(map(self.roles.title, silent))
            self._fail(SILENCE.format(who, self._heartbeats.timeout))

    # -- the end -----------------------------------------------------------------------

    def abandon(self, error: BaseException) -> None:
        """Take no part any more because of an error, which the others are sent."""
        self._error = f"has failed ({type(error).__name__}: {error})"
        self._queue.put(None)
        self._thread.join(5 * LOOK)

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
            self.abandon(error)
        else:
            self._queue.put(None)
            self._thread.join()
        if error is None and self.failure is None:
            assert self._mpi is not None
            self._mpi.Finalize()
            return
        if error is None:
            print(f"{type(self.failure).__name__}: {self.failure}", file=sys.stderr)
        # Neither MPI nor the engine can be ended in order: they wait for other ranks.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(1)


_job: Job | None = None
_making = threading.Lock()


def current() -> Job | None:
    """The job that this process is in, if it has begun."""
    return _job


def job() -> Job:
    """The job that this process is in; MPI begins with the first call."""
    global _job
    with _making:
        if _job is None:
            _job = Job()
        check_launched(_job.roles)
        return _job

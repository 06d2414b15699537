"""The job that this process is a rank of, and the one thread that talks to MPI.

An operation between ranks is an operation of the engine: it reads and writes vars, has
a priority, and what comes after it waits for it. When its vars are ready, the engine
hands it to the thread of this module, which announces it to rank 0 (`order.py`), runs
it when rank 0 says so, and gives its vars back. So no worker of the engine ever waits
for another process.

While it waits, the thread looks every `LOOK` seconds whether the processes of ranks on
the same machine are alive. If one is not, everything that waits for it fails with
`JobError`. Of ranks on other machines, `minimx launch` notes who died.
"""

from __future__ import annotations

import atexit
import importlib.util
import json
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
from pathlib import Path
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
from minimx.core.knobs import knobs
from minimx.core.errors import MXNetError, Unavailable
from minimx.kvstore.dist.deaths import deaths
from minimx.kvstore.dist.order import Order, named
from minimx.kvstore.dist.parity import MUST_AGREE, differences, facts

#: Seconds between two looks at whether the other processes are alive.
LOOK: Final = 0.2
#: After so many seconds of waiting, the ranks that all wait for are named.
SLOW: Final = 10.0
#: How long MPI is asked without a pause, and the pause afterwards, in seconds.
SPIN: Final = 0.0003
PAUSE: Final = 0.00005
#: What a launcher of MPI programs puts into the environment of a rank.
LAUNCHED: Final = ("PMI_RANK", "PMIX_RANK", "OMPI_COMM_WORLD_RANK", "PMI_FD")

log = logging.getLogger(__name__)


class JobError(MXNetError):
    """The ranks cannot go on together: one has died, has left, or does otherwise."""


class Collective(Operation):
    """An operation that all ranks take part in.

    number: its position in the order of the program. text: what it does.
    """

    __slots__ = ("done", "number", "text")

    number: int
    text: str
    done: threading.Event


def _load_mpi() -> Any:
    """mpi4py's MPI, begun; MPI is ended by `Job.close`."""
    if importlib.util.find_spec("mpi4py") is None:
        raise Unavailable(
            "stores between processes need mpi4py and an MPI library. Install them "
            "with: pip install 'minimx[dist]'"
        )
    import mpi4py

    if "mpi4py.MPI" not in sys.modules:
        mpi4py.rc.finalize = False  # it would wait for ranks that have died
    try:
        from mpi4py import MPI
    except (ImportError, RuntimeError) as reason:
        raise Unavailable(
            f"mpi4py finds no MPI library ({reason}). Install one with: pip install "
            "'minimx[dist]'"
        ) from reason
    return MPI


class Job:
    """All ranks, as seen by one of them.

    A process that no launcher has started is a job of one rank, without MPI.
    """

    rank = 0
    size = 1

    def __init__(self) -> None:
        self.failure: JobError | None = None
        mpi = _load_mpi() if any(name in os.environ for name in LAUNCHED) else None
        if mpi is None or mpi.COMM_WORLD.size == 1:
            if importlib.util.find_spec("mpi4py") is None:
                _load_mpi()  # raises
            return
        self._mpi = mpi
        self._control = mpi.COMM_WORLD.Dup()
        self._data = mpi.COMM_WORLD.Dup()
        self.rank, self.size = self._data.rank, self._data.size
        self._pids = self._compare()
        self._numbers = count()
        self._submitting = threading.Lock()
        self._queue: SimpleQueue[Any] = SimpleQueue()  # operations; None: the end
        self._waiting: dict[int, Collective] = {}  # announced, not run yet
        self._order = Order(self.size)  # used by rank 0
        self._last_look = self._idle_since = time.monotonic()
        self._named: set[int] = set()  # operations whose slow ranks were named
        self._error = ""  # why this rank ends, if it does by an error
        self._thread = threading.Thread(target=self._serve, name="mpi", daemon=True)
        self._thread.start()
        atexit.register(self.close)

    def _compare(self) -> dict[int, int]:
        """Compare what ranks should have in common; the pids of ranks on this host."""
        ranks = self._gather(facts())
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
        return {
            rank: int(one["pid"])
            for rank, one in enumerate(ranks)
            if one["host"] == here and rank != self.rank
        }

    def _gather(self, value: Any) -> list[Any]:
        """The plain data of every rank, in order; before the thread starts."""
        sent = np.frombuffer(json.dumps(value).encode(), np.uint8)
        sizes = np.empty(self.size, np.int64)
        self._data.Allgather(np.array([sent.size], np.int64), sizes)
        came = np.empty(int(sizes.sum()), np.uint8)
        byte = self._mpi.BYTE
        self._data.Allgatherv([sent, byte], [came, sizes.tolist(), None, byte])
        parts = np.split(came, np.cumsum(sizes)[:-1])
        return [json.loads(part.tobytes()) for part in parts]

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
        flat, begin = array.reshape(-1), events.clock()
        if flat.dtype.char in "fdbBhHiIlLqQ":
            self._complete(self._data.Iallreduce(self._mpi.IN_PLACE, flat))
        else:  # float16 and bfloat16, which MPI cannot add
            sent, byte = flat.view(np.uint8), self._mpi.BYTE
            came = np.empty((self.size, sent.size), np.uint8)
            self._complete(self._data.Iallgather([sent, byte], [came, byte]))
            parts = came.view(flat.dtype).astype(np.float32)
            flat[:] = parts.sum(axis=0).astype(flat.dtype)
        self._record(key, begin, flat.nbytes)

    def spread(self, key: Any, array: np.ndarray[Any, Any]) -> None:
        """Fill an array on all ranks with what it is on rank 0."""
        flat, begin = array.reshape(-1).view(np.uint8), events.clock()
        self._complete(self._data.Ibcast([flat, self._mpi.BYTE], root=0))
        self._record(key, begin, flat.nbytes)

    def _record(self, key: Any, begin: int, nbytes: int) -> None:
        listener = events.recorder
        if listener is not None:
            src, dst = f"rank {self.rank}", f"{self.size} ranks"
            phase = events.attribution.phase
            listener.communication(
                begin, events.clock(), str(key), src, dst, nbytes, phase
            )

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
            self._send(
                0, ready=[operation.number, operation.priority, operation.text]
            )

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
                    self._send(rank, stop=problem)
                return
            number = self._order.next()
            for rank in range(1, self.size) if number is not None else ():
                self._send(rank, go=number)
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

    def _send(self, rank: int, **message: Any) -> None:
        """Send plain data to a rank; it is small, so MPI does not wait."""
        text = np.frombuffer(json.dumps(message).encode(), np.uint8)
        self._control.Send([text, self._mpi.BYTE], dest=rank)

    def _heard(self) -> int | None:
        """Read messages up to one that lets an operation begin; its number."""
        mpi, status = self._mpi, self._mpi.Status()
        while self._control.Iprobe(mpi.ANY_SOURCE, mpi.ANY_TAG, status):
            came = np.empty(status.Get_count(mpi.BYTE), np.uint8)
            source = status.Get_source()
            self._control.Recv([came, mpi.BYTE], source=source)
            message = json.loads(came.tobytes())
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
                self._send(rank, left=why)
        if self.rank == 0:
            self._order.leave(0, why)

    # -- the other processes ----------------------------------------------------------------

    def _look(self) -> None:
        """Fail if a process of this machine has died; every `LOOK` seconds."""
        if time.monotonic() - self._last_look < LOOK:
            return
        self._last_look = time.monotonic()
        pids = self._pids
        dead = {rank: f"process {pids[rank]}" for rank in pids if not alive(pids[rank])}
        for rank, host in deaths().items():
            if rank != self.rank and rank not in pids:
                dead[rank] = f"on {host}"
        if dead and self._waiting_after_messages():
            why = f"{named(sorted(dead))} died ({', '.join(dead.values())})."
            self._fail(why)
            for rank in range(1, self.size) if self.rank == 0 else ():
                if rank not in pids and rank not in dead:
                    self._send(rank, stop=why)

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

    def abandon(self, error: BaseException) -> None:
        """Take no part any more because of an error, which the others are sent."""
        self._error = f"has failed ({type(error).__name__}: {error})"
        self._queue.put(None)
        self._thread.join(5 * LOOK)
        if not self._thread.is_alive():
            self._leave(self._error)

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
            self._leave("has ended")
            self._mpi.Finalize()
            return
        # Neither MPI nor the engine can be ended in order: they wait for other ranks.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(1)


def _nothing() -> None:
    """What an operation does that only orders others."""


def alive(pid: int) -> bool:
    """Whether a process of this machine runs; one that only waits to be reaped not."""
    stat = Path(f"/proc/{pid}/stat")
    if stat.parent.parent.joinpath("self").exists():
        try:
            return stat.read_text().rpartition(")")[2].split()[0] not in "ZX"
        except OSError:
            return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def check_launched(ranks: int) -> None:
    """Raise `JobError` if a launcher has set that this job is another one."""
    if knobs.DMLC_ROLE not in ("", "worker"):
        raise JobError(
            f"DMLC_ROLE is {knobs.DMLC_ROLE}, but a rank of minimx is a worker. "
            "Start the job with: minimx launch -n 4 train.py"
        )
    wanted = int(knobs.DMLC_NUM_WORKER)
    if knobs.is_set("DMLC_NUM_WORKER") and ranks != wanted:
        raise JobError(
            f"DMLC_NUM_WORKER is {wanted}, but the job has {ranks} ranks. Start it "
            f"with: minimx launch -n {wanted} train.py"
        )


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

"""What every engine offers, and what an operation is.

    engine.push(fn, device, reads, writes, "dot")     queue a function
    engine.wait_to_read(var)                          until the writes so far are done
    engine.wait_all()                                 until everything is done

`fn` is called without arguments on some thread when all earlier writes of its `reads`
and all earlier reads and writes of its `writes` have completed. The engine knows vars
and devices; it knows no arrays.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from time import perf_counter_ns

from minimx.core import events
from minimx.core.device import Device
from minimx.core.engine import bulking, urgency
from minimx.core.engine.kinds import NORMAL, SEGMENT
from minimx.core.engine.operation import Operation
from minimx.core.engine.origin import Origin, capture
from minimx.core.engine.trace import Trace
from minimx.core.engine.var import Var
from minimx.core.events import Work


class Engine(ABC):
    """A way to run operations. Exactly one engine is current at any time."""

    name: str
    open = True  # False while it closes and afterwards: pushes go to the next engine
    bulks = True  # whether operations may be joined
    clock: Callable[[], int] = staticmethod(perf_counter_ns)  # of all events

    def push(
        self, fn: Callable[[], object], device: Device, reads: Sequence[Var],
        writes: Sequence[Var], name: str, priority: int = 0, prop: int = NORMAL,
        cost: Work | None = None, origin: Origin | None = None,
    ) -> int:  # fmt: skip
        """Queue `fn`, to be called when its vars are ready.

        reads, writes: in any order, repetitions do no harm. name: what timelines and
        errors call it. priority: larger is more urgent; only priority lanes look at it.
        prop: the kind of work. cost: how much work it is, for the virtual clock.
        origin: the user's line, if it is not the caller's.

        Returns the operation's id while a record is on, else 0.
        """
        if origin is None:
            origin = events.attribution.origin or capture()
        for var in writes:
            if var.kept is not None and var.kept() is not None:
                var.preserve()
        if urgency.users:
            priority, prop = urgency.marked(device, priority, prop)
        operation = Operation(
            fn, device, reads, writes, name, priority, prop, cost, origin
        )
        recorder = events.recorder
        if recorder is not None:
            operation.trace = Trace(recorder, events.clock())
        if bulking.users and self.bulks:
            bulking.route(operation, self.submit)
        else:
            self.submit(operation)
        if operation.trace is None or recorder is None:
            return 0
        if recorder.records_calls:
            graph = operation.prop == SEGMENT
            function = "MXInvokeCachedOpEx" if graph else "MXImperativeInvokeEx"
            recorder.call(function, name, operation.trace.t_push, events.clock())
        return operation.trace.op_id

    @abstractmethod
    def submit(self, operation: Operation) -> None:
        """Queue an operation that has been made already."""

    @abstractmethod
    def wait_to_read(self, var: Var) -> None:
        """Block until the writes of `var` pushed so far are done.

        Raises the exception that poisoned `var`, if it has not been raised before.
        """

    @abstractmethod
    def wait_to_write(self, var: Var) -> None:
        """Block until the reads and writes of `var` pushed so far are done.

        Raises the exception that poisoned `var`, if it has not been raised before.
        """

    @abstractmethod
    def wait_all(self) -> None:
        """Block until everything pushed so far is done.

        Raises the oldest exception that was not raised yet, and forgets the
        others.
        """

    @abstractmethod
    def close(self, patience: float = -1) -> None:
        """Finish everything, end all threads, and hand later pushes to the next engine.

        After `patience` seconds it gives up and leaves what hangs to itself; -1 never.
        Raises `EngineError` when called by an operation. If it raises and leaves `open`
        True, the engine goes on as before.
        """

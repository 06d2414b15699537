"""Run it now, on this thread.

Nothing overlaps and nothing is queued: an exception surfaces at the call that caused
it, and all waits are over before they begin. The engine to debug with, and the one to
compare the others against.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

from minimx.core import events
from minimx.core.device import Device
from minimx.core.engine import bulking
from minimx.core.engine.base import Engine
from minimx.core.engine.failures import (
    pending_failures,
    raise_failure,
    raise_oldest,
    raise_pending,
)
from minimx.core.engine.kinds import NORMAL
from minimx.core.engine.operation import Operation
from minimx.core.engine.origin import Origin, capture, describe
from minimx.core.engine.running import perform
from minimx.core.engine.trace import PUSHER
from minimx.core.engine.var import Var
from minimx.core.engine.workers import Spend
from minimx.core.errors import EngineError
from minimx.core.events import Work


class NaiveEngine(Engine):
    """The engine without threads. Pushing threads take turns."""

    name = "NaiveEngine"
    bulks = False

    def __init__(
        self, successor: Callable[[Engine], Engine], spend: Spend | None = None
    ) -> None:
        """`successor(self)` gives the engine that takes over from a closed one.

        `spend` is called after each operation, to let its time pass.
        """
        self._spend = spend
        self._successor = successor
        self._turn = threading.RLock()  # an operation may push operations
        self._running = 0

    def push(
        self, fn: Callable[[], object], device: Device, reads: Sequence[Var],
        writes: Sequence[Var], name: str, priority: int = 0, prop: int = NORMAL,
        cost: Work | None = None, origin: Origin | None = None,
    ) -> int:  # fmt: skip
        """Run `fn` before returning; the arguments are those of `Engine.push`.

        What `fn` raises goes through to the caller. Where nothing is recorded and
        nothing has failed, no `Operation` is made: that is most of the time.
        """
        if bulking.collected:
            self._run_joined()
        plain = events.recorder is None and not pending_failures and self._spend is None
        for var in writes:
            plain = plain and (var.kept is None or var.kept() is None)
        if plain:
            with self._turn:
                if self.open:
                    self._running += 1
                    try:
                        fn()
                    except BaseException as error:
                        origin = origin or events.attribution.origin or capture()
                        self._name_callers(error, name, origin)
                        raise
                    finally:
                        self._running -= 1
                    for var in writes if len(writes) == 1 else {*writes}:
                        var.version += 1
                    return 0
        return super().push(
            fn, device, reads, writes, name, priority, prop, cost, origin
        )

    def _name_callers(self, error: BaseException, name: str, origin: Origin) -> None:
        """Add the lines that `DMLC_LOG_STACK_TRACE_DEPTH` asks for to an error."""
        note = f"{name}, {describe(origin)}"
        if len(origin) > 1 and note not in getattr(error, "__notes__", ()):
            error.add_note(note)

    def submit(self, operation: Operation) -> None:
        """Run an operation; raises what it raises, or what poisoned its vars."""
        with self._turn:
            if self.open:
                self._run(operation)
                return
        self._successor(self).submit(operation)

    def _run(self, operation: Operation) -> None:
        trace = operation.trace
        if trace is not None:
            trace.emit_edges(trace.edges(operation))
            trace.t_ready = events.clock()
        self._running += 1
        try:
            failure = perform(operation, PUSHER, self._spend)
        finally:
            self._running -= 1
        if failure is not None:
            raise_failure(failure)
        for var in operation.writes:
            var.version += operation.adds

    def _run_joined(self) -> None:
        """Run what was joined while another engine closed: it was pushed before."""
        if bulking.collected:
            with self._turn:
                if not self._running:  # else an operation pushes, maybe one of them
                    bulking.hand_over_all(self.submit)

    def wait_to_read(self, var: Var) -> None:
        """Nothing to wait for; raises what another engine left on `var`."""
        self._run_joined()
        raise_pending(var)

    wait_to_write = wait_to_read

    def wait_all(self) -> None:
        """Nothing to wait for; raises what another engine left behind."""
        self._run_joined()
        raise_oldest()

    def close(self, patience: float = -1) -> None:
        """Wait for the operations of other threads to end; see `Engine.close`."""
        if not self._turn.acquire(timeout=patience):
            return
        try:
            if self._running:
                raise EngineError(
                    "an operation cannot change the engine that is running it. "
                    "Turn the knob before the operation or after it."
                )
            self.open = False
        finally:
            self._turn.release()

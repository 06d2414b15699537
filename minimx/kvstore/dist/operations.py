"""Operations of the engine that another thread runs: that of MPI.

They wait for their vars as all operations do. Once they are ready they go to `put`; who
runs them calls `finish`.
"""

from __future__ import annotations

import threading
from typing import Any

from minimx.core import engine, events
from minimx.core.device import cpu
from minimx.core.engine import bulking
from minimx.core.engine.failures import raise_pending
from minimx.core.engine.operation import Operation
from minimx.core.engine.running import perform
from minimx.core.engine.threaded import ThreadedEngine, hand_over
from minimx.core.engine.trace import Trace
from minimx.core.engine.var import append, release, var_lock


class Outside(Operation):
    """An operation that the engine does not run. done: set when it is over."""

    __slots__ = ("done",)

    done: threading.Event


class Collective(Outside):
    """An operation that all ranks take part in.

    number: its position in the order of the program. text: what it does.
    """

    __slots__ = ("number", "text")

    number: int
    text: str


def appended(operation: Outside) -> Any:
    """Append an operation to its vars; it goes to `put` when they are ready.

    Returns what `handed_over` needs. Those of one kind are appended in turn.
    """
    if bulking.users:
        bulking.hand_over_all(engine.current.submit)
    operation.done = threading.Event()
    if events.recorder is not None:
        operation.trace = Trace(events.recorder, events.clock())
    with var_lock:
        trace = operation.trace
        edges = trace.edges(operation) if trace is not None else None
        if trace is not None:
            trace.t_ready = events.clock()
        if append(operation):
            operation.put(operation)
    return edges


def handed_over(operation: Outside, edges: Any) -> None:
    """See that waits of the engine count an operation; it was just appended."""
    if operation.trace is not None and edges:
        operation.trace.emit_edges(edges)
    written = operation.writes[0]
    if isinstance(engine.current, ThreadedEngine):
        # `waitall` counts what the engine runs itself, so that it waits for this.
        engine.push(nothing, cpu(), [written], [], "KVStoreDistArrived")
    else:
        operation.done.wait()
        raise_pending(written)


def finish(operation: Outside) -> None:
    """Run an operation whose vars are ready, and give them back."""
    perform(operation, "mpi")
    with var_lock:
        ready = release(operation)
    operation.done.set()
    if ready is not None:
        hand_over(ready)


def fail(operation: Outside, error: Exception) -> None:
    """Let an operation raise, instead of what it would do, when it is finished."""

    def run() -> None:
        raise error

    operation.fn = run


def nothing() -> None:
    """What an operation does that only orders others."""

"""The dependency engine: hand it functions and what they touch, and it finds the time.

    from minimx import engine

    engine.push(fn, device, reads=[a, b], writes=[c], name="add")
    engine.wait_to_read(c)

`current` is the engine in use; its kind follows `MXNET_ENGINE_TYPE`, its threads the
thread-count knobs. Turning one of them finishes everything, ends all threads, and
starts the next engine, while other threads go on pushing.

Reading order: `var.py` (the rules), `operation.py` and `base.py`, `naive.py`, then
`threaded.py` with `lanes.py` and `workers.py`. Needed less often: `failures.py` and
`origin.py` (errors that come late), `bulking.py` (several operations as one),
`urgency.py` (priorities), `turns.py` (how often threads take turns), `trace.py` (what
is recorded). An engine on a virtual clock is the extension "virtual time".
"""

from __future__ import annotations

import atexit
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from time import perf_counter_ns
from typing import Any, Final

from minimx.core import events
from minimx.core.device import Device
from minimx.core.engine import bulking, failures, turns, urgency
from minimx.core.engine.base import Engine
from minimx.core.engine.costs import Launches, Transfer
from minimx.core.engine.delay import Delay
from minimx.core.engine.kinds import (
    COPY_FROM_GPU,
    COPY_TO_GPU,
    CPU_PRIORITIZED,
    GPU_PRIORITIZED,
    NO_SKIP,
    NORMAL,
    SEGMENT,
)
from minimx.core.engine.lanes import LAYOUTS, Sizes
from minimx.core.engine.naive import NaiveEngine
from minimx.core.engine.operation import Operation
from minimx.core.engine.origin import Origin
from minimx.core.engine.threaded import ThreadedEngine
from minimx.core.engine.urgency import urgent
from minimx.core.engine.var import Var, var_lock
from minimx.core.engine.workers import on_worker_start
from minimx.core.errors import EngineError
from minimx.core.events import Work
from minimx.core.extensions import provided
from minimx.core.knobs import knobs

__all__ = [
    "COPY_FROM_GPU", "COPY_TO_GPU", "CPU_PRIORITIZED", "GPU_PRIORITIZED", "NORMAL",
    "NO_SKIP", "SEGMENT", "Engine", "Launches", "Operation", "Transfer", "Var", "bulk",
    "current", "engine_type", "on_worker_start", "push", "register", "restart",
    "set_bulk_size", "urgent", "wait_all", "wait_to_read", "wait_to_write",
]  # fmt: skip

# Seconds that an operation may go on when the program is over.
PATIENCE_AT_EXIT: Final = 5.0

current: Engine


def push(
    fn: Callable[[], object],
    device: Device,
    reads: Sequence[Var],
    writes: Sequence[Var],
    name: str,
    priority: int = 0,
    prop: int = NORMAL,
    cost: Work | None = None,
    origin: Origin | None = None,
) -> int:
    """Queue a function on the current engine, to be called when its vars are ready.

    The arguments are those of `Engine.push`, MXNet's `Engine::PushAsync`. Returns the
    operation's id while a record is on, else 0.
    """
    return current.push(fn, device, reads, writes, name, priority, prop, cost, origin)


def wait_to_read(var: Var) -> None:
    """Block until the writes of `var` pushed so far are done; raise its failure."""
    if events.recorder is None:
        current.wait_to_read(var)
    else:
        with events.called("MXNDArrayWaitToRead"):
            current.wait_to_read(var)


def wait_to_write(var: Var) -> None:
    """Block until no operation pushed so far uses `var`; raise its failure."""
    if events.recorder is None:
        current.wait_to_write(var)
    else:
        with events.called("MXNDArrayWaitToWrite"):
            current.wait_to_write(var)


def wait_all() -> None:
    """Block until everything pushed so far is done; raise the first failure.

    Examples
    --------
    >>> import minimx as mx
    >>> x = mx.nd.ones((2,)) + 1
    >>> mx.nd.waitall()
    """
    with events.called("MXNDArrayWaitAll"):
        current.wait_all()


def set_bulk_size(size: int) -> int:
    """Join up to `size` operations of this thread into one; returns the old size.

    0 and 1 join nothing.
    """
    return bulking.set_size(size, current.submit)


@contextmanager
def bulk(size: int | None = None) -> Iterator[None]:
    """Join up to `size` operations that this thread pushes inside the `with` block.

    Without a size, `MXNET_EXEC_BULK_EXEC_MAX_NODE_TRAIN_FWD` says how many. NaiveEngine
    joins nothing.
    """
    if size is None:
        size = knobs.get("MXNET_EXEC_BULK_EXEC_MAX_NODE_TRAIN_FWD")
    old = bulking.here.size
    try:
        set_bulk_size(size)
        yield
    finally:
        try:
            bulking.finish_here(current.submit)
            set_bulk_size(old)
        except BaseException:  # also where Ctrl-C comes meanwhile
            set_bulk_size(old)
            raise


def engine_type() -> str:
    """The name of the engine in use."""
    return current.name


def register(name: Any, policy: Any = None) -> Any:
    """Let MXNET_ENGINE_TYPE take a class of yours, by name; a call or a decorator.

    It picks the next of the ready operations: `mx.policies.register_engine`.
    """
    return provided("policies").register_engine(name, policy)


# Switching

_made: tuple[str, str, Sizes, float]  # what the knobs wanted when `current` was made
_switching = threading.RLock()
_switched = threading.Condition()
_virtual_time = 0  # where the next virtual clock goes on


def restart() -> None:
    """Finish everything and start the engine that the knobs ask for.

    Other threads may go on pushing: they wait a moment. Raises `EngineError` inside an
    operation. If it is interrupted while operations are finished, nothing has changed.
    """
    with _switching:
        old = current
        try:
            old.close()
        finally:
            _install(old if old.open else _make())


def _wanted() -> tuple[str, str, Sizes, float]:
    """The engine's name, clock, thread counts and delay, as the knobs have them."""
    sizes = Sizes(
        cpu_workers=knobs.get("MXNET_CPU_WORKER_NTHREADS"),
        cpu_priority=knobs.get("MXNET_CPU_PRIORITY_NTHREADS"),
        gpu_workers=knobs.get("MXNET_GPU_WORKER_NTHREADS"),
        gpu_copy=knobs.get("MXNET_GPU_COPY_NTHREADS"),
    )
    name, clock = knobs.get("MXNET_ENGINE_TYPE"), knobs.get("MINIMX_CLOCK")
    return name, clock, sizes, float(knobs.get("MINIMX_SIM_DELAY"))


def _make() -> Engine:
    """The engine that the knobs ask for."""
    global _made, _virtual_time
    if events.clock is not perf_counter_ns:
        _virtual_time = events.clock()
    _made = name, clock, sizes, delay = _wanted()
    if clock == "virtual":
        kind: type[Engine] = provided("virtual time").VirtualEngine
        return kind(name, LAYOUTS[name], sizes, _successor, time=_virtual_time)  # type: ignore[call-arg]
    spend = Delay(delay) if delay else None
    if name == "NaiveEngine":
        return NaiveEngine(_successor, spend)
    return ThreadedEngine(name, LAYOUTS[name], sizes, _successor, spend)


def _install(engine: Engine) -> None:
    """Make an engine the current one, and its clock the clock of all events."""
    global current
    with _switched:
        current = engine
        events.clock = engine.clock
        turns.take(None if isinstance(engine, NaiveEngine) else turns.OFTEN)
        _switched.notify_all()


def _successor(engine: Engine) -> Engine:
    """The engine after a closed one; waits until it is there."""
    with _switched:
        _switched.wait_for(lambda: engine is not current or engine.open)
        return current


def _knob_turned(name: str, new: object, old: object) -> None:
    if _made != _wanted():  # else another knob of the same change got here first
        restart()


def _kernel_threads_changed(name: str, new: object, old: object) -> None:
    if on_worker_start:  # workers get notice of it
        restart()


_install(_make())
knobs.watch(
    (
        "MXNET_ENGINE_TYPE",
        "MXNET_CPU_WORKER_NTHREADS",
        "MXNET_CPU_PRIORITY_NTHREADS",
        "MXNET_GPU_WORKER_NTHREADS",
        "MXNET_GPU_COPY_NTHREADS",
        "MINIMX_CLOCK",
        "MINIMX_SIM_DELAY",
    ),
    _knob_turned,
)
knobs.watch("OMP_NUM_THREADS", _kernel_threads_changed)


# Forking and leaving


def _before_fork() -> None:
    """Finish everything: a child has no workers, and must not find half-done work."""
    _switching.acquire()
    with suppress(EngineError):  # an operation forks; its engine has to go on
        current.close()
    var_lock.acquire()


def _after_fork_in_parent() -> None:
    var_lock.release()
    _install(current if current.open else _make())
    _switching.release()


def _after_fork_in_child() -> None:
    global _switched
    _switched = threading.Condition()  # a thread that is gone may have held it
    bulking.forget_other_threads()
    urgency.forget_other_threads()
    var_lock.release()
    _install(_make())
    _switching.release()


def _at_exit() -> None:
    """Let what runs come to its end, drop what waits, and need no threads any more.

    Like MXNet: results that are not there yet cannot be read.
    """
    failures.give_up()
    current.close(PATIENCE_AT_EXIT)
    failures.recover()
    _install(NaiveEngine(_successor))


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before_fork,
        after_in_parent=_after_fork_in_parent,
        after_in_child=_after_fork_in_child,
    )
atexit.register(_at_exit)

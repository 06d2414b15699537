"""The dependency engine: hand it functions and what they touch, and it finds the time.

    from minimx import engine

    engine.push(fn, device, reads=[a, b], writes=[c], name="add")
    engine.wait_to_read(c)

`current` is the engine in use; its kind follows `MXNET_ENGINE_TYPE`, its threads the
thread-count knobs. Turning one of them finishes everything, ends all threads, and
starts the next engine, while other threads go on pushing.

Reading order: `var.py` (the rules), `base.py`, `naive.py`, `threaded.py` with
`workers.py` and `lanes.py`, `failures.py`, `bulking.py`, `virtual.py`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from minimx.device import Device
from minimx.engine import bulking
from minimx.engine.base import Engine
from minimx.engine.lanes import LAYOUTS, Sizes
from minimx.engine.naive import NaiveEngine
from minimx.engine.operation import (
    COPY_FROM_GPU,
    COPY_TO_GPU,
    CPU_PRIORITIZED,
    GPU_PRIORITIZED,
    NO_SKIP,
    NORMAL,
    CostLike,
    Operation,
)
from minimx.engine.origin import Origin
from minimx.engine.threaded import ThreadedEngine, on_worker_start
from minimx.engine.var import Var
from minimx.knobs import knobs

__all__ = [
    "COPY_FROM_GPU",
    "COPY_TO_GPU",
    "CPU_PRIORITIZED",
    "GPU_PRIORITIZED",
    "NORMAL",
    "NO_SKIP",
    "Engine",
    "Operation",
    "Var",
    "bulk",
    "current",
    "engine_type",
    "on_worker_start",
    "push",
    "set_bulk_size",
    "wait_all",
    "wait_to_read",
    "wait_to_write",
]

_switching = threading.RLock()


def _sizes() -> Sizes:
    return Sizes(
        cpu_workers=knobs.get("MXNET_CPU_WORKER_NTHREADS"),
        cpu_priority=knobs.get("MXNET_CPU_PRIORITY_NTHREADS"),
        gpu_workers=knobs.get("MXNET_GPU_WORKER_NTHREADS"),
        gpu_copy=knobs.get("MXNET_GPU_COPY_NTHREADS"),
    )


def _make(name: str) -> Engine:
    if name == "NaiveEngine":
        return NaiveEngine(_successor)
    return ThreadedEngine(name, LAYOUTS[name], _sizes(), _successor)


def _successor(closed: Engine) -> Engine:
    """The engine after a closed one, once it is there."""
    with _switching:
        return current


current: Engine = _make(knobs.get("MXNET_ENGINE_TYPE"))


def _switch(name: str, new: object, old: object) -> None:
    global current
    with _switching:
        current.close()
        current = _make(knobs.get("MXNET_ENGINE_TYPE"))


knobs.watch("MXNET_ENGINE_TYPE", _switch)


def push(
    fn: Callable[[], object],
    device: Device,
    reads: Sequence[Var],
    writes: Sequence[Var],
    name: str,
    priority: int = 0,
    prop: int = NORMAL,
    cost: CostLike | None = None,
    origin: Origin | None = None,
) -> int:
    """Queue a function on the current engine; see `Engine.push`."""
    return current.push(fn, device, reads, writes, name, priority, prop, cost, origin)


def wait_to_read(var: Var) -> None:
    """Block until the writes of `var` pushed so far are done; raise what spoiled it."""
    current.wait_to_read(var)


def wait_to_write(var: Var) -> None:
    """Block until nobody pushed so far uses `var`; raise what spoiled it."""
    current.wait_to_write(var)


def wait_all() -> None:
    """Block until everything pushed so far is done; raise the first failure."""
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
    old = set_bulk_size(size)
    try:
        yield
    finally:
        bulking.finish_here(current.submit)
        set_bulk_size(old)


def engine_type() -> str:
    """The name of the engine in use."""
    return current.name

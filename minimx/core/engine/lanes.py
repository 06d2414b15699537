"""Which lane serves an operation, and by how many workers.

A lane is a queue with workers. What lanes there are, and which operation goes to which,
is all in which the threaded engines differ; the virtual engine asks the same functions.

    pooled        one lane for everything, and one for copies
    per_device    for each CPU device a lane; for each GPU a lane, one for urgent work
                  and one for copies; one lane for urgent work on the CPU
    naive         no lane: the calling thread itself
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from minimx.core.device import Device
from minimx.core.engine.kinds import (
    COPY_FROM_GPU,
    COPY_TO_GPU,
    CPU_PRIORITIZED,
    GPU_PRIORITIZED,
)
from minimx.core.engine.trace import PUSHER

POOL_THREADS: Final = 16


#: From ready operations to the position of the one that is next.
Pick = Callable[[Sequence[Any]], int]


@dataclass(frozen=True)
class Lane:
    """A queue and how it is served.

    name: its name in timelines. threads: how many workers serve it at most.
    by_priority: the highest priority first, equal ones in order of arrival; otherwise
    all in order of arrival. eager: all workers start with the first operation, rather
    than when there is work for one more. pick: which of the ready operations, oldest
    first, is next: its position; for what users register in place of `by_priority`.
    """

    name: str
    threads: int
    by_priority: bool = False
    eager: bool = True
    pick: Pick | None = field(default=None, repr=False)


@dataclass(frozen=True)
class Sizes:
    """The thread counts that the knobs ask for."""

    cpu_workers: int = 1
    cpu_priority: int = 4
    gpu_workers: int = 2
    gpu_copy: int = 2


Layout = Callable[[Device, int, Sizes], Lane]


def naive(device: Device, prop: int, sizes: Sizes) -> Lane:
    """NaiveEngine: the calling thread does everything, one thing after the other.

    As for each layout: device and prop are those of the operation, sizes how many
    threads the knobs give to each kind of work.
    """
    return Lane(PUSHER, 1)


def pooled(device: Device, prop: int, sizes: Sizes) -> Lane:
    """ThreadedEngine: one set of workers for all devices, and one thread for copies.

    As MXNet's `threaded_engine_pooled`, whose number of workers no knob turns.
    """
    if prop in (COPY_FROM_GPU, COPY_TO_GPU):
        return Lane("copy", 1)
    return Lane("pool", POOL_THREADS, eager=False)


def per_device(device: Device, prop: int, sizes: Sizes) -> Lane:
    """Workers of its own for every device and every kind of work.

    >>> from minimx.core.device import cpu_pinned, gpu
    >>> per_device(gpu(0), COPY_TO_GPU, Sizes())
    Lane(name='gpu(0) copy', threads=2, by_priority=True, eager=True)
    >>> per_device(cpu_pinned(1), 0, Sizes(cpu_workers=3)).name
    'cpu(1)'
    """
    if prop == CPU_PRIORITIZED:
        return Lane("cpu priority", sizes.cpu_priority, by_priority=True)
    if device.device_type != "gpu":
        return Lane(f"cpu({device.device_id})", sizes.cpu_workers)
    if prop in (COPY_FROM_GPU, COPY_TO_GPU):
        return Lane(f"{device} copy", sizes.gpu_copy, by_priority=True)
    if prop == GPU_PRIORITIZED:
        return Lane(f"{device} priority", sizes.gpu_workers, by_priority=True)
    return Lane(f"{device}", sizes.gpu_workers)


LAYOUTS: Final[dict[str, Layout]] = {
    "NaiveEngine": naive,
    "ThreadedEngine": pooled,
    "ThreadedEnginePerDevice": per_device,
}

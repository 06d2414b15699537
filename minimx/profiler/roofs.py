"""Roofs: how fast a device can compute and move bytes at best.

    measured("float32")          this machine, by our own kernels, when first asked
    declared(gpu(0))             what a device costs on the virtual clock
    Roof.ns(flops, nbytes)       the least time for so much work

The model is the roofline of Williams, Waterman and Patterson (2009): work takes as long
as the slower of its arithmetic and its traffic to memory. A measurement is a matrix
product and a copy of an array that no cache holds, the fastest of several runs; it is
kept as long as the process lives, per type of number and number of threads, and nothing
that the program computes, counts or records is touched. On a busy machine it comes out
too low, and `measured(..., again=True)` asks anew.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any, Final

import numpy as np

from minimx.core.device import Device
from minimx.core.drivers import driver_for
from minimx.core.dtypes import resolve
from minimx.core.errors import ProfilerError
from minimx.core.kernels import threads
from minimx.core.ops.registry import REGISTRY
from minimx.core.ops.spec import Spec

#: The types of numbers that have a roof of their own.
TYPES: Final = ("float64", "float32", "float16", "bfloat16")
#: Rows and columns of the matrices that are multiplied.
SIDE: Final = 1024
#: Bytes of the array that is copied; several times what caches hold.
COPIED: Final = 128 << 20
#: So many runs at most, and no new one after so many seconds.
RUNS: Final = 8
PATIENCE: Final = 0.4
#: A product that would take longer than this is measured on a quarter of the sides.
SLOW: Final = 1.0


@dataclass(frozen=True)
class Roof:
    """What a device can do at best.

    flops: floating-point operations per second. bandwidth: bytes per second, read plus
    written. dtype: of which numbers. threads: on how many; 0 where that means nothing.
    source: "measured" or "declared".
    """

    flops: float
    bandwidth: float
    dtype: str = "float32"
    threads: int = 0
    source: str = "measured"

    @property
    def ridge(self) -> float:
        """The operations per byte above which arithmetic is what takes the time."""
        return self.flops / self.bandwidth

    def at(self, intensity: float) -> float:
        """Operations per second that are possible with so many of them per byte.

        >>> Roof(flops=100e9, bandwidth=20e9).at(2.0)
        40000000000.0
        """
        return min(self.flops, self.bandwidth * intensity)

    def ns(self, flops: Any, nbytes: Any) -> Any:
        """The least nanoseconds for so much work; numbers, or arrays of them.

        >>> float(Roof(flops=1e9, bandwidth=2e9).ns(500, 400))
        500.0
        """
        return 1e9 * np.maximum(flops / self.flops, nbytes / self.bandwidth)

    def __str__(self) -> str:
        some = "thread" if self.threads == 1 else "threads"
        on = f", {self.threads} {some}" if self.threads else ""
        return (
            f"{self.source}: {self.flops / 1e9:,.1f} GFLOP/s, "
            f"{self.bandwidth / 1e9:,.1f} GB/s ({self.dtype}{on})"
        )


_known: dict[tuple[str, int], Roof] = {}
_bandwidths: dict[int, float] = {}
_lock = threading.RLock()


def known(dtype: str = "float32", count: int | None = None) -> Roof | None:
    """What was measured before, or None; measures nothing."""
    return _known.get((dtype, count or threads.count()))


def measured(
    dtype: str = "float32",
    count: int | None = None,
    again: bool = False,
    canceled: Callable[[], bool] = lambda: False,
) -> Roof:
    """The roof of this machine's processor; takes a second when first asked.

    count: threads; as many as kernels use now. canceled: asked before every run; once
    it says yes, `ProfilerError` is raised and this roof is not kept.
    """
    count = count or threads.count()
    with _lock:
        found = _known.get((dtype, count))
        if found is None or again:
            with threads.using(count):
                if again or count not in _bandwidths:
                    _bandwidths[count] = _copy_rate(canceled)
                flops = _product_rate(dtype, canceled)
            roof = Roof(flops, _bandwidths[count], dtype, count)
            found = _known[dtype, count] = roof
        return found


def declared(device: Device, dtype: str = "float32") -> Roof:
    """What a device's driver says that work costs, which the virtual clock goes by.

    Products of float16 are those of tensor cores, where there are some.
    """
    costs = driver_for(device).costs
    flops = (costs.tensor_flops if dtype == "float16" else 0) or costs.flops
    return Roof(flops, costs.memory_bandwidth, dtype, 0, "declared")


def backend(device: Device) -> str:
    """Whose kernels run on a device, `cpu` or `cuda`; simulated ones have the CPU's.

    Raises `DeviceError` for a GPU that does not exist.
    """
    return driver_for(device).backend


def _product_rate(dtype: str, canceled: Callable[[], bool]) -> float:
    """Operations per second of a square product."""
    rate = 0.0
    for side in (SIDE // 4, SIDE):
        work = 2.0 * side**3
        if rate and work / rate > SLOW:
            break
        run = _call("dot", dtype, (side, side), 2)
        rate = max(rate, work / min(_times(run, canceled)))
    return rate


def _copy_rate(canceled: Callable[[], bool]) -> float:
    """Bytes per second, read plus written, of a copy; memory knows no types."""
    run = _call("_copy", "float32", (COPIED // 4,), 1)
    return 2.0 * COPIED / min(_times(run, canceled))


def _call(name: str, dtype: str, shape: tuple[int, ...], inputs: int) -> Any:
    """An operator's kernel on arrays of its own, ready to be called."""
    spec = Spec.of(shape, resolve(dtype))
    plan = REGISTRY[name].of().plan((spec,) * inputs)
    ones = [np.ones(shape, spec.dtype) for _ in range(inputs)]
    outs = [np.zeros(out.shape, out.dtype) for out in plan.outs]
    return lambda: plan.kernel(*ones, *outs)


def _times(run: Callable[[], object], canceled: Callable[[], bool]) -> Sequence[float]:
    """Seconds of several runs, after one that does not count."""
    took: list[float] = []
    end = 0.0
    while len(took) < RUNS and (not took or perf_counter() < end):
        if canceled():
            raise ProfilerError("The measurement of this machine was canceled.")
        begun = perf_counter()
        run()
        now = perf_counter()
        if end:
            took.append(now - begun)
        end = end or now + PATIENCE
    return took

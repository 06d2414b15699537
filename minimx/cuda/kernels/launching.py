"""How kernels are put on a CUDA device.

    @kernel                a function of one CUDA thread
    @inner                 a function that kernels call
    run(k, n, *args)       as many threads as `n` pieces of work can use
    over(k, n, arrays, …)  the same for a kernel `(*flat arrays, n, …)`
    by_teams(k, g, t, …)   a block of `t` threads for each of `g` groups

A kernel goes through its work in strides of the whole grid, `cuda.grid(1)` and then
every `cuda.gridsize(1)`-th piece, so any number of blocks and threads gives the same
answer: many on a device, two threads in numba's simulator, where each is one of
Python's.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numba import config, types
from numba import cuda as numba_cuda
from numba.np.numpy_support import as_dtype

from minimx.core.drivers import copies
from minimx.cuda import toolkit
from minimx.cuda.kernels import packed

#: Threads of a block on a device, and blocks at most: enough to hide the latency of
#: memory on every device there is.
THREADS, MOST_BLOCKS = 256, 1 << 16
#: Blocks and threads in the simulator; tests choose others.
SIMULATED_GRID = [1, 2]

SIMULATED = toolkit.simulated()

# numba does not say what these modules have.
cuda: Any = numba_cuda
_config: Any = config
# Small arrays are no mistake here: a launch with few blocks need not be warned of.
_config.CUDA_LOW_OCCUPANCY_WARNINGS = 0


def _shared_once(array: Callable[..., Any]) -> Callable[..., Any]:
    """The simulator's `shared.array`, with one memory for all threads of a block.

    numba's own looks whether another thread has made it and then makes it: two that
    look at once get memory of their own each, and never see the other's numbers.
    """

    def agreed(shared: Any, shape: Any, dtype: Any, alignment: int = 0) -> Any:
        caller = sys._getframe(1)
        line = caller.f_code, caller.f_lineno
        if shape == 0:  # as much as the launch brought with it
            return array(shared, shape, dtype)
        kind = as_dtype(dtype) if isinstance(dtype, types.Type) else dtype
        return shared._allocations.setdefault(line, np.empty(shape, kind))

    return agreed


if SIMULATED:
    # Where a GPU divides by 0 in silence, NumPy, which plays it, would warn.
    warnings.filterwarnings(
        "ignore", category=RuntimeWarning, module=r"minimx[._](kernels\.cuda|pointwise)"
    )
    from numba.cuda.simulator.kernelapi import FakeCUDAShared

    played: Any = FakeCUDAShared
    played.array = _shared_once(played.array)


def kernel(function: Callable[..., None], registers: int | None = None) -> Any:
    """Declare what one CUDA thread does: a function that returns nothing.

    numba compiles it for the element types of the first launch with them; what it
    cannot compile is an error then. registers: how many a thread has at most.
    """
    if registers is None or SIMULATED:
        return cuda.jit(function)
    return cuda.jit(max_registers=registers)(function)


def inner(function: Callable[..., Any]) -> Any:
    """Declare a function that kernels call; inlined there.

    The simulator calls it as it is, and finds CUDA's barriers and atomic operations
    only in functions of the kernel's own file.
    """
    return function if SIMULATED else cuda.jit(device=True, inline=True)(function)


def geometry(n: int) -> tuple[int, int]:
    """Blocks and threads of a block for `n` pieces of work: enough, but not too many.

    In the simulator what `SIMULATED_GRID` says.

    >>> blocks, threads = geometry(10**9)
    >>> blocks * threads > 1
    True
    """
    if SIMULATED:
        return SIMULATED_GRID[0], SIMULATED_GRID[1]
    return min(-(-n // THREADS), MOST_BLOCKS), THREADS


def run(function: Any, n: int, *args: Any) -> None:
    """Launch a kernel over `n` pieces of work, into the stream of this thread.

    args: contiguous device arrays, which the kernel sees with one axis; numbers; tuples
    of numbers. Does not wait; nothing is launched for n = 0. Only inside `working` of a
    device, as all launches.
    """
    if n > 0:
        packed.launch(function, *geometry(n), *args)


def flat(*arrays: Any) -> list[Any]:
    """The arrays with one axis; no copies."""
    return [array.reshape(-1) for array in arrays]


def over(function: Any, n: int, arrays: Iterable[Any], *args: Any) -> None:
    """Launch a kernel `(*arrays, n, *args)` over n pieces of work; see `run`.

    arrays: contiguous device arrays of any shape; the kernel sees them with one axis.
    """
    run(function, n, *arrays, n, *args)


def by_teams(function: Any, groups: int, team: int, *args: Any) -> None:
    """Launch a kernel in which a block of `team` threads shares each of the groups.

    There may be fewer blocks than groups: a block takes every `cuda.gridDim.x`-th.
    """
    blocks = min(groups, 2 if SIMULATED else MOST_BLOCKS)
    packed.launch(function, blocks, team, *args)


def duplicate(x: Any, out: Any) -> None:
    """Copy a device array into another one of as many elements; not onto itself."""
    if address(x) != address(out):
        copies.copyto(out.reshape(-1), x.reshape(-1))


def address(array: Any) -> int:
    """The address at which the memory of a device array begins."""
    device = getattr(array, "__cuda_array_interface__", None)
    return int((device or array.__array_interface__)["data"][0])

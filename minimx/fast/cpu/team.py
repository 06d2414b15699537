"""Every thread of a kernel asks the operating system about itself, or binds itself.

masks: (threads, bytes) uint8, a bit for each processor; thread i has row i. failed:
(threads,) int64, set to what the C library returned.
"""

from __future__ import annotations

from typing import Any

from numba import prange, types

from minimx.core.kernels.threads import jit

_SIGNATURE = types.int32(types.int32, types.uintp, types.uintp)
_get: Any = types.ExternalFunction("sched_getaffinity", _SIGNATURE)
_set: Any = types.ExternalFunction("sched_setaffinity", _SIGNATURE)


@jit(parallel=True)
def ask(masks: Any, failed: Any) -> None:
    """Each thread writes where it may run."""
    for i in prange(len(failed)):
        failed[i] = _get(0, masks.shape[1], masks.ctypes.data + i * masks.shape[1])


@jit(parallel=True)
def bind(masks: Any, failed: Any) -> None:
    """Each thread stays where its mask says from now on."""
    for i in prange(len(failed)):
        failed[i] = _set(0, masks.shape[1], masks.ctypes.data + i * masks.shape[1])

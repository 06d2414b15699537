"""Every thread of a kernel asks the operating system about itself, or binds itself.

masks: (threads, bytes) uint8, a bit for each processor; thread i has row i. failed:
(threads,) int64, set to what the C library returned.
"""

from __future__ import annotations

from typing import Any

from numba import types

from minimx.core.kernels.threads import jit

_SIGNATURE = types.int32(types.int32, types.uintp, types.uintp)
_get: Any = types.ExternalFunction("sched_getaffinity", _SIGNATURE)
_set: Any = types.ExternalFunction("sched_setaffinity", _SIGNATURE)


@jit(parallel=True)
def ask(part: Any, masks: Any, failed: Any) -> None:
    """Each thread writes where it may run."""
    i, width = part[0], masks.shape[1]
    failed[i] = _get(0, width, masks.ctypes.data + i * width)


@jit(parallel=True)
def bind(part: Any, masks: Any, failed: Any) -> None:
    """Each thread stays where its mask says from now on."""
    i, width = part[0], masks.shape[1]
    failed[i] = _set(0, width, masks.ctypes.data + i * width)

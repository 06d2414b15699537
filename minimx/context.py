"""`mx.context`: devices, as MXNet 1 calls them, and what is known about GPUs.

MXNet 2 says `mx.device`; the front door exports this module under both names.
"""

from __future__ import annotations

from minimx.core import storage
from minimx.core.device import (
    Context,
    Device,
    cpu,
    cpu_pinned,
    cpu_shared,
    current_context,
    current_device,
    gpu,
)
from minimx.core.drivers import num_gpus

__all__ = [
    "Context",
    "Device",
    "cpu",
    "cpu_pinned",
    "cpu_shared",
    "current_context",
    "current_device",
    "gpu",
    "gpu_memory_info",
    "num_gpus",
]


def gpu_memory_info(device_id: int = 0) -> tuple[int, int]:
    """The (free, total) bytes of a GPU, as its driver sees them.

    Idle blocks in the pool count as used: the driver cannot tell them from arrays.
    Raises `DeviceError` for a GPU that does not exist.

    >>> free, total = gpu_memory_info(0)
    >>> 0 <= free <= total
    True
    """
    return storage.device_memory_info(gpu(device_id))

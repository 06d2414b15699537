"""What tests run on when they do not say: the device, the element type."""

from __future__ import annotations

from typing import Any

import numpy as np

from minimx.core.device import Device, DeviceLike, current_device, set_default_device
from minimx.core.drivers import num_gpus
from minimx.runtime import Features

__all__ = [
    "default_context",
    "default_device",
    "default_dtype",
    "has_tvm_ops",
    "is_op_runnable",
    "list_gpus",
    "set_default_context",
    "set_default_device",
]


def default_context() -> Device:
    """The device on which this thread makes arrays if none is given."""
    return current_device()


default_device = default_context


def set_default_context(ctx: DeviceLike) -> None:
    """Make arrays on another device from now on, in this thread, if none is given."""
    set_default_device(ctx)


def default_dtype() -> Any:
    """The element type of test data: float32, as in MXNet."""
    return np.float32


def list_gpus() -> range:
    """The numbers of the GPUs that there are, simulated ones included."""
    return range(num_gpus())


def has_tvm_ops() -> bool:
    """Whether there are operators compiled with TVM: never."""
    return Features().is_enabled("TVM_OP")


def is_op_runnable() -> bool:
    """Whether all operators run on the current device; MXNet knew exceptions."""
    return True

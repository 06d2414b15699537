"""Which devices this machine has, and the driver of each."""

from __future__ import annotations

import threading
from typing import Any

from minimx.device import Device
from minimx.drivers import machine
from minimx.drivers.base import Bytes, Costs, DeviceFull, Driver, Region
from minimx.drivers.host import HostDriver
from minimx.drivers.links import hops, place
from minimx.drivers.machine import Passage, link_between, passage
from minimx.drivers.shared import SharedDriver
from minimx.drivers.simulated import SimulatedGPU
from minimx.errors import DeviceError
from minimx.knobs import knobs

__all__ = [
    "Bytes",
    "Costs",
    "DeviceFull",
    "Driver",
    "Passage",
    "Region",
    "driver_for",
    "forget",
    "hops",
    "link_between",
    "num_gpus",
    "opened",
    "passage",
    "place",
]

_drivers: dict[Device, Driver] = {}
_lock = threading.Lock()


def num_gpus() -> int:
    """How many `gpu(i)` can be used, simulated ones included.

    Examples
    --------
    >>> import minimx as mx
    >>> mx.num_gpus() >= 0
    True
    """
    return int(knobs.get("MINIMX_SIM_GPUS"))


def driver_for(device: Device) -> Driver:
    """The driver of a device, opened at first use.

    Raises `DeviceError` for a GPU that does not exist.
    """
    found = _drivers.get(device)
    if found is None:
        with _lock:
            found = _drivers.get(device)
            if found is None:
                found = _drivers[device] = _open(device)
    return found


def opened() -> list[Driver]:
    """The drivers opened so far."""
    return list(_drivers.values())


def forget(device: Device) -> None:
    """Give up a device's driver; the next use opens it anew. Nothing may be lent."""
    with _lock:
        _drivers.pop(device, None)


def _open(device: Device) -> Driver:
    if device.device_type == "gpu":
        count = num_gpus()
        if device.device_id >= count:
            raise DeviceError(_no_such_gpu(device, count))
        return machine.open_gpu(device)
    if device.device_type == "cpu_shared":
        return SharedDriver(device)
    return HostDriver(device)


def _no_such_gpu(device: Device, count: int) -> str:
    there = {0: "no GPU", 1: "only gpu(0)"}.get(count, f"gpu(0) to gpu({count - 1})")
    return (
        f"{device} does not exist; there is {there}. Use one that exists, or set "
        f"MINIMX_SIM_GPUS={device.device_id + 1} for more simulated GPUs."
    )


def _described_anew(name: str, new: Any, old: Any) -> None:
    """A knob of the simulated machine was turned."""
    for driver in opened():
        if isinstance(driver, SimulatedGPU):
            machine.describe(driver)


knobs.watch(
    (
        *machine.COST_KNOBS,
        "MINIMX_SIM_GPUS",
        "MINIMX_SIM_LINKS",
        "MXNET_ENABLE_GPU_P2P",
    ),
    _described_anew,
)

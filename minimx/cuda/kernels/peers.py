"""Which CUDA devices read each other's memory, so that copies go directly."""

from __future__ import annotations

from ctypes import byref, c_int, c_uint, c_void_p
from typing import Final

from minimx.core.device import Device
from minimx.core.drivers import working
from minimx.core.drivers.links import PCIE, Link
from minimx.core.knobs import knobs
from minimx.cuda.kernels import native

# Another library enabled it before: CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED.
ALREADY: Final = 704

_known: dict[tuple[Device, Device], bool] = {}


def link(source: Device, target: Device) -> Link | None:
    """The link over which two devices copy directly; None if they cannot or may not.

    CUDA says that there is one, but not of what kind.
    """
    if source is target or not knobs.get("MXNET_ENABLE_GPU_P2P"):
        return None
    return PCIE if reaches(target, source) else None


def reaches(reader: Device, owner: Device) -> bool:
    """Whether a device copies from another directly; lets it from now on.

    Raises `DeviceError`.
    """
    pair = reader, owner
    if pair not in _known:
        driver = native.driver()
        if driver is None:
            return True  # in the simulator all memory is the host's
        with working(reader):
            _known[pair] = _opened(driver, reader.device_id, owner.device_id)
    return _known[pair]


def _opened(driver: native.Native, reader: int, owner: int) -> bool:
    mine, its, can = c_int(), c_int(), c_int()
    driver.call("cuDeviceGet", byref(mine), c_int(reader))
    driver.call("cuDeviceGet", byref(its), c_int(owner))
    driver.call("cuDeviceCanAccessPeer", byref(can), mine, its)
    if can.value:
        context = c_void_p()  # the one that every library of this process shares
        driver.call("cuDevicePrimaryCtxRetain", byref(context), its)
        driver.call("cuCtxEnablePeerAccess", context, c_uint(0), fine=ALREADY)
    return bool(can.value)

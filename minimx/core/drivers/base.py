"""What a device must be able to do for the pools: allocate memory and free it.

A driver is `cudaMalloc` and `cudaFree` of one device, real or simulated: it knows how
many bytes there are and which are allocated, and keeps nothing for later, as pools do.
Drivers are not thread-safe: the pool in front of each holds a lock whenever it calls.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from minimx.core.device import Device
from minimx.core.errors import MXNetError

Bytes = npt.NDArray[np.uint8]

# Every region starts at a multiple of this: one cache line, the widest vector register.
ALIGNMENT = 64


class DeviceFull(MXNetError):
    """The driver has no free range of the size asked for.

    Pools catch it, give their caches back and try again; users see `OutOfMemory`.
    """


@dataclass(frozen=True)
class Costs:
    """What work costs on a device, for the virtual clock.

    launch_ns: nanoseconds before an operation starts. flops: floating-point operations
    per second. memory_bandwidth: bytes per second between its processors and its
    memory. host_bandwidth: bytes per second between it and the host.
    series_launch_ns: nanoseconds before a recorded series of operations starts.
    driver_call_ns: nanoseconds that its driver takes to allocate or to free.
    link_speed: which part of what a link between devices carries it can use.
    tensor_flops: floating-point operations per second of its units that multiply
    matrices of float16; 0 where there are none.
    """

    launch_ns: int
    flops: float
    memory_bandwidth: float
    host_bandwidth: float
    series_launch_ns: int = 10_000
    driver_call_ns: int = 0
    link_speed: float = 1.0
    tensor_flops: float = 0.0

    def run_ns(
        self, flops: float, bytes_moved: float, tensor_cores: bool = False
    ) -> int:
        """How long an operation takes, by the roofline model.

        tensor_cores: on the units that multiply matrices, if there are some. First
        comes the launch, then the slower of arithmetic and memory traffic.

        >>> Costs(1000, 1e9, 1e9, 1e9).run_ns(flops=500, bytes_moved=200)
        1500
        """
        rate = (self.tensor_flops if tensor_cores else 0) or self.flops
        busy = max(flops / rate, bytes_moved / self.memory_bandwidth)
        return self.launch_ns + round(busy * 1e9)

    def copy_ns(self, nbytes: float) -> int:
        """How long a copy to or from the host takes."""
        return self.launch_ns + round(nbytes / self.host_bandwidth * 1e9)


class Region:
    """A range of a device's memory.

    data: its bytes as a flat uint8 array, or what stands for it on a CUDA device
    (drivers/cuda.py). address: where it starts, in bytes.
    nbytes: how many were asked for; the driver may have set more aside.
    """

    __slots__ = ("address", "data", "nbytes")

    def __init__(self, data: Any, address: int, nbytes: int) -> None:
        self.data = data
        self.address = address
        self.nbytes = nbytes


class Driver(ABC):
    """The memory of one device.

    `calls` counts allocations, `used` bytes in use. `busy_ns` is what its calls took so
    far, by the costs that it declares.
    """

    device: Device
    costs: Costs
    simulated = False
    #: Whose kernels work on this memory.
    backend = "cpu"

    def __init__(self, device: Device) -> None:
        self.device = device
        self.calls = 0
        self.used = 0
        self.busy_ns = 0

    @property
    @abstractmethod
    def total_bytes(self) -> int:
        """The size of the device's memory."""

    @property
    @abstractmethod
    def free_bytes(self) -> int:
        """How much of it is free; what other programs use is not."""

    @property
    def largest_free(self) -> int:
        """The largest request that could be met now."""
        return self.free_bytes

    @abstractmethod
    def alloc(self, nbytes: int) -> Region:
        """Allocate `nbytes` (at least 1). Raises `DeviceFull`."""

    @abstractmethod
    def free(self, region: Region) -> None:
        """Free a region that `alloc` gave."""

    @abstractmethod
    def keep_only(self, regions: Iterable[Region]) -> None:
        """Take back everything but these: what a call that was broken off has left."""


def shaped(memory: Any, shape: tuple[int, ...], dtype: Any, offset: int) -> Any:
    """An array over some bytes of a region: NumPy's, or of the kind that CUDA has.

    memory: a flat uint8 array or CUDA's memory; offset: in bytes. Nothing is copied.
    """
    if isinstance(memory, np.ndarray):
        return np.ndarray(shape, dtype, memory, offset)
    return memory.shaped(shape, dtype, offset)


def aligned_bytes(nbytes: int) -> Bytes:
    """Fresh host memory, `nbytes` long, that starts at a multiple of `ALIGNMENT`.

    Raises `DeviceFull` if the operating system refuses.
    """
    try:
        raw = np.empty(nbytes + ALIGNMENT, np.uint8)
    except MemoryError:
        raise DeviceFull(f"the operating system refused {nbytes:,} bytes.") from None
    skip = -address_of(raw) % ALIGNMENT
    return raw[skip : skip + nbytes]


def address_of(array: npt.NDArray[Any]) -> int:
    """Where an array's bytes start in this process."""
    return int(array.__array_interface__["data"][0])

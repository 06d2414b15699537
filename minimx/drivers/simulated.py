"""A make-believe GPU: a limited arena of host memory with an allocator of its own.

It has what makes a GPU's memory interesting: it is small, it is separate (arrays must
be copied to it), and its address space fragments. Its kernels are the CPU kernels, so
its speed says nothing; on the virtual clock it costs what it declares.
"""

from __future__ import annotations

from minimx.device import Device
from minimx.drivers.addressed import GRAIN, AddressedDriver
from minimx.drivers.base import Bytes, aligned_bytes


class SimulatedGPU(AddressedDriver):
    """`capacity` bytes of pretended GPU memory.

    The arena is reserved at once and costs real memory only where it was written to.
    """

    def __init__(self, device: Device, capacity: int) -> None:
        super().__init__(device, capacity, GRAIN)
        self._arena = aligned_bytes(self.space.size)

    def _bytes(self, start: int, nbytes: int) -> Bytes:
        return self._arena[start : start + nbytes]

    def __repr__(self) -> str:
        c = self.costs
        return (
            f"<{self.device}: simulated GPU, {self.total_bytes / 2**20:,g} MiB in "
            f"grains of {GRAIN} bytes; on the virtual clock {c.launch_ns / 1e3:g} µs a "
            f"launch, {c.flops / 1e12:g} TFLOP/s, {c.memory_bandwidth / 1e9:g} GB/s to "
            f"its memory, {c.host_bandwidth / 1e9:g} GB/s to the host; on the wall "
            "clock as fast as the CPU that plays it>"
        )

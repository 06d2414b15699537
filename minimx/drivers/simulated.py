"""A make-believe GPU: a limited arena of host memory with an allocator of its own.

It has what makes a GPU's memory interesting: it is small, it is separate (arrays must
be copied to it), and its address space fragments. Its kernels are the CPU kernels, so
its speed says nothing; on the virtual clock it costs what it declares.
"""

from __future__ import annotations

from minimx.device import Device
from minimx.drivers.addressed import GRAIN, AddressedDriver
from minimx.drivers.base import Bytes, aligned_bytes
from minimx.drivers.cards import GENERIC, Card


class SimulatedGPU(AddressedDriver):
    """`capacity` bytes of pretended GPU memory, on a card that costs what it declares.

    The arena is reserved at once and costs real memory only where it was written to.
    """

    def __init__(
        self, device: Device, capacity: int, card: Card = GENERIC, link: str = ""
    ) -> None:
        """`link` says in words what joins it to the next GPU."""
        super().__init__(device, capacity, GRAIN)
        self.card = card
        self.costs = card.costs
        self.link = link
        self._arena = aligned_bytes(self.space.size)

    def _bytes(self, start: int, nbytes: int) -> Bytes:
        return self._arena[start : start + nbytes]

    def __repr__(self) -> str:
        c = self.costs
        card = "" if self.card is GENERIC else f" {self.card.name}"
        call = f", {c.driver_call_ns / 1e3:g} µs a driver call" * (c.driver_call_ns > 0)
        matrices = f"{c.tensor_flops / 1e12:g} on tensor cores, " * (c.tensor_flops > 0)
        link = f", {self.link} to the next GPU" if self.link else ""
        return (
            f"<{self.device}: simulated GPU{card}, {self.total_bytes / 2**20:,g} MiB "
            f"in grains of {GRAIN} bytes; on the virtual clock "
            f"{c.launch_ns / 1e3:g} µs a launch{call}, {c.flops / 1e12:g} TFLOP/s, "
            f"{matrices}"
            f"{c.memory_bandwidth / 1e9:g} GB/s to its memory, "
            f"{c.host_bandwidth / 1e9:g} GB/s to the host{link}; on the wall clock as "
            "fast as the CPU that plays it>"
        )

"""What lies between GPUs: links, how they are laid out, and the way that a copy takes.

A GPU hangs on the host by PCI Express, and may be joined to others by NVLink. A layout
says which pairs are joined by what; `weights` gives it as MXNet's matrix, from which a
kvstore plans its trees.

A link is made of wires, one for each direction, and a wire carries one copy at a time.
Copies between two GPUs on PCI Express use the wires to the host, too: there is only one
plug on a card.

This is pure: names and numbers in, names and numbers out. Which layout holds and
whether GPUs may talk to each other at all is for knobs to say (`drivers/__init__.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from minimx.core.device import Device, cpu_pinned

HOST: Final = "host"  # how wires and records call the memory of the host


@dataclass(frozen=True)
class Link:
    """What joins two GPUs.

    bandwidth: bytes per second in each direction. weight: what MXNet's matrix says, 1
    for PCI Express and one more for each NVLink.
    """

    name: str
    bandwidth: float
    weight: int

    def __repr__(self) -> str:
        return f"{self.name}, {self.bandwidth / 1e9:g} GB/s"


# What is left of 16 lanes of PCI Express 3 and of NVLink 2 in a measurement.
PCIE: Final = Link("PCIe", 12e9, 1)
NVLINK: Final = Link("NVLink", 23e9, 2)
TWO_NVLINKS: Final = Link("2 NVLinks", 46e9, 3)
SIX_NVLINKS: Final = Link("6 NVLinks", 138e9, 7)

# Which of eight V100 are joined by how many NVLinks in Amazon's p3.16xlarge and in
# NVIDIA's DGX-1, in MXNet's weights; 0 has PCI Express only.
_MESH = (
    (0, 2, 2, 3, 3, 0, 0, 0),
    (2, 0, 3, 2, 0, 3, 0, 0),
    (2, 3, 0, 3, 0, 0, 2, 0),
    (3, 2, 3, 0, 0, 0, 0, 2),
    (3, 0, 0, 0, 0, 2, 2, 3),
    (0, 3, 0, 0, 2, 0, 3, 2),
    (0, 0, 2, 0, 2, 3, 0, 3),
    (0, 0, 0, 2, 3, 2, 3, 0),
)
_BY_WEIGHT = {2: NVLINK, 3: TWO_NVLINKS}

#: What joins two different GPUs directly, or None if a copy must go through the host.
Layout = Callable[[int, int], Link | None]


def pcie(a: int, b: int) -> Link | None:
    """One switch of PCI Express for all GPUs, which so reach each other directly.

    a, b: numbers of two GPUs, as in all layouts.
    """
    return PCIE


def sockets(a: int, b: int) -> Link | None:
    """Four GPUs on the switch of each processor; copies to others go through the host.

    a, b: numbers of two GPUs; 0 to 3 are on the first switch.
    """
    return PCIE if a // 4 == b // 4 else None


def mesh(a: int, b: int) -> Link | None:
    """NVLinks as in a DGX-1 with V100, in groups of eight; PCI Express elsewhere.

    a, b: numbers of the GPUs. Two links, one, or none (PCI Express) join two of a
    group; between groups copies go through the host.
    """
    if a // 8 != b // 8:
        return None
    return _BY_WEIGHT.get(_MESH[a % 8][b % 8], PCIE)


def nvswitch(a: int, b: int) -> Link | None:
    """Every GPU reaches every other over all its six NVLinks, as in a DGX-2.

    a, b: numbers of two GPUs.
    """
    return SIX_NVLINKS


LAYOUTS: Final[dict[str, Layout]] = {
    "pcie": pcie,
    "sockets": sockets,
    "mesh": mesh,
    "nvswitch": nvswitch,
}


def weights(layout: Layout, count: int) -> tuple[tuple[int, ...], ...]:
    """MXNet's matrix of links: 0 on the diagonal, 1 for PCI Express, more for NVLink.

    >>> weights(mesh, 4)
    ((0, 2, 2, 3), (2, 0, 3, 2), (2, 3, 0, 3), (3, 2, 3, 0))
    """
    return tuple(
        tuple(0 if a == b else getattr(layout(a, b), "weight", 1) for b in range(count))
        for a in range(count)
    )


def hops(source: Device, target: Device, link: Link | None) -> list[Hop]:
    """The copies that bring numbers from one device to another.

    One, or two with a stop in pinned memory: between GPUs that no link joins.

    >>> from minimx.core.device import gpu
    >>> hops(gpu(0), gpu(1), PCIE)
    [(gpu(0), gpu(1))]
    >>> hops(gpu(0), gpu(1), None)
    [(gpu(0), cpu_pinned(0)), (cpu_pinned(0), gpu(1))]
    """
    between = source.device_type == target.device_type == "gpu"
    if between and source is not target and link is None:
        stop = cpu_pinned()
        return [(source, stop), (stop, target)]
    return [(source, target)]


def wires(source: Device, target: Device, link: Link | None) -> tuple[str, ...]:
    """The wires that a single copy keeps busy; none inside one device.

    >>> from minimx.core.device import cpu, gpu
    >>> wires(cpu(), gpu(0), None), wires(gpu(1), gpu(0), NVLINK)
    (('host → gpu(0)',), ('gpu(1) → gpu(0)',))
    >>> wires(gpu(1), gpu(0), PCIE)
    ('gpu(1) → host', 'host → gpu(0)')
    """
    start, end = place(source), place(target)
    if start == end:
        return ()
    if HOST in (start, end) or (link is not None and link.weight > PCIE.weight):
        return (f"{start} → {end}",)
    return (f"{start} → {HOST}", f"{HOST} → {end}")


def place(device: Device) -> str:
    """Where a device's memory is: in a GPU, or in the host.

    >>> place(cpu_pinned(1))
    'host'
    """
    return str(device) if device.device_type == "gpu" else HOST


Hop = tuple[Device, Device]

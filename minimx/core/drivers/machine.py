"""The simulated machine: which cards it has and how they are joined, by its knobs.

What the knobs leave open is as the card has it. `MINIMX_SIM_GPU_PRESET=V100` brings
16 GiB and the costs of that card; `MINIMX_SIM_LAUNCH=20` beside it changes one of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final

from minimx.core.device import Device
from minimx.core.drivers import links
from minimx.core.drivers.base import Costs, DeviceFull, Driver
from minimx.core.drivers.cards import CARDS, Card
from minimx.core.drivers.links import Link
from minimx.core.errors import DeviceError
from minimx.core.extensions import provided
from minimx.core.knobs import knobs

Get = Callable[[str], Any]

# Knob of a cost -> the field of `Costs`, and how much of the field one unit is.
_COSTS: Final = {
    "MINIMX_SIM_LAUNCH": ("launch_ns", 1e3),
    "MINIMX_SIM_DRIVER_CALL": ("driver_call_ns", 1e3),
    "MINIMX_SIM_HOST_BANDWIDTH": ("host_bandwidth", 1e9),
}
COST_KNOBS: Final = tuple(_COSTS)
MEMORY_KNOBS: Final = ("MINIMX_SIM_GPU_PRESET", "MINIMX_SIM_GPU_MEMORY")


def card(get: Get = knobs.get, is_set: Callable[[str], bool] = knobs.is_set) -> Card:
    """The kind of card that simulated GPUs are, as the knobs have it.

    get, is_set: read a knob; a replay reads those of a recorded run.
    """
    chosen = CARDS[get("MINIMX_SIM_GPU_PRESET")]
    memory, costs = chosen.memory, chosen.costs
    if is_set("MINIMX_SIM_GPU_MEMORY"):
        memory = int(get("MINIMX_SIM_GPU_MEMORY"))
    for knob, (field, unit) in _COSTS.items():
        if is_set(knob):
            amount = get(knob) * unit
            if field.endswith("_ns"):
                amount = round(amount)
            costs = replace(costs, **{field: amount})
    same = (memory, costs) == (chosen.memory, chosen.costs)
    return chosen if same else Card(chosen.name, memory, costs)


def link_between(source: Device, target: Device, get: Get = knobs.get) -> Link | None:
    """The link over which two GPUs copy directly; None if they cannot or may not.

    MXNET_ENABLE_GPU_P2P allows it, MINIMX_SIM_LINKS says which links there are. get:
    reads a knob, as for `card`.
    """
    if source is target or not get("MXNET_ENABLE_GPU_P2P"):
        return None
    layout = links.LAYOUTS[get("MINIMX_SIM_LINKS")]
    return layout(source.device_id, target.device_id)


def open_gpu(device: Device) -> Driver:
    """A simulated GPU. Raises `DeviceError` if the host cannot reserve its memory.

    Where nothing says how much that is, it is halved until the host can.
    """
    mine = card()
    memory_is_set = any(map(knobs.is_set, MEMORY_KNOBS))
    try:
        gpu: Driver = provided("simulated GPUs").SimulatedGPU(
            device, mine.memory, mine, halve=not memory_is_set
        )
    except DeviceFull:
        raise DeviceError(
            f"{device}: this machine cannot reserve the {mine.memory:,} bytes that "
            f"{' and '.join(MEMORY_KNOBS)} ask for. Choose less."
        ) from None
    describe(gpu)
    return gpu


def describe(gpu: Any) -> None:
    """Let a GPU have the costs and the links that the knobs say now."""
    gpu.card = card()
    gpu.costs = gpu.card.costs
    count = int(knobs.get("MINIMX_SIM_GPUS"))
    neighbour = Device("gpu", (gpu.device.device_id + 1) % max(count, 1))
    gpu.link = ""
    if neighbour is not gpu.device:
        link = link_between(gpu.device, neighbour)
        speed = f"{_speed(link or links.PCIE, gpu.costs) / 1e9:g} GB/s"
        gpu.link = f"{link.name}, {speed}" if link else f"through the host, {speed}"


@dataclass(frozen=True)
class Passage:
    """How a single copy goes: the wires that it keeps busy, and for how long."""

    wires: tuple[str, ...]
    ns: int


def passage(
    source: Device, target: Device, costs: Costs, nbytes: int, get: Get = knobs.get
) -> Passage:
    """How a copy of so many bytes goes: its wires, and its time in nanoseconds.

    costs: those of a GPU at one of the ends. Two GPUs without a link copy through the
    host; inside a device every byte is read and written. get: as for `card`.
    """
    link = None
    if source is target:
        speed = costs.memory_bandwidth / 2  # read there and written there
    else:
        if source.device_type == target.device_type == "gpu":
            link = link_between(source, target, get)
        speed = _speed(link or links.PCIE, costs)
    return Passage(
        links.wires(source, target, link), costs.launch_ns + round(nbytes / speed * 1e9)
    )


def _speed(link: Link, costs: Costs) -> float:
    """Bytes per second; over PCI Express as fast as to the host."""
    if link.weight == links.PCIE.weight:
        return costs.host_bandwidth
    return link.bandwidth * costs.link_speed

"""Where values meet, and where the optimizer runs: decisions, without any array.

Gradients of one parameter arrive from several devices and are added up in one place,
its *home*. With `local` that is the host. With `device` it is one of the devices, and
the parameters are dealt out so that no device adds more than its share.

>>> plan_homes({"big": 70, "small": 20, "other": 30}, ["gpu0", "gpu1"])
{'big': 'gpu0', 'other': 'gpu1', 'small': 'gpu1'}
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar

KeyT = TypeVar("KeyT")
DeviceT = TypeVar("DeviceT")

#: The stores within one process, and whether they add on the devices themselves.
ON_DEVICES = {
    "local": False,
    "local_update_cpu": False,
    "local_allreduce_cpu": False,
    "device": True,
    "local_allreduce_device": True,
    "nccl": True,
}
#: From so many elements in one array on, the host updates too slowly (MXNet's bound).
LARGE = 16 * 1024 * 1024


def plan_homes(
    sizes: Mapping[KeyT, int],
    devices: Sequence[DeviceT],
    decided: Mapping[KeyT, DeviceT] | None = None,
) -> dict[KeyT, DeviceT]:
    """A home for every key: largest first, each to the device with the least so far.

    decided: keys that have a home; they keep it where it is still among the devices,
        because an optimizer's state may live there.
    """
    load = dict.fromkeys(devices, 0)
    homes = {key: at for key, at in (decided or {}).items() if at in load}
    for key, home in homes.items():
        load[home] += sizes[key]
    waiting = [key for key in sizes if key not in homes]
    for key in sorted(waiting, key=lambda key: -sizes[key]):
        homes[key] = home = min(devices, key=load.__getitem__)
        load[home] += sizes[key]
    return homes


def needs_store(kind: str, devices: int) -> bool:
    """Whether gradients have to meet: on one device they are together already."""
    return devices > 1 or "dist" in kind or kind.lower() == "horovod"


def updates_on_store(kind: str, largest: int, knob: bool) -> bool:
    """Whether the optimizer runs where the gradients meet, if the user has not decided.

    largest: elements of the largest parameter. knob: MXNET_UPDATE_ON_KVSTORE.
    """
    return knob and not (kind == "local" and largest > LARGE)


def threads_of_sum(elements: int, bound: int, threads: int) -> int:
    """How many threads may add arrays on the host: one, unless they are large.

    bound, threads: MXNET_KVSTORE_BIGARRAY_BOUND and MXNET_KVSTORE_REDUCTION_NTHREADS.

    >>> threads_of_sum(999, bound=1000, threads=4), threads_of_sum(1000, 1000, 4)
    (1, 4)
    """
    return threads if elements >= bound else 1

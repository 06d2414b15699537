"""Memory: one pool per device, made at first use, tuned by its knobs while it works.

    block = pool_for(device).alloc(nbytes, owner)
    block.data                    # uint8, at least nbytes long
    block.free()                  # from any thread, also from __del__

All `cpu(i)` share one pool, as in MXNet. A knob that changes a pool's policy acts at
once (`_retune`, called through `knobs.watch` at the end of this file): idle blocks go
back to the device, blocks in use when they are freed.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial
from typing import Any

from minimx.core import drivers
from minimx.core.device import Device, DeviceLike, as_device
from minimx.core.errors import KnobBusy, KnobError
from minimx.core.extensions import provided
from minimx.core.knobs import knobs
from minimx.core.knobs.notices import warn
from minimx.core.storage.garbage import collect
from minimx.core.storage.policy import BYPASS, PREFIXES, Policy, from_knobs, knob_names
from minimx.core.storage.pool import Block, Pool, Usage
from minimx.core.storage.stats import Stats, human

__all__ = [
    "Block", "LeakCheck", "Policy", "Pool", "Stats", "Summary", "Usage",
    "before_rebuild", "categories", "check_leaks", "device_memory_info", "empty_cache",
    "human", "largest_owners", "pool_for", "pools", "register_pool", "reset_peaks",
    "stats", "summary",
]  # fmt: skip

log = logging.getLogger(__name__)


def __getattr__(name: str) -> Any:
    if name in ("LeakCheck", "Summary", "largest_owners"):
        return getattr(provided("memory reports"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


_pools: dict[Device, Pool] = {}
_outgrown: dict[Device, Pool] = {}  # to be rebuilt as soon as nothing lives there
_opening = threading.RLock()
_before_rebuild: list[Callable[[], object]] = []


def pool_for(device: Device) -> Pool:
    """The pool of a device. Raises `DeviceError` for a GPU that does not exist."""
    pool = _pools.get(device)
    return pool if pool is not None else _open(device)


def pools() -> list[Pool]:
    """The pools opened so far, one per device."""
    return list(dict.fromkeys((*_pools.values(), *_outgrown.values())))


def stats(device: Device) -> Stats:
    """The counters of a device's pool."""
    return pool_for(device).stats()


def reset_peaks(device: Device) -> None:
    """Start a device's peaks again from what is in use now."""
    pool_for(device).reset_peaks()


def _used(device: DeviceLike | None) -> list[Pool]:
    return pools() if device is None else [pool_for(as_device(device))]


def summary(device: DeviceLike | None = None, most: int = 5) -> Any:
    """What a device's pool holds and for whom; by default, of all that were used.

    most: how many owners to show for each. The result prints as tables, draws itself in
    a notebook, and gives its numbers as `summary()["gpu(0)"].stats`, `.categories` and
    `.owners`.
    """
    return provided("memory reports").Summary.of(_used(device), most)


def categories(device: Device) -> dict[str, Usage]:
    """The requested bytes of each category: (in use now, at most)."""
    return pool_for(device).categories()


def check_leaks(device: DeviceLike | None = None) -> AbstractContextManager[Any]:
    """Check that all memory is freed that a `with` block allocates.

    device: look at this one only. At the end of the block the operations in the
    background are waited for, and `MemoryLeak` is raised if arrays from inside are
    still in use; it says whose they are. Memory that a graph keeps between calls
    (`static_alloc`) counts, so run it once before.

    Examples
    --------
    >>> import minimx as mx
    >>> with mx.storage.check_leaks():
    ...     total = mx.nd.ones((3,)).sum().asscalar()
    """
    place = None if device is None else as_device(device)
    check: AbstractContextManager[Any]
    check = provided("memory reports").LeakCheck(partial(_used, place), _settle)
    return check


def empty_cache(device: Device) -> int:
    """Give a device's idle blocks back to it; returns how many bytes that was."""
    pool = _pools.get(device) or _outgrown.get(device)
    return pool.release_all() if pool is not None else 0


def register_pool(name: Any, policy: Any = None) -> Any:
    """Let MXNET_CPU_MEM_POOL_TYPE and its like take a class of yours, by name.

    It says how large a block is: `mx.policies.register_pool`. A call or a decorator.
    """
    return provided("policies").register_pool(name, policy)


def before_rebuild(finish: Callable[[], object]) -> None:
    """Have `finish()` called before a device is refused because arrays are on it.

    The engine lets operations in the background end, and with them the arrays that only
    they hold.
    """
    _before_rebuild.append(finish)


def device_memory_info(device: Device) -> tuple[int, int]:
    """(free, total) bytes as the driver sees them; idle blocks count as used."""
    found = pool_for(device).stats()
    return found.device_total - found.device_used, found.device_total


def _open(device: Device) -> Pool:
    with _opening:
        pool = _pools.get(device) or _still_used(device)
        if pool is None:
            if device.device_type.startswith("cpu") and device.device_id:
                pool = pool_for(Device(device.device_type, 0))  # one host, one memory
            else:
                policy = from_knobs(device.device_type, knobs.get)
                pool = Pool(drivers.driver_for(device), policy)
                _announce(pool)
            _pools[device] = pool
        return pool


def _still_used(device: Device) -> Pool | None:
    """The pool of a device that is to be rebuilt, while something lives there."""
    pool = _outgrown.get(device)
    if pool is None or pool.in_use():
        return pool
    _close({device: pool})
    return None


def _retune(name: str, new: Any, old: Any) -> None:
    """A pool's knob was turned: check all settings together, then decide by them."""
    policies = {kind: from_knobs(kind, knobs.get) for kind in _kinds(name)}
    for pool in pools():
        kind = pool.driver.device.device_type
        if kind in policies and pool.policy is not policies[kind]:
            pool.set_policy(policies[kind])
            _announce(pool)


def _announce(pool: Pool) -> None:
    """Say in the log, in MXNet's words, which manager a device has from now on."""
    kind = pool.driver.device.device_type
    name = f"Pooled ({pool.policy.name})" if pool.policy.keeps else "Unpooled"
    if kind in PREFIXES and knobs.get(BYPASS):
        name = "Naive"
    log.info("Using %s StorageManager for %s", name, kind.upper())


def _kinds(name: str) -> list[str]:
    """The types of device whose pools a knob belongs to."""
    return [kind for kind in PREFIXES if name == BYPASS or name in knob_names(kind)]


def _refit_gpus(name: str, new: Any, old: Any) -> None:
    """The number, size or kind of GPUs changed: let go of those it concerns.

    Raises `KnobBusy` while arrays live on one of them.
    """
    kept = int(new) if name == "MINIMX_SIM_GPUS" else 0

    def when_empty() -> None:
        with _opening:
            _outgrown.update(refused)
            for device in refused:
                _pools.pop(device, None)
            forget_others()

    def goes(device: Device) -> bool:
        return device.device_type == "gpu" and device.device_id >= kept

    def forget_others() -> None:
        for driver in drivers.opened():
            if goes(driver.device) and driver.device not in _outgrown:
                drivers.forget(driver.device)

    def concerned() -> dict[Device, Pool]:
        found = (*_pools.items(), *_outgrown.items())
        return {device: pool for device, pool in found if goes(device)}

    # Operations that were pushed may still have to open a pool there, for which they
    # need the lock, and the driver.
    if any(goes(driver.device) for driver in drivers.opened()):
        _settle()
    with _opening:
        refused = concerned()
        for pool in refused.values():
            _require_empty(pool, name, when_empty)
        _close(refused)
        forget_others()


def _close(concerned: dict[Device, Pool]) -> None:
    """Let go of devices with no block in use; their next use opens them anew."""
    for device, pool in concerned.items():
        pool.release_all()
        _pools.pop(device, None)
        _outgrown.pop(device, None)
        drivers.forget(device)


def _check_start_values() -> None:
    """Settings from the environment that contradict one another must not stop us."""
    for kind in PREFIXES:
        try:
            from_knobs(kind, knobs.get)
        except KnobError as contradiction:
            knobs.reset(*knob_names(kind))
            warn(f"{contradiction} The pool of {kind} starts with its defaults.")


def _settle() -> None:
    """Let operations in the background end; what hangs in cycles does not count."""
    for finish in _before_rebuild:
        finish()
    collect()


def _require_empty(pool: Pool, knob: str, later: Callable[[], object]) -> None:
    """Raise `KnobBusy` if arrays live in a pool."""
    if live := pool.in_use():
        size = human(sum(block.requested for block in live))
        raise KnobBusy(
            f"{knob}: arrays live on {pool.name} ({len(live):,}, {size} in all). Copy "
            "them to the CPU or delete them; then the device can be rebuilt.",
            later,
        )


def _before_fork() -> None:
    """Wait until every thread has finished what it does in a pool.

    A child then finds them whole, and no lock in the hands of a thread that it lacks.
    """
    _opening.acquire()
    for pool in pools():
        pool.lock.acquire()


def _after_fork() -> None:
    for pool in pools():
        pool.lock.release()
    _opening.release()


_check_start_values()
for _kind in PREFIXES:
    knobs.watch(knob_names(_kind), _retune)
knobs.watch(BYPASS, _retune)
knobs.watch(
    (
        "MINIMX_SIM_GPUS",
        "MINIMX_SIM_GPU_MEMORY",
        "MINIMX_SIM_GPU_PRESET",
        "MINIMX_CUDA",
    ),
    _refit_gpus,
)
Device.cache_emptier = empty_cache
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before_fork,
        after_in_parent=_after_fork,
        after_in_child=_after_fork,
    )

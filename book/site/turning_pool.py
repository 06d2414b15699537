"""A pool: the allocations and frees of a training, served again by another policy."""

from __future__ import annotations

from array import array
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

from minimx.core.device import Device
from minimx.core.drivers.counting import CountingDriver
from minimx.core.knobs import knobs
from minimx.core.replay import pool as replay
from minimx.core.replay.history import (
    ALLOC,
    CACHED,
    COLUMNS,
    FLUSH,
    FREE,
    HIT,
    LIVE,
    RELEASE,
    Steps,
)
from minimx.core.storage import Pool, human
from minimx.core.storage.policy import from_knobs

MEMORY = "MINIMX_SIM_GPU_MEMORY"
#: Points of a curve; of more, each is the largest of some.
POINTS = 240


def answer(data: Mapping[str, Any], turned: Mapping[str, Any]) -> dict[str, Any]:
    """Figures of the pool at the end, and bytes after each step of the program.

    data: `columns` of the program's steps, and `knobs` as they were recorded. turned:
    knobs of the pool, and the memory of the GPU.
    """
    checked = {name: knobs.declared[name].check(turned[name]) for name in turned}
    values = {**data["knobs"], **checked}
    policy = from_knobs("gpu", values.__getitem__)
    columns: Any = {key: array("q", found) for key, found in data["columns"].items()}
    steps = Steps(**columns)
    listener = replay.Listener()
    driver = CountingDriver(Device("gpu", 0), values[MEMORY])
    pool = Pool(driver, policy, bus=SimpleNamespace(recorder=listener))
    refused = len(replay.serve(steps, pool, listener, iter(())))
    stats = pool.stats()
    used, reserved = _curves(listener.numbers, len(steps))
    return {
        "figures": {
            "peak_reserved": [stats.peak_reserved, human(stats.peak_reserved)],
            "peak_requested": [stats.peak_requested, human(stats.peak_requested)],
            "n_malloc": [stats.n_malloc, f"{stats.n_malloc:,}"],
            "n_hit": [stats.n_hit, f"{stats.n_hit:,} ({stats.hit_rate:.0%})"],
            "n_flush": [stats.n_flush, f"{stats.n_flush:,}"],
            "refused": [refused, f"{refused:,}"],
        },
        "curves": {"in use": used, "reserved": reserved},
        "most": values[MEMORY],
    }


def _curves(numbers: list[int], steps: int) -> tuple[list[int], list[int]]:
    """Bytes of blocks in use, and bytes that the pool holds, over the steps.

    numbers: events, in the order of `COLUMNS`. As `in_use` and `reserved` of `History`,
    which need NumPy.
    """
    width, now = len(COLUMNS), [0, 0]
    most: tuple[list[int], list[int]] = ([0], [0])
    taken, given = (LIVE, CACHED, ALLOC), (RELEASE, FLUSH)
    for at in range(0, len(numbers), width):
        step, event, _, _, size, _ = numbers[at : at + width]
        _go_on(most, step, now)
        now[0] += size * ((event in (LIVE, ALLOC, HIT)) - (event == FREE))
        now[1] += size * ((event in taken) - (event in given))
        for curve, value in zip(most, now, strict=True):
            curve[step] = max(curve[step], value)
    _go_on(most, steps, now)
    many = -(-(steps + 1) // POINTS)
    starts = range(0, steps + 1, many)
    used, reserved = ([max(each[i : i + many]) for i in starts] for each in most)
    return used, reserved


def _go_on(curves: tuple[list[int], list[int]], step: int, now: list[int]) -> None:
    """Until a step nothing happens: curves stay where they are."""
    for curve, value in zip(curves, now, strict=True):
        curve += [value] * (step + 1 - len(curve))

"""What the program did to memory, in the order in which another engine would do it.

Under the engine of the record the order of requests stays as it was, which is exact.
Under another one each request goes along with the operation that made it, and a block
is freed when the last operation that used it is over and Python has let go of it. That
is an estimate: which arrays Python held at what time is not in a record.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from minimx.core.record import Record
from minimx.core.record.tables import Array
from minimx.core.replay import Steps
from minimx.experiments.operations import Operations, kept_with
from minimx.experiments.schedule import Schedule


def moments(steps: Steps, found: Schedule, device: str) -> Array:
    """When each step of a device happens, nanoseconds from the first push, (n,).

    The same array for the same schedule and device.
    """
    kept = kept_with(found)
    if device not in kept:
        mem = found.operations.record.mem()
        t = _new_times(steps, mem["op"][steps.row].tolist(), found.operations, found)
        began: dict[int, int] = {}
        for place, (kind, block) in enumerate(
            zip(steps.kind.tolist(), steps.block.tolist(), strict=True)
        ):
            if kind == 1:
                began[block] = t[place]
            elif kind < 0:
                t[place] = max(t[place], began.get(block, t[place]))
        kept[device] = np.asarray(t, np.int64)
    known: Array = kept[device]
    return known


def order(found: Schedule, when: Array) -> Any:
    """In which order steps happen under a schedule: their numbers, or all.

    when: the moments of the steps, (n,).
    """
    ran = np.asarray([bool(worker) for worker in found.workers], bool)
    if np.array_equal(
        np.argsort(found.start[ran], kind="stable"),
        np.argsort(found.operations.start[ran], kind="stable"),
    ):
        return slice(None)  # nothing runs in another order
    return np.argsort(when, kind="stable")


def moved(steps: Steps, places: Any) -> Steps:
    """The same steps in another order."""
    kept = ("row", "kind", "block", "requested")
    columns = {name: getattr(steps, name)[places] for name in kept}
    # Times stay those of the record: knobs that were turned are turned where they were.
    return replace(steps, t=np.sort(steps.t), **columns)


def _new_times(
    steps: Steps, ops: list[int], operations: Operations, found: Schedule
) -> list[int]:
    """When each step happens, in nanoseconds from the first push."""
    if not len(operations):
        return [0] * len(steps)
    origin = int(operations.rows["t_push"].min())
    place_of, users = operations.place_of, operations.after
    pushed = np.maximum.accumulate(operations.pushed).tolist()
    start, end = operations.start.tolist(), operations.end.tolist()
    new_push, new_start, new_end = (
        column.tolist() for column in (found.pushed, found.start, found.end)
    )
    # A joined operation holds what its parts use until it is over as a whole.
    let_go, new_let_go = end.copy(), new_end.copy()
    for place, joined in enumerate(operations.inside):
        if joined >= 0:
            let_go[place] = end[joined]
    for parts in found.joined:
        for place in parts:
            new_let_go[place] = new_end[parts[-1]]
    t = (steps.t - origin).tolist()
    last_push = (np.searchsorted(pushed, t, side="right") - 1).tolist()
    maker: dict[int, int] = {}  # by block: the operation that allocated it
    times = []
    for step, (kind, block, op) in enumerate(
        zip(steps.kind.tolist(), steps.block.tolist(), ops, strict=True)
    ):
        now, place = t[step], place_of.get(op, -1)
        if place >= 0:  # inside an operation
            passed = min(max(now - start[place], 0), end[place] - start[place])
            times.append(min(new_start[place] + passed, new_end[place]))
            if kind >= 0:
                maker[block] = place
            continue
        python = last_push[step]
        moment = now if python < 0 else new_push[python]
        made_by = maker.get(block, -1)
        if kind < 0 and made_by >= 0:
            using = [made_by, *users[made_by]]
            using = [each for each in using if let_go[each] <= now] or [made_by]
            last = max(using)
            moment = max(new_push[last], *(new_let_go[each] for each in using))
        times.append(moment)
    return times


def devices_of(record: Record) -> list[str]:
    """The devices whose memory a record knows, and on which something was in use."""
    mem, texts = record.mem(), record.strings
    used = [texts.index(name) for name in ("live", "alloc", "hit") if name in texts]
    mine = mem["device"][np.isin(mem["event"], used)]
    seen = {texts[number] for number in np.unique(mine).tolist()}
    return [name for name in record.conditions.devices if name in seen]

"""What the program did to memory, in the order in which another engine would do it.

Under the engine of the record the order of requests stays as it was, which is exact.
Under another one each request goes along with the operation that made it, and a block
is freed when the last operation that used it is over and Python has let go of it. That
is an estimate: which arrays Python held at what time is not in a record.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from minimx.core.record import Record
from minimx.core.record.tables import Array
from minimx.core.replay import Steps
from minimx.experiments.operations import Operations, kept_with, once
from minimx.experiments.schedule import Schedule


@dataclass(frozen=True, eq=False)
class _Origins:
    """What the moments of steps depend on, (n,) each by step.

    t: as recorded, from the first push on. place: the operation in which it happens, -1
    for what Python does. passed: nanoseconds since that one started. python: the last
    operation that Python had pushed, -1 for none. began: the step that allocated what
    it frees, else itself. let_go: frees that wait for operations; users: those, the
    last one pushed first, `firsts` says where those of a free begin.
    """

    t: Array
    place: Array
    passed: Array
    python: Array
    began: Array
    let_go: Array
    users: Array
    firsts: Array

    @classmethod
    def of(cls, steps: Steps, operations: Operations) -> _Origins:
        """Those of the steps of a device."""
        origin = int(operations.rows["t_push"].min())
        ops = operations.record.mem()["op"][steps.row].tolist()
        place_of, after = operations.place_of, operations.after
        place = np.asarray([place_of.get(op, -1) for op in ops], np.int64)
        t = steps.t - origin
        start, end = operations.start[place], operations.end[place]
        pushed = np.maximum.accumulate(operations.pushed)
        # A joined operation holds what its parts use until it is over as a whole.
        let_go = operations.end.copy()
        inside = np.asarray(operations.inside, np.int64)
        let_go[inside >= 0] = operations.end[inside[inside >= 0]]
        began = np.arange(len(t))
        made: dict[int, tuple[int, int]] = {}  # by block: the step, the operation
        frees, users, firsts = list[int](), list[int](), list[int]()
        rows = zip(
            steps.kind.tolist(), steps.block.tolist(), place.tolist(), strict=True
        )
        for step, (kind, block, here) in enumerate(rows):
            if kind == 1:
                made[block] = step, here
            elif kind < 0 and block in made:
                began[step], maker = made[block]
                if here < 0 <= maker:
                    using = [each for each in after[maker] if let_go[each] <= t[step]]
                    if not using or let_go[maker] <= t[step]:
                        using.append(maker)
                    frees.append(step)
                    firsts.append(len(users))
                    users += sorted(using, reverse=True)
        python = np.searchsorted(pushed, t, side="right") - 1
        passed = np.clip(t - start, 0, end - start)
        waiting = (np.asarray(each, np.int64) for each in (frees, users, firsts))
        return cls(t, place, passed, python, began, *waiting)


def moments(steps: Steps, found: Schedule, device: str) -> Array:
    """When each step of a device happens, nanoseconds from the first push, (n,).

    The same array for the same schedule and device.
    """
    if not len(found.operations):
        return np.zeros(len(steps), np.int64)
    kept, mine = kept_with(found), (device, len(steps))
    if mine not in kept:
        known = kept_with(found.operations)
        if mine not in known:
            known[mine] = _Origins.of(steps, found.operations)
        kept[mine] = _new_times(known[mine], found)
    when: Array = kept[mine]
    return when


def order(found: Schedule, when: Array) -> Any:
    """In which order steps happen under a schedule: their numbers, or all.

    when: the moments of the steps, (n,).
    """
    ran = found.worker >= 0
    if np.array_equal(
        np.argsort(found.start[ran], kind="stable"),
        np.argsort(found.operations.start[ran], kind="stable"),
    ):
        return slice(None)  # nothing runs in another order
    return np.argsort(when, kind="stable")


def moved(steps: Steps, places: Any) -> Steps:
    """The same steps in another order; all as they are where `places` is a slice."""
    if isinstance(places, slice):
        return steps
    kept = ("row", "kind", "block", "requested")
    columns = {name: getattr(steps, name)[places] for name in kept}
    # Times stay those of the record: knobs that were turned are turned where they were.
    return replace(steps, t=np.sort(steps.t), **columns)


def _new_times(origins: _Origins, found: Schedule) -> Array:
    """When each step happens, in nanoseconds from the first push."""
    place, python, users = origins.place, origins.python, origins.users
    passed = np.minimum(found.start[place] + origins.passed, found.end[place])
    t = np.where(python < 0, origins.t, found.pushed[python])
    t = np.where(place < 0, t, passed)
    if len(users):
        let_go = found.end.copy()
        for parts in found.joined:
            let_go[[*parts]] = found.end[parts[-1]]
        last = np.maximum.reduceat(let_go[users], origins.firsts)
        t[origins.let_go] = np.maximum(last, found.pushed[users[origins.firsts]])
    frees = origins.began != np.arange(len(t))
    t[frees] = np.maximum(t[frees], t[origins.began[frees]])
    return t


def devices_of(record: Record) -> list[str]:
    """The devices whose memory a record knows, and on which something was in use."""
    return once(record, _devices_of)


def _devices_of(record: Record) -> list[str]:
    mem, texts = record.mem(), record.strings
    used = [texts.index(name) for name in ("live", "alloc", "hit") if name in texts]
    mine = mem["device"][np.isin(mem["event"], used)]
    seen = {texts[number] for number in np.unique(mine).tolist()}
    return [name for name in record.conditions.devices if name in seen]

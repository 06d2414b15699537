"""The objects of a cause: which buffer, which block, which operation waited for which.

A cause is known by name already (`why.py`). Here are two replays that differ in it
alone, and a sentence on the first or the largest thing in which they differ.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from minimx.core import storage
from minimx.core.graph.memory.memory import MemoryPlan
from minimx.core.graph.memory.sharing import Step
from minimx.core.replay import PoolReplay
from minimx.core.replay.history import ALLOC, HIT, LIVE
from minimx.experiments import graphs
from minimx.experiments.align import Alignment
from minimx.experiments.groups import BULKS, CAPACITY, POOLS
from minimx.experiments.machine import SPEEDS
from minimx.experiments.operations import Operations
from minimx.experiments.rerun import Rerun
from minimx.experiments.schedule import Schedule

PROGRAM: Final = "program"


@dataclass(frozen=True, eq=False)
class Flip:
    """A decision that was flipped: the replays without it and with it.

    figure: what changed. name: the knob. before, after: its values. aligned: both
    records. net: the recorded network, if it is known.
    """

    figure: str
    name: str
    before: Any
    after: Any
    without: Rerun
    within: Rerun
    aligned: Alignment
    net: Any

    @property
    def setting(self) -> str:
        """The knob with the value that it has now."""
        return f"{self.name}={self.after}"


def reason(flip: Flip) -> str:
    """One clause that says what follows from a cause, and for which objects."""
    if flip.name == PROGRAM:
        return _of_program(flip)
    if flip.name in graphs.PLANNING and flip.figure in ("peak", "reserved"):
        return _of_plan(flip)
    if flip.name in POOLS or flip.name == CAPACITY:
        return _of_pool(flip)
    if flip.name in SPEEDS:
        return _of_speed(flip)
    return _of_schedule(flip)


# -- what was run ---------------------------------------------------------------------


def _of_program(flip: Flip) -> str:
    aligned = flip.aligned
    tables = aligned.before.ops(), aligned.after.ops()
    records = aligned.before, aligned.after
    for which, rows, word in (
        (1, aligned.inserted, "new"),
        (0, aligned.removed, "gone"),
    ):
        if len(rows):
            name = _operation(records[which], tables[which][rows[0]])
            return f"the programs differ: {name} is {word}"
    most = max(
        aligned.changed,
        key=lambda one: abs(
            int(tables[1]["nbytes"][one.after]) - int(tables[0]["nbytes"][one.before])
        ),
    )
    name = _operation(aligned.after, tables[1][most.after])
    column, (old, new) = max(most.columns.items(), key=lambda item: item[0] == "nbytes")
    shown = (f"{v:,}" if isinstance(v, int) else str(v) for v in (new, old))
    unit = {"nbytes": "bytes moved", "flops": "floating-point operations"}
    return (
        f"the programs differ: {name} has {unit.get(column, column)} "
        + " instead of ".join(shown)
    )


def _operation(record: Any, row: Any) -> str:
    name, layer = record.texts([row["name"], row["layer"]])
    return f"{name} of {layer}" if layer else str(name)


# -- the memory plan ------------------------------------------------------------------


def _of_plan(flip: Flip) -> str:
    record = flip.within.record
    programs = graphs.programs_of(flip.net, record)
    settings = [
        graphs.settings_of({**record.conditions.knobs, **run.knobs})
        for run in (flip.without, flip.within)
    ]
    changed = max(
        programs,
        key=lambda one: abs(
            one.under(settings[1]).nbytes - one.under(settings[0]).nbytes
        ),
    )
    old, new = (changed.under(each) for each in settings)
    plans = old.prepared.plan, new.prepared.plan
    known = [{node.name for node in plan.graph if node.op} for plan in plans]
    for more, fewer, words in (
        (1, 0, "are computed a second time"),
        (0, 1, "are no longer computed twice"),
    ):
        new_ones = known[more] - known[fewer]
        extra = [node.name for node in plans[more].graph if node.name in new_ones]
        if extra and ("MIRROR" in flip.name or flip.name == "MXNET_MEMORY_OPT"):
            return f"{_some(extra)} {words} ({flip.setting})"
    grew = new.nbytes > old.nbytes
    worse, better = (plans[1], plans[0]) if grew else (plans[0], plans[1])
    lost = _unshared(worse, better)
    if lost is None:
        sizes = " instead of ".join(storage.human(p.nbytes) for p in (new, old))
        return f"the arena of the graph takes {sizes} ({flip.setting})"
    return _sharing(flip, lost, grew)


def _some(names: list[str]) -> str:
    more = f" and {len(names) - 2:,} more" if len(names) > 2 else ""
    return ", ".join(names[:2]) + more


def _unshared(worse: MemoryPlan, better: MemoryPlan) -> tuple[Step, Step] | None:
    """The largest result that has a block of its own in one plan, and not in the other.

    Its decision there, and here.
    """
    own = {step.entry: step for step in worse.steps if step.kind == "new"}
    found = [
        (own[entry], step)
        for entry, step in _shared_by_name(better, worse).items()
        if entry in own
    ]
    return max(found, key=lambda pair: pair[0].wanted, default=None)


def _shared_by_name(better: MemoryPlan, worse: MemoryPlan) -> dict[Any, Step]:
    """The results that share a block, as entries of the other plan's graph."""
    names = {(entry.node.name, entry.slot): entry for entry in worse.storage}
    found = {}
    for step in better.steps:
        if step.entry is not None and step.kind in ("over", "reuse", "grow"):
            key = step.entry.node.name, step.entry.slot
            if key in names:
                found[names[key]] = step
    return found


def _sharing(flip: Flip, lost: tuple[Step, Step], grew: bool) -> str:
    alone, shared = lost
    assert alone.entry is not None
    name, wanted = alone.entry.node.name, storage.human(alone.wanted)
    block = f"block {shared.block} ({storage.human(shared.before)})"
    verb = "could not share" if grew else "can share"
    if shared.kind == "over":
        verb = "could not be written over its input in" if grew else "is written over"
    value = flip.after
    around = f"from 1/{value} to {value} times its size" if value > 1 else "of its size"
    why = {
        "NNVM_EXEC_MATCH_RANGE": f"{flip.setting} "
        + (f"takes blocks {around}" if value else "shares no block"),
        "MXNET_EXEC_ENABLE_INPLACE": (
            f"{flip.setting} "
            + ("allows results over inputs" if value else "forbids results over inputs")
        ),
    }
    known = why.get(flip.name, flip.setting)
    return f"{name} ({wanted}) {verb} {block}, because {known}"


# -- pools ----------------------------------------------------------------------------


def _of_pool(flip: Flip) -> str:
    figure = "driver_calls" if flip.figure == "driver_calls" else "reserved"
    old, new = getattr(flip.without, figure), getattr(flip.within, figure)
    device = max(new, key=lambda name: abs(new[name] - old[name]))
    pools = flip.without.pools[device], flip.within.pools[device]
    served = [_served(pool) for pool in pools]
    both = [step for step in served[1] if step in served[0]]
    if flip.figure == "driver_calls":
        for first, second, word in (
            (HIT, ALLOC, "are asked of the driver of"),
            (ALLOC, HIT, "are an idle block of"),
        ):
            for step in both:
                if (served[0][step][0], served[1][step][0]) == (first, second):
                    return (
                        f"{_request(pools[1], step)} {word} {device} ({flip.setting})"
                    )
    most = max(both, key=lambda s: abs(served[1][s][1] - served[0][s][1]), default=None)
    if most is not None and served[1][most][1] != served[0][most][1]:
        before, after = (each[most][1] for each in served)
        return (
            f"{_request(pools[1], most)} take {after:,} bytes of {device} instead of "
            f"{before:,} ({flip.setting})"
        )
    idle = [pool.stats.cached for pool in pools]
    return (
        f"the pool of {device} keeps {idle[1]:,} idle bytes at the end instead of "
        f"{idle[0]:,} ({flip.setting})"
    )


def _served(pool: PoolReplay) -> dict[int, tuple[int, int]]:
    """By step that asked for memory: how it was served, and by how large a block."""
    history = pool.history
    rows = np.flatnonzero(np.isin(history.event, (LIVE, ALLOC, HIT)))
    columns = (history.step[rows], history.event[rows], history.size[rows])
    return {
        step: (event, size)
        for step, event, size in zip(*(c.tolist() for c in columns), strict=True)
    }


def _request(pool: PoolReplay, step: int) -> str:
    record = pool.original
    row = record.mem()[int(pool.steps.row[step])]
    name, layer = record.texts([row["name"], row["layer"]])
    whom = f"{name or 'the program'} of {layer}" if layer else name or "the program"
    return f"{int(pool.steps.requested[step]):,} bytes for {whom}"


# -- the engine -----------------------------------------------------------------------


def _of_speed(flip: Flip) -> str:
    old, new = flip.without.schedule, flip.within.schedule
    change = np.abs((new.end - new.start) - (old.end - old.start))
    if not len(change) or not change.max():
        return f"copies use other links ({flip.setting})"
    most = int(change.argmax())
    took = [
        f"{int(one.end[most] - one.start[most]) / 1e3:.1f} µs" for one in (new, old)
    ]
    name = _named(new.operations, most)
    return f"{name} takes {' instead of '.join(took)} ({flip.setting})"


def _of_schedule(flip: Flip) -> str:
    old, new = flip.without.schedule, flip.within.schedule
    if flip.name in BULKS:
        joined = max(new.joined or old.joined, key=len, default=())
        first = _named(new.operations, joined[0]) if joined else "no operation"
        return (
            f"{first} and others are handed to the engine in {new.pushes:,} pushes "
            f"instead of {old.pushes:,} ({flip.setting})"
        )
    if flip.figure not in ("makespan", "pushes"):
        return (
            "requests for memory come in another order, as operations run at other "
            f"times ({flip.setting})"
        )
    slower = new.makespan >= old.makespan
    worse, better = (new, old) if slower else (old, new)
    found = _waiting(worse, better)
    if found is None:
        return f"operations are scheduled by {flip.setting}"
    place, other = found
    names = [_named(new.operations, each) for each in found]
    worker = worse.workers[place]
    delay = (int(worse.start[place]) - int(worse.ready[place])) / 1e3
    when = f"waited {delay:.1f} µs for {names[1]} on {worker}"
    if worse.engine.naive:
        when = f"waited for {names[1]}, as Python itself runs both,"
    if slower:
        return f"{names[0]} {when} because of {flip.setting}"
    return f"{names[0]} {when} before, and does not with {flip.setting}"


def _waiting(worse: Schedule, better: Schedule) -> tuple[int, int] | None:
    """An operation that waited for another one's worker, and in the other did not.

    The one that waited longest.
    """
    waited = worse.start - worse.ready
    if worse.engine.naive:
        waited = worse.start - better.start
    blame, others = worse.waited_for, better.waited_for
    order = np.argsort(-waited, kind="stable").tolist()
    for place in order:
        other = blame[place]
        if other >= 0 and others[place] != other:
            return place, other
        if worse.engine.naive and place:
            return place, place - 1
    return None


def _named(operations: Operations, place: int) -> str:
    name, layer = operations.name[place], operations.layer[place]
    return f"{name} of {layer}" if layer else name

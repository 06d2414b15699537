"""Recorded operations, scheduled once more: other workers, another engine, other speed.

    found = schedule(Operations.of(record), Engine("ThreadedEnginePerDevice", Sizes(4)))
    found.makespan, found.lanes[0]

A discrete-event simulation on a virtual clock. Lanes are those of the engine's layouts
(`engine/lanes.py`), wires of copies those of `engine/costs.py`. The rules of vars
(`engine/var.py`), of joined operations (`engine/bulking.py`) and of who is served when
(`tools/virtual_time`) stand here once more, on plain numbers: a record has resolved
what each operation comes after, so that no queues of vars are needed, and a knob that
is dragged is answered at once. A test holds both to the same times. Nothing runs, and
no knob is read.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from heapq import heappop, heappush
from itertools import count as count_up
from typing import Any, NamedTuple

import numpy as np

from minimx.core.engine.costs import Wires
from minimx.core.engine.kinds import BULK, NORMAL
from minimx.core.engine.lanes import LAYOUTS, Lane, Sizes
from minimx.core.engine.operation import Operation
from minimx.core.engine.trace import PUSHER
from minimx.core.engine.var import Var
from minimx.core.ops.spec import Cost
from minimx.core.record.tables import Array
from minimx.experiments.machine import Machine
from minimx.experiments.operations import EVERYTHING, NOTHING, Operations, device_of


@dataclass(frozen=True)
class Engine:
    """An engine, by its knobs.

    name: of `MXNET_ENGINE_TYPE`. sizes: threads of its lanes. backward_bulk: how many
    operations of a backward pass are joined, forward_bulk: how many where the program
    joins others; None: those that the record has.
    """

    name: str = "ThreadedEnginePerDevice"
    sizes: Sizes = field(default_factory=Sizes)
    forward_bulk: int | None = None
    backward_bulk: int | None = None

    @property
    def naive(self) -> bool:
        """Whether the pushing thread runs everything itself."""
        return self.name == "NaiveEngine"


Column = list[int]
#: `pushed` to `joined` of a `Schedule`, its columns as lists.
Times = tuple[
    Column, Column, Column, Column, Column, tuple[str, ...], int, list[tuple[int, ...]]
]


class Lanes(NamedTuple):
    """One operation in a timeline; times are nanoseconds from the first push.

    op: the recorded id; 0 for a joined operation that the record does not have.
    """

    op: int
    name: str
    worker: str
    pushed: int
    ready: int
    start: int
    end: int


@dataclass(frozen=True, eq=False)
class Schedule:
    """When every operation would run.

    pushed, ready, start, end: nanoseconds from the first push, (n,) by position in
    `operations`; a part of a joined operation has the times at which it runs in there.
    worker: the number of the worker among `names`, -1 for what did not run. pushes: how
    many operations the engine got. joined: the parts of each joined operation.
    """

    operations: Operations
    engine: Engine
    pushed: Array
    ready: Array
    start: Array
    end: Array
    worker: Array
    names: tuple[str, ...]
    pushes: int
    joined: list[tuple[int, ...]]

    @property
    def makespan(self) -> int:
        """Nanoseconds from the first push to the last end."""
        return int(self.end.max(initial=0))

    @cached_property
    def workers(self) -> list[str]:
        """The worker of each operation; "" for what did not run."""
        texts = [*self.names, ""]
        return [texts[number] for number in self.worker.tolist()]

    @cached_property
    def lanes(self) -> list[Lanes]:
        """Every operation with its worker and times, by start."""
        columns = (self.pushed, self.ready, self.start, self.end)
        names = (self.operations.op, self.operations.name, self.workers)
        rows = zip(*names, *(each.tolist() for each in columns), strict=True)
        found = [Lanes(*row) for row in rows if row[2]]
        return sorted(found, key=lambda one: one.start)

    @cached_property
    def waited_for(self) -> list[int]:
        """For each operation the position of the one that it waited for at last.

        That is the one which used its worker until it started, or, where the worker was
        idle, the last of those that it depends on; -1 where it waited for none.
        """
        found = [NOTHING] * len(self.workers)
        last: dict[str, int] = {}
        start, end, ready = self.start, self.end, self.ready
        for place in np.argsort(start, kind="stable").tolist():
            worker = self.workers[place]
            before = last.get(worker, NOTHING)
            if not worker:
                continue
            last[worker] = place
            if before >= 0 and end[before] > ready[place]:
                found[place] = before
                continue
            depends = [b for b in self.operations.before[place] if self.workers[b]]
            latest = max(depends, key=lambda b: int(end[b]), default=NOTHING)
            if latest >= 0 and end[latest] > self.pushed[place]:
                found[place] = latest
        return found

    def __repr__(self) -> str:
        return (
            f"<predicted: {self.pushes:,} pushes to {self.engine.name}, makespan "
            f"{self.makespan / 1e6:.3f} ms>"
        )


def schedule(
    operations: Operations,
    engine: Engine,
    machine: Machine | None = None,
    ns: Sequence[int] | None = None,
) -> Schedule:
    """When the operations of a record would run on an engine.

    machine: what copies go over; by default that of the record. ns: how long each
    operation takes; by default as recorded.
    """
    machine = machine or Machine.of(operations.record.conditions.knobs)
    found = simulated(operations, engine, machine, ns or operations.ns)
    pushed, ready, start, end, worker = (np.asarray(c, np.int64) for c in found[:5])
    times = pushed, ready, start, end, worker
    return Schedule(operations, engine, *times, *found[5:])


def simulated(
    operations: Operations, engine: Engine, machine: Machine, ns: Sequence[int]
) -> Times:
    """The same as plain numbers, where there is no NumPy; see `schedule`."""
    return _Replay(operations, engine, machine, ns).run()


class _Serving:
    """A lane: its idle workers, and the ready units that wait for one.

    first: the number of its first worker among those of all lanes.
    """

    __slots__ = ("first", "idle", "lane", "queue")

    def __init__(self, lane: Lane, first: int) -> None:
        self.lane, self.first = lane, first
        self.idle = [*range(lane.threads)]
        self.queue: list[tuple[int, int, int]] = []


class _Replay:
    """One replay: it pushes as the program did, and simulates the lanes meanwhile.

    What the engine gets at once is a unit: an operation, or a joined one, which has the
    position of its first part.
    """

    def __init__(
        self,
        operations: Operations,
        engine: Engine,
        machine: Machine,
        ns: Sequence[int],
    ) -> None:
        count = len(operations)
        self._all, self._engine, self._ns = operations, engine, ns
        self._machine, self._wires = machine, Wires()
        self._layout = LAYOUTS[engine.name]
        self._lanes: dict[tuple[str, int], _Serving] = {}  # by device and kind
        self._served: dict[str, _Serving] = {}  # by name
        self._lane_of: list[Any] = [None] * count
        self._pushed, self._ready, self._start, self._end = (
            [0] * count for _ in range(4)
        )
        self._worker = [-1] * count
        self._names: list[str] = []
        self._free: list[int] = []  # by worker: when it ended its last work
        self._wait = [0] * count  # by unit: for how many operations it waits
        self._under_way = bytearray(count)  # handed over, and not ended
        self._over = bytearray(count)
        self._blocked: dict[int, list[int]] = {}  # by operation: the units behind it
        self._parts: dict[int, list[int]] = {}  # by unit, of joined ones
        self._collected: list[int] = []
        # What is going to happen: when, in which order, to which unit; with the worker
        # that ends it, or -1 if it becomes ready.
        self._agenda: list[tuple[int, int, int, int]] = []
        self._order = count_up()
        self._now = self._python = self._pushes = self._pending = 0

    def run(self) -> Times:
        """Push everything, wait where the program waited, and for the rest."""
        every, collected = self._all, self._collected
        last_part = {joined: part for part, joined in enumerate(every.inside)}
        sizes, device = _groups(every, self._engine), every.device
        rows = zip(every.kind, every.waits, every.gap, sizes, strict=True)
        for place, (kind, target, gap, size) in enumerate(rows):
            if kind == BULK:
                continue  # its parts are joined anew
            if target != NOTHING:
                self._hand_over()
                self._until(last_part.get(target, target))
            self._python += gap
            self._pushed[place] = self._python
            if size < 2:
                if collected:
                    self._hand_over()
                self._submit(place, kind, every.before[place])
                continue
            if collected and device[collected[0]] != device[place]:
                self._hand_over()
            collected.append(place)
            if len(collected) >= size:
                self._hand_over()
        self._hand_over()
        self._until(EVERYTHING)
        columns = self._pushed, self._ready, self._start, self._end, self._worker
        joined = [tuple(parts) for parts in self._parts.values()]
        return (*columns, tuple(self._names), self._pushes, joined)

    # Pushing: the rules of `bulking.route`, and of `append` in `var.py` where each var
    # is written once

    def _hand_over(self) -> None:
        """Submit what was collected, as one operation."""
        parts = self._collected[:]
        if parts:
            self._collected.clear()
            self._parts[parts[0]] = parts
            before = {b for part in parts for b in self._all.before[part]}
            self._submit(parts[0], BULK, before.difference(parts))

    def _submit(self, unit: int, kind: int, before: Iterable[int]) -> None:
        under_way, blocked = self._under_way, self._blocked
        self._pushes += 1
        self._pending += 1
        self._python += self._all.overheads.push
        where = self._all.device[unit], kind
        self._lane_of[unit] = self._lanes.get(where) or self._open(where)
        waits = [each for each in before if under_way[each]]
        for each in waits:
            blocked.setdefault(each, []).append(unit)
        for part in self._parts.get(unit, (unit,)):
            under_way[part] = 1
        self._wait[unit] = len(waits)
        if not waits:
            when = max(self._now, self._python)
            heappush(self._agenda, (when, next(self._order), unit, -1))
        else:
            self._ready[unit] = self._python  # not before
        if self._engine.naive:
            self._until(EVERYTHING)

    def _open(self, where: tuple[str, int]) -> _Serving:
        """The lane for a device and a kind of operations; several may share it."""
        lane = self._layout(device_of(where[0]), where[1], self._engine.sizes)
        serving = self._served.get(lane.name)
        if serving is None:
            serving = self._served[lane.name] = _Serving(lane, len(self._names))
            workers = [f"{lane.name}/{number}" for number in serving.idle]
            self._names += [PUSHER] if self._engine.naive else workers
            self._free += [-1] * lane.threads
        self._lanes[where] = serving
        return serving

    def _until(self, target: int) -> None:
        """Simulate until an operation is over; Python's time is then that of its end.

        A joined operation is over with its last part.
        """
        agenda, over = self._agenda, self._over
        while self._pending and (target == EVERYTHING or not over[target]):
            self._now, _, unit, worker = heappop(agenda)
            if worker < 0:
                self._serve(self._line_up(unit))
            else:
                self._finish(unit, worker)
        self._python = max(self._python, self._now)

    # Running: the rules of the virtual engine (`tools/virtual_time/simulation.py`)

    def _line_up(self, unit: int) -> _Serving:
        """A unit is ready, but no worker looks at the queue of its lane yet."""
        self._ready[unit] = self._now
        serving: _Serving = self._lane_of[unit]
        urgency = 0
        if serving.lane.by_priority and unit not in self._parts:
            urgency = -self._all.priority[unit]
        heappush(serving.queue, (urgency, next(self._order), unit))
        return serving

    def _serve(self, serving: _Serving) -> None:
        """Idle workers take the first units of their lane."""
        overheads, copies = self._all.overheads, self._all.copies
        queue, idle = serving.queue, serving.idle
        while queue and idle:
            worker = serving.first + heappop(idle)
            unit = self._next_of(serving) if serving.lane.pick else heappop(queue)[2]
            slept = self._engine.naive or self._free[worker] < self._ready[unit]
            end = self._now + (overheads.idle if slept else overheads.busy)
            parts = self._parts.get(unit)
            for place in parts or (unit,):
                start = end + overheads.part if parts else end
                end = start + self._ns[place]
                if place in copies:
                    end = self._sent(place, start)
                self._ready[place], self._worker[place] = self._ready[unit], worker
                self._start[place], self._end[place] = start, end
            self._free[worker] = end
            heappush(self._agenda, (end, next(self._order), unit, worker))

    def _next_of(self, serving: _Serving) -> int:
        """The unit that a policy of a user picks among those that are ready."""
        queue, pick = serving.queue, serving.lane.pick
        assert pick is not None
        queue.sort()  # which keeps it a heap
        return queue.pop(pick([self._claim(unit) for *_, unit in queue]))[2]

    def _claim(self, unit: int) -> Operation:
        """A unit as a policy sees it: it writes a var, for which others wait."""
        every, var = self._all, Var()
        row, kind = every.rows[unit], BULK if unit in self._parts else every.kind[unit]
        parts, behind = self._parts.get(unit, (unit,)), deque[Any]()
        for part in parts:
            behind.extend(self._blocked.get(part, ()))
        var.later = behind
        cost = Cost(int(row["flops"]), int(row["nbytes"]))
        device, name = device_of(every.device[unit]), every.name[unit]
        urgency = every.priority[unit]
        return Operation(_nothing, device, (), (var,), name, urgency, kind, cost)

    def _sent(self, place: int, start: int) -> int:
        """When a copy is over that may start, but has to wait for its wires."""
        wires = self._machine.wires(self._all.copies[place])
        return self._wires.reserve(wires, start, self._ns[place]) + self._ns[place]

    def _finish(self, unit: int, worker: int) -> None:
        """A unit is done: others may have become ready, and its worker is free.

        The worker hands over what became ready first, and then looks which is next.
        """
        self._pending -= 1
        mine: _Serving = self._lane_of[unit]
        heappush(mine.idle, worker - mine.first)
        lanes = [mine]
        for part in self._parts.get(unit, (unit,)):
            self._under_way[part] = 0
            self._over[part] = 1
            for behind in self._blocked.pop(part, ()):
                self._wait[behind] -= 1
                if self._wait[behind]:
                    continue
                pushed = self._ready[behind]
                if pushed <= self._now:
                    lanes.append(self._line_up(behind))
                else:  # in simulated time, it is not pushed yet
                    heappush(self._agenda, (pushed, next(self._order), behind, -1))
        for serving in lanes:
            self._serve(serving)


def _nothing() -> None:
    """Only the order and the time count."""


def _groups(operations: Operations, engine: Engine) -> list[int]:
    """How many operations may be joined where each one is pushed; 0 and 1: none.

    Joined are those that the record has in joined operations, and those of a backward
    pass that runs operator by operator; nothing but plain work is.
    """
    sizes = Counter(operations.inside)
    alone = operations.naive or max(operations.inside, default=NOTHING) < 0
    columns = (operations.inside, operations.phase, operations.kind)
    found = []
    for whole, phase, kind, urgent in zip(*columns, operations.priority, strict=True):
        part, backward = whole >= 0, phase == "backward"
        size = sizes[whole] if part else 0
        asked = engine.backward_bulk if backward else engine.forward_bulk
        if asked is not None and (part or (backward and alone)):
            size = asked
        found.append(0 if kind != NORMAL or urgent or engine.naive else size)
    return found

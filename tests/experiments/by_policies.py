"""The replay of a schedule by the engine's own parts: what the quick one is held to.

The vars, collections and lanes of the real engine decide here, through the simulation
of the virtual engine. `minimx.experiments.schedule` has the same rules on plain
numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from minimx.core.device import Device
from minimx.core.engine.bulking import Collection
from minimx.core.engine.costs import Wires
from minimx.core.engine.kinds import BULK, NORMAL
from minimx.core.engine.lanes import LAYOUTS, Lane
from minimx.core.engine.operation import Operation
from minimx.core.engine.trace import PUSHER
from minimx.core.engine.var import Claim, Var
from minimx.experiments.machine import Machine
from minimx.experiments.operations import EVERYTHING, NOTHING, Operations, device_of
from minimx.experiments.schedule import Engine
from minimx.tools.virtual_time.simulation import Job, Simulation

#: Pushed, ready, start and end, workers, pushes, joined parts.
Found = tuple[list[list[int]], list[str], int, list[tuple[int, ...]]]


def by_policies(operations: Operations, engine: Engine) -> Found:
    """What a schedule says, found by the real policies."""
    machine = Machine.of(operations.record.conditions.knobs)
    return _Replay(operations, engine, machine, operations.ns).run()


class Member(Operation):
    """An operation of a record as a claim on vars; `place` is its position."""

    __slots__ = ("parts", "place")

    def __init__(
        self,
        place: int,
        device: Device,
        kind: int,
        priority: int,
        reads: tuple[Var, ...],
        writes: tuple[Var, ...],
    ) -> None:
        Claim.__init__(self, reads, writes, 1)
        self.place = place
        self.parts: Sequence[Member] = ()
        self.device, self.prop, self.priority = device, kind, priority
        self.trace = None


class _Replay:
    """One replay: it pushes as the program did, and notes what the simulation says."""

    def __init__(
        self,
        operations: Operations,
        engine: Engine,
        machine: Machine,
        ns: Sequence[int],
    ) -> None:
        count = len(operations)
        self._all, self._engine, self._ns = operations, engine, ns
        self._machine = machine
        self._layout = LAYOUTS[engine.name]
        self._lanes: dict[tuple[Device, int], Lane] = {}
        self._devices = {text: device_of(text) for text in {*operations.device}}
        self._vars = [Var() for _ in range(count)]
        self._pushed, self._ready, self._start, self._end = (
            [0] * count for _ in range(4)
        )
        self._workers = [""] * count
        self._free: dict[str, int] = {}  # by worker: when it ended its last work
        self._wires = Wires()
        self._simulation = Simulation(self._start_job)
        self._python = 0
        self._pushes = 0
        self._joined: list[tuple[int, ...]] = []
        self._collection: Collection | None = None
        self._members: list[Member] = []
        self._groups = _groups(operations, engine)
        self._last_part = {
            joined: part for part, joined in enumerate(operations.inside) if joined >= 0
        }

    def run(self) -> Found:
        """Push everything, wait where the program waited, and for the rest."""
        every, push_ns = self._all, self._all.overheads.push
        for place in range(len(every)):
            if every.kind[place] == BULK:
                continue  # its parts are joined anew
            target = every.waits[place]
            if target != NOTHING:
                self._hand_over()
                self._wait(target)
            self._python += every.gap[place]
            self._push(self._member(place), self._groups[place], push_ns)
        self._hand_over()
        self._wait(EVERYTHING)
        columns = [self._pushed, self._ready, self._start, self._end]
        return columns, self._workers, self._pushes, self._joined

    def _member(self, place: int) -> Member:
        every, vars_ = self._all, self._vars
        wanted = every.before[place]
        return Member(
            place,
            self._devices[every.device[place]],
            every.kind[place],
            every.priority[place],
            tuple([vars_[before] for before in wanted]),
            (vars_[place],),
        )

    # Pushing: the rules of `bulking.route`

    def _push(self, member: Member, size: int, push_ns: int) -> None:
        self._pushed[member.place] = self._python
        mine = self._collection
        plain = member.prop == NORMAL and member.priority == 0
        if size < 2 or not plain or self._engine.naive:
            self._hand_over()
            self._submit(member, push_ns)
            return
        if mine is None or not mine.join(member):
            self._hand_over()
            mine = self._collection = Collection(member)
            self._members = []
        self._members.append(member)
        if mine.full(size):
            self._hand_over()

    def _hand_over(self) -> None:
        """Submit what was collected, as one operation."""
        if self._collection is None:
            return
        parts, self._collection = self._members, None
        own = {part.writes[0] for part in parts}
        reads = dict.fromkeys(var for part in parts for var in part.reads)
        first = parts[0]
        joined = Member(
            first.place,
            first.device,
            BULK,
            0,
            tuple([var for var in reads if var not in own]),
            tuple([part.writes[0] for part in parts]),
        )
        joined.parts = parts
        self._joined.append(tuple([part.place for part in parts]))
        self._submit(joined, self._all.overheads.push)

    def _submit(self, member: Member, push_ns: int) -> None:
        self._pushes += 1
        lane = self._lanes.get((member.device, member.prop))
        if lane is None:
            lane = self._layout(member.device, member.prop, self._engine.sizes)
            self._lanes[member.device, member.prop] = lane
        self._python += push_ns
        self._simulation.push(Job(member, lane, self._python, member.priority))
        if self._engine.naive:
            self._wait(EVERYTHING)

    def _wait(self, target: int) -> None:
        """Simulate until an operation is over; Python's time is then that of its end.

        A joined operation is over with its last part.
        """
        simulation = self._simulation
        if target == EVERYTHING:
            while simulation.pending:
                simulation.step()
        else:
            var = self._vars[self._last_part.get(target, target)]
            while not var.version and simulation.pending:
                simulation.step()
        self._python = max(self._python, simulation.time)

    # Running

    def _start_job(self, job: Job, worker: str) -> int:
        member: Any = job.claim
        now, overheads = self._simulation.time, self._all.overheads
        slept = self._free.get(worker, -1) < job.ready
        begin = now + (overheads.idle if slept else overheads.busy)
        if self._engine.naive:
            worker = PUSHER
        end = begin
        for part in member.parts or (member,):
            place = part.place
            start = end + (overheads.part if member.parts else 0)
            end = self._occupied(place, start)
            self._ready[place], self._workers[place] = job.ready, worker
            self._start[place], self._end[place] = start, end
        self._free[worker] = end
        return end

    def _occupied(self, place: int, start: int) -> int:
        copy = self._all.copies.get(place)
        if copy is None:
            return start + self._ns[place]
        ns = self._ns[place]
        return self._wires.reserve(self._machine.wires(copy), start, ns) + ns


def _groups(operations: Operations, engine: Engine) -> list[int]:
    """How many operations may be joined where each one is pushed; 0 and 1: none.

    Joined are those that the record has in joined operations, and those of a backward
    pass that runs operator by operator.
    """
    count = len(operations)
    sizes = [0] * count
    members: dict[int, int] = {}
    for each in operations.inside:
        if each >= 0:
            members[each] = members.get(each, 0) + 1
    for place in range(count):
        inside = operations.inside[place]
        backward = operations.phase[place] == "backward"
        asked = engine.backward_bulk if backward else engine.forward_bulk
        if inside >= 0:
            sizes[place] = members[inside] if asked is None else asked
        elif backward and asked is not None and (operations.naive or not members):
            sizes[place] = asked
    return sizes

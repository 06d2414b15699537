"""Graphs cut into other operations: what bulk sizes, mirror and fusion change in time.

    operations, ns = recut(Operations.of(record), ns, programs, settings)

The operations of a graph in a record are those of its `prepared` halves, one after the
other. They are found again, and replaced by those that other settings give. A node
takes the share of its recorded operation that its declared cost is of all nodes in
there; one that the record has not, such as a value that is computed a second time,
takes as much longer or shorter than it declares as the others did.

Whom a new operation waits for follows from the graph and the memory plan inside of a
call. Towards the outside it waits for all that the recorded operations of its nodes
waited for, which is never too few.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

from minimx.core.drivers import driver_for
from minimx.core.engine.kinds import SEGMENT
from minimx.core.graph.passes.prepare import Prepared
from minimx.core.graph.running.segments import NAME_LENGTH
from minimx.core.graph.running.settings import Settings
from minimx.core.graph.values.ir import Entry, Node
from minimx.core.graph.values.specs import plan_of
from minimx.experiments.graphs import GraphProgram
from minimx.experiments.machine import Machine
from minimx.experiments.operations import EVERYTHING, NOTHING, Operations

HALVES = ("forward", "backward")


class Cut(NamedTuple):
    """One operation of a graph: its name, its nodes, and what they declare.

    ns: by node, nanoseconds.
    """

    name: str
    nodes: tuple[Node, ...]
    ns: dict[str, int]
    flops: int
    nbytes: int


@dataclass(frozen=True, eq=False)
class Cuts:
    """A program as operations of the engine, forward and backward."""

    prepared: Prepared
    kind: str
    machine: Machine
    device: Any

    @cached_property
    def halves(self) -> dict[str, list[Cut]]:
        """The operations of each half."""
        prepared = self.prepared
        parts = prepared.forward, prepared.backward
        return {
            half: [self._cut(segment.nodes) for segment in segments]
            for half, segments in zip(HALVES, parts, strict=True)
        }

    def _cut(self, nodes: Sequence[Node]) -> Cut:
        computed = tuple(n for n in nodes if n not in self.prepared.plan.skips)
        plans = [plan_of(node, self.prepared.specs, self.kind) for node in computed]
        on_gpu = self.device.device_type == "gpu"
        costs = self.machine.costs if on_gpu else driver_for(self.device).costs
        names = ",".join(plan.name for plan in plans)
        ns = {
            node.name: costs.run_ns(
                plan.cost.flops,
                plan.cost.bytes_moved,
                getattr(plan.cost, "tensor_cores", False),
            )
            for node, plan in zip(computed, plans, strict=True)
        }
        name = names if len(computed) == 1 else f"[{names}]"[:NAME_LENGTH]
        flops = sum(plan.cost.flops for plan in plans)
        nbytes = sum(plan.cost.bytes_moved for plan in plans)
        return Cut(name, computed, ns, flops, nbytes)


@dataclass(eq=False)
class _Call:
    """A call under way: who wrote and read each block, by position among the new."""

    writer: dict[Any, int] = field(default_factory=dict)
    readers: dict[Any, list[int]] = field(default_factory=dict)
    made_by: dict[str, int] = field(default_factory=dict)  # by node
    outside: set[int] = field(default_factory=set)  # what its forward half came after


def cut_otherwise(programs: Sequence[GraphProgram], settings: Settings) -> bool:
    """Whether a graph is computed by other operations of the engine."""

    def cut(prepared: Prepared) -> list[list[str]]:
        parts, skips = (*prepared.forward, *prepared.backward), prepared.plan.skips
        return [[n.name for n in part.nodes if n not in skips] for part in parts]

    return any(
        cut(one.prepared) != cut(one.under(settings).prepared) for one in programs
    )


def recut(
    operations: Operations,
    ns: Sequence[int],
    programs: Sequence[GraphProgram],
    settings: Settings,
) -> tuple[Operations, list[int]]:
    """The operations of a record with its graphs cut as other settings say.

    ns: how long the recorded ones take. Returns the new operations, and how long those
    take. Operations of graphs that are none of `programs` stay as they are.
    """
    machine = Machine.of(operations.record.conditions.knobs)
    cuts = [
        tuple(
            Cuts(each.prepared, each.kind, machine, each.key[1])
            for each in (program, program.under(settings))
        )
        for program in programs
    ]
    made = _Recut(operations, ns, cuts)
    return made.operations(), made.ns


class _Recut:
    """The new operations in the making."""

    def __init__(
        self, operations: Operations, ns: Sequence[int], cuts: list[tuple[Cuts, ...]]
    ) -> None:
        self._old, self._old_ns, self._programs = operations, ns, cuts
        self._calls = [_Call() for _ in cuts]
        #: By old position: the new positions that stand for it.
        self._now: dict[int, list[int]] = {}
        self._from: list[int] = []  # by new position: the old one it is like
        self._cuts: dict[int, Cut] = {}  # by new position, of graphs
        self._before: list[set[int]] = []
        self.ns: list[int] = []
        self._build()

    def _build(self) -> None:
        old = self._old
        segments = [p for p in range(len(old)) if old.kind[p] == SEGMENT]
        runs = {found[0][0]: found for found in self._runs(segments)}
        done: set[int] = set()
        for place in range(len(old)):
            if place in runs:
                run, which, half = runs[place]
                self._replace(run, which, half)
                done.update(run)
            elif place not in done:
                self._now[place] = [len(self._from)]
                self._add(place, self._old_ns[place], self._moved(old.before[place]))

    def _runs(self, segments: list[int]) -> Iterator[tuple[list[int], int, str]]:
        """The recorded operations of each half of a call, and whose they are."""
        names = [self._old.name[place] for place in segments]
        at = 0
        while at < len(segments):
            best = (0, -1, "")
            for which, (cuts, _) in enumerate(self._programs):
                for half, parts in cuts.halves.items():
                    wanted = [part.name for part in parts]
                    if names[at : at + len(wanted)] == wanted and len(wanted) > best[0]:
                        best = len(wanted), which, half
            if best[0]:
                yield segments[at : at + best[0]], best[1], best[2]
            at += max(best[0], 1)

    def _moved(self, before: Sequence[int]) -> set[int]:
        return {new for old in before for new in self._now[old]}

    def _add(self, like: int, ns: int, before: set[int]) -> None:
        self._from.append(like)
        self.ns.append(ns)
        self._before.append(before)

    def _replace(self, run: list[int], which: int, half: str) -> None:
        """Put the new operations of a half in the place of the recorded ones."""
        old_cuts, new_cuts = (cuts.halves[half] for cuts in self._programs[which])
        if half == "forward":
            self._calls[which] = _Call()
        call = self._calls[which]
        took: dict[str, float] = {}  # by node
        home: dict[str, int] = {}  # by node: its recorded operation
        total, declared = 0, 0
        for place, cut in zip(run, old_cuts, strict=True):
            whole = max(sum(cut.ns.values()), 1)
            total, declared = total + self._old_ns[place], declared + whole
            for node, ns in cut.ns.items():
                took[node] = ns * self._old_ns[place] / whole
                home[node] = place
        mine = {*run}
        outside = {
            place: self._moved([b for b in self._old.before[place] if b not in mine])
            for place in run
        }
        inside = {*call.made_by.values()}
        for place in run:
            outside[place] -= inside
            if half == "forward":
                call.outside |= outside[place]
        first = len(self._from)
        for cut in new_cuts:
            homes = sorted({home[node.name] for node in cut.nodes if node.name in home})
            new = len(self._from)
            before = {each for place in homes for each in outside[place]}
            if any(node.name not in home for node in cut.nodes):
                before |= call.outside
            before |= self._within(self._programs[which][1], cut, call, new)
            rate = total / max(declared, 1)
            took_all = [took.get(name, each * rate) for name, each in cut.ns.items()]
            self._cuts[new] = cut
            like = homes[0] if homes else run[0]
            self._add(like, round(sum(took_all)), before - {new})
        for place, cut in zip(run, old_cuts, strict=True):
            names = {*cut.ns}
            standing = [
                new
                for new in range(first, len(self._from))
                if names & {*self._cuts[new].ns}
            ]
            self._now[place] = standing or [*range(first, len(self._from))]

    def _within(self, cuts: Cuts, cut: Cut, call: _Call, new: int) -> set[int]:
        """Those of the same call that an operation comes after."""
        plan, found = cuts.prepared.plan, set[int]()
        reads: set[Any] = set()
        writes: set[Any] = set()
        for node in cut.nodes:
            for entry in node.inputs:
                maker = call.made_by.get(entry.node.name, new)
                found |= {maker} - {new}
                reads.add(plan.storage.get(entry, -1))
            outs = len(plan_of(node, cuts.prepared.specs, cuts.kind).outs)
            writes |= {plan.storage.get(Entry(node, slot), -1) for slot in range(outs)}
            if node in plan.workspace:
                writes.add(("workspace", plan.workspace[node]))
            call.made_by[node.name] = new
        kept = {block for block in writes if isinstance(block, tuple) or block >= 0}
        for block in {block for block in reads if block >= 0} - kept:
            found |= {call.writer[block]} if block in call.writer else set()
            call.readers.setdefault(block, []).append(new)
        for block in kept:
            found |= {*call.readers.pop(block, [])}
            found |= {call.writer[block]} if block in call.writer else set()
            call.writer[block] = new
        return found

    # -- the result -------------------------------------------------------------------

    def operations(self) -> Operations:
        """The new operations, as the schedule wants them."""
        old, like = self._old, self._from
        seen: set[int] = set()
        ids, gap, waits = [], [], []
        for place in like:
            again = place in seen
            seen.add(place)
            ids.append(0 if again else old.op[place])
            gap.append(0 if again else old.gap[place])
            target = NOTHING if again else old.waits[place]
            if target not in (NOTHING, EVERYTHING):
                target = max(self._now[target])
            waits.append(target)
        rows = old.rows[like]
        names = [old.name[place] for place in like]
        for new, cut in self._cuts.items():
            names[new] = cut.name
            rows["flops"][new], rows["nbytes"][new] = cut.flops, cut.nbytes
            rows["work"][new] = 0
        inside = [old.inside[place] for place in like]
        return replace(
            old,
            rows=rows,
            op=ids,
            name=names,
            ns=self.ns,
            gap=gap,
            waits=waits,
            before=[tuple(sorted(each)) for each in self._before],
            inside=[-1 if i < 0 else self._now[i][0] for i in inside],
            copies={self._now[at][0]: copy for at, copy in old.copies.items()},
            layer=[old.layer[place] for place in like],
            phase=[old.phase[place] for place in like],
            device=[old.device[place] for place in like],
            worker=[old.worker[place] for place in like],
            kind=[old.kind[place] for place in like],
            priority=[old.priority[place] for place in like],
            pushed=old.pushed[like],
            start=old.start[like],
            end=old.end[like],
        )

"""Two ways to find a memory plan out, neither of which asks the planner.

check    walks over the graph with labels instead of numbers: whatever is read must
         still lie there as it was written
run      runs the kernels on one arena of bytes that begins as rubbish
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from minimx.core.graph.memory.memory import MemoryPlan
from minimx.core.graph.values.ir import Entry, Node
from minimx.core.graph.values.specs import Specs, plan_of


class Memory:
    """Stretches of bytes with labels, on several devices."""

    def __init__(self) -> None:
        self.found: list[tuple[Any, int, int, object]] = []

    def write(self, device: Any, start: int, nbytes: int, label: object) -> None:
        end = start + nbytes
        self.found = [
            (where, first, last, old)
            for where, first, last, old in self.found
            if where != device or last <= start or end <= first
        ]
        if nbytes:
            self.found.append((device, start, end, label))

    def holds(self, device: Any, start: int, nbytes: int, label: object) -> bool:
        return not nbytes or (device, start, start + nbytes, label) in self.found


def check(plan: MemoryPlan, specs: Specs) -> None:
    """Nothing that is still read, or handed out, has been written over."""
    memory, value = Memory(), dict[Entry, object]()

    def where(entry: Entry) -> tuple[Any, int, int]:
        block = plan.blocks[plan.storage[entry]]
        assert specs[entry].nbytes <= block.nbytes
        return block.device, block.offset, specs[entry].nbytes

    def intact(entry: Entry) -> bool:
        if plan.storage[entry] < 0:
            return True
        return memory.holds(*where(entry), value[entry])

    for node in plan.graph:
        if node.op is None:
            value[Entry(node)] = object()
            continue
        ignored = node.op.ignores
        for place, entry in enumerate(node.inputs):
            name = None if node.op.variadic else node.op.inputs[place]
            assert name in ignored or intact(entry), (node, entry.name)
        for entry in outputs(plan, node):
            over = plan.inplace.get(entry)
            same = over is not None and node in plan.skips
            value[entry] = value[node.inputs[over or 0]] if same else object()
            if plan.storage[entry] >= 0 and not same:
                memory.write(*where(entry), value[entry])
        for entry in node.states():
            value[entry] = object()
            if plan.storage[entry] >= 0:
                memory.write(*where(entry), value[entry])
        assert all(map(intact, outputs(plan, node)))
    assert all(map(intact, plan.graph.outputs))


def outputs(plan: MemoryPlan, node: Node) -> list[Entry]:
    """All outputs of a node, hidden ones too."""
    found: list[Entry] = []
    while (entry := Entry(node, len(found))) in plan.storage:
        found.append(entry)
    return found


def run(plan: MemoryPlan, specs: Specs, given: Mapping[Node, Any]) -> list[Any]:
    """The outputs of a graph, computed in the arena of its plan."""
    arena = np.full(max(plan.arenas.values(), default=0), 0xA5, np.uint8)
    outside = {Entry(node): array.copy() for node, array in given.items()}

    def array_of(entry: Entry) -> Any:
        if plan.storage[entry] < 0:
            if entry not in outside:
                outside[entry] = np.empty(specs[entry].shape, specs[entry].dtype)
            return outside[entry]
        start, spec = plan.offsets[entry], specs[entry]
        part = arena[start : start + spec.nbytes]
        return part.view(spec.dtype).reshape(spec.shape)

    for node in plan.graph:
        if node.op is None or node in plan.skips:
            continue
        op_plan = plan_of(node, specs)
        extras: list[Any] = []
        if node in plan.workspace:
            block = plan.scratch[plan.workspace[node]]
            assert op_plan.workspace <= block.nbytes
            extras.append(arena[block.offset :][: op_plan.workspace])
        if op_plan.needs_rng:
            extras.append(np.random.default_rng(7))
        entries = (*node.inputs, *outputs(plan, node))
        op_plan.kernel(*map(array_of, entries), *extras)
    return [array_of(entry).copy() for entry in plan.graph.outputs]

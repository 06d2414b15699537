"""The reasons of a memory plan in sentences: why a result lies where it lies.

The planner keeps numbers and verdicts, since it is run often and read seldom; here they
are put into words, by going through its steps once more.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from minimx.core.graph.memory.inplace import Pair, Verdict
from minimx.core.graph.memory.sharing import (
    DYNAMIC,
    EXTERNAL,
    Examined,
    NumberedGraph,
    Step,
)
from minimx.core.graph.passes.report import Change
from minimx.core.graph.values.ir import Entry

if TYPE_CHECKING:
    from minimx.core.graph.memory.memory import MemoryPlan


def size_of(nbytes: int) -> str:
    """A number of bytes for the eye.

    >>> size_of(512), size_of(1536), size_of(8 << 20)
    ('512 B', '1.5 KB', '8 MB')
    """
    for word, unit in (("GB", 1 << 30), ("MB", 1 << 20), ("KB", 1 << 10)):
        if nbytes >= unit:
            return f"{nbytes / unit:.4g} {word}"
    return f"{nbytes} B"


def name_of(entry: Entry) -> str:
    """What an entry is called; hidden outputs have no name of their own."""
    names = entry.node.output_names()
    if entry.slot < len(names):
        return names[entry.slot]
    return f"{entry.node.name}_hidden{entry.slot - len(names)}"


# -- pairs -----------------------------------------------------------------------------


def sharing(
    numbers: NumberedGraph, storage: Mapping[Entry, int], asked: Sequence[Examined]
) -> tuple[Change, ...]:
    """What became of each pair that might share a place, and why."""
    readers = _readers(numbers, storage)
    found = []
    for n, pair, verdict in asked:
        names = _names(numbers, n, pair)
        granted = verdict in (Verdict.GRANTED, Verdict.SAME)
        reason = _because(numbers, storage, readers, Examined(n, pair, verdict))
        nodes = (numbers.nodes[n].name, names[1], names[0])
        found.append(Change("over" if granted else "apart", nodes, f"{reason}."))
    return tuple(found)


def _names(numbers: NumberedGraph, n: int, pair: Pair) -> tuple[str, str]:
    entries = numbers.entries
    e_in, e_out = numbers.ins[n][pair.input], numbers.outs[n][pair.output]
    return name_of(entries[e_in]), name_of(entries[e_out])


def _readers(
    numbers: NumberedGraph, storage: Mapping[Entry, int]
) -> dict[int, list[tuple[int, int]]]:
    """By block: (the node, the entry) of each reading, in the order of nodes."""
    found: dict[int, list[tuple[int, int]]] = {}
    for n, reads in enumerate(numbers.reads):
        for e in reads:
            block = storage[numbers.entries[e]]
            if block >= 0:
                found.setdefault(block, []).append((n, e))
    return found


def _because(
    numbers: NumberedGraph,
    storage: Mapping[Entry, int],
    readers: Mapping[int, Sequence[tuple[int, int]]],
    asked: Examined,
) -> str:
    """A verdict with its blanks filled in."""
    n, pair, verdict = asked
    e_in, e_out = numbers.ins[n][pair.input], numbers.outs[n][pair.output]
    entry = numbers.entries[e_in]
    name_in, name_out = _names(numbers, n, pair)
    later = ""
    if verdict is Verdict.READ:
        later = _later(numbers, n, e_in, readers[storage[entry]])
    writer = numbers.writers.get(e_in, numbers.writers.get(e_out, n))
    return verdict.value.format(
        node=numbers.nodes[n].name,
        input=name_in,
        output=name_out,
        readers=later,
        writer=numbers.nodes[writer].name,
        input_size=numbers.sizes[e_in],
        output_size=numbers.sizes[e_out],
        input_item=numbers.itemsizes[e_in],
        output_item=numbers.itemsizes[e_out],
    )


def _later(
    numbers: NumberedGraph, n: int, e_in: int, readers: Sequence[tuple[int, int]]
) -> str:
    """Who else reads what lies in a block now: made before node n, read not before."""
    made = (
        {e: k for k, outs in enumerate(numbers.outs) for e in outs} if readers else {}
    )
    others = [(k, e) for k, e in readers if k >= n and made[e] < n]
    others.remove((n, e_in))
    names = dict.fromkeys(numbers.nodes[k].name for k, _ in others)
    words = [*names][:4] + (["others"] if len(names) > 4 else [])
    return ", ".join(words) or "the caller"


# -- blocks ----------------------------------------------------------------------------


def explain(plan: MemoryPlan) -> dict[Entry, str]:
    """For each entry, why it lies where it lies."""
    found = {}
    for entry, storage in plan.storage.items():
        if storage == EXTERNAL:
            is_variable = entry.node.op is None
            found[entry] = (
                "the caller's memory: a variable"
                if is_variable
                else "the caller's memory: it is handed out"
            )
        elif storage == DYNAMIC:
            found[entry] = "memory of its own: its size is not known beforehand"
    nodes = plan.numbers.nodes
    free: dict[int, tuple[int, int]] = {}
    for step in plan.steps:
        if step.kind == "free":
            free[step.block] = (step.before, step.node)
            continue
        assert step.entry is not None
        if step.kind == "over":
            taken = step.entry.node.inputs[plan.inplace[step.entry]]
            found[step.entry] = f"block {step.block}, over {name_of(taken)}"
        elif step.kind == "new":
            found[step.entry] = f"new block {step.block}: {_why_new(plan, step, free)}"
        else:
            _, releaser = free.pop(step.block)
            found[step.entry] = (
                f"block {step.block}, free since {nodes[releaser].name}, {_fit(step)}"
            )
    for entry in plan.unread:
        found[entry] += "; nobody reads it, so the block is free again at once"
    return found


def _fit(step: Step) -> str:
    if step.kind == "grow":
        return f"enlarged from {size_of(step.before)} to {size_of(step.after)}"
    if step.before == step.wanted:
        return "of the very size"
    return f"{size_of(step.before)} for {size_of(step.wanted)}"


def _why_new(plan: MemoryPlan, step: Step, free: Mapping[int, tuple[int, int]]) -> str:
    """Why none of the free blocks serves."""
    reach, wanted = plan.match_range, step.wanted
    if reach < 0:
        return "so MINIMX_MEMORY_PLANNER decided"
    if not reach:
        return "a match range of 0 uses no block twice"
    if not free:
        return "no block is free"
    low, high = wanted // reach, wanted * reach
    near = [k for k, (nbytes, _) in free.items() if low <= nbytes <= high]
    if not near:
        sizes = ", ".join(sorted({size_of(nbytes) for nbytes, _ in free.values()}))
        return (
            f"none of the free blocks ({sizes}) has between {size_of(low)} and "
            f"{size_of(high)}"
        )
    device = plan.numbers.devices[step.node]
    here = [k for k in near if plan.blocks[k].device == device]
    what = "colours" if here else "devices"
    return f"those that are free and fit are of other {what}"


def table(plan: MemoryPlan) -> str:
    """The plan node by node: what `MXNET_MEM_PLAN_VERBOSE_LOGGING` prints."""
    lines = []
    for node in plan.graph:
        if node.op is None:
            continue
        note = " (nothing to compute)" if node in plan.skips else ""
        lines.append(f"{node.name} = {node.op.name}{note}")
        slot = 0
        while (entry := Entry(node, slot)) in plan.storage:
            nbytes = plan.nbytes.get(entry)
            size = "" if nbytes is None else f"{size_of(nbytes)}, "
            lines.append(f"  {name_of(entry)}: {size}{plan.reasons[entry]}")
            slot += 1
        if node in plan.workspace:
            block = plan.scratch[plan.workspace[node]]
            lines.append(f"  workspace {block.id}, {size_of(block.nbytes)}")
    tried = ", ".join(f"{r}: {size_of(t)}" for r, t in plan.candidates.items())
    lines += [
        f"{len(plan.blocks)} blocks, {size_of(plan.total)}; apart, "
        f"{size_of(plan.bytes_apart)}; needed at once, {size_of(plan.peak)}",
        f"match range {plan.match_range} (tried {tried})"
        if plan.match_range >= 0
        else f"by MINIMX_MEMORY_PLANNER (sharing: {tried})",
    ]
    return "\n".join(lines) + "\n"

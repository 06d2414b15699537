"""Segments: the nodes of a graph that run as one operation of the engine.

    segment "[dot,relu]"    reads x and w from `env`, writes block 3 of the arena
        step dot            dot_kernel(env[0], env[1], arena at 0)
        step relu           relu_kernel(arena at 0, arena at 0)

A `Step` is one node with its kernel and the locations of its arguments; a `Segment` is
one or more steps, with the vars that it reads and writes and what it costs. `Launcher`
is how the kernels of a segment are launched; GPUs have one of their own. A record can
name each operator inside a segment, by the parts that `parts_of` finds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import accumulate, pairwise
from typing import Any

from minimx.core import engine, rng
from minimx.core.arrays.array import NDArray
from minimx.core.device import Device
from minimx.core.engine.costs import Part
from minimx.core.extensions import provided
from minimx.core.graph.memory.arena import Arena
from minimx.core.graph.memory.workspaces import Lease
from minimx.core.graph.passes.prepare import Prepared
from minimx.core.graph.running.joined import Bound, joined
from minimx.core.graph.values.ir import Entry, Node
from minimx.core.graph.values.specs import plan_of
from minimx.core.ops.failing import explained
from minimx.core.ops.registry import Kernel, Plan
from minimx.core.ops.spec import Cost, Spec

#: An engine operation's name is cut here, as in MXNet.
NAME_LENGTH = 127


@dataclass(frozen=True)
class Location:
    """Where a value is: in an array of the caller, or in the arena.

    outside: its index in `env`, -1 if it is in the arena. There `offset`, in bytes, is
    where it begins, and `block` the block of the memory plan in which it lies.
    """

    spec: Spec
    outside: int = -1
    block: int = -1
    offset: int = 0


class Step:
    """One node, with its kernel and where its arguments are."""

    __slots__ = (
        "__weakref__", "args", "cost", "draws", "kernel", "name", "native", "node",
        "scratch", "scratch_part", "workspace", "writes",
    )  # fmt: skip

    scratch_part: slice  # of the workspace; `Launcher.lay_out` fills it in

    def __init__(
        self,
        node: Node,
        plan: Plan,
        on_gpu: bool,
        workspace: int,
        locate: Callable[[Entry], Location],
    ) -> None:
        """on_gpu: use its CUDA kernel. locate: where the value of an entry is.

        workspace: the index of the one that it uses, if its plan has scratch memory.
        """
        assert node.op is not None
        outs = [Entry(node, slot) for slot in range(len(plan.outs))]
        on_device = plan.on_cuda if on_gpu else plan
        mutated = [node.inputs[node.op.inputs.index(name)] for name in node.op.mutates]
        self.node = node
        self.name: str = plan.name
        self.kernel: Kernel = on_device.kernel
        self.native: bool = getattr(on_device, "native", True)
        self.scratch: int = on_device.workspace
        self.workspace = workspace
        self.draws: bool = plan.needs_rng
        self.cost: Cost = plan.cost
        self.args = [locate(entry) for entry in (*node.inputs, *outs)]
        changed = [entry for entry in node.inputs if entry in mutated]
        self.writes = [locate(entry) for entry in (*outs, *changed)]


class Segment:
    """Some nodes that run as one operation of the engine."""

    def __init__(
        self, number: Any, steps: Sequence[Step], fixed: bool, launcher: Launcher
    ) -> None:
        """Lay out the steps, and note what they read and write.

        number: the segment's, a key of `Arena.bound`. steps: the nodes in their order.
        fixed: the memory that it works on stays, so that calls are built once.
        launcher: how kernels start on this device, and what that costs.
        """
        self.number = number
        self.streams = launcher.streams
        launcher.lay_out(steps)
        self.fixed = fixed
        self.steps = steps
        names = ",".join(step.name for step in self.steps)
        one = len(self.steps) == 1
        self.name = names if one else f"[{names}]"[:NAME_LENGTH]
        written = [place for step in self.steps for place in step.writes]
        read = [place for step in self.steps for place in step.args]
        self.writes = sorted({p.outside for p in written if p.outside >= 0})
        outside = {p.outside for p in read if p.outside >= 0}
        self.reads = sorted(outside - {*self.writes})
        self.outside = sorted(outside)
        self.blocks_written = {p.block for p in written if p.block >= 0}
        self.blocks_read = {p.block for p in read if p.block >= 0}
        self.blocks_read -= self.blocks_written
        self.workspaces = sorted({s.workspace for s in steps if s.scratch})
        self.draws = [step.name for step in self.steps if step.draws]
        self.parts = parts_of(steps)
        self.cost = engine.Launches([(launcher.costs(steps), False)], parts=self.parts)
        layers = {step.node.layer for step in self.steps}
        self.layer = layers.pop() if len(layers) == 1 else ""
        self.forward = self.steps[0].node.forward if one else ""
        # The vars of an arena that it reads and writes; `_share_vars` fills them in.
        self.var_reads: list[int] = []
        self.var_writes: list[int] = []

    def bind(self, arena: Arena) -> list[Bound]:
        """The calls with their arguments in the arena; those from `env` are open."""
        bound: list[Bound] = []
        draws = 0
        for step in self.steps:
            args: list[Any] = []
            outside = []
            for position, place in enumerate(step.args):
                if place.outside >= 0:
                    outside.append((position, place.outside))
                    args.append(None)
                else:
                    args.append(arena.view(place.spec, place.offset))
            drawn = -1
            if step.draws:
                drawn, draws = draws, draws + 1
            bound.append((step.kernel, args, outside, step.scratch, drawn, step))
        return joined(bound) if self.fixed else bound

    def run(
        self,
        arena: Arena,
        env: Sequence[NDArray | None],
        scratch: Lease,
        streams: Sequence[rng.Stream],
    ) -> None:
        """Run the kernels in order; in the engine, when all vars have been granted.

        env: the arrays of the caller. scratch: the workspaces of the graph. streams: of
        random numbers, for the steps that draw, in the order of `draws`.
        """
        for call in self.calls(arena):
            self.launch(call, arena, env, scratch, streams)

    def calls(self, arena: Arena) -> list[Bound]:
        """What `bind` gives for an arena, computed once for each."""
        calls: list[Bound] | None = arena.bound.get(self.number)
        if calls is None:
            calls = arena.bound[self.number] = self.bind(arena)
        return calls

    def launch(
        self,
        call: Bound,
        arena: Arena,
        env: Sequence[NDArray | None],
        scratch: Lease,
        streams: Sequence[rng.Stream],
    ) -> None:
        """Run one of the calls, on the arrays that this run has in `env`.

        The other arguments are those of `run`. What the kernel raises gets a note that
        names the node, if the segment has several.
        """
        kernel, args, outside, nbytes, drawn, step = call
        try:
            if outside or nbytes or drawn >= 0:
                args = args.copy()  # the next call may be on its way already
                for position, index in outside:
                    args[position] = env[index].view()  # type: ignore[union-attr]
                if nbytes:
                    space = scratch[step.workspace]
                    whole = space.bytes(step.scratch_part.stop, arena.owner)
                    args.append(whole[step.scratch_part])
                if drawn >= 0:
                    generator = streams[drawn].generator
                    if arena.draws is not None:
                        state = generator.bit_generator.state
                        arena.draws[self.number, drawn] = state
                    args.append(generator)
            if hasattr(kernel, "for_arrays"):  # which keeps what it makes of a weight
                kernel = kernel.for_arrays({k: env[i] for k, i in outside}, step)
            kernel(*args)
        except Exception as reason:
            if len(self.steps) > 1:
                reason.add_note(f"in {step.name}, node {step.node.name!r} of a graph")
            raise explained(step.node.op, reason)  # noqa: B904 (it has its cause)


class Launcher:
    """How a program's segments are launched: here, kernel after kernel.

    streams: on how many streams of a GPU the kernels of a segment may run at once.
    """

    streams = 1

    def lay_out(self, steps: Sequence[Step]) -> None:
        """Say where in its workspace each step has its scratch memory."""
        for step in steps:
            step.scratch_part = slice(0, step.scratch)

    def costs(self, steps: Sequence[Step]) -> list[Cost]:
        """What each launch costs."""
        return [step.cost for step in steps]

    def work(
        self, segment: Segment, arena: Arena, env: Sequence[NDArray | None], *more: Any
    ) -> tuple[Callable[[], None], Any]:
        """The function that the engine is to run for a segment, and its cost.

        more: `scratch` and `streams`, as for `Segment.run`.
        """
        return partial(segment.run, arena, env, *more), segment.cost


def launcher_for(device: Device, prepared: Prepared, fixed: bool) -> Launcher:
    """The launcher of a program on a device; GPUs have one of their own.

    fixed: the program's memory stays where it is, so that launches may be recorded.
    """
    if device.device_type != "gpu":
        return Launcher()
    records = fixed and prepared.settings.enable_cuda_graphs
    made: Launcher = provided("GPU launcher").GpuLauncher(
        device, records, bool(prepared.wanted)
    )
    return made


def parts_of(steps: Sequence[Step]) -> tuple[Part, ...]:
    """The operators inside of some steps, in order; none if there is only one."""
    found = [part for step in steps for part in _of(step)]
    return tuple(found) if len(found) > 1 else ()


def _of(step: Step) -> Iterator[Part]:
    """A step's operators. Those of a fused one share the bytes that its loop moves.

    Each gets as much of them as it would have moved alone, in proportion.
    """
    op: Any = step.node.op
    cost = step.cost
    if not op.operators:
        yield Part(step.name, step.node.layer, cost.flops, cost.bytes_moved, cost.dtype)
        return
    nodes = op.operators
    alone = [plan_of(node, op.known).cost for node in nodes]
    wanted = max(sum(each.bytes_moved for each in alone), 1)
    reached = accumulate((each.bytes_moved for each in alone), initial=0)
    shares = pairwise(cost.bytes_moved * upto // wanted for upto in reached)
    for node, each, (start, end) in zip(nodes, alone, shares, strict=True):
        layer = node.layer or step.node.layer
        name = node.op.name if node.op else ""
        yield Part(name, layer, each.flops, end - start, each.dtype)

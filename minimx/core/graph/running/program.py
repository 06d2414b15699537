"""Program: a prepared graph on a device, ready to be run again and again.

    program = Program(prepared, device)
    arena = program.arena()                 # memory for one run
    program.forward(arena, env)             # pushes to the engine, does not wait
    program.backward(arena, env)

Everything that can be settled once is: which kernel runs on which parts of the arena,
which nodes are joined into one operation of the engine, and which vars it touches. What
differs from call to call stands in `env`: the arrays of variables, head gradients,
outputs and gradients, in that order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

from minimx.core import engine, events, rng
from minimx.core.arrays.array import NDArray
from minimx.core.device import Device
from minimx.core.drivers import backend_of, kernels_as_on
from minimx.core.engine.origin import capture
from minimx.core.events import attribute, attribution, owner
from minimx.core.extensions import provided
from minimx.core.graph.memory.arena import Arena, Ground
from minimx.core.graph.memory.workspaces import Lease, Workspace, Workspaces, workspaces
from minimx.core.graph.passes.prepare import Prepared
from minimx.core.graph.running import bulk
from minimx.core.graph.running.joined import Bound, joined
from minimx.core.graph.running.log import announce
from minimx.core.graph.running.work import parts_of
from minimx.core.graph.values.ir import Entry, Node
from minimx.core.graph.values.specs import plan_of
from minimx.core.ops.registry import Kernel
from minimx.core.ops.spec import Cost, Spec

#: An engine operation's name is cut here, as in MXNet.
NAME_LENGTH = 127


class Step:
    """One node, settled: its kernel, and where its arguments are."""

    __slots__ = (
        "args", "cost", "draws", "kernel", "name", "native", "node", "room", "scratch",
        "workspace", "writes",
    )  # fmt: skip

    room: slice  # its part of the workspace; `Launcher.lay_out` fills it in

    def __init__(self, program: Program, node: Node) -> None:
        assert node.op is not None
        plan = plan_of(node, program.specs, kernels_as_on(program.device))
        outs = [Entry(node, slot) for slot in range(len(plan.outs))]
        self.node = node
        self.name: str = plan.name
        way = plan if backend_of(program.device) == "cpu" else plan.on_cuda
        self.kernel: Kernel = way.kernel
        self.native: bool = getattr(way, "native", True)
        self.scratch: int = way.workspace
        self.workspace = program.plan.workspace.get(node, 0)
        self.draws: bool = plan.needs_rng
        self.cost: Cost = plan.cost
        self.args = [program.place(entry) for entry in (*node.inputs, *outs)]
        changed = [e for e in node.inputs if e in _changed(node)]
        self.writes = [program.place(entry) for entry in (*outs, *changed)]


def _changed(node: Node) -> list[Entry]:
    """The inputs that a node really writes to, with the settings it has."""
    assert node.op is not None
    return [node.inputs[node.op.inputs.index(word)] for word in node.op.mutates]


@dataclass(frozen=True)
class Place:
    """Where a value is: `outside` counts in `env`, or it is a part of the arena.

    block: which part of the plan, the unit in which the engine orders access.
    """

    spec: Spec
    outside: int = -1
    block: int = -1
    offset: int = 0


class Segment:
    """Some nodes that run as one operation of the engine."""

    def __init__(
        self, number: Any, steps: Sequence[Step], fixed: bool, launcher: Launcher
    ) -> None:
        """fixed: the memory that it works on stays, so that calls are built once."""
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
        """The calls with their arguments, as far as they are in the arena."""
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
        """Run the kernels; in the engine, when all vars have been granted."""
        for call in self.calls(arena):
            self.launch(call, arena, env, scratch, streams)

    def calls(self, arena: Arena) -> list[Bound]:
        """What `bind` found for an arena: on a CUDA device one call for each step."""
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
        """Run one of the calls, on the arrays that this run has brought."""
        kernel, args, outside, nbytes, drawn, step = call
        try:
            if outside or nbytes or drawn >= 0:
                args = args.copy()  # the next call may be on its way already
                for position, index in outside:
                    args[position] = env[index].view()  # type: ignore[union-attr]
                if nbytes:
                    space = scratch[step.workspace]
                    whole = space.bytes(step.room.stop, arena.owner)
                    args.append(whole[step.room])
                if drawn >= 0:
                    generator = streams[drawn].generator
                    if arena.draws is not None:
                        state = generator.bit_generator.state
                        arena.draws[self.number, drawn] = state
                    args.append(generator)
            kernel(*args)
        except BaseException as error:
            if len(self.steps) > 1:
                error.add_note(f"in {step.name}, node {step.node.name!r} of a graph")
            raise


class Launcher:
    """How a program's segments are launched: here, kernel after kernel.

    streams: on how many streams of a GPU the kernels of a segment may run at once.
    """

    streams = 1

    def lay_out(self, steps: Sequence[Step]) -> None:
        """Say where in its workspace each step has its scratch memory."""
        for step in steps:
            step.room = slice(0, step.scratch)

    def costs(self, steps: Sequence[Step]) -> list[Cost]:
        """What each launch costs."""
        return [step.cost for step in steps]

    def work(
        self, segment: Segment, arena: Arena, env: Sequence[NDArray | None], *more: Any
    ) -> tuple[Callable[[], None], Any]:
        """What the engine runs for a segment, and what that costs."""
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


class Program:
    """A prepared graph on one device."""

    def __init__(
        self,
        prepared: Prepared,
        device: Device,
        fixed: bool = False,
        shared: list[Workspace] | None = None,
    ) -> None:
        """Settle all that can be settled; makes the kernels.

        fixed: its memory stays where it is, so that launches may be recorded. shared:
        the workspaces of programs that never run beside this one.
        """
        self.prepared = prepared
        self.device = device
        self._launcher = launcher_for(device, prepared, fixed)
        self.specs = prepared.specs
        self.plan = prepared.plan
        announce(prepared.graph, self.specs, self.plan)
        blocks = prepared.plan.blocks
        self.nbytes = max([block.offset + block.nbytes for block in blocks], default=0)
        self._outside = {entry: i for i, entry in enumerate(prepared.external)}

        def segments(half: str, joined: Sequence[bulk.Segment]) -> list[Segment]:
            found = []
            for number, nodes in enumerate(group.nodes for group in joined):
                busy = [node for node in nodes if node not in self.plan.skips]
                steps = [Step(self, node) for node in busy]
                found.append(Segment((half, number), steps, fixed, self._launcher))
            return found

        self._forward = segments("forward", prepared.forward)
        self._backward = segments("backward", prepared.backward)
        self._every: Workspaces | None = None
        self._scratch = Lease([])
        self._shared = shared
        self._parts = _share_vars([*self._forward, *self._backward])

    def place(self, entry: Entry) -> Place:
        """Where a value is."""
        spec = self.specs[entry]
        outside = self._outside.get(entry)
        if outside is not None:
            return Place(spec, outside)
        return Place(spec, -1, self.plan.storage[entry], self.plan.offsets[entry])

    def arena(self, ground: Ground | None = None) -> Arena:
        """Memory for a run, asked for on behalf of whoever works on this thread."""
        return Arena(self.device, self.nbytes, self._parts, owner("arena"), ground)

    @property
    def draws(self) -> list[tuple[Any, int]]:
        """The draws of the forward half, in order; the keys of `Arena.draws`."""
        return [(s.number, k) for s in self._forward for k in range(len(s.draws))]

    def forward(self, arena: Arena, env: Sequence[NDArray | None]) -> int:
        """Push the forward half; the id of its last operation while recording."""
        arena.enter()
        arena.op_ids.clear()
        return self._push(self._forward, arena, env)

    def backward(self, arena: Arena, env: Sequence[NDArray | None]) -> int:
        """Push the backward half; it overwrites what the forward half has kept."""
        return self._push(self._backward, arena, env)

    def copied(self, arena: Arena) -> Arena:
        """Another arena with the same contents, once they are there."""
        twin = self.arena()
        copy: Callable[[], None] = partial(twin.fill_from, arena)
        cost = Cost(0, 2 * arena.nbytes)
        engine.push(copy, self.device, arena.vars, twin.vars, "keep arena", cost=cost)
        return twin

    def _workspaces(self) -> Lease:
        """The workspaces of this graph: as many as its plan asks for, in turn.

        As in MXNet a graph keeps to those that it got, until their number changes.
        """
        wanted = len(self.plan.scratch)
        if wanted:
            every = workspaces(self.device)
            if every is not self._every:
                self._every = every
                self._scratch = every.take(wanted, self._shared)
        return self._scratch

    def _push(
        self,
        segments: Sequence[Segment],
        arena: Arena,
        env: Sequence[NDArray | None],
    ) -> int:
        origin = attribution.origin or capture()
        scratch = self._workspaces()
        push, device, parts = engine.current.push, self.device, arena.vars
        op_id = 0
        for segment in segments:
            reads: list[Any] = [env[i].chunk for i in segment.reads]  # type: ignore[union-attr]
            writes: list[Any] = [env[i].chunk for i in segment.writes]  # type: ignore[union-attr]
            reads += [parts[i] for i in segment.var_reads]
            writes += [parts[i] for i in segment.var_writes]
            writes += [scratch[i].var for i in segment.workspaces]
            streams = [rng.next_stream(device, name) for name in segment.draws]
            for stream in streams:
                stream.var = stream.var or engine.Var()
                writes.append(stream.var)
            run, cost = self._launcher.work(segment, arena, env, scratch, streams)
            operation = (
                run,
                device,
                reads,
                writes,
                segment.name,
                0,
                engine.SEGMENT,
                cost,
                origin,
            )
            if events.recorder is None:
                push(*operation)
                continue
            with _on_behalf(segment, arena):
                op_id = push(*operation)
            for step in segment.steps:
                arena.op_ids[step.node.name] = op_id
        return op_id


@contextmanager
def _on_behalf(segment: Segment, arena: Arena) -> Iterator[None]:
    """Work for the layer that wrote a segment's nodes down, inside the block."""
    at = attribution
    before, forward_op = (at.layer, at.phase, at.category), at.forward_op
    if segment.layer:
        attribute(segment.layer, at.phase, at.category)
    at.forward_op = arena.op_ids.get(segment.forward, 0)
    try:
        yield
    finally:
        attribute(*before)
        at.forward_op = forward_op


def _share_vars(segments: Sequence[Segment]) -> int:
    """Give every segment the vars of the blocks that it touches; how many there are.

    Blocks that the same segments read and the same segments write are ordered by one
    var: the engine would treat two alike.
    """
    uses: dict[int, list[tuple[int, bool]]] = {}
    for number, segment in enumerate(segments):
        for block in segment.blocks_read:
            uses.setdefault(block, []).append((number, False))
        for block in segment.blocks_written:
            uses.setdefault(block, []).append((number, True))
    vars_: dict[tuple[tuple[int, bool], ...], int] = {}
    for found in uses.values():
        vars_.setdefault(tuple(sorted(found)), len(vars_))
    for pairs, var in vars_.items():
        for number, written in pairs:
            segment = segments[number]
            (segment.var_writes if written else segment.var_reads).append(var)
    return len(vars_)

"""Program: a prepared graph on a device, ready to be run many times.

    program = Program(prepared, device)
    arena = program.arena()                 # memory for one run
    env = [x, w, dy, y, dx, dw]             # arrays of the caller, see below
    program.forward(arena, env)             # pushes to the engine, does not wait
    program.backward(arena, env)

Whatever can be decided once is: which kernel runs on which parts of the arena, which
nodes are joined into one operation of the engine (a `Segment`), and which vars it
touches. What differs from call to call is in `env`: an array for each of
`prepared.external`, that is for variables, head gradients, outputs and gradients, in
that order. All other values are in the arena. The engine orders access to it by vars:
one for each set of blocks that the same segments use (`_share_vars`).

`cached_op.py` calls programs for hybridized blocks, `bound.py` for executors.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

from minimx.core import engine, events
from minimx.core.arrays.array import NDArray
from minimx.core.arrays.launch import take_stream
from minimx.core.device import Device
from minimx.core.drivers import backend_of, kernels_as_on
from minimx.core.engine.origin import capture
from minimx.core.events import attribute, attribution, owner
from minimx.core.extensions import provided
from minimx.core.graph.memory.arena import Arena, SharedMemory
from minimx.core.graph.memory.workspaces import Lease, Workspace, Workspaces, workspaces
from minimx.core.graph.passes.prepare import Prepared
from minimx.core.graph.running import bulk
from minimx.core.graph.running.segments import Location, Segment, Step, launcher_for
from minimx.core.graph.values.ir import Entry, Node
from minimx.core.graph.values.specs import plan_of
from minimx.core.knobs import knobs
from minimx.core.ops.spec import Cost

#: Knobs that print a graph, or the plan of its memory, when it is made ready.
PRINTED = ("MXNET_EXEC_VERBOSE_LOGGING", "MXNET_MEM_PLAN_VERBOSE_LOGGING")


class Program:
    """A prepared graph on one device."""

    def __init__(
        self,
        prepared: Prepared,
        device: Device,
        fixed: bool = False,
        shared: list[Workspace] | None = None,
    ) -> None:
        """Decide what can be decided before a run; makes the kernels.

        fixed: its memory stays where it is, so that launches may be recorded. shared:
        the workspaces of programs that never run at the same time as this one.
        """
        self.prepared = prepared
        self.device = device
        self._launcher = launcher_for(device, prepared, fixed)
        self.specs = prepared.specs
        self.plan = prepared.plan
        if any(map(knobs.get, PRINTED)):
            provided("graph texts").announce(prepared.graph, self.specs, self.plan)
        blocks = prepared.plan.blocks
        self.nbytes = max([block.offset + block.nbytes for block in blocks], default=0)
        self._outside = {entry: i for i, entry in enumerate(prepared.external)}

        def segments(half: str, joined: Sequence[bulk.Segment]) -> list[Segment]:
            found = []
            for number, nodes in enumerate(group.nodes for group in joined):
                computed = [node for node in nodes if node not in self.plan.skips]
                steps = [self._step(node) for node in computed]
                found.append(Segment((half, number), steps, fixed, self._launcher))
            return found

        self._forward = segments("forward", prepared.forward)
        self._backward = segments("backward", prepared.backward)
        self._every: Workspaces | None = None
        self._scratch = Lease([])
        self._shared = shared
        self._parts = _share_vars([*self._forward, *self._backward])

    def _step(self, node: Node) -> Step:
        """A node with its kernel for this device."""
        plan = plan_of(node, self.specs, kernels_as_on(self.device))
        on_gpu = backend_of(self.device) != "cpu"
        workspace = self.plan.workspace.get(node, 0)
        return Step(node, plan, on_gpu, workspace, self.locate)

    def locate(self, entry: Entry) -> Location:
        """Where a value is: in the arena, or its index in `env`."""
        spec = self.specs[entry]
        outside = self._outside.get(entry)
        if outside is not None:
            return Location(spec, outside)
        return Location(spec, -1, self.plan.storage[entry], self.plan.offsets[entry])

    def arena(self, shared: SharedMemory | None = None) -> Arena:
        """Memory for a run, allocated when it starts; its owner is the current layer.

        shared: memory that it takes in turns with other arenas.
        """
        return Arena(self.device, self.nbytes, self._parts, owner("arena"), shared)

    @property
    def draws(self) -> list[tuple[Any, int]]:
        """The draws of random numbers of the forward half, as keys of `Arena.draws`."""
        return [(s.number, k) for s in self._forward for k in range(len(s.draws))]

    def forward(self, arena: Arena, env: Sequence[NDArray | None]) -> int:
        """Push the forward half; returns the id of its last operation while recording.

        arena: memory for one run, from `arena()`. env: the arrays that are not in it,
        see above; None for those of the backward half.
        """
        arena.enter()
        arena.op_ids.clear()
        return self._push(self._forward, arena, env)

    def backward(self, arena: Arena, env: Sequence[NDArray | None]) -> int:
        """Push the backward half, with the arena and env of a forward half.

        It overwrites what the forward half has kept, so it runs once for each forward;
        for a second time, give it an arena that is `copied` first.
        """
        return self._push(self._backward, arena, env)

    def copied(self, arena: Arena) -> Arena:
        """Another arena, to which the contents of this one are copied by the engine."""
        other = self.arena()
        copy: Callable[[], None] = partial(other.fill_from, arena)
        cost = Cost(0, 2 * arena.nbytes)
        engine.push(copy, self.device, arena.vars, other.vars, "keep arena", cost=cost)
        return other

    def _workspaces(self) -> Lease:
        """The workspaces of this graph, as many as its plan has.

        As in MXNet a graph keeps those that it got, until the number of workspaces of
        the device changes.
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
            streams = [take_stream(device, name, writes) for name in segment.draws]
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
            with _attributed_to(segment, arena):
                op_id = push(*operation)
            for step in segment.steps:
                arena.op_ids[step.node.name] = op_id
        return op_id


@contextmanager
def _attributed_to(segment: Segment, arena: Arena) -> Iterator[None]:
    """Attribute what is pushed inside the `with` block to the segment's layer."""
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
    """Give every segment the vars of the blocks that it touches; returns their number.

    Blocks that the same segments read and the same segments write get one var: with two
    the engine would order the same segments in the same way, at twice the cost.
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

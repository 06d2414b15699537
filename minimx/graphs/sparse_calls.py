"""Nodes of a graph with sparse arrays as calls, and those that are joined.

    segment = Segment([Call(node, specs, places, device), …], same)
    segment.push(env, device)          # env: an array for every place

A `Call` is one node with its kernel, as its plan has it or a sparse rule; a `Segment`
is some that the engine runs as one operation. `SparseWriter` makes the nodes of a
gradient, in the storage types in which the tape would compute it. `sparse_runs.py` puts
them together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from minimx.core import engine, events, rng
from minimx.core.arrays import launch
from minimx.core.device import Device
from minimx.core.engine.costs import Launches, Part
from minimx.core.events import attribution, owner
from minimx.core.graph.passes.prepare import Unplanned
from minimx.core.graph.running.segments import NAME_LENGTH
from minimx.core.graph.values.ir import Entry, Node
from minimx.core.graph.values.specs import Specs
from minimx.core.graph.values.traced import Writer
from minimx.core.ops.failing import explained
from minimx.core.ops.registry import Op, Plan
from minimx.core.ops.spec import Cost, Spec
from minimx.core.ops.stypes import SparseSpec
from minimx.core.storage import pool_for
from minimx.core.storage.pool import Block
from minimx.nd.sparse import route
from minimx.operators.sparse import Answer, answer


def planned(op: Op, specs: tuple[Spec, ...]) -> Plan | Answer:
    """How a call with these inputs is computed, by its plan or by a sparse rule."""
    plan = op.plan(specs)
    if plan.eager is None:
        return plan
    found = answer(op, specs) if plan.eager is SparseSpec.eager else None
    if found is None:
        raise Unplanned(f"{op.name} has no sparse kernel for {specs}")
    return found


class SparseWriter(Writer):
    """Writes the nodes of a gradient down, sparse ones too."""

    def apply(
        self, op: Op, inputs: Sequence[Entry], remarks: Mapping[str, str] | None = None
    ) -> Node:
        """A new node; see `Writer.apply`. Raises `Unplanned` for one without a rule."""
        found = planned(op, tuple([self.specs[entry] for entry in inputs]))
        of = self.forward
        whose = ("", "") if of is None else (of.layer, of.name)
        node = Node(op, inputs, self.unused(self.name), remarks, (), *whose)
        self.specs |= {Entry(node, k): spec for k, spec in enumerate(found.outs)}
        self.made.append(node)
        return node


class Call:
    """One node: its kernel, and where in `env` its inputs and outputs are."""

    def __init__(
        self, node: Node, specs: Specs, places: Mapping[Entry, int], device: Device
    ) -> None:
        assert node.op is not None
        op = node.op.for_device(device.device_type) if node.op.for_device else node.op
        self.op: Op = op
        self.node, self.name, self._device = node, op.name, device
        ins = tuple([specs[entry] for entry in node.inputs])
        found = planned(op, ins)
        self.rule = found if isinstance(found, Answer) else None
        # Where the operator keeps what was found.
        self._key: Any = ins if self.rule is None else (ins,)
        self._found, self.kernel = found, found.kernel
        self.inputs = [places[entry] for entry in node.inputs]
        self.outs = [places[Entry(node, k)] for k in range(len(found.outs))]
        self.args = [*self.inputs, *self.outs]
        self.mutated = [self.inputs[op.inputs.index(name)] for name in op.mutates]
        self.writes = [*self.outs, *self.mutated]
        self.draws = found.needs_rng if isinstance(found, Plan) else op.needs_rng
        self.scratch: int = found.workspace if isinstance(found, Plan) else 0
        self._cost = found.cost if isinstance(found, Plan) else None

    @property
    def holds(self) -> bool:
        """Whether the operator would still be computed in this way.

        A knob that plans depend on makes operators forget them all.
        """
        return self.op.plans.get(self._key) is self._found

    def cost(self, env: Sequence[Any]) -> Cost:
        """What it costs; of a sparse one, as far as that is known."""
        if self._cost is not None:
            return self._cost
        assert self.rule is not None
        inputs, outs = [env[i] for i in self.inputs], [env[i] for i in self.outs]
        return route.cost_of(self.rule, inputs, outs)

    def run(self, env: Sequence[Any], stream: rng.Stream | None) -> None:
        """Compute; inside the engine. stream: of random numbers, if it draws any."""
        if self.rule is not None:
            inputs, outs = [env[i] for i in self.inputs], [env[i] for i in self.outs]
            rewritten = [env[i].chunk for i in self.mutated if env[i].spec.eager]
            kernel = route.drawing(self.kernel, stream) if stream else self.kernel
            route.compute(kernel, inputs, outs, rewritten)
            return
        scratch: Block | None = None
        try:
            args = [env[i].view() for i in self.args]
            if self.scratch:
                who = owner(self.name).for_category("workspace")
                scratch = pool_for(self._device).alloc(self.scratch, who)
                args.append(scratch.data[: self.scratch])
            if stream is not None:
                args.append(stream.generator)
            self.kernel(*args)
        except Exception as reason:
            reason.add_note(f"in {self.name}, node {self.node.name!r} of a graph")
            raise explained(self.op, reason)  # noqa: B904 (it has its cause)
        finally:
            if scratch is not None:
                scratch.free()


class Segment:
    """Some calls that are one operation of the engine."""

    def __init__(self, calls: Sequence[Call], same: Sequence[int]) -> None:
        """same: for each place the first one with the same memory."""
        self.calls = calls
        self.drawing = [call for call in calls if call.draws]
        names = ",".join(call.name for call in calls)
        self.name = names if len(calls) == 1 else f"[{names}]"[:NAME_LENGTH]
        written = {same[i] for call in calls for i in call.writes}
        self.writes = sorted(written)
        self.reads = sorted({same[i] for call in calls for i in call.args} - written)

    def push(self, env: Sequence[Any], device: Device) -> None:
        """Hand it to the engine. env: an array for every place."""
        reads: list[Any] = [env[i].chunk for i in self.reads]
        writes: list[Any] = [env[i].chunk for i in self.writes]
        streams = {}
        for call in self.drawing:
            streams[call] = launch.take_stream(device, call.name, writes)

        def run() -> None:
            for call in self.calls:
                call.run(env, streams.get(call))

        cost, origin = self._cost(env), attribution.origin
        engine.current.push(
            run, device, reads, writes, self.name, 0, engine.SEGMENT, cost, origin
        )

    def _cost(self, env: Sequence[Any]) -> Launches:
        costs = [call.cost(env) for call in self.calls]
        parts: tuple[Part, ...] = ()
        if events.recorder is not None and len(costs) > 1:
            parts = tuple(
                Part(call.name, call.node.layer, one.flops, one.bytes_moved, one.dtype)
                for call, one in zip(self.calls, costs, strict=True)
            )
        return Launches([(costs, False)], parts=parts)

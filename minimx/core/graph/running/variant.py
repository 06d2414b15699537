"""A program and its memory, for one combination of shapes, device and mode.

    variant = Variant(Program(prepared, device))
    call, outputs = variant.call(inputs)                        # the forward half
    variant.gradients(call, head_grads, targets, retain)        # the backward half

A `Call` is what the backward half needs of a forward half: its arena, and the arrays
that went in and came out. With `static_alloc` arenas and outputs are kept for the next
call. A call that is recorded holds its arena until backward has used it, so a second
call before that gets a second arena, as in MXNet.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from minimx.core import autograd, rng
from minimx.core.arrays.array import NDArray
from minimx.core.arrays.chunk import Chunk
from minimx.core.autograd.tape import saved
from minimx.core.device import Device
from minimx.core.events import Owner, owner
from minimx.core.graph.memory.arena import Arena
from minimx.core.graph.running.program import Program
from minimx.core.graph.values.ir import Entry
from minimx.core.ops.spec import Spec
from minimx.core.storage.pool import Block


class FreeList:
    """Idle blocks for one output of a graph; freed with the list."""

    __slots__ = ("blocks",)

    def __init__(self) -> None:
        self.blocks: deque[Block] = deque()

    def __del__(self) -> None:
        for block in self.blocks:
            block.free()


class KeptChunk(Chunk):
    """Memory of an array that goes back to a free list, not to the pool."""

    __slots__ = ("free_list",)

    def __init__(
        self, device: Device, nbytes: int, who: Owner, free_list: FreeList
    ) -> None:
        super().__init__(device, nbytes, who)
        self.free_list = free_list

    def memory(self) -> Any:
        """The bytes: a block of the free list if there is one, else from the pool."""
        if self.block is None and self.free_list.blocks:
            try:
                self.block = self.free_list.blocks.popleft()
            except IndexError:  # another thread took the last one
                return super().memory()
        return super().memory()

    def __del__(self) -> None:
        block = getattr(self, "block", None)
        if block is not None:
            self.block = None
            self.free_list.blocks.append(block)


class Call:
    """One call: what went in, what came out, and the memory of the values between.

    The tape saves it, as it saves arrays (`_neutral`). It holds aliases of arrays that
    are not on the tape, so that the tape does not hold itself.
    """

    __slots__ = (
        "arena", "device", "env", "kept", "op_id", "training", "variant",
    )  # fmt: skip

    def __init__(self, variant: Variant) -> None:
        self.variant = variant
        self.device = variant.program.device
        self.training = autograd.state.training
        self.arena: Arena | None = None
        self.env: list[NDArray | None] = []
        self.kept: list[Any] = []
        self.op_id = 0

    def _neutral(self) -> Call:
        return self

    def blocks(self) -> list[Any]:
        """The memory that it holds: its arena, and the chunks of its outputs."""
        outs = [self.env[place] for place in self.variant.outs]
        arena = [] if self.arena is None else [self.arena]
        return [*arena, *[out.chunk for out in outs if out is not None]]

    @contextmanager
    def draws(self) -> Iterator[None]:
        """Inside the `with` block, random operators repeat the numbers of this call."""
        wanted = self.variant.program.draws
        if not wanted:
            yield
            return
        for place in self.variant.outs:
            out = self.env[place]
            assert out is not None
            out.wait_to_read()
        assert self.arena is not None
        assert self.arena.draws is not None
        states = [self.arena.draws[key] for key in wanted]
        with rng.replaying(self.device, states):
            yield

    def __del__(self) -> None:
        arena = getattr(self, "arena", None)
        if arena is not None and self.variant.static_alloc:
            self.variant.idle.append(arena)


class Variant:
    """A program that is called with arrays and gives arrays."""

    def __init__(
        self, program: Program, static_alloc: bool = False, static_shape: bool = False
    ) -> None:
        self.program = program
        self.prepared = prepared = program.prepared
        self.static_alloc = static_alloc
        self.static_shape = static_shape
        self.idle: list[Arena] = []
        index = {entry: i for i, entry in enumerate(prepared.external)}
        self._inputs = len(prepared.variables)
        self.outs = [index[entry] for entry in prepared.outputs]
        self._grads = [index[entry] for entry in prepared.gradients]
        self._heads = [index[Entry(node)] for node in prepared.head_grads]
        read = {*prepared.graph.nodes}
        self._reads = [node in read for node in prepared.head_grads]
        self._specs = [prepared.specs.get(entry) for entry in prepared.external]
        self._free_lists = [FreeList() for _ in prepared.external]
        self._classes = [self._class_of(entry) for entry in prepared.outputs]
        # Where gradients go among the variables.
        order = {node: i for i, node in enumerate(prepared.variables)}
        self._wanted = [order[node] for node in prepared.wanted]

    def _class_of(self, entry: Entry) -> int:
        """The variable whose class (of `nd` or `np`) an output gets; -1 if none has.

        As with operators that are called, it is the class of the first input.
        """
        node = entry.node
        while node.op is not None and node.inputs:
            node = node.inputs[0].node
        given = self.prepared.variables
        return given.index(node) if node in given else -1

    def fits(self, flows: Sequence[bool]) -> bool:
        """Whether the backward half is planned for gradients of just these outputs.

        One on which no wanted gradient depends may have a gradient or none.
        """
        planned = self.prepared.flows
        return flows == planned or all(
            now == then or (then and not read)
            for now, then, read in zip(flows, planned, self._reads, strict=True)
        )

    def call(self, inputs: Sequence[NDArray]) -> tuple[Call, list[NDArray]]:
        """Push the forward half; returns the call, and the outputs.

        inputs: an array for each of `prepared.variables`, of the specs that the program
        was prepared for. An output that is an input gives an alias of that array.
        """
        call, outputs = Call(self), []
        env: list[NDArray | None] = [None] * len(self._specs)
        env[: self._inputs] = inputs
        for place, origin in zip(self.outs, self._classes, strict=True):
            kind = NDArray if origin < 0 else type(inputs[origin])
            found = env[place]
            if found is None:
                spec = self._specs[place]
                assert spec is not None
                env[place] = made = self._new(place, spec, kind)
                outputs.append(made)
            else:  # an input that goes through, or the same output once more
                outputs.append(found._alias())
        call.arena = arena = self._arena()
        arena.draws = {} if self.prepared.wanted else None
        call.op_id = self.program.forward(arena, env)
        if self.prepared.wanted:
            call.env = [None if x is None else x._alias() for x in env]
            given = [(i, x) for i, x in enumerate(env) if x is not None]
            # Not the arrays themselves: outputs know the node that will hold this call.
            call.kept = [(i, saved(x, self._inputs - 1 - i)[2]) for i, x in given]
        return call, outputs

    def gradients(
        self,
        call: Call,
        douts: Sequence[NDArray | None],
        targets: Sequence[NDArray | None],
        retain: bool,
    ) -> list[NDArray | None]:
        """Push the backward half; the gradients of all variables, None where unwanted.

        douts: the gradients of the outputs. targets: for each variable an array to
        write its gradient to, or None for a new one; or no targets at all. retain:
        backward will be run once more, so that a copy of the arena is used.
        """
        assert call.arena is not None
        env: list[Any] = call.env.copy()
        for place, kept in call.kept:
            if kept is not None and kept.chunk is not env[place].chunk:
                env[place] = env[place]._at(kept.chunk)
        for place, dout in zip(self._heads, douts, strict=True):
            spec = self._specs[place]
            if spec is not None and dout is not None and dout.spec is not spec:
                dout = dout.astype(spec.dtype)
            env[place] = dout
        found: list[NDArray | None] = [None] * self._inputs
        for place, which in zip(self._grads, self._wanted, strict=True):
            array = env[place]
            if array is None:
                spec = self._specs[place]
                assert spec is not None
                target = targets[which] if targets else None
                if target is None or target.spec is not spec:
                    target = self._new(place, spec, NDArray)
                array = env[place] = target._neutral()
            found[which] = array
        arena = self.program.copied(call.arena) if retain else call.arena
        self.program.backward(arena, env)
        return found

    def _arena(self) -> Arena:
        if self.static_alloc:
            try:
                return self.idle.pop()
            except IndexError:
                pass
        return self.program.arena()

    def _new(self, place: int, spec: Spec, kind: type[NDArray]) -> NDArray:
        device, who = self.program.device, owner("_CachedOp")
        if self.static_alloc:
            free_list = self._free_lists[place]
            return kind(KeptChunk(device, spec.nbytes, who, free_list), spec)
        return kind(Chunk(device, spec.nbytes, who), spec)

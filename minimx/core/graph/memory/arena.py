"""The memory of one run of a program: one block, and a var for each part of it.

    arena = program.arena()
    arena.view(spec, offset)        # an array in it, for a kernel
    arena.vars                      # what orders operations on its parts

The memory plan says what lies at which offset. The block is taken from the pool when
the first operation of the run needs it, and goes back when the arena is deleted, that
is with the last operation, call or tape that holds it. A program with static memory
keeps its arenas between calls, and with them everything that was bound to them.
"""

from __future__ import annotations

import threading
from typing import Any

from minimx.core import engine
from minimx.core.device import Device
from minimx.core.drivers import shaped, working
from minimx.core.drivers.copies import copyto
from minimx.core.engine import Var
from minimx.core.events import Owner
from minimx.core.ops.spec import Spec
from minimx.core.storage import pool_for
from minimx.core.storage.pool import Block


class ArenaBlock:
    """A block of a pool that several arenas may hold; freed when none does any more."""

    __slots__ = ("block",)

    def __init__(self, block: Block) -> None:
        self.block = block

    def __del__(self) -> None:
        self.block.free()


class SharedMemory:
    """Memory that arenas take turns to use, as executors with `shared_exec` do.

    What one has computed is lost when the next one begins.
    """

    __slots__ = ("_last", "_held", "_lock")

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._held: ArenaBlock | None = None
        self._last: list[Var] = []

    def block(self, device: Device, nbytes: int, owner: Owner) -> ArenaBlock:
        """Memory of at least `nbytes` bytes; a larger block replaces a smaller one.

        The old block goes back to the pool with its last arena. owner: what a record
        says of the block. Raises OutOfMemory if the pool has no more.
        """
        with self._lock:
            held = self._held
            if held is None or held.block.size < nbytes:
                block = pool_for(device).alloc(nbytes, owner)
                held = self._held = ArenaBlock(block)
            return held

    def enter(self, arena: Arena) -> None:
        """Let an arena begin after the one that used the memory last is done."""
        last, self._last = self._last, arena.vars
        if last and last is not arena.vars:
            both = [*last, *arena.vars]
            engine.push(_nothing, arena.device, (), both, "hand over arena")


def _nothing() -> None:
    """Only the order matters."""


class Arena:
    """`nbytes` of a device's memory for the values inside a graph.

    vars: one for each part that the engine orders the access to; parts: how many.
    bound: by segment, the calls of kernels with their arguments in this memory. op_ids:
    by name of a node, the recorded operation that computed it, while a record is on.
    captures: by segment, what CUDA has captured of its launches. draws: by draw, the
    state of the random stream before it, for a second run with the same numbers; None
    if no backward half follows.
    """

    __slots__ = (
        "__weakref__",
        "_shared",
        "_held",
        "_lock",
        "bound",
        "captures",
        "device",
        "draws",
        "nbytes",
        "op_ids",
        "owner",
        "vars",
    )

    def __init__(
        self,
        device: Device,
        nbytes: int,
        parts: int,
        owner: Owner,
        shared: SharedMemory | None = None,
    ) -> None:
        self._shared = shared
        self._held: ArenaBlock | None = None
        self._lock = threading.Lock()
        self.device = device
        self.nbytes = nbytes
        self.owner = owner
        self.vars = [Var() for _ in range(parts)]
        self.bound: dict[Any, Any] = {}
        self.op_ids: dict[str, int] = {}
        self.captures: dict[Any, Any] = {}
        self.draws: dict[Any, Any] | None = None

    def enter(self) -> None:
        """Wait, in the engine, for the arena that has used shared memory before.

        Called before each run is pushed.
        """
        if self._shared is not None:
            self._shared.enter(self)

    def view(self, spec: Spec, offset: int) -> Any:
        """A part of the memory as an array; for code that runs in the engine.

        spec: shape and element type; offset: in bytes from the arena's beginning.
        """
        return shaped(self._memory(), spec.shape, spec.dtype, offset)

    def _memory(self) -> Any:
        held = self._held
        if held is None:
            with self._lock:  # operations on different parts may begin together
                held = self._held
                if held is None:
                    held = self._held = self._allocate()
                    for var in self.vars:
                        var.block = held.block
        return held.block.data

    def _allocate(self) -> ArenaBlock:
        if self._shared is not None:
            return self._shared.block(self.device, self.nbytes, self.owner)
        return ArenaBlock(pool_for(self.device).alloc(self.nbytes, self.owner))

    def fill_from(self, other: Arena) -> None:
        """Copy every byte of another arena of the same size."""
        mine, its = self._memory(), other._memory()
        whole = (self.nbytes,), "uint8", 0
        with working(self.device):
            copyto(shaped(mine, *whole), shaped(its, *whole))

"""The memory of one run of a program: one block, and a var for each part of it.

The block is taken from the pool when the first operation of the run needs it, and goes
back when the last one who holds the arena lets go. A program with static memory keeps
its arenas between calls, and with them everything that was bound to them.
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


class Loan:
    """A block of a pool that several may hold; it goes back when the last lets go."""

    __slots__ = ("block",)

    def __init__(self, block: Block) -> None:
        self.block = block

    def __del__(self) -> None:
        self.block.free()


class Ground:
    """Memory that arenas take turns to use, as executors with `shared_exec` do.

    What one has computed is lost when the next one begins.
    """

    __slots__ = ("_last", "_loan", "_lock")

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loan: Loan | None = None
        self._last: list[Var] = []

    def loan(self, device: Device, nbytes: int, owner: Owner) -> Loan:
        """Memory of at least `nbytes` bytes; a larger block replaces a smaller one.

        The old block goes back to the pool when its last arena is gone. owner: what the
        record says of the block. Raises OutOfMemoryError if the pool has no more.
        """
        with self._lock:
            loan = self._loan
            if loan is None or loan.block.size < nbytes:
                block = pool_for(device).alloc(nbytes, owner)
                loan = self._loan = Loan(block)
            return loan

    def enter(self, arena: Arena) -> None:
        """Let an arena begin after the one that used the memory last is done."""
        last, self._last = self._last, arena.vars
        if last and last is not arena.vars:
            both = [*last, *arena.vars]
            engine.push(_nothing, arena.device, (), both, "hand over arena")


def _nothing() -> None:
    """Only the order matters."""


class Arena:
    """`nbytes` of a device's memory for the inner values of a graph.

    vars: what the engine orders the readers and writers of its parts by. bound: what a
    program has bound to this memory. op_ids: which recorded operation computed a node,
    while a record is on. captures: what was recorded of the launches of each segment.
    draws: in which state random streams were before they were drawn from; None if
    no backward half follows.
    """

    __slots__ = (
        "__weakref__",
        "_ground",
        "_loan",
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
        ground: Ground | None = None,
    ) -> None:
        self._ground = ground
        self._loan: Loan | None = None
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
        """To be called before a run is pushed."""
        if self._ground is not None:
            self._ground.enter(self)

    def view(self, spec: Spec, offset: int) -> Any:
        """A part of the memory as an array; for code that runs in the engine.

        spec: shape and element type; offset: in bytes from the arena's beginning.
        """
        return shaped(self._memory(), spec.shape, spec.dtype, offset)

    def _memory(self) -> Any:
        loan = self._loan
        if loan is None:
            with self._lock:  # operations on different parts may begin together
                loan = self._loan
                if loan is None:
                    loan = self._loan = self._borrowed()
        return loan.block.data

    def _borrowed(self) -> Loan:
        if self._ground is not None:
            return self._ground.loan(self.device, self.nbytes, self.owner)
        return Loan(pool_for(self.device).alloc(self.nbytes, self.owner))

    def fill_from(self, other: Arena) -> None:
        """Take over every byte of another arena of the same size."""
        mine, its = self._memory(), other._memory()
        whole = (self.nbytes,), "uint8", 0
        with working(self.device):
            copyto(shaped(mine, *whole), shaped(its, *whole))

"""A block of memory that is an engine variable.

A chunk *is* an engine `Var`: an operation that reads or writes the memory names it.
The memory is taken from the device's pool when the first operation that touches it
runs, not when the array is made, so a program that runs ahead of the engine holds no
memory for it. Arrays and waiting operations hold the chunk; when the last of them lets
go, the memory goes back to the pool, in program order and without a wait.

The tape wants the numbers as they were when it saved them. It holds a `Kept`, and the
first write after that moves what it keeps to another chunk (copy on write).
"""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any

from minimx.core import engine
from minimx.core.drivers import copies
from minimx.core.engine.var import Var
from minimx.core.ops.spec import Cost
from minimx.core.storage import before_rebuild, pool_for

if TYPE_CHECKING:
    from minimx.core.device import Device
    from minimx.core.events import Owner
    from minimx.core.storage.pool import Block

# Work still queued holds memory; a device that is about to be rebuilt waits for it.
before_rebuild(lambda: engine.wait_all())


class Kept:
    """The numbers of a chunk as they were at one moment.

    chunk: where they are now: the same chunk, until another operation writes to it.
    """

    __slots__ = ("__weakref__", "chunk")

    def __init__(self, chunk: Chunk) -> None:
        self.chunk = chunk


class Chunk(Var):
    """`nbytes` of memory on `device`, taken from its pool at first use."""

    __slots__ = ("__weakref__", "device", "nbytes", "owner")

    block: Block | None

    def __init__(self, device: Device, nbytes: int, owner: Owner) -> None:
        # Var.__init__, spelt out: a chunk is made for every result of every operator.
        self.version = 0
        self.kept = None
        self.exception = None
        self.readers = 0
        self.writer = None
        self.later = None
        self.history = None
        self.device = device
        self.nbytes = nbytes
        self.owner = owner
        self.block = None

    def memory(self) -> Any:
        """The bytes, a flat uint8 array; allocated at first use.

        Two readers may come first together: the block of one of them stays.
        """
        if self.block is None:
            pool = pool_for(self.device)
            block = pool.alloc(self.nbytes, self.owner)
            try:
                if self.exception is not None:  # what was to be written here failed
                    block.data[:] = 0
                # Nothing is called in between, so no other thread comes in between.
                if self.block is None:
                    self.block = block
            finally:
                if self.block is not block:
                    block.free()
        assert self.block is not None
        return self.block.data

    def keep(self) -> Kept:
        """The numbers as they are now, for as long as the result is held."""
        kept = None if self.kept is None else self.kept()
        if kept is None:
            kept = Kept(self)
            self.kept = weakref.ref(kept)
        return kept

    def preserve(self) -> None:
        """Move what was kept to a chunk of its own, if it is still wanted."""
        kept, self.kept = self.kept and self.kept(), None
        if kept is not None:
            kept.chunk = self._copied()

    def _copied(self) -> Chunk:
        made = Chunk(self.device, self.nbytes, self.owner)

        def run() -> None:
            copies.between(made.memory(), self.device, self.memory(), self.device)

        cost = Cost(0, 2 * self.nbytes)
        engine.push(run, self.device, [self], [made], "keep for backward", cost=cost)
        return made

    @property
    def lost(self) -> bool:
        """Whether the operation that was to fill this memory never got any."""
        return self.block is None and self.exception is not None

    def __del__(self) -> None:
        try:
            block = self.block
        except AttributeError:  # __init__ was interrupted
            return
        if block is not None:
            block.free()

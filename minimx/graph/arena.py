"""The memory of one run of a program: one block, and a var for each part of it.

The block is taken from the pool when the first operation of the run needs it, and goes
back when the last one who holds the arena lets go. A program with static memory keeps
its arenas between calls, and with them everything that was bound to them.
"""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

from minimx.device import Device
from minimx.engine import Var
from minimx.events import Owner
from minimx.ops.spec import Spec
from minimx.storage import pool_for
from minimx.storage.pool import Block


class Arena:
    """`nbytes` of a device's memory for the inner values of a graph.

    vars: what the engine orders the readers and writers of its parts by. bound: what a
    program has bound to this memory. op_ids: which recorded operation computed a node,
    while somebody records. runs: how often each segment has run. draws: in which state
    random streams were before they were drawn from; None if nobody will ask.
    """

    __slots__ = (
        "_block",
        "_lock",
        "bound",
        "device",
        "draws",
        "nbytes",
        "op_ids",
        "owner",
        "runs",
        "vars",
    )

    def __init__(self, device: Device, nbytes: int, parts: int, owner: Owner) -> None:
        self._block: Block | None = None
        self._lock = threading.Lock()
        self.device = device
        self.nbytes = nbytes
        self.owner = owner
        self.vars = [Var() for _ in range(parts)]
        self.bound: dict[Any, Any] = {}
        self.op_ids: dict[str, int] = {}
        self.runs: dict[Any, int] = {}
        self.draws: dict[Any, Any] | None = None

    def view(self, spec: Spec, offset: int) -> Any:
        """A part of the memory as a NumPy array; for code that runs in the engine."""
        return np.ndarray(spec.shape, spec.dtype, self._memory(), offset)

    def _memory(self) -> Any:
        block = self._block
        if block is None:
            with self._lock:  # operations on different parts may begin together
                block = self._block
                if block is None:
                    block = pool_for(self.device).alloc(self.nbytes, self.owner)
                    self._block = block
        return block.data

    def fill_from(self, other: Arena) -> None:
        """Take over every byte of another arena of the same size."""
        np.copyto(self._memory()[: self.nbytes], other._memory()[: self.nbytes])

    def __del__(self) -> None:
        block = getattr(self, "_block", None)
        if block is not None:
            self.bound.clear()
            block.free()

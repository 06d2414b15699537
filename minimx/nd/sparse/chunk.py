"""The memory of a sparse array: one block whose size the numbers decide.

The engine sees one variable, as for a dense array. What is stored is known when the
operation that writes it has run; until then it is not read. A kernel writes to a
`Room`, which takes a new block; only when the kernel is through does it replace the old
one, so that an operation may write what it reads.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from minimx.core import engine
from minimx.core.arrays.chunk import Chunk
from minimx.core.drivers import copies
from minimx.core.drivers.base import shaped
from minimx.core.dtypes import INT64, DType
from minimx.core.events import Owner
from minimx.core.ops.stypes import ROW_SPARSE, Entries, Rows, SparseSpec
from minimx.core.storage import pool_for

if TYPE_CHECKING:
    from minimx.core.device import Device
    from minimx.core.shapes import Shape
    from minimx.core.storage.pool import Block

_ALIGNMENT = 64


class SparseChunk(Chunk):
    """What a sparse array stores on a device; nothing, until something is written."""

    __slots__ = ("_parts", "problem", "spec")

    def __init__(self, device: Device, spec: SparseSpec, owner: Owner) -> None:
        super().__init__(device, 0, owner)
        self.spec = spec
        self._parts: Rows | Entries | None = None
        #: Why what a caller put in cannot be computed with; empty if there is nothing.
        self.problem = ""

    @property
    def parts(self) -> Rows | Entries:
        """What is stored; for code that runs inside the engine.

        NumPy arrays, or on a CUDA device numba's, where there is anything.
        """
        found = self._parts
        if found is None:
            found = self._parts = _nothing(self.spec)
        return found

    def _copied(self) -> SparseChunk:
        made = SparseChunk(self.device, self.spec, self.owner)

        def run() -> None:
            place, parts = Destination(made), self.parts
            if isinstance(parts, Rows):
                room: Any = place.rows(len(parts.indices))
            else:
                room = place.entries(len(parts.data))
            for target, source in zip(room, parts, strict=True):
                copies.between(target, self.device, source, self.device)
            place.keep()

        engine.push(run, self.device, [self], [made], "keep for backward")
        return made

    def replace(self, block: Block, parts: Rows | Entries) -> None:
        """Store something else."""
        old = self.block
        self.block, self._parts, self.nbytes = block, parts, block.requested
        self.problem = ""
        if old is not None:
            old.free()


def _nothing(spec: SparseSpec) -> Rows | Entries:
    if spec.stype == ROW_SPARSE:
        data = np.empty((0, *spec.shape[1:]), spec.dtype)
        return Rows(data, np.empty(0, np.int64))
    indptr = np.zeros(spec.shape[0] + 1, np.int64)
    return Entries(np.empty(0, spec.dtype), np.empty(0, np.int64), indptr)


class Destination:
    """Where a kernel puts what a sparse array is to store."""

    __slots__ = ("_block", "_made", "chunk")

    def __init__(self, chunk: SparseChunk) -> None:
        self.chunk = chunk
        self._block: Block | None = None
        self._made: Rows | Entries | None = None

    @property
    def parts(self) -> Rows | Entries:
        """What the array stores before the kernel is through."""
        return self.chunk.parts

    def rows(self, count: int) -> Rows:
        """Room for so many rows, to be filled."""
        spec = self.chunk.spec
        shape = (count, *spec.shape[1:])
        data, indices = self._take((shape, spec.dtype), ((count,), INT64))
        self._made = Rows(data, indices)
        return self._made

    def entries(self, count: int) -> Entries:
        """Room for so many elements, to be filled."""
        spec = self.chunk.spec
        data, indices, indptr = self._take(
            ((count,), spec.dtype), ((count,), INT64), ((spec.shape[0] + 1,), INT64)
        )
        self._made = Entries(data, indices, indptr)
        return self._made

    def _take(self, *wanted: tuple[Shape, DType]) -> list[Any]:
        """Arrays of these shapes and types, side by side in one block."""
        self.drop()
        starts, end = [], 0
        for shape, dtype in wanted:
            starts.append(end)
            end += -(-prod(shape) * dtype.itemsize // _ALIGNMENT) * _ALIGNMENT
        chunk = self.chunk
        block = self._block = pool_for(chunk.device).alloc(end, chunk.owner)
        return [  # of nothing, CUDA has no arrays
            shaped(block.data, shape, dtype, start)
            if prod(shape)
            else np.empty(shape, dtype)
            for (shape, dtype), start in zip(wanted, starts, strict=True)
        ]

    def keep(self) -> None:
        """The kernel is through: the array stores what was filled in, if anything."""
        if self._block is not None:
            assert self._made is not None
            self.chunk.replace(self._block, self._made)
            self._block = self._made = None

    def drop(self) -> None:
        """Give back what is not to be kept."""
        if self._block is not None:
            self._made = None
            self._block.free()
            self._block = None

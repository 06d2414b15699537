"""What MPI does with the memory of arrays of all ranks: adds, copies, collects."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from minimx.core import events

Array = np.ndarray[Any, Any]


class Collectives:
    """A communicator of MPI for arrays.

    complete: waits for a request of MPI, and watches the other processes meanwhile.
    """

    def __init__(
        self, mpi: Any, communicator: Any, complete: Callable[[Any], None]
    ) -> None:
        self._mpi, self._communicator, self._complete = mpi, communicator, complete

    def sum(self, key: Any, array: Array) -> None:
        """Add up an array over all ranks, in place, to the bit the same on all."""
        flat, begin = array.reshape(-1), events.clock()
        if flat.dtype.char in "fdbBhHiIlLqQ":
            self._complete(self._communicator.Iallreduce(self._mpi.IN_PLACE, flat))
        else:  # float16 and bfloat16, which MPI cannot add
            sent, byte = flat.view(np.uint8), self._mpi.BYTE
            came = np.empty((self._communicator.size, sent.size), np.uint8)
            self._complete(self._communicator.Iallgather([sent, byte], [came, byte]))
            parts = came.view(flat.dtype).astype(np.float32)
            flat[:] = parts.sum(axis=0).astype(flat.dtype)
        self._record(key, begin, flat.nbytes)

    def spread(self, key: Any, array: Array) -> None:
        """Fill an array on all ranks with what it is on rank 0."""
        flat, begin = array.reshape(-1).view(np.uint8), events.clock()
        self._complete(self._communicator.Ibcast([flat, self._mpi.BYTE], root=0))
        self._record(key, begin, flat.nbytes)

    def gather(self, key: Any, array: Array) -> list[Array]:
        """The arrays of all ranks, flat, in their order; of one dtype, any length."""
        begin, byte = events.clock(), self._mpi.BYTE
        sent = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
        size = np.array([sent.size], np.int64)
        sizes = np.empty(self._communicator.size, np.int64)
        self._complete(self._communicator.Iallgather(size, sizes))
        came = np.empty(int(sizes.sum()), np.uint8)
        places = [came, sizes.tolist(), None, byte]
        self._complete(self._communicator.Iallgatherv([sent, byte], places))
        self._record(key, begin, sent.size)
        parts = np.split(came, np.cumsum(sizes)[:-1])
        return [part.view(array.dtype) for part in parts]

    def _record(self, key: Any, begin: int, nbytes: int) -> None:
        listener = events.recorder
        if listener is not None:
            communicator = self._communicator
            src, dst = f"rank {communicator.rank}", f"{communicator.size} ranks"
            phase = events.attribution.phase
            listener.communication(
                begin, events.clock(), str(key), src, dst, nbytes, phase
            )

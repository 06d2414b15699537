"""Small messages between ranks: plain data as JSON, sent at once.

Nothing that is received is unpickled.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import numpy as np


class Control:
    """A communicator of MPI for plain data."""

    def __init__(self, mpi: Any, communicator: Any) -> None:
        self._mpi, self._communicator = mpi, communicator

    def gather(self, value: Any) -> list[Any]:
        """The plain data of every rank, in order; all ranks call it."""
        sent = np.frombuffer(json.dumps(value).encode(), np.uint8)
        sizes = np.empty(self._communicator.size, np.int64)
        self._communicator.Allgather(np.array([sent.size], np.int64), sizes)
        came = np.empty(int(sizes.sum()), np.uint8)
        byte = self._mpi.BYTE
        self._communicator.Allgatherv([sent, byte], [came, sizes.tolist(), None, byte])
        parts = np.split(came, np.cumsum(sizes)[:-1])
        return [json.loads(part.tobytes()) for part in parts]

    def send(self, rank: int, message: dict[str, Any]) -> None:
        """Send plain data to a rank; it is small, so MPI does not wait."""
        text = np.frombuffer(json.dumps(message).encode(), np.uint8)
        self._communicator.Send([text, self._mpi.BYTE], dest=rank)

    def received(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """(rank, message) for each message that has come."""
        mpi, status = self._mpi, self._mpi.Status()
        while self._communicator.Iprobe(mpi.ANY_SOURCE, mpi.ANY_TAG, status):
            came = np.empty(status.Get_count(mpi.BYTE), np.uint8)
            source = status.Get_source()
            self._communicator.Recv([came, mpi.BYTE], source=source)
            yield source, json.loads(came.tobytes())

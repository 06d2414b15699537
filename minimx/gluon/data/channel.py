"""Batches on their way from a worker process to the loader.

A message is pickled; dense arrays in it travel beside it, as descriptors of the shared
memory that they lie in (`minimx.core.arrays.shared`), and are not copied on arrival.
Small ones are cheaper to copy than to map.
"""

from __future__ import annotations

import io
import os
import pickle
import socket
from multiprocessing.connection import Connection
from typing import Any

import numpy as np

from minimx.core.arrays.array import NDArray, new
from minimx.core.arrays.shared import from_segment, in_segment
from minimx.core.device import cpu_shared
from minimx.core.errors import DataError
from minimx.core.ops.spec import Spec

WHO = "DataLoader"
#: The kernel passes on so many descriptors at once.
MOST_AT_ONCE = 200


class _Pickler(pickle.Pickler):
    """Takes dense arrays out of what it pickles."""

    def __init__(self, file: io.BytesIO) -> None:
        super().__init__(file, protocol=5)
        self.segments: list[tuple[NDArray, int]] = []

    def persistent_id(self, value: Any) -> Any:
        """What stands for an array: its kind, and where its numbers are."""
        if not isinstance(value, NDArray) or value.stype != "default":
            return None
        kind = type(value), value.spec.shape, value.spec.dtype
        segment = in_segment(value, WHO)
        if segment is None:
            return *kind, value.asnumpy().tobytes()
        self.segments.append(segment)
        return *kind, len(self.segments) - 1


class _Unpickler(pickle.Unpickler):
    """Makes arrays of the descriptors that came with a message."""

    def __init__(self, content: bytes, descriptors: list[int | None]) -> None:
        super().__init__(io.BytesIO(content))
        self._descriptors = descriptors

    def persistent_load(self, found: Any) -> NDArray:
        """The array that `persistent_id` took out."""
        array_class, shape, dtype, where = found
        spec = Spec.of(shape, dtype)
        if isinstance(where, bytes):
            array = new(spec, cpu_shared(0), WHO, array_class)
            array.view()[...] = np.frombuffer(where, dtype).reshape(shape)
            return array
        fd, self._descriptors[where] = self._descriptors[where], None
        assert fd is not None
        return from_segment(fd, spec, WHO, array_class)


def send(pipe: Connection, message: Any) -> None:
    """Send a message with its arrays. Raises what pickling raises, sending nothing."""
    file = io.BytesIO()
    pickler = _Pickler(file)
    pickler.dump(message)
    descriptors = [fd for _, fd in pickler.segments]
    pipe.send_bytes(len(descriptors).to_bytes(4, "little") + file.getbuffer())
    with socket.socket(fileno=os.dup(pipe.fileno())) as beside:
        for i in range(0, len(descriptors), MOST_AT_ONCE):
            socket.send_fds(beside, [b"."], descriptors[i : i + MOST_AT_ONCE])


def receive(pipe: Connection) -> Any:
    """The next message. Raises EOFError if no process is left to send one."""
    content = pipe.recv_bytes()
    count = int.from_bytes(content[:4], "little")
    descriptors: list[int | None] = []
    try:
        with socket.socket(fileno=os.dup(pipe.fileno())) as beside:
            while len(descriptors) < count:
                wanted = min(count - len(descriptors), MOST_AT_ONCE)
                descriptors += _received(beside, wanted)
        return _Unpickler(content[4:], descriptors).load()
    finally:
        for fd in descriptors:
            if fd is not None:
                os.close(fd)


def _received(beside: socket.socket, wanted: int) -> list[int]:
    mark, descriptors, _, _ = socket.recv_fds(
        beside, 1, wanted, getattr(socket, "MSG_CMSG_CLOEXEC", 0)
    )
    if not mark:
        raise EOFError("the worker ended while it was sending a batch")
    if len(descriptors) != wanted:
        for fd in descriptors:
            os.close(fd)
        raise DataError(
            "DataLoader: the arrays of a batch could not be received; this process has "
            "too many files open. Keep fewer batches at a time, or raise `ulimit -n`."
        )
    return descriptors

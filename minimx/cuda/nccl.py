"""NCCL on the CUDA devices of one process, through CuPy's binding of it.

Each call is one operation of the engine, for all devices together. Communicators are
made once for a list of devices; that takes seconds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import cache
from importlib import import_module, util
from typing import Any

import numpy as np

from minimx.core import engine
from minimx.core.arrays.array import NDArray
from minimx.core.device import Device
from minimx.core.drivers import working
from minimx.core.errors import DTypeError, Unavailable

#: NumPy's names of element types, and NCCL's.
_NAMES = {
    "int8": "INT8", "uint8": "UINT8", "int32": "INT32", "int64": "INT64",
    "float16": "FLOAT16", "float32": "FLOAT32", "float64": "FLOAT64",
    "bfloat16": "BFLOAT16",
}  # fmt: skip


@cache
def library() -> Any:
    """CuPy's module `nccl`. Raises `Unavailable` where CuPy or NCCL is missing."""
    found = import_module("cupy.cuda").nccl if util.find_spec("cupy") else None
    if found is None or not getattr(found, "available", False):
        raise Unavailable(
            "the store 'nccl' needs CuPy and NCCL on CUDA devices. Install them with: "
            "pip install 'minimx[nccl]', or take the store 'device'."
        )
    return found


@cache
def _communicators(devices: tuple[int, ...]) -> list[Any]:
    return list(library().NcclCommunicator.initAll(list(devices)))


def push_reduce(arrays: Sequence[NDArray], out: NDArray) -> None:
    """Fill `out` with the sum of dense arrays, each on a device of its own.

    out: of their size and dtype, on one of the devices.
    """
    devices = [array.context for array in arrays]
    root = devices.index(out.context)
    kind, total = _kind(out), library().NCCL_SUM

    def call(rank: int, communicator: Any, stream: int) -> None:
        sent = _address(arrays[rank])
        came = _address(out) if rank == root else sent  # read at the root alone
        communicator.reduce(sent, came, out.size, kind, total, root, stream)

    _push(call, devices, arrays, [out], "KVStoreReduceNCCL")


def push_broadcast(array: NDArray, outs: Sequence[NDArray]) -> None:
    """Copy a dense array into all of `outs`, each on a device of its own.

    One of them is on the device of the array; it may be the array.
    """
    devices = [out.context for out in outs]
    root, kind = devices.index(array.context), _kind(array)

    def call(rank: int, communicator: Any, stream: int) -> None:
        came = _address(outs[rank])
        sent = _address(array) if rank == root else came
        communicator.broadcast(sent, came, array.size, kind, root, stream)

    _push(call, devices, [array], outs, "KVStoreBroadcastNCCL")


def _push(
    call: Callable[[int, Any, int], None],
    devices: Sequence[Device],
    reads: Sequence[NDArray],
    writes: Sequence[NDArray],
    name: str,
) -> None:
    """Push an operation that makes one call of NCCL for each device, as a group."""
    communicators = _communicators(tuple(device.device_id for device in devices))

    def run() -> None:
        nccl = library()
        with ExitStack() as stack:
            # Leaving `working` waits for the stream, so all has happened in the end.
            streams = [int(stack.enter_context(working(one))) for one in devices]
            nccl.groupStart()
            try:
                for rank, communicator in enumerate(communicators):
                    call(rank, communicator, streams[rank])
            finally:
                nccl.groupEnd()

    written = [array.chunk for array in writes]
    read = [array.chunk for array in reads if array.chunk not in written]
    engine.push(run, devices[0], read, written, name, prop=engine.COPY_FROM_GPU)


def _address(array: NDArray) -> int:
    return int(array.view().__cuda_array_interface__["data"][0])


def _kind(array: NDArray) -> int:
    name = np.dtype(array.dtype).name
    if name not in _NAMES:
        raise DTypeError(f"NCCL does not add {name}; it adds {', '.join(_NAMES)}.")
    return int(getattr(library(), f"NCCL_{_NAMES[name]}"))

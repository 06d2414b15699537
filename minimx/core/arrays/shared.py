"""Dense arrays that go from one process to another without being copied.

Who sends puts an array into shared memory (`in_segment`) and sends its descriptor with
its shape and element type; who receives makes an array of it (`from_segment`).
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from minimx.core import engine
from minimx.core.arrays.array import NDArray, new
from minimx.core.arrays.chunk import Chunk
from minimx.core.device import cpu_shared
from minimx.core.drivers.shared import SMALLEST, Segment, SharedDriver
from minimx.core.events import owner
from minimx.core.ops.spec import Spec
from minimx.core.storage import pool_for


def in_segment(array: NDArray, who: str) -> tuple[NDArray, int] | None:
    """An array whose memory is a segment of its own, and the segment's descriptor.

    It is the array itself where that has such memory, else a copy in `cpu_shared(0)`.
    None if it is too small for one, or there are no more. Waits for the array; keep the
    result until the descriptor has been sent.
    """
    array.wait_to_read()
    found = _descriptor(array)
    if found is None and array.spec.nbytes >= SMALLEST:
        array = copied(array, who)
        found = _descriptor(array)
    return None if found is None else (array, found)


def copied(array: NDArray, who: str) -> NDArray:
    """A copy in `cpu_shared(0)`, made without the engine, as no other thread uses it.

    who: what the record calls the owner of the memory. Waits until array is written.
    """
    out = new(array.spec, cpu_shared(0), who, type(array))
    if array.context.device_type == "gpu":
        out.view()[...] = array.asnumpy()
    else:
        array.wait_to_read()
        np.copyto(out.view(), array.view())
    return out


def from_segment(
    fd: int, spec: Spec, who: str, array_class: type[NDArray] = NDArray
) -> NDArray:
    """An array in `cpu_shared(0)` whose memory another process has filled.

    The descriptor belongs to the array from now on.
    """
    device, on_behalf = cpu_shared(0), owner(who)
    pool = pool_for(device)
    driver: Any = pool.driver
    assert isinstance(driver, SharedDriver)
    chunk = Chunk(device, spec.nbytes, on_behalf)
    chunk.block = pool.alloc_from(partial(driver.attach, fd, spec.nbytes), on_behalf)
    return array_class(chunk, spec)


def _descriptor(array: NDArray) -> int | None:
    chunk = array.chunk
    if chunk.block is None or array.offset or chunk.nbytes != array.spec.nbytes:
        return None
    engine.wait_to_read(chunk)
    region = chunk.block.region
    return region.fd if isinstance(region, Segment) else None

"""Memory that a launch needs for itself: partial results, copies in another type.

    with scratch.allocated((n, np.float32), (m, np.int64)) as (sums, places):
        kernel[...](x, sums); other[...](sums, out)

Whatever is launched inside is in one stream, so the memory may serve the next launch of
the same thread as soon as the block ends, though nothing has happened yet. It goes back
to the pool when the work is done (`drivers.cuda.at_end`): before that, another thread
must not get it. Launches that are recorded use it again with every replay: their blocks
belong to the recording (`kept`).
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from math import prod
from typing import Any

import numpy as np

from minimx.core.drivers.base import ALIGNMENT
from minimx.core.events import owner
from minimx.core.storage import Block, pool_for
from minimx.cuda.driver import at_end, current_device, current_lane
from minimx.cuda.kernels import launching

_mine = threading.local()
#: A block that is so many times larger than what is asked for is left for others,
#: unless it has no more bytes than SMALL.
WASTE, SMALL = 4, 1 << 16


@contextmanager
def allocated(*wanted: tuple[int | tuple[int, ...], Any]) -> Iterator[list[Any]]:
    """Device arrays of these (shape, element type), until the end of the block.

    They are not initialized. Only inside `working`; launches in the block must be in
    the stream of this thread. Raises `OutOfMemory` if the device has no memory left.
    """
    shapes = [shape if isinstance(shape, tuple) else (shape,) for shape, _ in wanted]
    types = [np.dtype(dtype) for _, dtype in wanted]
    starts = [0]
    for shape, dtype in zip(shapes, types, strict=True):
        nbytes = prod(shape) * dtype.itemsize
        starts.append(starts[-1] + -(-nbytes // ALIGNMENT) * ALIGNMENT)
    block = _taken(max(starts[-1], ALIGNMENT))
    data: Any = block.data
    try:
        yield [
            data.shaped(shape, dtype, start)
            for shape, dtype, start in zip(shapes, types, starts, strict=False)
        ]
    finally:
        _spare().append(block)


@contextmanager
def aside(out: Any, *ins: Any) -> Iterator[Any]:
    """`out`, or if it is one of `ins` other memory, which is copied there at the end.

    For kernels that read an input again after they have begun to write. ins: device
    arrays; two arrays are one if they begin at one address.
    """
    if launching.address(out) not in map(launching.address, ins):
        yield out
        return
    with allocated((tuple(out.shape), out.dtype)) as (buffer,):
        yield buffer
        launching.duplicate(buffer, out)


@contextmanager
def kept(held: dict[int, list[Block]]) -> Iterator[None]:
    """Give out blocks of the caller; new ones become the caller's, too.

    held: {lane: blocks}. The caller frees them, after the last replay is done.
    """
    before, _mine.held = getattr(_mine, "held", None), held
    try:
        yield
    finally:
        _mine.held = before


def _spare() -> list[Block]:
    """The blocks that this thread holds for its next launches in this stream."""
    held: dict[int, list[Block]] | None = getattr(_mine, "held", None)
    if held is not None:
        return held.setdefault(current_lane(), [])
    key = current_device(), current_lane()
    found: list[Block] = _mine.__dict__.setdefault("spare", {}).setdefault(key, [])
    return found


def _taken(nbytes: int) -> Block:
    spare = _spare()
    most = max(WASTE * nbytes, SMALL)
    fitting = [b for b in spare if nbytes <= b.size <= most]
    if fitting:
        best = min(fitting, key=lambda block: block.size)
        spare.remove(best)
        return best
    device = current_device()
    block = pool_for(device).alloc(nbytes, owner("scratch").for_category("workspace"))
    if getattr(_mine, "held", None) is None:
        at_end(lambda: _back(spare, block))
    return block


def _back(spare: list[Block], block: Block) -> None:
    """Everything has happened: the pool may give a block to others."""
    if block in spare:
        spare.remove(block)
    block.free()

"""Buckets of gradients: small arrays of one device, packed into a flat one and back.

    flat = pack([bias, scale])         # one array, one copy to where it is summed
    ...
    unpack(flat, [bias, scale])

Which gradients share a bucket is planned in `planners.buckets`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import minimx.nd as nd
from minimx.core import engine
from minimx.core.arrays.array import NDArray
from minimx.core.device import Context
from minimx.core.ops.spec import Cost
from minimx.kvstore.planners.buckets import Sized, plan_buckets


class Gradient(NamedTuple):
    """A key, its gradient on each of the devices, and how urgent it is."""

    key: int | str
    values: list[NDArray]
    priority: int


def nbytes_of(array: NDArray) -> int:
    """The bytes of an array."""
    return array.spec.nbytes


def in_buckets(
    gradients: Sequence[Gradient],
    limit: int,
    size_of: Callable[[NDArray], int] = nbytes_of,
) -> list[list[Gradient]]:
    """Gradients that travel together, in the order of the first of each bucket.

    limit: of a bucket, by default in bytes. Those of the same dtype and devices share
    one; a gradient that is larger, sparse, empty or without axes, or on one device
    only, is alone. size_of: how much of a bucket an array takes.
    """
    kinds: dict[tuple[Any, tuple[Context, ...]], list[Sized[int]]] = {}
    found: list[list[int]] = []
    for place, one in enumerate(gradients):
        first, size = one.values[0], size_of(one.values[0])
        dense = all(value.stype == "default" for value in one.values)
        alone = not (dense and first.shape and first.size and len(one.values) > 1)
        if alone or size > limit:
            found.append([place])
            continue
        kind = first.dtype, tuple(value.context for value in one.values)
        kinds.setdefault(kind, []).append(Sized(place, size, kind))
    for alike in kinds.values():
        found += plan_buckets(alike, limit)
    return [[gradients[place] for place in bucket] for bucket in sorted(found)]


def pack(arrays: Sequence[NDArray]) -> NDArray:
    """All elements of dense arrays of one device and dtype, one after the other."""
    first = arrays[0]
    size = sum(array.size for array in arrays)
    flat = nd.empty((size,), ctx=first.context, dtype=first.dtype)

    def run() -> None:
        target = flat.view()
        for array, start, stop in _ranges(arrays):
            target[start:stop] = array.view().reshape(-1)

    reads = [array.chunk for array in arrays]
    cost = Cost(0, 2 * flat.spec.nbytes)
    engine.push(run, flat.context, reads, [flat.chunk], "KVStorePack", cost=cost)
    return flat


def unpack(flat: NDArray, arrays: Sequence[NDArray]) -> None:
    """Fill the arrays with what `pack` would read from them."""

    def run() -> None:
        source = flat.view()
        for array, start, stop in _ranges(arrays):
            array.view()[...] = source[start:stop].reshape(array.shape)

    writes = [array.chunk for array in arrays]
    cost = Cost(0, 2 * flat.spec.nbytes)
    engine.push(run, flat.context, [flat.chunk], writes, "KVStoreUnpack", cost=cost)


def parts_of(flat: NDArray, arrays: Sequence[NDArray]) -> Iterator[NDArray]:
    """The parts of a flat array in the shapes of the arrays; they share its memory."""
    for array, start, stop in _ranges(arrays):
        yield flat[start:stop].reshape(array.shape)


def _ranges(arrays: Sequence[NDArray]) -> Iterator[tuple[NDArray, int, int]]:
    """Each array, and from where to where it is in the flat one."""
    start = 0
    for array in arrays:
        yield array, start, start + array.size
        start += array.size

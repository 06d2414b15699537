"""A plan, run on arrays: each step is an operation of the engine.

Arrays are known by their position among those that take part, as in the plan. What may
run at the same time is for the engine to find out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

import minimx.nd as nd
from minimx.core import engine
from minimx.core.arrays.array import NDArray
from minimx.core.device import Context, cpu
from minimx.core.engine.var import Var
from minimx.core.knobs import knobs
from minimx.core.ops.spec import Cost
from minimx.core.ops.stypes import ROW_SPARSE, Rows
from minimx.kvstore.planners.steps import HOST, WHOLE, Copy, Piece, Plan
from minimx.kvstore.policy import threads_of_sum
from minimx.nd.sparse.array import RowSparseNDArray
from minimx.nd.sparse.chunk import Destination

#: Bytes from which on copies of a value are too many for any cache.
CACHE: Final = 1 << 25


def reduce(plan: Plan, values: Sequence[NDArray]) -> dict[Piece, NDArray]:
    """The sum of the values, each piece of it where the plan completes it.

    A sum of one value is that value itself, not a copy. MXNet copies all values to the
    host before it adds them there; here those of `cpu(1)`, `cpu(2)`, …, which are in
    its memory, are read where they are.
    """
    have: dict[tuple[int, Piece], NDArray] = {}
    came: dict[tuple[int, int, Piece], NDArray] = {}

    def own(place: int, piece: Piece) -> NDArray:
        if (place, piece) not in have:
            have[place, piece] = part(values[place], piece)
        return have[place, piece]

    for step in plan.reduce:
        if isinstance(step, Copy):
            sent = own(step.source, step.piece)
            if step.target != HOST or not _readable_on_host(sent):
                sent = sent.as_in_context(device_of(step.target, values))
            came[step.target, step.source, step.piece] = sent
            continue
        parts = [
            own(source, step.piece)
            if source == step.place
            else came.pop((step.place, source, step.piece))
            for source in step.sources
        ]
        have[step.place, step.piece] = add(parts, on_host=step.place == HOST)
    return {piece: own(root, piece) for piece, root in plan.roots.items()}


def broadcast(
    plan: Plan, pieces: Mapping[Piece, NDArray], outs: Sequence[NDArray]
) -> None:
    """Fill all of `outs` from pieces that are complete at their roots.

    outs: dense, in the order of the devices that take part.
    """
    for piece, root in plan.roots.items():
        if root != HOST:
            overwrite(part(outs[root], piece), pieces[piece])
    for step in plan.broadcast:
        if step.source == HOST:
            sent = pieces[step.piece]
        else:
            sent = part(outs[step.source], step.piece)
        overwrite(part(outs[step.target], step.piece), sent)


def gathered(pieces: Mapping[Piece, NDArray], home: Context) -> NDArray:
    """One array on a device from the pieces of it."""
    parts = [pieces[piece].as_in_context(home) for piece in sorted(pieces)]
    if len(parts) == 1:
        return parts[0]
    return nd.concat(*parts, dim=0)


def device_of(place: int, values: Sequence[NDArray]) -> Context:
    """The device at a position of the plan."""
    return cpu() if place == HOST else values[place].context


def part(array: NDArray, piece: Piece) -> NDArray:
    """The rows of a piece; they share the array's memory."""
    return array if piece == WHOLE else array[piece.start : piece.stop]


def _readable_on_host(array: NDArray) -> bool:
    """Whether a sum on the host can read an array's memory without a copy."""
    return array.context.device_type.startswith("cpu") and array.stype == "default"


def overwrite(target: NDArray, value: NDArray) -> None:
    """Copy a value into an array on whatever device, however it is stored."""
    if target is value:
        return
    dense = target.stype == value.stype == "default"
    same_gpu = target.context is value.context and value.context.device_type == "gpu"
    if dense and not same_gpu:
        value.copyto(target)
    elif dense:
        target[...] = value.as_in_context(target.context)  # also without axes
    else:
        target[:] = value.as_in_context(target.context)


def overwrite_all(targets: Sequence[NDArray], value: NDArray) -> None:
    """Copy a value into arrays of its shape; those of its dtype on the host at once."""
    together = [
        one
        for one in targets
        if _readable_on_host(one) and one.dtype == value.dtype and one is not value
    ]
    chunks = {one.chunk for one in together}
    if (
        len(chunks) < max(len(together), 2)
        or value.chunk in chunks
        or not _readable_on_host(value)
        or len(together) * value.spec.nbytes < CACHE
    ):
        together = []
    for one in targets:
        if not any(one is other for other in together):
            overwrite(one, value)
    if together:
        _copy_on_host(value, together)


def _copy_on_host(value: NDArray, targets: Sequence[NDArray]) -> None:
    from minimx.kvstore import copies  # imports numba

    def run() -> None:
        copies.copy_to_all(value.view(), [one.view() for one in targets], _most(value))

    cost = Cost(0, (len(targets) + 1) * value.spec.nbytes)
    writes = [one.chunk for one in targets]
    engine.push(run, cpu(), [value.chunk], writes, "KVStoreBroadcast", cost=cost)


def _most(array: NDArray) -> int:
    """How many threads may work on an array on the host."""
    return threads_of_sum(
        array.size,
        int(knobs.MXNET_KVSTORE_BIGARRAY_BOUND),
        int(knobs.MXNET_KVSTORE_REDUCTION_NTHREADS),
    )


def add(arrays: Sequence[NDArray], on_host: bool) -> NDArray:
    """The sum of arrays of one device, or readable on the host, in their order.

    on_host: as MXNet's `CommCPU` adds, by MXNET_KVSTORE_REDUCTION_NTHREADS threads from
        MXNET_KVSTORE_BIGARRAY_BOUND elements on.
    """
    if len(arrays) == 1:
        return arrays[0]
    stypes = {array.stype for array in arrays}
    if on_host and stypes == {"default"}:
        return _add_on_host(arrays)
    if on_host and stypes == {ROW_SPARSE}:
        return _add_rows_on_host(arrays)
    return nd.add_n(*arrays)


def _add_on_host(arrays: Sequence[NDArray]) -> NDArray:
    from minimx.kvstore import sums  # imports numba

    first = arrays[0]
    most = _most(first)
    out = nd.empty(first.shape, ctx=cpu(), dtype=first.dtype)

    def run() -> None:
        sums.add([array.view() for array in arrays], out.view(), most)

    n, nbytes = len(arrays), first.spec.nbytes
    cost = Cost((n - 1) * first.size, (n + 1) * nbytes)
    reads = [array.chunk for array in arrays]
    engine.push(run, out.context, reads, [out.chunk], "KVStoreReduce", cost=cost)
    return out


def _add_rows_on_host(arrays: Sequence[NDArray]) -> NDArray:
    first = arrays[0]
    out = no_rows(first)
    reads = [array.chunk for array in arrays]
    push_sum_of_rows(lambda: [array.view() for array in arrays], reads, out)
    return out


def no_rows(like: NDArray) -> RowSparseNDArray:
    """A row_sparse array on the host that stores nothing, of a shape and dtype."""
    out: RowSparseNDArray = nd.sparse.zeros(
        ROW_SPARSE, like.shape, ctx=cpu(), dtype=like.dtype
    )
    return out


def push_sum_of_rows(
    parts: Callable[[], Sequence[Rows]], reads: Sequence[Var], out: RowSparseNDArray
) -> None:
    """Fill a row_sparse array on the host with the sum of rows.

    parts: gives them when all of `reads` can be read.
    """
    from minimx.kvstore import rows  # imports numba

    serial = knobs.MXNET_KVSTORE_SERIAL_PUSH
    most = 1 if serial else int(knobs.MXNET_KVSTORE_REDUCTION_NTHREADS)

    def run() -> None:
        target = Destination(out.chunk)
        try:
            rows.add(parts(), target, most)
            target.keep()
        finally:
            target.drop()

    engine.push(run, out.context, reads, [out.chunk], "KVStoreReduceRows")

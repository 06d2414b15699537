"""What arrays of all ranks become together: collective operations, on the engine.

    sum_over_ranks   a dense array becomes the sum of all ranks' arrays
    spread           an array becomes rank 0's
    gather           one-dimensional arrays of all ranks, one row for each
    sum_rows         the sum of row_sparse arrays that store different rows

Each waits for its arrays and takes its turn in the order of the job (`order.py`).
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

import minimx.nd as nd
from minimx.core import engine
from minimx.core.arrays.array import NDArray
from minimx.core.device import cpu
from minimx.core.engine.var import Var
from minimx.core.errors import ArgumentError
from minimx.core.ops.stypes import ROW_SPARSE, Rows
from minimx.kvstore.dist.job import Job
from minimx.kvstore.execution import no_rows, push_sum_of_rows
from minimx.nd.sparse.chunk import Destination
from minimx.operators.sparse.pointwise import in_order


def sum_over_ranks(job: Job, key: Any, array: NDArray, priority: int = 0) -> None:
    """Add a dense array on the host up over all ranks, in place."""
    _check_stype(key, array, "default")
    job.submit(
        lambda: job.arrays.sum(key, array.view()),
        f"sum of {key!r} {described(array)}",
        "KVStoreDistAllreduce",
        [],
        [array.chunk],
        priority,
    )


def spread(job: Job, key: Any, array: NDArray, what: str, priority: int = 0) -> None:
    """Fill an array on the host, dense or row_sparse, with rank 0's."""
    dense = _check_stype(key, array, "default", ROW_SPARSE) == "default"
    job.submit(
        lambda: (
            job.arrays.spread(key, array.view())
            if dense
            else _spread_rows(job, key, array)
        ),
        f"{what} of {key!r} {described(array)}",
        "KVStoreDistBroadcast",
        [],
        [array.chunk],
        priority,
    )


def _spread_rows(job: Job, key: Any, array: Any) -> None:
    mine, target = array.view(), Destination(array.chunk)
    count = np.array([len(mine.indices)], np.int64)
    job.arrays.spread(key, count)
    made = target.rows(int(count[0]))
    try:
        if job.rank == 0:
            np.copyto(made.data, mine.data)
            np.copyto(made.indices, mine.indices)
        job.arrays.spread(key, made.indices)
        job.arrays.spread(key, made.data)
        target.keep()
    finally:
        target.drop()


def gather(job: Job, key: Any, array: NDArray, what: str, priority: int = 0) -> NDArray:
    """Arrays (n,) of all ranks, on the host: (ranks, n).

    what: goes on "what all ranks give of this key", and is the same on all ranks.
    """
    out = nd.empty((job.size, array.size), dtype=array.dtype)
    job.submit(
        lambda: np.copyto(out.view(), np.stack(job.arrays.gather(key, array.view()))),
        f"sum of {key!r} {what}",
        "KVStoreDistAllgather",
        [array.chunk],
        [out.chunk],
        priority,
    )
    return out


def sum_rows(job: Job, key: Any, array: NDArray, priority: int = 0) -> NDArray:
    """The sum of row_sparse arrays on the hosts of all ranks: the union of their rows.

    Rows of one number are added in the order of the ranks, so the sum is the same to
    the bit on all of them.
    """
    out = no_rows(array)
    came: list[Rows] = []
    arrived = Var()
    job.submit(
        lambda: came.extend(_gathered_rows(job, key, in_order(array.view()))),
        f"sum of {key!r} {described(array)}",
        "KVStoreDistAllgather",
        [array.chunk],
        [arrived],
        priority,
    )
    with engine.urgent(priority):
        push_sum_of_rows(lambda: came, [arrived], out)
    return out


def _gathered_rows(job: Job, key: Any, mine: Rows) -> list[Rows]:
    shape = mine.data.shape[1:]
    numbers = job.arrays.gather(key, mine.indices)
    data = job.arrays.gather(key, mine.data)
    return [
        Rows(part.reshape(len(rows), *shape), rows)
        for part, rows in zip(data, numbers, strict=True)
    ]


def print_rows(rank: int, key: Any, array: NDArray) -> None:
    """Print which rows of a row_sparse array a rank sends, when they are known."""

    def run() -> None:
        numbers = in_order(array.view()).indices
        width = prod(array.shape[1:]) * np.dtype(array.dtype).itemsize
        print(
            f"rank {rank} sends {len(numbers)} rows of {key!r} "
            f"({len(numbers) * (width + 8)} bytes): {numbers}"
        )

    engine.push(run, cpu(), [array.chunk], [], "KVStoreDistPrintRows")


def _check_stype(key: Any, array: NDArray, *known: str) -> str:
    if array.stype not in known:
        raise ArgumentError(
            f"{key!r} is stored as {array.stype}; here ranks share arrays that are "
            f"stored as {' or '.join(known)}. Convert it with tostype."
        )
    return array.stype


def described(array: NDArray) -> str:
    """Shape and dtype of an array, and how it is stored unless densely."""
    stored = "" if array.stype == "default" else f" {array.stype}"
    return f"{array.shape} {np.dtype(array.dtype)}{stored}"

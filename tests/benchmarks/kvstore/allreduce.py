"""Sums of large arrays over ranks: a store's `pushpull` against MPI's own Allreduce.

    mpiexec -n 4 python tests/benchmarks/kvstore/allreduce.py 25000000 8

Both take turns in the same processes; rank 0 prints the seconds of each round as JSON.
"""

from __future__ import annotations

import json
import sys
import time

import numpy as np

import minimx as mx
from minimx import nd


def main(elements: int, rounds: int) -> None:
    """Measure; the first round of each, which takes memory, does not count."""
    from mpi4py import MPI  # which begins MPI in whatever process imports it

    store = mx.kv.create("dist_sync")
    given, out = nd.ones((elements,)), nd.zeros((elements,))
    store.init("w", out)
    sent, came = np.ones(elements, np.float32), np.zeros(elements, np.float32)
    world = MPI.COMM_WORLD.Dup()
    found: dict[str, list[float]] = {"raw": [], "store": []}
    for _ in range(rounds + 1):
        world.Barrier()
        start = time.perf_counter()
        world.Allreduce(sent, came)
        found["raw"].append(time.perf_counter() - start)
        world.Barrier()
        start = time.perf_counter()
        store.pushpull("w", given, out=out)
        out.wait_to_read()
        found["store"].append(time.perf_counter() - start)
    assert float(out[-1].asscalar()) == came[-1] == store.num_workers
    if store.rank == 0:
        sys.stdout.write(
            json.dumps({name: times[1:] for name, times in found.items()}) + "\n"
        )


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))

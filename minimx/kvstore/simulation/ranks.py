"""What `measure` starts: measures this machine, and prints what it found as JSON.

    python -m minimx.kvstore.simulation.ranks alone                  memory, updates
    mpiexec -n 4 python -m minimx.kvstore.simulation.ranks together  messages, sums

Each figure is the best of several rounds, as other programs can only slow it down.
"""

from __future__ import annotations

import json
import os
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any, Final

import numpy as np

import minimx.nd as nd
from minimx.core.device import cpu
from minimx.core.record import Record
from minimx.kvstore.dist.job import job
from minimx.kvstore.dist.sums import sum_over_ranks
from minimx.kvstore.local import KVStore
from minimx.optimizer import create as optimizer

#: Elements of arrays (32 MiB) that are added or sent; no cache holds three of them.
LARGE: Final = 1 << 23
#: Keys of a store and their elements: for what a key takes, and for what bytes take.
SMALL_KEYS: Final = (24, 64)
LARGE_KEYS: Final = (2, 1 << 20)
#: Rows and columns of matrices that are multiplied.
SIDE: Final = 768
#: How many products follow each other.
PRODUCTS: Final = 4
#: How often a figure is measured.
ROUNDS: Final = 12

Pair = tuple[float, float]


def adding(threads: int) -> float:
    """Bytes per second, read and written, of each of several threads that add."""
    a, b = np.ones(LARGE, np.float32), np.ones(LARGE, np.float32)
    out = np.zeros(LARGE, np.float32)
    ends = [k * LARGE // threads for k in range(threads + 1)]
    cuts = [slice(*pair) for pair in pairwise(ends)]
    found = []
    with ThreadPoolExecutor(threads) as pool:
        for _ in range(ROUNDS):
            start = time.perf_counter()
            list(pool.map(lambda cut: np.add(a[cut], b[cut], out[cut]), cuts))
            found.append(time.perf_counter() - start)
    return 3 * out.nbytes / min(found) / threads


def computing(threads: int) -> float:
    """Processor seconds of a product of matrices, in each of several threads."""
    matrices = [np.ones((SIDE, SIDE), np.float32) for _ in range(threads)]

    def run(one: Any) -> float:
        start = time.thread_time()  # other programs may interrupt
        for _ in range(PRODUCTS):
            np.matmul(one, one)
        return time.thread_time() - start

    with ThreadPoolExecutor(threads) as pool:
        found = [max(pool.map(run, matrices)) for _ in range(ROUNDS)]
    return min(found) / PRODUCTS


def line(small: float, large: float) -> Pair:
    """(seconds of a key, bytes per second) from a round of small and one of large keys.

    >>> key, byte = line(24 * (0.001 + 256 / 1e9), 2 * (0.001 + 4 * 2**20 / 1e9))
    >>> round(key, 9), round(byte)
    (0.001, 1000000000)
    """
    (few, least), (many, most) = SMALL_KEYS, LARGE_KEYS
    small, large = small / few, large / many
    bandwidth = 4 * (most - least) / max(large - small, 1e-9)
    return max(small - 4 * least / bandwidth, 0.0), bandwidth


def updates() -> Pair:
    """The operations of a key in a store of one device: its update, and a copy."""
    store = KVStore("local")
    store.set_optimizer(optimizer("sgd", learning_rate=0.1, momentum=0.9))

    def through(name: str, count: int, elements: int) -> float:
        keys = [f"{name}{k}" for k in range(count)]
        arrays = [nd.ones((elements,), ctx=cpu()) for _ in keys]
        store.init(keys, arrays)

        def run() -> float:
            with Record() as record:
                for key, array in zip(keys, arrays, strict=True):
                    store.push(key, array)
                    store.pull(key, array)
                nd.waitall()
            ops = record.ops()
            return float((ops["t_end"] - ops["t_start"]).sum()) * 1e-9

        return min(run() for _ in range(ROUNDS))

    return line(through("small", *SMALL_KEYS), through("large", *LARGE_KEYS))


def sums(cores: int) -> Pair:
    """A copy of a key and its sum over all ranks, as stores between processes do it.

    Where ranks take all cores, the threads of a rank take turns on one: then what they
    do beside each other here, the program, the engine and MPI, counts one by one.
    """
    world = job()
    turns = world.size / cores if world.size >= cores else 0.0

    def through(name: str, count: int, elements: int) -> float:
        given = nd.ones((elements,), ctx=cpu())
        nd.waitall()
        found = []
        for _ in range(ROUNDS):
            world.agree("a round begins")
            start, worked = time.perf_counter(), time.process_time()
            for k in range(count):
                sum_over_ranks(world, f"{name}{k}", given.copyto(cpu()))
            nd.waitall()
            worked = time.process_time() - worked
            found.append(max(time.perf_counter() - start, turns * worked))
        return min(found)

    return line(through("small", *SMALL_KEYS), through("large", *LARGE_KEYS))


def messages() -> Pair:
    """(latency in seconds, bytes per second) of messages between ranks 0 and 1."""
    from mpi4py import MPI

    world = MPI.COMM_WORLD

    def there_and_back(nbytes: int, rounds: int) -> float:
        data, found = np.zeros(nbytes, np.uint8), []
        for _ in range(rounds):
            start = time.perf_counter()
            if world.rank == 0:
                world.Send(data, dest=1)
                world.Recv(data, source=1)
            elif world.rank == 1:
                world.Recv(data, source=0)
                world.Send(data, dest=0)
            found.append(time.perf_counter() - start)
        return min(found) / 2

    small, large = there_and_back(8, 200), there_and_back(4 * LARGE, 6)
    return small, 4 * LARGE / max(large - small, 1e-9)


def main(what: str) -> None:
    """Measure what this process, alone or as a rank, is there for."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 0
    cores = cores or os.cpu_count() or 1
    if what == "alone":
        found: dict[str, Any] = {
            "cores": cores,
            "memory": adding(1),
            "host_memory": adding(cores),
            "together": max(computing(cores) / computing(1), 1.0),
            "update": updates(),
        }
    else:
        from mpi4py import MPI

        found = {"ranks": MPI.COMM_WORLD.size, "sum": sums(cores)}
        if MPI.COMM_WORLD.size == 2:
            found["message"] = messages()
        if MPI.COMM_WORLD.rank:
            return
    sys.stdout.write(json.dumps(found) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])

"""The memory stories of the troubleshooting guide, in real arrays: provoked, and fixed.

Inputs change their size from batch to batch. What that does to a pool, to the device
under it, and to a graph that keeps its memory is exact, for operations run one after
the other.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

import minimx as mx
from minimx.core import autograd, storage
from minimx.core.device import gpu
from minimx.core.errors import OutOfMemory
from minimx.core.knobs import knobs
from minimx.core.storage import Stats
from minimx.gluon import nn

KIB, MIB = 1 << 10, 1 << 20
TYPE = "MXNET_GPU_MEM_POOL_TYPE"


@contextmanager
def device(memory: str, **settings: Any) -> Iterator[None]:
    """A GPU that nobody has used before, with no reserve."""
    with (
        knobs(MXNET_ENGINE_TYPE="NaiveEngine", MXNET_GPU_MEM_POOL_RESERVE=0),
        knobs(MINIMX_SIM_GPU_MEMORY="1MiB"),
        knobs(MINIMX_SIM_GPU_MEMORY=memory, **settings),
    ):
        yield


def lengths(batches: int) -> list[int]:
    chance = random.Random(0)
    return [chance.randint(10, 100) for _ in range(batches)]


def batches_of_all_lengths(keep: bool = False) -> Stats:
    """200 batches with eight buffers of 64 KiB for each step of time.

    keep: a result of 64 KiB of every batch stays, in the middle of its buffers.
    """
    results = []
    for length in lengths(200):
        buffers = []
        for number in range(8):
            shape = (length, 64 * KIB)
            buffers.append(mx.nd.zeros(shape, ctx=gpu(), dtype="int8"))
            if keep and number == 3:
                results.append(mx.nd.zeros((64 * KIB,), ctx=gpu(), dtype="int8"))
        del buffers
    return storage.stats(gpu())


@pytest.mark.parametrize(
    ("memory", "pool", "reserved", "calls", "flushes"),
    [
        ("1GiB", "Naive", 346, 184, 0),
        ("1GiB", "Round", 120, 32, 0),
        ("200MiB", "Naive", 200, 488, 6),
        ("200MiB", "Round", 120, 32, 0),
    ],
)
def test_sizes_that_vary_strand_blocks_and_powers_of_two_use_them_again(
    memory: str, pool: str, reserved: int, calls: int, flushes: int
) -> None:
    with device(memory, **{TYPE: pool}):
        found = batches_of_all_lengths()
    assert round(found.peak_reserved / MIB) == reserved
    assert (found.n_malloc, found.n_flush) == (calls, flushes)
    assert found.peak_requested == 50 * MIB


def test_a_higher_cutoff_changes_nothing_where_all_is_below_the_lower() -> None:
    settings = {TYPE: "Round", "MXNET_GPU_MEM_POOL_ROUND_LINEAR_CUTOFF": 28}
    with device("200MiB", **settings):
        found = batches_of_all_lengths()
    assert (found.n_malloc, found.peak_reserved) == (32, 120 * MIB)


def test_free_memory_in_pieces_and_the_advice_that_helps() -> None:
    with device("128MiB", **{TYPE: "Naive"}):
        with pytest.raises(OutOfMemory) as full:
            batches_of_all_lengths(keep=True)
        told = str(full.value)
        assert "The free memory lies in pieces" in told
        assert "MXNET_GPU_MEM_POOL_TYPE=Round" in told
        del full
    with device("128MiB", **{TYPE: "Round"}):
        found = batches_of_all_lengths(keep=True)
    assert found.peak_requested < 63 * MIB


def trained(batches: int, multiple: int, **hybrid: Any) -> Stats:
    """A network of four layers on sequences, padded to a multiple of some length."""
    net = nn.HybridSequential()
    for _ in range(4):
        net.add(nn.Dense(256, activation="tanh", flatten=False))
    net.initialize(ctx=gpu())
    net.hybridize(**hybrid)
    for length in lengths(batches):
        padded = -(-length // multiple) * multiple
        with autograd.record():
            loss = net(mx.nd.ones((padded, 16, 256), ctx=gpu())).sum()
        loss.backward()
        del loss
    return storage.stats(gpu())


def test_small_batches_of_many_shapes_fill_a_device_with_static_memory() -> None:
    with device("64MiB"):
        with pytest.raises(OutOfMemory) as full:
            trained(20, 1, static_alloc=True)
        told = str(full.value)
        assert "arena in hybridsequential" in told
        assert "static_alloc keeps memory for every shape of input, 8 by now" in told
        del full
    with device("64MiB"):
        padded = trained(20, 50, static_alloc=True)
    with device("64MiB"):
        moving = trained(20, 1)
    assert padded.peak_requested < 24 * MIB
    assert moving.peak_requested < 24 * MIB


def test_what_a_device_says_cannot_tell_idle_memory_from_arrays() -> None:
    with device("64MiB"):
        free, total = mx.context.gpu_memory_info(0)
        assert (free, total) == mx.device.gpu_memory_info(0) == (64 * MIB, 64 * MIB)
        x = mx.nd.zeros((3 * MIB,), ctx=gpu(), dtype="int8")
        y = mx.nd.zeros((5 * MIB,), ctx=gpu(), dtype="int8")
        before = mx.context.gpu_memory_info(0)
        del y
        assert mx.context.gpu_memory_info(0) == before == (54 * MIB, 64 * MIB)
        found = mx.storage.summary()["gpu(0)"].stats
        assert (found.live_requested, found.live_rounded) == (3 * MIB, 4 * MIB)
        assert (found.cached, found.reserved) == (6 * MIB, 10 * MIB)
        gpu().empty_cache()
        assert mx.context.gpu_memory_info(0) == (60 * MIB, 64 * MIB)
        del x

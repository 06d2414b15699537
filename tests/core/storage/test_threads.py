"""Pools under many threads, and under finalisers that run at the worst moment."""

from __future__ import annotations

import gc
import os
import queue
import random
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from minimx.core import storage
from minimx.core.device import cpu, gpu
from minimx.core.drivers.counting import CountingDriver
from minimx.core.storage.policy import Policy, naive, round_power2, unpooled
from minimx.core.storage.pool import Block, Pool
from minimx.tools.simulated_gpu import SimulatedGPU

MIB = 1 << 20
POLICIES = (naive(), round_power2(), unpooled())
THREADS, STEPS = 6, 1500


def work(pool: Pool, me: int, others: queue.SimpleQueue[Block]) -> None:
    """Borrow, sign every byte, check the signature, return; some by other threads."""
    choice = random.Random(me)
    mine: list[Block] = []
    for _ in range(STEPS):
        block = pool.alloc(choice.randrange(1, 20_000))
        block.data[:] = me
        mine.append(block)
        if len(mine) > 20:
            back = mine.pop(choice.randrange(20))
            assert (back.data == me).all(), "two borrowers had the same bytes"
            if choice.random() < 0.5:
                others.put(back)
            else:
                back.free()
        if choice.random() < 0.4 and not others.empty():
            others.get().free()
    for block in mine:
        assert (block.data == me).all()
        block.free()


def test_threads_share_a_pool_while_its_policy_changes() -> None:
    driver = SimulatedGPU(gpu(), 64 * MIB)
    pool = Pool(driver, naive())
    others: queue.SimpleQueue[Block] = queue.SimpleQueue()
    with ThreadPoolExecutor(THREADS) as threads:
        jobs = [threads.submit(work, pool, me, others) for me in range(THREADS)]
        for turn in range(30):
            pool.set_policy(POLICIES[turn % 3])
            pool.stats()
        for job in jobs:
            job.result()
    while not others.empty():
        others.get().free()
    stats = pool.stats()
    assert stats.n_malloc + stats.n_hit == stats.n_free == THREADS * STEPS
    assert (stats.n_live, stats.live_requested, stats.live_rounded) == (0, 0, 0)
    pool.release_all()
    assert (driver.used, driver.largest_free) == (0, 64 * MIB)


class Holder:
    """An array in a reference cycle: only the garbage collector ends it."""

    def __init__(self, pool: Pool) -> None:
        self.block = pool.alloc(random.randrange(1, 50_000))
        self.me = self

    def __del__(self) -> None:
        self.block.free()


def test_a_finaliser_may_interrupt_the_pool_that_it_frees_to() -> None:
    inside = []
    gc.collect()
    gc.freeze()  # what other tests left behind need not be gone through twenty times

    def rounding(nbytes: int) -> int:
        gc.collect()  # runs under the pool's lock, and finds Holders to end
        inside.append(pool.lock.locked())
        return nbytes + nbytes % 7

    pool = Pool(CountingDriver(gpu(), 64 * MIB), Policy(rounding))
    for _ in range(20):
        Holder(pool)
    gc.collect()
    assert all(inside)
    assert pool.stats().n_live == 0
    assert pool.stats().n_free == 20


def test_cycles_die_on_many_threads() -> None:
    pool = Pool(CountingDriver(gpu(), 64 * MIB), round_power2())
    before = gc.get_threshold()
    gc.set_threshold(5, 2, 2)
    try:
        jobs = [
            threading.Thread(target=lambda: [Holder(pool) for _ in range(300)] and None)
            for _ in range(4)
        ]
        for job in jobs:
            job.start()
        for job in jobs:
            job.join()
    finally:
        gc.set_threshold(*before)
    gc.collect()
    stats = pool.stats()
    assert (stats.n_live, stats.n_free, stats.live_rounded) == (0, 1200, 0)


@pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")
def test_a_forked_child_can_go_on() -> None:
    stop = threading.Event()

    def busy() -> None:
        while not stop.is_set():
            storage.pool_for(cpu()).alloc(1000).free()

    other = threading.Thread(target=busy)
    other.start()
    try:
        child = os.fork()
        if not child:
            block = storage.pool_for(cpu()).alloc(64)
            block.data[:64] = np.arange(64)
            os._exit(int(block.data[63] != 63))
        assert os.waitpid(child, 0)[1] == 0
    finally:
        stop.set()
        other.join()

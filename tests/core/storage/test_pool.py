"""The pool: what it lends, keeps and gives back, against a model of MXNet's rules."""

from __future__ import annotations

import contextlib
import random
import signal
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minimx.core import events
from minimx.core.device import gpu
from minimx.core.drivers.address_space import AddressSpace
from minimx.core.drivers.base import DeviceFull
from minimx.core.drivers.counting import CountingDriver
from minimx.core.errors import ArgumentError, OutOfMemory
from minimx.core.events import Owner
from minimx.core.storage.policy import Policy, naive, round_power2, unpooled
from minimx.core.storage.pool import Block, Pool
from minimx.tools.simulated_gpu import SimulatedGPU

KIB, MIB = 1 << 10, 1 << 20
ME = Owner("conv", "net.conv1", "forward", "activation")


class Log:
    """A listener that keeps the memory events."""

    def __init__(self) -> None:
        self.events: list[tuple[Any, ...]] = []

    def memory(self, *event: Any) -> None:
        self.events.append(event)

    @property
    def words(self) -> list[str]:
        return [event[0] for event in self.events]


def counting(policy: Policy, capacity: int = 64 * MIB) -> tuple[Pool, Log]:
    log = Log()
    bus: Any = SimpleNamespace(recorder=log)
    return Pool(CountingDriver(gpu(), capacity), policy, bus), log


def books_balance(pool: Pool, in_use: list[Block]) -> None:
    stats = pool.stats()
    assert stats.n_live == len(in_use)
    assert stats.live_requested == sum(b.requested for b in in_use)
    assert stats.live_rounded == sum(b.size for b in in_use)
    assert stats.cached == sum(size * n for size, n in pool.idle().items())
    assert stats.n_malloc + stats.n_hit == stats.n_free + len(in_use)


# Lending


def test_a_block_has_the_bytes_that_were_asked_for() -> None:
    pool = Pool(SimulatedGPU(gpu(), MIB), naive())
    block = pool.alloc(5000, ME)
    assert (block.requested, block.size, len(block.data)) == (5000, 8192, 8192)
    assert (block.owner, block.pool, block.address) == (ME, pool, 0)
    assert "8,192 bytes" in repr(block)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.booleans(), st.integers(0, 5)), max_size=60))
def test_a_block_taken_again_at_once_is_counted_as_freed_and_taken(
    steps: list[tuple[bool, int]],
) -> None:
    """A policy that looks at idle blocks makes the pool work off every free first."""
    policy = naive()
    slow = Policy(policy.rounding, sees=lambda idle: policy.rounding)
    pools = [counting(policy), counting(slow)]
    owners = [Owner("add", "", "forward", kind) for kind in ("activation", "gradient")]
    held: list[list[Block]] = [[], []]
    for takes, number in steps:
        for (pool, _), blocks in zip(pools, held, strict=True):
            if takes or not blocks:
                nbytes = (1, 5000, 5000, 5000, 9000, 70_000)[number]
                blocks.append(pool.alloc(nbytes, owners[number % 2]))
            else:
                blocks.pop(number % len(blocks)).free()
    (fast_pool, fast_log), (slow_pool, slow_log) = pools
    books_balance(fast_pool, held[0])
    assert replace(fast_pool.stats(), pool="") == replace(slow_pool.stats(), pool="")
    assert fast_pool.categories() == slow_pool.categories()
    assert [e[0] for e in fast_log.events] == [e[0] for e in slow_log.events]
    assert [e[5] for e in fast_log.events] == [e[5] for e in slow_log.events]


def test_the_block_last_returned_is_lent_first() -> None:
    pool, _ = counting(naive())
    first, second, third = (pool.alloc(100) for _ in range(3))
    for block in (first, third, second):
        block.free()
    assert [pool.alloc(n) for n in (100, 4096, 1)] == [second, third, first]
    assert pool.stats().n_malloc == 3


def test_an_idle_block_serves_its_own_size_only() -> None:
    pool, log = counting(naive())
    pool.alloc(8 * MIB).free()
    pool.alloc(6 * MIB)
    assert log.words == ["alloc", "free", "alloc"]
    assert pool.idle() == {8 * MIB: 1}


def test_every_loan_has_a_number_of_its_own() -> None:
    pool, _ = counting(naive())
    numbers = []
    for _ in range(3):
        block = pool.alloc(1)
        numbers.append(block.id)
        block.free()
    assert len(set(numbers)) == 3


def test_nothing_can_be_lent_and_is_not_counted() -> None:
    pool, log = counting(round_power2())
    block = pool.alloc(0, ME)
    assert (block.size, block.data.size) == (0, 0)
    block.free()
    books_balance(pool, [])
    assert (pool.stats().n_free, log.words) == (0, [])
    with pytest.raises(ArgumentError, match="-1 bytes cannot be allocated"):
        pool.alloc(-1)


def test_without_an_owner_the_thread_says_for_whom_it_works() -> None:
    pool, _ = counting(naive())
    with events.attributed(layer="net.fc", phase="backward", category="gradient"):
        owner = pool.alloc(1).owner
    assert (owner.layer, owner.phase, owner.category) == (
        "net.fc",
        "backward",
        "gradient",
    )


def test_a_second_return_is_ignored() -> None:
    pool, _ = counting(naive())
    block = pool.alloc(1)
    block.free()
    block.free()
    assert pool.stats().n_free == 1
    assert pool.idle() == {4096: 1}


def test_what_is_freed_directly_goes_back_to_the_device() -> None:
    pool, log = counting(naive())
    pool.alloc(1).direct_free()
    assert (pool.stats().reserved, pool.idle()) == (0, {})
    assert log.words == ["alloc", "free", "release"]
    books_balance(pool, [])


def test_unpooled_asks_the_device_every_time() -> None:
    pool, log = counting(unpooled())
    for _ in range(3):
        assert pool.alloc(5001).size == 5001
        pool.in_use()[0].free()
    stats = pool.stats()
    assert (stats.n_malloc, stats.n_hit, stats.cached, pool.held) == (3, 0, 0, 0)
    assert log.words == ["alloc", "free", "release"] * 3


# The reserve, and running out


def test_the_reserve_is_looked_at_only_when_the_device_is_asked() -> None:
    pool, log = counting(naive(reserve=50), 16 * MIB)
    kept = pool.alloc(8 * MIB)
    pool.alloc(
        4096
    ).free()  # inside the reserve, yet there is room: in_use all the same
    pool.alloc(4096).free()  # a hit: nobody looks
    assert log.words == ["alloc", "alloc", "free", "hit", "free"]
    pool.alloc(8192)  # a miss inside the reserve: the idle block goes back first
    assert log.words[5:] == ["flush", "alloc"]
    assert (pool.idle(), pool.stats().n_flush) == ({}, 1)
    kept.free()


def test_a_flush_without_idle_blocks_is_none() -> None:
    pool, log = counting(naive(reserve=100), 16 * MIB)
    pool.alloc(4096)
    assert log.words == ["alloc"]
    assert pool.stats().n_flush == 0


def test_a_full_device_gets_its_idle_blocks_back_and_is_asked_once_more() -> None:
    pool, log = counting(naive(reserve=0), 4 * 2 * MIB)
    blocks = [pool.alloc(2 * MIB) for _ in range(4)]
    for block in blocks[1::2]:
        block.free()
    with pytest.raises(OutOfMemory) as refusal:
        pool.alloc(4 * MIB, ME)
    assert log.words[-2:] == ["flush", "oom"]
    assert "pieces; the largest has 2 MiB" in str(refusal.value)
    blocks[2].free()
    assert pool.alloc(4 * MIB).address == 2 * MIB  # the pool is whole


def test_pieces_that_touch_after_the_flush_are_enough() -> None:
    pool, _ = counting(naive(reserve=0), 8 * MIB)
    for block in [pool.alloc(2 * MIB) for _ in range(4)]:
        block.free()
    assert pool.alloc(8 * MIB).size == 8 * MIB
    assert pool.stats().n_flush == 1


def test_release_all_says_how_much_it_was() -> None:
    pool, log = counting(naive())
    in_use = pool.alloc(1)
    pool.alloc(5000).free()
    assert (pool.release_all(), pool.release_all()) == (8192, 0)
    asker = events.owner("empty_cache")
    assert log.events[-2] == ("flush", "gpu(0)", 0, 0, 8192, 0, asker)
    assert log.events[-1] == ("flush", "gpu(0)", 0, 0, 0, 0, asker)
    assert pool.stats().n_flush == 1
    books_balance(pool, [in_use])


def test_peaks_are_kept_until_they_are_reset() -> None:
    pool, _ = counting(naive())
    pool.alloc(10_000).free()
    pool.alloc(1)
    stats = pool.stats()
    assert (stats.peak_requested, stats.peak_rounded) == (10_000, 12_288)
    assert stats.peak_reserved == 12_288 + 4096
    pool.reset_peaks()
    stats = pool.stats()
    assert (stats.peak_requested, stats.peak_rounded) == (1, 4096)
    assert (stats.reserved, stats.waste, stats.hit_rate) == (16_384, 4095, 0.0)


# Another policy while blocks are out


def test_lent_blocks_of_an_older_policy_go_back_to_the_device() -> None:
    pool, log = counting(naive())
    old, idle = pool.alloc(5000), pool.alloc(5000)
    idle.free()
    pool.set_policy(round_power2())
    assert log.words[-1] == "flush"
    old.free()
    assert pool.alloc(5000) is not old
    assert log.words[-3:] == ["free", "release", "alloc"]
    books_balance(pool, pool.in_use())


def test_the_same_policy_changes_nothing() -> None:
    pool, _ = counting(naive(4096, 2 << 20, 5))
    block = pool.alloc(1)
    block.free()
    pool.set_policy(naive(4096, 2 << 20, 5))
    assert pool.alloc(1) is block


def test_ones_own_policy_runs_in_the_real_pool() -> None:
    pool = Pool(SimulatedGPU(gpu(), MIB), Policy(lambda n: -(-n // 100) * 100, 0))
    assert len(pool.alloc(101).data) == 200


def test_a_rounding_that_gives_too_little_is_refused() -> None:
    pool, _ = counting(Policy(lambda n: n // 2, 0))
    with pytest.raises(ArgumentError, match=r"rounds 10 bytes to 5\. A rounding must"):
        pool.alloc(10)
    books_balance(pool, [])


# Broken off


class CtrlC(BaseException):
    """What a signal raises, anywhere."""


@pytest.mark.parametrize("policy", [naive(), round_power2(), unpooled()])
def test_a_signal_at_any_moment_leaves_the_books_true(policy: Policy) -> None:
    choice = random.Random(0)

    def interrupt(*_: object) -> None:
        raise CtrlC

    # Not ITIMER_REAL: its signal is the one that ends a test that takes too long.
    before = signal.signal(signal.SIGVTALRM, interrupt)
    try:
        for _ in range(60):
            pool = Pool(SimulatedGPU(gpu(), MIB), policy)
            try:
                signal.setitimer(signal.ITIMER_VIRTUAL, choice.uniform(1e-4, 2e-3))
                churn(pool, choice)
            except CtrlC:
                pass
            finally:
                signal.setitimer(signal.ITIMER_VIRTUAL, 0)
            all_comes_back(pool)
    finally:
        signal.signal(signal.SIGVTALRM, before)


def churn(pool: Pool, choice: random.Random) -> None:
    """Borrow and return until something happens."""
    in_use: list[Block] = []
    while True:
        with contextlib.suppress(OutOfMemory):
            in_use.append(pool.alloc(choice.randrange(1, 60_000)))
        if len(in_use) > 8:
            in_use.pop(choice.randrange(len(in_use))).free()


def all_comes_back(pool: Pool) -> None:
    for block in pool.in_use():
        books_hold(pool)
        block.free()
    pool.release_all()
    driver = pool.driver
    assert (pool.held, pool.live_requested, pool.live_rounded) == (0, 0, 0)
    assert (driver.used, driver.largest_free) == (0, driver.total_bytes)


def books_hold(pool: Pool) -> None:
    stats, in_use = pool.stats(), pool.in_use()
    assert stats.live_requested == sum(b.requested for b in in_use)
    assert stats.live_rounded == sum(b.size for b in in_use)
    assert stats.cached == sum(size * n for size, n in pool.idle().items())
    taken = sum(-(-b.size // 512) * 512 for b in in_use)
    taken += sum(-(-size // 512) * 512 * n for size, n in pool.idle().items())
    assert pool.driver.used == taken


# Against a model


class Model:
    """MXNet's rules, spelt out over a first-fit memory."""

    def __init__(self, policy: Policy, capacity: int) -> None:
        self.policy = policy
        self.memory = AddressSpace(capacity, 512)
        self.idle: dict[int, list[int]] = {}
        self.events: list[str] = []

    def alloc(self, nbytes: int) -> int | None:
        size = self.policy.rounding(nbytes)
        if self.policy.keeps and self.idle.get(size):
            self.events.append("hit")
            return self.idle[size].pop()
        limit = self.memory.size * self.policy.reserve // 100
        free = self.memory.free
        if not (free > size and limit <= free - size):
            self.release_all()
        start = self.memory.take(size)
        if start is None:
            self.release_all()
            start = self.memory.take(size)
        self.events.append("oom" if start is None else "alloc")
        return start

    def free(self, start: int, nbytes: int) -> None:
        self.events.append("free")
        if self.policy.keeps:
            self.idle.setdefault(self.policy.rounding(nbytes), []).append(start)
        else:
            self.events.append("release")
            self.memory.give(start)

    def release_all(self) -> None:
        if any(self.idle.values()):
            self.events.append("flush")
        for stack in self.idle.values():
            for start in stack:
                self.memory.give(start)
            stack.clear()


policies = st.one_of(
    st.builds(
        naive,
        st.sampled_from([512, 4096]),
        st.sampled_from([1, 64 * KIB]),
        st.sampled_from([0, 5, 60]),
    ),
    st.builds(
        round_power2,
        st.sampled_from([512, 4096]),
        st.just(20),
        st.sampled_from([0, 5, 60]),
    ),
    st.just(unpooled()),
)
programs = st.lists(
    st.one_of(st.integers(1, 300 * KIB), st.integers(-20, -1)), max_size=60
)


@given(policies, programs)
@settings(max_examples=200, deadline=None)
def test_the_pool_does_what_the_model_does(policy: Policy, program: list[int]) -> None:
    pool, log = counting(policy, MIB)
    model = Model(policy, MIB)
    in_use: list[tuple[Block, int]] = []
    for step in program:
        if step > 0:
            start = model.alloc(step)
            if start is None:
                with pytest.raises(OutOfMemory):
                    pool.alloc(step)
            else:
                block = pool.alloc(step)
                assert block.address == start
                in_use.append((block, start))
        elif in_use:
            block, start = in_use.pop(step % len(in_use))
            block.free()
            model.free(start, block.requested)
            books_balance(pool, [b for b, _ in in_use])
        assert log.words == model.events
    for block, _ in in_use:
        block.free()
    pool.release_all()
    driver = pool.driver
    assert (driver.used, driver.free_bytes, driver.largest_free) == (0, MIB, MIB)
    assert (pool.held, pool.live_requested, pool.live_rounded) == (0, 0, 0)


def test_memory_fetched_in_another_way_is_in_the_books() -> None:
    driver = CountingDriver(gpu(), 1 << 20)
    pool = Pool(driver, round_power2())
    block = pool.alloc_from(lambda: driver.alloc(5000), events.owner("elsewhere"))
    assert (block.size, block.owner.op) == (5000, "elsewhere")
    found = pool.stats()
    assert (found.n_live, found.live_requested, found.peak_reserved) == (1, 5000, 5000)
    block.free()
    assert pool.stats().reserved == 0  # never kept
    with pytest.raises(DeviceFull):
        pool.alloc_from(lambda: driver.alloc(2 << 20), events.owner(""))
    assert pool.stats().live_requested == 0

"""A replay under the knobs of the run is the run; under others it is another run."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from minimx.core.device import gpu
from minimx.core.errors import OutOfMemory
from minimx.core.events import Owner
from minimx.core.knobs import knobs
from minimx.core.record import MEMORY_EVENTS, Record
from minimx.core.replay import History, replay_pool
from minimx.core.replay.history import GIVEN_BACK, IDLE_AT_END, USED_AGAIN
from minimx.core.storage import Block, Stats, empty_cache, pool_for

MIB = 1 << 20
OWNER = Owner("op", "net", "forward", "activation")
SIZE = "MINIMX_SIM_GPU_MEMORY"
PREFIX = "MXNET_GPU_MEM_"

sizes = st.integers(1, 5000) | st.integers(1, 4 * MIB) | st.integers(1, 24 * MIB)
requests = (
    st.tuples(st.just("ask"), sizes)
    | st.tuples(st.just("ask"), st.sampled_from([3 * MIB, 17 * MIB, 100_000]))
    | st.tuples(st.just("give"), st.integers(0, 7))
    | st.tuples(st.just("give for good"), st.integers(0, 7))
)
empties = st.tuples(st.just("empty"), st.just(0))
actions = st.lists(requests | empties, max_size=40)
pools = st.fixed_dictionaries(
    {
        f"{PREFIX}POOL_TYPE": st.sampled_from(["Naive", "Round", "Unpooled"]),
        f"{PREFIX}POOL_PAGE_SIZE": st.sampled_from([64, 4096, 1 << 16]),
        f"{PREFIX}LARGE_ALLOC_ROUND_SIZE": st.sampled_from([1, 2 * MIB, 5 * MIB]),
        f"{PREFIX}POOL_ROUND_LINEAR_CUTOFF": st.sampled_from([20, 24, 28]),
        f"{PREFIX}POOL_RESERVE": st.sampled_from([0, 5, 50]),
    }
)
capacities = st.sampled_from([24, 64, 200])


def run(
    program: list[tuple[str, Any]], pool: dict[str, Any], mebibytes: int
) -> tuple[Record, Stats]:
    """Run a program on a fresh simulated GPU; a refused request is passed over."""
    with knobs(**{SIZE: "1MiB"}), knobs(**pool), knobs(**{SIZE: mebibytes * MIB}):
        in_use: list[Block | None] = []
        with Record() as record:
            for what, value in program:
                if what == "ask":
                    try:
                        in_use.append(pool_for(gpu()).alloc(value, OWNER))
                    except OutOfMemory:
                        in_use.append(None)
                elif what.startswith("give") and value < len(in_use):
                    give(in_use.pop(value), for_good=what == "give for good")
                elif what == "empty":
                    empty_cache(gpu())
                elif what == "turn":
                    knobs.set(**value)
            stats = pool_for(gpu()).stats()
        for block in in_use:
            give(block)
        return record, stats


def give(block: Block | None, for_good: bool = False) -> None:
    """Free a block, if the request was met."""
    if block is not None:
        block.direct_free() if for_good else block.free()


def assert_same(one: History, other: History, *more: str) -> None:
    for name in ("event", "requested", "size", "address", *more):
        assert np.array_equal(getattr(one, name), getattr(other, name)), name
    assert one.capacity == other.capacity


@settings(max_examples=60, deadline=None)
@given(program=actions, pool=pools, mebibytes=capacities)
def test_a_replay_under_the_knobs_of_the_run_is_the_run(
    program: list[tuple[str, Any]], pool: dict[str, Any], mebibytes: int
) -> None:
    """Event by event: what was served from where, which addresses, when it flushed."""
    record, stats = run(program, pool, mebibytes)
    replay = replay_pool(record, gpu())
    assert_same(replay.history, History.recorded(record, "gpu(0)"), "step")
    assert replay.stats == stats
    assert len(replay.refused) == replay.history.count(MEMORY_EVENTS.index("oom"))


@settings(max_examples=60, deadline=None)
@given(program=actions, pool=pools, other=pools, mebibytes=capacities)
def test_a_replay_under_other_knobs_is_a_run_under_those(
    program: list[tuple[str, Any]],
    pool: dict[str, Any],
    other: dict[str, Any],
    mebibytes: int,
) -> None:
    """The recorded device is so large that it refuses nothing."""
    record, _ = run(program, pool, 4096)
    again, stats = run(program, other, mebibytes)
    assert not replay_pool(record, gpu()).refused
    replay = replay_pool(record, gpu(), knobs=other, capacity=mebibytes * MIB)
    assert_same(replay.history, History.recorded(again, "gpu(0)"))
    assert replay.stats == stats


@settings(max_examples=20, deadline=None)
@given(first=actions, then=actions, before=pools, after=pools)
def test_knobs_that_were_turned_are_turned_again(
    first: list[tuple[str, Any]],
    then: list[tuple[str, Any]],
    before: dict[str, Any],
    after: dict[str, Any],
) -> None:
    program = [*first, ("turn", after), *then]
    record, stats = run(program, before, 200)
    replay = replay_pool(record, gpu())
    assert_same(replay.history, History.recorded(record, "gpu(0)"), "step")
    assert replay.stats == stats


def test_a_knob_that_is_tried_stays_as_it_was_tried() -> None:
    turn = ("turn", {f"{PREFIX}POOL_TYPE": "Unpooled"})
    record, _ = run([("ask", 100), turn, ("ask", 200)], {}, 64)
    assert replay_pool(record, gpu()).history.size.tolist() == [4096, 200]
    tried = replay_pool(record, gpu(), knobs={f"{PREFIX}POOL_TYPE": "Naive"})
    assert tried.history.size.tolist() == [4096, 4096]


def test_bytes_and_counts_follow_from_the_events() -> None:
    program = [("ask", 100), ("ask", 5000), ("give", 0), ("ask", 60)]
    history = History.recorded(run(program, {}, 64)[0], "gpu(0)")
    words = [MEMORY_EVENTS[event] for event in history.event]
    assert words == ["alloc", "alloc", "free", "hit"]
    assert history.asked.tolist() == [100, 5100, 5000, 5060]
    assert history.in_use.tolist() == [4096, 12288, 8192, 12288]
    assert history.reserved.tolist() == [4096, 12288, 12288, 12288]
    assert (history.calls, history.peak_reserved) == (2, 12288)
    assert history.fate.tolist() == [0, 0, USED_AGAIN, 0]
    assert [history.at_step(step) for step in (-1, 0, 2, 9)] == [-1, 0, 2, 3]


def test_a_block_that_goes_back_before_it_is_asked_for_is_stranded() -> None:
    program = [("ask", 100), ("give", 0), ("empty", 0), ("ask", 100), ("give", 0)]
    history = History.recorded(run(program, {}, 64)[0], "gpu(0)")
    words = [MEMORY_EVENTS[event] for event in history.event]
    assert words == ["alloc", "free", "flush", "alloc", "free"]
    assert history.fate.tolist() == [0, GIVEN_BACK, 0, 0, IDLE_AT_END]
    assert history.step.tolist() == [0, 1, 2, 3, 4]
    assert history.reserved.tolist() == [4096, 4096, 0, 4096, 4096]


def test_a_record_without_events_has_an_empty_history() -> None:
    history = History.recorded(Record(), "gpu(0)")
    assert (len(history), history.calls, history.peak_reserved) == (0, 0, 0)
    assert history.at_step(5) == -1

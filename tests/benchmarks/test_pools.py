"""What lending costs: a block that waits in the pool, and a recorded run once more."""

from __future__ import annotations

import random

import pytest

from minimx.core.device import Device, cpu, gpu
from minimx.core.drivers.counting import CountingDriver
from minimx.core.events import Owner
from minimx.core.record import Record
from minimx.core.replay import Steps, replay_pool
from minimx.core.storage import Policy, Pool, pool_for
from minimx.core.storage.policy import naive, round_power2
from tests import pace

EVENTS = 10_000
OWNER = Owner("FullyConnected", "net/dense0", "forward", "activation")


@pytest.mark.alone
@pytest.mark.parametrize("device", [cpu(), gpu()], ids=str)
def test_a_block_that_waits_is_lent_and_comes_back_in_a_microsecond(
    device: Device,
) -> None:
    pool = pool_for(device)
    pool.alloc(5000, OWNER).free()
    hits = pool.stats().n_hit

    def thousand() -> None:
        for _ in range(1000):
            pool.alloc(5000, OWNER).free()

    seconds = pace.shortest(thousand, 200) / 1000
    assert pool.stats().n_hit == hits + 200_000
    assert seconds <= 1.5e-6


def recorded() -> Record:
    """A run of 10,000 events: requests of forty sizes, twenty alive at a time."""
    choice, live = random.Random(1), []
    with Record() as record:
        for _ in range(EVENTS // 2):
            live.append(pool_for(gpu()).alloc(choice.randrange(1, 160_000), OWNER))
            if len(live) > 20:
                live.pop(choice.randrange(len(live))).free()
        for block in live:
            block.free()
    return record


@pytest.mark.alone
@pytest.mark.parametrize("policy", [naive(), round_power2()], ids=lambda p: p.name)
def test_ten_thousand_events_pass_a_pool_in_five_milliseconds(policy: Policy) -> None:
    steps = Steps.of(recorded(), "gpu(0)")
    events = list(zip(steps.kind.tolist(), steps.block, steps.requested, strict=True))
    events = [(kind, int(block), int(nbytes)) for kind, block, nbytes in events]
    assert len(events) == EVENTS

    def feed() -> None:
        pool, lent = Pool(CountingDriver(gpu(), 1 << 30), policy), {}
        for kind, block, nbytes in events:
            if kind > 0:
                lent[block] = pool.alloc(nbytes, OWNER)
            else:
                lent.pop(block).free()

    assert pace.shortest(feed, 200) <= 5e-3


@pytest.mark.alone
def test_a_replay_keeps_up_with_a_slider() -> None:
    record = recorded()
    knobs = {"MXNET_GPU_MEM_POOL_TYPE": "Round"}
    assert len(replay_pool(record, gpu(), knobs=knobs).history) >= EVENTS
    assert pace.shortest(lambda: replay_pool(record, gpu(), knobs=knobs), 50) <= 15e-3

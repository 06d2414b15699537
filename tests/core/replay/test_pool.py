"""Replay: the same settings give the same books, others give what they would have."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from minimx.core import events
from minimx.core.device import cpu, gpu
from minimx.core.errors import ArgumentError, KnobError, OutOfMemory
from minimx.core.events import Owner
from minimx.core.knobs import knobs
from minimx.core.record import Record
from minimx.core.replay import replay_pool
from minimx.core.storage import Policy, Stats, pool_for
from minimx.core.storage.policy import naive

MIB = 1 << 20
TYPE = "MXNET_GPU_MEM_POOL_TYPE"
OWNERS = [Owner(f"op{i}", f"net.layer{i}", "forward", "activation") for i in range(4)]


@pytest.fixture(autouse=True)
def a_small_gpu() -> Iterator[None]:
    with knobs(MINIMX_SIM_GPU_MEMORY="64MiB", MXNET_GPU_MEM_POOL_RESERVE=5):
        yield


def varying_lengths(steps: int, seed: int) -> None:
    """A program whose requests differ in size every time, as texts in a batch do."""
    choice, pool, live = random.Random(seed), pool_for(gpu()), []
    for _ in range(steps):
        live.append(pool.alloc(choice.randrange(1, 4 * MIB), choice.choice(OWNERS)))
        if len(live) > 8:
            live.pop(choice.randrange(len(live))).free()
    for block in live:
        block.free()


def run(pool_type: str, steps: int = 400, seed: int = 1) -> tuple[Record, Stats]:
    with knobs(**{TYPE: pool_type}), knobs(MINIMX_SIM_GPU_MEMORY="63MiB"):
        with Record() as record:
            varying_lengths(steps, seed)
        return record, pool_for(gpu()).stats()


@pytest.mark.parametrize("ran", ["Naive", "Round", "Unpooled"])
def test_a_replay_predicts_every_other_run_exactly(ran: str) -> None:
    record, _ = run(ran)
    for other in ("Naive", "Round", "Unpooled"):
        truth = run(other)[1]
        replayed = replay_pool(record, gpu(), knobs={TYPE: other})
        assert replayed.stats == truth
        assert replayed.refused == ()


def test_curves_of_a_replay_are_those_of_the_run() -> None:
    record, _ = run("Naive")
    replayed = replay_pool(record, "gpu(0)")
    for quantity in ("requested", "rounded"):
        mine = replayed.curve(quantity)
        theirs = record.memory_curve("gpu(0)", quantity)
        assert mine.total.tolist() == theirs.total.tolist()
        assert len(mine.t) == len(theirs.t)
    reserved = replayed.curve("reserved")
    assert reserved.peak == replayed.stats.peak_reserved


def test_a_loaded_record_replays_as_well(tmp_path: Path) -> None:
    record, truth = run("Round", steps=100)
    loaded = Record.load(record.save(tmp_path / "run.npz"))
    assert replay_pool(loaded, gpu()).stats == truth


def test_less_memory_refuses_or_flushes() -> None:
    record, _ = run("Naive")
    tight = replay_pool(record, gpu(), capacity=16 * MIB)
    assert tight.refused
    assert tight.stats.n_flush > replay_pool(record, gpu()).stats.n_flush
    assert tight.stats.peak_reserved <= 16 * MIB
    words = record.texts(record.mem()["event"][list(tight.refused)])
    assert set(words) <= {"alloc", "hit"}
    assert f"{len(tight.refused):,} refused" in repr(tight)


def test_would_it_have_fitted() -> None:
    with Record() as record:
        blocks = [pool_for(gpu()).alloc(20 * MIB, OWNERS[0]) for _ in range(2)]
        with pytest.raises(OutOfMemory):
            pool_for(gpu()).alloc(40 * MIB, OWNERS[1])
    assert len(replay_pool(record, gpu()).refused) == 1
    larger = replay_pool(record, gpu(), capacity=100 * MIB)
    assert (larger.refused, larger.stats.n_live) == ((), 2)
    for block in blocks:
        block.free()


def test_a_policy_of_ones_own() -> None:
    record, _ = run("Naive", steps=50)
    whole = replay_pool(record, gpu(), policy=Policy(lambda n: 4 * MIB, reserve=0))
    assert whole.stats.pool == "custom"
    assert set(whole.record.mem()["rounded"].tolist()) <= {4 * MIB}
    assert replay_pool(record, gpu(), policy=naive(page=64)).stats.pool == "Naive"


def test_a_replay_disturbs_nobody() -> None:
    record, _ = run("Naive", steps=50)
    before = pool_for(gpu()).stats()
    with Record() as running:
        noted = len(running.mem())
        replay_pool(record, gpu(), knobs={TYPE: "Unpooled"})
        assert len(running.mem()) == noted
        assert events.recorder is running
    assert pool_for(gpu()).stats() == before
    assert events.attribution.running == 0


def test_events_keep_their_time_operation_and_owner() -> None:
    with Record() as record:
        events.attribution.running = 12
        block = pool_for(gpu()).alloc(1000, OWNERS[2])
        events.attribution.running = 0
        block.free()
    replayed = replay_pool(record, gpu(), knobs={TYPE: "Unpooled"}).record
    mem = replayed.mem()
    assert replayed.texts(mem["event"]) == ["alloc", "free", "release"]
    assert mem["op"].tolist() == [12, 0, 0]
    assert mem["t"].tolist()[:2] == record.mem()["t"].tolist()[-2:]
    assert set(replayed.texts(mem["layer"])) == {"net.layer2"}


def test_knobs_are_checked() -> None:
    record, _ = run("Naive", steps=5)
    with pytest.raises(KnobError, match="Did you mean MXNET_GPU_MEM_POOL_TYPE"):
        replay_pool(record, gpu(), knobs={"MXNET_GPU_MEM_POOL_TIPE": "Round"})
    with pytest.raises(KnobError, match="Did you mean Round"):
        replay_pool(record, gpu(), knobs={TYPE: "Roud"})
    with pytest.raises(KnobError, match="power of two"):
        replay_pool(
            record, gpu(), knobs={TYPE: "Round", "MXNET_GPU_MEM_POOL_PAGE_SIZE": 5000}
        )


def test_a_device_that_the_record_does_not_know() -> None:
    record = Record()
    with pytest.raises(
        ArgumentError, match=r"knows the memory of no device, not of 'cpu"
    ):
        replay_pool(record, cpu())
    assert replay_pool(record, cpu(), capacity=MIB).stats.n_malloc == 0
    with pytest.raises(ArgumentError, match="is not a device such as"):
        replay_pool(record, "gpu0", capacity=MIB)

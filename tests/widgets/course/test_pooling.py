"""Notebook 08: the numbers of the syllabus, on the real runtime and in replay."""

from __future__ import annotations

from typing import Any

import pytest

from minimx.device import gpu
from minimx.record import Record
from minimx.replay import History, replay_pool
from minimx.storage import pool_for
from minimx.storage.policy import naive, round_power2
from minimx_widgets.course.pooling import MIB, fresh_gpu, lengths, run

pytestmark = pytest.mark.usefixtures("knobs_at_rest")

PREFIX = "MXNET_GPU_MEM_POOL_"


# (knobs, MiB of the device, MiB reserved at most, driver calls, flushes)
EXPERIMENT = [
    ({"TYPE": "Naive"}, 512, 346.5, 184, 0),
    ({"TYPE": "Round"}, 512, 120, 32, 0),
    ({"TYPE": "Round", "ROUND_LINEAR_CUTOFF": 28}, 512, 120, 32, 0),
    ({"TYPE": "Naive", "RESERVE": 0}, 200, 199.5, 488, 6),
    ({"TYPE": "Naive", "RESERVE": 5}, 200, 190, 512, 7),
    ({"TYPE": "Round", "RESERVE": 0}, 200, 120, 32, 0),
    ({"TYPE": "Unpooled"}, 512, 50, 1600, 0),
]


def settings(pool: dict[str, Any]) -> dict[str, Any]:
    return {f"{PREFIX}{name}": value for name, value in pool.items()}


@pytest.fixture(scope="module")
def record() -> Record:
    """The 200 batches under the defaults."""
    with fresh_gpu():
        return run(lengths())


@pytest.mark.parametrize(
    ("pool", "capacity", "reserved", "calls", "flushes"), EXPERIMENT
)
def test_two_hundred_batches_in_replay(
    record: Record,
    pool: dict[str, Any],
    capacity: int,
    reserved: float,
    calls: int,
    flushes: int,
) -> None:
    tried = settings(pool)
    replay = replay_pool(record, gpu(), knobs=tried, capacity=capacity * MIB)
    stats = replay.stats
    assert stats.peak_reserved == reserved * MIB
    assert (stats.n_malloc, stats.n_flush) == (calls, flushes)
    assert replay.refused == ()
    assert stats.peak_requested == 50 * MIB, "the largest batch"


@pytest.mark.parametrize("row", [EXPERIMENT[0], EXPERIMENT[1], EXPERIMENT[3]])
def test_two_hundred_batches_on_the_runtime(row: Any) -> None:
    pool, capacity, reserved, calls, flushes = row
    with fresh_gpu(f"{capacity}MiB", **settings(pool)):
        history = History.recorded(run(lengths()), "gpu(0)")
        stats = pool_for(gpu()).stats()
    assert history.peak_reserved == stats.peak_reserved == reserved * MIB
    assert history.calls == stats.n_malloc == calls
    assert stats.n_flush == flushes


@pytest.mark.parametrize(
    ("request_", "by_naive", "by_round", "by_cutoff_28"),
    [(3, 4, 4, 4), (17, 18, 32, 32), (33, 34, 48, 64), (100, 100, 112, 128)],
)
def test_the_rounding_table(
    request_: int, by_naive: int, by_round: int, by_cutoff_28: int
) -> None:
    policies = naive(), round_power2(), round_power2(cutoff=28)
    found = [policy.rounding(request_ * MIB) / MIB for policy in policies]
    assert found == [by_naive, by_round, by_cutoff_28]

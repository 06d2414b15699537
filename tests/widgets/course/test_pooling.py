"""Notebook 08: the numbers of the syllabus, on the real runtime and in replay."""

from __future__ import annotations

from typing import Any

import pytest

import minimx as mx
from minimx.core.device import gpu
from minimx.core.record import Record
from minimx.core.replay import History, replay_pool
from minimx.core.storage import Policy, pool_for
from minimx.core.storage.policy import naive, round_power2
from minimx_widgets import PoolMap
from minimx_widgets.course.pooling import (
    MIB,
    check_choice,
    check_rounding,
    fresh_gpu,
    lengths,
    read,
    run,
    sentences,
    trace,
)

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


# The stories


def test_sequences_of_many_lengths_make_a_small_card_flush() -> None:
    flushes = {}
    for kind in ("Naive", "Round"):
        with fresh_gpu("72MiB", **settings({"TYPE": kind})):
            read(sentences(), lengths(30, seed=8))
            flushes[kind] = pool_for(gpu()).stats().n_flush
    assert flushes["Naive"] > flushes["Round"] == 0


def test_four_bytes_that_stay_make_the_free_memory_useless() -> None:
    kept = []
    with fresh_gpu("64MiB"):
        with pytest.raises(mx.base.MXNetError, match=r"63\.8 MiB of 64 MiB is free"):
            for number in range(1, 121):
                buffer = mx.nd.zeros((number, 65_536), ctx=gpu())
                kept.append(buffer.sum())
                del buffer
        assert len(kept) == 56
        kept.clear()


# The faded exercise


def by_bits(nbytes: int, page: int = 4096, cutoff: int = 24) -> int:
    step = 1 << cutoff
    if nbytes > step:
        return -(-nbytes // step) * step
    return max(page, 1 << (nbytes - 1).bit_length())


def by_doubling(nbytes: int, page: int = 4096, cutoff: int = 24) -> int:
    size = page
    while size < nbytes and size < 1 << cutoff:
        size *= 2
    while size < nbytes:
        size += 1 << cutoff
    return size


@pytest.mark.parametrize("attempt", [by_bits, by_doubling])
def test_right_roundings_pass(attempt: Any) -> None:
    feedback = check_rounding(attempt)
    assert feedback.passed, feedback


@pytest.mark.parametrize(
    ("attempt", "idea"),
    [
        (lambda n, page, c: n, "the smallest power of two that holds"),
        (lambda n, page, c: max(page, 2 ** n.bit_length()), "fits exactly"),
        (lambda n, page, c: 2 ** (n - 1).bit_length(), "no block is smaller"),
        (lambda n, page, c: max(page, 1 << (n.bit_length() - 1)), "round up, not down"),
        (
            lambda n, page, c: (
                by_bits(n, page, c) if n < 2**c else 2**c * (n // 2**c + 1)
            ),
            "2**cutoff itself is not above",
        ),
        (
            lambda n, page, c: by_bits(n, page, c) if n <= 2**c else n // 2**c * 2**c,
            "round up, not down",
        ),
        (
            lambda n, page, c: (
                by_bits(n, page, c) if n <= 2**c else -(-n // (2 * MIB)) * 2 * MIB
            ),
            "this is Naive's rule",
        ),
        (lambda n, page, c: by_bits(n, page, 34), "no powers of two any more"),
        (lambda n, page, c: by_bits(n, page, 24), "the cutoff is a parameter"),
        (lambda n, page, c: ..., ""),
        (7, ""),
    ],
)
def test_a_wrong_rounding_is_told_why(attempt: Any, idea: str) -> None:
    feedback = check_rounding(attempt)
    assert not feedback.passed
    assert idea in feedback.idea


# The free exercise


@pytest.mark.parametrize(
    "attempt",
    [
        {"type": "Round", "cutoff": 25},
        {"cutoff": 26, "type": "Round", "page": 8192},
        {"MXNET_GPU_MEM_POOL_TYPE": "Round",
         "MXNET_GPU_MEM_POOL_ROUND_LINEAR_CUTOFF": 25},
        {"type": "Naive", "page": 32 * MIB, "large": 1 << 34},
        Policy(lambda n: 64 * MIB if n <= 64 * MIB else n),
    ],
)  # fmt: skip
def test_right_choices_pass(attempt: Any) -> None:
    feedback = check_choice(attempt)
    assert feedback.passed, feedback


@pytest.mark.parametrize(
    ("attempt", "seen", "idea"),
    [
        ({"type": "Naive"}, "1,350 MiB reserved, 36 driver calls", "opens a class"),
        ({"type": "Unpooled"}, "254 MiB reserved, 600 driver calls", "nothing is kept"),
        ({"type": "Round"}, "472 MiB reserved, 10 driver calls", "many classes"),
        ({"type": "Round", "cutoff": 20}, "155 driver calls", "many classes"),
        ({"type": "Round", "cutoff": 28}, "488 MiB reserved, 8", "130 MiB takes 256"),
        ({"type": "Roun"}, "Did you mean Round", ""),
        ({"kind": "Round"}, "KnobError", ""),
        (28, "neither", ""),
        (Policy(lambda n: n // 2), "A rounding must give at least", ""),
        (..., "nothing to check yet", ""),
    ],
)
def test_a_wrong_choice_is_told_why(attempt: Any, seen: str, idea: str) -> None:
    feedback = check_choice(attempt)
    assert not feedback.passed
    assert seen in feedback.seen
    assert idea in feedback.idea


def test_the_trace_of_the_exercise_can_be_tried_out_in_the_map() -> None:
    view = PoolMap(trace())
    assert "reserved=1.32 GiB, calls=36" in repr(view)
    view.what_if(type="Round", cutoff=25)
    assert "reserved=392 MiB, calls=8" in repr(view)

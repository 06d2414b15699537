"""Memory curves: sums that agree with the pools' own books at every moment."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minimx.core.device import gpu
from minimx.core.drivers.counting import CountingDriver
from minimx.core.errors import ArgumentError, OutOfMemory
from minimx.core.events import CATEGORIES, Owner
from minimx.core.record import Record
from minimx.core.storage import Pool
from minimx.core.storage.policy import Policy, naive, round_power2, unpooled

KIB = 1 << 10
OWNERS = [
    Owner("conv", "net.conv1", phase, category)
    for phase, category in (
        ("forward", "activation"),
        ("forward", "parameter"),
        ("backward", "gradient"),
    )
]


def recorded(policy: Policy, number: int = 0) -> tuple[Pool, Record]:
    record = Record()
    bus: Any = SimpleNamespace(recorder=record)
    return Pool(CountingDriver(gpu(number), 1 << 20), policy, bus), record


programs = st.lists(
    st.one_of(st.integers(1, 300 * KIB), st.integers(-20, -1), st.just(0)), max_size=50
)


@given(programs, st.sampled_from([naive(reserve=0), round_power2(), unpooled()]))
@settings(max_examples=100, deadline=None)
def test_curves_end_where_the_books_are(program: list[int], policy: Policy) -> None:
    pool, record = recorded(policy)
    lent = []
    for i, step in enumerate(program):
        if step > 0:
            try:
                lent.append(pool.alloc(step, OWNERS[i % 3]))
            except OutOfMemory:
                continue
        elif step == 0:
            pool.set_policy([naive(), round_power2(), unpooled()][i % 3])
        elif lent:
            lent.pop(step % len(lent)).free()
        stats = pool.stats()
        for quantity, books in (
            ("requested", stats.live_requested),
            ("rounded", stats.live_rounded),
            ("reserved", stats.reserved),
        ):
            curve = record.memory_curve("gpu(0)", quantity)
            assert curve.total[-1:].sum() == books
            assert curve.nbytes.min(initial=0) >= 0
    stats = pool.stats()
    assert record.memory_curve(quantity="requested").peak == stats.peak_requested
    assert record.memory_curve(quantity="rounded").peak == stats.peak_rounded


def test_bands_stand_in_the_order_of_the_views() -> None:
    pool, record = recorded(naive())
    blocks = [pool.alloc(1000, owner) for owner in OWNERS]
    blocks[0].free()
    curve = record.memory_curve()
    assert curve.bands == ("parameter", "gradient", "activation")
    assert list(curve.bands) == [c for c in CATEGORIES if c in curve.bands]
    assert curve.nbytes.tolist() == [
        [0, 1000, 1000, 1000],
        [0, 0, 1000, 1000],
        [1000, 1000, 1000, 0],
    ]
    assert (curve.peak, curve.at_peak) == (3000, 2)
    by_phase = record.memory_curve(by="phase")
    assert by_phase.bands == ("forward", "backward")
    assert "peak 3,000 bytes" in repr(curve)


def test_idle_blocks_are_a_band_of_what_is_reserved() -> None:
    pool, record = recorded(naive())
    pool.alloc(1000, OWNERS[0]).free()
    pool.stats()
    curve = record.memory_curve(quantity="reserved")
    assert curve.bands == ("activation", "idle")
    assert curve.nbytes.tolist() == [[4096, 0], [0, 4096]]


def test_devices_can_be_told_apart() -> None:
    pool, record = recorded(naive())
    other = Pool(CountingDriver(gpu(1), 1 << 20), naive(), pool.bus)
    pool.alloc(1000, OWNERS[0])
    other.alloc(500, OWNERS[0])
    both = record.memory_curve(by="device")
    assert both.bands == ("gpu(0)", "gpu(1)")
    assert both.nbytes[:, -1].tolist() == [1000, 500]
    assert record.memory_curve("gpu(1)").total.tolist() == [500]
    assert record.memory_curve(gpu(1)).row.tolist() == [1]
    assert record.memory_curve("gpu(7)").peak == 0


def test_a_block_told_twice_counts_once() -> None:
    record = Record()
    owner = OWNERS[0]
    for event in ("live", "alloc", "free", "free"):
        record.memory(event, "gpu(0)", 5, 100, 128, 0, owner)
    assert record.memory_curve().total.tolist() == [100, 100, 0, 0]
    assert record.memory_curve(quantity="reserved").total.tolist() == [128] * 4


def test_what_was_dropped_makes_no_negative_memory() -> None:
    record = Record(capacity=4)
    for block in (1, 2, 3):
        record.memory("alloc", "gpu(0)", block, 100, 128, 0, OWNERS[0])
    record.memory("release", "gpu(0)", 1, 100, 128, 0, OWNERS[0])
    record.memory("release", "gpu(0)", 2, 100, 128, 0, OWNERS[0])
    record.memory("free", "gpu(0)", 9, 100, 128, 0, OWNERS[0])
    curve = record.memory_curve(quantity="reserved")
    assert not curve.complete
    assert np.all(curve.nbytes >= 0)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"quantity": "rounds"}, "quantity='rounds': .* Did you mean rounded"),
        ({"by": "categories"}, "by='categories': choose category, device or phase"),
    ],
)
def test_other_words_are_refused(arguments: dict[str, str], message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        Record().memory_curve(**arguments)

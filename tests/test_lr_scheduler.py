"""Learning rates as functions of the number of updates.

The numbers of the first test were measured with MXNet 1.9.1.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minimx.core.errors import ArgumentError
from minimx.lr_scheduler import (
    CosineScheduler,
    FactorScheduler,
    LRScheduler,
    MultiFactorScheduler,
    PolyScheduler,
)

COSINE = CosineScheduler(6, 1.0, 0.1, warmup_steps=2, warmup_begin_lr=0.1)


@pytest.mark.parametrize(
    ("scheduler", "rates"),
    [
        (FactorScheduler(2, 0.5, base_lr=1.0), [1, 1, 0.5, 0.5, 0.25, 0.25]),
        (MultiFactorScheduler([2, 4], 0.1, base_lr=1.0), [1, 1, 0.1, 0.1, 0.01, 0.01]),
        (PolyScheduler(6, 1.0, 2), [0.69444, 0.44444, 0.25, 0.11111, 0.02778, 0]),
        (COSINE, [0.55, 1.0, 0.8682, 0.55, 0.2318, 0.1]),
    ],
)
def test_rates_are_those_of_mxnet(scheduler: LRScheduler, rates: list[float]) -> None:
    found = [scheduler(n) for n in range(1, 7)]
    assert found == pytest.approx(rates, abs=1e-5)


def test_after_the_end_the_last_rate_stays() -> None:
    scheduler = CosineScheduler(4, 1.0, 0.25)
    assert [scheduler(n) for n in (4, 5, 100)] == [0.25, 0.25, 0.25]


def test_the_rate_does_not_fall_below_its_floor() -> None:
    scheduler = FactorScheduler(1, 0.1, stop_factor_lr=0.01, base_lr=1.0)
    assert scheduler(50) == 0.01


def test_constant_warmup_stays_at_its_beginning() -> None:
    scheduler = FactorScheduler(
        1, base_lr=1.0, warmup_steps=3, warmup_begin_lr=0.2, warmup_mode="constant"
    )
    assert [scheduler(n) for n in range(4)] == [0.2, 0.2, 0.2, 1.0]


@given(st.integers(1, 50), st.integers(0, 20), st.floats(0.01, 10), st.floats(0.0, 1.0))
def test_a_way_down_goes_down(
    length: int, warmup: int, base: float, share: float
) -> None:
    for make in (CosineScheduler, PolyScheduler):
        scheduler = make(
            length + warmup, base, final_lr=base * share, warmup_steps=warmup
        )
        rates = [scheduler(n) for n in range(warmup, warmup + length + 1)]
        assert rates[0] == pytest.approx(base)
        assert rates[-1] == pytest.approx(base * share)
        pairs = zip(rates, rates[1:], strict=False)
        assert all(late <= early * (1 + 1e-12) for early, late in pairs)


@pytest.mark.parametrize(
    ("make", "word"),
    [
        (lambda: FactorScheduler(0), "step=0"),
        (lambda: FactorScheduler(1, 2.0), "factor=2.0"),
        (lambda: MultiFactorScheduler([3, 2]), "step="),
        (lambda: MultiFactorScheduler([]), "step="),
        (lambda: PolyScheduler(0), "max_update=0"),
        (lambda: CosineScheduler(3, warmup_steps=3), "warmup_steps=3"),
        (lambda: FactorScheduler(1, warmup_steps=-1), "warmup_steps=-1"),
        (lambda: FactorScheduler(1, warmup_begin_lr=1.0), "warmup_begin_lr=1.0"),
        (lambda: FactorScheduler(1, warmup_mode="slow"), "linear, constant"),
        (lambda: LRScheduler()(1), "override __call__"),
    ],
)
def test_wrong_settings_are_named(make: Any, word: str) -> None:
    with pytest.raises(ArgumentError, match=word):
        make()

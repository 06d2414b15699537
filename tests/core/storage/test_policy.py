"""Policies: made from knobs, equal when the settings are, refused when they clash."""

from __future__ import annotations

from typing import Any

import pytest

from minimx.core.errors import KnobError
from minimx.core.knobs import knobs
from minimx.core.storage.policy import (
    BYPASS,
    PREFIXES,
    Policy,
    from_knobs,
    knob_names,
    naive,
    round_power2,
    unpooled,
)


def chosen(device_type: str = "gpu", **changes: Any) -> Policy:
    values = {**{n: k.default for n, k in knobs.declared.items()}, **changes}
    return from_knobs(device_type, values.__getitem__)


def test_the_same_settings_are_the_same_policy() -> None:
    assert naive(4096, 2 << 20, 5) is naive(4096, 2 << 20, 5)
    assert chosen() is chosen()
    assert chosen() is not chosen(MXNET_GPU_MEM_POOL_RESERVE=6)


def test_three_types() -> None:
    assert chosen().rounding(1) == 4096
    power2 = chosen(MXNET_GPU_MEM_POOL_TYPE="Round")
    assert (power2.rounding(10_000), power2.name) == (16_384, "Round")
    none = chosen(MXNET_GPU_MEM_POOL_TYPE="Unpooled")
    assert (none.rounding(10_001), none.keeps) == (10_001, False)


@pytest.mark.parametrize(("device_type", "prefix"), PREFIXES.items())
def test_every_device_listens_to_its_own_knobs(device_type: str, prefix: str) -> None:
    policy = chosen(
        device_type,
        **{
            f"{prefix}_MEM_POOL_PAGE_SIZE": 64,
            f"{prefix}_MEM_LARGE_ALLOC_ROUND_SIZE": 1000,
            f"{prefix}_MEM_POOL_RESERVE": 50,
        },
    )
    assert [policy.rounding(n) for n in (1, 65, 1025)] == [64, 128, 2000]
    assert policy.reserve == 50
    power2 = chosen(
        device_type,
        **{
            f"{prefix}_MEM_POOL_TYPE": "Round",
            f"{prefix}_MEM_POOL_ROUND_LINEAR_CUTOFF": 20,
        },
    )
    assert power2.rounding((1 << 20) + 1) == 2 << 20
    assert power2.rounding((2 << 20) + 1) == 3 << 20
    assert all(name in knobs.declared for name in knob_names(device_type))


def test_shared_memory_and_the_bypass_have_no_pool() -> None:
    assert chosen("cpu_shared") is unpooled()
    for device_type in PREFIXES:
        assert chosen(device_type, **{BYPASS: True}) is unpooled()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"page": 5000}, "PAGE_SIZE=5000: .* power of two .* such as 4096 or 8192"),
        ({"page": 16}, "such as 32 or 64"),
        ({"page": 0}, "such as 32 or 64"),
        ({"cutoff": 19}, "CUTOFF=19: choose a value from 20 to 34"),
        ({"cutoff": 35}, "from 20 to 34"),
        ({"page": 1 << 22, "cutoff": 21}, "cutoff of at least 22, or smaller pages"),
    ],
)
def test_what_the_round_pool_refuses(settings: dict[str, int], message: str) -> None:
    with pytest.raises(KnobError, match=message):
        round_power2(**settings, prefix="MXNET_CPU")


def test_what_the_naive_pool_refuses() -> None:
    with pytest.raises(KnobError, match="MXNET_GPU_MEM_POOL_PAGE_SIZE=31: .* 32 bytes"):
        naive(page=31)
    with pytest.raises(KnobError, match="LARGE_ALLOC_ROUND_SIZE=0: choose at least 1"):
        naive(large=0)
    assert naive(page=1000).rounding(1) == 1000  # no power of two, and welcome


def test_a_policy_of_ones_own() -> None:
    mine = Policy(lambda n: n + 1, reserve=0)
    assert (mine.rounding(1), mine.keeps, repr(mine)) == (
        2,
        True,
        "Policy(custom, reserve 0 %)",
    )

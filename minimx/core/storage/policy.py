"""What a pool decides by: how it rounds, whether it keeps freed blocks, its reserve.

    policy = naive(page=4096)                       # or from_knobs("cpu", knobs.get)
    policy.rounding(5_000)                          # 8192
    pool_for(cpu()).set_policy(policy)

A policy is a value, without state. The three that MXNet offers are made by `naive`,
`round_power2` and `unpooled`, or from knobs by `from_knobs`. A policy of your own is
`Policy(my_rounding)`, where `my_rounding` turns requested bytes into block bytes; one
that also looks at the idle blocks is registered by `mx.storage.register_pool`.

The same settings give the same object, so "nothing changed" is a test for identity.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sized
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

from minimx.core.errors import KnobError
from minimx.core.extensions import provided
from minimx.core.storage.rounding import Rounding, exact, to_multiple, to_power2

# The knobs of a device's pool begin like this. Shared memory never has a pool.
PREFIXES = {"cpu": "MXNET_CPU", "gpu": "MXNET_GPU", "cpu_pinned": "MXNET_CPU_PINNED"}
BYPASS = "MXNET_USE_NAIVE_STORAGE_MANAGERS"

# For how many different sizes of requests a policy caches the rounded size.
CACHED_SIZES = 1 << 14


@dataclass(frozen=True)
class Policy:
    """How a pool decides.

    rounding: from requested bytes to block bytes; at least as many, and the same
    answer every time. reserve: percent of the device to leave alone: a request that
    would cut into it makes the pool give its idle blocks back first. keeps: whether
    returned blocks are kept for later. name: for people. sees: in place of `rounding`,
    makes one from the idle blocks of a pool, {size: those that wait}.
    """

    rounding: Rounding
    reserve: int = 5
    keeps: bool = True
    name: str = "custom"
    sees: Callable[[Mapping[int, Sized]], Rounding] | None = None

    def __repr__(self) -> str:
        return f"Policy({self.name}, reserve {self.reserve} %)"


class PolicyFailed(Exception):
    """A policy has no answer for a pool; `instead` has one, from now on."""

    def __init__(self, instead: Policy) -> None:
        super().__init__(f"{instead.name} takes over")
        self.instead = instead


@lru_cache(64)
def naive(
    page: int = 4096, large: int = 2 << 20, reserve: int = 5, prefix: str = "MXNET_GPU"
) -> Policy:
    """Round to whole pages, large requests to multiples of `large`; keep every block.

    page, large: bytes. reserve: percent, see `Policy`. Raises `KnobError`, naming the
    knobs that begin with `prefix`, for `page` under 32 or `large` under 1.
    """
    _require(
        page >= 32, f"{prefix}_MEM_POOL_PAGE_SIZE={page}: choose at least 32 bytes."
    )
    _require(
        large > 0,
        f"{prefix}_MEM_LARGE_ALLOC_ROUND_SIZE={large}: choose at least 1, which turns "
        "the second rounding off.",
    )
    rounding = partial(to_multiple, page=page, large=large)
    return Policy(_cached(rounding), reserve, name="Naive")


@lru_cache(64)
def round_power2(
    page: int = 4096, cutoff: int = 24, reserve: int = 5, prefix: str = "MXNET_GPU"
) -> Policy:
    """Round to powers of two, above 2**cutoff to its multiples; keep every block.

    page: bytes, the smallest block. reserve: percent, see `Policy`. Raises `KnobError`,
    naming the knobs that begin with `prefix`, if `page` is no power of two, or `cutoff`
    is not from 20 to 34, or 2**cutoff is less than a page.
    """
    page_knob = f"{prefix}_MEM_POOL_PAGE_SIZE={page}"
    cutoff_knob = f"{prefix}_MEM_POOL_ROUND_LINEAR_CUTOFF={cutoff}"
    below = 1 << (page.bit_length() - 1) if page > 0 else 0
    _require(
        page >= 32 and page == below,
        f"{page_knob}: the Round pool wants a power of two of at least 32, such as "
        f"{max(below, 32)} or {max(2 * below, 64)}. "
        f"Or choose {prefix}_MEM_POOL_TYPE=Naive.",
    )
    _require(20 <= cutoff <= 34, f"{cutoff_knob}: choose a value from 20 to 34.")
    _require(
        1 << cutoff >= page,
        f"{cutoff_knob}: 2**{cutoff} is smaller than one page ({page_knob}). Choose a "
        f"cutoff of at least {page.bit_length() - 1}, or smaller pages.",
    )
    rounding = partial(to_power2, page=page, cutoff=cutoff)
    return Policy(_cached(rounding), reserve, name="Round")


@lru_cache(1)
def unpooled() -> Policy:
    """Ask the device every time, for exactly what was requested."""
    return Policy(exact, reserve=0, keeps=False, name="Unpooled")


def from_knobs(device_type: str, get: Callable[[str], Any]) -> Policy:
    """The policy that the knobs choose for a type of device, such as "cpu".

    get: reads a knob; a replay gives one that reads the knobs of a recorded run. Types
    without knobs (`cpu_shared`) are not pooled. Raises `KnobError` for settings that
    contradict one another.
    """
    prefix = PREFIXES.get(device_type)
    if prefix is None or get(BYPASS):
        return unpooled()
    kind = get(f"{prefix}_MEM_POOL_TYPE")
    if kind == "Unpooled":
        return unpooled()
    page = get(f"{prefix}_MEM_POOL_PAGE_SIZE")
    reserve = get(f"{prefix}_MEM_POOL_RESERVE")
    if kind == "Naive":
        large = get(f"{prefix}_MEM_LARGE_ALLOC_ROUND_SIZE")
        return naive(page, large, reserve, prefix)
    if kind == "Round":
        cutoff = get(f"{prefix}_MEM_POOL_ROUND_LINEAR_CUTOFF")
        return round_power2(page, cutoff, reserve, prefix)
    own: Policy = provided("policies").pool_policy(kind, reserve)
    return own


def knob_names(device_type: str) -> tuple[str, ...]:
    """The knobs that `from_knobs` reads for a type of device.

    >>> knob_names("cpu")[0]
    'MXNET_CPU_MEM_POOL_TYPE'
    """
    prefix = PREFIXES[device_type]
    return (
        f"{prefix}_MEM_POOL_TYPE",
        f"{prefix}_MEM_POOL_PAGE_SIZE",
        f"{prefix}_MEM_POOL_RESERVE",
        f"{prefix}_MEM_LARGE_ALLOC_ROUND_SIZE",
        f"{prefix}_MEM_POOL_ROUND_LINEAR_CUTOFF",
    )


def _require(condition: bool, message: str) -> None:
    if not condition:
        raise KnobError(message)


def _cached(rounding: Rounding) -> Rounding:
    """The same rounding, quicker: programs request the same sizes many times."""
    return lru_cache(CACHED_SIZES)(rounding)

"""What the documents say about pools (notebook 16)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from minimx.core.storage import Policy
from minimx.policies.pools import POOLS
from minimx_widgets.course.claims.claim import (
    GUIDE,
    V1,
    Decision,
    Numbers,
    claim,
    if_true,
    weighed,
)
from minimx_widgets.course.own_policies.serving import driver_calls

#: Which traces of each family the experiments run.
SEEDS: Final = range(2, 6)


def _cost(name: str, family: str, seeds: Sequence[int] = SEEDS) -> float:
    subject: Policy = POOLS.builtins[name]
    return float(sum(POOLS.run(subject, POOLS.trace(family, k)) for k in seeds))


def two_sizes(sizes: Sequence[int] = (5_000, 5_001)) -> Numbers:
    """How often Naive asks the device for two sizes, one after the other."""
    return {"sizes": sizes, "calls": driver_calls("Naive", sizes)}


@claim(
    "16",
    "Naive “allocates memory for the exact requested size”",
    V1,
    63,
    "planned",
    two_sizes,
)
def exact_size(sizes: Sequence[int], calls: int) -> Decision:
    """Naive should allocate exactly what was requested."""
    return (
        if_true(calls == len(set(sizes))),
        f"{len(set(sizes))} sizes one after the other, "
        f"{' and '.join(f'{size:,}' for size in sizes)} bytes, ask the device "
        f"{'once' if calls == 1 else f'{calls} times'}; Naive rounds to whole pages",
    )


def costs(
    families: Sequence[str] = ("training", "ragged batches", "adversarial"),
) -> Numbers:
    """By family of traces, what Round and what Naive cost."""
    found = {one: (_cost("Round", one), _cost("Naive", one)) for one in families}
    return {"costs": found}


@claim(
    "16",
    "If shapes vary, “MXNET_GPU_MEM_POOL_TYPE=Round”",
    GUIDE,
    24,
    "planned",
    costs,
)
def round_for_changing_shapes(costs: Mapping[str, tuple[float, float]]) -> Decision:
    """Round should help where sizes change."""
    better = {family: ours < naive for family, (ours, naive) in costs.items()}
    return (
        weighed(list(better.values()), "the sizes"),
        "Round against Naive: "
        + ", ".join(
            f"{'cheaper' if won else 'more expensive'} in {one}"
            for one, won in better.items()
        ),
    )


def every_request(
    families: Sequence[str] = ("training", "adversarial"), pool: str = "Unpooled"
) -> Numbers:
    """By family, how many requests there are, and how many ask the device."""
    asked = {}
    for family in families:
        trace = POOLS.trace(family, SEEDS[0])
        requests = [nbytes for _, nbytes in trace.steps if nbytes]
        asked[family] = (len(requests), driver_calls(pool, requests))
    return {"asked": asked}


@claim("16", "Unpooled: “No memory pool is used”", V1, 65, "planned", every_request)
def unpooled(asked: Mapping[str, tuple[int, int]]) -> Decision:
    """Without a pool every request should go to the device."""
    fair = [requests == calls for requests, calls in asked.values()]
    return (
        if_true(all(fair)),
        f"every request asks the device, in {sum(fair)} of {len(fair)}",
    )

"""What the documents say about pools, and verdicts that are computed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from minimx.core.storage import Policy
from minimx.policies.pools import POOLS
from minimx_widgets.course.own_policies.serving import driver_calls

Verdict = tuple[str, str, str]
#: Which traces of each family the experiments run.
SEEDS: Final = range(2, 6)


def _cost(name: str, family: str, seeds: Sequence[int] = SEEDS) -> float:
    subject: Policy = POOLS.builtins[name]
    return float(sum(POOLS.run(subject, POOLS.trace(family, k)) for k in seeds))


def exact_size(sizes: Sequence[int] = (5_000, 5_001)) -> Verdict:
    """Naive should allocate exactly what was requested."""
    calls = driver_calls("Naive", sizes)
    verdict = "holds" if calls == len(set(sizes)) else "fails"
    return (
        "Naive “allocates memory for the exact requested size” <i>(1.x, 63)</i>",
        verdict,
        f"planned: {len(set(sizes))} sizes one after the other, "
        f"{' and '.join(f'{size:,}' for size in sizes)} bytes, ask the device "
        f"{'once' if calls == 1 else f'{calls} times'}; Naive rounds to whole pages",
    )


def round_for_changing_shapes(
    families: Sequence[str] = ("training", "ragged batches", "adversarial"),
) -> Verdict:
    """Round should help where sizes change."""
    better = {one: _cost("Round", one) < _cost("Naive", one) for one in families}
    verdict = "holds" if all(better.values()) else "fails"
    if any(better.values()) and not all(better.values()):
        verdict = "depends on the sizes"
    return (
        "Variable input shapes: <code>MXNET_GPU_MEM_POOL_TYPE=Round</code> "
        "<i>(guide, 24)</i>",
        verdict,
        "counted, Round against Naive: "
        + ", ".join(
            f"{'cheaper' if won else 'dearer'} in {one}" for one, won in better.items()
        ),
    )


def unpooled(families: Sequence[str] = ("training", "adversarial")) -> Verdict:
    """Without a pool every request should go to the device."""
    asked = []
    for family in families:
        trace = POOLS.trace(family, SEEDS[0])
        requests = [nbytes for _, nbytes in trace.steps if nbytes]
        asked.append(driver_calls("Unpooled", requests) == len(requests))
    return (
        "Unpooled: “No memory pool is used” <i>(1.x, 65)</i>",
        "holds" if all(asked) else "fails",
        f"counted: every request asks the device, in {sum(asked)} of {len(asked)}",
    )


def all_claims() -> list[Verdict]:
    """All of them, with the notebook's experiments."""
    return [exact_size(), round_for_changing_shapes(), unpooled()]

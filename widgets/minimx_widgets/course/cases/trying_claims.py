"""What the documents say of pools, updates and scratch memory."""

from __future__ import annotations

import math
from collections.abc import Mapping

from minimx.core.knobs import knobs
from minimx_widgets.course.cases.trying import (
    MIB,
    block_mib,
    round_mib,
    scratch_buffers,
    updates,
)
from minimx_widgets.course.claims.claim import V2, Decision, Numbers, claim, if_true


def above_the_cutoff(mib: int = 36, cutoff: int = 24) -> Numbers:
    """The blocks in MiB that Round and Naive give for a request above the cutoff."""
    return {"mib": mib, "naive": block_mib(mib * MIB), "found": round_mib(mib, cutoff)}


@claim(
    "every",
    "“When this rounded number is bigger that "
    "2**MXNET_CPU_MEM_POOL_ROUND_LINEAR_CUTOFF, the the <i>Naive</i> rounding "
    "algorithm is used”",
    V2,
    109,
    "measured",
    above_the_cutoff,
)
def naive_above_the_cutoff(mib: int, naive: float, found: float) -> Decision:
    """Above the cutoff the rule of Naive should count."""
    return (
        if_true(found == naive, badly="fails"),
        f"Round gives a block of {found:g} MiB for {mib} MiB, and Naive one of "
        f"{naive:g} MiB",
    )


def multiples(mib: int = 36, cutoff: int = 24) -> Numbers:
    """The block in MiB that Round gives, and the cutoff in MiB."""
    return {"mib": mib, "step": 2**cutoff / MIB, "found": round_mib(mib, cutoff)}


@claim(
    "every",
    "“if the memory size is larger than `2 ** T`, it rounds to the next k * 2 ** T”",
    V2,
    122,
    "measured",
    multiples,
)
def multiples_above_the_cutoff(mib: int, step: float, found: float) -> Decision:
    """Above the cutoff blocks should be multiples of it, as small as can be."""
    return (
        if_true(found == math.ceil(mib / step) * step),
        f"{mib} MiB become {found:g} MiB, {found / step:g} times the cutoff of "
        f"{step:g} MiB",
    )


def operations(weights: int = 12, most: int = 4) -> Numbers:
    """How many operations update so many weights, by optimizer."""
    with knobs(MXNET_OPTIMIZER_AGGREGATION_SIZE=most):
        each = {name: updates(weights, name) for name in ("sgd", "adam", "nag")}
    return {"weights": weights, "most": most, "each": each}


@claim(
    "every",
    "“how many weights will be updated in a single call to optimizer (for optimizers "
    "that support aggregation, currently limited to SGD)”",
    V2,
    418,
    "measured",
    operations,
)
def only_sgd_joins(weights: int, most: int, each: Mapping[str, int]) -> Decision:
    """SGD should update so many weights in a call, and no other optimizer."""
    joined = [name for name, count in each.items() if count < weights]
    verdict = "holds" if joined == ["sgd"] else "depends on the generation"
    counts = ", ".join(f"{count} operations of {name}" for name, count in each.items())
    return (
        if_true(bool(joined), verdict, "fails"),
        f"with {most}, {weights} weights are {counts}",
    )


def buffers(copies: int = 4, graphs: int = 8) -> Numbers:
    """How many scratch buffers so many graphs share, and how many are allowed."""
    with knobs(MXNET_CPU_TEMP_COPY=copies):
        count = scratch_buffers(graphs)
    return {"copies": copies, "graphs": graphs, "count": count}


@claim(
    "every",
    "MXNET_CPU_TEMP_COPY: “how many temporary memory resources to create for all CPU "
    "context for use in operator”",
    V2,
    422,
    "measured",
    buffers,
)
def as_many_buffers(copies: int, graphs: int, count: int) -> Decision:
    """A device should have so many scratch buffers, however many graphs there are."""
    return (
        if_true(count == copies, badly="depends on how many graphs there are"),
        f"{graphs} graphs share {count} scratch buffers, with the variable at {copies}",
    )

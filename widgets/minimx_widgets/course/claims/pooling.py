"""What the documents say of pools (notebook 08)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, Final

import minimx as mx
from minimx.core.record import Record
from minimx.core.replay import replay_pool
from minimx.core.storage.policy import naive, round_power2
from minimx_widgets.course import pooling
from minimx_widgets.course.claims.claim import (
    GUIDE,
    V1,
    V2,
    Decision,
    Numbers,
    claim,
    if_true,
    weighed,
)
from minimx_widgets.course.pooling import MIB, fresh_gpu

GPU: Final = "MXNET_GPU_MEM_POOL_"
BATCHES = 120


@cache
def _ragged(batches: int = 200) -> Record:
    """A record of batches of many lengths."""
    with fresh_gpu("512MiB"):
        return pooling.run(pooling.lengths(batches))


@cache
def _equal() -> Record:
    """A record of batches of one length."""
    with fresh_gpu("512MiB"):
        return pooling.run([66] * 20)


def _served(record: Record, capacity: int = 512, **settings: Any) -> Any:
    """What the batches cost with another pool: the replay's statistics."""
    turned = {f"{GPU}{name}": value for name, value in settings.items()}
    return replay_pool(record, mx.gpu(0), knobs=turned, capacity=capacity * MIB).stats


def _costs(stats: Any) -> tuple[float, int]:
    return stats.peak_reserved / MIB, stats.n_malloc


def round_or_naive() -> Numbers:
    """MiB and calls by Naive and by Round: for lengths that vary, and that do not."""
    return {
        "costs": {
            name: tuple(
                _costs(_served(record, TYPE=kind)) for kind in ("Naive", "Round")
            )
            for name, record in (("vary", _ragged()), ("same", _equal()))
        }
    }


@claim(
    "08",
    "“MXNET_GPU_MEM_POOL_TYPE=Round … helps MXNet reuse memory more predictably”",
    GUIDE,
    24,
    "measured",
    round_or_naive,
    last=27,
)
def round_reuses_more(
    costs: Mapping[str, Sequence[tuple[float, int]]],
) -> Decision:
    """Round should need less memory and fewer calls."""
    better = {
        name: ours[0] <= plain[0] and ours[1] < plain[1]
        for name, (plain, ours) in costs.items()
    }
    (naive_mib, naive_calls), (round_mib, round_calls) = costs["vary"]
    same = [f"{mib:.4g} MiB" for mib, _ in costs["same"]]
    verdict = if_true(all(better.values()), "holds", "holds for sizes that vary")
    return (
        verdict if better["vary"] else "fails",
        f"{naive_mib:.4g} MiB and {naive_calls} calls become {round_mib:.4g} MiB and "
        f"{round_calls}. Where all sizes are the same, {same[0]} become {same[1]}",
    )


def cutoffs() -> Numbers:
    """MiB and calls with cutoffs of 24 and 28: of ragged batches, of large blocks."""
    ragged = [_served(_ragged(), TYPE="Round", ROUND_LINEAR_CUTOFF=k) for k in (24, 28)]
    large = [pooling.serve(round_power2()), pooling.serve(round_power2(cutoff=28))]
    return {
        "ragged": [_costs(one) for one in ragged],
        "large": [_costs(one) for one in large],
    }


@claim(
    "08",
    "“MXNET_GPU_MEM_POOL_ROUND_LINEAR_CUTOFF=28”",
    GUIDE,
    25,
    "planned",
    cutoffs,
)
def cutoff_28(
    ragged: Sequence[tuple[float, int]], large: Sequence[tuple[float, int]]
) -> Decision:
    """28 should be better than 24, in memory and in calls."""
    better = [a > b for one in (ragged, large) for a, b in zip(*one, strict=True)]
    return (
        weighed(better, "the sizes above 16 MiB"),
        f"with 24 and with 28 the ragged batches take {ragged[0][0]:.4g} and "
        f"{ragged[1][0]:.4g} MiB. In the exercise it is {large[0][0]:.0f} MiB in "
        f"{large[0][1]} calls with 24, and {large[1][0]:.0f} MiB in {large[1][1]} with "
        "28: one dial, two costs",
    )


def roundings(mebibytes: int = 33) -> Numbers:
    """What both pools make of a request above the cutoff, in MiB."""
    asked = mebibytes * MIB
    return {
        "asked": mebibytes,
        "by_round": round_power2().rounding(asked) / MIB,
        "by_naive": naive().rounding(asked) / MIB,
    }


@claim(
    "08",
    "Above the cutoff of Round “the Naive rounding algorithm is used”; 1.x says in "
    "line 69: it rounds to the next k * 2 ** T",
    V2,
    90,
    "planned",
    roundings,
)
def naive_above_the_cutoff(asked: int, by_round: float, by_naive: float) -> Decision:
    """Above the cutoff both pools should round alike."""
    return (
        if_true(by_round == by_naive, "holds", "fails in the newer document"),
        f"{asked} MiB become {by_round:g}, by the older document's rule; Naive's rule "
        f"gives {by_naive:g}. The code of MXNet 1.x and 2.0 does what the older "
        "document says, and so does minimx",
    )


def exact(mebibytes: float = 3) -> Numbers:
    """What Naive makes of a request, in MiB."""
    found = naive().rounding(int(mebibytes * MIB)) / MIB
    return {"asked": mebibytes, "got": found}


@claim(
    "08",
    "Naive “allocates memory for the exact requested size”",
    V1,
    63,
    "planned",
    exact,
)
def exact_requested_size(asked: float, got: float) -> Decision:
    """A block should be as large as its request."""
    return (
        if_true(got == asked),
        f"{asked:g} MiB become {got:g}: pages of 4 KiB, and slabs of 2 MiB above that",
    )


def reserves(capacity: int = 200) -> Numbers:
    """Flushes in so many MiB, with a reserve of 0 % and of 5 %."""
    found = [
        _served(_ragged(), capacity, TYPE="Naive", RESERVE=share).n_flush
        for share in (0, 5)
    ]
    return {"capacity": capacity, "without": found[0], "with_it": found[1]}


@claim(
    "08",
    "MXNET_GPU_MEM_POOL_RESERVE: “If it is not possible to allocate new memory AND "
    "still save this reserve, the memory pool will free the cached memory”",
    V2,
    95,
    "planned",
    reserves,
)
def reserve_frees_earlier(capacity: int, without: int, with_it: int) -> Decision:
    """A pool with a reserve should free its cache more often."""
    return (
        if_true(with_it > without),
        f"in {capacity} MiB, {without} flushes with 0 % and {with_it} with 5 %. What "
        "is not there after the flush is taken from the reserve anyway",
    )


def _fitted(keep: Callable[[Any], Any]) -> int:
    """How many buffers of 256 KiB, 512 KiB and so on fit, one after the other."""
    with fresh_gpu("64MiB"):
        return _filled(keep)


def _filled(keep: Callable[[Any], Any]) -> int:
    kept = []
    for number in range(1, BATCHES + 1):
        try:
            buffer = mx.nd.zeros((number, 65_536), ctx=mx.gpu(0))
            kept.append(keep(buffer.sum()))
            del buffer
        except mx.base.MXNetError:
            break
    return len(kept)


def fragments() -> Numbers:
    """Batches that fit if a number of each stays on the GPU, and if none does."""
    return {
        "stay": _fitted(lambda total: total),
        "leave": _fitted(lambda total: total.asscalar()),
    }


@claim(
    "08",
    "Out of memory with small batches: “Likely due to memory fragmentation or symbolic "
    "graph expansion”",
    GUIDE,
    115,
    "measured",
    fragments,
    tolerance="none: batches are counted",
)
def out_of_memory(stay: int, leave: int) -> Decision:
    """A program should run out of memory because small blocks part the large ones."""
    return (
        if_true(stay < leave, "holds for fragmentation", "fails"),
        f"{stay} of {BATCHES} batches fitted into 64 MiB, because four bytes of each "
        f"stayed on the GPU. Keeping them elsewhere made it {leave}",
    )


def memory_info() -> Numbers:
    """What gpu_memory_info says while 20 MiB are in use and 40 idle in the pool."""
    with fresh_gpu("256MiB"):
        lives = mx.nd.zeros((20, 262_144), ctx=mx.gpu(0))
        gone = mx.nd.zeros((40, 262_144), ctx=mx.gpu(0))
        mx.nd.waitall()
        del gone
        said = mx.context.gpu_memory_info(0)
        books = mx.storage.stats(mx.gpu(0))
        del lives
    free, total = (one / MIB for one in said)
    return {
        "free": free,
        "total": total,
        "used": books.live_requested / MIB,
        "cached": books.cached / MIB,
    }


@claim(
    "08",
    "“Track allocated, reserved, and cached memory using: … "
    "print(mx.context.gpu_memory_info(0))”",
    GUIDE,
    74,
    "measured",
    memory_info,
    last=76,
    tolerance="1 MiB",
)
def allocated_reserved_cached(
    free: float, total: float, used: float, cached: float
) -> Decision:
    """What is not free should be what is in use."""
    taken = total - free
    return (
        if_true(abs(taken - used) < 1),
        f"it has two numbers, free and total, by which {taken:g} MiB are taken. "
        f"{used:g} are in use; {cached:g} are idle in the pool and count as taken",
    )

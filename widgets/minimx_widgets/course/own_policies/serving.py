"""Requests through the real pool, under a built-in policy or a class of the learner's.

served("Naive", [5_000, 6_000])          # one row for each request
driver_calls(BestFit, [5_000, 6_000])    # how often the device was asked
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, Final

from minimx import nd
from minimx.core.device import cpu, gpu
from minimx.core.drivers.counting import CountingDriver
from minimx.core.knobs import knobs
from minimx.core.storage import Policy, Pool, pool_for, stats
from minimx.policies.asking import Asked
from minimx.policies.pools import POOLS
from minimx_widgets.course.pooling import fresh_gpu, lengths, run

GPU_TYPE: Final = "MXNET_GPU_MEM_POOL_TYPE"
CPU_TYPE: Final = "MXNET_CPU_MEM_POOL_TYPE"
COLUMNS: Final = ("request", "idle blocks before", "block", "it comes from")
#: A network that reads sentences of all lengths.
BATCHES: Final = 60

Row = tuple[str, str, str, str]


def policy_of(which: str | type) -> Policy:
    """The policy of a built-in's name, or of a class with `size`."""
    if isinstance(which, str):
        found: Policy = POOLS.builtins[which]
        return found
    own: Policy = POOLS.subject(Asked(which(), "size"))
    return own


def served(which: str | type, requests: Sequence[int]) -> list[Row]:
    """What becomes of requests, each of which is freed before the next comes.

    Raises `Broken` where the policy breaks a rule.
    """
    pool = _pool(which)
    rows = []
    for nbytes in requests:
        idle = pool.idle()
        before = pool.stats().n_malloc
        block = pool.alloc(nbytes)
        new = pool.stats().n_malloc > before
        listed = ", ".join(
            f"{count} × {size:,}" if count > 1 else f"{size:,}"
            for size, count in idle.items()
        )
        source = "the device" if new else "the pool"
        rows.append((f"{nbytes:,}", listed or "none", f"{block.size:,}", source))
        block.free()
    return rows


def driver_calls(which: str | type, requests: Sequence[int]) -> int:
    """How often the pool asks the device for memory; requests as in `served`."""
    return sum(row[3] == "the device" for row in served(which, requests))


def _pool(which: str | type) -> Pool:
    driver = CountingDriver(cpu(), 1 << 34)
    return Pool(driver, policy_of(which), bus=SimpleNamespace(recorder=None))


def in_the_runtime(name: str) -> tuple[Any, int, int]:
    """Batches of 60 lengths on a simulated GPU, under a pool that a knob names.

    Returns a record, how often the driver was asked, and the MiB reserved at most.
    """
    with fresh_gpu(**{GPU_TYPE: name}):
        record = run(lengths(BATCHES))
        found = stats(gpu())
    return record, found.n_malloc, found.peak_reserved >> 20


def failing(policy: type, nbytes: int) -> tuple[str, str]:
    """Let a registered pool of the CPU serve a request at which it fails.

    Returns the warning, and what the knob says afterwards. Raises AssertionError if
    nothing failed, or an array lost its numbers.
    """
    entry = POOLS.entries[policy.__name__]
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        with knobs(**{CPU_TYPE: entry.name}):
            before = nd.arange(1000)
            fatal = nd.ones((nbytes // 4,))
            total = fatal.sum().asscalar()
            entry.wait()
            after = str(knobs.get(CPU_TYPE))
            assert total == nbytes // 4
            assert before.asnumpy().tolist() == list(range(1000))
            assert pool_for(cpu()).policy.name == after
    assert seen, "the policy did not fail"
    return str(seen[0].message), after

"""Pools: a policy says how large the block for a request is.

    class BestFit:
        '''The smallest idle block that is large enough, unless it wastes too much.'''

        def size(self, nbytes, idle):
            for block in sorted(idle):
                if nbytes <= block <= 1.25 * nbytes:
                    return block               # an idle block: it is used again
            return -(-nbytes // 512) * 512     # none has this size: a new block

    mx.storage.register_pool("BestFit", BestFit)
    mx.knobs.MXNET_CPU_MEM_POOL_TYPE = "BestFit"

`size(nbytes, idle)`: nbytes is what was requested, at least 1; idle says how many idle
blocks of each size the pool has, {bytes: how many}. The answer is the bytes of the
block. If an idle block has this size it is used again, without the device; else the
device is asked. That is all there is to decide: a block is never split, so blocks do
not overlap, and a freed one waits in the pool until its size is wanted.
"""

from __future__ import annotations

import random
from bisect import bisect_left, insort
from collections.abc import Callable, Mapping, Sized
from dataclasses import dataclass
from functools import lru_cache, partial
from types import SimpleNamespace
from typing import Any, Final

from minimx.core.device import cpu
from minimx.core.drivers.counting import CountingDriver
from minimx.core.errors import OutOfMemory
from minimx.core.events import Owner
from minimx.core.storage.policy import (
    Policy,
    PolicyFailed,
    naive,
    round_power2,
    unpooled,
)
from minimx.core.storage.pool import Block, Pool
from minimx.core.storage.rounding import Rounding
from minimx.core.storage.stats import human
from minimx.policies.asking import Asked, Broken
from minimx.policies.kinds import Entry, Kind
from minimx.policies.networks import network

#: The device under a trace: so large that only a policy without measure fills it.
CAPACITY: Final = 1 << 44
_NOBODY: Final = Owner("", "", "other", "temporary")


@dataclass(frozen=True)
class Trace:
    """Requests: (number, bytes) allocates under a number, (number, 0) frees it."""

    name: str
    steps: tuple[tuple[int, int], ...]


class Pools(Kind[Policy, Trace]):
    """Of `mx.storage`: which block serves a request."""

    name = "pool"
    method = "size"
    families = ("training", "ragged batches", "adversarial")
    unit = "bytes reserved per byte in use, plus driver calls per request"
    bound_says = (
        "all bytes in use at the peak are reserved then, and as many blocks as are in "
        "use at once come from the driver, for no block is split"
    )
    default = "Naive"
    knobs = tuple(
        f"MXNET_{kind}_MEM_POOL_TYPE" for kind in ("CPU", "GPU", "CPU_PINNED")
    )
    builtins: Mapping[str, Policy] = {
        "Naive": naive(),
        "Round": round_power2(),
        "Unpooled": unpooled(),
    }

    def subject(self, ask: Asked) -> Policy:
        """A policy that sees the idle blocks."""
        return Policy(naive().rounding, name="own", sees=partial(rounding_of, ask))

    def trace(self, family: str, seed: int) -> Trace:
        """A training, one with batches of all sizes, or sizes that are chosen badly."""
        chance = random.Random(f"{family} {seed}")
        if family == "adversarial":
            steps = _adversarial(chance)
        else:
            net, steps = network(chance.randrange(10**6)), []
            batch = chance.choice((8, 16, 32, 64))
            for _ in range(4):
                if family == "ragged batches":
                    batch = chance.randint(1, 64)
                steps += net.memory(batch)
        return Trace(f"{family} {seed}", tuple(steps))

    def run(self, subject: Policy, trace: Trace) -> float:
        """Serve the requests by the real pool, over a device that only counts."""
        driver = CountingDriver(cpu(), CAPACITY)
        pool = Pool(driver, subject, bus=SimpleNamespace(recorder=None))
        blocks: dict[int, Block] = {}
        taken: list[tuple[int, int]] = []  # of the blocks in use: from where to where
        for number, (key, nbytes) in enumerate(trace.steps):
            try:
                if nbytes:
                    blocks[key] = block = pool.alloc(nbytes, _NOBODY)
                    _take(taken, block)
                else:
                    block = blocks.pop(key)
                    taken.remove((block.address, block.address + block.size))
                    block.free()
            except (Broken, OutOfMemory) as error:
                raise _at(error, number, trace, nbytes) from error
        found = pool.stats()
        given_back = found.n_malloc - found.n_live - sum(pool.idle().values())
        for block in blocks.values():
            block.free()
        pool.release_all()
        if pool.stats().reserved or driver.used:
            raise Broken(
                f"{pool.stats().reserved:,} bytes are missing at the end",
                "what is freed comes back: no memory is lost",
            )
        requests = sum(nbytes > 0 for _, nbytes in trace.steps)
        calls = found.n_malloc + given_back
        return found.peak_reserved / _most(trace)[0] + calls / requests

    def bound(self, trace: Trace) -> float:
        """All bytes in use at the peak, and a driver call for each block at once."""
        requests = sum(nbytes > 0 for _, nbytes in trace.steps)
        return 1 + _most(trace)[1] / requests

    def _connect(self, entry: Entry) -> None:
        _known[entry.name] = lru_cache(partial(_own_policy, entry))

    def _disconnect(self, name: str) -> None:
        del _known[name]


def pool_policy(name: str, reserve: int) -> Policy:
    """The policy that a knob names; Naive if it has failed, or is gone."""
    entry = POOLS.entries.get(name)
    if entry is None:
        POOLS.gone(name)
    if entry is None or entry.failed is not None:
        return naive(reserve=reserve)
    return _known[name](reserve)


def rounding_of(ask: Asked, idle: Mapping[int, Sized]) -> Rounding:
    """The rounding of one pool."""

    def size(nbytes: int) -> int:
        found = {size: len(blocks) for size, blocks in idle.items() if blocks}
        answer = ask(nbytes, found)
        whole = isinstance(answer, int) and not isinstance(answer, bool)
        if not whole or answer < nbytes:
            raise Broken(
                ask.shown((nbytes, found), answer),
                "a block has at least the bytes that were requested"
                if whole
                else "a size is a whole number of bytes",
            )
        return int(answer)

    return size


def _own_policy(entry: Entry, reserve: int) -> Policy:
    """The policy of a name in the running system, until it fails."""
    instead = naive(reserve=reserve)

    def sees(idle: Mapping[int, Sized]) -> Rounding:
        own = rounding_of(entry.new(), idle)

        def size(nbytes: int) -> int:
            try:
                if entry.failed is None:
                    return own(nbytes)
            except Broken as reason:
                entry.fail(reason)
            raise PolicyFailed(instead)

        return size

    return Policy(instead.rounding, reserve, name=entry.name, sees=sees)


def _take(taken: list[tuple[int, int]], block: Block) -> None:
    """Enter a block among those in use. Raises `Broken` if it overlaps one."""
    mine = block.address, block.address + block.size
    at = bisect_left(taken, mine)
    for start, end in taken[max(at - 1, 0) : at + 1]:
        if start < mine[1] and mine[0] < end:
            raise Broken(
                f"bytes {mine[0]:,} to {mine[1]:,} were given out, while {start:,} to "
                f"{end:,} are in use",
                "blocks in use do not overlap",
            )
    insort(taken, mine)


def _at(error: Exception, number: int, trace: Trace, nbytes: int) -> Broken:
    """A broken rule, with the step."""
    if not isinstance(error, Broken):
        error = Broken(
            f"size({nbytes}, …) asks for more than the device has left of its "
            f"{human(CAPACITY)}",
            "a block is not larger than the device",
        )
    error.step = (
        f"step {number + 1} of {len(trace.steps)}, a request of {nbytes:,} bytes"
    )
    return error


@lru_cache(64)
def _most(trace: Trace) -> tuple[int, int]:
    """The most bytes, and the most blocks, that were in use at once."""
    live: dict[int, int] = {}
    now = nbytes = blocks = 0
    for key, size in trace.steps:
        now += size - live.pop(key, 0)
        if size:
            live[key] = size
        nbytes, blocks = max(nbytes, now), max(blocks, len(live))
    return nbytes, blocks


def _adversarial(chance: random.Random) -> list[tuple[int, int]]:
    """Requests that just miss what is idle, and some that stay between the others."""
    steps: list[tuple[int, int]] = []
    live: list[int] = []
    size = chance.randint(1_000, 100_000)
    for key in range(300):
        size = (
            size + chance.randint(1, 5_000) if key % 60 else chance.randint(1, 90_000)
        )
        wanted = size if chance.random() < 0.8 else chance.choice((1, 513, 2**20 + 1))
        steps.append((key, wanted))
        live.append(key)
        while len(live) > chance.choice((2, 4, 12)):
            steps.append((live.pop(chance.randrange(len(live))), 0))
    return steps


_known: dict[str, Callable[[int], Policy]] = {}
POOLS: Final[Any] = Pools()

"""The pool: allocates blocks of one device, and keeps idle ones in free lists by size.

    pool = Pool(HostDriver(cpu()), naive())
    a = pool.alloc(5_000)           # no idle block of 8,192 bytes: one from the device
    a.free()                        # idle: in the free list of its size
    b = pool.alloc(6_000)           # the same block again, without the device
    pool.alloc(6_000)               # b is in use: another block from the device

Freed memory is kept, because the device is slow: `cudaFree` waits for all work of a
GPU. A block is never split and never joined with another (PyTorch's caching allocator
does both), so an idle block serves requests of its own rounded size only.

Where to look: `alloc` and `Block.free` are the way of every array; `_grow` is when the
device is asked, and when it is full; `_drain_pending` is what `free` has put off.

Two things make it fit for a dynamic language. A block is freed from `__del__`, on
whatever thread that runs, possibly in the middle of a call of the pool itself; so
`free` only appends the block to a queue of pending frees, which the next call works off
under the lock. And the policy can be exchanged while blocks are in use: those have no
free list to return to any more and go straight back to the device.
"""

from __future__ import annotations

import threading
import time
from collections import defaultdict, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from itertools import count
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from minimx.core import events
from minimx.core.drivers.base import Bytes, DeviceFull, Driver, Region
from minimx.core.errors import ArgumentError
from minimx.core.events import Owner
from minimx.core.extensions import provided
from minimx.core.storage.policy import PolicyFailed
from minimx.core.storage.stats import Stats

if TYPE_CHECKING:
    from minimx.core.events import Recorder
    from minimx.core.storage.policy import Policy

_ids = count(1)  # of all allocations of all pools


class Bus(Protocol):
    """Where a pool looks for its listener: the module `events`, or a replay's own."""

    recorder: Recorder | None


class Usage(NamedTuple):
    """Requested bytes: those in use now, and the most that ever were at once."""

    live: int
    peak: int


class Block:
    """A piece of device memory in use, or idle in a free list.

    data: `size` bytes as a flat uint8 array. requested: how many of them the caller
    wanted. address: where they start on the device. id: the number of this allocation,
    never used a second time. owner: for which operator and layer. shown: the last array
    over it, after its spec and where it starts in bytes: a block serves the same arrays
    again and again. After `free` the caller must not use the block.
    """

    __slots__ = (
        "address", "data", "id", "free_list", "in_use", "owner", "pool", "region",
        "requested", "shown", "size",
    )  # fmt: skip

    id: int
    owner: Owner
    requested: int

    def __init__(
        self, pool: Pool, region: Region, size: int, free_list: list[Block] | None
    ) -> None:
        self.pool = pool
        self.region = region
        self.data: Bytes = region.data
        self.address = region.address
        self.size = size
        self.free_list = free_list  # where it waits when idle; None: back to the device
        self.in_use = False  # until the pool has worked off its free
        self.shown: tuple[Any, int, Any] = (None, 0, None)

    def free(self) -> None:
        """Free the block. Never waits; safe in `__del__`, on any thread."""
        pool = self.pool
        recorder = pool.bus.recorder
        if recorder is not None and self.size:
            recorder.memory(
                "free",
                pool.name,
                self.id,
                self.requested,
                self.size,
                self.address,
                self.owner,
            )
        pool.pending_frees.append(self)

    def direct_free(self) -> None:
        """Free the block to the device: no other of its size will be requested.

        The record names it as the reason, so that a replay knows what was wanted.
        """
        owner = self.owner
        self.owner = Owner("direct_free", owner.layer, owner.phase, owner.category)
        self.free_list = None
        self.free()

    def __repr__(self) -> str:
        where = f"block {self.id} of {self.pool.name}"
        return f"<{where}: {self.size:,} bytes, {self.owner}>"


class Pool:
    """Allocates blocks of one driver's memory by a policy.

    Bytes are counted in three ways: `requested` by callers, `rounded` up by the policy,
    and `held`, taken from the device: blocks in use and idle ones. live: of blocks in
    use now; peak: the most so far.

    All methods may be called from any thread. A finaliser may call `Block.free`, but
    must not allocate.
    """

    __slots__ = (
        "_blocks", "_free_lists", "_rounding", "_usage", "bus", "driver", "held",
        "live_requested", "live_rounded", "lock", "n_flush", "n_free", "n_hit",
        "n_malloc", "name", "peak_held", "peak_requested", "peak_rounded",
        "pending_frees", "policy",
    )  # fmt: skip

    def __init__(self, driver: Driver, policy: Policy, bus: Bus = events) -> None:
        self.bus = bus
        self.driver = driver
        self.policy = policy
        self.name = str(driver.device)
        self.pending_frees: deque[Block] = deque()
        self.held = self.peak_held = 0  # bytes taken from the device: in use and idle
        self.live_requested = self.peak_requested = 0
        self.live_rounded = self.peak_rounded = 0
        self.n_malloc = self.n_hit = self.n_free = self.n_flush = 0
        self._blocks: set[Block] = set()  # all that came from the device
        self._free_lists: dict[int, list[Block]] = {}
        sees = policy.sees
        self._rounding = policy.rounding if sees is None else sees(self._free_lists)
        # By category, as in `Usage`.
        self._usage: dict[str, list[int]] = defaultdict(lambda: [0, 0])
        self.lock = threading.Lock()

    def alloc(self, nbytes: int, owner: Owner | None = None) -> Block:
        """A block of at least `nbytes`: the idle one that was freed last, if any fits.

        Zero bytes give an empty block that is not counted. Raises `OutOfMemory`.
        """
        if nbytes <= 0:
            return self._empty(nbytes)
        if owner is None:
            owner = events.owner("")
        block = None
        try:
            with self.lock:
                try:
                    again = None
                    if self.pending_frees:
                        again = self._drain_pending(nbytes, owner)
                    if again is not None:  # counted as freed and as taken: no bytes
                        event, block, size = "hit", again, again.size
                        self.pending_frees.popleft()
                        self.n_free += 1
                        self.n_hit += 1
                    else:
                        size = self._rounding(nbytes)
                        free_list = self._free_lists.get(size)
                        if free_list:
                            event = "hit"
                            block = free_list[-1]
                            del free_list[-1]
                            self.n_hit += 1
                        else:
                            event = "alloc"
                            block = self._grow(nbytes, size, owner)
                        block.requested = nbytes
                        block.in_use = True
                        self.live_requested += nbytes
                        self.live_rounded += size
                        if self.live_requested > self.peak_requested:
                            self.peak_requested = self.live_requested
                        if self.live_rounded > self.peak_rounded:
                            self.peak_rounded = self.live_rounded
                        usage = self._usage[owner.category]
                        usage[0] += nbytes
                        if usage[0] > usage[1]:
                            usage[1] = usage[0]
                    block.id = next(_ids)
                    block.owner = owner
                except BaseException:
                    self._repair(block)
                    raise
        except PolicyFailed as failed:
            self.set_policy(failed.instead)
            return self.alloc(nbytes, owner)
        recorder = self.bus.recorder
        if recorder is not None:
            recorder.memory(
                event, self.name, block.id, nbytes, size, block.address, owner
            )
        return block

    def expect(self, nbytes: int, owner: Owner) -> None:
        """Raise `OutOfMemory` for more than an empty device could serve."""
        if nbytes > self.driver.total_bytes:
            self.alloc(nbytes, owner)  # raises

    def alloc_from(self, fetch: Callable[[], Region], owner: Owner) -> Block:
        """A block of what the driver fetches in another way, as from another process.

        The block is never kept: it goes back to the device when it is freed.
        """
        with self._locked():
            region = fetch()
            size = region.nbytes
            block = Block(self, region, size, None)
            block.id, block.requested, block.owner = next(_ids), size, owner
            self._blocks.add(block)
            block.in_use = True
            self.n_malloc += 1
            self.held += size
            self.live_requested += size
            self.live_rounded += size
            self._usage[owner.category][0] += size
            self._raise_peaks()
        self._record("alloc", size, size, owner, block)
        return block

    def set_policy(self, policy: Policy) -> None:
        """Decide by another policy from now on.

        Idle blocks go back to the device now, those in use when they are freed.
        """
        if policy is self.policy:
            return
        with self._locked():
            self._flush()
            self._free_lists.clear()
            for block in self._blocks:
                block.free_list = None
            self.policy = policy
            sees = policy.sees
            self._rounding = policy.rounding if sees is None else sees(self._free_lists)

    def release_all(self) -> int:
        """Give every idle block back to the device; returns how many bytes that was."""
        with self._locked():
            return self._flush("empty_cache")

    def stats(self) -> Stats:
        """All counters, after every pending free was worked off."""
        with self._locked():
            free, total = self.driver.free_bytes, self.driver.total_bytes
            return Stats(
                device=self.name,
                pool=self.policy.name,
                n_live=len(self._in_use()),
                live_requested=self.live_requested,
                live_rounded=self.live_rounded,
                cached=self.held - self.live_rounded,
                device_used=total - free,
                device_total=total,
                peak_requested=self.peak_requested,
                peak_rounded=self.peak_rounded,
                peak_reserved=self.peak_held,
                n_malloc=self.n_malloc,
                n_hit=self.n_hit,
                n_free=self.n_free,
                n_flush=self.n_flush,
            )

    def reset_peaks(self) -> None:
        """Start the peaks again from what is in use now."""
        with self._locked():
            self.peak_requested = self.peak_rounded = self.peak_held = 0
            for usage in self._usage.values():
                usage[1] = 0
            self._raise_peaks()

    def categories(self) -> dict[str, Usage]:
        """The requested bytes of each category (`Owner.category`), now and at most.

        The peaks are of different moments; a record knows what was in use at the peak
        of all together.
        """
        with self._locked():
            return {name: Usage(*usage) for name, usage in self._usage.items()}

    def in_use(self) -> list[Block]:
        """The blocks in use, oldest first."""
        with self._locked():
            return sorted(self._in_use(), key=lambda block: block.id)

    def idle(self) -> dict[int, int]:
        """How many idle blocks there are of each size."""
        with self._locked():
            lists = sorted(self._free_lists.items())
            return {size: len(idle) for size, idle in lists if idle}

    def __repr__(self) -> str:
        return f"Pool({self.name}, {self.policy.name}, {self.held:,} bytes held)"

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Hold the lock, with every pending free worked off."""
        with self.lock:
            try:
                self._drain_pending()
                yield
            except BaseException:
                self._repair(None)
                raise

    # What follows runs under the lock.

    def _grow(self, nbytes: int, size: int, owner: Owner) -> Block:
        """A block from the device; idle ones go back to it first where it is full."""
        driver = self.driver
        if size < nbytes:
            raise ArgumentError(
                f"{self.name}: {self.policy} rounds {nbytes:,} bytes to {size:,}. A "
                "rounding must give at least what was requested."
            )
        for_others = driver.total_bytes * self.policy.reserve // 100
        if driver.free_bytes - size < max(for_others, 1):
            self._flush()
        try:
            region = driver.alloc(size)
        except DeviceFull:
            region = self._last_tries(nbytes, size, owner)
        free_list = self._free_lists.setdefault(size, []) if self.policy.keeps else None
        block = Block(self, region, size, free_list)
        self._blocks.add(block)
        self.n_malloc += 1
        self.held += size
        self.peak_held = max(self.peak_held, self.held)
        return block

    def _last_tries(self, nbytes: int, size: int, owner: Owner) -> Region:
        """Ask a full device again, at once and a moment later.

        The bytes may be there but in pieces, some of them ours; and a worker that has
        just run an operation may be about to let go of its arrays.
        """
        for pause in 0, 0.02:
            time.sleep(pause)
            self._drain_pending()
            self._flush()
            with suppress(DeviceFull):
                return self.driver.alloc(size)
        self._record("oom", nbytes, size, owner)
        raise provided("memory reports").out_of_memory(
            self.driver, self.policy, nbytes, size, owner, self._in_use()
        )

    def _drain_pending(
        self, nbytes: int = 0, owner: Owner | None = None
    ) -> Block | None:
        """Put pending frees into the free lists, in order, or back to the device.

        nbytes, owner: of a request that follows. If just one block is pending, and was
        for a request like this, it is returned instead, and stays as it is: to work it
        off and to take it again would change no counter of bytes.
        """
        pending_frees = self.pending_frees
        if owner is not None and len(pending_frees) == 1:
            block = pending_frees[0]
            if (
                block.requested == nbytes
                and block.owner.category == owner.category
                and block.in_use
                and block.free_list is not None
                and self.policy.sees is None
            ):
                return block
        while pending_frees:
            block = pending_frees[0]
            if block.in_use:  # neither empty nor freed twice
                block.in_use = False
                requested, free_list = block.requested, block.free_list
                self.n_free += 1
                self.live_requested -= requested
                self.live_rounded -= block.size
                self._usage[block.owner.category][0] -= requested
                if free_list is not None:
                    free_list.append(block)
                else:
                    self._return(block)
                    self._record("release", requested, block.size, block.owner, block)
            pending_frees.popleft()
        return None

    def _flush(self, caller: str = "") -> int:
        """Give every idle block back to the device; returns how many bytes that was.

        caller: what wanted it, as `Owner.op`, if the pool did not decide so itself.
        """
        released = 0
        for free_list in self._free_lists.values():
            while free_list:
                released += self._return(free_list.pop())
        self.n_flush += released > 0
        if released or caller:  # a request is recorded even if nothing was idle
            self._record("flush", 0, released, events.owner(caller))
        return released

    def _return(self, block: Block) -> int:
        self._blocks.discard(block)
        self.held -= block.size
        self.driver.free(block.region)
        return block.size

    def _repair(self, unfinished: Block | None) -> None:
        """Make the counters true again after an error or Ctrl-C at any point.

        unfinished: a block that will not reach its caller.
        """
        if unfinished is not None:
            unfinished.in_use = False
        idle = {block for free_list in self._free_lists.values() for block in free_list}
        in_use = self._in_use()
        self._blocks &= {*in_use, *idle}
        self.driver.keep_only(block.region for block in self._blocks)
        self.held = sum(block.size for block in self._blocks)
        self.live_requested = sum(block.requested for block in in_use)
        self.live_rounded = sum(block.size for block in in_use)
        for usage in self._usage.values():
            usage[0] = 0
        for block in in_use:
            self._usage[block.owner.category][0] += block.requested

    def _in_use(self) -> list[Block]:
        return [block for block in self._blocks if block.in_use]

    def _raise_peaks(self) -> None:
        """No peak is lower than what is in use now."""
        self.peak_held = max(self.peak_held, self.held)
        self.peak_requested = max(self.peak_requested, self.live_requested)
        self.peak_rounded = max(self.peak_rounded, self.live_rounded)
        for usage in self._usage.values():
            usage[1] = max(usage)

    def _record(
        self,
        event: str,
        nbytes: int,
        size: int,
        owner: Owner,
        block: Block | None = None,
    ) -> None:
        recorder = self.bus.recorder
        if recorder is not None:
            number, address = (block.id, block.address) if block else (0, 0)
            recorder.memory(event, self.name, number, nbytes, size, address, owner)

    def _empty(self, nbytes: int) -> Block:
        """An empty block, for arrays without elements."""
        if nbytes < 0:
            raise ArgumentError(f"{self.name}: {nbytes} bytes cannot be allocated.")
        import numpy as np

        block = Block(self, Region(np.empty(0, np.uint8), 0, 0), 0, None)
        block.id, block.requested, block.owner = 0, 0, events.owner("")
        return block

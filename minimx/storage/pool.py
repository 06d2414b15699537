"""The pool: idle blocks of one device, on shelves by size, lent and taken back.

Memory handed back is kept, because asking the device again is slow. A block is never
cut and never joined with another, so an idle block serves requests of its own rounded
size only.

Two things make it fit for a dynamic language. A block is given back from `__del__`, on
whatever thread that runs, possibly in the middle of a call of the pool itself; so
`free` only drops the block into a letterbox, which the next call empties under the
lock. And the policy can be exchanged while blocks are out: those have no shelf to
return to any more and go straight back to the device.
"""

from __future__ import annotations

import threading
from collections import defaultdict, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from typing import TYPE_CHECKING, NamedTuple, Protocol

from minimx import events
from minimx.drivers.base import Bytes, DeviceFull, Driver, Region
from minimx.errors import ArgumentError
from minimx.events import Owner
from minimx.storage import report
from minimx.storage.stats import Stats

if TYPE_CHECKING:
    from minimx.events import Recorder
    from minimx.storage.policy import Policy

_ids = count(1)  # of all loans of all pools


class Bus(Protocol):
    """Where a pool looks for its listener: the module `events`, or a replay's own."""

    recorder: Recorder | None


class Usage(NamedTuple):
    """Bytes asked for: those in use now, and the most there ever were."""

    live: int
    peak: int


class Block:
    """A piece of device memory on loan.

    data: `size` bytes as a flat uint8 array. requested: how many of them were asked
    for. address: where they start on the device. id: the number of this loan, never
    used again. owner: who asked. After `free` the borrower must forget the block.
    """

    __slots__ = (
        "address",
        "data",
        "id",
        "lent",
        "owner",
        "pool",
        "region",
        "requested",
        "shelf",
        "size",
    )

    id: int
    owner: Owner
    requested: int

    def __init__(
        self, pool: Pool, region: Region, size: int, shelf: list[Block] | None
    ) -> None:
        self.pool = pool
        self.region = region
        self.data: Bytes = region.data
        self.address = region.address
        self.size = size
        self.shelf = shelf  # where it waits when idle; None: back to the device
        self.lent = False  # until the pool has heard that it came back

    def free(self) -> None:
        """Give the block back. Never waits; safe in `__del__`, on any thread."""
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
        pool.letterbox.append(self)

    def direct_free(self) -> None:
        """Give the block back to the device: nobody will want one of its size again.

        It signs its return, so that a replay knows what the program wanted.
        """
        owner = self.owner
        self.owner = Owner("direct_free", owner.layer, owner.phase, owner.category)
        self.shelf = None
        self.free()

    def __repr__(self) -> str:
        where = f"block {self.id} of {self.pool.name}"
        return f"<{where}: {self.size:,} bytes, {self.owner}>"


class Pool:
    """Lends blocks of one driver's memory by a policy.

    All methods may be called from any thread. A finaliser may call `Block.free`, but
    must not ask for memory.
    """

    __slots__ = (
        "_known",
        "_shelves",
        "_usage",
        "bus",
        "driver",
        "held",
        "letterbox",
        "live_requested",
        "live_rounded",
        "lock",
        "n_flush",
        "n_free",
        "n_hit",
        "n_malloc",
        "name",
        "peak_held",
        "peak_requested",
        "peak_rounded",
        "policy",
    )

    def __init__(self, driver: Driver, policy: Policy, bus: Bus = events) -> None:
        self.bus = bus
        self.driver = driver
        self.policy = policy
        self.name = str(driver.device)
        self.letterbox: deque[Block] = deque()
        self.held = self.peak_held = 0  # bytes taken from the device: lent and idle
        self.live_requested = self.peak_requested = 0
        self.live_rounded = self.peak_rounded = 0
        self.n_malloc = self.n_hit = self.n_free = self.n_flush = 0
        self._known: set[Block] = set()  # everything that came from the device
        self._shelves: dict[int, list[Block]] = {}
        # By category, as in `Usage`.
        self._usage: dict[str, list[int]] = defaultdict(lambda: [0, 0])
        self.lock = threading.Lock()

    def alloc(self, nbytes: int, owner: Owner | None = None) -> Block:
        """Lend a block of at least `nbytes`: the idle one last returned, if any fits.

        Zero bytes give an empty block that is not counted. Raises `OutOfMemory`.
        """
        if nbytes <= 0:
            return self._nothing(nbytes)
        if owner is None:
            owner = events.owner("")
        block = None
        with self.lock:
            try:
                if self.letterbox:
                    self._empty_letterbox()
                size = self.policy.rounding(nbytes)
                shelf = self._shelves.get(size)
                if shelf:
                    event = "hit"
                    block = shelf[-1]
                    del shelf[-1]
                    self.n_hit += 1
                else:
                    event = "alloc"
                    block = self._grow(nbytes, size, owner)
                block.id = next(_ids)
                block.requested = nbytes
                block.owner = owner
                block.lent = True
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
            except BaseException:
                self._repair(block)
                raise
        recorder = self.bus.recorder
        if recorder is not None:
            recorder.memory(
                event, self.name, block.id, nbytes, size, block.address, owner
            )
        return block

    def lend(self, fetch: Callable[[], Region], owner: Owner) -> Block:
        """Lend what the driver fetches in another way, as from another process.

        The block is never kept: it goes back to the device when it returns.
        """
        with self._books():
            region = fetch()
            size = region.nbytes
            block = Block(self, region, size, None)
            block.id, block.requested, block.owner = next(_ids), size, owner
            self._known.add(block)
            block.lent = True
            self.n_malloc += 1
            self.held += size
            self.live_requested += size
            self.live_rounded += size
            self._usage[owner.category][0] += size
            self._raise_peaks()
        self._tell("alloc", size, size, owner, block)
        return block

    def adopt(self, policy: Policy) -> None:
        """Decide by another policy from now on.

        Idle blocks go back to the device now, lent ones when they return.
        """
        if policy is self.policy:
            return
        with self._books():
            self._flush()
            self._shelves.clear()
            for block in self._known:
                block.shelf = None
            self.policy = policy

    def release_all(self) -> int:
        """Give every idle block back to the device; says how many bytes that was."""
        with self._books():
            return self._flush("empty_cache")

    def stats(self) -> Stats:
        """The books, after everything in the letterbox was entered."""
        with self._books():
            free, total = self.driver.free_bytes, self.driver.total_bytes
            return Stats(
                device=self.name,
                pool=self.policy.name,
                n_live=len(self._lent()),
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
        with self._books():
            self.peak_requested = self.peak_rounded = self.peak_held = 0
            for usage in self._usage.values():
                usage[1] = 0
            self._raise_peaks()

    def categories(self) -> dict[str, Usage]:
        """The bytes asked for on behalf of each category, now and at most.

        The peaks are of different moments; a record knows what was in use at the peak
        of all together.
        """
        with self._books():
            return {name: Usage(*usage) for name, usage in self._usage.items()}

    def lent(self) -> list[Block]:
        """The blocks on loan, oldest first."""
        with self._books():
            return sorted(self._lent(), key=lambda block: block.id)

    def idle(self) -> dict[int, int]:
        """How many idle blocks there are of each size."""
        with self._books():
            shelves = sorted(self._shelves.items())
            return {size: len(shelf) for size, shelf in shelves if shelf}

    def __repr__(self) -> str:
        return f"Pool({self.name}, {self.policy.name}, {self.held:,} bytes held)"

    @contextmanager
    def _books(self) -> Iterator[None]:
        """The lock, with everything in the letterbox entered."""
        with self.lock:
            try:
                self._empty_letterbox()
                yield
            except BaseException:
                self._repair(None)
                raise

    # What follows runs under the lock.

    def _grow(self, nbytes: int, size: int, owner: Owner) -> Block:
        """A block from the device, after making room if need be."""
        driver = self.driver
        if size < nbytes:
            raise ArgumentError(
                f"{self.name}: {self.policy} rounds {nbytes:,} bytes to {size:,}. A "
                "rounding must give at least what was requested."
            )
        free = driver.free_bytes
        if free <= size or free - size < self._reserve():
            self._flush()
        try:
            region = driver.alloc(size)
        except DeviceFull:
            # The bytes may be there but in pieces, some of them ours: once more.
            self._flush()
            region = self._last_try(nbytes, size, owner)
        shelf = self._shelves.setdefault(size, []) if self.policy.keeps else None
        block = Block(self, region, size, shelf)
        self._known.add(block)
        self.n_malloc += 1
        self.held += size
        self.peak_held = max(self.peak_held, self.held)
        return block

    def _reserve(self) -> int:
        """The bytes to leave to others."""
        return self.driver.total_bytes * self.policy.reserve // 100

    def _last_try(self, nbytes: int, size: int, owner: Owner) -> Region:
        try:
            return self.driver.alloc(size)
        except DeviceFull:
            self._tell("oom", nbytes, size, owner)
            raise report.out_of_memory(
                self.driver, self.policy, nbytes, size, owner, self._lent()
            ) from None

    def _empty_letterbox(self) -> None:
        """Shelve what was given back, in the order in which it came."""
        letterbox = self.letterbox
        while letterbox:
            block = letterbox[0]
            if block.lent:  # neither empty nor given back twice
                block.lent = False
                nbytes, shelf = block.requested, block.shelf
                self.n_free += 1
                self.live_requested -= nbytes
                self.live_rounded -= block.size
                self._usage[block.owner.category][0] -= nbytes
                if shelf is not None:
                    shelf.append(block)
                else:
                    self._return(block)
                    self._tell("release", nbytes, block.size, block.owner, block)
            letterbox.popleft()

    def _flush(self, asker: str = "") -> int:
        """Give every idle block back to the device; says how many bytes that was.

        asker: what asked for it, if the pool did not decide so itself.
        """
        released = 0
        for shelf in self._shelves.values():
            while shelf:
                released += self._return(shelf.pop())
        self.n_flush += released > 0
        if released or asker:  # a program's wish is told even if nothing was idle
            self._tell("flush", 0, released, events.owner(asker))
        return released

    def _return(self, block: Block) -> int:
        self._known.discard(block)
        self.held -= block.size
        self.driver.free(block.region)
        return block.size

    def _repair(self, half_lent: Block | None) -> None:
        """Make the books true again after an error or Ctrl-C at any point.

        half_lent: a block that will not reach its borrower.
        """
        if half_lent is not None:
            half_lent.lent = False
        idle = {block for shelf in self._shelves.values() for block in shelf}
        lent = self._lent()
        self._known &= {*lent, *idle}
        self.driver.keep_only(block.region for block in self._known)
        self.held = sum(block.size for block in self._known)
        self.live_requested = sum(block.requested for block in lent)
        self.live_rounded = sum(block.size for block in lent)
        for usage in self._usage.values():
            usage[0] = 0
        for block in lent:
            self._usage[block.owner.category][0] += block.requested

    def _lent(self) -> list[Block]:
        return [block for block in self._known if block.lent]

    def _raise_peaks(self) -> None:
        """No peak is lower than what is in use now."""
        self.peak_held = max(self.peak_held, self.held)
        self.peak_requested = max(self.peak_requested, self.live_requested)
        self.peak_rounded = max(self.peak_rounded, self.live_rounded)
        for usage in self._usage.values():
            usage[1] = max(usage)

    def _tell(
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

    def _nothing(self, nbytes: int) -> Block:
        """An empty block, for arrays without elements."""
        if nbytes < 0:
            raise ArgumentError(f"{self.name}: {nbytes} bytes cannot be lent.")
        import numpy as np

        block = Block(self, Region(np.empty(0, np.uint8), 0, 0), 0, None)
        block.id, block.requested, block.owner = 0, 0, events.owner("")
        return block

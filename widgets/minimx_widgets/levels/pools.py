"""Levels of the pool: requests and frees come one by one, and each wants a block.

    game = PoolGame(((0, 4096), (1, 8192), (0, 0), ...))     # as traces of policies are
    PoolGame.recorded(record, "cpu(0)")                      # what a record requested

A pool keeps freed blocks, never splits one and never makes one larger, so what is
decided when a block comes from the driver is final: its bytes. `policy` writes the
decisions as a class for `mx.storage.register_pool`, `compared` runs built-in pools over
the same requests.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np

from minimx.core.device import cpu
from minimx.core.drivers.counting import CountingDriver
from minimx.core.errors import ArgumentError
from minimx.core.record import Record
from minimx.core.record.tables import allocation_changes
from minimx.core.storage import Policy, Pool
from minimx.policies.asking import Asked
from minimx.policies.pools import CAPACITY, POOLS
from minimx_widgets.levels.game import Choice, Cost
from minimx_widgets.levels.sharing import MOST, Item, Shared, Sharing
from minimx_widgets.units import counted, human_bytes

#: Steps of a trace: (number, bytes) requests, (number, 0) frees.
Steps = Sequence[tuple[int, int]]


class PoolGame(Sharing):
    """Requests one by one: for each an idle block, or a new one from the driver.

    steps: (number, bytes) allocates under a number, (number, 0) frees it. names: of the
    numbers, for messages. ahead: so many requests to come are shown; None: all. Sizes
    of new blocks are offered up to the largest to come in any case.
    """

    def __init__(
        self,
        steps: Steps,
        name: str = "requests",
        lesson: str = "",
        *,
        names: dict[int, str] | None = None,
        ahead: int | None = None,
    ) -> None:
        self.steps = tuple((int(key), int(nbytes)) for key, nbytes in steps)
        self.ahead = ahead
        super().__init__(_items(self.steps, names or {}), name, lesson)

    @classmethod
    def recorded(cls, record: Record, device: str = "", count: int = 24) -> PoolGame:
        """The first requests of a record, and the frees between them.

        device: such as "cpu(0)"; by default the one with the most requests. count: how
        many requests. Raises `ArgumentError` if there are none.
        """
        if isinstance(count, bool) or count not in range(1, MOST + 1):
            raise ArgumentError(f"PoolGame: count={count!r}; give 1 to {MOST}.")
        steps, names = _recorded(record, device, count)
        return cls(steps, "recorded", names=names)

    def question(self, state: Shared) -> str:
        """The request."""
        if self.over(state):
            return "All requests have their blocks."
        one = self.items[state.placed]
        return (
            f"Step {one.first}: {one.owner or one.name} requests {one.nbytes:,} bytes. "
            "Which block?"
        )

    def coming(self, state: Shared) -> tuple[str, ...]:
        """The steps after the request: requests, and frees."""
        if self.over(state):
            return ()
        first = self.items[state.placed].first + 1
        names = self._names()
        found: list[str] = []
        requests = 0
        for key, nbytes in self.steps[first:]:
            requests += nbytes > 0
            if self.ahead is not None and requests > self.ahead:
                return (*found, "…")
            name = names[key]
            found.append(f"{name} {human_bytes(nbytes)}" if nbytes else f"free {name}")
        return tuple(found)

    def _names(self) -> dict[int, str]:
        keys = [key for key, nbytes in self.steps if nbytes]
        return {key: one.name for key, one in zip(keys, self.items, strict=True)}

    def choices(self, state: Shared) -> tuple[Choice, ...]:
        """Each block, new ones of this size, and of larger ones that will be wanted."""
        if self.over(state):
            return ()
        *blocks, _ = super().choices(state)
        return (*blocks, *(self._new(state, key, b) for key, b in self.new_ones(state)))

    def new_ones(self, state: Shared) -> list[tuple[str, int]]:
        """The size of this request, and of larger ones to come."""
        one = self.items[state.placed]
        known = self.items[state.placed + 1 :]
        larger = {other.nbytes for other in known if other.nbytes > one.nbytes}
        return [("new", one.nbytes), *((f"new {b}", b) for b in sorted(larger))]

    def _new(self, state: Shared, key: str, nbytes: int) -> Choice:
        text = f"a new block of {human_bytes(nbytes)}"
        same = self._idle_of(state, nbytes)
        refused = ""
        if same >= 0:
            refused = (
                f"{self.label(same)} is idle and has exactly {nbytes:,} bytes: a pool "
                "takes it before it asks the driver."
            )
        return Choice(key, text, len(state.blocks), refused)

    def _idle_of(self, state: Shared, nbytes: int) -> int:
        """An idle block of exactly this size; -1 if there is none."""
        for number, block in enumerate(state.blocks):
            if block.nbytes == nbytes and self.holder(state, number) is None:
                return number
        return -1

    def refusal(self, state: Shared, block: int) -> str:
        """A block that is in use, or too small."""
        one, label = self.items[state.placed], self.label(block)
        holder, nbytes = self.holder(state, block), state.blocks[block].nbytes
        if holder is not None:
            return (
                f"{label} is still in use: {holder.owner or holder.name} has it since "
                f"step {holder.first} and has not freed it. Two arrays in the same "
                "bytes would write over each other."
            )
        if nbytes < one.nbytes:
            return (
                f"{label} has {nbytes:,} bytes, and {one.owner or one.name} requests "
                f"{one.nbytes:,}: the last {one.nbytes - nbytes:,} would lie in the "
                "block behind it. A pool makes no block larger."
            )
        return ""

    def after(self, state: Shared, key: str) -> Shared:
        """The request in that block; "new N" is a new one of N bytes."""
        found = re.fullmatch(r"new( \d+)?", str(key))
        if found is None or self.over(state):
            return super().after(state, key)
        one = self.items[state.placed]
        nbytes = int(found[1] or one.nbytes)
        if nbytes < one.nbytes:
            raise ArgumentError(
                f"a new block of {nbytes:,} bytes is too small: "
                f"{one.owner or one.name} requests {one.nbytes:,}."
            )
        refused = self._new(state, key, nbytes).refused
        if refused:
            raise ArgumentError(refused)
        return self.placed(state, -1, nbytes)

    def missing(self, wanted: Sequence[int], free: Sequence[int]) -> tuple[int, int]:
        """Each array takes a block that is large enough, the largest arrays first.

        That serves as many bytes, and as many arrays, as any other way: a block that
        serves an array serves all smaller ones.
        """
        nbytes = blocks = used = fitting = 0
        for size in wanted:
            while fitting < len(free) and free[fitting] >= size:
                fitting += 1
            if fitting > used:
                used += 1
            else:
                nbytes, blocks = nbytes + size, blocks + 1
        return nbytes, blocks

    def ends(self, number: int, state: Shared) -> int:
        """Until it is freed; what is in use now has no known end."""
        return min(
            self.items[number].last + 1, self.now(state) + (number == state.placed)
        )

    def says(self, cost: Cost) -> str:
        """Bytes reserved and driver calls."""
        nbytes, blocks = cost
        return f"{human_bytes(nbytes)} reserved by {counted(blocks, 'driver call')}"

    def numbers(self, state: Shared) -> tuple[tuple[str, str], ...]:
        """Reserved, in use, driver calls."""
        nbytes, blocks = self.cost(state)
        now = self.now(state)
        placed = self.items[: state.placed]
        live = sum(one.nbytes for one in placed if one.last >= now)
        return (
            ("reserved", human_bytes(nbytes)),
            ("in use", human_bytes(live)),
            ("driver calls", str(blocks)),
        )

    # -- the real pool -----------------------------------------------------------------

    def sizes(self, state: Shared) -> list[int]:
        """The bytes of the block that each request got."""
        found = [0] * state.placed
        for block in state.blocks:
            for number in block.items:
                found[number] = block.nbytes
        return found

    def served(self, policy: Policy) -> Cost:
        """What a policy costs that serves the requests by the real pool."""
        pool = Pool(CountingDriver(cpu(), CAPACITY), policy, bus=_SILENT)
        blocks: dict[int, Any] = {}
        for key, nbytes in self.steps:
            if nbytes:
                blocks[key] = pool.alloc(nbytes)
            else:
                blocks.pop(key).free()
        found = pool.stats()
        return found.peak_reserved, found.n_malloc

    def compared(self) -> dict[str, Cost]:
        """The costs of the built-in pools that keep freed blocks, by name.

        Unpooled gives each block back to the driver at once: that is another game.
        """
        return {name: self.served(POOLS.builtins[name]) for name in ("Naive", "Round")}

    def ran(self, policy: type) -> Cost:
        """What a class with `size` costs in the real pool."""
        return self.served(POOLS.subject(Asked(policy(), POOLS.method)))

    def policy(self, state: Shared, name: str) -> str:
        """The decisions as a class for `mx.storage.register_pool`, as source text."""
        requests = [
            (one.nbytes, size)
            for one, size in zip(self.items, self.sizes(state), strict=True)
        ]
        return f'''class {name}:
    """What I chose for {len(requests)} requests: {self.says(self.cost(state))}."""

    CHOSEN = {requests!r}  # (requested, bytes of the block)

    def __init__(self):
        self.next = 0

    def size(self, nbytes, idle):
        requested, block = self.CHOSEN[self.next]
        if nbytes == requested:  # as in the level: on to the next, round and round
            self.next = (self.next + 1) % len(self.CHOSEN)
            return block
        fits = [one for one in idle if nbytes <= one <= 2 * nbytes]
        return min(fits, default=nbytes)  # a request that the level did not have
'''


_SILENT = SimpleNamespace(recorder=None)


def _items(steps: Steps, names: dict[int, str]) -> list[Item]:
    """The arrays of a trace. Raises `ArgumentError` for steps that make no sense."""
    begun: dict[int, tuple[int, int]] = {}
    found: dict[int, Item] = {}
    for step, (key, nbytes) in enumerate(steps):
        if nbytes > 0 and key not in begun:
            begun[key] = step, nbytes
            owner = names.get(key, "")
            short = re.split("[ /]", owner)[-1] or f"a{key}"
            found[key] = Item(short, step, len(steps), nbytes, owner)
        elif nbytes == 0 and key in begun and found[key].last == len(steps):
            found[key] = replace(found[key], last=step - 1)
        else:
            what = f"requests {nbytes} bytes" if nbytes else "frees"
            raise ArgumentError(
                f"PoolGame: step {step} {what} under number {key}. A number requests "
                "at least one byte, once, and is freed once, after that."
            )
    return list(found.values())


def _recorded(
    record: Record, device: str, count: int
) -> tuple[list[tuple[int, int]], dict[int, str]]:
    """Requests and frees of a device in a record, and who requested."""
    rows, strings = record.mem(), record.strings
    places = [strings[row["device"]] for row in rows]
    events = [strings[row["event"]] for row in rows]
    asked = [e in ("alloc", "hit") for e in events]
    if not device:
        every = [
            place for place, is_request in zip(places, asked, strict=True) if is_request
        ]
        device = max(set(every), key=every.count, default="")
    here = [k for k, place in enumerate(places) if place == device]
    rows = rows[here]
    begins = np.array([asked[k] for k in here], bool)
    ends = np.array([events[k] == "free" for k in here], bool)
    changes = allocation_changes(rows["block"], begins, ends)
    steps: list[tuple[int, int]] = []
    names: dict[int, str] = {}
    for row, change in zip(rows, changes, strict=True):
        key = int(row["block"])
        if change > 0 and int(row["requested"]) > 0:
            if len(names) == count:
                break
            who = strings[row["layer"]] or strings[row["name"]] or "an array"
            names[key] = f"{strings[row['category']] or 'array'} of {who}"
            steps.append((key, int(row["requested"])))
        elif change < 0 and key in names:
            steps.append((key, 0))
    if not names:
        raise ArgumentError(
            f"PoolGame: the record has no requests of {device or 'any device'}."
        )
    return steps, names

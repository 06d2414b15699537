"""Arrays that come one after the other, and the blocks of memory that hold them.

An `Item` is in use from one moment to another. `Sharing` is the game of giving each a
block: one that is free meanwhile, or a new one. `pools.py` makes it the pool's, in
which blocks keep their size; `planners.py` the memory planner's, in which they grow.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, replace

from minimx.core.errors import ArgumentError
from minimx_widgets.levels.game import Bar, Choice, Cost, Game, Row, Scene
from minimx_widgets.levels.play import chosen
from minimx_widgets.units import human_bytes

#: More arrays than so many are a blur, and more than a page can show.
MOST = 120


@dataclass(frozen=True)
class Item:
    """An array: in use from moment `first` to moment `last`, both included.

    owner: what it is, such as "the output of conv1". reader: who uses it last.
    """

    name: str
    first: int
    last: int
    nbytes: int
    owner: str = ""
    reader: str = ""

    def __str__(self) -> str:
        return f"{self.name} ({human_bytes(self.nbytes)})"


@dataclass(frozen=True)
class Block:
    """A block: its bytes, and the numbers of the items that it held or holds."""

    nbytes: int
    items: tuple[int, ...]


@dataclass(frozen=True)
class Shared:
    """The blocks after the first `placed` items have got theirs."""

    blocks: tuple[Block, ...] = ()
    placed: int = 0


class Sharing(Game[Shared]):
    """Items in the order in which they come, and who shares a block with whom.

    Raises `ArgumentError` for no items, too many, or some that are not in their order.
    """

    kinds = (("in use", "activation"), ("coming", "temporary"))
    #: What a block's name begins with, the number of the first, the picture's axis.
    letter, first, axis = "B", 1, "step"

    def __init__(self, items: Sequence[Item], name: str, lesson: str = "") -> None:
        kind = type(self).__name__
        if not 1 <= len(items) <= MOST:
            raise ArgumentError(
                f"{kind}: {len(items)} arrays; a level has 1 to {MOST}."
            )
        for before, one in zip(items, items[1:], strict=False):
            if before.first > one.first:
                raise ArgumentError(f"{kind}: {one.name} comes before {before.name}.")
        for one in items:
            if one.nbytes < 1 or one.last < one.first:
                raise ArgumentError(
                    f"{kind}: {one.name} has {one.nbytes} bytes, from {one.first} to "
                    f"{one.last}; give at least one byte and one moment."
                )
        self.items, self.name, self.lesson = tuple(items), name, lesson
        self.end = max(one.last for one in items) + 1
        # By number of items placed: the moments at which one that is still to come
        # begins, and the bytes of those that are in use then, the largest first.
        self._later = [self._needed(placed) for placed in range(len(items) + 1)]

    def _needed(self, placed: int) -> list[tuple[int, list[int]]]:
        rest = self.items[placed:]
        found = []
        for moment in sorted({one.first for one in rest}):
            live = [one.nbytes for one in rest if one.first <= moment <= one.last]
            found.append((moment, sorted(live, reverse=True)))
        return found

    # -- rules -------------------------------------------------------------------------

    def begin(self) -> Shared:
        """No blocks."""
        return Shared()

    def over(self, state: Shared) -> bool:
        """Whether each item has its block."""
        return state.placed == len(self.items)

    def label(self, block: int) -> str:
        """What a block is called."""
        return f"{self.letter}{block + self.first}"

    @abstractmethod
    def refusal(self, state: Shared, block: int) -> str:
        """Why the next item may not get a block; empty if it may."""

    def holder(self, state: Shared, block: int) -> Item | None:
        """Who is in a block when the next item comes."""
        now = self.items[state.placed].first
        found = [k for k in state.blocks[block].items if self.items[k].last >= now]
        return self.items[found[-1]] if found else None

    def choices(self, state: Shared) -> tuple[Choice, ...]:
        """Each block, and a new one."""
        if self.over(state):
            return ()
        one = self.items[state.placed]
        found = [
            Choice(
                self.label(k),
                f"{self.label(k)}: {human_bytes(block.nbytes)}",
                k,
                self.refusal(state, k),
            )
            for k, block in enumerate(state.blocks)
        ]
        new = Choice("new", f"a new block of {human_bytes(one.nbytes)}")
        return (*found, new)

    def after(self, state: Shared, key: str) -> Shared:
        """The next item in that block."""
        one = chosen(self.choices(state), key, self.name)
        return self.placed(state, one.row, self.items[state.placed].nbytes)

    def placed(self, state: Shared, block: int, nbytes: int) -> Shared:
        """The next item in a block that may hold it; -1: in a new one of `nbytes`."""
        blocks, number = list(state.blocks), state.placed
        if block < 0:
            blocks.append(Block(nbytes, (number,)))
        else:
            old = blocks[block]
            size = max(old.nbytes, self.items[number].nbytes)
            blocks[block] = Block(size, (*old.items, number))
        return replace(state, blocks=tuple(blocks), placed=number + 1)

    # -- cost --------------------------------------------------------------------------

    def cost(self, state: Shared) -> Cost:
        """The bytes of all blocks, and how many there are."""
        return sum(block.nbytes for block in state.blocks), len(state.blocks)

    # -- for the search ----------------------------------------------------------------

    def tried(self, state: Shared) -> Iterator[tuple[str, Shared]]:
        """Blocks that may be used, of equal ones the first; and new ones."""
        seen: set[int] = set()
        for block, one in enumerate(state.blocks):
            size = one.nbytes
            if size not in seen and not self.refusal(state, block):
                seen.add(size)
                yield self.label(block), self.placed(state, block, size)
        for key, size in self.new_ones(state):
            yield key, self.placed(state, -1, size)

    def new_ones(self, state: Shared) -> Sequence[tuple[str, int]]:
        """The new blocks that a best end may need: key and bytes."""
        return [("new", self.items[state.placed].nbytes)]

    @abstractmethod
    def missing(self, wanted: Sequence[int], free: Sequence[int]) -> tuple[int, int]:
        """The least bytes and blocks that arrays need beside free blocks.

        wanted: the bytes of arrays that are in use at once; free: of the blocks; both
        with the largest first.
        """

    def least(self, state: Shared) -> Cost:
        """What is reserved, and what the worst moment to come needs beside it."""
        nbytes = sum(block.nbytes for block in state.blocks)
        most_bytes = most_blocks = 0
        for moment, wanted in self._later[state.placed]:
            free = [
                block.nbytes
                for block in state.blocks
                if all(self.items[k].last < moment for k in block.items)
            ]
            more, blocks = self.missing(wanted, sorted(free, reverse=True))
            most_bytes, most_blocks = max(most_bytes, more), max(most_blocks, blocks)
        return nbytes + most_bytes, len(state.blocks) + most_blocks

    def same(self, state: Shared) -> Hashable:
        """How many are placed, and of each block its bytes and its last moment."""
        if self.over(state):
            return self.cost(state)
        now = self.items[state.placed].first
        blocks = (
            (block.nbytes, max((self.items[k].last for k in block.items), default=-1))
            for block in state.blocks
        )
        return state.placed, tuple(sorted((b, max(end, now - 1)) for b, end in blocks))

    # -- picture -----------------------------------------------------------------------

    def now(self, state: Shared) -> int:
        """The moment of the question."""
        return self.end if self.over(state) else self.items[state.placed].first

    def coming(self, state: Shared) -> tuple[str, ...]:
        """The arrays after the one that is asked about."""
        return tuple(str(one) for one in self.items[state.placed + 1 :])

    def scene(self, state: Shared) -> Scene:
        """A row for each block, as high as it is large, and one for a new block."""
        largest = max(one.nbytes for one in self.items)
        largest = max([largest, *(block.nbytes for block in state.blocks)])
        rows, bars = [], []
        for number, block in enumerate(state.blocks):
            weight = block.nbytes / largest
            rows.append(Row(self.label(number), human_bytes(block.nbytes), weight))
            for k in block.items:
                bars.append(self._bar(number, k, block.nbytes, state))
        if not self.over(state):
            one = self.items[state.placed]
            rows.append(Row("?", human_bytes(one.nbytes), one.nbytes / largest))
            bars.append(self._bar(len(state.blocks), state.placed, one.nbytes, state))
        return Scene(tuple(rows), tuple(bars), self.end, self.now(state), self.axis)

    def ends(self, number: int, state: Shared) -> int:
        """Until when an item is drawn."""
        return self.items[number].last + 1

    def _bar(self, row: int, number: int, nbytes: int, state: Shared) -> Bar:
        one = self.items[number]
        later = number == state.placed
        idle = nbytes - one.nbytes
        said = f"{one}: {one.owner or 'an array'}"
        said += (
            f", {human_bytes(idle)} of the block unused" if idle and not later else ""
        )
        share = one.nbytes / nbytes
        end = self.ends(number, state)
        return Bar(row, one.first, end, one.name, said, int(later), share, later)

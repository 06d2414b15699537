"""Which ranges of a memory are taken and which are free: first fit, with coalescing.

The space is a line of bytes, cut into grains. The free ranges ("holes") stand in a list
sorted by address. A request takes the front of the first hole that is long enough;
what is given back melts together with free neighbours. Nothing is ever moved, so after
a while the free bytes may lie in pieces too small to use: that is fragmentation, and it
is real here.

This is a policy: numbers in, numbers out. The simulated GPU puts memory under it, the
counting driver does not.
"""

from __future__ import annotations

from bisect import bisect_left

Range = tuple[int, int]  # start, length


class AddressSpace:
    """The free and the taken ranges of `size` bytes.

    >>> space = AddressSpace(2048, grain=512)
    >>> space.take(100), space.take(600), space.take(512)
    (0, 512, 1536)
    >>> space.give(0), space.give(1536), space.free, space.largest_hole
    (None, None, 1024, 512)
    >>> space.give(512), space.holes
    (None, [(0, 2048)])
    """

    __slots__ = ("_taken", "free", "grain", "holes", "size")

    def __init__(self, size: int, grain: int = 512) -> None:
        self.grain = grain
        self.size = size // grain * grain
        self.free = self.size
        self.holes: list[Range] = [(0, self.size)] if self.size else []
        self._taken: dict[int, int] = {}

    @property
    def largest_hole(self) -> int:
        """The length of the longest free range."""
        return max((length for _, length in self.holes), default=0)

    @property
    def taken(self) -> list[Range]:
        """The taken ranges, by address."""
        return sorted(self._taken.items())

    def rounded(self, nbytes: int) -> int:
        """The bytes that a request really takes: whole grains, at least one."""
        return max(-(-nbytes // self.grain), 1) * self.grain

    def take(self, nbytes: int) -> int | None:
        """The start of a range of at least `nbytes`; None if no hole is long enough."""
        length = self.rounded(nbytes)
        for i, (start, hole) in enumerate(self.holes):
            if hole >= length:
                rest = [(start + length, hole - length)] if hole > length else []
                # Nothing is called from here on, so that no signal can come between.
                self.holes[i : i + 1] = rest
                self._taken[start] = length
                self.free -= length
                return start
        return None

    def give(self, start: int) -> None:
        """Free the range that `take` said starts at `start`."""
        length = self._taken[start]
        end = start + length
        first = last = bisect_left(self.holes, (start, 0))  # of the holes to replace
        if last < len(self.holes) and self.holes[last][0] == end:
            end += self.holes[last][1]
            last += 1
        if first > 0 and sum(self.holes[first - 1]) == start:
            first -= 1
            hole = (self.holes[first][0], end - self.holes[first][0])
        else:
            hole = (start, end - start)
        # Nothing is called from here on, so that no signal can come between.
        self.holes[first:last] = [hole]
        del self._taken[start]
        self.free += length

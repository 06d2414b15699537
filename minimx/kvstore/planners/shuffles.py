"""The shuffles of libstdc++, by which MXNet breaks ties between equal links.

`std::shuffle` is not the same in every C++ library. MXNet's wheels are built with
libstdc++, whose shuffle draws two positions from one random number where it can. Trees
come out as MXNet's only with the same shuffles.
"""

from __future__ import annotations

from typing import Any

import numpy as np

_LARGEST = 2**32 - 1  # the largest number of a Mersenne Twister


class Shuffler:
    """`std::mt19937` with a seed, and what libstdc++ draws from it.

    >>> numbers = [0, 1, 2, 3, 4, 5, 6, 7]
    >>> Shuffler(1).shuffle(numbers)
    >>> numbers
    [1, 0, 2, 5, 7, 4, 6, 3]
    """

    def __init__(self, seed: int) -> None:
        self._twister = np.random.RandomState(seed)

    def below(self, end: int) -> int:
        """A whole number in [0, end), as `std::uniform_int_distribution` draws it."""
        scale = _LARGEST // end
        while (number := self._number()) >= end * scale:
            pass  # the last, incomplete interval would favour small numbers
        return number // scale

    def _number(self) -> int:
        return int(self._twister.randint(0, _LARGEST + 1, dtype=np.uint32))

    def shuffle(self, items: list[Any]) -> None:
        """Reorder a list in place."""
        done = 1
        if len(items) % 2 == 0 and items:
            self._swap(items, done, self.below(2))
            done += 1
        while done < len(items):
            first, second = divmod(self.below((done + 1) * (done + 2)), done + 2)
            self._swap(items, done, first)
            self._swap(items, done + 1, second)
            done += 2

    @staticmethod
    def _swap(items: list[Any], one: int, other: int) -> None:
        items[one], items[other] = items[other], items[one]

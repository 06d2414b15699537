"""`Histogram`: numbers counted by power of two, and what a type would make of them.

Multiplying a loss by 2**k multiplies its gradients by 2**k, which moves a histogram k
places to the right and changes nothing else. So what a loss scale would have saved, or
lost, is known without computing anything again. Only what is zero already stays zero.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from minimx.core.dtypes import LAYOUTS, POWERS, Layout
from minimx.core.errors import DTypeError, did_you_mean

Counts = npt.NDArray[np.int64]
#: What becomes of numbers in a type, from the smallest to the largest.
ZONES: Final = ("zero", "subnormal", "normal", "overflow")


@dataclass(frozen=True, eq=False)
class Histogram:
    """How many numbers lie from 2**k up to 2**(k + 1), for each k of `dtypes.POWERS`.

    zeros, infinite, nan: those that have no power. squares: the sum of the squares of
    all that have one.
    """

    counts: Counts
    zeros: int = 0
    infinite: int = 0
    nan: int = 0
    squares: float = 0.0

    @classmethod
    def of(cls, array: Any) -> Histogram:
        """The histogram of an array, NumPy's or ours.

        >>> import minimx as mx
        >>> mx.numerics.Histogram.of(mx.nd.array([0, 1, 1.5, 4]))
        Histogram(4 numbers, 2**0 to 2**2, 1 zero)
        """
        from minimx.core.arrays.array import NDArray
        from minimx.core.arrays.creation import array as as_array
        from minimx.core.arrays.launch import invoke
        from minimx.operators.arrays.precision import Exponents

        if not isinstance(array, NDArray):
            array = np.asarray(array)
            array = as_array(array, dtype=array.dtype)
        row: Histogram = cls.of_row(invoke(Exponents.of(), [array]).asnumpy()[0])
        return row

    @classmethod
    def of_row(cls, row: Any) -> Histogram:
        """The histogram that a row of the operator `_exponents` describes."""
        zeros, infinite, nan = (int(number) for number in row[:3])
        counts = np.asarray(row[4:], np.int64)
        return cls(counts, zeros, infinite, nan, float(row[3]))

    @property
    def nonzero(self) -> int:
        """How many numbers are not zero."""
        return int(self.counts.sum()) + self.infinite + self.nan

    @property
    def size(self) -> int:
        """How many numbers there are."""
        return self.nonzero + self.zeros

    @property
    def norm(self) -> float:
        """Euclid's length of all numbers that are finite."""
        return math.sqrt(self.squares)

    @property
    def span(self) -> tuple[int, int] | None:
        """The lowest and the highest power that occur; None if all are zero."""
        places = np.flatnonzero(self.counts)
        if not len(places):
            return None
        return POWERS[int(places[0])], POWERS[int(places[-1])]

    def __add__(self, other: Histogram) -> Histogram:
        return Histogram(
            self.counts + other.counts,
            self.zeros + other.zeros,
            self.infinite + other.infinite,
            self.nan + other.nan,
            self.squares + other.squares,
        )

    def shifted(self, by: int) -> Histogram:
        """The histogram of the same numbers, each times 2**by."""
        counts = np.zeros_like(self.counts)
        places = np.clip(np.arange(len(counts)) + by, 0, len(counts) - 1)
        np.add.at(counts, places, self.counts)
        squares = self.squares * 4.0**by
        return Histogram(counts, self.zeros, self.infinite, self.nan, squares)

    def shares(self, dtype: str) -> dict[str, float]:
        """Which share of the numbers that are not zero falls into each zone of a type.

        zero: too small, they become zero. subnormal: they lose digits. overflow: they
        become infinite, or are infinite or NaN already. Raises `DTypeError`.

        >>> tiny = Histogram.of(np.array([2.0**-30, 2.0**-20, 1.0, 0.0]))
        >>> {zone: round(share, 2) for zone, share in tiny.shares("float16").items()}
        {'zero': 0.33, 'subnormal': 0.33, 'normal': 0.33, 'overflow': 0.0}
        """
        layout = layout_of(dtype)
        found = dict.fromkeys(ZONES, 0)
        for place in np.flatnonzero(self.counts).tolist():
            found[layout.zone(POWERS[place])] += int(self.counts[place])
        found["overflow"] += self.infinite + self.nan
        whole = self.nonzero or 1
        return {zone: many / whole for zone, many in found.items()}

    def room(self, dtype: str) -> int | None:
        """By how many powers of two the numbers could grow before one overflows.

        None where nothing has a power.
        """
        return None if self.span is None else layout_of(dtype).highest - self.span[1]

    def __repr__(self) -> str:
        parts = [f"{self.size:,} number{'s' * (self.size != 1)}"]
        if self.span is not None:
            parts.append(f"2**{self.span[0]} to 2**{self.span[1]}")
        if self.zeros:
            parts.append(f"{self.zeros:,} zero")
        if self.infinite:
            parts.append(f"{self.infinite:,} infinite")
        if self.nan:
            parts.append(f"{self.nan:,} NaN")
        return f"Histogram({', '.join(parts)})"


def merged(histograms: Iterable[Histogram]) -> Histogram:
    """The histogram of all numbers together."""
    empty = Histogram(np.zeros(len(POWERS), np.int64))
    return reduce(Histogram.__add__, histograms, empty)


def layout_of(dtype: str) -> Layout:
    """The layout of a type by name. Raises `DTypeError` for what is not real."""
    if dtype not in LAYOUTS:
        near = did_you_mean(dtype, LAYOUTS)
        raise DTypeError(
            f"{dtype!r} is no floating-point type: {', '.join(LAYOUTS)}.{near}"
        )
    return LAYOUTS[dtype]

"""How a loop over all elements of an output moves through its operands.

An operand may be stretched, or be a part of a larger array. `Strides` says how;
`together` finds the rows that several of them have in common, `grid` writes them down
for the launcher of `minimx.core.kernels.native`.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, NamedTuple

import numpy as np

from minimx.core.kernels.pointwise import steps_of
from minimx.core.shapes import Shape


class Strides(NamedTuple):
    """How a loop over all elements moves through an operand.

    runs: (length, step) for each axis along which it moves evenly, innermost first; a
    step counts elements. offset: the element at which it starts.
    """

    runs: tuple[tuple[int, int], ...]
    offset: int = 0

    @property
    def cuts(self) -> tuple[int, ...]:
        """After how many elements a run is over, for all but the last."""
        lengths = [length for length, _ in self.runs]
        return tuple(prod(lengths[:k]) for k in range(1, len(lengths)))

    @property
    def row_step(self) -> int:
        """How many elements it advances along a row."""
        return self.runs[0][1]

    def step_after(self, start: int) -> int:
        """Its step along the axis that is reached after `start` elements."""
        before = 1
        for length, step in self.runs:
            if start < before * length:
                return step * (start // before)
            before *= length
        return 0  # an axis of length 1


#: The strides of a single number.
STILL = Strides(((1, 0),))


def straight(size: int) -> Strides:
    """The strides through an array from its first element to its last."""
    return Strides(((size, 1),))


def strided(shape: Shape, steps: Sequence[int], offset: int = 0) -> Strides:
    """The strides over an array of this shape whose axes have these steps.

    >>> strided((2, 3, 4), (12, 4, 1)) == straight(24)
    True
    >>> strided((2, 3, 4), (0, 4, 1)).runs
    ((12, 1), (2, 0))
    """
    runs: list[tuple[int, int]] = []
    for length, step in zip(reversed(shape), reversed(steps), strict=True):
        if length == 1:
            continue
        if runs and step == runs[-1][0] * runs[-1][1]:
            runs[-1] = (runs[-1][0] * length, runs[-1][1])
        else:
            runs.append((length, step))
    return Strides(tuple(runs) or ((1, 1),), offset)


def stretched(shape: Shape, out: Shape) -> Strides:
    """The strides over an array that is stretched to the shape of the output."""
    return strided(out, steps_of(shape, len(out)))


def together(strides: Sequence[Strides]) -> tuple[int, ...] | None:
    """The cuts of all strides, smallest first; None if no grid of rows has them all.

    >>> together([stretched((4,), (6, 4)), stretched((3, 1), (3, 8))])
    (4, 8)
    >>> together([stretched((6,), (4, 6)), stretched((3, 1), (3, 8))]) is None
    True
    """
    cuts = sorted({cut for each in strides for cut in each.cuts})
    pairs = zip(cuts, cuts[1:], strict=False)
    return tuple(cuts) if all(b % a == 0 for a, b in pairs) else None


def grid(strides: Sequence[Strides], itemsizes: Sequence[int], size: int) -> Any:
    """How to go through all operands at once; the layout is that of `native.rows`."""
    cuts = together(strides)
    assert cuts is not None, "operands without common rows are not fused"
    bounds = [1, *cuts, size]
    lines = np.zeros((len(bounds), len(strides) + 1), np.intp)
    lines[0, 1:] = [each.row_step for each in strides]
    for axis, start in enumerate(bounds[:-1], start=1):
        lines[axis, 0] = bounds[axis] // start
        steps = [each.step_after(start) for each in strides]
        lines[axis, 1:] = np.array(steps) * itemsizes
    return lines

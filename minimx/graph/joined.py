"""Neighbours among bound calls that are short, joined to one call.

    calls = joined(calls)

Where memory stays, a run of kernels that come down to calls of machine code (see
`kernels/prebuilt.py`) is built once and then run without Python in between. Addresses
of arrays that come from outside are looked up again when these are others.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from itertools import groupby
from typing import Any

from minimx.kernels.prebuilt import Call, Prebuilt, calls_of, is_built
from minimx.ops.registry import Kernel

#: A call bound to memory: the kernel, its arguments, those that come from `env`, the
#: bytes of scratch memory, the place of its stream in the list of them, and its step.
Bound = tuple[Kernel, list[Any], list[tuple[int, int]], int, int, Any]


def joined(bound: Sequence[Bound]) -> list[Bound]:
    """The same calls; what can be built is one call with each neighbour that can."""
    found: list[Bound] = []
    for short, run in groupby(bound, _may_be_built):
        calls = list(run)
        if not short or len(calls) < 2:
            found += calls
            continue
        outside = sorted({index for call in calls for _, index in call[2]})
        args: list[Any] = [None] * len(outside)
        kernel = _Joined(calls, outside)
        found.append((kernel, args, list(enumerate(outside)), 0, -1, calls[0][-1]))
    return found


def _may_be_built(call: Bound) -> bool:
    kernel, _, _, nbytes, drawn, _ = call
    return is_built(kernel) and not nbytes and drawn < 0


class _Joined:
    """Several calls; its arguments are the arrays from outside that they use."""

    def __init__(self, calls: Sequence[Bound], outside: Sequence[int]) -> None:
        self._calls = calls
        self._place = {index: place for place, index in enumerate(outside)}
        # For which arrays it was built, and what was: one value, since runs on several
        # arrays from outside may be on their way at once.
        self._built: tuple[list[weakref.ref[Any]], Prebuilt] | None = None

    def __call__(self, *arrays: Any) -> None:
        """Run them; built anew if an array is another one than the last time."""
        built = self._built
        if built is None or any(
            known() is not array for known, array in zip(built[0], arrays, strict=True)
        ):
            known = [weakref.ref(array) for array in arrays]
            built = self._built = known, self._build(arrays)
        built[1]()

    def _build(self, arrays: Sequence[Any]) -> Prebuilt:
        calls: list[Call] = []
        for kernel, args, outside, *_ in self._calls:
            given = args.copy()
            for position, index in outside:
                given[position] = arrays[self._place[index]]
            calls += calls_of(kernel, given)
        return Prebuilt(calls)

"""Neighbours among bound calls that are short, joined to one call.

    calls = joined(calls)

Where memory stays, a run of kernels that come down to calls of machine code (see
`kernels/prebuilt.py`) is built once and then run without Python in between; once more
for arrays from outside that are somewhere else.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any

from minimx.core.kernels.prebuilt import Call, Prebuilt, addresses, calls_of, is_built
from minimx.core.ops.registry import Kernel

#: A call bound to memory: the kernel, its arguments, those that come from `env`, the
#: bytes of scratch memory, the place of its stream in the list of them, and its step.
Bound = tuple[Kernel, list[Any], list[tuple[int, int]], int, int, Any]

#: Calls are kept for so many places of the arrays that they work on.
ADDRESSES_KEPT = 8


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
        kernel = Joined(calls, outside)
        found.append((kernel, args, list(enumerate(outside)), 0, -1, calls[0][-1]))
    return found


def _may_be_built(call: Bound) -> bool:
    kernel, _, _, nbytes, drawn, _ = call
    return is_built(kernel) and not nbytes and drawn < 0


class Joined:
    """Several calls; its arguments are the arrays from outside that they use."""

    def __init__(self, calls: Sequence[Bound], outside: Sequence[int]) -> None:
        self._calls = calls
        self._position = {index: position for position, index in enumerate(outside)}
        # By the addresses of the arrays: outputs alternate between a few blocks.
        self._built: dict[tuple[int, ...], Prebuilt] = {}

    def __call__(self, *arrays: Any) -> None:
        """Run them; built anew if an array is at another address than before."""
        starts_at = addresses(arrays)
        built = self._built.get(starts_at)
        if built is None:
            if len(self._built) >= ADDRESSES_KEPT:
                self._built.clear()
            built = self._built[starts_at] = self._build(arrays)
        built()

    def _build(self, arrays: Sequence[Any]) -> Prebuilt:
        calls: list[Call] = []
        for kernel, args, outside, *_ in self._calls:
            given = args.copy()
            for position, index in outside:
                given[position] = arrays[self._position[index]]
            calls += calls_of(kernel, given)
        return Prebuilt(calls)

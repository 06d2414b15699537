"""Where blocks lie in an arena: one behind the other, or one where another is unused.

A block is as large as the largest result that it ever holds. With a match range of 16
it often holds one that is far smaller, and as long as it does, the rest is unused; so
is all of it before its first result, between two of them, and after the last one.
`overlaid` lets other blocks lie there. An example, of 100 nodes:

    block  holds                               behind one another   overlaid
    0      a, 24 MB, from node 0 to 3
           b,  2 MB, from node 4 to 90         bytes  0 to 24       bytes  0 to 24
    1      c, 12 MB, from node 5 to 80         bytes 24 to 36       bytes  2 to 14

Which results share a block is not changed: they begin at the same byte. Blocks are
placed as Pisarchyk and Lee place tensors ("Efficient memory management for deep neural
net inference", 2020): the largest first, each as low as those before it allow.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from minimx.core.graph.memory.sharing import StorageSharing


class Use(NamedTuple):
    """A block holds results: from node `first` to node `last`, and so many bytes."""

    first: int
    last: int
    nbytes: int


def uses(sharing: StorageSharing, alignment: int) -> list[list[Use]]:
    """By block: when it holds a result, or several written over one another.

    Bytes are multiples of `alignment`. What is never freed is held to the end.
    """
    end = len(sharing.graph.nodes)
    found: list[list[Use]] = [[] for _ in sharing.sizes]
    for step in sharing.steps:
        held = found[step.block]
        if step.kind == "free":
            held[-1] = held[-1]._replace(last=step.node)
        elif step.kind != "over":
            held.append(Use(step.node, end, -(-step.wanted // alignment) * alignment))
    return found


def overlaid(sharing: StorageSharing, alignment: int) -> list[int]:
    """The byte at which each block begins, where blocks use what others leave unused.

    All must be on one device. Offsets are multiples of `alignment`. Blocks overlap only
    if the match range allows a result of one size in a free block of the other.
    """
    every, sizes = uses(sharing, alignment), sharing.sizes
    offsets = [0] * len(every)
    # Of each use that has its place: its first and last node, its first byte and end,
    # and the size of its block.
    placed = np.empty((0, 5), np.int64)
    for block in sorted(range(len(every)), key=lambda block: -sizes[block]):
        size, barred = sizes[block], list[list[int]]()  # it does not begin between both
        alien = np.zeros(len(placed), bool)
        if sharing.match_range > 0:  # the larger ones come first
            alien = placed[:, 4] > size * sharing.match_range
        for first, last, nbytes in every[block]:
            meets = alien | (placed[:, 0] <= last) & (placed[:, 1] >= first)
            barred += (placed[meets, 2:4] - (nbytes, 0)).tolist()
        at = 0
        for low, high in sorted(barred):
            if low >= at:
                break
            at = max(at, high)
        offsets[block] = at
        mine = [
            (one.first, one.last, at, at + one.nbytes, size) for one in every[block]
        ]
        placed = np.vstack((placed, mine))
    return offsets

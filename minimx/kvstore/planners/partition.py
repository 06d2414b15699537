"""Kernighan and Lin's heuristic: halve a set of devices and cut few links.

Devices on the same side keep heavy links between them. The search starts from a random
half and swaps pairs as long as that makes the cut lighter.

Source: B. W. Kernighan, S. Lin, "An efficient heuristic procedure for partitioning
graphs" (1970), in the form that MXNet's `gpu_topology.h` gives it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from minimx.kvstore.planners.shuffles import Shuffler

Weights = Any  # float32, (n, n), symmetric


def halve(weights: Weights, members: list[int], shuffler: Shuffler) -> list[int]:
    """The devices of the second half.

    weights: of the links between all devices. members: those to be halved, ascending.
    """
    shuffled = list(members)
    shuffler.shuffle(shuffled)
    side = np.zeros(len(weights), np.float32)  # 1 and -1; 0 is not a member
    side[shuffled] = -1
    side[shuffled[: len(members) // 2]] = 1
    for _ in range(len(weights) + 1):
        swaps = _best_swaps(weights, side.copy(), len(members) // 2)
        for one, other in swaps:
            side[one], side[other] = side[other], side[one]
        if not swaps:
            break
    return [one for one in members if side[one] < 0]


def _best_swaps(weights: Weights, side: Any, most: int) -> list[tuple[int, int]]:
    """The first so many of a greedy sequence of swaps that gain the most together."""
    swaps: list[tuple[int, int]] = []
    gained = best = np.float32(0)
    count = 0
    differences = _differences(weights, side)
    locked: set[int] = set()
    while len(swaps) < most:
        gain, pair = _best_swap(weights, side, differences, locked)
        if pair is None:
            break
        swaps.append(pair)
        gained += gain
        if gained > best:
            best, count = gained, len(swaps)
        side[list(pair)] *= -1
        locked.update(pair)
        differences = _differences(weights, side)
        differences[list(pair)] = 0
    return swaps[:count]


def _differences(weights: Weights, side: Any) -> Any:
    """For each device the weight of its links across the cut, less those within."""
    return -side * (weights @ side)


def _best_swap(
    weights: Weights, side: Any, differences: Any, locked: set[int]
) -> tuple[Any, tuple[int, int] | None]:
    """The pair whose swap makes the cut lightest, and by how much; None if none does.

    The first of the two may not be locked. MXNet does not ask that of the second.
    """
    best, pair = np.float32(0), None
    members = np.flatnonzero(side)
    for one in members:
        if one in locked:
            continue
        for other in members[members > one]:
            if side[one] == side[other]:
                continue
            gain = differences[one] + differences[other] - 2 * weights[one, other]
            if gain > best:
                best, pair = gain, (int(one), int(other))
    return best, pair

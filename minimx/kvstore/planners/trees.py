"""Binary trees along the links between devices: how MXNet's tree kvstore reduces.

Each device is the root of a tree of its own. In a tree with the levels

    0
    0 4
    0 2 4 6
    0 3 2 1 4 7 6 5

neighbours of a level are a pair (parent, child), and the child sends to the parent. In
the last level 3 sends to 0, 1 to 2, 7 to 4, 5 to 6; then 2 to 0, 6 to 4; then 4 to 0.
A device that has nothing to send is paired with itself.

After each tree the links that it uses lose weight, so that the next tree prefers others
and eight trees together keep all links busy.

Two searches find a tree for a root. `_by_partition` is quick: it halves the devices
again and again, cutting few links, and joins the halves by their best link.
`_by_search` tries everything, and is exact up to eight devices. What both find, down to
ties between equal links, is what MXNet 1.9.1 finds (`src/kvstore/gpu_topology.h`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from minimx.core.errors import ArgumentError
from minimx.kvstore.planners.partition import halve
from minimx.kvstore.planners.shuffles import Shuffler

Weights = Any  # float32, (n, n), symmetric; 0 where there is no link
_RESTARTS = 10  # of the partition, until the search takes over
_EXACT_DEPTH = 3  # up to 2 ** 3 devices every tree is looked at
_SAME_LINK_TWICE, _SAME_DEVICE_TWICE = 100, 10  # what a tree loses by these


class Tree(NamedTuple):
    """The levels of a tree, from the root (1 device) to the leaves (2 ** depth)."""

    levels: tuple[tuple[int, ...], ...]

    @property
    def root(self) -> int:
        """Where the sum is complete."""
        return self.levels[0][0]

    def pairs(self) -> Iterator[tuple[int, int]]:
        """(parent, child) of all sends, from the root's level down."""
        for level in self.levels[1:]:
            for parent, child in zip(level[::2], level[1::2], strict=True):
                if parent != child:
                    yield parent, child

    def __str__(self) -> str:
        """The levels, separated by slashes."""
        return " / ".join(" ".join(map(str, level)) for level in self.levels)


def all_trees(
    weights: Weights, penalty: float = 0.7, backtrack: bool = False
) -> list[Tree]:
    """A tree for each device as root.

    weights: (n, n), see `link_weights`. penalty: what a link's weight is multiplied by
    each time that a tree uses it. backtrack: search every tree, rather than partition.
    Raises `ArgumentError` where the links join too few devices for any balanced tree.

    >>> square = [[0, 2, 2, 3], [2, 0, 3, 2], [2, 3, 0, 3], [3, 2, 3, 0]]
    >>> [str(tree) for tree in all_trees(square)][:2]
    ['0 / 0 1 / 0 3 1 2', '1 / 1 2 / 1 0 2 3']
    """
    now = np.array(weights, np.float32)
    found = []
    for root in range(len(now)):
        tree = None if backtrack else _by_partition(now, root)
        found.append(tree or _by_search(now, root))
        for pair in found[-1].pairs():
            now[pair] *= np.float32(penalty)
            now[pair[::-1]] *= np.float32(penalty)
    return found


def link_weights(ranks: Sequence[Sequence[int]]) -> Any:
    """Weights to plan with, float32 (n, n).

    ranks: MXNet's matrix, 1 for PCI Express, 2 and more for NVLink. If
    NVLinks join all devices, PCI Express is left out (0), else it is a last resort
    (1 / n).

    >>> link_weights([[0, 1], [1, 0]]).tolist()
    [[0.0, 0.5], [0.5, 0.0]]
    """
    found = np.array(ranks, np.float32)
    slow = found == 1
    found[slow] = 0 if _connected(found > 1) else 1 / len(found)
    return found


def _connected(linked: Any) -> bool:
    reached, waiting = {0}, [0]
    while waiting:
        for other in np.flatnonzero(linked[waiting.pop()]).tolist():
            if other not in reached:
                reached.add(other)
                waiting.append(other)
    return len(reached) == len(linked)


def link_use(trees: Sequence[Tree]) -> Counter[tuple[int, int]]:
    """How often trees use each link; both directions count for (smaller, larger)."""
    return Counter((min(pair), max(pair)) for tree in trees for pair in tree.pairs())


def depth_of(devices: int) -> int:
    """The levels below the root: the least d >= 1 with 2 ** d >= devices."""
    return max(1, (devices - 1).bit_length())


# -- by partition ----------------------------------------------------------------------


class _Growth:
    """A tree under construction: its levels, and the clusters that are left to join."""

    def __init__(self, devices: int, root: int) -> None:
        self.levels: list[tuple[int, ...]] = [(root,)]
        self._clusters = [list(range(devices))]
        self._reached = {root}  # one device of each cluster that can be joined

    def grow(self, weights: Weights, shuffler: Shuffler) -> bool:
        """Halve the clusters of more than two, and add the level that joins the halves.

        False, with the levels as they were, where a link is missing for it.
        """
        pairs = self._halved(weights, shuffler)
        reached: set[int] = set()
        children: dict[int, int] = {}
        for first, second in pairs:
            parent = next((one for one in first if one in self._reached), None)
            if parent is None and second:
                first, second = second, first
                parent = next((one for one in first if one in self._reached), None)
            if parent is None:
                return False  # as in MXNet: a small cluster was joined levels ago
            child = self._child(weights, parent, first, second, shuffler)
            if child is None:
                return False
            children[parent] = child
            if second:
                reached |= {parent, child}
        self._add_level(children)
        self._reached = reached
        return True

    def finished(self) -> bool:
        """Whether the last level joined what is in no cluster of more than two."""
        return not self._reached

    def _halved(
        self, weights: Weights, shuffler: Shuffler
    ) -> list[tuple[list[int], list[int]]]:
        """The clusters before and the halves after; the second is empty if not cut."""
        pairs: list[tuple[list[int], list[int]]] = []
        for number, members in enumerate(list(self._clusters)):
            second = halve(weights, members, shuffler) if len(members) > 2 else []
            first = [member for member in members if member not in second]
            self._clusters[number] = first
            if second:
                self._clusters.append(second)
            pairs.append((first, second))
        return pairs

    @staticmethod
    def _child(
        weights: Weights,
        parent: int,
        first: list[int],
        second: list[int],
        shuffler: Shuffler,
    ) -> int | None:
        """Who sends to the parent: its best link to the other half, or its partner."""
        if not second:
            return next((one for one in first if one != parent), parent)
        best = max(weights[parent, one] for one in second)
        if best <= 0:
            return None
        candidates = [one for one in second if weights[parent, one] == best]
        shuffler.shuffle(candidates)
        return candidates[0]

    def _add_level(self, children: dict[int, int]) -> None:
        """Below each device it and its child; a device that repeats has its own."""
        above = self.levels[-1]
        level: list[int] = []
        for before, parent in zip((None, *above), above, strict=False):
            level += (parent, parent if parent == before else children[parent])
        self.levels.append(tuple(level))


def _by_partition(weights: Weights, root: int) -> Tree | None:
    """A tree from halves of halves; None if too many tries ended without a link."""
    shuffler = Shuffler(seed=1)
    for _ in range(_RESTARTS + 1):
        growth = _Growth(len(weights), root)
        while growth.grow(weights, shuffler):
            if growth.finished():
                return Tree(tuple(growth.levels))
    return None


# -- by search -------------------------------------------------------------------------


def _by_search(weights: Weights, root: int) -> Tree:
    """The heaviest of all trees, or from 9 devices on the first that is one.

    A tree is a list of 2 ** depth slots, its leaves; a slot's left neighbour at the
    distance 1, 2, 4, … of its lowest bit is its parent on the level where they meet.
    """
    depth = depth_of(len(weights))
    best, most = None, -np.inf
    for slots in _spanning(weights, [root], 1 << depth):
        tree = _without_repeats(slots, len(weights), depth)
        weight = _weight(weights, tree, depth)
        if weight > most:
            best, most = tree, weight
        if depth > _EXACT_DEPTH:
            break
    if best is None:
        raise ArgumentError(
            f"no balanced tree from device {root} follows the links between the "
            f"{len(weights)} devices. Join them by more links, or turn "
            "MXNET_KVSTORE_USETREE off."
        )
    levels = tuple(tuple(best[:: 1 << level]) for level in range(depth, 0, -1))
    return Tree((*levels, tuple(best)))


def _spanning(weights: Weights, slots: list[int], wanted: int) -> Iterator[list[int]]:
    """All ways to fill the slots so that each send has a link and each device is in.

    slots: the devices of the first ones.
    """
    devices, place = len(weights), len(slots)
    if place == wanted:
        yield slots
        return
    repeats = wanted - devices  # so often a device may be where it was before
    parent = slots[place - (place & -place)]
    known = len(set(slots))
    for device in range(devices):
        if device != parent and weights[parent, device] == 0:
            continue
        if place + 1 - known - (device not in slots) > repeats:
            continue  # too few slots are left for the devices that are missing
        yield from _spanning(weights, [*slots, device], wanted)


def _without_repeats(slots: list[int], devices: int, depth: int) -> list[int]:
    """The slots without sends of a device whose numbers another send has brought."""
    found = list(slots)
    for level in reversed(range(depth)):
        stride = 1 << level
        above = Counter(found[:: 2 * stride])
        here = Counter(found[::stride])
        for place in range(len(found) - stride, stride - 1, -2 * stride):
            source, target = found[place], found[place - stride]
            if source != target and (here[source] > 1 or above[source]):
                found[place] = target
                here[source] -= 1
    return found


def _weight(weights: Weights, slots: list[int], depth: int) -> float:
    """The sum of the links' weights, less penalties for what is used twice."""
    weight = np.float32(0)
    links: set[tuple[int, int]] = set()
    for level in range(depth):
        stride = 1 << level
        seen: set[int] = set()
        for place in range(0, len(slots) - stride, 2 * stride):
            parent, child = slots[place], slots[place + stride]
            if parent != child:
                weight += weights[parent, child]
                if (parent, child) in links:
                    weight -= _SAME_LINK_TWICE
                links |= {(parent, child), (child, parent)}
            seen.add(parent)
            if level > 0 and child in seen:
                weight -= _SAME_DEVICE_TWICE
            seen.add(child)
    return float(weight)

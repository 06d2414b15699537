"""Trees: a policy says along which links the gradients of several devices are added.

    class Star:
        '''Everyone sends to the root, over one hop where there is a link.'''

        def parents(self, links, root):
            found = [root] * len(links)
            for device, joined in enumerate(links):
                if device != root and not joined[root]:
                    found[device] = max(
                        (k for k in range(len(links)) if links[k][root]),
                        key=lambda k: joined[k],
                    )
            return found

    mx.kvstore.register_tree("Star", Star)
    mx.knobs.set(MXNET_KVSTORE_USETREE=1, MINIMX_KVSTORE_TREE="Star")

`parents(links, root)`: links[a][b] is how much the link between devices a and b carries
(0: there is none); earlier trees have made the links that they use count for less. The
answer is a list: for each device the one that it sends its sum to, for the root itself.
A large array is cut into one slice for each root, so there are as many trees as
devices; sums climb a tree, results go down again.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import numpy as np

from minimx.core.drivers.links import LAYOUTS, weights
from minimx.core.errors import ArgumentError
from minimx.kvstore.planners.steps import Copy, Piece, Plan, Step, traffic
from minimx.kvstore.planners.tree import over_trees
from minimx.kvstore.planners.trees import Tree, all_trees, link_weights
from minimx.kvstore.topology import forget_trees
from minimx.policies.asking import Asked, Broken
from minimx.policies.kinds import Entry, Kind, guarded

#: From weights of links, and a penalty for each use, to a tree for each root.
TreesOf = Callable[[Any, float], Sequence[Tree] | None]
PENALTY: Final = 0.7
#: The rows of the array that is added, for each device; each takes one byte.
ROWS: Final = 8


@dataclass(frozen=True)
class Trace:
    """Devices and MXNet's matrix of their links."""

    name: str
    ranks: tuple[tuple[int, ...], ...]

    @property
    def links(self) -> Any:
        """Weights to plan with, (n, n)."""
        return link_weights(self.ranks)


class Trees(Kind[TreesOf, Trace]):
    """Of `mx.kvstore`: the trees of a sum."""

    name = "tree"
    method = "parents"
    families = ("machines", "random links")
    unit = "times that the busiest link carries, for an array of 1 and a link of 1"
    bound_says = (
        "of every slice but its own a device has to send something, and to receive the "
        "sum, over all its links together"
    )
    default = "mxnet"
    knobs = ("MINIMX_KVSTORE_TREE",)
    builtins: Mapping[str, TreesOf] = {
        "mxnet": all_trees,
        "direct": lambda links, penalty: planned_trees("direct", links, penalty),
    }

    def subject(self, ask: Asked) -> TreesOf:
        """A planner that asks for one root after the other."""
        return partial(_trees, ask)

    def trace(self, family: str, seed: int) -> Trace:
        """Devices of a real machine, or links that were drawn."""
        chance = random.Random(f"{family} {seed}")
        if family == "machines":
            devices = chance.choice((4, 8))
            layout = chance.choice(sorted(LAYOUTS))
            ranks = weights(LAYOUTS[layout], devices)
        else:
            ranks = _drawn(chance)
        return Trace(f"{family} {seed}", ranks)

    def run(self, subject: TreesOf, trace: Trace) -> float:
        """Plan the sum of an array over all devices, and follow each number."""
        links = trace.links
        trees = subject(links, PENALTY)
        assert trees is not None
        count = len(links)
        for pair in (pair for tree in trees for pair in tree.pairs()):
            if not links[pair]:
                raise Broken(f"{pair[1]} sends to {pair[0]}", "sends follow links")
        plan = over_trees(trees, ROWS * count, ROWS * count, bound=0)
        check_sum(plan, count, ROWS * count)
        return _busiest(plan.reduce, links) + _busiest(plan.broadcast, links)

    def bound(self, trace: Trace) -> float:
        """What the device with the thinnest links has to send, and to receive."""
        count = len(trace.ranks)
        return float(2 * max((count - 1) / count / trace.links.sum(0, dtype=float)))

    def _connect(self, entry: Entry) -> None:
        def own(links: Any, penalty: float) -> Sequence[Tree] | None:
            return _trees(entry.new(), links, penalty)

        _known[entry.name] = guarded(entry, lambda *_: None, own)
        forget_trees()

    def _disconnect(self, name: str) -> None:
        del _known[name]
        forget_trees()


class Direct:
    """Everyone sends to the root where a link joins them.

    The others send along the widest links to those that are reached already.
    """

    def parents(self, links: Sequence[Sequence[float]], root: int) -> list[int]:
        """The device that each sends to."""
        found = {root: root}
        near = [k for k in range(len(links)) if links[k][root]]
        found |= dict.fromkeys(near, root)
        while len(found) < len(links):
            _, child, parent = max(
                (joined[end], child, end)
                for child, joined in enumerate(links)
                if child not in found
                for end in found
                if joined[end]
            )
            found[child] = parent
        return [found[device] for device in range(len(links))]


def planned_trees(name: str, links: Any, penalty: float) -> Sequence[Tree] | None:
    """The trees of the planner that MINIMX_KVSTORE_TREE names; None: MXNet's search."""
    if name not in _known:
        TREES.gone(name)
        return None
    return _known[name](links, penalty)


def _trees(ask: Asked, links: Any, penalty: float) -> list[Tree]:
    """The policy's trees; each makes the links that it uses count for less."""
    now = np.array(links, np.float32)
    found = []
    for root in range(len(now)):
        tree = _tree(ask, now, root)
        for pair in tree.pairs():
            now[pair] *= np.float32(penalty)
            now[pair[::-1]] *= np.float32(penalty)
        found.append(tree)
    return found


def _tree(ask: Asked, links: Any, root: int) -> Tree:
    """The policy's tree for a root. Raises `Broken` where it is none."""
    count = len(links)
    question = tuple(tuple(row) for row in links.tolist()), root
    answer = ask(*question)

    def wrong(what: str, rule: str) -> Broken:
        return Broken(f"{what}: {ask.shown(question, answer)}", rule, f"root {root}")

    listed = isinstance(answer, Sequence) and len(answer) == count
    if not listed or not all(type(one) is int and 0 <= one < count for one in answer):
        raise wrong(
            "this is no list of devices",
            f"the answer is {count} numbers from 0 to {count - 1}, one for each device",
        )
    if answer[root] != root:
        raise wrong(
            f"the root {root} sends to {answer[root]}", "the root keeps the sum"
        )
    children: dict[int, list[int]] = {device: [] for device in range(count)}
    for device, parent in enumerate(answer):
        if device != root:
            if not links[device, parent]:
                raise wrong(
                    f"{device} sends to {parent}, and no link joins them",
                    "sends follow links",
                )
            children[parent].append(device)
    levels, reached = _levels(children, root)
    if missing := sorted(set(range(count)) - reached):
        raise wrong(
            f"what {missing} send never comes to the root {root}",
            "each device counts once, and the root has the sum of all",
        )
    return Tree(levels)


def _levels(
    children: Mapping[int, list[int]], root: int
) -> tuple[tuple[tuple[int, ...], ...], set[int]]:
    """The levels of a `Tree`: pairs of those who send at the same time; who is in it.

    A device takes one child in each level.
    """
    reached = {root}
    left = {device: list(below) for device, below in children.items()}
    levels: list[tuple[int, ...]] = [(root,)]
    while pairs := [(one, left[one].pop(0)) for one in sorted(reached) if left[one]]:
        levels.append(tuple(device for pair in pairs for device in pair))
        reached |= {child for _, child in pairs}
    return tuple(levels), reached


def check_sum(plan: Plan, devices: int, rows: int) -> None:
    """Raise `Broken` unless a plan adds each device once and brings the sum to all.

    Follows, instead of numbers, who is contained in them. rows: of the array.
    """
    have = {
        (place, row): Counter([place])
        for place in range(devices)
        for row in range(rows)
    }
    arrived: dict[Any, Counter[int]] = {}
    for step in plan.reduce:
        for row in _rows(step.piece, rows):
            if isinstance(step, Copy):
                arrived[step.target, step.source, row] = have[step.source, row]
            else:
                parts = [
                    have[step.place, row]
                    if source == step.place
                    else arrived.pop((step.place, source, row))
                    for source in step.sources
                ]
                have[step.place, row] = sum(parts, Counter())
    for copy in plan.broadcast:
        for row in _rows(copy.piece, rows):
            have[copy.target, row] = have[copy.source, row]
    everyone = Counter(range(devices))
    for (place, row), found in have.items():
        if 0 <= place < devices and found != everyone:
            raise Broken(
                f"in row {row} device {place} has the sum of {[*found.elements()]}",
                "each device counts once, and all devices get the sum",
            )
    if arrived:
        raise Broken(f"{len(arrived)} copies were never added", "what arrives is added")


def _rows(piece: Piece, rows: int) -> range:
    return range(piece.start, rows if piece.stop < 0 else piece.stop)


def _busiest(steps: Sequence[Step], links: Any) -> float:
    """How long the busiest link is busy; each direction for itself."""
    rows = ROWS * len(links)
    sent = traffic(tuple(steps), rows, rows)
    return max(
        nbytes / rows / float(links[pair]) if links[pair] else 0.0
        for pair, nbytes in sent.items()
    )


def _drawn(chance: random.Random) -> tuple[tuple[int, ...], ...]:
    """Links between four or six devices along which MXNet finds trees as well."""
    while True:
        count = chance.choice((4, 6))
        ranks = [[0] * count for _ in range(count)]
        for a in range(count):
            for b in range(a):
                ranks[a][b] = ranks[b][a] = chance.choice((1, 2, 2, 3, 3))
        try:
            all_trees(link_weights(ranks), PENALTY)
        except ArgumentError:
            continue
        return tuple(map(tuple, ranks))


#: The values of MINIMX_KVSTORE_TREE beside MXNet's.
_known: dict[str, TreesOf] = {"direct": partial(_trees, Asked(Direct(), "parents"))}
TREES: Final[Any] = Trees()

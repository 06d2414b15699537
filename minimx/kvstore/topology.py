"""The links between the devices that take part, and the trees that follow them.

Trees are planned once for a set of devices and a setting of the knobs, and planned anew
when a knob is turned: `MXNET_KVSTORE_TREE_LINK_USAGE_PENALTY`, `…_TREE_BACKTRACK`,
`MINIMX_SIM_LINKS`, `MINIMX_KVSTORE_TREE`. MXNet reads its variables when a store is
made. There, as here, the tree kvstore does not ask MXNET_ENABLE_GPU_P2P what is linked.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from minimx.core.device import Context
from minimx.core.drivers import links
from minimx.core.extensions import provided
from minimx.core.knobs import knobs
from minimx.kvstore.planners.trees import Tree, all_trees, link_use, link_weights

Ranks = tuple[tuple[int, ...], ...]


def ranks_of(devices: Sequence[Context]) -> Ranks:
    """MXNet's matrix: 0 on the diagonal, 1 for PCI Express, more for NVLinks."""
    layout = links.LAYOUTS[knobs.MINIMX_SIM_LINKS]
    return tuple(
        tuple(0 if a is b else _rank(layout, a, b) for b in devices) for a in devices
    )


def _rank(layout: links.Layout, a: Context, b: Context) -> int:
    if a.device_type == b.device_type == "gpu":
        link = layout(a.device_id, b.device_id)
        if link is not None:
            return link.weight
    return links.PCIE.weight


def trees_for(devices: Sequence[Context]) -> tuple[Tree, ...]:
    """A tree for each device as root, by the knobs as they are now.

    With MXNET_KVSTORE_LOGTREE they are printed, once for each time it is turned on.
    """
    asked = (
        ranks_of(devices),
        float(knobs.MXNET_KVSTORE_TREE_LINK_USAGE_PENALTY),
        bool(knobs.MXNET_KVSTORE_TREE_BACKTRACK),
        str(knobs.MINIMX_KVSTORE_TREE),
    )
    found = _trees(*asked)
    if knobs.MXNET_KVSTORE_LOGTREE and asked not in _printed:
        _printed.add(asked)
        print(description(link_weights(asked[0]).tolist(), found))
    return found


@lru_cache(maxsize=64)
def _trees(
    ranks: Ranks, penalty: float, backtrack: bool, planner: str
) -> tuple[Tree, ...]:
    weights = link_weights(ranks)
    if planner != "mxnet":
        own = provided("policies").planned_trees(planner, weights, penalty)
        if own is not None:
            return tuple(own)
    return tuple(all_trees(weights, penalty, backtrack))


def forget_trees() -> None:
    """Plan anew at the next sum: a planner came, or another one of its name."""
    _trees.cache_clear()


_printed: set[tuple[Ranks, float, bool, str]] = set()
knobs.watch("MXNET_KVSTORE_LOGTREE", lambda *_: _printed.clear())


def description(weights: Sequence[Sequence[float]], trees: Sequence[Tree]) -> str:
    """Trees, the weights of the links, and how often the trees use each: as text.

    >>> print(description([[0, 2], [2, 0]], [Tree(((0,), (0, 1)))]))
    Tree 0:
       0
     0   1
    W:
      0   2
      2   0
    Links:
      0   1
      1   0
    """
    lines = []
    for number, tree in enumerate(trees):
        lines.append(f"Tree {number}:")
        width = 4 * len(tree.levels[-1])
        for level in tree.levels:
            cell = width // len(level)
            lines.append("".join(f"{device:^{cell}}" for device in level).rstrip())
    used = link_use(trees)
    size = range(len(weights))
    counts = [[used[min(a, b), max(a, b)] for b in size] for a in size]
    for title, matrix in (("W", weights), ("Links", counts)):
        lines.append(f"{title}:")
        lines += [
            "".join(f" {number:^3g}" for number in row).rstrip() for row in matrix
        ]
    return "\n".join(lines)

"""Plans over trees: sums climb from the leaves to the root, results go down again.

Small arrays take the tree of device 0. Large ones are cut into as many slices as there
are devices, and slice i takes the tree whose root is device i: all links work at the
same time, and no device adds more than the others.
"""

from __future__ import annotations

from collections.abc import Sequence

from minimx.kvstore.planners.steps import WHOLE, Copy, Piece, Plan, Step, Sum, slices
from minimx.kvstore.planners.trees import Tree


def is_sliced(rows: int, elements: int, devices: int, bound: int) -> bool:
    """Whether an array is cut: more elements than the bound, and rows enough to cut.

    rows: the length of axis 0. bound: MXNET_KVSTORE_TREE_ARRAY_BOUND.
    """
    return elements > bound and rows >= 2 * devices


def over_trees(trees: Sequence[Tree], rows: int, elements: int, bound: int) -> Plan:
    """The plan for one array.

    >>> plan = over_trees([Tree(((0,), (0, 1)))], rows=1, elements=8, bound=100)
    >>> [type(step).__name__ for step in plan.reduce], plan.broadcast[0][:2]
    (['Copy', 'Sum'], (0, 1))
    """
    pieces: Sequence[Piece] = (WHOLE,)
    if is_sliced(rows, elements, len(trees), bound):
        pieces = slices(rows, len(trees))
    reduce: list[Step] = []
    broadcast: list[Copy] = []
    roots: dict[Piece, int] = {}
    for piece, tree in zip(pieces, trees, strict=False):
        reduce += climb(tree, piece)
        broadcast += descend(tree, piece)
        roots[piece] = tree.root
    return Plan(tuple(reduce), tuple(broadcast), roots)


def climb(tree: Tree, piece: Piece = WHOLE) -> list[Step]:
    """The reduction: level by level, children send and parents add."""
    steps: list[Step] = []
    for level in reversed(tree.levels[1:]):
        pairs = [
            (parent, child)
            for parent, child in zip(level[::2], level[1::2], strict=True)
            if parent != child
        ]
        steps += [Copy(child, parent, piece) for parent, child in pairs]
        steps += [Sum(parent, (parent, child), piece) for parent, child in pairs]
    return steps


def descend(tree: Tree, piece: Piece = WHOLE) -> list[Copy]:
    """The broadcast: the same pairs from the root down."""
    return [Copy(parent, child, piece) for parent, child in tree.pairs()]

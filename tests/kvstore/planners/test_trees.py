"""Trees along links: those that MXNet 1.9.1 finds, and what each tree must be."""

from __future__ import annotations

import numpy as np
import pytest

from minimx.core.drivers import links
from minimx.core.errors import ArgumentError
from minimx.kvstore.planners import shuffles, trees

MESH = links.weights(links.mesh, 8)
#: The trees that MXNet's code finds for eight V100 in a DGX-1, compiled by itself.
PARTITION = """
0 / 0 4 / 0 2 4 6 / 0 3 2 1 4 7 6 5
1 / 1 5 / 1 2 5 6 / 1 0 2 3 5 4 6 7
2 / 2 6 / 2 3 6 7 / 2 1 3 0 6 5 7 4
3 / 3 7 / 3 2 7 6 / 3 1 2 0 7 5 6 4
4 / 4 0 / 4 5 0 1 / 4 7 5 6 0 3 1 2
5 / 5 1 / 5 4 1 0 / 5 7 4 6 1 3 0 2
6 / 6 2 / 6 7 2 3 / 6 5 7 4 2 1 3 0
7 / 7 3 / 7 6 3 2 / 7 5 6 4 3 1 2 0
"""
SEARCH = """
0 / 0 1 / 0 4 1 5 / 0 3 4 7 1 2 5 6
1 / 1 5 / 1 2 5 6 / 1 0 2 3 5 4 6 7
2 / 2 6 / 2 3 6 7 / 2 0 3 1 6 4 7 5
3 / 3 7 / 3 2 7 6 / 3 0 2 1 7 4 6 5
4 / 4 0 / 4 5 0 2 / 4 7 5 1 0 3 2 6
5 / 5 6 / 5 7 6 4 / 5 1 7 3 6 2 4 0
6 / 6 7 / 6 4 7 3 / 6 2 4 0 7 5 3 1
7 / 7 3 / 7 4 3 2 / 7 6 4 5 3 0 2 1
"""
FOUR_PARTITION = (
    "0 / 0 1 / 0 3 1 2|1 / 1 2 / 1 0 2 3|2 / 2 3 / 2 0 3 1|3 / 3 2 / 3 0 2 1"
)
FOUR_SEARCH = "0 / 0 3 / 0 1 3 2|1 / 1 3 / 1 2 3 0|2 / 2 3 / 2 1 3 0|3 / 3 2 / 3 1 2 0"
FOUR_ON_PCIE = "0 / 0 2 / 0 1 2 3|1 / 1 3 / 1 2 3 0|2 / 2 1 / 2 0 1 3|3 / 3 0 / 3 2 0 1"


@pytest.mark.parametrize(
    ("weights", "backtrack", "expected"),
    [
        (MESH, False, PARTITION.strip().split("\n")),
        (MESH, True, SEARCH.strip().split("\n")),
        (links.weights(links.mesh, 4), False, FOUR_PARTITION.split("|")),
        (links.weights(links.mesh, 4), True, FOUR_SEARCH.split("|")),
        (links.weights(links.pcie, 4), True, FOUR_ON_PCIE.split("|")),
    ],
    ids=["8 partition", "8 search", "4 partition", "4 search", "4 on PCIe, search"],
)
def test_the_trees_of_mxnet(
    weights: object, backtrack: bool, expected: list[str]
) -> None:
    found = trees.all_trees(trees.link_weights(weights), backtrack=backtrack)  # type: ignore[arg-type]
    assert [str(tree) for tree in found] == expected


def test_the_use_of_links_that_mxnet_prints() -> None:
    found = trees.link_use(trees.all_trees(trees.link_weights(MESH)))
    assert [found[0, k] for k in range(1, 8)] == [3, 4, 4, 2, 0, 0, 0]
    assert [found[1, k] for k in range(2, 8)] == [5, 3, 0, 2, 0, 0]
    even = trees.all_trees(trees.link_weights(links.weights(links.pcie, 4)), 0.7, True)
    assert set(trees.link_use(even).values()) == {2}


def test_without_a_penalty_trees_crowd_on_the_same_links() -> None:
    weights = trees.link_weights(MESH)
    crowded = trees.link_use(trees.all_trees(weights, penalty=1.0))
    spread = trees.link_use(trees.all_trees(weights, penalty=0.1))
    assert max(crowded.values()) > max(spread.values())


@pytest.mark.parametrize("devices", [2, 3, 4, 6, 7, 8, 12, 16])
def test_a_tree_reaches_all_and_each_sends_once(devices: int) -> None:
    weights = trees.link_weights(links.weights(links.pcie, devices))
    for root, tree in enumerate(trees.all_trees(weights)):
        assert tree.root == root
        assert set(tree.levels[-1]) == set(range(devices))
        senders = [child for _, child in tree.pairs()]
        assert sorted(senders) == [one for one in range(devices) if one != root]
        assert len(tree.levels) == trees.depth_of(devices) + 1


def test_trees_follow_links_only() -> None:
    weights = trees.link_weights(MESH)
    for tree in trees.all_trees(weights):
        assert all(weights[pair] > 0 for pair in tree.pairs())


def test_devices_without_links_are_an_error() -> None:
    with pytest.raises(ArgumentError, match="no balanced tree from device 0"):
        trees.all_trees(np.zeros((3, 3)))


def test_shuffles_are_those_of_libstdcxx() -> None:
    """As `std::shuffle` with `std::mt19937(1)` leaves 0, 1, 2, … of each length."""
    expected = ["0", "1 0", "1 0 2", "1 0 2 3", "1 0 2 3 4", "1 0 2 5 3 4"]
    expected += ["1 0 6 3 5 4 2", "1 0 2 5 7 4 6 3", "1 0 6 3 8 4 2 7 5"]
    for length, wanted in enumerate(expected, start=1):
        numbers = list(range(length))
        shuffles.Shuffler(1).shuffle(numbers)
        assert " ".join(map(str, numbers)) == wanted

"""Graphs are laid out without overlaps, in layers, and fast."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest

from minimx.tools.drawing.layout import GAP, HIGH, WIDE, Edge, Layout, lay_out
from tests import pace


def chain(count: int) -> list[Edge]:
    return list(pairwise(range(count)))


def tangle(count: int, seed: int) -> list[Edge]:
    """A graph such as networks are: near neighbours, and now and then a long way."""
    chance = random.Random(seed)
    edges = []
    for node in range(1, count):
        reach = chance.choice([1, 1, 1, 3, 8, 40])
        for _ in range(chance.choice([1, 1, 2, 3])):
            edges.append((max(0, node - chance.randint(1, reach)), node))
    return edges


def overlaps(layout: Layout) -> list[tuple[int, int]]:
    found = []
    for i, (x, y) in enumerate(layout.places):
        for j in range(i):
            u, v = layout.places[j]
            if abs(x - u) < WIDE + GAP - 1e-6 and abs(y - v) < HIGH:
                found.append((j, i))
    return found


def test_a_chain_is_a_straight_line_down() -> None:
    layout = lay_out(5, chain(5))
    assert len({x for x, _ in layout.places}) == 1
    assert [y for _, y in layout.places] == sorted(y for _, y in layout.places)
    assert layout.width == WIDE


def test_nothing_gives_an_empty_picture() -> None:
    assert lay_out(0, []) == Layout((), (), 0.0, 0.0)


@pytest.mark.parametrize("seed", range(5))
def test_boxes_never_overlap_and_stay_inside(seed: int) -> None:
    count = 60
    layout = lay_out(count, tangle(count, seed))
    assert overlaps(layout) == []
    for x, y in layout.places:
        assert x + 1e-6 >= WIDE / 2
        assert x <= layout.width - WIDE / 2 + 1e-6
        assert HIGH / 2 <= y <= layout.height - HIGH / 2 + 1e-6


def test_edges_lead_down() -> None:
    edges = tangle(60, 7)
    layout = lay_out(60, edges)
    assert all(layout.places[a][1] < layout.places[b][1] for a, b in edges)


def test_a_skipping_edge_bends_once_in_each_layer_that_it_crosses() -> None:
    edges = [*chain(5), (0, 4)]
    layout = lay_out(5, edges)
    assert len(layout.bends[-1]) == 3
    xs = {x for x, _ in layout.bends[-1]}
    assert all(abs(x - layout.places[2][0]) >= WIDE / 2 for x in xs), "beside the boxes"


def test_weights_stand_just_above_their_reader() -> None:
    edges = [(0, 1), (1, 2), (2, 3), (4, 3)]
    layout = lay_out(5, edges)
    assert layout.places[4][1] == layout.places[2][1]


def test_weights_do_not_pull_a_chain_aside() -> None:
    edges = [*chain(9), *((9 + k, k) for k in range(1, 9))]
    layout = lay_out(18, edges)
    assert (
        max(x for x, _ in layout.places[:9]) - min(x for x, _ in layout.places[1:9])
        < WIDE / 2
    )


def test_the_backward_pass_runs_up_beside_the_forward_pass() -> None:
    # 0 → 1 → 2 forward; 3 → 4 → 5 backward, each reading what forward kept.
    edges = [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (1, 4), (0, 5)]
    layout = lay_out(6, edges, [False] * 3 + [True] * 3)
    y = [place[1] for place in layout.places]
    assert (y[3], y[4], y[5]) == (y[2], y[1], y[0])
    assert layout.places[3][0] > layout.places[2][0] + WIDE
    assert overlaps(layout) == []


def test_circles_are_drawn_all_the_same() -> None:
    layout = lay_out(3, [(0, 1), (1, 2), (2, 0)])
    assert overlaps(layout) == []
    assert layout.height > HIGH


def test_the_same_graph_gives_the_same_picture() -> None:
    edges = tangle(80, 3)
    assert lay_out(80, edges) == lay_out(80, edges)


@pytest.mark.alone
@pytest.mark.parametrize("halves", [1, 2])
def test_three_hundred_nodes_within_three_hundred_milliseconds(halves: int) -> None:
    count = 300 // halves
    edges = tangle(count, 11)
    backward = [False] * count
    if halves == 2:  # the reverse of every edge, and every node reads its partner
        edges += [(count + b, count + a) for a, b in edges]
        edges += [(k, count + k) for k in range(count)]
        backward += [True] * count
    assert overlaps(lay_out(300, edges, backward)) == []
    took = pace.typical(lambda: lay_out(300, edges, backward), 5)
    print(f"\n300 nodes, {len(edges)} edges: {1e3 * took:.0f} ms")
    assert took < 0.3

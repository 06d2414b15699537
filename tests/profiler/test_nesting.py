"""Lanes for slices: none lies on another, and nothing is put deeper than it has to."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as some

from minimx.profiler.nesting import CLOSE, DEEPEST, NONE, nest

SLICES = some.lists(
    some.tuples(some.integers(0, 2), some.integers(0, 500), some.integers(0, 200)),
    max_size=40,
)


@given(slices=SLICES)
def test_slices_of_a_lane_come_one_after_the_other(
    slices: list[tuple[int, int, int]],
) -> None:
    row, start, length = np.array(slices, np.int64).reshape(-1, 3).T
    found = nest(row, start, start + length)
    assert sorted(found.order.tolist()) == list(range(len(slices)))
    lanes = {*zip(found.row.tolist(), found.depth.tolist(), strict=True)}
    for r, depth in lanes:
        mine = (found.row == r) & (found.depth == depth)
        assert (found.end[mine][:-1] <= found.start[mine][1:] + CLOSE).all()
        assert depth == 0 or (r, depth - 1) in lanes
    for i, parent in enumerate(found.parent.tolist()):
        if parent != NONE:
            assert found.row[parent] == found.row[i]
            assert found.depth[parent] == found.depth[i] - 1
            assert found.start[parent] <= found.start[i]
            assert found.end[i] <= found.end[parent] + CLOSE


def test_what_encloses_is_found_and_what_comes_next() -> None:
    row, start = np.zeros(3, int), np.array([0, 20, 100])
    found = nest(row, start, np.array([50, 30, 120]))
    around = [found.around(0, t) for t in (0, 25, 40, 50, 70, 100, 120, 130)]
    assert around == [0, 1, 0, 0, NONE, 2, 2, NONE]
    assert [found.next(0, t) for t in (0, 1, 60, 101, 130)] == [0, 0, 2, 2, NONE]
    assert found.around(5, 10) == found.next(5, 10) == NONE


def test_thousands_on_top_of_each_other_are_no_trouble() -> None:
    n = 20_000
    found = nest(np.zeros(n, int), np.arange(n), np.full(n, 10 * n))
    assert found.depth.max() == DEEPEST

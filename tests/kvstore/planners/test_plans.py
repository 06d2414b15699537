"""Every plan adds each device's numbers once, and brings the sum to all of them."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minimx.kvstore.planners import flat, ring, tree, trees
from minimx.kvstore.planners.steps import (
    HOST,
    WHOLE,
    Copy,
    Piece,
    Plan,
    Sum,
    slices,
    traffic,
)


def all_to_all(devices: int) -> list[list[int]]:
    """MXNet's matrix of devices that are all joined by PCI Express."""
    return [[int(a != b) for b in range(devices)] for a in range(devices)]


def plans(devices: int, rows: int) -> dict[str, Plan]:
    """One plan of each kind."""
    joined = trees.link_weights(all_to_all(devices))
    found = trees.all_trees(joined)
    return {
        "host": flat.on_host(devices),
        "device": flat.on_device(devices, home=devices - 1),
        "tree": tree.over_trees(found, rows, rows, bound=rows),
        "sliced tree": tree.over_trees(found, rows, rows, bound=0),
        "ring": ring.on_ring(range(devices), rows),
    }


class Bags:
    """What is where, as a bag of devices for each row."""

    def __init__(self, devices: int, rows: int) -> None:
        self.rows = rows
        self.have: dict[Any, Counter[int]] = {
            (place, row): Counter([place])
            for place in range(devices)
            for row in range(rows)
        }
        self.arrived: dict[Any, Counter[int]] = {}

    def rows_of(self, piece: Piece) -> range:
        return range(piece.start, self.rows if piece.stop < 0 else piece.stop)

    def reduce(self, plan: Plan) -> None:
        for step in plan.reduce:
            for row in self.rows_of(step.piece):
                if isinstance(step, Copy):
                    key = step.target, step.source, row
                    self.arrived[key] = self.have[step.source, row]
                else:
                    assert isinstance(step, Sum)
                    place = step.place
                    parts = [
                        self.have[place, row]
                        if source == place
                        else self.arrived.pop((place, source, row))
                        for source in step.sources
                    ]
                    self.have[place, row] = sum(parts, Counter())

    def broadcast(self, plan: Plan) -> None:
        for step in plan.broadcast:
            for row in self.rows_of(step.piece):
                self.have[step.target, row] = self.have[step.source, row]


@pytest.mark.parametrize("kind", ["host", "device", "tree", "sliced tree", "ring"])
@given(devices=st.integers(2, 9).filter(lambda n: n != 5), rows=st.integers(1, 40))
def test_each_device_counts_once(kind: str, devices: int, rows: int) -> None:
    plan = plans(devices, rows)[kind]
    bags = Bags(devices, rows)
    bags.reduce(plan)
    everyone = Counter(range(devices))
    for piece, root in plan.roots.items():
        assert all(bags.have[root, row] == everyone for row in bags.rows_of(piece))
    assert not bags.arrived, "a copy that no sum used"
    bags.broadcast(plan)
    for place in range(devices):
        assert all(bags.have[place, row] == everyone for row in range(rows))


@given(st.integers(0, 200), st.integers(1, 12))
def test_slices_cover_all_rows_in_order(rows: int, count: int) -> None:
    pieces = slices(rows, count)
    covered = [row for start, stop in pieces for row in range(start, stop)]
    assert covered == list(range(rows))
    assert len(pieces) == count


def busiest(plan: Plan, rows: int) -> int:
    """The bytes on the link that carries most, for an array of 1,000 bytes a row."""
    both = traffic((*plan.reduce, *plan.broadcast), rows, 1000 * rows)
    into: Counter[int] = Counter()
    for (_, target), nbytes in both.items():
        into[target] += nbytes
    return max(into.values())


def test_trees_and_rings_share_the_load_of_the_busiest_device() -> None:
    found = plans(8, rows=64)
    flat_load = busiest(found["device"], 64)
    assert flat_load == 7 * 64_000
    assert busiest(found["tree"], 64) < flat_load
    assert busiest(found["sliced tree"], 64) <= flat_load / 3
    assert busiest(found["ring"], 64) == 14 * 8_000  # 2 (n - 1) / n of the array


def test_a_slice_needs_rows_and_elements() -> None:
    assert tree.is_sliced(rows=16, elements=101, devices=8, bound=100)
    assert not tree.is_sliced(rows=15, elements=101, devices=8, bound=100)
    assert not tree.is_sliced(rows=16, elements=100, devices=8, bound=100)


def test_the_host_adds_four_at_a_time() -> None:
    assert flat.groups(1) == []
    assert flat.groups(6) == [range(1, 5), range(5, 6)]
    assert flat.on_host(3).roots == {WHOLE: HOST}

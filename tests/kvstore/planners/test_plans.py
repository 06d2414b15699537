"""Every plan adds each device's numbers once, and brings the sum to all of them."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minimx.kvstore.planners import flat, ring, tree, trees
from minimx.kvstore.planners.steps import HOST, WHOLE, Plan, slices, traffic
from minimx.policies.trees import check_sum


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


@pytest.mark.parametrize("kind", ["host", "device", "tree", "sliced tree", "ring"])
@given(devices=st.integers(2, 9).filter(lambda n: n != 5), rows=st.integers(1, 40))
def test_each_device_counts_once(kind: str, devices: int, rows: int) -> None:
    check_sum(plans(devices, rows)[kind], devices, rows)


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

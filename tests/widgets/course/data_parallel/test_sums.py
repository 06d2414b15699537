"""Sums over simulated GPUs: what the record says is what the planners plan."""

from __future__ import annotations

import pytest

from minimx_widgets.course.data_parallel.busiest import into_busiest
from minimx_widgets.course.data_parallel.sums import summed

NBYTES = 64 * 16 * 4


@pytest.mark.parametrize(
    ("store", "kind", "copies"), [("local", "host", 6), ("device", "device", 4),
                                  ("ring", "ring", 12)],
)  # fmt: skip
def test_the_record_of_a_sum_is_its_plan(store: str, kind: str, copies: int) -> None:
    found = summed(store, 3, shape=(63, 16))
    assert found.busiest == into_busiest(kind, 3, 63 * 16 * 4)
    assert found.copies == copies
    assert found.us > 0
    assert sum(found.bytes_into.values()) == sum(found.bytes_over.values())


def test_a_tree_shares_the_load_and_its_slices_more() -> None:
    flat = summed("device", 4, layout="mesh").busiest
    tree = summed("tree", 4, layout="mesh").busiest
    sliced = summed("tree", 4, layout="mesh", MXNET_KVSTORE_TREE_ARRAY_BOUND=10).busiest
    assert flat == 3 * NBYTES > tree == 2 * NBYTES > sliced


def test_a_sum_that_is_wrong_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    from minimx_widgets.course.data_parallel import sums

    def forgets(store: str, values: list[object]) -> None:
        """Leave the values as they are."""

    monkeypatch.setattr(sums, "_share", forgets)
    with pytest.raises(ArithmeticError, match="wrong"):
        summed("device", 2)

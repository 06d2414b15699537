"""Each variable of notebook 13 moves what is said of it; without it nothing moves."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from minimx.core.knobs import knobs
from minimx_widgets.course.data_parallel.turning import (
    TURNS,
    Effect,
    shown,
    threads_in_ms,
)

EXPECTED = {
    "MXNET_KVSTORE_REDUCTION_NTHREADS": [1, 4],
    "MXNET_KVSTORE_BIGARRAY_BOUND": [1, 4],
    "MXNET_KVSTORE_USETREE": [12_288, 8_192],
    "MXNET_KVSTORE_LOGTREE": [0, 8],
    "MXNET_KVSTORE_TREE_ARRAY_BOUND": [8_192, 7_168],
    "MXNET_KVSTORE_TREE_BACKTRACK": [19, 20],
    "MXNET_KVSTORE_TREE_LINK_USAGE_PENALTY": [8, 5, 4],
    "MXNET_ENABLE_GPU_P2P": [6, 12],
    "MXNET_UPDATE_ON_KVSTORE": [6, 24],
    "MXNET_KVSTORE_REDUCE_BUCKET_SIZE": [36, 6],
}


@pytest.mark.parametrize("turn", TURNS)
def test_a_variable_moves_what_is_said(turn: Callable[[], Effect]) -> None:
    before = dict(knobs.diff())
    found = turn()
    assert knobs.diff() == before
    assert found.knob in knobs.declared
    assert found.moved
    assert found.how in ("recorded", "planned", "modelled")
    if found.knob in EXPECTED:
        assert list(found.values.values()) == EXPECTED[found.knob]
    else:
        whole, large, small = found.values.values()
        assert large < whole
        assert small < whole
    assert turn() == found  # the second time as well


def test_effects_are_a_table_and_one_that_moves_nothing_says_so() -> None:
    found = Effect("MXNET_X", "nothing", "planned", {"0": 1.0, "1": 1.0})
    assert not found.moved
    assert "0 → 1; 1 → 1" in repr(shown([found]))


def test_the_stopwatch_gives_milliseconds_for_each() -> None:
    found = threads_in_ms((1, 2), elements=1000)
    assert set(found) == {1, 2}
    assert all(0 < one < 60_000 for one in found.values())

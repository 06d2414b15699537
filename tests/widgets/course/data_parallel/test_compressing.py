"""Gradients in few bits: the bytes that travel, and what a network still learns."""

from __future__ import annotations

import pytest

from minimx_widgets.course.data_parallel.compressing import Moved, learned, moved


@pytest.mark.parametrize(("kind", "times"), [("", 1), ("2bit", 16), ("1bit", 32)])
def test_only_what_is_pushed_is_compressed(kind: str, times: int) -> None:
    assert moved(kind, 64_000) == Moved(push=4 * 64_000 // times, pull=4 * 64_000)


def test_a_threshold_that_fits_costs_little_and_a_small_one_a_lot() -> None:
    plain, fits, small = (
        learned("").accuracy[-1],
        learned("2bit", threshold=0.5).accuracy[-1],
        learned("2bit", threshold=0.05).accuracy[-1],
    )
    assert plain > 0.8
    assert abs(plain - fits) < 0.04
    assert small < plain - 0.05

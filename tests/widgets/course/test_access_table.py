"""The table of accesses: what it says at every step, and on a page without a kernel."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from minimx_widgets.course.access_table import SHOWN, AccessTable
from minimx_widgets.course.accesses import counted


def twice(x: Any, out: Any) -> None:
    for i in range(x.size):
        out[i] = x[i] * x[i]


def table(size: int = 3) -> AccessTable:
    return AccessTable(counted(twice, np.arange(float(size)), np.zeros(size)), "a < b")


def test_it_says_what_happened_last() -> None:
    view = table()
    assert view.sentence(0) == "before the first of 9 accesses"
    assert view.sentence(1) == "1 of 9: x[0] is read"
    assert view.sentence(2) == "2 of 9: x[0] is read, for the second time"
    assert view.sentence(3) == "3 of 9: out[0] is written"


def test_a_box_counts_and_turns_red_at_the_second_time() -> None:
    view = table()
    assert view.grid(1).count(">1 r<") == 1 and "229,57,53" not in view.grid(1)
    assert view.grid(2).count(">2 r<") == 1 and "229,57,53" in view.grid(2)
    assert view.grid(9).count(">2 r<") == 3
    assert view.grid(9).count(">1 w<") == 3
    assert view.grid(0).count(">·<") == 6


def test_the_slider_moves_the_grid() -> None:
    view = table()
    view._slider.value = 2
    assert view._grid.value == view.grid(2) != view.grid(9)


def test_long_arrays_are_cut_but_counted() -> None:
    grid = table(SHOWN + 1).grid(3 * (SHOWN + 1))
    assert len(re.findall(r">2 r<", grid)) == SHOWN
    assert f"{2 * SHOWN + 2} r, 0 w" in grid and "…" in grid


def test_a_page_without_a_kernel_shows_the_end() -> None:
    view = table()
    data, _ = view._repr_mimebundle_()
    assert data["text/html"] == view.grid(9)
    assert "a &lt; b" in data["text/html"]
    assert data["text/plain"].startswith("a < b\n")
    assert data["text/plain"].endswith("9 accesses, 3 for each element of the output")

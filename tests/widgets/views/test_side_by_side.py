"""What is drawn and said of two sides, with the figures that were measured."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any
from xml.etree import ElementTree

import pytest

from minimx_widgets import SideBySide
from minimx_widgets.training.comparing import Comparison, Side
from minimx_widgets.training.session import DONE, STOPPED
from minimx_widgets.training.training import Settings
from tests.widgets.image_data import pictures

pytestmark = pytest.mark.usefixtures("knobs_at_rest")


def sides(**turned: Any) -> tuple[Side, Side]:
    mine = Settings(network="mlp", data=pictures(), batch_size=32)
    return Side("A", "In-place on", mine), Side("B", "In-place off", mine, turned)


def finished(steps: int = 12) -> SideBySide:
    """A comparison of in-place on and off that went through."""
    first, second = sides(MXNET_EXEC_ENABLE_INPLACE=False)
    view = SideBySide(Comparison(first, second, steps=steps))
    view.train()
    assert view.wait(120)
    return view


@pytest.fixture(scope="module")
def view() -> Iterator[SideBySide]:
    found = finished()
    yield found
    found.close()


def test_what_it_says_of_itself(view: SideBySide) -> None:
    assert repr(view) == (
        "SideBySide(A: In-place on, B: In-place off, 12 steps each, "
        "losses the same to the bit)"
    )
    assert view.headline.startswith("step peak ") and "▲" in view.headline


def test_figures_of_both_sides(view: SideBySide) -> None:
    rows = {row.name: row for row in view.rows}
    assert rows["planned"].source == "planned" and rows["planned"].verdict == "worse"
    assert rows["loss"].change == rows["test"].change == "same"
    table = view.table()
    assert table.heads == ("figure", "A", "B", "B against A", "how")
    assert "test accuracy" in repr(table) and "In-place off" in table.html()


def test_the_page_gets_plain_json(view: SideBySide) -> None:
    state = json.loads(json.dumps(view.state, allow_nan=False))
    assert state["state"] == DONE
    for side in state["sides"]:
        lines = [side[key] for key in ("peak", "ms", "loss", "accuracy", "planned")]
        assert [len(line) for line in lines] == [12] * 5
    for last in state["last"]:
        assert last["lanes"] == ["cpu(0)/0"] and last["boxes"]
        assert min(last["bytes"]) >= 0 and max(last["bytes"]) <= 2 * max(
            state["sides"][1]["peak"]
        )
        assert all(0 <= box[1] <= box[2] <= last["took"] for box in last["boxes"])


@pytest.mark.parametrize("dark", [False, True])
def test_a_static_picture(view: SideBySide, dark: bool) -> None:
    found = view.svg(dark=dark)
    ElementTree.fromstring(found)
    for words in ("step peak", "time per step", "loss", "The last two steps", "A cpu"):
        assert words in found


def test_before_anything_ran() -> None:
    view = SideBySide(Comparison(*sides(), steps=5))
    assert repr(view).endswith("5 steps each, so far 0 and 0)")
    ElementTree.fromstring(view.svg())
    assert view.state["headline"] == "" and view.state["last"] == [{}, {}]
    view.close()


def test_the_page_can_stop_it() -> None:
    view = SideBySide(Comparison(*sides(), steps=3000))
    view.train()
    while not view.comparison.outcomes[0].facts:
        assert not view.wait(0.02)
    view._handle_custom_msg({"kind": "stop"}, [])
    assert view.wait(60)
    assert view.session.state == STOPPED and view.state["state"] == STOPPED
    view.close()


def test_what_went_wrong_is_shown() -> None:
    first, second = sides()
    view = SideBySide(Comparison(first, second, steps=5))
    view.comparison.outcomes[0].error = "out of memory"
    view.comparison.disturbed.append("MXNET_EXEC_BULK_EXEC_TRAIN")
    ended, disturbed = view._notes()
    assert ended == "A ended at step 0: out of memory"
    assert disturbed.startswith("Turned from outside meanwhile: MXNET_EXEC_BULK")
    assert "A failed" in repr(view)
    view.close()

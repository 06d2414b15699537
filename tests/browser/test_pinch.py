"""Zooming by hand in timelines and graphs: by trackpad and by two fingers.

The events are the browser's own input: what a trackpad or a touch screen sends.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, CDPSession, Page

from minimx_widgets import EngineTimeline, MemoryPlan, MemoryTimeline
from minimx_widgets.training.networks import lenet
from tests.browser.pages import data, empty_page
from tests.browser.pages import stand as stand_by_state
from tests.browser.test_views_alone import PAINTED, many, stand

pytestmark = pytest.mark.browser

CTRL = 2
BEGIN = 118  # pixels of names before the axis of a timeline begins
RANGE = "[...globalThis[Symbol.for('minimx.runs')].values()].at(-1).range"
SPAN = f"() => {RANGE}[1] - {RANGE}[0]"
NEARER = f"most => {RANGE}[1] - {RANGE}[0] < most"


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    with empty_page(browser, 900, 620) as page:
        yield page


class Hand:
    """A hand on a page's first picture."""

    def __init__(self, page: Page) -> None:
        self._input: CDPSession = page.context.new_cdp_session(page)
        box = page.locator(".mx-surface").first.bounding_box()
        assert box is not None
        self.box = box

    def pinch(self, x: float, y: float, steps: int, by: int) -> None:
        """Pinch on a trackpad: a wheel with Ctrl, `by` pixels in each step."""
        for _ in range(steps):
            wheel = {"type": "mouseWheel", "x": x, "y": y, "deltaX": 0, "deltaY": by}
            self._input.send("Input.dispatchMouseEvent", {**wheel, "modifiers": CTRL})

    def spread(self, x: float, y: float, apart: tuple[int, int], by: int = 0) -> None:
        """Two fingers, from so far apart to so far, moving `by` pixels to the right."""
        first, last = apart
        self._touch("touchStart", (x - first / 2, y))
        self._touch("touchStart", (x - first / 2, y), (x + first / 2, y))
        for step in range(1, 9):
            half = (first + (last - first) * step / 8) / 2
            middle = x + by * step / 8
            self._touch("touchMove", (middle - half, y), (middle + half, y))
        self._touch("touchEnd", (x + by - last / 2, y))
        self._touch("touchEnd")

    def _touch(self, kind: str, *places: tuple[float, float]) -> None:
        points = [
            {"x": x, "y": y, "id": number} for number, (x, y) in enumerate(places)
        ]
        self._input.send(
            "Input.dispatchTouchEvent", {"type": kind, "touchPoints": points}
        )


def under(page: Page, share: float) -> float:
    """The moment that lies at a share of the width of the axis."""
    low, high = page.evaluate(f"() => {RANGE}")
    return float(low + share * (high - low))


@pytest.mark.parametrize("kind", [EngineTimeline, MemoryTimeline])
def test_timelines_are_zoomed_about_the_place_of_a_pinch(page: Page, kind: Any) -> None:
    view = kind(many(400))
    stand(page, view)
    page.wait_for_function(PAINTED.format("marks"))
    hand = Hand(page)
    wide = hand.box["width"] - BEGIN
    x, y = hand.box["x"] + BEGIN + 0.25 * wide, hand.box["y"] + 60
    whole, moment = page.evaluate(SPAN), under(page, 0.25)

    # On a trackpad; the view was not clicked before.
    hand.pinch(x, y, 5, -8)
    page.wait_for_function(NEARER, arg=0.7 * whole)
    nearer = page.evaluate(SPAN)
    assert nearer == pytest.approx(whole * math.exp(-0.4), rel=0.01)
    assert under(page, 0.25) == pytest.approx(moment, abs=0.01 * nearer)

    # By two fingers: twice as far apart, and what is under them goes along.
    hand.spread(x, y, (80, 160), by=round(0.1 * wide))
    page.wait_for_function(NEARER, arg=0.55 * nearer)
    assert page.evaluate(SPAN) == pytest.approx(nearer / 2, rel=0.02)
    assert under(page, 0.35) == pytest.approx(moment, abs=0.02 * nearer)
    assert data(page, "selected") == "0", "no finger was taken for a click"

    # And back: no further than the whole record.
    hand.spread(x, y, (300, 30))
    hand.pinch(x, y, 5, 200)
    page.wait_for_function(f"least => {RANGE}[1] - {RANGE}[0] > least", arg=whole)
    assert page.evaluate(SPAN) < 1.2 * whole
    view.run.close()


def test_graphs_are_zoomed_by_a_pinch(page: Page) -> None:
    view = MemoryPlan(lenet(28, 10), data=(32, 1, 28, 28))
    stand_by_state(page, view)
    hand = Hand(page)
    x, y = hand.box["x"] + 300, hand.box["y"] + 100
    scale = "() => Number(document.querySelector('.mx-view').dataset.scale)"
    hand.pinch(x, y, 5, -8)
    page.wait_for_function(f"least => ({scale})() > least", arg=1.4)
    before = page.evaluate(scale)
    hand.spread(x, y, (60, 120))
    page.wait_for_function(f"least => ({scale})() > least", arg=1.9 * before)
    view.close()

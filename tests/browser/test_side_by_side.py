"""Two settings of one training on an empty page: while it runs, and when it is done."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page

from minimx_widgets import SideBySide
from minimx_widgets.training.comparing import Comparison
from tests.browser.pages import data, empty_page, shoot, stand
from tests.widgets.views.test_side_by_side import finished, sides

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def view() -> Iterator[SideBySide]:
    found = finished(steps=30)
    yield found
    found.close()


@pytest.mark.parametrize(("light", "width"), [(True, 1440), (False, 1024), (True, 720)])
def test_figures_charts_and_steps(
    browser: Browser, view: SideBySide, light: bool, width: int
) -> None:
    with empty_page(browser, width, 760) as page:
        page.evaluate("() => countListeners()")
        stand(page, view, light)
        page.wait_for_timeout(200)
        assert (data(page, "steps"), data(page, "lanes")) == ("30,30", "1,1")
        peak = page.locator('.mx-figure[data-figure="peak"]')
        assert peak.get_attribute("data-direction") == "▲"
        loss = page.locator('.mx-figure[data-figure="loss"] .mx-figure-change')
        assert loss.inner_text() == "same"
        page.locator(".mx-view").focus()
        for _ in range(12):
            page.keyboard.press("ArrowRight")
        assert data(page, "step") == "12"
        tip = page.locator(".mx-tip")
        assert "step 12" in tip.inner_text() and "|" in tip.inner_text()
        shoot(page, f"sides_{'light' if light else 'dark'}_{width}")
        assert overflowing(page) == []
        lanes = page.locator(".mx-sides-last .mx-surface").bounding_box()
        assert lanes is not None
        page.mouse.move(lanes["x"] + 96 + 4, lanes["y"] + 60)
        assert "A" in tip.inner_text() and "B" in tip.inner_text()
        page.locator(".mx-view").focus()
        page.keyboard.press("t")
        assert page.evaluate("() => stage.sent") == [{"kind": "table"}]
        html = view.table().html()
        page.evaluate("html => stage.tell({ kind: 'table', html })", html)
        assert "test accuracy" in page.locator(".mx-table").inner_text()
        page.evaluate("() => stage.close()")
        assert page.evaluate("() => window.held") == 0
        assert page.evaluate("() => stage.listening()") == 0


def overflowing(page: Page) -> list[str]:
    """Labels and figures that are cut."""
    script = """() => [...document.querySelectorAll(
        '.mx-figure-label, .mx-figure-sides, .mx-figure-head')]
      .filter((node) => node.scrollWidth > node.clientWidth + 1)
      .map((node) => node.textContent)"""
    return list(page.evaluate(script))


def test_while_it_trains_it_can_be_stopped(browser: Browser) -> None:
    view = SideBySide(Comparison(*sides(), steps=2000))
    view.train()
    while len(view.comparison.outcomes[0].facts) < 5:
        assert not view.wait(0.05)
    with empty_page(browser, 1024, 760) as page:
        stand(page, view)
        page.wait_for_timeout(200)
        assert data(page, "state") == "training"
        assert (
            page.locator(".mx-sides-words").inner_text().startswith("A (In-place on)")
        )
        shoot(page, "sides_training")
        page.locator(".mx-view").focus()
        page.keyboard.press("s")
        assert page.evaluate("() => stage.sent") == [{"kind": "stop"}]
    view.close()

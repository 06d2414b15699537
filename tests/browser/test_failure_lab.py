"""The failure lab in a real browser: evidence, answer, remedy, keys, both themes."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page

from minimx_widgets import FailureLab
from minimx_widgets.failures import truth
from tests.browser.pages import data, empty_page, shoot, stand

pytestmark = pytest.mark.browser


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    with empty_page(browser, 1000, 640) as page:
        yield page


@pytest.mark.parametrize("light", [True, False])
def test_a_case_from_symptom_to_cure(page: Page, light: bool) -> None:
    theme = "light" if light else "dark"
    lab = FailureLab(3, fault="empty")
    lab.probe("map")
    page.evaluate("() => countListeners()")
    stand(page, lab.panel, light)
    assert "not a finite number" in page.locator(".mx-fail-symptom").inner_text()
    assert data(page, "open") == "map"
    bad = page.locator('.mx-fail-cell[data-bad="true"]')
    assert bad.count() > 3
    right = truth(lab.case)
    where = f"normalise forward {right.step}"
    page.locator(".mx-view").focus()
    page.keyboard.press("ArrowRight")
    for _ in range(right.step or 0):
        page.keyboard.press("ArrowRight")
    assert data(page, "pointed") == where
    tip = page.locator(".mx-tip").inner_text()
    assert "not finite" in tip and f"step {right.step}" in tip
    shoot(page, f"failures_map_{theme}")
    page.get_by_label("Cause", exact=True).select_option("empty")
    page.get_by_label("Layer", exact=True).select_option("normalise")
    page.get_by_label("Step", exact=True).select_option(str(right.step))
    page.get_by_title("Check the answer").click()
    page.get_by_text("add a small number").click()
    page.locator(".mx-view").focus()
    for key in ("r", "4", "n", "t"):
        page.keyboard.press(key)
    assert page.evaluate("() => stage.sent") == [
        {"kind": "answer", "cause": "empty", "layer": "normalise", "step": right.step},
        {"kind": "treat", "remedies": ["eps"]},
        {"kind": "probe", "name": "norms"},
        {"kind": "next"},
        {"kind": "table"},
    ]
    page.keyboard.press("t")
    lab.answer("empty", "normalise", right.step)
    lab.treat("eps")
    lab.probe("norms")
    page.evaluate("state => stage.change({ state })", lab.panel.state)
    assert (data(page, "verdict"), data(page, "trial")) == ("true", "true")
    assert "solved" in page.locator(".mx-numbers").inner_text()
    shoot(page, f"failures_norms_{theme}")
    lab.probe("parameters")
    page.evaluate("state => stage.change({ state })", lab.panel.state)
    shoot(page, f"failures_parameters_{theme}")
    page.evaluate("() => stage.close()")
    assert page.evaluate("() => window.held") == 0
    assert page.evaluate("() => stage.listening()") == 0
    lab.close()


@pytest.mark.parametrize("light", [True, False])
def test_a_number_is_predicted_before_a_probe(page: Page, light: bool) -> None:
    """A job: six probes with their points, one of them predicted, and its table."""
    lab = FailureLab(4, fault="loop")
    lab.probe("copies", predict=7)
    stand(page, lab.panel, light)
    rows = page.locator(".mx-fail-probe")
    assert rows.count() == 6
    assert "Graph · 1" in rows.nth(3).inner_text()
    assert "✘ you said 7 KiB" in rows.nth(1).inner_text()
    guess = page.get_by_label("Your prediction: How many operators")
    guess.fill("30")
    page.evaluate("state => stage.change({ state })", lab.panel.state)
    assert guess.input_value() == "30"  # a change of the state takes nothing away
    guess.press("Enter")
    asked = {"kind": "probe", "name": "graph", "predict": "30"}
    assert page.evaluate("() => stage.sent")[-1] == asked
    lab._obey(asked)
    page.evaluate("state => stage.change({ state })", lab.panel.state)
    assert "points 3" in " ".join(page.locator(".mx-numbers").inner_text().split())
    assert "shift" in page.locator(".mx-fail-evidence").inner_text()
    shoot(page, f"failures_graph_{'light' if light else 'dark'}")
    lab.close()


@pytest.mark.parametrize("light", [True, False])
def test_an_error_far_from_its_line(page: Page, light: bool) -> None:
    lab = FailureLab(5, fault="async")
    lab.probe("timeline")
    lab.probe("message")
    lab.answer("cast", "table", 1)
    stand(page, lab.panel, light)
    text = page.locator(".mx-fail-evidence").inner_text()
    assert "IndexError" in text and "pushed at" in text
    assert data(page, "verdict") == "false"
    shoot(page, f"failures_message_{'light' if light else 'dark'}")
    lab.close()

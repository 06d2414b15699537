"""The overview of a run on an empty page."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page

from minimx.profiler import roofs
from minimx_widgets import Overview
from tests.browser.pages import data, empty_page, shoot, stand
from tests.widgets.views.test_overview import ROOF, trained

pytestmark = pytest.mark.browser


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    with empty_page(browser, 1000, 860) as page:
        yield page


@pytest.mark.parametrize("light", [True, False])
def test_the_roof_the_rows_and_the_keys(
    page: Page, light: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(roofs, "known", lambda *_: ROOF)
    page.evaluate("() => countListeners()")
    view = Overview(trained(hybrid=light))
    stand(page, view, light)
    names = [each["name"] for each in view.state["operators"]]
    assert data(page, "operators") == str(len(names))
    assert data(page, "roofs") == "1"
    dots = page.locator("circle.mx-roof-dot")
    drawn = [each for each in view.state["operators"] if each["flops"]]
    assert dots.count() == len(drawn)

    # hover is key is click
    place = names.index("Convolution")
    dot = page.locator(f'circle[data-index="{place}"]').bounding_box()
    assert dot is not None
    page.mouse.move(dot["x"] + dot["width"] / 2, dot["y"] + dot["height"] / 2)
    assert data(page, "pointed") == "Convolution"
    tip = page.locator(".mx-tip").inner_text()
    assert "of the roof" in tip and "FLOP/s" in tip and "cpu(0)" in tip
    shoot(page, f"overview_{'light' if light else 'dark'}")
    page.mouse.click(dot["x"] + dot["width"] / 2, dot["y"] + dot["height"] / 2)
    op = view.state["operators"][place]["op"]
    assert page.evaluate("() => stage.sent") == [{"kind": "op", "op": op}]
    view._answer({"kind": "op", "op": op})
    page.evaluate("state => stage.change({ state })", view.state)
    assert data(page, "selected") == str(op)
    marked = page.locator('.mx-over-row[data-marked="true"]')
    assert marked.first.inner_text().startswith("Convolution")
    assert marked.count() == 2  # the operator, and the block
    page.mouse.move(2, 2)

    page.locator(".mx-view").focus()
    page.keyboard.press("ArrowDown")
    assert data(page, "pointed") == names[0]
    page.keyboard.press("ArrowDown")
    assert data(page, "pointed") == names[1]
    page.keyboard.press("]")
    assert data(page, "pointed") == "everything"
    blocks = page.get_by_role("listbox", name="Blocks")
    blocks.focus()
    page.keyboard.press("ArrowDown")
    assert data(page, "pointed") == view.state["blocks"][1]["name"]
    active = blocks.locator('[data-pointed="true"]').get_attribute("id")
    assert active and blocks.get_attribute("aria-activedescendant") == active
    page.keyboard.press("Escape")
    page.keyboard.press("r")
    page.keyboard.press("m")
    assert "Measuring" in page.locator(".mx-note").inner_text()
    page.keyboard.press("m")
    page.keyboard.press("t")
    kinds = [each["kind"] for each in page.evaluate("() => stage.sent")]
    assert kinds == ["op", "op", "refresh", "measure", "cancel", "table"]
    page.evaluate("html => stage.tell({ kind: 'table', html })", view.table().html())
    assert "Memory at its peak" in page.locator(".mx-table").inner_text()
    page.evaluate("() => stage.close()")
    assert page.evaluate("() => window.held") == 0
    assert page.evaluate("() => stage.listening()") == 0
    view.close()


def test_another_view_selects_and_an_empty_record_is_empty(page: Page) -> None:
    from minimx.core.record import Record

    view = Overview(Record())
    stand(page, view)
    assert "No operation was recorded" in page.locator(".mx-view").inner_text()
    page.evaluate("() => stage.tell({ kind: 'select', op: 5, t: 0 })")
    assert {"kind": "op", "op": 5} in page.evaluate("() => stage.sent")
    view.close()

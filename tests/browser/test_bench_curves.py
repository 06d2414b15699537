"""The curves of a benchmark on an empty page."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page

from minimx_widgets import BenchCurves
from tests.browser.pages import data, empty_page, shoot, stand
from tests.widgets.views.test_bench_curves import result

pytestmark = pytest.mark.browser


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    with empty_page(browser, 960, 460) as page:
        yield page


def painted(page: Page) -> int:
    """How many colours the picture has."""
    script = """() => {
      const canvas = document.querySelector('.mx-surface canvas');
      const { data } = canvas.getContext('2d')
        .getImageData(0, 0, canvas.width, canvas.height);
      return new Set(new Uint32Array(data.buffer)).size;
    }"""
    return int(page.evaluate(script))


@pytest.mark.parametrize("light", [True, False])
def test_networks_batches_and_marks(page: Page, light: bool) -> None:
    view = BenchCurves(result())
    page.evaluate("() => countListeners()")
    stand(page, view, light)
    page.wait_for_timeout(200)
    assert painted(page) > 20
    assert (data(page, "network"), data(page, "points")) == ("vgg16", "4")
    assert data(page, "oom") == "128,256"
    assert data(page, "machines").startswith("C5.18xlarge,C5.9xlarge")
    page.locator(".mx-view").focus()
    for _ in range(4):
        page.keyboard.press("ArrowRight")
    assert data(page, "batch") == "8"
    tip = page.locator(".mx-tip").inner_text()
    assert "batch 8" in tip and "K80" in tip and "70.5" in tip
    shoot(page, f"bench_{'light' if light else 'dark'}")
    page.keyboard.press("ArrowDown")
    assert data(page, "network") == "resnet50_v2" and data(page, "batch") == ""
    assert page.locator("select").input_value() == "ResNet-50"
    page.keyboard.press("t")
    assert page.evaluate("() => stage.sent") == [
        {"kind": "show", "model": "resnet50_v2"},
        {"kind": "table"},
    ]
    html = view.table().html()
    page.evaluate("html => stage.tell({ kind: 'table', html })", html)
    assert "OOM" in page.locator(".mx-table").inner_text()
    page.keyboard.press("t")
    box = page.locator(".mx-surface").bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] - 95, box["y"] + 60)
    assert data(page, "batch") == "256"
    page.evaluate("() => stage.close()")
    assert page.evaluate("() => window.held") == 0
    assert page.evaluate("() => stage.listening()") == 0
    view.close()

"""The curves of a benchmark on an empty page."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from minimx_widgets import BenchCurves
from minimx_widgets.base import STYLE
from tests.widgets.test_bench_curves import result

pytestmark = pytest.mark.browser

STAND_IN = Path(__file__).parent / "stand_in.js"
SHOTS = Path(__file__).parent / "screenshots"


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """An empty page on which any error is a failure."""
    context = browser.new_context(viewport={"width": 960, "height": 460})
    page = context.new_page()
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto("about:blank")
    page.add_script_tag(path=STAND_IN)
    yield page
    context.close()
    assert errors == []


def stand(page: Page, view: BenchCurves, light: bool) -> None:
    page.evaluate(
        "light => { document.body.dataset.jpThemeLight = light;"
        " document.body.style.background = light === 'true' ? '#fff' : '#111'; }",
        str(light).lower(),
    )
    traits = {name: getattr(view, name) for name in ("state", "model", "height")}
    setting = {"esm": view._esm, "css": STYLE, "traits": traits, "buffers": None}
    page.evaluate("setting => stand(setting)", json.loads(json.dumps(setting)))
    page.wait_for_function("() => document.querySelector('.mx-view')?.dataset.revision")


def data(page: Page, key: str) -> str:
    return page.locator(".mx-view").get_attribute(f"data-{key}") or ""


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
    SHOTS.mkdir(exist_ok=True)
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
    page.wait_for_timeout(200)
    page.screenshot(path=str(SHOTS / f"bench_{'light' if light else 'dark'}.png"))
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

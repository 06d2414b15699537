"""The pool map on an empty page: time travel, size classes, ghost, both themes."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from minimx_widgets import PoolMap
from minimx_widgets.allocations import facts_for_page
from minimx_widgets.base import STYLE
from minimx_widgets.course.pooling import fresh_gpu, lengths, run
from tests.browser.pages import data, empty_page, shoot

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def view() -> Iterator[PoolMap]:
    with fresh_gpu():
        record = run(lengths())
    made = PoolMap(record, ghost="Round")
    yield made
    made.run.close()


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    with empty_page(browser, 1100, 620) as page:
        yield page


def stand(page: Page, view: PoolMap, light: bool = True) -> None:
    """Put the view on the page as a saved notebook would."""
    page.evaluate(
        "light => { document.body.dataset.jpThemeLight = light;"
        " document.body.style.background = light === 'true' ? '#fff' : '#111'; }",
        str(light).lower(),
    )
    view.freeze()
    header, raw = view.frozen
    names = ("run_id", "height", "axis", "device", "ghost", "at", "declared")
    traits: dict[str, Any] = {name: getattr(view, name) for name in names}
    buffers = [base64.b64encode(buffer).decode() for buffer in raw]
    setting = {
        "esm": view._esm,
        "css": STYLE,
        "traits": traits | {"header": header},
        "buffers": buffers,
    }
    page.evaluate("setting => stand(setting)", json.loads(json.dumps(setting)))
    page.wait_for_function("() => document.querySelector('.mx-view')?.dataset.events")


def until(page: Page, **wanted: str) -> None:
    """Wait until the view says so of itself."""
    script = """wanted => {
      const { dataset } = document.querySelector('.mx-view');
      return Object.entries(wanted).every(([key, value]) => dataset[key] === value);
    }"""
    page.wait_for_function(script, arg=wanted)


@pytest.mark.parametrize("light", [True, False])
def test_the_numbers_and_the_play_head(page: Page, view: PoolMap, light: bool) -> None:
    stand(page, view, light)
    assert (data(page, "pool"), data(page, "ghost")) == ("Naive", "Round")
    assert (data(page, "calls"), data(page, "hits")) == ("184", "1416")
    assert int(data(page, "peak")) == 346.5 * 2**20
    assert int(data(page, "ghostpeak")) == 120 * 2**20
    assert data(page, "step") == "2551", "where the pool holds most"
    shoot(page, f"pool_{'light' if light else 'dark'}")
    page.locator(".mx-view").focus()
    page.keyboard.press("Home")
    until(page, step="0", reserved=str(4 << 20))
    page.keyboard.press("ArrowRight")
    until(page, step="1", reserved=str(8 << 20))
    page.keyboard.press("d")
    until(page, step="2")
    page.keyboard.press("p")
    until(page, step="2551")
    page.keyboard.press("ArrowDown")
    until(page, chosen=str(8 << 20))
    shoot(page, f"pool_lives_{'light' if light else 'dark'}")
    page.keyboard.press("Escape")
    until(page, chosen="0")


def test_dragging_the_play_head_is_time_travel(page: Page, view: PoolMap) -> None:
    stand(page, view)
    box = page.locator(".mx-surface").nth(2).bounding_box()
    assert box is not None
    y = box["y"] + 30
    page.mouse.move(box["x"] + 200, y)
    page.mouse.down()
    seen = []
    for x in (300, 500, 900):
        page.mouse.move(box["x"] + x, y)
        page.wait_for_timeout(60)
        seen.append(int(data(page, "step")))
    page.mouse.up()
    assert seen == sorted(set(seen))
    assert "driver calls so far" in (page.locator(".mx-tip").text_content() or "")
    script = """async () => {
      const view = document.querySelector('.mx-view');
      const took = [];
      for (let i = 0; i < 15; i += 1) {
        const began = performance.now();
        const key = i % 2 ? 'ArrowLeft' : 'ArrowRight';
        view.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true }));
        await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
        took.push(performance.now() - began);
      }
      return took.sort((a, b) => a - b)[7];
    }"""
    took = float(page.evaluate(script))
    print(f"\n{view.shown().history.event.size:,} events, one step: {took:.1f} ms")
    assert took < 120


def test_pointing_tells_who_and_clicking_selects(page: Page, view: PoolMap) -> None:
    stand(page, view)
    page.locator(".mx-view").focus()
    page.keyboard.press("Home")
    box = page.locator(".mx-surface").nth(1).bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 12, box["y"] + 30)
    tip = page.locator(".mx-tip")
    tip.wait_for()
    assert "in use" in tip.inner_text() and "zeros" in tip.inner_text()
    page.wait_for_function("() => stage.sent.length")  # it asks a moment later
    page.mouse.click(box["x"] + 12, box["y"] + 30)
    page.wait_for_function("() => +document.querySelector('.mx-view').dataset.selected")
    asked, selected = page.evaluate("() => stage.sent.slice(0, 2)")
    assert asked["kind"] == "block" and selected["kind"] == "select"
    page.mouse.move(box["x"] + 12, box["y"] + 31)
    answer = facts_for_page(view.record, {"block": asked["block"]})
    page.evaluate("answer => stage.tell(answer)", answer)
    assert "read last by" in tip.inner_text()
    page.locator(".mx-view").focus()
    page.keyboard.press("b")
    page.keyboard.press("o")
    wanted = page.evaluate("() => stage.sent.at(-1)")
    assert wanted["kind"] == "source" and wanted["event"] in ("alloc", "hit", "free")
    page.evaluate("answer => stage.tell(answer)", view.source_message(wanted))
    assert "storage/pool.py" in page.locator(".mx-code-panel").inner_text()
    page.keyboard.press("Escape")
    page.evaluate("() => { stage.sent.length = 0; }")
    page.locator(".mx-view").focus()
    page.keyboard.press("g")
    page.locator("select[aria-label=MXNET_GPU_MEM_POOL_TYPE]").select_option("Round")
    kinds = page.evaluate("() => stage.sent.map((m) => [m.kind, m.name])")
    assert kinds == [["ghost", "Unpooled"], ["set", "MXNET_GPU_MEM_POOL_TYPE"]]


def test_it_leaves_nothing_behind(page: Page, view: PoolMap) -> None:
    page.evaluate("() => countListeners()")
    stand(page, view)
    assert page.evaluate("() => window.held") > 0
    page.evaluate("() => stage.close()")
    assert page.evaluate("() => window.held") == 0
    assert page.evaluate("() => window.unbound") is None
    assert page.evaluate("() => stage.listening()") == 0

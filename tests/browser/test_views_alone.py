"""The views' modules on an empty page with a stand-in for the kernel.

No JupyterLab is needed, so this is the place for what many tries are needed for: every
theme, a record of a hundred thousand operations, and whether a view that is taken away
leaves anything behind.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from minimx.core.events import CATEGORIES, Owner
from minimx.core.record import Record
from minimx_widgets import EngineTimeline, KnobPanel, MemoryTimeline, TrainingMonitor
from minimx_widgets.base import STYLE, View
from tests.browser.pages import OF_WIDGETS, SHOTS, empty_page

pytestmark = pytest.mark.browser

PAINTED = "() => document.querySelector('.mx-view').dataset.{} !== undefined"


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    with empty_page(browser, 900, 500) as page:
        yield page


def stand(page: Page, view: View | KnobPanel) -> None:
    """Put a view on the page, with everything it would get from the kernel."""
    traits: dict[str, Any] = {
        name: getattr(view, name)
        for name in view.trait_names(sync=True)
        if not name.startswith("_") and name not in (*OF_WIDGETS, "frozen")
    }
    buffers = None
    if isinstance(view, View):
        view.freeze()
        traits["header"], raw = view.frozen
        buffers = [base64.b64encode(buffer).decode() for buffer in raw]
    setting = {"esm": view._esm, "css": STYLE, "traits": traits, "buffers": buffers}
    page.evaluate("setting => stand(setting)", json.loads(json.dumps(setting)))


def many(operations: int) -> Record:
    """A record of a busy run on four workers."""
    record = Record(capacity=4 * operations)
    phases = ("forward", "backward", "update")
    for op in range(1, operations + 1):
        start = 900 * op
        times = (start - 500, start - 400, start, start + 3000)
        phase = phases[op // 40 % 3]
        worker = f"cpu(0)/{op % 4}"
        record.op(op, "relu", "net/relu", phase, "cpu(0)", worker, *times, 0, 0, False)
        owner = Owner("relu", "net/relu", phase, CATEGORIES[op % 8])
        record.memory("hit", "cpu(0)", op, 100_000, 131_072, 0, owner)
        if op > 40:
            record.memory("free", "cpu(0)", op - 40, 100_000, 131_072, 0, owner)
    return record


def paints(page: Page, times: int = 9) -> float:
    """The median milliseconds of zooming, each until the next frame is painted."""
    script = """async times => {
      const view = document.querySelector('.mx-view');
      const took = [];
      for (let i = 0; i < times; i += 1) {
        const key = i % 2 ? 's' : 'w';
        const began = performance.now();
        view.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true }));
        await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
        took.push(performance.now() - began);
      }
      return took.sort((a, b) => a - b)[times >> 1];
    }"""
    return float(page.evaluate(script, times))


@pytest.mark.alone
@pytest.mark.parametrize("kind", [EngineTimeline, MemoryTimeline])
def test_a_hundred_thousand_rows_are_zoomed_without_stutter(
    page: Page, kind: type[View]
) -> None:
    view = kind(many(100_000))
    stand(page, view)
    page.wait_for_function(PAINTED.format("marks"))
    took = paints(page)
    print(f"\n{kind.__name__}: a zoom of 100,000 rows takes {took:.1f} ms")
    assert took < 120
    view.run.close()


def test_a_saved_page_shows_its_record_without_a_kernel(page: Page) -> None:
    record = many(500)
    for step in range(50):
        record.metric(step, "loss", 2.0 / (1 + step))
    wanted = {
        EngineTimeline: ("operations", "500"),
        MemoryTimeline: ("peak", str(40 * 100_000 + 100_000)),
        TrainingMonitor: ("loss", "0.04"),
    }
    for kind, (key, value) in wanted.items():
        view = kind(record)
        stand(page, view)
        page.wait_for_function(PAINTED.format(key))
        assert page.locator(".mx-view").get_attribute(f"data-{key}") == value
        assert page.evaluate("() => stage.sent") == [], "there is nobody to ask"
        page.evaluate("() => stage.close()")
        view.close()


def test_operations_are_found_measured_and_pinned(page: Page) -> None:
    record = many(400)
    record.op(
        401, "dot", "net/dense", "forward", "cpu(0)", "cpu(0)/2",
        361_000, 361_500, 364_000, 369_000, 0, 0, False,
    )  # fmt: skip
    view = EngineTimeline(record)
    stand(page, view)
    page.wait_for_function(PAINTED.format("operations"))
    root = page.locator(".mx-view")
    root.focus()
    page.keyboard.press("f")
    page.keyboard.press("/")
    page.keyboard.type("dens")
    expect(root).to_have_attribute("data-found", "1")
    assert page.inner_text(".mx-find output") == "1 found"
    page.keyboard.press("Enter")
    expect(root).to_have_attribute("data-selected", "401")
    page.screenshot(path=str(SHOTS / "engine-find.png"))
    page.fill(".mx-find input", "relu")
    expect(root).to_have_attribute("data-found", "400")
    page.keyboard.press("Shift+Enter")
    expect(root).to_have_attribute("data-selected", "400")
    page.keyboard.press("Escape")
    expect(root).to_have_attribute("data-found", "")
    assert page.locator(".mx-find").is_hidden()
    page.keyboard.press("p")
    expect(root).to_have_attribute("data-pinned", "cpu(0)/0")
    assert (root.get_attribute("data-lanes") or "").startswith("python|cpu(0)/0")
    box = page.locator(".mx-surface canvas").first.bounding_box()
    assert box is not None
    for share in (0.4, 0.8):
        page.mouse.move(box["x"] + share * box["width"], box["y"] + 60)
        page.keyboard.press("m")
    expect(root).to_have_attribute("data-measured", re.compile(r"\d"))
    measured = float(root.get_attribute("data-measured") or 0)
    whole = 400 * 900 + 8000
    assert 0.4 * whole < measured < 0.55 * whole
    assert "between marks" in page.inner_text(".mx-numbers")
    page.keyboard.down("Shift")
    page.mouse.move(box["x"] + 0.3 * box["width"], box["y"] + 60)
    page.mouse.down()
    page.mouse.move(box["x"] + 0.7 * box["width"], box["y"] + 60, steps=4)
    tip = page.inner_text(".mx-tip")
    page.mouse.up()
    page.keyboard.up("Shift")
    assert "forward" in tip and "relu" in tip
    page.screenshot(path=str(SHOTS / "engine-measured.png"))
    page.keyboard.press("Escape")
    expect(root).to_have_attribute("data-measured", "")
    view.run.close()


@pytest.mark.parametrize(
    "make",
    [
        lambda: EngineTimeline(many(50)),
        lambda: MemoryTimeline(many(50)),
        lambda: TrainingMonitor(many(50)),
        KnobPanel,
    ],
    ids=["engine", "memory", "training", "knobs"],
)
def test_a_view_that_is_taken_away_leaves_nothing_behind(page: Page, make: Any) -> None:
    page.evaluate("() => countListeners()")
    view = make()
    stand(page, view)
    page.wait_for_function("() => document.querySelector('.mx-view')")
    assert page.evaluate("() => window.held") > 0
    page.evaluate("() => stage.close()")
    assert page.evaluate("() => window.held") == 0
    assert page.evaluate("() => window.unbound") is None
    assert page.evaluate("() => stage.listening()") == 0
    assert page.evaluate("() => stage.host.children.length") == 0
    view.close()


def test_a_theme_switch_recolours_a_view(page: Page) -> None:
    view = MemoryTimeline(many(50))
    page.evaluate("() => { document.body.dataset.jpThemeLight = 'true'; }")
    stand(page, view)
    page.wait_for_function(PAINTED.format("peak"))
    theme = "() => document.querySelector('.mx-view').dataset.mxTheme"
    first = (
        "() => document.querySelector('.mx-swatch').style.getPropertyValue('--swatch')"
    )
    light = page.evaluate(first)
    assert page.evaluate(theme) == "light"
    page.evaluate("() => { document.body.dataset.jpThemeLight = 'false'; }")
    page.wait_for_function(f"() => ({theme})() === 'dark'")
    page.wait_for_function(f"light => ({first})() !== light", arg=light)
    view.close()


def test_what_is_set_on_a_page_is_one_string_for_another(page: Page) -> None:
    view = EngineTimeline(many(400))
    stand(page, view)
    page.wait_for_function(PAINTED.format("operations"))
    root = page.locator(".mx-view")
    root.focus()
    for key in ("c", "w", "w", "ArrowRight", "p", "m", "/"):
        page.keyboard.press(key)
    page.keyboard.type("relu & co")
    expect(root).to_have_attribute("data-found", "0")
    root.focus()
    page.keyboard.press("Shift+C")
    expect(root).to_have_attribute(
        "data-state-string", re.compile("find=relu%20%26%20co")
    )
    text = root.get_attribute("data-state-string") or ""
    assert text in page.inner_text(".mx-note"), "shown as well: no clipboard here"
    page.screenshot(path=str(SHOTS / "state-copied.png"))
    shown = {key: root.get_attribute(f"data-{key}") for key in ("colour", "pinned")}
    assert shown["colour"] == "layer" and shown["pinned"]
    page.wait_for_function("() => stage.saved > 0")
    page.evaluate("() => stage.close()")

    other = EngineTimeline(view.record)
    other.state_string = text
    assert other.pinned == [shown["pinned"]] and len(other.window) == 2
    stand(page, other)
    page.wait_for_function(PAINTED.format("operations"))
    for key, value in shown.items():
        expect(root).to_have_attribute(f"data-{key}", value or "")
    assert page.input_value(".mx-find input") == "relu & co"
    page.keyboard.press("Tab")
    root.focus()
    page.keyboard.press("Shift+C")
    expect(root).to_have_attribute("data-state-string", text)
    view.run.close()

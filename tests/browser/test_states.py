"""Every view with nothing to show, with more than fits, and without its kernel.

On an empty page, wide and narrow: nothing sticks out, no label is cut, what is empty
says so in words, and a view whose kernel has gone says that, whatever is pressed.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from tests.browser.pages import STAND_IN
from tests.browser.states import EMPTY, MUCH
from tests.browser.test_accessibility import CUT_OFF, parts, stand

pytestmark = pytest.mark.browser

# Keep what is written on canvases, and where on its canvas a text begins and ends.
LISTEN = """() => {
  window.painted = [];
  const { fillText } = CanvasRenderingContext2D.prototype;
  CanvasRenderingContext2D.prototype.fillText = function fill(text, x, y, most) {
    const at = this.getTransform();
    const whole = this.measureText(text).width;
    const wide = Math.min(whole, most ?? whole) * at.a;
    const before = { right: wide, center: wide / 2 }[this.textAlign] ?? 0;
    const left = at.a * x + at.e - before;
    window.painted.push({ text, left, right: left + wide, room: this.canvas.width });
    return fillText.call(this, text, x, y, ...(most === undefined ? [] : [most]));
  };
}"""
#: What a view without content says.
SAYS = {
    "TrainingMonitor": "Nothing was trained yet",
    "MemoryTimeline": "No pool events yet",
    "PoolMap": "No pool events in this record yet",
    "EngineTimeline": "No operation yet",
    "DeviceView": "No operation yet",
    "Overview": "No operation was recorded",
    "NumericsMonitor": "Nothing was looked at",
    "KVStoreView": "modelled",
    "KVStoreView, measured": "This record holds no communication",
    "DataView": "Nothing was asked yet",
    "ABCompare": "No memory was recorded",
    "SideBySide": "no step yet",
    "BeforeAfter": "Nothing was turned yet",
    "TapeStepper": "Nothing was recorded on a tape",
    "GraphPassDiff": "This pass decided nothing here",
    "MemoryPlan": "Nothing to plan",
    "BenchCurves": "OOM from batch",
}
#: Graphs that are moved about: of a large one most is out of sight.
GRAPHS = ("TapeStepper", "GraphPassDiff", "MirrorExplorer")
GONE = "The kernel is gone"


@pytest.fixture(scope="module")
def page(browser: Browser) -> Iterator[Page]:
    """One page for all views; any error on it is a failure."""
    context = browser.new_context(viewport={"width": 1400, "height": 900})
    page = context.new_page()
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto("about:blank")
    page.add_script_tag(path=STAND_IN)
    page.evaluate(LISTEN)
    yield page
    context.close()
    assert errors == [], errors[0]


def resized(page: Page, width: int) -> list[dict[str, Any]]:
    """What is written on canvases once the page has this width."""
    page.evaluate("() => { window.painted = []; }")
    page.set_viewport_size({"width": width, "height": 900})
    page.wait_for_timeout(80)
    painted: list[dict[str, Any]] = page.evaluate("() => window.painted")
    return painted


def cut(painted: list[dict[str, Any]]) -> list[str]:
    """Texts that begin before their canvas does, or end after it."""
    return [
        f"{one['text']!r} from {one['left']:.0f} to {one['right']:.0f} of {one['room']}"
        for one in painted
        if one["left"] < -2 or one["right"] > one["room"] + 2
    ]


def checked(page: Page, name: str, part: Any) -> str:
    """Put a view on the page, wide and then narrow; all that it says."""
    page.set_viewport_size({"width": 1000, "height": 900})
    stand(page, part)
    said = ""
    for width in (1400, 700):
        painted = resized(page, width)
        found = page.evaluate(CUT_OFF)
        if name.partition(",")[0] not in GRAPHS:
            found += cut(painted)
        assert not found, f"{name}, {width} px: {found}"
        said += " ".join(str(one["text"]) for one in painted)
    return said + str(page.locator(".mx-view").inner_text())


def without_kernel(page: Page, name: str) -> None:
    """Its kernel ends: the view keeps saying so, and what it cannot ask for."""
    page.evaluate("() => stage.kernel('dead')")
    view = page.locator(".mx-view")
    sent = page.evaluate("() => stage.sent.length")
    view.focus()
    for key in ("ArrowRight", "ArrowDown", "m", "Escape"):
        page.keyboard.press(key)
    note = page.locator(".mx-note").first
    assert GONE in note.inner_text(), name
    if page.get_by_role("button", name="Show as a table").count():
        page.keyboard.press("t")
        assert "comes from the kernel" in page.locator(".mx-table").inner_text()
        page.keyboard.press("t")
    page.keyboard.press("o")
    if page.locator(".mx-code-panel:not([hidden])").count():
        said = page.locator(".mx-code-panel").inner_text()
        assert "Source comes from the kernel" in said, name
    assert GONE in note.inner_text(), name
    assert page.evaluate("() => stage.sent.length") == sent, "nothing can be asked"


@pytest.mark.parametrize("name", EMPTY)
def test_a_view_without_content_says_so(page: Page, name: str) -> None:
    shown = EMPTY[name]()
    first = next(parts(shown))
    said = checked(page, name, first)
    assert SAYS.get(name, "") in said
    without_kernel(page, name)
    shown.close()


@pytest.mark.parametrize("name", MUCH)
def test_what_is_too_much_is_cut_where_it_can_be_read(page: Page, name: str) -> None:
    shown = MUCH[name]()
    for part in parts(shown):
        checked(page, name, part)
    shown.close()


@pytest.mark.parametrize("name", ["GraphPassDiff", "MirrorExplorer"])
def test_a_graph_stays_in_sight_when_the_page_becomes_narrow(
    page: Page, name: str
) -> None:
    view = EMPTY[name]()
    page.set_viewport_size({"width": 1300, "height": 900})
    stand(page, view)
    page.wait_for_timeout(100)
    for width in (1400, 700, 1000):
        (node,) = [one for one in resized(page, width) if one["text"] == "input"][-1:]
        assert abs(node["left"] + node["right"] - node["room"]) < 0.5 * node["room"]
    view.close()

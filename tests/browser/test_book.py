"""The static book: built without a warning, read from files with the network cut."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from tests.browser.pages import SHOTS

pytestmark = pytest.mark.browser

ROOT = Path(__file__).parents[2]
BUILD = ROOT / "book" / "site" / "site_build.py"
SHOWN = "n => document.querySelector(`.mx-live[data-name=${n}] .mx-view`)"


@pytest.fixture(scope="module")
def book(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The book, with every warning an error: a link without a target is one."""
    out = tmp_path_factory.mktemp("book")
    done = subprocess.run(
        [sys.executable, BUILD, "--out", out],
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert not done.returncode, done.stderr[-3000:]
    return out / "html"


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A page without a network, on which any error is a failure."""
    context = browser.new_context(viewport={"width": 1300, "height": 900})
    context.set_offline(True)
    page = context.new_page()
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("requestfailed", lambda request: errors.append(request.url))
    yield page
    context.close()
    assert errors == []


def shoot(page: Page, name: str) -> None:
    SHOTS.mkdir(exist_ok=True)
    page.wait_for_timeout(300)
    page.screenshot(path=str(SHOTS / f"{name}.png"))


def test_start_chapter_reference_and_search(page: Page, book: Path) -> None:
    page.goto(f"file://{book}/index.html")
    assert page.locator(".toctree-l1").count() > 25
    shoot(page, "book-start")
    page.goto(f"file://{book}/notebooks/08-pools-and-fragmentation.html")
    assert page.locator(".cell_output img").count() > 2
    assert page.locator("details summary").count() > 5  # answers are folded
    shoot(page, "book-chapter")
    page.goto(f"file://{book}/book/knobs.html#mxnet-engine-type")
    shoot(page, "book-knobs")
    page.goto(f"file://{book}/search.html?q=fragmentation")
    page.wait_for_selector("#search-results li")
    assert "Pools and fragmentation" in page.inner_text("#search-results")


def test_views_answer_to_the_mouse_without_a_kernel(page: Page, book: Path) -> None:
    page.goto(f"file://{book}/book/views.html")
    for name in ("MemoryTimeline", "EngineTimeline"):
        place = page.locator(f".mx-live[data-name={name}]")
        place.locator("button").first.click()
        page.wait_for_function(SHOWN, arg=name)
        place.scroll_into_view_if_needed()
    page.evaluate("() => { document.documentElement.dataset.theme = 'dark'; }")
    memory = page.locator(".mx-live[data-name=MemoryTimeline]")
    memory.scroll_into_view_if_needed()
    shoot(page, "book-views-dark")
    box = memory.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.wait_for_function(
        "() => /activation/.test(document.querySelector('.mx-tip, [role=tooltip]')"
        "?.innerText ?? '')"
    )
    shoot(page, "book-views-tip")

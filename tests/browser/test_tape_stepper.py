"""The tape stepper, on an empty page and in JupyterLab."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page

from minimx_widgets import TapeStepper
from tests.browser.pages import data, empty_page, shoot, stand
from tests.widgets import tapes

pytestmark = pytest.mark.browser


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    with empty_page(browser, 1080, 760) as page:
        yield page


@pytest.fixture
def tape() -> Iterator[TapeStepper]:
    net = tapes.mlp()
    runs = {
        "backward()": tapes.walked(net=net),
        "retain_graph=True": tapes.walked(retain=True, net=net),
    }
    view = TapeStepper(runs)
    yield view
    view.close()


def press(page: Page, *keys: str) -> None:
    page.locator(".mx-view").focus()
    for key in keys:
        page.keyboard.press(key)


@pytest.mark.parametrize("light", [True, False], ids=["light", "dark"])
def test_it_walks_back_step_by_step(page: Page, tape: TapeStepper, light: bool) -> None:
    theme = "light" if light else "dark"
    stand(page, tape, light)
    assert (data(page, "step"), data(page, "kept")) == ("6", "68096")
    shoot(page, f"30-tape-recorded-{theme}")
    press(page, "b", "ArrowRight")
    assert (data(page, "kind"), data(page, "gone")) == ("walk", "1")
    press(page, "ArrowRight", "ArrowRight", "ArrowRight", "ArrowRight")
    assert data(page, "kept") == "65536"
    assert "dense1 weight" in page.inner_text(".mx-why-line")
    shoot(page, f"31-tape-walked-{theme}")
    press(page, "ArrowRight")
    assert (data(page, "kept"), data(page, "flight")) == ("0", "65536")
    press(page, "End")
    assert (data(page, "gone"), data(page, "flight")) == ("7", "0")
    press(page, "Home")
    assert data(page, "boxes") == "4"
    assert page.evaluate("() => stage.sent") == [], "there is nobody to ask"


def test_another_tape_keeps_what_it_has(page: Page, tape: TapeStepper) -> None:
    stand(page, tape)
    press(page, "]", "End")
    assert data(page, "run") == "retain_graph=True"
    assert (data(page, "kept"), data(page, "gone")) == ("68096", "0")
    shoot(page, "32-tape-retained-light")
    page.click("[data-run='backward()']")
    assert data(page, "kept") == "68096"
    press(page, "End")
    assert data(page, "kept") == "0"


def test_boxes_steps_and_the_strip_can_be_pointed_at(
    page: Page, tape: TapeStepper
) -> None:
    stand(page, tape)
    page.click(".mx-change[data-step='12']")
    assert data(page, "step") == "12"
    strip = page.locator(".mx-tape-strip canvas").first.bounding_box()
    stage = page.locator(".mx-stage canvas").first.bounding_box()
    assert strip is not None
    assert stage is not None
    page.mouse.move(strip["x"] + 0.5 * strip["width"], strip["y"] + 60)
    assert "between calls" in page.inner_text(".mx-tip")
    page.mouse.click(strip["x"] + strip["width"] - 15, strip["y"] + 60)
    assert data(page, "step") == "18"
    press(page, "p")
    tip = page.locator(".mx-tip")
    found = ""
    for step in range(20):
        page.mouse.move(
            stage["x"] + 0.45 * stage["width"],
            stage["y"] + stage["height"] * step / 20,
        )
        found += tip.inner_text() if tip.is_visible() else ""
    assert "keeps out" in found
    assert "65,536 B" in found
    assert "tapes.py:" in found


def test_it_plays_and_pauses(page: Page, tape: TapeStepper) -> None:
    stand(page, tape)
    press(page, "Home", "Space")
    assert data(page, "playing") == "true"
    page.wait_for_function(
        "() => Number(document.querySelector('.mx-view').dataset.step) >= 1"
    )
    press(page, "Space")
    assert data(page, "playing") == "false"


def test_it_leaves_nothing_behind(page: Page, tape: TapeStepper) -> None:
    page.evaluate("() => countListeners()")
    stand(page, tape)
    press(page, "Space")
    assert page.evaluate("() => window.held") > 0
    page.evaluate("() => stage.close()")
    assert page.evaluate("() => window.held") == 0
    assert page.evaluate("() => window.unbound") is None
    assert page.evaluate("() => stage.listening()") == 0
    assert page.evaluate("() => stage.host.children.length") == 0

"""The tape stepper, on an empty page and in JupyterLab."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import Browser, Page

from minimx_widgets import TapeStepper
from tests.browser.pages import data, empty_page, shoot, stand
from tests.widgets import tapes

if TYPE_CHECKING:
    from tests.browser.conftest import Notebook

ROOT = Path(__file__).parents[2]

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
    steps = page.get_by_role("listbox", name="Steps")
    active = steps.locator('[aria-selected="true"]').get_attribute("id")
    assert active and steps.get_attribute("aria-activedescendant") == active
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


def code_cells(name: str) -> dict[str, int]:
    """Where a notebook has its code cells, by their first lines."""
    cells = json.loads((ROOT / "notebooks" / name).read_text())["cells"]
    return {
        "".join(cell["source"]).split("\n")[0]: place
        for place, cell in reversed(list(enumerate(cells)))
        if cell["cell_type"] == "code"
    }


def test_notebook_04_asks_measures_and_steps(notebook: Notebook) -> None:
    name = "04-the-tape.ipynb"
    shutil.copy(ROOT / "notebooks" / name, notebook.lab.folder / name)
    places = code_cells(name)
    notebook.open(name)
    notebook.page.evaluate("() => { jupyterapp.shell.collapseLeft(); }")
    notebook.run(places["import minimx as mx"], timeout=120)
    notebook.run(places["PredictCard("])
    card = notebook.page.locator(".jp-OutputArea .widget-text input").first
    card.fill("68096 B")
    notebook.page.locator(".jp-OutputArea button:has-text('Lock in')").first.click()
    notebook.until("() => document.body.innerText.includes('exactly right')")
    notebook.run(places["watch = taping.watched()"])
    notebook.run(places["tapes = {"])
    notebook.until("() => document.querySelector('[data-view=tape]')?.dataset.steps")
    notebook.scroll_to("tape")
    tape = notebook.page.locator("[data-view=tape]").first
    tape.focus()
    for key in ("b", "ArrowRight", "ArrowRight"):
        notebook.page.keyboard.press(key)
    assert notebook.data("tape", "gone") == "2"
    notebook.page.keyboard.press("End")
    assert notebook.data("tape", "kept") == "0"
    notebook.dark(False)
    notebook.shoot("33-notebook-04-light")
    notebook.page.keyboard.press("]")
    assert notebook.data("tape", "run") == "retain_graph=True"
    notebook.page.keyboard.press("t")
    notebook.until(
        "() => document.querySelector('.mx-table').innerText.includes('68096')"
    )
    notebook.page.keyboard.press("t")
    notebook.dark()
    notebook.shoot("34-notebook-04-dark")
    assert notebook.complaints == []

"""Levels of "be the runtime", on an empty page and in JupyterLab."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import Browser, Page

from minimx_widgets import MirrorLevel, PlannerLevel, PoolLevel, PushLevel
from minimx_widgets.levels.game import best_end
from minimx_widgets.levels.view import LevelView
from tests.browser.pages import data, empty_page, shoot, stand

if TYPE_CHECKING:
    from tests.browser.conftest import Notebook

pytestmark = pytest.mark.browser

CELL = """\
from minimx_widgets import PoolLevel
view = PoolLevel(1)
view"""
VIEW = "document.querySelector('[data-view=level]')"


def played(kind: type[LevelView], number: int, choices: int) -> LevelView:
    """A level after some choices of its best end."""
    view = kind(number)
    best = best_end(view.game)
    assert best is not None
    view.choose(*best.keys[:choices])
    return view


@pytest.mark.parametrize(
    ("kind", "number", "choices", "width", "light"),
    [
        (PoolLevel, 4, 9, 1000, True),
        (PlannerLevel, 5, 10, 1000, False),
        (MirrorLevel, 1, 4, 700, False),
        (PushLevel, 4, 10, 700, True),
    ],
    ids=["pool", "planner", "mirror", "push"],
)
def test_a_level_shows_its_choices_without_a_kernel(
    browser: Browser,
    kind: type[LevelView],
    number: int,
    choices: int,
    width: int,
    light: bool,
) -> None:
    view = played(kind, number, choices)
    with empty_page(browser, width, 720) as page:
        page.evaluate("() => countListeners()")
        stand(page, view, light)
        offered = view.game.choices(view.play.state)
        assert page.locator(".mx-lvl-choice").count() == len(offered)
        assert page.inner_text(".mx-lvl-question") == view.question
        page.locator(".mx-view").focus()
        first = next(k for k, one in enumerate(offered) if not one.refused)
        assert data(page, "marked") == offered[first].key
        page.keyboard.press("ArrowDown")
        below = offered[(first + 1) % len(offered)]
        assert data(page, "marked") == below.key
        assert page.inner_text(".mx-lvl-words") == below.refused
        shoot(page, f"level-{kind.__name__}-{'light' if light else 'dark'}")
        page.keyboard.press("Enter")
        page.click(f".mx-lvl-choice >> nth={first}")
        page.keyboard.press("u")
        sent = page.evaluate("() => stage.sent")
        assert sent == [
            {"kind": "choose", "key": below.key},
            {"kind": "choose", "key": offered[first].key},
            {"kind": "undo"},
        ]
        wide = page.evaluate("() => document.documentElement.scrollWidth")
        assert wide <= width
        page.keyboard.press("?")
        assert view.about[:40] in page.inner_text(".mx-help")
        page.evaluate("() => stage.close()")
        assert page.evaluate("() => window.held") == 0
        assert page.evaluate("() => window.unbound") is None
    view.close()


def made(notebook: Notebook, count: int) -> None:
    notebook.until(f"() => {VIEW}.dataset.made === '{count}'")


def test_one_is_the_pool_by_mouse_and_by_keyboard(notebook: Notebook) -> None:
    name = notebook.lab.notebook("levels.ipynb", CELL, "print(view, view.chosen)")
    notebook.open(name)
    notebook.page.evaluate("() => { jupyterapp.shell.collapseLeft(); }")
    notebook.run(0, timeout=120)
    notebook.until(f"() => {VIEW}?.dataset.made")
    page: Page = notebook.page
    view = page.locator("[data-view=level]").first
    # By mouse: a new block by its button, another by the row of the picture.
    view.locator(".mx-lvl-choice[data-key=new]").click()
    made(notebook, 1)
    view.locator(".mx-lvl-row[data-row='B1']").click()
    notebook.until(f"() => {VIEW}.dataset.said === 'refused'")
    said = page.inner_text(".mx-lvl-words")
    assert said.startswith("B1 is still in use: a0 has it since step 0")
    assert notebook.data("level", "made") == "1"
    view.locator(".mx-lvl-row[data-row='?']").click()
    made(notebook, 2)
    notebook.shoot("level-pool-played")
    # A mistake by dragging; by keyboard a hint, back, and the best end.
    view.locator(".mx-lvl-row[data-row='?'] .mx-lvl-bar").drag_to(
        view.locator(".mx-lvl-row[data-row='B1'] .mx-lvl-track")
    )
    made(notebook, 3)
    page.keyboard.press("h")
    notebook.until(f"() => {VIEW}.dataset.said === 'hint'")
    assert "undo the last choice" in page.inner_text(".mx-lvl-words")
    page.keyboard.press("u")
    made(notebook, 2)
    page.keyboard.press("2")
    made(notebook, 3)
    assert notebook.data("level", "marked") == "B1"
    page.keyboard.press("Enter")
    notebook.until(f"() => {VIEW}.dataset.reached === 'true'")
    assert "nothing costs less" in page.inner_text(".mx-lvl-words")
    page.keyboard.press("c")
    assert "class Mine:" in page.inner_text(".mx-lvl-code")
    assert "('new', 'new', 'B2', 'B1')" in notebook.run(1)
    view.focus()
    page.keyboard.press("t")
    notebook.until(
        "() => document.querySelector('.mx-table').innerText.includes('Naive')"
    )
    page.keyboard.press("t")
    notebook.dark()
    notebook.shoot("level-pool-reached-dark")
    view.focus()  # which JupyterLab may take while it changes the theme
    page.keyboard.press("]")
    notebook.until(f"() => {VIEW}.dataset.level === '2'")
    options = view.locator("select option")
    assert options.all_inner_texts()[:2] == ["level 1 ✓", "level 2"]
    assert notebook.data("level", "made") == "0"
    view.locator("select").select_option("3")
    notebook.until(f"() => {VIEW}.dataset.level === '3'")
    assert notebook.complaints == []

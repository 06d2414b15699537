"""The scheduler stepper, on an empty page and in JupyterLab."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import Browser, Page

from minimx_widgets import SchedulerStepper
from minimx_widgets.scheduler.program import Program, op
from tests.browser.pages import data, empty_page, shoot, stand

if TYPE_CHECKING:
    from tests.browser.conftest import Notebook

pytestmark = pytest.mark.browser

CELL = """\
from minimx_widgets import SchedulerStepper
from minimx_widgets.scheduler.program import Program, op
view = SchedulerStepper(Program.of(
    op("P", reads="a", writes="b", cost=3),
    op("Q", reads="a", writes="c", cost=2),
    op("R", reads="b c", writes="a", cost=1),
    op("S", writes="d", cost=4),
), push=0)
view"""


@pytest.fixture
def view() -> Iterator[SchedulerStepper]:
    steps = (
        ("load", "", "x", 2), ("conv", "x w1", "h", 5), ("relu", "h", "y", 1),
        ("dense", "y w2", "z", 3), ("next", "", "x", 2), ("grad2", "z y", "g2", 3),
        ("grad1", "h x", "g1", 5), ("update2", "g2", "w2", 1),
        ("update1", "g1", "w1", 1),
    )  # fmt: skip
    made = SchedulerStepper(
        Program.of(*(op(n, reads=r, writes=w, cost=c) for n, r, w, c in steps))
    )
    yield made
    made.close()


@pytest.mark.parametrize(
    ("width", "light"), [(1000, True), (700, False)], ids=["light", "narrow-dark"]
)
def test_it_steps_on_and_back_without_a_kernel(
    browser: Browser, view: SchedulerStepper, width: int, light: bool
) -> None:
    with empty_page(browser, width, 720) as page:
        page.evaluate("() => countListeners()")
        stand(page, view, light)
        page.locator(".mx-view").focus()
        for _ in range(15):
            page.keyboard.press("ArrowRight")
        assert data(page, "step") == "15"
        assert data(page, "time") == str(view.shown.line.moments[15].time)
        page.keyboard.press("ArrowLeft")
        assert page.inner_text(".mx-sch-words") == view.shown.line.moments[14].text
        shoot(page, f"scheduler-{width}-{'light' if light else 'dark'}")
        page.keyboard.press("End")
        assert data(page, "done") == "9"
        page.click(".mx-sch-op[data-op=grad1]")
        page.keyboard.press("b")
        page.keyboard.press("Home")
        page.keyboard.press("r")
        assert data(page, "kind") == "start" and data(page, "selected") == "grad1"
        assert page.inner_text(".mx-sch-words").startswith("grad1 starts on worker")
        page.keyboard.press("Home")
        page.keyboard.press("Space")
        page.wait_for_function(
            "() => Number(document.querySelector('.mx-view').dataset.step) >= 1"
        )
        wide = page.evaluate("() => document.documentElement.scrollWidth")
        assert wide <= width
        page.evaluate("() => stage.close()")
        assert page.evaluate("() => window.held") == 0
        assert page.evaluate("() => window.unbound") is None


def moves_to(notebook: Notebook, step: int) -> None:
    notebook.page.locator("[data-view=scheduler]").first.focus()
    notebook.page.keyboard.press("Home")
    for _ in range(step):
        notebook.page.keyboard.press("ArrowRight")
    assert notebook.data("scheduler", "step") == str(step)


def test_one_drags_operations_to_workers(notebook: Notebook) -> None:
    name = notebook.lab.notebook("scheduler.ipynb", CELL, "print(view)")
    notebook.open(name)
    notebook.page.evaluate("() => { jupyterapp.shell.collapseLeft(); }")
    notebook.run(0, timeout=120)
    notebook.until(
        "() => document.querySelector('[data-view=scheduler]')?.dataset.step"
    )
    moves_to(notebook, 4)
    page: Page = notebook.page
    view = page.locator("[data-view=scheduler]").first
    chip = view.locator(".mx-sch-ready .mx-sch-chip")
    lane = view.locator(".mx-sch-lane")
    chip.filter(has_text="S").drag_to(lane.nth(1))
    notebook.until(
        "() => document.querySelector('[data-view=scheduler]').dataset.line"
        " === 'mine 1'"
    )
    assert notebook.data("scheduler", "ready") == "P Q"
    # What waits may not start: the reason stands above the queues.
    view.focus()
    assert notebook.data("scheduler", "selected") == "S"
    page.keyboard.press("ArrowUp")
    assert notebook.data("scheduler", "selected") == "R"
    page.keyboard.press("1")
    notebook.until(
        "() => document.querySelector('[data-view=scheduler]').dataset.refused"
        ".startsWith('R cannot start: it reads b')"
    )
    notebook.shoot("scheduler-refused")
    assert notebook.data("scheduler", "line") == "mine 1"
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("1")  # P on the first worker
    notebook.until(
        "() => document.querySelector('[data-view=scheduler]').dataset.time === '3'"
    )
    page.keyboard.press("e")
    notebook.until(
        "() => document.querySelector('[data-view=scheduler]').dataset.done === '4'"
    )
    page.keyboard.press("[")
    notebook.until(
        "() => document.querySelector('[data-view=scheduler]').dataset.line"
        " === 'the engine'"
    )
    assert "mine 1 6 µs" in notebook.run(1)
    view.focus()
    page.keyboard.press("t")
    notebook.until(
        "() => document.querySelector('.mx-table')?.innerText.includes('b c')"
    )
    page.keyboard.press("t")
    view.locator("select").select_option("0")
    notebook.until(
        "() => document.querySelector('[data-view=scheduler] .mx-number:last-child b')"
        ".textContent === '10 µs'"
    )
    notebook.dark()
    notebook.shoot("scheduler-dark")
    assert notebook.complaints == []

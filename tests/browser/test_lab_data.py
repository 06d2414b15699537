"""The images of a lab while it trains, and the curve of the run before."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.browser.test_lab import STEP, open_lab, train

if TYPE_CHECKING:
    from tests.browser.conftest import Notebook

pytestmark = pytest.mark.browser

SEEN = "Number(document.querySelector('[data-view=data]')?.dataset.step)"
RIGHT = "Number(document.querySelector('[data-view=data]')?.dataset.right)"
SHADOW = "document.querySelector('[data-view=training]')?.dataset.shadow"
LAB_STATE = "document.querySelector('[data-view=lab]').dataset.state"


def test_images_follow_the_training_and_the_run_before_stays(
    notebook: Notebook,
) -> None:
    cost = "print(lab.images.look.asked, lab.images.look.took < 0.5)"
    open_lab(notebook, cost)
    train(notebook)
    notebook.until(f"() => {SEEN} >= 1")
    first = int(notebook.data("data", "step"))
    notebook.until(f"n => {SEEN} > n", first)
    notebook.until(f"() => {RIGHT} > 150", timeout=90)
    assert notebook.run(1).strip() == "200 True"
    for dark in (False, True):
        notebook.dark(dark)
        for width in (1440, 1024, 720):
            notebook.page.set_viewport_size({"width": width, "height": 900})
            notebook.scroll_to("training")
            notebook.page.wait_for_timeout(400)
            notebook.shoot(f"lab-data-{'dark' if dark else 'light'}-{width}")
    notebook.page.set_viewport_size({"width": 1440, "height": 1000})
    notebook.page.click("[data-command=stop]")
    notebook.until("() => document.querySelector('[data-state=stopped]')")

    notebook.page.click("[data-command=train]")
    notebook.until(f"() => {SHADOW}.includes('loss')", timeout=60)
    notebook.until(f"() => {STEP} >= 5")
    notebook.page.click("[data-view=data] [data-value=all]")
    notebook.until("() => document.querySelectorAll('.mx-seen-tile').length === 16")
    notebook.page.click("[data-command=pause]")
    notebook.until(f"() => {LAB_STATE} === 'paused'")
    notebook.scroll_to("data")
    notebook.shoot("lab-data-all")
    notebook.scroll_to("training")
    notebook.shoot("lab-training-shadow")
    assert notebook.complaints == []

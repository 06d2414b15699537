"""Engine and memory while a network trains: a turned knob and what comes of it.

What the page shows is read from the views' data attributes, and the screenshots are
there to be looked at.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.browser.conftest import Notebook

pytestmark = pytest.mark.browser

SHOW = """
import numpy as np
from minimx_widgets import Lab

random = np.random.default_rng(0)
images = (255 * random.random((512, 28, 28))).astype("uint8")
labels = random.integers(0, 10, 512)
data = images, labels, images[:64], labels[:64]
lab = Lab("lenet", data, batch_size=32, epochs=500)
lab
"""
DATA = "document.querySelector('.mx-view[data-view={}]')?.dataset.{}".format
HEIGHT = (
    "() => document.querySelector('.mx-view[data-view=engine]')"
    ".getBoundingClientRect().height"
)
VISIBLE = f"Number({DATA('memory', 'visible')})"
FLAGS = f"Number({DATA('memory', 'visiblemarks')})"


def open_lab(notebook: Notebook, *cells: str) -> None:
    """Open a notebook with a lab that trains, the timelines in sight."""
    name = f"timelines-{time.monotonic_ns()}.ipynb"
    notebook.open(notebook.lab.notebook(name, SHOW, *cells))
    notebook.run(0)
    notebook.page.evaluate("() => { jupyterapp.shell.collapseLeft(); }")
    notebook.page.locator("[data-command=train]").first.click()
    notebook.until(f"() => Number({DATA('memory', 'steppeak')}) > 0", timeout=90)
    notebook.scroll_to("memory")


def test_a_turned_knob_stays_in_sight_with_what_comes_of_it(notebook: Notebook) -> None:
    turn = "import minimx as mx; mx.knobs.MXNET_CPU_MEM_POOL_TYPE = 'Round'"
    check = (
        "ops, rows = lab.record.ops(), lab.record.knobs()\n"
        "print(lab.record.texts(rows['name'])[0], lab.session.state)"
    )
    notebook.page.set_viewport_size({"width": 1440, "height": 1000})
    open_lab(notebook, turn, check)
    notebook.dark(False)
    notebook.until(f"() => {VISIBLE} <= 1.05", timeout=20)
    high = notebook.page.evaluate(HEIGHT)
    notebook.run(1)
    notebook.until(f"() => {FLAGS} === 1")
    notebook.page.wait_for_timeout(4000)
    assert notebook.page.evaluate(f"() => {FLAGS}") == 1, "four seconds later"
    assert notebook.page.evaluate(f"() => {VISIBLE}") > 3
    notebook.scroll_to("memory")
    notebook.shoot("timelines-held-light")
    notebook.until(f"() => {VISIBLE} <= 1.05 && {FLAGS} === 0", timeout=30)
    assert notebook.page.evaluate(HEIGHT) == pytest.approx(high, abs=1)
    assert "training" in notebook.run(2)
    assert notebook.complaints == []


def test_the_engine_view_keeps_its_height_under_another_engine(
    notebook: Notebook,
) -> None:
    turn = "import minimx as mx; mx.knobs.MXNET_ENGINE_TYPE = 'ThreadedEngine'"
    notebook.page.set_viewport_size({"width": 720, "height": 1000})
    open_lab(notebook, turn)
    notebook.dark()
    notebook.scroll_to("engine")
    high = notebook.page.evaluate(HEIGHT)
    notebook.run(1)
    lanes = f"{DATA('engine', 'activeLanes')}.includes('pool/1')"
    notebook.until(f"() => {lanes}", timeout=20)
    notebook.scroll_to("memory")
    notebook.shoot("timelines-threaded-720-dark")
    assert notebook.page.evaluate(HEIGHT) == pytest.approx(high, abs=1)
    assert notebook.complaints == []

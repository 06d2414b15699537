"""Engine and memory while a network trains: a turned knob and what comes of it.

What the page shows is read from the views' data attributes, and the screenshots are
there to be looked at.
"""

from __future__ import annotations

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


# The clock of what the views of a run share is so many milliseconds later.
LATER = """ms => {
  for (const store of globalThis[Symbol.for('minimx.runs')].values())
    store.clock = () => performance.now() + ms;
}"""


def test_a_turned_knob_stays_in_sight_and_the_engine_view_keeps_its_height(
    notebook: Notebook,
) -> None:
    turn = "import minimx as mx; mx.knobs.MXNET_CPU_MEM_POOL_TYPE = 'Round'"
    check = (
        "ops, rows = lab.record.ops(), lab.record.knobs()\n"
        "print(lab.record.texts(rows['name'])[0], lab.session.state)"
    )
    engine = "mx.knobs.MXNET_ENGINE_TYPE = 'ThreadedEngine'"
    notebook.page.set_viewport_size({"width": 1440, "height": 1000})
    notebook.open(notebook.lab.notebook("timelines.ipynb", SHOW, turn, check, engine))
    notebook.run(0)
    notebook.page.evaluate("() => { jupyterapp.shell.collapseLeft(); }")
    notebook.page.locator("[data-command=train]").first.click()
    notebook.until(f"() => Number({DATA('memory', 'steppeak')}) > 0", timeout=90)
    notebook.scroll_to("memory")
    notebook.until(f"() => {VISIBLE} <= 1.05", timeout=20)
    high = notebook.page.evaluate(HEIGHT)

    notebook.run(1)
    notebook.until(f"() => {FLAGS} === 1")
    notebook.until(f"() => {VISIBLE} > 3 && {FLAGS} === 1", timeout=9)
    notebook.scroll_to("memory")
    notebook.shoot("timelines-held-light")
    notebook.page.evaluate(LATER, 10_000)
    notebook.until(f"() => {VISIBLE} <= 1.05 && {FLAGS} === 0", timeout=30)
    assert notebook.page.evaluate(HEIGHT) == pytest.approx(high, abs=1)
    assert "training" in notebook.run(2)

    notebook.page.set_viewport_size({"width": 720, "height": 1000})
    notebook.dark()
    notebook.scroll_to("engine")
    high = notebook.page.evaluate(HEIGHT)
    notebook.run(3)
    lanes = f"{DATA('engine', 'activeLanes')}.includes('pool/1')"
    notebook.until(f"() => {lanes}", timeout=20)
    notebook.scroll_to("memory")
    notebook.shoot("timelines-threaded-720-dark")
    assert notebook.page.evaluate(HEIGHT) == pytest.approx(high, abs=1)
    assert notebook.complaints == []

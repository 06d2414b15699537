"""Two records side by side in JupyterLab: their times go together, or not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.browser.conftest import Notebook

pytestmark = pytest.mark.browser

MAKE = """
import time
import minimx as mx
from minimx_widgets import ABCompare

def chain(steps, wait):
    with mx.Record() as record:
        time.sleep(wait)  # the records begin to record at other moments
        x = mx.nd.ones((400, 400))
        for _ in range(steps):
            x = mx.nd.dot(x, x).tanh()
        x.wait_to_read()
    return record

chain(2, 0)
pair = ABCompare(chain(4, 0.3), chain(12, 0), names=("four steps", "twelve steps"))
pair
"""
# From the start of a record's first operation to the end of its last one. `spans` begin
# with the push of the first, which may be some time before.
DRAWN = """
for side in pair.sides:
    ops = side.record.ops()
    print(ops["t_end"].max() - ops["t_start"].min())
"""
# Begin and end of the stretch that each of the two pictures shows, in nanoseconds.
SHOWN = """() => [...document.querySelectorAll('.mx-view[data-view=compared]')]
  .map((view) => [Number(view.dataset.low), Number(view.dataset.high)])"""
PAINTED = """() => new Promise((done) => {
  requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done)));
})"""
TIMES = (
    "[...document.querySelectorAll('[data-view=compared]')].map(v => v.dataset.times)"
)


def shown(notebook: Notebook) -> list[list[float]]:
    """What both show, once they were painted: in the next frame."""
    notebook.page.evaluate(PAINTED)
    found: list[list[float]] = notebook.page.evaluate(SHOWN)
    return found


def test_two_records_along_common_times_or_each_along_its_own(
    notebook: Notebook,
) -> None:
    spans = "print(*pair.spans)"
    cells = MAKE, spans, "print(pair.times)", DRAWN
    name = notebook.lab.notebook("compare.ipynb", *cells)
    notebook.open(name)
    assert notebook.run(0).startswith("ABCompare(")
    notebook.page.evaluate("() => { jupyterapp.shell.collapseLeft(); }")
    drawn = "v => Number(v.dataset.operations) > 0"
    notebook.until(
        "() => [...document.querySelectorAll('[data-view=compared]')]"
        f".filter({drawn}).length === 2"
    )
    ran = [int(span) for span in notebook.run(1).split()]
    longest = max(ran)
    first, second = shown(notebook)
    assert first == pytest.approx(second, rel=1e-6)
    assert first == pytest.approx([-0.01 * longest, 1.01 * longest], rel=1e-3)
    for dark in (False, True):
        notebook.dark(dark)
        notebook.page.mouse.move(2, 2)
        notebook.scroll_to("compared")
        notebook.shoot(f"compare-common-{'dark' if dark else 'light'}")

    notebook.page.locator("[data-view=compared]").nth(1).focus()
    for key in "wwd":
        notebook.page.keyboard.press(key)
    moved = shown(notebook)
    assert moved[0] == pytest.approx(moved[1], rel=1e-6)
    assert moved[0][1] - moved[0][0] == pytest.approx(0.49 * 1.02 * longest, rel=0.01)

    own = notebook.page.get_by_role("radio", name="own").first
    own.click()
    notebook.until(f"() => {TIMES}.join() === 'own,own'")
    one, other = ((high - low) for low, high in shown(notebook))
    assert one != other
    short, long = (int(span) for span in notebook.run(3).split())
    assert one / other == pytest.approx(short / long, rel=0.03)
    notebook.until_says(2, lambda said: said.strip() == "own")
    notebook.page.mouse.move(2, 2)
    notebook.shoot("compare-own-dark")
    before = shown(notebook)
    notebook.page.locator("[data-view=compared]").nth(0).focus()
    notebook.page.keyboard.press("w")
    after = shown(notebook)
    assert after[0] != before[0] and after[1] == before[1]
    notebook.page.get_by_role("radio", name="common").nth(1).click()
    notebook.until(f"() => {TIMES}.join() === 'common,common'")
    first, second = shown(notebook)
    assert first == pytest.approx(second, rel=1e-6)
    notebook.until_says(2, lambda said: said.strip() == "common")
    assert notebook.complaints == []

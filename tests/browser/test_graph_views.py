"""The three views of graphs, on an empty page and in JupyterLab."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import Browser, Page

from minimx_widgets import GraphPassDiff, MemoryPlan, MirrorExplorer
from minimx_widgets.training.networks import lenet, resnet
from tests.browser.pages import data, empty_page, shoot, stand
from tests.widgets import graphs

if TYPE_CHECKING:
    from tests.browser.conftest import Notebook

pytestmark = pytest.mark.browser


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    with empty_page(browser, 1080, 620) as page:
        yield page


@pytest.fixture
def passes() -> Iterator[GraphPassDiff]:
    view = GraphPassDiff(lenet(28, 10), data=(2, 1, 28, 28))
    view.freeze()
    yield view
    view.close()


@pytest.fixture
def plan() -> Iterator[MemoryPlan]:
    view = MemoryPlan(lenet(28, 10), data=(32, 1, 28, 28))
    yield view
    view.close()


@pytest.fixture
def mirror() -> Iterator[MirrorExplorer]:
    view = MirrorExplorer(resnet(28, 10), data=(32, 1, 28, 28))
    view.segments(4)
    view.freeze()
    yield view
    view.close()


def press(page: Page, *keys: str) -> None:
    page.locator(".mx-view").focus()
    for key in keys:
        page.keyboard.press(key)


def sent(page: Page) -> list[dict[str, Any]]:
    """What the view asked the kernel for."""
    found: list[dict[str, Any]] = page.evaluate("() => stage.sent")
    return found


@pytest.mark.parametrize("light", [True, False], ids=["light", "dark"])
def test_a_saved_page_steps_through_the_passes(
    page: Page, passes: GraphPassDiff, light: bool
) -> None:
    stand(page, passes, light)
    assert data(page, "pass") == "gradient"
    assert int(data(page, "added")) > 10
    shoot(page, f"8-passes-{'light' if light else 'dark'}")
    names = [passed.name for passed in passes.passes]
    press(page, "ArrowRight")
    assert data(page, "pass") == names[names.index("gradient") + 1]
    press(page, "ArrowLeft")
    assert data(page, "pass") == "gradient"
    assert sent(page) == [], "there is nobody to ask"
    page.click("[data-pass=blocks]")
    press(page, "c", "ArrowDown", "ArrowDown")
    assert (data(page, "step"), data(page, "colour")) == ("1", "storage")
    assert page.locator(".mx-change[aria-selected=true]").count() == 1
    assert "def _match" in page.inner_text(".mx-source pre")
    shoot(page, f"9-blocks-{'light' if light else 'dark'}")
    press(page, "ArrowUp", "ArrowUp")
    assert data(page, "step") == ""


def test_single_decisions_come_one_after_the_other(page: Page) -> None:
    view = GraphPassDiff([graphs.merged(), graphs.fused()])
    view.freeze()
    stand(page, view)
    press(page, "ArrowDown")
    assert data(page, "step") == "0"
    assert "merged" in page.inner_text(".mx-change[aria-selected=true]")
    press(page, "Escape")
    box = page.locator(".mx-stage canvas").first.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    press(page, "f")
    page.wait_for_timeout(300)
    tip = page.locator(".mx-tip")
    for step in range(12):
        page.mouse.move(box["x"] + box["width"] * (0.3 + 0.03 * step), box["y"] + 190)
        if tip.is_visible():
            break
    assert "in this pass" in tip.inner_text()
    view.close()


def test_three_hundred_nodes_are_legible_and_quick(page: Page) -> None:
    view = GraphPassDiff(graphs.deep(34), data=(2, 8), parameters=True)
    assert len(view.passes[0].after) >= 290
    stand(page, view)
    took = page.evaluate(
        """async () => {
          const view = document.querySelector('.mx-view');
          const took = [];
          for (let i = 0; i < 9; i += 1) {
            const began = performance.now();
            const key = i % 2 ? 's' : 'w';
            view.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true }));
            await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
            took.push(performance.now() - began);
          }
          return took.sort((a, b) => a - b)[4];
        }"""
    )
    print(f"\n{len(view.passes[0].after)} nodes: a zoom takes {took:.0f} ms")
    assert took < 100
    shoot(page, "10-many-nodes")
    press(page, "f")
    shoot(page, "11-many-nodes-whole")
    view.close()


@pytest.mark.parametrize("light", [True, False], ids=["light", "dark"])
def test_a_plan_tells_why(page: Page, plan: MemoryPlan, light: bool) -> None:
    stand(page, plan, light)
    assert int(data(page, "total")) == plan.planned.plan.total
    assert int(data(page, "bound")) == plan.planned.bound
    shoot(page, f"12-plan-{'light' if light else 'dark'}")
    press(page, "p")
    name = data(page, "selected")
    assert plan.why(name) in page.inner_text(".mx-side").replace("Block", "block")
    first = page.inner_text(".mx-side")
    press(page, "ArrowDown")
    assert page.inner_text(".mx-side") != first
    press(page, "c")
    assert data(page, "colour") == "role"
    shoot(page, f"13-plan-why-{'light' if light else 'dark'}")
    press(page, "Escape")
    assert data(page, "selected") == ""
    press(page, "]")
    wanted = {"kind": "set", "name": "NNVM_EXEC_MATCH_RANGE", "text": "32"}
    assert sent(page)[-1] == wanted


def test_a_new_plan_is_painted_at_once(page: Page, plan: MemoryPlan) -> None:
    stand(page, plan)
    press(page, "p")
    name = data(page, "selected")
    plan.what_if(match_range=1)
    took = page.evaluate("state => stage.change({ state })", plan.state)
    assert int(data(page, "total")) == plan.planned.plan.total
    assert data(page, "selected") == name
    assert "no knob is turned" in page.inner_text(".mx-trials-said")
    print(f"\na new plan is painted in {took:.0f} ms")
    assert took < 100
    text = "NNVM_EXEC_MATCH_RANGE='-1': choose a value of at least 0."
    answer = {"kind": "answer", "name": "", "ok": False, "text": text}
    page.evaluate("message => stage.tell(message)", answer)
    assert page.inner_text(".mx-note") == text
    plan.what_if(match_range=None)


@pytest.mark.parametrize("light", [True, False], ids=["light", "dark"])
def test_the_front_is_walked_and_nodes_are_decided_about(
    page: Page, mirror: MirrorExplorer, light: bool
) -> None:
    stand(page, mirror, light)
    assert data(page, "policy") == "4 segments, all"
    assert int(data(page, "points")) == len(mirror.front())
    assert int(data(page, "again")) == len(mirror.planned.again)
    press(page, "ArrowDown", "ArrowDown", "ArrowDown")
    name = data(page, "node")
    assert name in page.inner_text(".mx-why-line")
    shoot(page, f"16-mirror-{'light' if light else 'dark'}")
    press(page, "Enter", "ArrowRight", "]", "n")
    asked = sent(page)[-4:]
    assert asked[0] == {"kind": "toggle", "name": name}
    assert asked[1]["kind"] == "policy"
    assert asked[1]["name"] in {p.name for p in mirror.front() if p.best}
    assert asked[2] == {"kind": "segments", "count": 5, "dear": True}
    assert asked[3] == {"kind": "policy", "name": "none"}
    mirror.segments(2)
    took = page.evaluate("state => stage.change({ state })", mirror.state)
    assert data(page, "policy") == "2 segments, all"
    assert took < 100
    chart = page.locator(".mx-charts canvas").first.bounding_box()
    assert chart is not None
    page.mouse.move(chart["x"] + 0.6 * chart["width"], chart["y"] + 80)
    assert "needed" in page.inner_text(".mx-tip")
    press(page, "m")
    assert sent(page)[-1] == {"kind": "measure"}
    mirror.measure()
    page.evaluate("state => stage.change({ state })", mirror.state)
    assert data(page, "measured") == "2"
    assert "measured" in page.inner_text(".mx-legend")
    shoot(page, f"17-measured-{'light' if light else 'dark'}")


@pytest.mark.parametrize("kind", ["passes", "plan", "mirror"])
def test_a_view_that_is_taken_away_leaves_nothing_behind(
    page: Page, kind: str, request: pytest.FixtureRequest
) -> None:
    page.evaluate("() => countListeners()")
    stand(page, request.getfixturevalue(kind))
    assert page.evaluate("() => window.held") > 0
    page.evaluate("() => stage.close()")
    assert page.evaluate("() => window.held") == 0
    assert page.evaluate("() => window.unbound") is None
    assert page.evaluate("() => stage.listening()") == 0
    assert page.evaluate("() => stage.host.children.length") == 0


MAKE = """
import minimx as mx
from minimx_widgets import GraphPassDiff, MemoryPlan
from minimx_widgets.training.networks import lenet
net = lenet(28, 10)
"""
EXPLORE = """
from minimx_widgets import MirrorExplorer
from minimx_widgets.training.networks import resnet
mirror = MirrorExplorer(resnet(28, 10), data=(32, 1, 28, 28))
mirror
"""
TOTAL = "Number(document.querySelector('[data-view=plan]').dataset.total)"


def test_knobs_and_sliders_plan_again_in_jupyterlab(notebook: Notebook) -> None:
    cells = (
        MAKE + "plan = MemoryPlan(net, data=(32, 1, 28, 28))\nplan",
        "import warnings; warnings.simplefilter('ignore')\n"
        "mx.knobs.set(NNVM_EXEC_MATCH_RANGE=1)",
        "print(plan.planned.plan.total, mx.knobs.MXNET_EXEC_ENABLE_INPLACE)",
        "diff = GraphPassDiff(net, data=(2, 1, 28, 28))\ndiff",
    )
    notebook.open(notebook.lab.notebook("plans.ipynb", *cells))
    assert notebook.run(0).startswith("MemoryPlan(")
    notebook.until("() => document.querySelector('[data-view=plan]')")
    notebook.page.evaluate("() => { jupyterapp.shell.collapseLeft(); }")
    before = int(notebook.data("plan", "total"))
    notebook.run(1)
    notebook.until(f"n => {TOTAL} > n", before)
    between = int(notebook.data("plan", "total"))
    notebook.page.locator("[data-trial=MXNET_EXEC_ENABLE_INPLACE] .mx-switch").click()
    notebook.until(f"n => {TOTAL} > n", between)
    assert notebook.run(2).split() == [notebook.data("plan", "total"), "True"]
    notebook.dark(False)
    notebook.shoot("14-plan-in-lab-light")
    notebook.run(3)
    notebook.until("() => document.querySelector('[data-view=passes]')")
    notebook.scroll_to("passes")
    notebook.page.locator("[data-view=passes]").focus()
    notebook.page.keyboard.press("ArrowRight")
    shown = "document.querySelector('[data-view=passes]').dataset.pass"
    notebook.until(f"() => {shown} !== 'gradient'")
    notebook.dark()
    notebook.shoot("15-passes-in-lab-dark")
    assert notebook.complaints == []


def test_policies_are_chosen_in_jupyterlab(notebook: Notebook) -> None:
    again = "len(mirror.planned.again), len(mirror.planned.keep.recompute)"
    said = f"print(mirror.policy, {again})"
    notebook.open(notebook.lab.notebook("mirror.ipynb", EXPLORE, said))
    assert notebook.run(0).startswith("MirrorExplorer(knobs, 0 of 29 recomputed")
    notebook.page.evaluate("() => { jupyterapp.shell.collapseLeft(); }")
    view = "document.querySelector('[data-view=mirror]')"
    notebook.until(f"() => Number({view}?.dataset.points) > 5")
    tools = notebook.page.locator("[data-view=mirror]")
    tools.locator("select").first.select_option("sqrt")
    notebook.until(f"() => {view}.dataset.policy === 'sqrt'")
    assert notebook.run(1).split()[:2] == ["sqrt", notebook.data("mirror", "again")]
    tools.focus()
    notebook.page.keyboard.press("ArrowLeft")
    notebook.until(f"() => {view}.dataset.policy !== 'sqrt'")
    before = int(notebook.run(1).split()[-1])
    tools.focus()
    for _ in range(3):
        notebook.page.keyboard.press("ArrowDown")
    notebook.page.keyboard.press("Enter")
    notebook.until(f"() => {view}.dataset.policy === 'by hand'")
    assert abs(int(notebook.run(1).split()[-1]) - before) == 1
    notebook.dark()
    notebook.shoot("17-mirror-in-lab-dark")
    assert notebook.complaints == []

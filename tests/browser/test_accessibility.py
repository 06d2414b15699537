"""What axe-core says of every view: on an empty page, and of a lab in JupyterLab.

A violation of impact "serious" or "critical" is a failure (`axe.py`).
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anywidget
import pytest
from jupyterlab.commands import get_app_dir
from playwright.sync_api import Browser, Page, ViewportSize

import minimx as mx
import minimx_widgets as views
from minimx_widgets import gallery
from minimx_widgets.base import View
from minimx_widgets.lab.lab import Lab
from tests.browser.axe import AXE_SCRIPT, violations
from tests.browser.pages import OF_WIDGETS, STAND_IN
from tests.browser.test_lab import open_lab, train
from tests.widgets.views.test_bench_curves import result

if TYPE_CHECKING:
    from tests.browser.conftest import Notebook

if not AXE_SCRIPT:
    pytest.skip(
        "axe-core is not installed: pip install axe-playwright-python",
        allow_module_level=True,
    )

pytestmark = pytest.mark.browser

#: Whose colours the page has, and whether they are the light ones. Without JupyterLab
#: (in a book) a view has its own.
DRESSES = [("JupyterLab", True), ("JupyterLab", False), ("none", True), ("none", False)]
# Without anything of the view before.
STAND = """async setting => {
  window.stage?.close();
  document.body.replaceChildren();
  document.head.replaceChildren(document.createElement('style'));
  await stand(setting);
}"""
DRESS = """async ([css, light]) => {
  document.head.firstChild.textContent = css;
  const paper = light ? 'white' : '#111';
  document.body.style.background = `var(--jp-layout-color0, ${paper})`;
  document.body.dataset.jpThemeLight = String(light);
  for (let frame = 0; frame < 3; frame += 1)
    await new Promise((done) => requestAnimationFrame(done));
}"""
# What sticks out of the view to the right, and lists whose text is cut: the chosen one,
# in a form any that may be chosen.
CUT_OFF = """() => {
  const view = document.querySelector('.mx-view');
  const edge = view.getBoundingClientRect().right + 1;
  const arrow = 17;
  const out = [];
  for (const node of view.querySelectorAll('*')) {
    if (!node.offsetParent) continue;
    if (node.getBoundingClientRect().right > edge
        && !node.closest('.mx-table, .mx-lines, .mx-over-row, pre, svg'))
      out.push(`${node.className} sticks out of the view`);
    if (!node.matches('select')) continue;
    const { font, paddingLeft } = getComputedStyle(node);
    const room = node.clientWidth - parseFloat(paddingLeft) - arrow;
    const shown = node.closest('.mx-form') ? node.options : node.selectedOptions;
    for (const { textContent } of shown) {
      const probe = document.createElement('span');
      Object.assign(probe.style, { font, position: 'absolute', whiteSpace: 'pre' });
      probe.textContent = textContent;
      document.body.append(probe);
      if (probe.getBoundingClientRect().width > room)
        out.push(`${node.ariaLabel ?? node.id}: ${textContent} is cut off`);
      probe.remove();
    }
  }
  return out;
}"""
WIDE: ViewportSize = {"width": 1000, "height": 900}
NARROW: ViewportSize = {"width": 660, "height": 900}
CLICK = "part => document.querySelector(`.mx-view [title^='${part}']`).click()"


class _Makers(gallery._Makers):
    """The gallery's views after fewer steps, some of them with more to look at."""

    def __init__(self) -> None:
        self.lab = Lab("lenet", "digits", batch_size=64, graph="static")
        _ = self.lab.numbers
        for knobs in ({}, {"MXNET_EXEC_ENABLE_INPLACE": False}):
            mx.knobs.set(**knobs)
            for _ in range(3):
                self.lab.step()
                self.lab.wait()
        self.record, self.net = self.lab.record, self.lab.net
        assert self.lab.fit is not None
        self.data = self.lab.fit.data
        self.shape = (8, *self.data.train_x.shape[1:])

    def _DataView(self) -> Any:
        return views.DataView(self.net, self.data, parts="all")

    def _SideBySide(self) -> Any:
        view = self.lab.compare(MXNET_EXEC_ENABLE_INPLACE=False, steps=5)
        view.wait(60)
        return view

    def _BenchCurves(self) -> Any:
        return views.BenchCurves(result())

    def _FailureLab(self) -> Any:
        failing = views.FailureLab(3, fault="empty")
        failing.probe("map")
        return failing


@pytest.fixture(scope="module")
def makers() -> Iterator[_Makers]:
    made = _Makers()
    yield made
    mx.knobs.reset("MXNET_EXEC_ENABLE_INPLACE")
    made.lab.close()


@pytest.fixture(scope="module")
def page(browser: Browser) -> Iterator[Page]:
    """One page for all views."""
    context = browser.new_context(viewport=WIDE)
    page = context.new_page()
    page.goto("about:blank")
    page.add_script_tag(path=STAND_IN)
    page.evaluate(AXE_SCRIPT)
    yield page
    context.close()


def dress(page: Page, whose: str, light: bool) -> None:
    """Give the page the colours of JupyterLab, or none, and the views their theme."""
    css = ""
    if whose == "JupyterLab":
        name = f"theme-{'light' if light else 'dark'}-extension/index.css"
        css = (Path(get_app_dir()) / "themes/@jupyterlab" / name).read_text("utf-8")
    page.evaluate(DRESS, [css, light])


def parts(shown: Any) -> Iterator[anywidget.AnyWidget]:
    """The widgets with a page's module among what is shown."""
    shown = getattr(shown, "box", shown)
    if isinstance(shown, anywidget.AnyWidget):
        yield shown
    for child in getattr(shown, "children", ()):
        yield from parts(child)


def stand(page: Page, view: Any) -> None:
    """Put a view on the page, as a saved notebook would."""
    if isinstance(view, View):
        view.freeze()
    header, raw = getattr(view, "frozen", None) or [None, []]
    names = [name for name in view.trait_names(sync=True) if not name.startswith("_")]
    traits = {n: getattr(view, n) for n in names if n not in (*OF_WIDGETS, "frozen")}
    setting = {
        "esm": view._esm, "css": view._css, "traits": {**traits, "header": header},
        "buffers": [base64.b64encode(each).decode() for each in raw] or None,
    }  # fmt: skip
    page.evaluate(STAND, json.loads(json.dumps(setting)))
    page.wait_for_selector(".mx-view")


def in_all_dresses(page: Page, when: str) -> list[str]:
    """Violations of the view that stands; colours alone depend on the dress."""
    found, only = [], None
    for whose, light in DRESSES:
        dress(page, whose, light)
        theme = f"{'light' if light else 'dark'}, colours of {whose}"
        found += violations(page, ".mx-view", f"{when}, {theme}", only)
        only = "color-contrast"
    return found


@pytest.mark.parametrize("name", gallery.ENTRIES)
def test_a_view_is_accessible_and_nothing_is_cut_off(
    page: Page, makers: _Makers, name: str
) -> None:
    shown = makers.make(name)
    found = []
    for part in parts(shown):
        kind = type(part).__name__
        if name == "Lab" and kind in gallery.ENTRIES:
            continue  # has its own turn
        stand(page, part)
        found += in_all_dresses(page, kind)
        for size in (NARROW, WIDE):
            page.set_viewport_size(size)
            page.wait_for_timeout(60)
            cut = page.evaluate(CUT_OFF)
            found += [f"{kind}, {size['width']} px: {each}" for each in cut]
    if name not in gallery.OF_THE_LAB:
        shown.close()
    assert not found, "\n".join(found)


def test_the_table_and_the_help_are_accessible(page: Page, makers: _Makers) -> None:
    """Those of all views are made by the same functions."""
    view = makers.make("BeforeAfter")
    stand(page, view)
    page.evaluate(CLICK, "Show as a table")
    message = {"kind": "table", "html": view.table().html()}
    page.evaluate("message => stage.tell(message)", message)
    found = in_all_dresses(page, "table")
    page.evaluate(CLICK, "What is this")
    found += in_all_dresses(page, "help")
    assert not found, "\n".join(found)


def test_a_lab_in_jupyterlab_is_accessible(notebook: Notebook) -> None:
    open_lab(notebook)
    train(notebook, 1)
    notebook.page.click("[data-command=pause]")
    notebook.until("() => document.querySelector('[data-view=lab][data-state=paused]')")
    page = notebook.page
    page.evaluate(AXE_SCRIPT)
    # All of JupyterLab lies outside its body, which is 0 px high and hides what flows
    # over: axe-core would take everything for hidden.
    page.evaluate("() => { document.body.style.height = '100vh'; }")
    found = violations(page, ".mx-lab", "lab, light")
    for width in (1024, 1440):
        page.set_viewport_size({"width": width, "height": 1000})
        page.wait_for_timeout(200)
        found += [f"lab, {width} px: {each}" for each in page.evaluate(CUT_OFF)]
    page.click("[data-view=knobs] [title^='Show as a table']")
    page.wait_for_selector("[data-view=knobs] .mx-table td")
    found += violations(page, "[data-view=knobs]", "table of the knobs, light")
    notebook.dark()
    colours = "color-contrast"
    found += violations(page, "[data-view=knobs]", "table of the knobs, dark", colours)
    page.click("[data-view=knobs] [title^='Show as a table']")
    found += violations(page, ".mx-lab", "lab, dark", colours)
    assert not found, "\n".join(found)

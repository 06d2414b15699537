"""The device view on an empty page: lanes by device, links, selection, keys, themes."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page

import minimx as mx
from minimx.core.device import cpu, gpu
from minimx.core.knobs import knobs
from minimx.core.record import Record
from minimx_widgets import DeviceView
from minimx_widgets.base import STYLE
from tests.browser.pages import data, empty_page, shoot

pytestmark = pytest.mark.browser


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    with empty_page(browser, 940, 660) as page:
        yield page


def reduction() -> Record:
    """Three GPUs compute, and one of them gets all results."""
    mx.nd.waitall()
    changes = {"MINIMX_SIM_GPUS": 3, "MINIMX_CLOCK": "virtual"}
    with knobs(MINIMX_SIM_LINKS="mesh", **changes):
        host = mx.nd.ones((1000, 1000))
        mx.nd.waitall()
        with Record() as record:
            there = [host.as_in_context(gpu(i)) for i in range(3)]
            products = [mx.nd.dot(x, x) for x in there for _ in range(2)]
            gathered = [product.as_in_context(gpu(0)) for product in products[2:]]
            total = sum(gathered[1:], gathered[0]).as_in_context(cpu())
            mx.nd.waitall()
        del there, products, gathered, total
    return record


def stand(page: Page, view: DeviceView, light: bool) -> None:
    page.evaluate(
        "light => { document.body.dataset.jpThemeLight = light;"
        " document.body.style.background = light === 'true' ? '#fff' : '#111'; }",
        str(light).lower(),
    )
    view.freeze()
    header, raw = view.frozen
    names = ("run_id", "height", "axis", "colour")
    traits = {**{name: getattr(view, name) for name in names}, "header": header}
    buffers = [base64.b64encode(buffer).decode() for buffer in raw]
    setting = {"esm": view._esm, "css": STYLE, "traits": traits, "buffers": buffers}
    page.evaluate("setting => stand(setting)", json.loads(json.dumps(setting)))
    page.wait_for_function(
        "() => document.querySelector('.mx-view')?.dataset.crossings"
    )


def until(page: Page, condition: str) -> None:
    """Wait until the view says so of itself; it tells when it has painted."""
    page.wait_for_function(f"() => document.querySelector('.mx-view').{condition}")


@pytest.mark.parametrize("light", [True, False])
def test_lanes_links_and_selection(page: Page, light: bool) -> None:
    page.evaluate("() => countListeners()")
    view = DeviceView(reduction(), height=400)
    stand(page, view, light)
    assert data(page, "groups") == "gpu(0)|gpu(1)|gpu(2)|links"
    lanes = data(page, "lanes").split("|")
    assert lanes == view.lanes
    assert data(page, "crossings") == str(len(view.record.comm())) == "8"
    shown = page.locator(".mx-numbers").inner_text()
    assert "MiB" in shown and str(len(view.record.ops())) in shown

    box = page.locator(".mx-surface").bounding_box()
    assert box is not None
    # in the last lane, host → gpu(2)
    place = box["x"] + 150, box["y"] + box["height"] - 34
    page.mouse.move(*place)
    tip = page.locator(".mx-tip").inner_text()
    assert "host → gpu(2)" in tip and "3.81 MiB" in tip and "GB/s" in tip
    page.mouse.click(*place)
    until(page, "dataset.selected !== '0'")
    chosen = int(data(page, "selected"))
    ops = view.record.ops()
    row = int((ops["op"] == chosen).argmax())
    assert view.record.strings[ops["name"][row]] == "CopyCPU2GPU"
    shoot(page, f"devices_{'light' if light else 'dark'}")

    page.locator(".mx-view").focus()
    page.keyboard.press("Escape")
    until(page, "dataset.selected === '0'")
    page.keyboard.press("ArrowRight")
    until(page, "dataset.selected !== '0'")
    assert data(page, "colour") == "operator", "there is only one phase"
    page.keyboard.press("c")
    until(page, "dataset.colour === 'phase'")
    page.keyboard.press("c")
    until(page, "dataset.colour === 'layer'")
    page.keyboard.press("e")
    until(page, "dataset.axis === 'events'")
    page.keyboard.press("t")
    assert {"kind": "table"} in page.evaluate("() => stage.sent")
    html = view.table().html()
    page.evaluate("html => stage.tell({ kind: 'table', html })", html)
    assert "host → gpu(2)" in page.locator(".mx-table").inner_text()
    page.evaluate("() => stage.close()")
    assert page.evaluate("() => window.held") == 0
    view.close()

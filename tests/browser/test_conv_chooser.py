"""The chooser of convolution algorithms on an empty page."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page

from minimx.core.knobs import knobs
from minimx.fast.convolution import tuner
from minimx_widgets import ConvChooser
from tests.browser.pages import data, empty_page, shoot, stand
from tests.widgets.views.test_conv_chooser import network

pytestmark = pytest.mark.browser

TEXTS_THAT_STAND_OUT = """() => [...document.querySelectorAll(".mx-conv-bars small")]
    .filter(text => text.getBoundingClientRect().right
        > text.closest(".mx-conv-row").getBoundingClientRect().right + 1)
    .map(text => text.textContent)"""


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    with empty_page(browser, 1000, 560) as page:
        yield page


@pytest.mark.parametrize("light", [True, False])
def test_algorithms_knobs_and_keys(
    page: Page, light: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    tuner.forget()
    monkeypatch.setattr(tuner, "measure", lambda one, *_: 1e-4 * (8 - one.number))
    view = ConvChooser(network(), device="gpu", data=(2, 64, 14, 14))
    page.evaluate("() => countListeners()")
    with knobs(MXNET_CUDNN_ALLOW_FFT=0, MINIMX_CPU_AUTOTUNE=1):
        view.measure()
        stand(page, view, light)
        assert (data(page, "layer"), data(page, "device")) == ("small", "gpu")
        assert data(page, "chosen") == "winograd4,winograd4,winograd4"
        assert "MXNET_CUDNN_ALLOW_FFT=0" in page.locator(".mx-conv").inner_text()
        page.locator(".mx-view").focus()
        page.keyboard.press("ArrowDown")
        assert data(page, "pointed") == view.state["directions"][0]["rows"][0]["name"]
        page.keyboard.press("ArrowRight")
        page.keyboard.press("ArrowDown")
        tip = page.locator(".mx-tip").inner_text()
        assert "measured" in tip and "workspace" in tip and "× the plain sum" in tip
        shoot(page, f"conv_{'light' if light else 'dark'}")
        page.set_viewport_size({"width": 760, "height": 560})
        assert page.evaluate(TEXTS_THAT_STAND_OUT) == []
        shoot(page, f"conv_narrow_{'light' if light else 'dark'}")
    for key in ("]", "-", "d", "m", "x", "t"):
        page.keyboard.press(key)
    assert page.evaluate("() => stage.sent") == [
        {"kind": "layer", "name": "long"},
        {"kind": "workspace", "mib": 512},
        {"kind": "device", "name": "cpu"},
        {"kind": "measure"},
        {"kind": "workspace", "mib": None},
        {"kind": "table"},
    ]
    page.evaluate("html => stage.tell({ kind: 'table', html })", view.table().html())
    assert "winograd4" in page.locator(".mx-table").inner_text()
    page.evaluate("() => stage.close()")
    assert page.evaluate("() => window.held") == 0
    assert page.evaluate("() => stage.listening()") == 0
    view.close()
    tuner.forget()

"""The numerics monitor on an empty page: what it shows, keys, what-if, themes."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Browser, Page

from minimx.core.dtypes import POWERS
from minimx.core.record import Record
from minimx_widgets import NumericsMonitor
from minimx_widgets.base import STYLE
from tests.browser.pages import data, empty_page, shoot

pytestmark = pytest.mark.browser

LAYERS = ("conv0", "conv1", "dense0", "dense1")


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    with empty_page(browser, 940, 560) as page:
        yield page


def numbers(centre: float, broken: int = 0, many: int = 20_000) -> Any:
    """What `_exponents` would count of numbers around a power of two."""
    row = np.zeros(4 + len(POWERS))
    bell = np.exp(-0.5 * ((np.array(POWERS) - centre) / 4) ** 2)
    row[4:] = np.floor(many * bell / bell.sum())
    row[0], row[1] = many // 10, broken
    row[3] = (row[4:] * 4.0 ** np.array(POWERS)).sum()
    return row


def training(steps: int = 60, layers: int = 4) -> Record:
    """A run in float16 whose first steps overflow, and one later."""
    record = Record()
    names = (*LAYERS, *(f"block{k}/conv" for k in range(layers - 4)))
    scale = 2.0**18
    for step in range(1, steps + 1):
        skipped = step < 5 or step == 40
        if skipped or step % 3 == 0:
            for k, layer in enumerate(names):
                path, name = f"lenet/{layer}", f"lenet_{layer}_weight"
                if not skipped:
                    record.tensor(
                        step, "activation", path, "output", "float16", "float16", 1.0,
                        numbers(-3 - k - step / 30),
                    )  # fmt: skip
                    record.tensor(
                        step, "weight", path, name, "float32", "float16", 1.0,
                        numbers(-5 - k),
                    )  # fmt: skip
                gradient = numbers(
                    np.log2(scale) - 16 - 3 * k - step / 20, 40 if skipped else 0
                )
                record.tensor(
                    step, "gradient", path, name, "float32", "float16", scale, gradient
                )
        where = ("lenet_dense1_weight", "lenet/dense1", 4) if skipped else ()
        record.scaling(step, scale, skipped, *where)
        scale = scale / 2 if skipped else scale
    return record


def stand(page: Page, view: NumericsMonitor, light: bool = True) -> None:
    page.evaluate(
        "light => { document.body.dataset.jpThemeLight = light;"
        " document.body.style.background = light === 'true' ? '#fff' : '#111'; }",
        str(light).lower(),
    )
    view.freeze()
    header, raw = view.frozen
    names = ("run_id", "height", "kind", "dtype", "unit", "scale", "at")
    traits = {name: getattr(view, name) for name in names} | {"header": header}
    buffers = [base64.b64encode(buffer).decode() for buffer in raw]
    setting = {"esm": view._esm, "css": STYLE, "traits": traits, "buffers": buffers}
    page.evaluate("setting => stand(setting)", json.loads(json.dumps(setting)))
    page.wait_for_function("() => +document.querySelector('.mx-view').dataset.rows")


def agrees(page: Page, view: NumericsMonitor) -> None:
    """The browser's numbers are those of Python."""
    shares = view.shares()
    assert float(data(page, "lost")) == pytest.approx(shares["zero"], abs=1e-6)
    assert float(data(page, "overflow")) == pytest.approx(shares["overflow"], abs=1e-6)
    assert int(data(page, "step")) == view.step
    assert int(data(page, "rows")) == len(view.rows())


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_it_shows_gradients_zones_and_what_overflowed(page: Page, theme: str) -> None:
    view = NumericsMonitor(training())
    stand(page, view, light=theme == "light")
    agrees(page, view)
    assert data(page, "skipped") == "5"
    shoot(page, f"numerics-{theme}")
    page.locator(".mx-view").focus()
    page.keyboard.press("s")
    assert data(page, "picked") == "lenet_dense1_weight"
    assert data(page, "pointed") == "dense1"
    said = page.locator(".mx-why-line").inner_text()
    assert "Step 1 was skipped: lenet_dense1_weight of lenet/dense1" in said
    view.at = 1
    agrees(page, view)
    shoot(page, f"numerics-skipped-{theme}")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_another_scale_and_another_type(page: Page, theme: str) -> None:
    view = NumericsMonitor(training())
    stand(page, view, light=theme == "light")
    page.locator(".mx-view").focus()
    recorded = float(data(page, "lost"))
    for _ in range(14):
        page.keyboard.press("-")
    view.what_if(scale=0.5)
    assert data(page, "scale") == "-1"
    agrees(page, view)
    assert float(data(page, "lost")) > 5 * recorded
    shoot(page, f"numerics-scale-{theme}")
    page.get_by_role("radio", name="bfloat16").click()
    view.what_if("bfloat16", 0.5)
    agrees(page, view)
    assert float(data(page, "lost")) == 0
    sent = page.evaluate("() => stage.sent.at(-1)")
    assert sent == {"kind": "show", "dtype": "bfloat16"}
    page.locator(".mx-view").focus()
    page.keyboard.press("x")
    assert data(page, "scale") == "99"
    assert data(page, "highest") == str(view.highest_scale())


def test_kinds_rows_and_steps_by_keys(page: Page) -> None:
    view = NumericsMonitor(training())
    stand(page, view)
    page.locator(".mx-view").focus()
    for key, kind in (("1", "weight"), ("2", "activation"), ("3", "gradient")):
        page.keyboard.press(key)
        view.kind = kind
        assert data(page, "numbers") == kind
        agrees(page, view)
    shoot(page, "numerics-gradients")
    page.keyboard.press("2")
    shoot(page, "numerics-activations")
    assert not page.locator(".mx-numerics-scale").is_visible()
    page.keyboard.press("3")
    page.keyboard.press("Home")
    page.keyboard.press("ArrowRight")
    assert data(page, "step") == "2"
    page.keyboard.press("End")
    assert data(page, "step") == "60"
    page.keyboard.press("l")
    assert data(page, "unit") == "tensors"
    page.keyboard.press("ArrowDown")
    assert data(page, "pointed") == "conv0.weight"
    tip = page.locator(".mx-tip").inner_text()
    assert "lenet/conv0" in tip and "subnormal" in tip and "zones of" in tip
    shoot(page, "numerics-pointed")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_devices_that_differ_have_rows_of_their_own(page: Page, theme: str) -> None:
    record = Record()
    for layer in LAYERS:
        for place in (0, 1):
            about = (f"lenet/{layer}", f"output of gpu({place})", "float32", "float32")
            record.tensor(1, "activation", *about, 1.0, numbers(-3 - place))
    view = NumericsMonitor(record, kind="activation", unit="tensors")
    stand(page, view, light=theme == "light")
    agrees(page, view)
    assert data(page, "rows") == "8"
    page.locator(".mx-view").focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    assert data(page, "pointed") == view.rows()[1].label == "conv0 gpu(1)"
    shoot(page, f"numerics-devices-{theme}")
    page.keyboard.press("l")
    view.unit = "layers"
    agrees(page, view)
    assert data(page, "rows") == "4"


def test_the_scrubber_goes_where_it_is_dragged(page: Page) -> None:
    view = NumericsMonitor(training())
    stand(page, view)
    lanes = page.locator(".mx-surface").nth(1)
    box = lanes.bounding_box()
    assert box is not None
    low = box["y"] + box["height"] * 0.7
    page.mouse.move(box["x"] + 200, low)
    page.mouse.down()
    first = int(data(page, "step"))
    page.mouse.move(box["x"] + 600, low, steps=5)
    page.mouse.up()
    assert int(data(page, "step")) > first + 15
    view.at = int(data(page, "step"))
    agrees(page, view)
    # The dot of step 40, on the upper lane.
    span = box["width"] - 14 - 104
    page.mouse.click(box["x"] + 104 + span * 39 / 59, box["y"] + 40)
    assert data(page, "step") == "40"
    assert data(page, "picked") == "lenet_dense1_weight"


def test_many_layers_scroll(page: Page) -> None:
    view = NumericsMonitor(training(12, layers=50))
    stand(page, view)
    rows = page.locator(".mx-numerics-rows")
    height = rows.evaluate("node => [node.clientHeight, node.scrollHeight]")
    assert height[1] > height[0] <= 460
    shoot(page, "numerics-many")
    script = """async () => {
      const view = document.querySelector('.mx-view');
      const took = [];
      for (let i = 0; i < 15; i += 1) {
        const began = performance.now();
        const key = i % 2 ? '+' : '-';
        view.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true }));
        await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
        took.push(performance.now() - began);
      }
      return took.sort((a, b) => a - b)[7];
    }"""
    took = float(page.evaluate(script))
    print(f"\n50 layers, another scale: {took:.1f} ms")
    assert took < 200


def test_it_leaves_nothing_behind(page: Page) -> None:
    page.evaluate("() => countListeners()")
    stand(page, NumericsMonitor(training(8)))
    assert page.evaluate("() => window.held") > 0
    page.evaluate("() => stage.close()")
    assert page.evaluate("() => window.held") == 0
    assert page.evaluate("() => window.unbound") is None
    assert page.evaluate("() => stage.listening()") == 0

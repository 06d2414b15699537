"""The training monitor on an empty page: scales, shadow, marks, widths, both themes."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator

import numpy as np
import pytest
from playwright.sync_api import Browser, Page

from minimx.core.record import Record
from minimx_widgets import TrainingMonitor
from tests.browser.pages import OF_WIDGETS, data, empty_page, shoot

pytestmark = pytest.mark.browser

KNOBS = ("MXNET_ENGINE_TYPE", "MXNET_CPU_MEM_POOL_TYPE", "MXNET_EXEC_ENABLE_INPLACE")


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    with empty_page(browser, 1060, 330) as page:
        yield page


def training(
    steps: int = 400, *, marks: int = 0, scaled: bool = False, rate: float = 0.01
) -> Record:
    """Four epochs of a run that learns; its knobs turned, its loss scaled if wanted."""
    record, random = Record(), np.random.default_rng(0)
    turns = set(np.linspace(20, steps - 20, marks).astype(int).tolist())
    scale, skipped = 2.0**20, 0
    start = record.conditions.t_start
    moment = [start]
    record.clock = lambda: moment[0]
    for step in range(1, steps + 1):
        moment[0] = start + step * 25_000_000
        miss = np.exp(-rate * step) + 0.008
        record.metric(step, "loss", 2.3 * miss * random.uniform(0.7, 1.3))
        record.metric(step, "batch accuracy", 1 - min(0.9, miss * random.uniform(0, 2)))
        record.metric(step, "train accuracy", 1 - miss)
        speed = 5000 * random.uniform(0.9, 1.1) * (0.1 if step % 60 == 0 else 1)
        record.metric(step, "samples/s", speed)
        if step % (steps // 4) == 0:
            record.metric(step, "test accuracy", 1 - miss)
        if scaled:
            over = step < 6 or step % 130 == 0
            scale, skipped = scale / 2 if over else scale, skipped + over
            record.metric(step, "loss scale", scale)
            record.metric(step, "skipped", skipped)
        if step in turns:
            name = KNOBS[len(turns) % 3] if marks == 1 else KNOBS[step % 3]
            record.knob(name, "Naive", "Round", "restart")
    record.clock = None
    return record


def stand(page: Page, view: TrainingMonitor, light: bool = True) -> None:
    page.evaluate(
        "light => { document.body.dataset.jpThemeLight = light;"
        " document.body.style.background = light === 'true' ? '#fff' : '#111'; }",
        str(light).lower(),
    )
    view.freeze()
    header, raw = view.frozen
    traits = {
        name: getattr(view, name)
        for name in view.trait_names(sync=True)
        if not name.startswith("_") and name not in (*OF_WIDGETS, "frozen")
    }
    buffers = [base64.b64encode(buffer).decode() for buffer in raw]
    setting = {
        "esm": view._esm, "css": view._css, "buffers": buffers,
        "traits": traits | {"header": header},
    }  # fmt: skip
    page.evaluate("setting => stand(setting)", json.loads(json.dumps(setting)))
    page.wait_for_function("() => document.querySelector('.mx-view')?.dataset.axis")


def agrees(page: Page, view: TrainingMonitor) -> None:
    """The page's running values are Python's."""
    assert float(data(page, "speed")) == pytest.approx(view.speed)
    accuracy = float(data(page, "train-accuracy"))
    assert accuracy == pytest.approx(view.train_accuracy)


def with_shadow() -> TrainingMonitor:
    view = TrainingMonitor(training(400, rate=0.006), height=128)
    view.run.replace(training(220, marks=3))
    return view


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_run_before_is_a_shadow(page: Page, theme: str) -> None:
    view = with_shadow()
    stand(page, view, light=theme == "light")
    agrees(page, view)
    assert data(page, "shadow").split("|") == [
        "loss", "train accuracy", "test accuracy", "samples/s", "batch accuracy"
    ]  # fmt: skip
    assert "the run before" in page.locator(".mx-legend").inner_text()
    shoot(page, f"training-shadow-{theme}")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_scales_are_switched_and_remembered(page: Page, theme: str) -> None:
    stand(page, with_shadow(), light=theme == "light")
    assert (data(page, "loss-scale"), data(page, "accuracy-scale")) == (
        "linear", "nines"
    )  # fmt: skip
    page.get_by_role("button", name="Loss on a logarithmic scale").click()
    page.wait_for_function(
        "() => document.querySelector('.mx-view').dataset.lossScale === 'log'"
    )
    assert page.evaluate("() => stage.traits.loss_scale") == "log", "the view keeps it"
    page.locator(".mx-view").focus()
    page.keyboard.press("n")
    page.wait_for_function(
        "() => document.querySelector('.mx-view').dataset.accuracyScale === 'linear'"
    )
    assert page.evaluate("() => stage.traits.accuracy_scale") == "linear"
    page.wait_for_function("() => stage.saved > 0")
    shoot(page, f"training-log-{theme}")


def test_what_was_chosen_is_shown_again(page: Page) -> None:
    stand(page, TrainingMonitor(training(), loss_scale="log", accuracy_scale="linear"))
    assert (data(page, "loss-scale"), data(page, "accuracy-scale")) == (
        "log", "linear"
    )  # fmt: skip
    log = page.get_by_role("button", name="Loss on a logarithmic scale")
    assert log.get_attribute("aria-pressed") == "true"


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_loss_scale_has_a_lane(page: Page, theme: str) -> None:
    plain = TrainingMonitor(training(), height=128)
    stand(page, plain, light=theme == "light")
    surface = page.locator(".mx-surface")
    low = surface.evaluate("node => node.clientHeight")
    page.evaluate("() => stage.close()")
    page.evaluate("() => document.body.replaceChildren()")
    stand(
        page,
        TrainingMonitor(training(scaled=True), height=128),
        light=theme == "light",
    )
    page.wait_for_function(
        "low => document.querySelector('.mx-surface').clientHeight > low", arg=low
    )
    assert data(page, "skipped") == "8"
    assert "step skipped" in page.locator(".mx-legend").inner_text()
    shoot(page, f"training-scaled-{theme}")


@pytest.mark.parametrize("width", [1060, 640, 400])
def test_it_fits_wherever_it_is(page: Page, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 600})
    view = TrainingMonitor(training(marks=2, scaled=True), height=128)
    stand(page, view)
    wide = page.evaluate("() => document.documentElement.scrollWidth")
    assert wide <= width
    shoot(page, f"training-{width}")


def test_many_marks_are_few_lines(page: Page) -> None:
    stand(page, TrainingMonitor(training(marks=120), height=128))
    shoot(page, "training-many-marks")
    assert len(data(page, "marks").split("|")) == 120


def test_pointing_tells_numbers_and_what_was_turned(page: Page) -> None:
    record = training(marks=1)
    stand(page, TrainingMonitor(record, height=128))
    page.locator(".mx-view").focus()
    page.keyboard.press("ArrowLeft")
    tip = page.locator(".mx-tip")
    tip.wait_for(state="visible")
    words = tip.inner_text()
    assert "right in this batch" in words
    assert "samples per second" in words
    box = page.locator(".mx-surface").bounding_box()
    assert box is not None
    # The mark stands at step 20 of 400.
    left, right = box["x"] + 56, box["x"] + box["width"] / 3 - 10 - 6
    page.mouse.move(left + (right - left) * 19 / 399, box["y"] + 80)
    assert "turned" in tip.inner_text()
    shoot(page, "training-pointed")


def test_a_loss_that_is_not_a_number_is_shown_as_such(page: Page) -> None:
    record = training(60)
    for step in (61, 62):
        record.metric(step, "loss", float("nan"))
    stand(page, TrainingMonitor(record, height=128))
    assert data(page, "loss") == "NaN"
    shoot(page, "training-nan")


def test_it_leaves_nothing_behind(page: Page) -> None:
    page.evaluate("() => countListeners()")
    stand(page, TrainingMonitor(training(50)))
    assert page.evaluate("() => window.held") > 0
    page.evaluate("() => stage.close()")
    assert page.evaluate("() => window.held") == 0
    assert page.evaluate("() => window.unbound") is None

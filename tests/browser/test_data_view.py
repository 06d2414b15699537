"""The view of images on an empty page: themes, widths, keys, and what is broken."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Browser, Page

import minimx as mx
from minimx_widgets import DataView
from minimx_widgets.training.networks import NETWORKS
from minimx_widgets.training.predictions import Probe
from minimx_widgets.training.training import Data, load
from tests.browser.pages import OF_WIDGETS, data, empty_page, shoot
from tests.widgets.sights import images, ready

pytestmark = pytest.mark.browser


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    with empty_page(browser, 1060, 720) as page:
        yield page


@cache
def glyphs() -> Data:
    return load("glyphs")


def trained(name: str = "lenet", steps: int = 25) -> tuple[Any, Probe]:
    """A network that has seen a few batches, and a probe that looked at it."""
    made = glyphs()
    mx.random.seed(0)
    net = NETWORKS[name](made.side, made.classes)
    net.initialize(mx.init.Xavier())
    trainer = mx.gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.002})
    criterion = mx.gluon.loss.SoftmaxCrossEntropyLoss()
    for step in range(steps):
        rows = slice(64 * step, 64 * step + 64)
        x, y = mx.nd.array(made.train_x[rows]), mx.nd.array(made.train_y[rows])
        with mx.autograd.record():
            loss = criterion(net(x), y)
        loss.backward()
        trainer.step(64)
    probe = Probe()
    probe.look(net, made, mx.cpu(), steps)
    return net, probe


def stand(page: Page, view: DataView, light: bool = True) -> None:
    page.evaluate(
        "light => { document.body.dataset.jpThemeLight = light;"
        " document.body.style.background = light === 'true' ? '#fff' : '#111'; }",
        str(light).lower(),
    )
    header, raw = view.frozen or [None, []]
    traits = {
        name: getattr(view, name)
        for name in view.trait_names(sync=True)
        if not name.startswith("_") and name not in (*OF_WIDGETS, "frozen")
    }
    buffers = [base64.b64encode(buffer).decode() for buffer in raw]
    setting = {
        "esm": view._esm, "css": view._css, "buffers": buffers or None,
        "traits": traits | {"header": header},
    }  # fmt: skip
    page.evaluate("setting => stand(setting)", json.loads(json.dumps(setting)))
    page.wait_for_function("() => document.querySelector('.mx-view')?.dataset.revision")


def update(page: Page, view: DataView) -> float:
    """A new look arrives; milliseconds until it is painted."""
    header, (buffer,) = view.frozen
    took = page.evaluate(
        "([header, text]) => stage.change({frozen: [header, [viewOf(text)]]})",
        [json.loads(json.dumps(header)), base64.b64encode(buffer).decode()],
    )
    return float(took)


def agrees(page: Page, view: DataView) -> None:
    """The page's numbers are Python's."""
    look = view.look
    assert look is not None
    assert int(data(page, "step")) == look.step
    assert (int(data(page, "right")), int(data(page, "asked"))) == (
        look.right, look.asked
    )  # fmt: skip
    worst = look.most_confused
    assert data(page, "confused") == (
        "" if worst is None else " ".join(map(str, worst))
    )


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_strip_and_all_of_it(page: Page, theme: str) -> None:
    _, probe = trained()
    view = DataView(probe)
    stand(page, view, light=theme == "light")
    agrees(page, view)
    assert page.locator(".mx-seen").count() == 12
    shoot(page, f"data-strip-{theme}")
    page.get_by_role("radio", name="all").click()
    assert page.evaluate("() => stage.traits.parts") == "all", "the view keeps it"
    assert page.locator(".mx-seen-confusion tbody tr").count() == 10
    assert page.locator(".mx-seen-tile").count() == 16
    assert page.locator(".mx-seen-layers tbody tr").count() == 4
    shoot(page, f"data-all-{theme}")


@pytest.mark.parametrize("width", [1060, 640, 430])
def test_it_fits_wherever_it_is(page: Page, width: int) -> None:
    _, probe = trained("mlp")
    page.set_viewport_size({"width": width, "height": 900})
    stand(page, DataView(probe, parts="all"))
    shoot(page, f"data-{width}")
    wide = page.evaluate("() => document.documentElement.scrollWidth")
    assert wide <= width
    over = page.evaluate(
        """() => [...document.querySelectorAll('.mx-seen-box table')].map(
          (node) => node.scrollWidth - node.closest('.mx-seen-box').clientWidth)"""
    )
    assert max(over) <= 0


def test_signs_say_what_colours_say(page: Page) -> None:
    _, probe = trained(steps=12)
    view = DataView(probe)
    stand(page, view)
    look = view.look
    assert look is not None
    said = page.locator(".mx-seen b").all_inner_texts()
    for one, words in zip(look.strip, said, strict=True):
        assert words == f"{one.guess} {'✓' if one.right else '✗'}"


def test_pointing_explains(page: Page) -> None:
    _, probe = trained(steps=12)
    view = DataView(probe, parts="all")
    stand(page, view)
    look = view.look
    assert look is not None
    page.locator(".mx-seen").nth(2).hover()
    tip = page.locator(".mx-tip")
    first = look.strip[2]
    assert f"Image {first.number} of the test set is {first.label}" in tip.inner_text()
    assert "The network says" in tip.inner_text()
    page.locator(".mx-seen-confusion td[data-say]").first.hover()
    assert "of" in tip.inner_text()
    shoot(page, "data-pointed")
    page.mouse.move(2, 2)
    assert tip.is_hidden()


def test_keys_walk_through_all_that_can_be_read(page: Page) -> None:
    _, probe = trained(steps=12)
    stand(page, DataView(probe))
    page.locator(".mx-view").focus()
    page.keyboard.press("ArrowRight")
    first = data(page, "pointed")
    assert first.startswith("Image")
    page.keyboard.press("ArrowRight")
    assert data(page, "pointed") != first
    page.keyboard.press("ArrowLeft")
    assert data(page, "pointed") == first
    page.keyboard.press("d")
    assert data(page, "parts") == "all"
    for _ in range(3):
        page.keyboard.press("ArrowDown")
    assert "lenet_conv0_weight[0]" in data(page, "pointed")
    page.keyboard.press("ArrowDown")
    assert "lenet/conv0: 416 weights, all finite." in data(page, "pointed")
    page.keyboard.press("Escape")
    assert data(page, "pointed") == ""


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_what_broke_is_told(page: Page, theme: str) -> None:
    net, probe = trained(steps=12)
    net[2].weight.set_data(net[2].weight.data() * np.nan)
    net[5].weight.grad()[:] = 0
    net[5].bias.grad()[:] = 0
    view = DataView(probe, parts="all")
    probe.look(net, glyphs(), mx.cpu(), 13)
    stand(page, view, light=theme == "light")
    assert "lenet/conv1 weights NaN" in data(page, "sick")
    assert "lenet/dense0 gradients all 0" in data(page, "sick")
    note = page.locator(".mx-note").inner_text()
    assert "NaN in the weights of conv1" in note
    assert page.locator(".mx-seen b").first.inner_text() == "NaN ✗"
    shoot(page, f"data-broken-{theme}")


def test_a_new_look_replaces_the_old_one_quickly(page: Page) -> None:
    net, probe = trained(steps=5)
    view = DataView(probe, parts="all")
    stand(page, view)
    page.locator(".mx-view").focus()
    page.keyboard.press("ArrowRight")
    took = []
    for step in range(6, 16):
        net[0].weight.set_data(net[0].weight.data() * 1.2)
        probe.look(net, glyphs(), mx.cpu(), step)
        took.append(update(page, view))
        agrees(page, view)
    assert data(page, "pointed").startswith("Image")
    print(f"\nredrawn in {sorted(took)[5]:.1f} ms")
    assert sorted(took)[5] < 100


def test_before_anything_was_seen_and_before_anybody_was_asked(page: Page) -> None:
    view = DataView(Probe())
    stand(page, view)
    assert "Press Train" in page.locator(".mx-empty").inner_text()
    view.probe.show(glyphs())
    update(page, view)
    assert page.locator(".mx-seen[data-state=unasked]").count() == 12
    shoot(page, "data-unasked")


def test_coloured_images_and_many_classes(page: Page) -> None:
    made = images(classes=40, channels=3, side=12, count=200)
    view = DataView(ready(made, 40, 3), made, parts="all")
    stand(page, view)
    assert page.locator(".mx-seen-confusion tbody tr").count() == 12
    title = page.locator(".mx-seen-confusion .mx-seen-title").inner_text()
    assert "the 12 most confused of 40" in title
    shoot(page, "data-coloured")


def test_it_leaves_nothing_behind(page: Page) -> None:
    page.evaluate("() => countListeners()")
    made = images()
    stand(page, DataView(ready(made), made, parts="all"))
    assert page.evaluate("() => window.held") > 0
    page.evaluate("() => stage.close()")
    assert page.evaluate("() => window.held") == 0
    assert page.evaluate("() => window.unbound") is None
    assert page.evaluate("() => stage.listening()") == 0

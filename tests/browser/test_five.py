"""The switches and the strip on an empty page: keys, refusals, hints, the history."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from minimx_widgets import BeforeAfter, FiveSwitches
from minimx_widgets.lab.before_after import put_back
from minimx_widgets.lab.turns import Turns
from minimx_widgets.training.meter import Facts
from tests.browser.pages import STAND_IN, data, empty_page, shoot, stand

pytestmark = pytest.mark.browser

MIB = 2.0**20
WIDTHS = (1400, 960, 680)
INPLACE = "MXNET_EXEC_ENABLE_INPLACE"


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    with empty_page(browser, 1400, 420) as page:
        yield page


@pytest.fixture
def five() -> Iterator[FiveSwitches]:
    row = FiveSwitches(lambda name, text: None, settings={"dtype": "float16"})
    yield row
    row.close()


@pytest.fixture
def turns() -> Turns:
    """Five turns; one was overtaken, the last is settled."""
    turns, step = Turns(), 0
    low = {"peak": 15.5 * MIB, "planned": 3.0 * MIB, "ms": 21.0, "loss": 0.31}
    high = {"peak": 20.8 * MIB, "planned": 4.2 * MIB, "ms": 21.3, "loss": 0.3}
    always = {"reserved": 64 * MIB, "pushes": 96.0, "driver_calls": 0.0}
    always |= {"accuracy": 0.91, "skipped": 0.0}

    def steps(count: int, facts: dict[str, float]) -> None:
        nonlocal step
        for i in range(count):
            step += 1
            wave = {"ms": facts["ms"] + (i % 3) / 2}
            turns.stepped(step, Facts(**{**facts, **always, **wave}))

    steps(30, low)
    turns.turned(INPLACE, "1", "0")
    turns.note(INPLACE, "bound again at step 31, planned 3.00 MiB → 4.20 MiB")
    steps(12, high)
    turns.turned(INPLACE, "0", "1")
    steps(12, low)
    turns.turned("dtype", "float32", "float16", "setting")
    steps(3, low)
    turns.turned("MXNET_ENGINE_TYPE", "ThreadedEnginePerDevice", "NaiveEngine")
    steps(30, {**low, "peak": 14.1 * MIB, "ms": 34.0})
    turns.turned(INPLACE, "1", "0")
    steps(14, {**high, "ms": 34.1})
    return turns


def sent(page: Page) -> list[dict[str, Any]]:
    """What the view asked of the kernel so far."""
    found: list[dict[str, Any]] = page.evaluate("() => stage.sent")
    return found


def answer(page: Page, name: str, *, ok: bool, text: str = "") -> None:
    """The kernel's answer to the last question."""
    message = {"kind": "answer", "id": len(sent(page)), "name": name}
    page.evaluate("message => stage.tell(message)", {**message, "ok": ok, "text": text})


def test_every_width_and_theme_is_kept_as_a_picture(page: Page, turns: Turns) -> None:
    views = {
        "five": FiveSwitches(lambda name, text: None, turns=turns),
        "before-after": BeforeAfter(turns),
    }
    for name, view in views.items():
        for light in (True, False):
            for width in WIDTHS:
                page.set_viewport_size({"width": width, "height": 420})
                stand(page, view, light)
                shoot(page, f"{name}-{width}-{'light' if light else 'dark'}")
                overflow = page.evaluate(
                    "() => document.documentElement.scrollWidth - innerWidth"
                )
                assert overflow <= 0, (name, width)
                page.evaluate("() => stage.close()")
        view.close()


def test_keys_reach_and_turn_every_switch(page: Page, five: FiveSwitches) -> None:
    stand(page, five)
    keys = page.keyboard
    page.locator(".mx-view").focus()
    keys.press("1")
    keys.press("ArrowRight")
    keys.press("Tab")  # to the pool
    keys.press("ArrowLeft")
    keys.press("Tab")
    keys.press("Space")
    keys.press("ArrowRight")
    keys.press("Tab")
    keys.press("ArrowRight")
    keys.press("ArrowRight")  # it is on already
    keys.press("Tab")
    page.locator("[data-control=policy]").select_option("best")
    keys.press("Tab")
    keys.press("End")
    keys.press("5")
    assert page.evaluate("() => document.activeElement.dataset.value") == "bfloat16"
    page.locator("[data-control=scaling]").select_option("off")
    asked = [(m["kind"], m["name"], m["text"]) for m in sent(page)]
    assert asked == [
        ("set", "engine", "ThreadedEngine"),
        ("set", "pool", "Unpooled"),
        ("set", "inplace", "0"),
        ("set", "inplace", "1"),
        ("set", "mirror", "1"),
        ("set", "policy", "best"),
        ("set", "dtype", "bfloat16"),
        ("set", "scaling", "off"),
    ]


def test_every_control_says_what_it_is(page: Page, five: FiveSwitches) -> None:
    stand(page, five)
    names = page.locator("[data-control]").evaluate_all(
        "nodes => nodes.map(node => [node.dataset.control, node.title, "
        "(node.getAttribute('aria-label') ?? "
        "node.querySelector('[aria-label]').getAttribute('aria-label'))])"
    )
    labels = {control: label for control, _, label in names}
    titles = {control: title for control, title, _ in names}
    assert labels == {
        "engine": "Engine",
        "pool": "Pool",
        "inplace": "In-place",
        "mirror": "Mirror",
        "policy": "Mirror, policy",
        "dtype": "Precision",
        "scaling": "Precision, loss scale",
    }
    assert titles["pool"] == "MXNET_CPU_MEM_POOL_TYPE"
    pressed = page.locator("[data-control=dtype] [aria-checked=true]")
    assert pressed.inner_text() == "float16"
    assert page.locator("[data-switch=precision]").get_attribute("data-changed") == (
        "true"
    )


def test_a_refused_value_is_told_at_its_switch_until_it_is_settled(
    page: Page, five: FiveSwitches
) -> None:
    stand(page, five)
    page.locator("[data-control=engine] [data-value=NaiveEngine]").click()
    answer(page, "engine", ok=False, text="MXNET_ENGINE_TYPE: not now")
    line = page.locator("[data-switch=engine] .mx-five-state")
    assert line.inner_text() == "MXNET_ENGINE_TYPE: not now"
    assert line.get_attribute("data-kind") == "refused"
    pressed = page.locator("[data-control=engine] [aria-checked=true]")
    assert pressed.get_attribute("data-value") == "ThreadedEnginePerDevice"
    page.locator("[data-control=engine] [data-value=ThreadedEngine]").click()
    answer(page, "engine", ok=True, text="applied in 1 ms")
    assert line.inner_text() == "Who runs the operations."


SOURCE = ".mx-code-panel"


def test_a_refusal_opens_the_lines_that_refuse_it(page: Page, turns: Turns) -> None:
    def go_back(number: int) -> None:
        put_back(turns.get(number))

    asked: dict[str, tuple[FiveSwitches | BeforeAfter, dict[str, Any]]] = {
        "five": (
            FiveSwitches(lambda name, text: None),
            {"kind": "set", "name": "engine", "text": "NoEngine"},
        ),
        "turns": (BeforeAfter(turns, go_back=go_back), {"kind": "back", "number": 3}),
    }
    for name, (view, message) in asked.items():
        stand(page, view)
        answers: list[dict[str, Any]] = []
        view.send = answers.append
        view._answer(message)
        button = page.get_by_role("button", name="Source of the refusal")
        assert button.count() == 0
        page.evaluate("message => stage.tell(message)", answers[-1])
        button.click()
        assert sent(page)[-1] == {"kind": "source", "error": True}
        view._answer(sent(page)[-1])
        page.evaluate("message => stage.tell(message)", answers[-1])
        assert "raise " in page.locator(f"{SOURCE} mark").first.inner_text()
        shoot(page, f"refusal-{name}-light")
        page.evaluate("() => { document.body.dataset.jpThemeLight = 'false'; }")
        shoot(page, f"refusal-{name}-dark")
        page.keyboard.press("Escape")
        assert page.locator(SOURCE).is_hidden()
        assert page.evaluate("() => document.activeElement.dataset.view") == name
        page.keyboard.press("o")  # as long as the refusal is shown
        assert sent(page)[-1] == {"kind": "source", "error": True}
        page.evaluate("message => stage.tell(message)", {**answers[0], "ok": True})
        assert button.count() == 0, "what was refused is settled"
        page.keyboard.press("o")
        assert "Nothing was refused" in page.locator(SOURCE).inner_text()
        page.evaluate("() => stage.close()")
        view.close()


def test_the_hint_goes_for_good_once_it_was_read(
    browser: Browser, five: FiveSwitches, tmp_path: Any
) -> None:
    hint = ".mx-hint"
    with empty_page(browser, 1000, 400) as page:
        empty = tmp_path / "empty.html"
        empty.write_text("<!doctype html><body></body>")
        page.goto(empty.as_uri())  # about:blank has no storage
        page.add_script_tag(path=STAND_IN)
        stand(page, five)
        assert "Press Train" in page.locator(hint).inner_text()
        page.get_by_text("Got it").click()
        assert page.locator(hint).is_hidden()
        assert sent(page)[-1]["kind"] == "hint"
        page.evaluate("() => stage.close()")
        stand(page, five)
        assert page.locator(hint).is_hidden(), "the page remembers it"


def test_the_hint_goes_when_something_was_turned(page: Page, turns: Turns) -> None:
    row = FiveSwitches(lambda name, text: None, turns=turns)
    stand(page, row)
    assert page.locator(".mx-hint").is_hidden()
    row.close()


def test_a_story_is_asked_for_by_its_name(page: Page, five: FiveSwitches) -> None:
    stand(page, five)
    page.select_option("select[aria-label^=Stories]", "minimum memory")
    assert sent(page)[-1] | {"id": 0} == {
        "kind": "story", "name": "minimum memory", "id": 0,
    }  # fmt: skip
    assert page.locator("select[aria-label^=Stories]").input_value() == ""


def test_views_light_up_when_a_turn_has_acted(page: Page, five: FiveSwitches) -> None:
    stand(page, five)
    page.evaluate(
        "() => { for (const name of ['memory', 'engine', 'training']) {"
        " const view = document.createElement('div'); view.className = 'mx-view';"
        " view.dataset.view = name; document.body.append(view); } }"
    )
    lit_once = (
        "() => [...document.querySelectorAll('.mx-view[data-lit]')]"
        ".map(view => view.dataset.view)"
    )
    five.turns.stepped(1, Facts(peak=1.0))
    five.turns.turned("MXNET_BACKWARD_DO_MIRROR", "0", "1")
    page.evaluate("state => stage.change({ state })", five.state)
    assert page.evaluate(lit_once) == []
    five.turns.note("MXNET_BACKWARD_DO_MIRROR", "bound again at step 2")
    page.evaluate("state => stage.change({ state })", five.state)
    assert page.evaluate(lit_once) == ["memory", "engine"]
    lit = '[data-answers="true"]'
    assert page.locator(lit).count() == 2
    page.wait_for_function(f"() => !document.querySelector('{lit}')")


def test_the_strip_shows_each_figure_before_after_and_how_it_changed(
    page: Page, turns: Turns
) -> None:
    strip = BeforeAfter(turns)
    stand(page, strip)
    card = page.locator("[data-figure=peak]")
    assert card.locator(".mx-figure-before").inner_text() == "14.1"
    assert card.locator(".mx-figure-after").inner_text() == "20.8 MiB"
    assert card.locator(".mx-figure-change").inner_text() == "▲ 48 %"
    assert card.get_attribute("data-verdict") == "worse"
    same = page.locator("[data-figure=ms]")
    assert same.locator(".mx-figure-change").inner_text() == "same"
    assert "single steps before: ±" in (same.get_attribute("title") or "")
    assert "measured: median of 13 steps" in page.locator(".mx-turn-where").inner_text()
    planned = page.locator("[data-figure=planned] .mx-figure-label")
    assert planned.get_attribute("data-source") == "planned"
    assert data(page, "settled") == "true"
    strip.close()


def test_a_line_of_the_history_goes_back_by_mouse_and_by_keys(
    page: Page, turns: Turns
) -> None:
    strip = BeforeAfter(turns)
    stand(page, strip)
    lines = page.locator(".mx-turn")
    assert lines.count() == 5
    assert "In-place on → off" in lines.first.inner_text()
    page.locator(".mx-turn[data-turn='4']").click()
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Enter")
    page.locator(".mx-view").focus()
    page.keyboard.press("z")
    asked = [(message["kind"], message["number"]) for message in sent(page)]
    assert asked == [("back", 4), ("back", 5), ("back", 5)]
    answer(page, "", ok=False, text="Lab.go_back: not now")
    assert page.locator(".mx-note").inner_text() == "Lab.go_back: not now"
    answer(page, "", ok=True)
    assert page.locator(".mx-note").is_hidden()
    strip.close()


def test_a_line_in_focus_stays_so_while_steps_are_measured(
    page: Page, turns: Turns
) -> None:
    strip = BeforeAfter(turns)
    stand(page, strip)
    page.locator(".mx-turn[data-turn='5']").focus()
    turns.turned(INPLACE, "0", "1")
    for step in range(200, 210):
        turns.stepped(step, Facts(peak=15.5 * MIB))
        new = {"state": strip.state, "history": strip.history}
        page.evaluate("values => stage.change(values)", new)
    assert page.evaluate("() => document.activeElement.dataset.turn") == "5"
    assert page.locator(".mx-turn").count() == 6
    strip.close()


@pytest.mark.parametrize("make", [BeforeAfter, lambda: FiveSwitches(lambda n, t: None)])
def test_a_view_that_is_taken_away_leaves_nothing_behind(page: Page, make: Any) -> None:
    page.evaluate("() => countListeners()")
    view = make()
    stand(page, view)
    assert page.evaluate("() => window.held") > 0
    page.evaluate("() => stage.close()")
    assert page.evaluate("() => window.held") == 0
    assert page.evaluate("() => window.unbound") is None
    assert page.evaluate("() => stage.listening()") == 0
    view.close()

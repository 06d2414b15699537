"""Words in static pictures: how wide they are, and that all of them fit."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any

import pytest

import minimx_widgets as views
from minimx_widgets import gallery, svg
from tests.browser import states
from tests.widgets.pictures.fitting import faults

PICTURES = Path(__file__).parents[2] / "book" / "pictures" / "views"
NARROW = 700
#: Those that draw a record with long names, a terabyte and 500 lanes quickly.
OF_RECORDS = ("MemoryTimeline", "PoolMap", "Overview", "NumericsMonitor")
QUICK = ("BeforeAfter", "FiveSwitches", "SchedulerStepper", "BenchCurves")
record = cache(states.record)  # made once


def _of_record(name: str) -> Any:
    return getattr(views, name)(record())


MUCH: dict[str, Callable[[], Any]] = {
    "KnobPanel": views.KnobPanel,
    "PoolLevel": lambda: views.PoolLevel(4),
    "PushLevel": lambda: views.PushLevel(4),
    "KVStoreView": lambda: views.KVStoreView(record=record()),
    **{name: partial(_of_record, name) for name in OF_RECORDS},
    **{name: states.MUCH[name] for name in QUICK},
}


@pytest.mark.parametrize("name", MUCH)
def test_words_fit_where_there_is_little_space_and_much_to_show(name: str) -> None:
    view = MUCH[name]()
    assert faults(view.svg(width=NARROW)) == []


@pytest.mark.parametrize("name", [*states.OF_RECORDS, "ABCompare", "MemoryPlan"])
def test_words_fit_where_there_is_nothing_to_show(name: str) -> None:
    made = states.EMPTY[name]()
    assert faults(made.svg(width=NARROW)) == []


@pytest.mark.parametrize("name", gallery.ENTRIES)
def test_words_fit_in_the_pictures_of_the_book(name: str) -> None:
    assert faults((PICTURES / f"{name}.svg").read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    ("parts", "said"),
    [
        ([svg.text(150, 20, "beyond the edge", "#000")], "is not within"),
        ([svg.text(9, 20, "one", "#000"), svg.text(30, 20, "two", "#000")], "into"),
        ([svg.text(9, 20, "word", "#000"), svg.rect(9, 9, 20, 20, "#000")], "covered"),
        ([svg.text(9, 20, "wor…", "#000")], "nothing tells the rest"),
    ],
)
def test_what_does_not_fit_is_found(parts: list[str], said: str) -> None:
    (fault,) = faults(svg.picture(200, 40, parts, title="t", dark=False))
    assert said in fault


def test_capitals_and_bold_letters_are_wider() -> None:
    assert svg.width_of("MXNET_HOME") > 1.05 * svg.width_of("mxnet_home")
    assert svg.width_of("home", bold=True) > svg.width_of("home")
    assert svg.width_of("home", 22) == 2 * svg.width_of("home", 11)
    assert svg.width_of("é") == svg.width_of("e") < svg.width_of("鍵")


@pytest.mark.parametrize("space", [4, 20, 60, 150, 1000])
def test_cut_words_are_as_wide_as_they_may_be(space: float) -> None:
    words = "MXNET_EXEC_ENABLE_INPLACE=0"
    cut = svg.clipped(words, space)
    assert svg.width_of(cut) <= space
    assert cut in ("", words) or cut.endswith("…")
    longer = words[: len(cut)] + "…" if cut.endswith("…") else words
    assert cut == words or svg.width_of(longer) > space


def test_lines_hold_all_words_and_break_those_that_are_too_long() -> None:
    words = "a result that " + "M" * 30 + " reads"
    lines = svg.wrapped(words, 90)
    assert "".join(lines).replace(" ", "") == words.replace(" ", "")
    assert max(map(svg.width_of, lines)) <= 90


def test_the_last_of_few_lines_tells_the_rest() -> None:
    parts, below = svg.paragraph(0, 10, "one two three", "#000", space=30, most=2)
    assert len(parts) == 2
    assert below == 40
    assert "<title>two three</title>" in parts[1]


def test_a_legend_goes_on_in_another_row() -> None:
    entries = [("WEIGHTS", "#111111"), ("GRADIENTS", "#222222"), ("LOSS", "#333333")]
    assert svg.legend(0, 10, entries, 400, dark=False)[1] == 0
    parts, low = svg.legend(10, 10, entries, 120, dark=False)
    assert low == 32
    assert faults(svg.picture(124, 50, parts, title="t", dark=False)) == []


def test_labels_of_an_axis_stay_beside_it() -> None:
    label = svg.tick(199, 20, "1000 G", "#000000", 4, 194)
    assert faults(svg.picture(200, 40, [label], title="t", dark=False)) == []
    assert 'x="50"' in svg.tick(50, 20, "1000 G", "#000000", 4, 194)

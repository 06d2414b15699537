"""Notebook 00's probes: they look at the thing itself, and know what MXNet reads."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree

import pytest

from minimx.core.knobs import knobs
from minimx_widgets.course import knob_board
from minimx_widgets.course.knob_board import CALL, NEVER, PROBES, Probe


def test_ten_of_ten_knobs_are_alive_here_and_one_would_be_in_mxnet() -> None:
    seen = knob_board.liveness()
    assert [row.probe.name for row in seen.rows if not row.alive] == []
    assert seen.alive == len(PROBES) == 10
    assert sum(probe.late_acts for probe in PROBES) == 1
    assert knobs.diff() == {}


@pytest.mark.parametrize("probe", PROBES, ids=lambda probe: probe.name)
def test_what_is_probed_is_declared_and_live(probe: Probe) -> None:
    assert knobs.declared[probe.name].live
    assert knobs.declared[probe.name].sources


def test_a_knob_that_moves_nothing_is_found_out() -> None:
    dead = Probe("MINIMX_PROGRESS", False, "nothing", lambda: "the same", CALL)
    stuck = iter(range(9))
    sticky = Probe("MINIMX_PROGRESS", False, "a count", lambda: next(stuck), CALL)
    seen = knob_board.liveness([dead, sticky])
    assert [row.alive for row in seen.rows] == [False, False]
    assert repr(seen).endswith("0 of 2 moved what they promise, and back.")


def test_the_probes_start_at_the_defaults_whatever_is_turned() -> None:
    with knobs(MXNET_ENGINE_TYPE="NaiveEngine", MINIMX_CLOCK="virtual"):
        assert knob_board.liveness().alive == 10
        assert knobs.MXNET_ENGINE_TYPE == "NaiveEngine"


def test_the_table_tells_before_turned_and_after() -> None:
    seen = knob_board.liveness([PROBES[1]])
    assert "operations at the same time: 1 → 3 → 1" in repr(seen)
    assert "<td style='text-align:left'>3</td>" in seen.rich


def test_the_home_folder_of_the_user_is_not_told() -> None:
    assert knob_board.data_folder().startswith("~/")


@pytest.mark.parametrize("dark", [False, True])
def test_the_picture_is_well_formed_and_says_how_many(dark: bool) -> None:
    shown = knob_board.moments(dark=dark)
    assert repr(shown) == (
        "10 variables: MXNet reads 7 before the second cell, 2 never, 1 at every call"
    )
    tree = ElementTree.fromstring(shown.rich)
    texts = [element.text for element in tree.iter() if element.tag.endswith("text")]
    assert set(texts) >= {probe.name for probe in PROBES}
    never = sum(probe.read == NEVER for probe in PROBES)
    assert texts.count("never: it reads another spelling") == never


def test_an_engine_turned_while_training_has_the_other_steps() -> None:
    """300 images make five steps of at most 64 in each of two epochs."""
    before = knobs.MXNET_ENGINE_TYPE
    assert knob_board.steps_turned(batch=64, at=4, images=300) == 6
    assert before == knobs.MXNET_ENGINE_TYPE

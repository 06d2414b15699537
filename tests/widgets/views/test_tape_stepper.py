"""The tape as a view: steps, one line, tables, a picture, and what the browser gets."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

import minimx as mx
from minimx import nd
from minimx.core import autograd
from minimx.core.errors import ArgumentError
from minimx.tools.tape_watch import Watch
from minimx_widgets import TapeStepper
from minimx_widgets.pictures.tape_steps import LET_GO, RETAINED, kept, steps
from tests.widgets import tapes


@pytest.fixture
def view() -> Iterator[TapeStepper]:
    made = TapeStepper({"once": tapes.walked(), "kept": tapes.walked(retain=True)})
    yield made
    made.close()


def test_the_bytes_rise_while_recording_and_fall_on_the_way_back() -> None:
    watch = tapes.walked()
    found = steps(watch)
    assert [step.kind for step in found] == (
        ["record"] * 7 + ["begin"] + ["walk"] * 7 + ["store"] * 4
    )
    assert [step.kept for step in found] == (
        [0, 65_536, 65_536, *[68_096] * 8, 65_536, 65_536, *[0] * 6]
    )
    assert kept(watch) == 68_096
    assert [step.flight for step in found][11:15] == [2_560, 65_536, 65_536, 0]
    assert found[-1].ready == 0
    assert found[14].ready == 4 * (784 * 256 + 256 + 256 * 10 + 10)


def test_what_nobody_can_reach_is_let_go() -> None:
    x = nd.ones((4,))
    x.attach_grad()
    naive = mx.knobs(MXNET_ENGINE_TYPE="NaiveEngine")
    with naive, Watch() as watch, autograd.record():
        y = x.exp()
        y = x.sin()
    found = steps(watch)
    assert [step.kind for step in found] == ["record", "record", "drop"]
    assert [step.kept for step in found] == [16, 16, 0]
    assert y is not None


def test_a_frozen_layer_still_keeps_what_the_next_one_needs() -> None:
    net = tapes.mlp()
    net[0].collect_params().setattr("grad_req", "null")
    watch = tapes.walked(net=net)
    assert [call.op.name for call in watch.calls][:2] == [
        "FullyConnected",
        "log_softmax",
    ]
    assert kept(watch) == 68_096


def test_gradients_that_meet_are_summed() -> None:
    found = {step.at: step for step in steps(tapes.diamond()) if step.kind == "walk"}
    assert (found[1].came, found[2].came, found[3].came) == (2, 1, 1)
    assert found[3].sent == (2, 1) or found[3].sent == (1, 2)


def test_a_retained_tape_keeps_its_bytes() -> None:
    found = steps(tapes.walked(retain=True))
    assert found[-1].kept == 68_096
    states = {state for step in found for _, state in step.changes}
    assert RETAINED in states
    assert LET_GO not in states


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1))
def test_nothing_is_kept_and_nothing_on_its_way_after_a_walk(
    program: list[tuple[int, int]],
) -> None:
    x = nd.ones((2,))
    x.attach_grad()
    values = [x]
    with Watch() as watch:
        with autograd.record():
            for a, b in program:
                values.append(values[a % len(values)].sin() * values[b % len(values)])
        values[-1].backward()
    last = steps(watch)[-1]
    assert (last.flight, last.ready) == (0, 0)
    reached = {step.at for step in steps(watch) if step.kind == "walk"}
    if reached == {call.number for call in watch.calls}:
        assert last.kept == 0


def test_one_line_tells_the_key_numbers(view: TapeStepper) -> None:
    assert repr(view) == "TapeStepper(2 tapes, kept=66.5 KiB, 66.5 KiB)"
    alone = TapeStepper(tapes.walked())
    line = "TapeStepper(7 calls, 7 walked past, kept=66.5 KiB, at the end=0 B)"
    assert repr(alone) == line
    alone.close()


def test_a_tape_without_a_walk_says_so() -> None:
    x = nd.ones((2,))
    x.attach_grad()
    with Watch() as watch, autograd.record():
        y = x.exp()
    view = TapeStepper(watch, names={"x": x})
    assert y is not None, "or nobody could reach the call"
    assert (
        repr(view) == "TapeStepper(1 call, not walked back, kept=8 B, at the end=8 B)"
    )
    words = list(ET.fromstring(view.svg()).itertext())
    assert "step 1 of 1: backward has not run" in words
    assert {"x", "variable", "exp"} <= set(words)
    view.close()


def test_nothing_recorded_is_a_picture_as_well() -> None:
    with Watch() as watch:
        nd.ones((2,)).exp()
    view = TapeStepper(watch)
    assert repr(view).startswith("TapeStepper(0 calls, not walked back")
    assert "nothing was recorded" in "".join(ET.fromstring(view.svg()).itertext())
    view.close()


def test_the_table_has_calls_and_steps(view: TapeStepper) -> None:
    lines = [" ".join(line.split()) for line in repr(view.table()).splitlines()]
    assert any(line.startswith("2 Activation (relu) tapes.py:") for line in lines)
    walks = [line for line in lines if "FullyConnected (dense1); its rule" in line]
    assert walks[0].endswith(
        "What it kept, another call keeps as well. 65536 65536 10280"
    )


def test_another_tape_and_step_are_shown(view: TapeStepper) -> None:
    assert view.step == 6
    view.show("kept", -1)
    assert view.state["shown"] == 1
    assert view.state["step"] == 18
    with pytest.raises(ArgumentError, match="Did you mean once"):
        view.show("onec")
    with pytest.raises(ArgumentError, match="19 steps"):
        view.show("once", 19)
    with pytest.raises(ArgumentError, match="Watch"):
        TapeStepper({})


@pytest.mark.parametrize("dark", [False, True])
def test_the_picture_is_the_step_that_is_shown(view: TapeStepper, dark: bool) -> None:
    view.show("once", 0)
    first = list(ET.fromstring(view.svg(dark=dark)).itertext())
    assert "log_softmax" not in first
    view.show("once", 12)
    words = list(ET.fromstring(view.svg(dark=dark)).itertext())
    assert {"log_softmax", "reached", "let go", "64 KiB", "backward"} <= set(words)


def test_the_message_is_json_and_the_same_each_time(view: TapeStepper) -> None:
    state = view.state  # a worker may set a newer one
    assert json.loads(json.dumps(state)) == state
    other = TapeStepper(tapes.walked())
    mine, its = dict(view.state["runs"][0]), dict(other.state["runs"][0])
    assert mine["steps"] == its["steps"]
    assert mine["kept"] == its["kept"] == [0] * 6 + [0, 65_536, 65_536, 2_560, 0, 0, 0]
    other.close()

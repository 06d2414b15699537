"""Two settings of a lab, compared from a cell and in the drawer."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from minimx.core.errors import ArgumentError
from minimx.core.knobs import knobs
from minimx_widgets import Lab
from minimx_widgets.lab.lab_compare import ComparePanel
from minimx_widgets.lab.lab_views import COMPARE
from minimx_widgets.training.session import DONE, PAUSED, STOPPED
from tests.widgets.image_data import pictures

pytestmark = pytest.mark.usefixtures("knobs_at_rest")


@pytest.fixture
def make() -> Iterator[Callable[..., Lab]]:
    made: list[Lab] = []

    def one(**settings: Any) -> Lab:
        chosen = {"network": "mlp", "data": pictures(), "batch_size": 32}
        made.append(Lab(**{**chosen, **settings}))
        return made[-1]

    yield one
    for lab in made:
        lab.close()


def steps(lab: Lab, count: int) -> None:
    for _ in range(count):
        lab.step()
        assert lab.wait(60)


def test_a_knob_against_what_it_is_now(make: Callable[..., Lab]) -> None:
    view = make().compare(MXNET_EXEC_ENABLE_INPLACE=False, steps=6)
    assert view.wait(60) and view.session.state == DONE
    a, b = (outcome.side for outcome in view.comparison.outcomes)
    assert (a.text, b.text) == ("In-place on", "In-place off")
    assert view.comparison.differences == ["MXNET_EXEC_ENABLE_INPLACE"]
    view.close()


def test_two_types_that_are_both_given(make: Callable[..., Lab]) -> None:
    view = make().compare({"dtype": "float16"}, dtype="bfloat16", steps=6)
    assert view.wait(60)
    assert view.comparison.first_difference == 1
    assert "float16" in repr(view) and "bfloat16" in repr(view)
    view.close()


def test_the_training_of_the_lab_goes_on_where_it_was(make: Callable[..., Lab]) -> None:
    alone, lab = make(), make()
    steps(alone, 9)
    expected = alone.monitor.series("loss")[1][:8].tolist()
    steps(lab, 4)
    view = lab.compare(MXNET_BACKWARD_DO_MIRROR=True, steps=6)
    assert lab._standing().shown == PAUSED
    assert "as the comparison took over" in lab._standing().text
    assert view.wait(60)
    assert len(lab.turns) == 0  # nothing was turned in this training
    steps(lab, 5)
    assert lab.monitor.series("loss")[1][:8].tolist() == expected
    view.close()


def test_train_ends_a_comparison(make: Callable[..., Lab]) -> None:
    lab, other = make(), make()
    for trains in (lab, other):
        view = lab.compare(MXNET_EXEC_ENABLE_INPLACE=False, steps=4000)
        steps(trains, 1)
        assert view.session.state == STOPPED
        assert knobs.get("MXNET_EXEC_ENABLE_INPLACE") is True
        view.close()


def test_the_last_turn_is_compared_where_nothing_is_named(
    make: Callable[..., Lab],
) -> None:
    lab = make()
    with pytest.raises(ArgumentError, match="nothing was turned yet"):
        lab.compare()
    steps(lab, 2)
    knobs.set(MXNET_EXEC_ENABLE_INPLACE=False)
    view = lab.compare(steps=5)
    assert view.wait(60)
    assert repr(view).startswith("SideBySide(A: In-place on, B: In-place off, 5 steps")
    view.close()


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"MXNET_EXEC_ENABLE_INPLACED": 1}, "neither a setting of the lab nor a knob"),
        ({"dtype": "float8"}, "choose float32"),
        ({"steps": 2, "dtype": "float16"}, "from 5 to 5,000"),
        ({"batch_size": 0}, "give a whole number from 1"),
    ],
)
def test_what_does_not_exist_is_refused_and_nothing_is_left(
    make: Callable[..., Lab], changes: dict[str, Any], words: str
) -> None:
    lab = make()
    steps(lab, 1)
    with pytest.raises(ArgumentError, match=words):
        lab.compare(**changes)
    assert lab.comparer.view is None and lab.session.state == PAUSED


def test_the_drawer_begins_with_the_last_turn(make: Callable[..., Lab]) -> None:
    lab = make()
    steps(lab, 1)
    knobs.set(MXNET_BACKWARD_DO_MIRROR=True)
    panel = lab.drawers.pull(COMPARE)
    assert isinstance(panel, ComparePanel)
    fields = (panel.what.value, panel.first.value, panel.second.value)
    assert fields == ("MXNET_BACKWARD_DO_MIRROR", "0", "1")
    panel.steps.value = 5
    panel.start.click()
    assert panel.view is not None and panel.view.wait(60)
    assert panel.place.children == (panel.view,)
    panel.what.value = "dtype"
    assert (panel.first.value, panel.second.value) == ("float32", "float16")
    panel.second.value = "float8"
    panel.start.click()
    assert "choose float32" in panel.message.value
    panel.what.value = "MXNET_ENGINE_TYPE"
    assert panel.message.value == "" and panel.second.value == "NaiveEngine"
    lab.drawers.pull(None)
    assert lab.drawers.view is None

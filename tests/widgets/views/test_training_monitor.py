"""The training monitor says the same in a line, a table and a picture."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest

from minimx.core.record import Record
from minimx_widgets import TrainingMonitor
from minimx_widgets.pictures.training_series import KEPT


def test_one_line_tells_the_key_numbers(record: Record) -> None:
    assert repr(TrainingMonitor(record)) == (
        "TrainingMonitor(4 steps, loss=0.5000, train=80.0%, test=90.00%)"
    )


def test_the_table_has_a_row_for_each_epoch(record: Record) -> None:
    assert repr(TrainingMonitor(record).table()).splitlines()[1:] == [
        "epoch    loss  train accuracy  test accuracy  samples/s",
        "    1  1.0000         40.00 %        45.00 %       1000",
        "    2  0.5000         80.00 %        90.00 %       2000",
    ]


def test_shares_of_the_phases_add_up(record: Record) -> None:
    phases = TrainingMonitor(record).phases()
    assert sum(phases.values()) == pytest.approx(1)
    assert phases["forward"] == pytest.approx(77 / 122)


@pytest.mark.parametrize("axis", ["steps", "time"])
@pytest.mark.parametrize("dark", [False, True])
def test_the_picture_is_well_formed(record: Record, axis: str, dark: bool) -> None:
    picture = TrainingMonitor(record, axis=axis).svg(dark=dark)
    words = " ".join(ET.fromstring(picture).itertext())
    assert "loss" in words
    assert "0.5000" in words
    assert "90.0 %" in words


def test_before_training_there_is_nothing_to_say() -> None:
    view = TrainingMonitor(Record())
    assert repr(view) == "TrainingMonitor(0 steps)"
    assert view.last("loss") is None
    ET.fromstring(view.svg())


def test_the_lines_of_the_run_before_stay_as_a_shadow(record: Record) -> None:
    view = TrainingMonitor(record)
    assert view.shadow == {}
    view.run.replace(Record())
    assert repr(view) == "TrainingMonitor(0 steps)"
    np.testing.assert_array_equal(view.shadow["loss"].steps, [1, 2, 3, 4])
    assert view.shadow["test accuracy"].values.tolist() == [0.45, 0.9]
    view.run.replace(Record())  # a run without a step leaves the shadow alone
    assert len(view.shadow["loss"].values) == 4


def test_the_shadow_goes_to_a_page_that_begins_to_look(record: Record) -> None:
    view = TrainingMonitor(record)
    view.run.replace(Record())
    view.freeze()
    header, buffers = view.frozen
    layout = header["tables"]
    assert [name for name, _ in layout["shadow"]] == ["t", "step", "name", "value"]
    place = len(layout["metrics"])
    names = np.frombuffer(buffers[place + 2], np.uint8)
    values = np.frombuffer(buffers[place + 3], np.float64)
    assert values[names == KEPT.index("test accuracy")].tolist() == [0.45, 0.9]


def test_a_picture_with_a_shadow_is_well_formed(record: Record) -> None:
    view = TrainingMonitor(record)
    new = Record()
    view.run.replace(new)
    for step in (1, 2):
        new.metric(step, "loss", 1.0)
    words = " ".join(ET.fromstring(view.svg()).itertext())
    assert "grey: the run before" in words


@pytest.mark.parametrize("loss_scale", ["linear", "log"])
@pytest.mark.parametrize("accuracy_scale", ["linear", "nines"])
def test_scales_label_other_values(
    record: Record, loss_scale: str, accuracy_scale: str
) -> None:
    view = TrainingMonitor(record, loss_scale=loss_scale, accuracy_scale=accuracy_scale)
    words = " ".join(ET.fromstring(view.svg()).itertext())
    assert ("loss, logarithmic" in words) == (loss_scale == "log")
    assert ("90 %" in words) == (accuracy_scale == "nines")


def test_throughput_is_a_median_and_accuracy_a_running_mean() -> None:
    record = Record()
    for step in range(1, 101):
        record.metric(step, "loss", 1.0)
        record.metric(step, "samples/s", 5.0 if step == 99 else 1000.0)
        record.metric(step, "batch accuracy", 0.0 if step <= 50 else 0.5)
    view = TrainingMonitor(record)
    assert view.speed == 1000.0
    assert view.train_accuracy == 0.5
    assert TrainingMonitor(Record()).speed is None


def test_a_loss_that_is_not_a_number_leaves_a_picture() -> None:
    record = Record()
    for step, loss in enumerate((1.0, 0.5, float("nan"), float("inf"))):
        record.metric(step, "loss", loss)
    for loss_scale in ("linear", "log"):
        picture = TrainingMonitor(record, loss_scale=loss_scale).svg()
        ET.fromstring(picture)
        for points in re.findall('points="([^"]*)"', picture):
            assert not set(points) - set("0123456789., -")

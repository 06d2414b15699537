"""The training monitor says the same in a line, a table and a picture."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest

from minimx.record import Record
from minimx_widgets import TrainingMonitor


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

"""Lines of a training: running values, and scales with labels well apart."""

from __future__ import annotations

import numpy as np
import pytest

from minimx.core.record import Record
from minimx_widgets.pictures.training_series import (
    MOST_KEPT,
    SCALES,
    extent,
    kept,
    line_of,
    log_ticks,
    nine_ticks,
    nines,
    running_mean,
    running_median,
    trend,
)


def test_a_line_has_steps_times_and_values(record: Record) -> None:
    line = line_of(record, "loss")
    assert line.at("steps").tolist() == [1, 2, 3, 4]
    assert (np.diff(line.at("time")) >= 0).all()
    assert line.values.tolist() == [2.0, 1.0, 2 / 3, 0.5]
    assert len(line_of(record, "never heard of").values) == 0


def test_long_lines_are_kept_thin_with_both_ends() -> None:
    record = Record()
    for step in range(2500):
        record.metric(step, "samples/s", float(step))
        record.metric(step, "loss", 1.0)
    line = kept(record)["samples/s"]
    assert len(line.values) == MOST_KEPT
    assert (line.steps[0], line.steps[-1]) == (0, 2499)


def test_a_run_of_one_step_is_not_kept() -> None:
    record = Record()
    record.metric(1, "loss", 1.0)
    assert kept(record) == {}


def test_one_slow_step_does_not_move_the_median() -> None:
    values = np.full(40, 100.0)
    values[20] = 1.0
    assert running_median(values).tolist() == [100.0] * 40


def test_running_values_begin_with_the_first() -> None:
    values = np.array([4.0, 2.0, 0.0])
    assert running_mean(values, 2).tolist() == [4.0, 3.0, 1.0]
    assert trend(values)[0] == 4.0
    assert len(running_mean(np.zeros(0))) == len(trend(np.zeros(0))) == 0


@pytest.mark.parametrize("high", [0.92, 0.985, 0.995, 0.99999])
def test_labels_of_nines_are_well_apart(high: float) -> None:
    found = nine_ticks(0, high, 5)
    heights = [nines(share) for share in found]
    assert 3 <= len(found) <= 5
    assert min(np.diff(heights)) >= nines(high) / 10


def test_98_and_99_per_cent_differ() -> None:
    assert nines(0.99) - nines(0.98) > 0.15 * nines(0.99)


@pytest.mark.parametrize(("low", "high"), [(1e-9, 1e3), (0.01, 3), (0.5, 0.6)])
def test_labels_of_a_logarithmic_axis_are_few(low: float, high: float) -> None:
    assert len(log_ticks(low, high, 4)) <= 4


def test_what_has_no_height_does_not_count() -> None:
    values = [np.array([0.0, np.nan, 0.1, 10.0])]
    assert extent(SCALES["log"], values) == (-1.0, 1.0)
    assert extent(SCALES["log"], []) == (0.0, 1.0)
    assert extent(SCALES["linear"], [np.array([2.0])], cover=(0.0,)) == (0.0, 2.0)

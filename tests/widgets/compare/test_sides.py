"""A side of a comparison is a record, a file of one, or a replay."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minimx as mx
from minimx.core.errors import ArgumentError, DataError
from minimx.core.record import Record
from minimx.experiments import measured, rerun
from minimx_widgets.compare.sides import POINTS, Side


@pytest.fixture(scope="module")
def record() -> Record:
    """Twenty additions on the virtual clock."""
    with mx.knobs(MINIMX_CLOCK="virtual"), Record() as found:
        x = mx.nd.ones((1000,))
        for _ in range(20):
            x = x + 1
        mx.nd.waitall()
    return found


def test_a_saved_record_has_the_figures_of_the_record(
    record: Record, tmp_path: Path
) -> None:
    path = record.save(tmp_path / "run.npz")
    saved, own = Side.of(path), Side.of(record)
    assert saved.figures == own.figures and not saved.predicted
    figures = measured(record)
    assert own.figures["peak"] == sum(figures["peak"].values()) >= 8000
    assert own.took == round(1e9 * figures["makespan"])
    assert own.figures["moved"] == record.ops()["nbytes"].sum() > 0


def test_what_is_no_run_is_refused(tmp_path: Path) -> None:
    wrong: Any = 3
    with pytest.raises(ArgumentError, match="not int"):
        Side.of(wrong)
    (tmp_path / "run.npz").write_bytes(b"PK\x03\x04 cut off")
    with pytest.raises(DataError):
        Side.of(tmp_path / "run.npz")


def test_a_replay_is_called_by_what_it_turned(record: Record) -> None:
    found = rerun(record, MXNET_ENGINE_TYPE="NaiveEngine")
    side = Side(found, "monday")
    assert side.predicted and side.original is record
    assert side.title == "monday with MXNET_ENGINE_TYPE=NaiveEngine"
    assert Side(rerun(record), "monday").title == "monday replayed"
    assert Side(record, "monday").title == "monday"


@pytest.mark.parametrize("turned", [{}, {"MXNET_ENGINE_TYPE": "NaiveEngine"}])
def test_a_line_of_memory_reaches_the_peak_within_the_run(
    record: Record, turned: dict[str, Any]
) -> None:
    for side in (Side(record), Side(rerun(record, **turned))):
        line = side.line("cpu(0)")
        assert line.nbytes.max() == side.figures["peak"]
        assert (np.diff(line.t) >= 0).all()
        assert 0 <= line.t[line.nbytes.argmax()] <= side.took


def test_no_peak_is_lost_in_a_long_line() -> None:
    with Record() as record:
        for size in (10, *[1] * 700, 5000, *[1] * 700):
            mx.nd.ones((size,)).wait_to_read()
    line = Side(record).line("cpu(0)")
    assert len(line.t) == POINTS
    assert line.nbytes.max() == Side(record).figures["peak"] >= 20_000
    assert len(Side(record).line("gpu(7)").t) == 0

"""Steps between turns: their peaks, and what was planned."""

from __future__ import annotations

import numpy as np

from minimx.core.record import Record
from minimx_widgets import MemoryTimeline
from minimx_widgets.lab.step_peaks import Stretch, stretches, table
from tests.widgets.conftest import at_times


def trained() -> Record:
    """Six steps; in-place is switched off after the second, and on after the fourth."""
    record = Record()
    record.conditions.t_start = 1000
    with at_times(record, range(0, 1000, 10)):
        for step in range(1, 7):
            if step in (3, 5):
                record.knob("MXNET_EXEC_ENABLE_INPLACE", step > 3, step == 5, "bind")
            record.metric(step, "loss", 1.0)
            record.metric(step, "step peak", 4096.0 if step in (3, 4) else 2048.0)
            if step > 2:
                record.metric(step, "planned", 1024.0)
    return record


def test_each_turn_begins_a_stretch() -> None:
    name = "MXNET_EXEC_ENABLE_INPLACE"
    assert stretches(trained()) == [
        Stretch("", 1, 2, 2048, None),
        Stretch(f"{name}=False", 3, 4, 4096, 1024),
        Stretch(f"{name}=True", 5, 6, 2048, 1024),
    ]


def test_turns_without_a_step_between_them_are_no_stretch() -> None:
    record = trained()
    with at_times(record, range(2000, 2100, 10)):
        record.knob("A", 0, 1, "live")
        record.knob("B", 0, 1, "live")
        record.metric(7, "step peak", 10.0)
    assert [one.turned for one in stretches(record)][2:] == [
        "MXNET_EXEC_ENABLE_INPLACE=True",
        "B=1",
    ]


def test_the_memory_timeline_has_them_in_its_table(record: Record) -> None:
    assert "4 KiB" in repr(MemoryTimeline(trained()).table())
    assert table(record) is None
    assert "peak of a step" not in repr(MemoryTimeline(record).table())


def test_the_page_gets_what_was_observed_of_steps_and_nothing_else() -> None:
    view = MemoryTimeline(trained())
    view.freeze()
    header, buffers = view.frozen
    columns = [name for table in header["tables"].values() for name, _ in table]
    names = np.frombuffer(buffers[len(columns) - 2], "<u4")
    assert {header["strings"][i] for i in names} == {"step peak", "planned"}
    assert len(names) == 10

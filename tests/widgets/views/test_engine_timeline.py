"""The engine timeline says the same in a line, a table, a picture and the browser."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import numpy as np
import pytest

from minimx.core.errors import ArgumentError
from minimx.core.record import Record
from minimx_widgets import EngineTimeline
from minimx_widgets.pictures.engine_layout import lane_order, lay_out


def test_one_line_tells_the_key_numbers(record: Record) -> None:
    assert repr(EngineTimeline(record)) == (
        "EngineTimeline(5 operations, 3 workers, 4 dependencies, clock=wall)"
    )


def test_the_pusher_comes_first_and_numbers_are_in_order() -> None:
    names = ["gpu(0)/10", "gpu(0)/9", "cpu priority/0", "python"]
    wanted = ["python", "cpu priority/0", "gpu(0)/9", "gpu(0)/10"]
    assert lane_order(names) == wanted


def test_the_busy_share_is_that_of_the_whole_record(record: Record) -> None:
    busy = EngineTimeline(record).busy
    # From 10 to 160 µs; cpu(0)/0 worked 50 + 19 + 40 of them.
    assert busy["cpu(0)/0"] == pytest.approx(109 / 150)
    assert busy["python"] == 0


def test_tables_count_lanes_and_operators(record: Record) -> None:
    table = repr(EngineTimeline(record).table())
    lines = [" ".join(line.split()) for line in table.splitlines()]
    assert "cpu(0)/0 3 109 µs 73 % 50 µs" in lines
    assert "FullyConnected 2 59 µs 29.5 µs 33 µs" in lines


@pytest.mark.parametrize("axis", ["time", "events"])
@pytest.mark.parametrize("colour", ["phase", "layer", "operator"])
@pytest.mark.parametrize("dark", [False, True])
def test_the_picture_is_well_formed(
    record: Record, axis: str, colour: str, dark: bool
) -> None:
    view = EngineTimeline(record, axis=axis, colour=colour)
    words = " ".join(ET.fromstring(view.svg(dark=dark)).itertext())
    assert "Convolution, lenet/conv0, 50 µs" in words
    assert "cpu(0)/1" in words


def test_a_selected_operation_gets_its_arrows(record: Record) -> None:
    view = EngineTimeline(record)
    plain = view.svg()
    view.select(2)
    marked = view.svg()
    assert marked.count("<polygon") == plain.count("<polygon") + 2
    view.select(0)
    assert view.svg() == plain


def test_selecting_in_one_view_selects_in_all_of_the_run(record: Record) -> None:
    first, second = EngineTimeline(record), EngineTimeline(record)
    first.select(3)
    assert second.run.selected == 3
    assert EngineTimeline(Record()).run.selected == 0


def test_many_operations_stay_a_picture_of_moderate_size() -> None:
    record = Record()
    for op in range(1, 30_001):
        start = 1000 * op
        times = (start - 500, start - 400, start, start + 700)
        name, phase = ("relu", "forward") if op % 2 else ("add", "backward")
        worker = f"cpu(0)/{op % 4}"
        record.op(op, name, "", phase, "cpu(0)", worker, *times, 0, 0, False)
    layout = lay_out(record)
    assert sum(box.count for box in layout.boxes) == 30_000
    assert len(layout.boxes) <= 4 * 1500
    assert len(EngineTimeline(record).svg()) < 1_500_000


def test_an_empty_record_has_the_lane_of_the_pusher() -> None:
    view = EngineTimeline(Record())
    assert view.lanes == ["python"]
    ET.fromstring(view.svg())
    assert "python" in repr(view.table())


def bulked() -> Record:
    """Three operations that were joined to one, on one worker, and one that was not."""
    record = Record()
    for member in (2, 3, 4):
        record.dependency(1, member, "BULK")
    record.dependency(2, 5, "RAW")
    rows = [(2, "relu", 10, 30), (3, "relu", 30, 50), (4, "dot", 50, 90)]
    rows += [(1, "ImperativeBulk", 8, 92), (5, "relu", 100, 110)]
    for op, name, start, end in rows:
        times = (0, 0, start, end)
        record.op(op, name, "", "other", "cpu(0)", "cpu(0)/0", *times, 0, 0, False)
    return record


def test_a_nanosecond_of_a_lane_counts_once() -> None:
    view = EngineTimeline(bulked())
    assert view.busy["cpu(0)/0"] == pytest.approx(90 / 100)
    lines = [" ".join(line.split()) for line in repr(view.table()).splitlines()]
    assert "cpu(0)/0 4 90 ns 90 % 40 ns" in lines
    assert any(line.startswith("relu 3 50 ns") for line in lines)
    assert not any(line.startswith("ImperativeBulk") for line in lines)


def test_a_bulk_reaches_the_page_as_what_holds_its_members() -> None:
    view = EngineTimeline(bulked())
    view.freeze()
    view.select(2)
    assert "<polygon" in view.svg(), "the arrow of the one true dependency"
    header, buffers = view.frozen
    flat = {
        (table, name): np.frombuffer(buffer, dtype)
        for (table, (name, dtype)), buffer in zip(
            (
                (table, column)
                for table, columns in header["tables"].items()
                for column in columns
            ),
            buffers,
            strict=True,
        )
    }
    assert flat["ops", "holds"].tolist() == [0, 0, 0, 1, 0]
    assert flat["deps", "src"].tolist() == [2]


def test_one_phase_is_coloured_by_operator(record: Record) -> None:
    alone = EngineTimeline(bulked())
    assert alone.shown_colour == "operator"
    assert "relu" in alone.svg()
    assert EngineTimeline(record).shown_colour == "phase"
    assert EngineTimeline(bulked(), colour="layer").shown_colour == "layer"


def test_the_source_of_an_operation_is_sent_to_the_page(record: Record) -> None:
    view = EngineTimeline(record)
    ops = record.ops()
    found = view.source_for({"op": int(ops["op"][0])})
    assert found.name == "Convolution" and not found.missing
    assert found.pieces[0].file.startswith("minimx/")
    with pytest.raises(ArgumentError, match="neither a knob nor an operator"):
        view.source_for({"op": 999})
    view.run.close()

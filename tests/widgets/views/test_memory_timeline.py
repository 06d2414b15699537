"""The memory timeline says the same in a line, a table, a picture and the browser."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import numpy as np
import pytest

from minimx.core.errors import ArgumentError
from minimx.core.events import Owner
from minimx.core.record import Record
from minimx_widgets import MemoryTimeline
from minimx_widgets.views.memory_timeline import lay_out


def test_one_line_tells_the_key_numbers(record: Record) -> None:
    assert repr(MemoryTimeline(record)) == (
        "MemoryTimeline(cpu(0), peak=3.91 KiB, reserved=1 KiB, reuse=33%, clock=wall)"
    )


def test_the_peak_follows_the_measure(record: Record) -> None:
    assert MemoryTimeline(record).peak == 4000
    assert MemoryTimeline(record, measure="rounded").peak == 5120
    assert MemoryTimeline(record, measure="reserved").peak == 5120


def test_an_unknown_measure_is_refused_with_a_suggestion(record: Record) -> None:
    with pytest.raises(ArgumentError, match="Did you mean rounded"):
        MemoryTimeline(record, measure="round")


def test_the_table_names_categories_and_the_largest_owners(record: Record) -> None:
    table = repr(MemoryTimeline(record).table())
    lines = [" ".join(line.split()) for line in table.splitlines()]
    assert "parameter 1000 B 1000 B" in lines
    assert "activation 0 B 2.93 KiB" in lines
    assert "Convolution lenet/conv0 forward activation 2.93 KiB" in lines


@pytest.mark.parametrize("axis", ["time", "events"])
@pytest.mark.parametrize("dark", [False, True])
def test_the_picture_is_well_formed_and_complete(
    record: Record, axis: str, dark: bool
) -> None:
    picture = MemoryTimeline(record, axis=axis).svg(dark=dark)
    root = ET.fromstring(picture)
    words = " ".join(root.itertext())
    assert "peak 3.91 KiB" in words
    assert "MXNET_CPU_MEM_POOL_TYPE=Round" in words
    assert {"parameter", "activation", "reserved"} <= set(words.split())


def test_the_same_record_gives_the_same_picture(record: Record) -> None:
    first, second = MemoryTimeline(record), MemoryTimeline(record)
    assert first.svg() == second.svg()


def test_an_empty_record_says_so() -> None:
    view = MemoryTimeline(Record())
    assert "no pool events" in view.svg()
    assert repr(view).startswith("MemoryTimeline(cpu(0), peak=0 B")
    assert "total" in repr(view.table())


def test_a_short_peak_is_never_lost_between_steps() -> None:
    record, owner = Record(), Owner("op", "", "forward", "activation")
    for block in range(5000):
        size = 10_000_000 if block == 2345 else 10
        record.memory("alloc", "cpu(0)", block, size, size, 0, owner)
        record.memory("free", "cpu(0)", block, size, size, 0, owner)
    layout = lay_out(record, device="cpu(0)", axis="events", steps=50)
    assert layout.bands["activation"].max() == 10_000_000
    assert layout.peak == 10_000_000
    assert len(layout.edges) <= 50


def test_bands_add_up_to_the_curve(record: Record) -> None:
    layout = lay_out(record, device="cpu(0)", axis="events")
    total = record.memory_curve("cpu(0)").total
    assert np.array_equal(sum(layout.bands.values()), total)


def test_devices_are_listed_the_busiest_first(record: Record) -> None:
    owner = Owner("op", "", "forward", "activation")
    for block in range(20):
        record.memory("alloc", "gpu(0)", 100 + block, 8, 8, 0, owner)
    view = MemoryTimeline(record)
    assert view.devices == ["gpu(0)", "cpu(0)"]
    assert view.shown_device == "gpu(0)"
    assert MemoryTimeline(record, device="cpu(0)").shown_device == "cpu(0)"

"""The device view: lanes by device, links, and what crossed them."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest

from minimx.core.record import Record
from minimx_widgets import DeviceView
from minimx_widgets.run import News
from minimx_widgets.views.device_view import crossings, in_order

MICRO = 1000
# name, device, worker, start and end in microseconds, and from where to where
OPERATIONS = (
    ("CopyCPU2GPU", "gpu(0)", "gpu(0) copy/0", 0, 100, ("host", "gpu(0)")),
    ("dot", "gpu(0)", "gpu(0)/0", 100, 180, None),
    ("relu", "gpu(0)", "gpu(0)/1", 100, 140, None),
    ("CopyGPU2GPU", "gpu(0)", "gpu(0) copy/1", 180, 280, ("gpu(0)", "gpu(1)")),
    ("CopyGPU2GPU", "gpu(0)", "gpu(0) copy/0", 180, 380, ("gpu(0)", "gpu(1)")),
    ("dot", "gpu(1)", "gpu(1)/0", 280, 400, None),
    ("KVStoreReduce", "cpu(0)", "cpu priority/3", 280, 300, None),
)


@pytest.fixture
def record() -> Record:
    """Two GPUs; the second copy between them waits for the link."""
    made = Record()
    begin = made.conditions.t_start = 1_000_000 * MICRO
    for name, device, worker, start, end, way in OPERATIONS:
        t0, t1 = begin + MICRO * start, begin + MICRO * end
        op = made.new_op()
        times = (t0, t0, t0, t1)
        made.op(op, name, "", "forward", device, worker, *times, 0, 0, False)
        if way is not None:
            made.communication(t1 - 100 * MICRO, t1, "", *way, 1_000_000, "forward")
    made.dependency(1, 2, "RAW")
    made.dependency(2, 4, "RAW")
    return made


def test_one_line_tells_the_key_numbers(record: Record) -> None:
    assert repr(DeviceView(record)) == (
        "DeviceView(7 operations, 3 devices, 2.86 MiB over 2 links, clock=wall)"
    )
    assert "0 B over 0 links" in repr(DeviceView(Record()))


def test_lanes_stand_device_by_device() -> None:
    assert in_order(
        [
            "gpu(1)/0",
            "copy/0",
            "gpu(0) copy/0",
            "a → b",
            "gpu(0) priority/0",
            "gpu(0)/10",
        ]
        + ["gpu(0)/9", "python", "pool/1"]
    ) == [
        "python",
        "gpu(0)/9",
        "gpu(0)/10",
        "gpu(0) priority/0",
        "gpu(0) copy/0",
        "gpu(1)/0",
        "pool/1",
        "copy/0",
        "a → b",
    ]


def test_a_stretch_of_a_link_belongs_to_its_copy(record: Record) -> None:
    found = crossings(record)
    assert found["link"].tolist() == ["host → gpu(0)"] + ["gpu(0) → gpu(1)"] * 2
    assert record.ops()["op"][found["row"]].tolist() == [1, 4, 5]


def test_a_link_is_busy_only_while_it_carries(record: Record) -> None:
    busy = DeviceView(record).busy
    assert busy["gpu(0) copy/0"] == pytest.approx(300 / 400)
    assert busy["gpu(0) → gpu(1)"] == pytest.approx(200 / 400)
    assert busy["host → gpu(0)"] == pytest.approx(100 / 400)


def test_the_tables_tell_lanes_and_links_apart(record: Record) -> None:
    table = repr(DeviceView(record).table())
    lines = [" ".join(line.split()) for line in table.splitlines()]
    assert "gpu(0) → gpu(1) 2 1.91 MiB 200 µs 50 % 10 GB/s" in lines
    assert "gpu(0) copy/0 2 300 µs 75 % 200 µs" in lines
    assert sum("→" in line for line in lines) == 2


@pytest.mark.parametrize("axis", ["time", "events"])
@pytest.mark.parametrize("dark", [False, True])
def test_the_picture_names_devices_streams_and_links(
    record: Record, axis: str, dark: bool
) -> None:
    words = list(ET.fromstring(DeviceView(record, axis=axis).svg(dark=dark)).itertext())
    for word in ("gpu(0)", "gpu(1)", "links", "stream 1", "copy 1", "urgent 3"):
        assert word in words
    assert words.count("gpu0→gpu1") == 1


def test_a_selected_copy_gets_its_arrows_in_its_own_lane(record: Record) -> None:
    view = DeviceView(record)
    plain = view.svg()
    view.select(4)
    assert view.svg().count("<polygon") == plain.count("<polygon") + 1
    assert view.run.selected == 4


def test_the_browser_gets_links_and_places(record: Record) -> None:
    view = DeviceView(record)
    batch = record.since(None)
    news = News(batch, batch["mem"], list(batch.strings), full=True)
    columns = view.columns(news)
    assert columns["links"]["op"].tolist() == [1, 4, 5]
    assert columns["links"]["bytes"].tolist() == [1e6] * 3
    assert len(columns["ops"]["op"]) == 7
    places = view.extras([news])["places"]
    assert places[0] == ["python", "program", "python"]
    assert places[-1] == ["host → gpu(0)", "links", "host→gpu0"]


def test_an_empty_record_is_a_picture_too() -> None:
    view = DeviceView(Record())
    assert view.lanes == ["python"]
    ET.fromstring(view.svg())
    assert "Links" in repr(view.table())

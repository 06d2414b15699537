"""Two records compared, operator by operator."""

from __future__ import annotations

import time
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
import traitlets

from minimx.core.record import Record
from minimx_widgets import ABCompare
from minimx_widgets.views.ab_compare import Delta, begin, deltas, span
from minimx_widgets.views.engine_timeline import LEFT, RIGHT

MICRO = 1000


def made(*rows: tuple[str, str, int, int]) -> Record:
    """A record of (operator, layer, start, end), in microseconds."""
    record = Record().start()
    record.stop()
    for name, layer, start, end in rows:
        times = (MICRO * start, MICRO * start, MICRO * start, MICRO * end)
        op = record.new_op()
        record.op(op, name, layer, "forward", "cpu(0)", "cpu(0)/0", *times, 0, 0, False)
    return record


@pytest.fixture
def pair() -> Iterator[ABCompare]:
    first = made(("dot", "a", 0, 40), ("exp", "b", 40, 50), ("exp", "b", 50, 60))
    second = made(("dot", "a", 0, 42), ("exp", "c", 45, 46))
    shown = ABCompare(first, second, names=("old", "new"))
    yield shown
    shown.close()


def test_operations_are_aligned_by_what_they_are(pair: ABCompare) -> None:
    assert pair.deltas == [
        Delta("exp", "b", "forward", (2, 0), (20 * MICRO, 0)),
        Delta("dot", "a", "forward", (1, 1), (40 * MICRO, 42 * MICRO)),
        Delta("exp", "c", "forward", (0, 1), (0, 1 * MICRO)),
    ]
    assert [one.change for one in pair.deltas] == [-20 * MICRO, 2 * MICRO, MICRO]
    back = deltas(pair.records[1], pair.records[0])
    assert [one.change for one in back] == [20 * MICRO, -2 * MICRO, -MICRO]


def test_all_time_is_accounted_for(pair: ABCompare) -> None:
    for which, record in enumerate(pair.records):
        ops = record.ops()
        total = sum(one.took[which] for one in pair.deltas)
        assert total == (ops["t_end"] - ops["t_start"]).sum()
        assert sum(one.calls[which] for one in pair.deltas) == len(ops)


def test_words_table_and_picture(pair: ABCompare, tmp_path: Path) -> None:
    assert repr(pair) == "ABCompare(60 µs → 46 µs, 0.767 ×, 3 → 2 operations)"
    assert pair.table().rows[0][3:] == ("2 → 0", "20 µs → 0 ns", "-20 µs")
    picture = pair.save(tmp_path / "pair.svg", dark=True).read_text()
    ET.fromstring(picture)
    assert "old → new: what changed" in picture
    data, _ = pair._repr_mimebundle_()
    assert data["text/plain"] == repr(pair)


def bars(picture: str, words: str) -> list[tuple[float, float]]:
    """Begin and length of the boxes that say `words`, in pixels."""
    space = "{http://www.w3.org/2000/svg}"
    return [
        (float(node.attrib["x"]), float(node.attrib["width"]))
        for node in ET.fromstring(picture).iter(f"{space}rect")
        if words in "".join(node.itertext())
    ]


def late(start: int) -> Record:
    """A record whose first operation of two comes so many microseconds in."""
    return made(("dot", "a", start, start + 30), ("exp", "b", start + 30, start + 40))


def test_times_are_common_and_begin_with_the_first_push() -> None:
    first, second = late(1000), made(("dot", "a", 0, 30), ("exp", "b", 80, 160))
    shift = begin(first) - begin(second)
    assert shift >= 500 * MICRO  # they began to record apart
    pair = ABCompare(first, second, names=("early", "late"))
    pictures = [view.svg() for view in pair.views]
    boxes = [bars(picture, "dot, a")[0] for picture in pictures]
    assert boxes[0] == pytest.approx(boxes[1], abs=0.02)
    wide = 900 - LEFT - RIGHT
    assert boxes[0] == pytest.approx((LEFT, wide * 30 / 160), abs=0.02)
    ticks = [picture.count("<text") for picture in pictures]
    assert ticks[0] == ticks[1] and all(">50 µs<" in picture for picture in pictures)
    pair.times = "own"
    assert [view.times for view in pair.views] == ["own", "own"]
    longer = [bars(view.svg(), "dot, a")[0][1] for view in pair.views]
    assert longer == pytest.approx([wide * 30 / 40, wide * 30 / 160], abs=0.02)
    pair.views[1]._hear(None, {"kind": "times", "times": "common"}, None)
    assert pair.times == "common" == pair.views[0].times
    with pytest.raises(traitlets.TraitError):
        pair.times = "other"
    pair.close()


def test_empty_records_are_compared_as_well() -> None:
    shown = ABCompare(made(), made())
    assert (shown.deltas, shown.spans, span(made())) == ([], (0, 0), 0)
    assert repr(shown) == "ABCompare(0 ns → 0 ns, 0 → 0 operations)"
    ET.fromstring(shown.svg())
    shown.close()


def test_two_records_of_ten_thousand_operations_are_aligned_quickly() -> None:
    rows = [(f"op{k % 50}", f"layer{k % 20}", k, k + 1) for k in range(10_000)]
    pair: Sequence[Record] = [made(*rows), made(*rows)]
    for record in pair:
        record.ops()
    start = time.thread_time()
    assert len(deltas(*pair)) == 100
    assert time.thread_time() - start < 0.2

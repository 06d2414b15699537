"""Two records compared, operator by operator."""

from __future__ import annotations

import time
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import traitlets

import minimx as mx
from minimx.core.errors import ArgumentError, MXNetError
from minimx.core.record import Record
from minimx.experiments import align, rerun
from minimx_widgets import ABCompare
from minimx_widgets.compare.differences import Delta, deltas
from minimx_widgets.compare.timeline import begin, span
from minimx_widgets.views.engine_timeline import LEFT, RIGHT
from tests.experiments.programs import Program, perceptron, recorded

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
    back = deltas(align(pair.sides[1].record, pair.sides[0].record))
    assert [one.change for one in back] == [20 * MICRO, -2 * MICRO, -MICRO]


def test_all_time_is_accounted_for(pair: ABCompare) -> None:
    for which, side in enumerate(pair.sides):
        ops = side.record.ops()
        total = sum(one.took[which] for one in pair.deltas)
        assert total == (ops["t_end"] - ops["t_start"]).sum()
        assert sum(one.calls[which] for one in pair.deltas) == len(ops)


def test_words_table_and_picture(pair: ABCompare, tmp_path: Path) -> None:
    assert repr(pair) == "ABCompare(60 µs → 46 µs, 0.767 ×, 3 → 2 pushes)"
    figures, operators = pair.table().parts
    assert operators.rows[0][3:] == ("2 → 0", "20 µs → 0 ns", "-20 µs")
    made = {row[0]: row[1:] for row in figures.rows}
    assert made["pushes"] == ("3", "2", "−1", "0.667 ×")
    assert made["makespan"] == ("60 µs", "46 µs", "−14 µs", "0.767 ×")
    picture = pair.save(tmp_path / "pair.svg", dark=True).read_text()
    ET.fromstring(picture)
    assert "B: new" in picture and "which operators changed" in picture
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


def graph_run() -> tuple[Any, Record]:
    """A small hybridized network, and a record of one step of it."""
    program = Program(perceptron(8, 8), mx.cpu(), hybrid=True, steps=1)
    return program, recorded(program)


def test_a_knob_of_b_is_turned_in_a_replay_and_no_other() -> None:
    program, record = graph_run()
    pair = ABCompare(record, net=program.net, program=program, names=("run", ""))
    assert pair.names == ("run", "run replayed") and pair.rows[0].direction == "="
    pair.turn(MXNET_EXEC_ENABLE_INPLACE=False)
    assert pair.names[1] == "run with MXNET_EXEC_ENABLE_INPLACE=0"
    expected = rerun(record, net=program.net, MXNET_EXEC_ENABLE_INPLACE=False)
    assert pair.sides[1].figures["peak"] == sum(expected.peak.values())
    assert pair.sides[1].figures["peak"] > pair.sides[0].figures["peak"]
    assert mx.knobs.MXNET_EXEC_ENABLE_INPLACE is True
    assert "MXNET_EXEC_ENABLE_INPLACE" in pair.why
    revision = pair.revision
    for wrong in ({"MXNET_HOME": "/"}, {"MXNET_CPU_WORKER_NTHREADS": "many"}):
        with pytest.raises(MXNetError):
            pair.turn(**wrong)
    pair.turn(MXNET_EXEC_ENABLE_INPLACE=False)  # as it is
    assert pair.revision == revision
    trial = pair.measure()
    assert trial.record is pair.sides[1].trial.record  # type: ignore[union-attr]
    assert pair.table().parts[0].heads[3] == "B, measured"
    pair.swap()
    assert [side.predicted for side in pair.sides] == [True, False]
    with pytest.raises(ArgumentError, match="B is a record"):
        pair.measure()
    pair.close()


def test_a_frozen_side_stays_and_another_one_follows() -> None:
    _, record = graph_run()
    pair = ABCompare(record)
    pair.turn(MXNET_CPU_MEM_POOL_TYPE="Round")
    assert pair.sides[0].run is record
    pair.freeze(False)
    pair.turn(MXNET_CPU_MEM_POOL_PAGE_SIZE=16384)
    assert [side.changes for side in pair.sides] == [
        {"MXNET_CPU_MEM_POOL_TYPE": "Round"},
        {"MXNET_CPU_MEM_POOL_TYPE": "Round", "MXNET_CPU_MEM_POOL_PAGE_SIZE": 16384},
    ]
    pair.freeze()
    pair.reset()
    assert pair.sides[1].changes == {} and pair.names[1] == "A replayed"
    pair.close()


def test_files_are_compared_and_their_operations_found_in_each_other(
    tmp_path: Path,
) -> None:
    first = made(("dot", "a", 0, 40), ("exp", "b", 40, 50))
    second = made(("exp", "b", 0, 9), ("dot", "a", 10, 55))
    paths = [
        record.save(tmp_path / f"{place}.npz")
        for place, record in enumerate((first, second))
    ]
    pair = ABCompare(paths[0], paths[1], names=("monday", "friday"))
    ids = [side.record.ops()["op"].tolist() for side in pair.sides]
    assert pair.counterpart(0, ids[0][0]) == ids[1][1]
    assert pair.counterpart(1, ids[1][0]) == ids[0][1]
    assert pair.counterpart(0, 999) == 0
    assert "did not change" in pair.why or "makespan" in pair.why
    pair.close()
    with pytest.raises(ArgumentError, match="second run"):
        ABCompare(first, second, MXNET_ENGINE_TYPE="NaiveEngine")


def test_runs_of_different_networks_are_compared_and_the_cause_is_not_looked_for() -> (
    None
):
    pair = ABCompare(made(("dot", "a", 0, 40)), made(("exp", "b", 0, 9)))
    assert "different networks" in pair.why and len(pair.deltas) == 2
    ET.fromstring(pair.svg(dark=True))
    pair.close()


def test_messages_of_the_page_do_the_same_and_are_answered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    _, record = graph_run()
    pair = ABCompare(record)
    answers: list[Any] = []
    monkeypatch.setattr(pair.board, "tell", answers.append)
    turned = {"kind": "set", "name": "MXNET_CPU_MEM_POOL_PAGE_SIZE", "text": "8192"}
    for message in (turned, {"kind": "swap"}, {"kind": "swap"}, {"kind": "measure"}):
        pair._asked(message)
    assert [one["ok"] for one in answers] == [True, True, True, False]
    assert "program=f" in answers[-1]["text"]
    assert pair.board.state["values"]["MXNET_CPU_MEM_POOL_PAGE_SIZE"] == "8192"
    pair._asked({"kind": "drop", "name": "MXNET_CPU_MEM_POOL_PAGE_SIZE"})
    assert pair.board.state["turned"] == {}
    pair._asked({"kind": "table"})
    assert answers[-2]["kind"] == "table" and "peak of memory" in answers[-2]["html"]
    pair.close()


def test_empty_records_are_compared_as_well() -> None:
    shown = ABCompare(made(), made())
    assert (shown.deltas, span(made())) == ([], 0)
    assert repr(shown) == "ABCompare(0 ns → 0 ns, 0 → 0 pushes)"
    ET.fromstring(shown.svg())
    shown.close()


def test_two_records_of_ten_thousand_operations_are_aligned_quickly() -> None:
    rows = [(f"op{k % 50}", f"layer{k % 20}", k, k + 1) for k in range(10_000)]
    pair: Sequence[Record] = [made(*rows), made(*rows)]
    start = time.thread_time()
    assert len(deltas(align(*pair))) == 100
    assert time.thread_time() - start < 0.2


def test_of_long_records_causes_are_looked_for_when_they_are_asked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("minimx_widgets.views.ab_compare.EXPLAINED", 1)
    pair = ABCompare(made(("dot", "a", 0, 40), ("exp", "b", 40, 50)), made())
    assert "2 operations" in pair.said != pair.why and "`why`" in pair.svg()
    pair.close()

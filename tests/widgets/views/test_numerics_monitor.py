"""The numerics monitor says the same in a line, a table, a picture, to a browser."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import traitlets

from minimx.core.dtypes import POWERS
from minimx.core.errors import ArgumentError
from minimx.core.record import Record
from minimx_widgets import EngineTimeline, NumericsMonitor
from minimx_widgets.run import News
from minimx_widgets.views.numerics_monitor import RECORDED


def counted(**powers: int) -> Any:
    """A row of counts: `m24=3` are three numbers from 2**-24 up to 2**-23."""
    row = np.zeros(4 + len(POWERS))
    for name, many in powers.items():
        if name in ("zeros", "infinite", "nan"):
            row[("zeros", "infinite", "nan").index(name)] = many
            continue
        power = -int(name[1:]) if name[0] == "m" else int(name[1:])
        row[4 + power - POWERS[0]] = many
        row[3] += many * 4.0**power
    return row


@pytest.fixture
def record() -> Record:
    """Step 1 overflows at a scale of 2**16, step 2 does not at 2**12."""
    made = Record()
    for step, scale, first in ((1, 2.0**16, {"infinite": 2}), (2, 2.0**12, {})):
        for layer, powers in (("conv", {"m30": 1, "p4": 3}), ("dense", {"m20": 4})):
            path, name = f"net/{layer}", f"net_{layer}_weight"
            about = (path, name, "float32", "float16")
            made.tensor(step, "weight", *about, 1.0, counted(m5=7, zeros=1))
            row = counted(**(powers | first)) if layer == "conv" else counted(**powers)
            made.tensor(step, "gradient", *about, scale, row)
        guilty = ("net_conv_weight", "net/conv", 1) if first else ()
        made.scaling(step, scale, bool(first), *guilty)
    return made


def test_one_line_tells_the_key_numbers(record: Record) -> None:
    assert repr(NumericsMonitor(record)) == (
        "NumericsMonitor(gradients, step 2, 2 layers, float16, lost=12 %, "
        "overflow=0 %, skipped=1)"
    )
    assert repr(NumericsMonitor(record, at=1)).endswith("overflow=20 %, skipped=1)")
    assert len(repr(NumericsMonitor(record))) < 110


def test_the_table_says_what_becomes_of_the_numbers(record: Record) -> None:
    lines = repr(NumericsMonitor(record, at=1).table()).splitlines()
    assert lines[0] == "Gradients in step 1"
    assert lines[2].split()[:2] == ["conv", "float16"]
    assert "2^-30 … 2^4" in lines[2]
    assert lines[5] == "Skipped: 1 of 2 steps"
    assert lines[7].split() == ["1", "65536", "net_conv_weight", "net/conv", "1"]


def test_another_scale_moves_the_gradients_and_nothing_else(record: Record) -> None:
    view = NumericsMonitor(record)
    assert view.shares()["zero"] == pytest.approx(1 / 8)
    view.what_if(scale=2.0**23)  # eleven powers more than recorded
    (conv, dense) = view.rows()
    assert conv.shown.span == (-19, 15)
    assert conv.recorded.span == (-30, 4)
    assert view.shares()["zero"] == 0
    assert view.shares()["overflow"] == 0
    assert conv.norm == pytest.approx(np.sqrt(3 * 4.0**4) / 2**12)
    view.what_if(scale=2.0**24)
    assert view.shares()["overflow"] == pytest.approx(3 / 8)
    assert view.highest_scale() == 23
    assert dense.shown.span == (-9, -9)
    view.kind = "weight"
    assert view.rows()[0].shown.span == (-5, -5)
    view.what_if()
    assert (view.scale, view.dtype) == (RECORDED, "in use")


def test_another_type_has_other_zones(record: Record) -> None:
    view = NumericsMonitor(record)
    view.what_if("bfloat16")
    assert view.shares() == {"zero": 0, "subnormal": 0, "normal": 1, "overflow": 0}
    assert {row.dtype for row in view.rows()} == {"bfloat16"}


def test_where_something_overflowed_no_scale_is_promised(record: Record) -> None:
    assert NumericsMonitor(record, at=1).highest_scale() is None


def test_norms_have_the_scale_divided_out(record: Record) -> None:
    steps, norms = NumericsMonitor(record).norms()
    assert steps.tolist() == [1, 2]
    assert norms[1] / norms[0] == pytest.approx(2.0**4)


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("kind", ["weight", "gradient"])
def test_the_picture_is_well_formed(record: Record, kind: str, dark: bool) -> None:
    view = NumericsMonitor(record, kind=kind, unit="tensors")
    words = " ".join(ET.fromstring(view.svg(dark=dark)).itertext())
    assert "conv.weight" in words
    assert "scale" in words and "norm" in words
    assert "step 1 was skipped" in words


def test_the_picture_of_many_layers_stays_small() -> None:
    record = Record()
    for k in range(90):
        about = (f"net/conv{k}", f"net_conv{k}_weight", "float32", "float32")
        row = counted(**{f"m{p}": 5 for p in range(1, 50)})
        record.tensor(1, "gradient", *about, 1.0, row)
    picture = NumericsMonitor(record).svg()
    assert picture.count("<rect") < 5000
    assert "and 50 more" in picture
    assert "no loss was scaled" in picture


def test_before_training_there_is_nothing_to_say() -> None:
    view = NumericsMonitor(Record())
    assert repr(view) == "NumericsMonitor(gradients, step 0, 0 layers)"
    assert view.highest_scale() is None
    assert "Nothing was looked at" in view.svg()
    repr(view.table())


def test_a_saved_record_shows_the_same(record: Record, tmp_path: Path) -> None:
    loaded = Record.load(record.save(tmp_path / "run.npz"))
    live, saved = NumericsMonitor(record), NumericsMonitor(loaded)
    assert repr(saved) == repr(live)
    assert saved.svg() == live.svg()


def test_the_browser_gets_looks_counts_and_zones(record: Record) -> None:
    view = NumericsMonitor(record)
    batch = record.since()
    news = News(batch, np.zeros(0), record.strings, full=True)
    columns = view.columns(news)
    assert columns["tensors"]["scale"].tolist()[1] == 2.0**16
    assert columns["exponents"]["power"].min() == -30
    assert columns["scaling"]["skipped"].tolist() == [1, 0]
    assert view.extras([news])["layouts"]["float16"] == [-25, -14, 15]


def test_what_the_browser_chose_is_what_the_table_shows(record: Record) -> None:
    view = NumericsMonitor(record)
    view._hear(
        view, {"kind": "show", "shown": "weight", "at": 1, "dtype": "float32"}, []
    )
    assert (view.kind, view.at, view.dtype) == ("weight", 1, "float32")
    assert repr(view.table()).startswith("Weights in step 1")


def test_bad_wishes_are_refused(record: Record) -> None:
    view = NumericsMonitor(record)
    with pytest.raises(ArgumentError, match="powers of two, such as 1024"):
        view.what_if(scale=1000)
    with pytest.raises(ArgumentError, match="powers of two"):
        view.what_if(scale=0)
    with pytest.raises(ArgumentError, match="there are float16"):
        view.what_if("float8")
    with pytest.raises(ArgumentError, match="from -12 to 24"):
        view.scale = 30
    with pytest.raises(traitlets.TraitError):
        view.kind = "loss"
    assert (view.scale, view.dtype) == (RECORDED, "in use")


def test_a_running_record_sends_what_is_new(record: Record) -> None:
    view = NumericsMonitor(record)
    first = record.since()
    record.tensor(
        3, "weight", "net/conv", "w", "float32", "float32", 1.0, counted(m5=9)
    )
    then = record.since(first.cursor)
    news = [
        News(batch, np.zeros(0), record.strings, full=batch is first)
        for batch in (first, then)
    ]
    (header,) = view._frames(news, 0, view.kept_rows)
    names = [name for name, _ in header["tables"]["tensors"]]
    steps = np.frombuffer(header["buffers"][names.index("step")], "f8")
    assert steps.tolist() == record.tensors()["step"].tolist()
    assert view.rate <= 20


def test_devices_that_differ_are_rows_of_tensors_and_together_in_layers() -> None:
    made = Record()
    for place, many in ((0, 3), (1, 5)):
        about = ("net/conv", f"output of gpu({place})", "float32", "float32")
        made.tensor(1, "activation", *about, 1.0, counted(m5=many))
        about = ("net/conv", f"net_conv_weight of gpu({place})", "float32", "float32")
        made.tensor(1, "gradient", *about, 1.0, counted(m7=many))
    view = NumericsMonitor(made, kind="activation", unit="tensors")
    rows = [(row.label, row.shown.size) for row in view.rows()]
    assert rows == [("conv gpu(0)", 3), ("conv gpu(1)", 5)]
    view.kind = "gradient"
    rows = [(row.label, row.shown.size) for row in view.rows()]
    assert rows == [("conv.weight of gpu(0)", 3), ("conv.weight of gpu(1)", 5)]
    view.unit = "layers"
    assert [(row.label, row.shown.size) for row in view.rows()] == [("conv", 8)]


def test_a_layer_is_marked_with_an_operation_and_the_other_way_round(
    record: Record, monkeypatch: pytest.MonkeyPatch
) -> None:
    for op, (layer, phase) in enumerate(
        [("net/conv", "forward"), ("net/dense/fc", "forward"), ("net/conv", "backward"),
         ("net/conv2", "backward")], 1,
    ):  # fmt: skip
        row = (record.new_op(), "op", layer, phase, "cpu(0)", "cpu(0)/0")
        record.op(*row, op, op, op, op + 1, 0, 0, False)
    view = NumericsMonitor(record)
    sent: list[Any] = []
    other = EngineTimeline(view.run)
    monkeypatch.setattr(other, "tell", sent.append)
    assert view.newest("net/conv") == 3, "of the backward pass, and not of net/conv2"
    assert view.newest("net/dense") == 0
    view.kind = "activation"
    assert view.newest("net/dense") == 2, "a part of the layer"
    view.select(2)
    assert view.marked == "net/dense/fc" and sent[-1]["op"] == 2
    view.run.replace(Record())
    assert (
        view.marked == "" and view.state_string == "NumericsMonitor:1?kind=activation"
    )
    view.run.close()

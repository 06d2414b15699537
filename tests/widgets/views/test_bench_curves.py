"""The curves of a benchmark: what they say without a browser."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from minimx.commands.bench.fit import Saturation
from minimx.commands.bench.result import Cell, Result, save
from minimx.commands.bench.run import Plan
from minimx.core.errors import ArgumentError
from minimx_widgets import BenchCurves

MACHINE = {
    "processor": "a processor",
    "cores": 2,
    "threads": 2,
    "memory_gib": 24,
    "python": "3.11",
    "numpy": "2.0",
    "blas": "openblas",
    "numba": "0.61",
    "minimx": "0.1.0",
    "load": 0.1,
}


def result() -> Result:
    """Two networks whose times follow laws, and OOM of one."""
    plan = Plan("score", ("vgg16", "resnet50_v2"), (1, 2, 4, 8, 128, 256), ctx="gpu")
    cells = []
    for model, law in (
        ("vgg16", Saturation(0.05, 0.15, 0.0)),
        ("resnet50_v2", Saturation(0.03, 0.04, 0.0)),
    ):
        for batch in (1, 2, 4, 8):
            speed = law.speed(batch)
            cells.append(Cell(model, batch, "ok", speed, (batch / speed,), batch << 28))
    cells += [Cell("vgg16", batch, "oom", note="full") for batch in (128, 256)]
    return Result(MACHINE, plan.settings, cells)


def test_the_line_names_the_key_numbers() -> None:
    view = BenchCurves(result())
    assert repr(view) == (
        "BenchCurves(VGG-16, score, 4 batch sizes up to 8, 6.4 images/s at most, "
        "90% of the peak from batch 3, 2 OOM)"
    )
    view._hear(None, {"kind": "show", "model": "resnet50_v2"}, None)
    assert "ResNet-50" in repr(view) and "OOM" not in repr(view)
    view.close()


@pytest.mark.parametrize("dark", [False, True])
def test_a_static_picture_has_points_lines_and_marks(
    tmp_path: Path, dark: bool
) -> None:
    view = BenchCurves(result(), machines=("K80", "V100 fp16"))
    root = ET.fromstring(view.save(tmp_path / "a.svg", dark=dark).read_text())
    space = "{http://www.w3.org/2000/svg}"
    words = [node.text for node in root.iter(f"{space}text")]
    assert words.count("OOM") == 2
    assert "K80" in words and "V100 fp16" in words and "C5.xlarge" not in words
    assert len(list(root.iter(f"{space}circle"))) == 4
    titles = [node.text for node in root.iter(f"{space}title")]
    assert "batch 8: 6.4 images/s" in titles
    view.close()


def test_a_column_on_one_s_own() -> None:
    """No law, no document, one point: it is drawn all the same."""
    settings = Plan("train", ("mobilenet0.25",), (4,)).settings
    cells = [Cell("mobilenet0.25", 4, "ok", 100.0, (0.04,))]
    view = BenchCurves(Result(MACHINE, settings, cells))
    assert "1 batch size up to 4" in repr(view) and "<circle" in view.svg()
    assert "mobilenet0.25" in view.table().html()
    view.close()


def test_numbers_of_the_document_stand_beside_ours(tmp_path: Path) -> None:
    save(tmp_path / "mine.json", result())
    view = BenchCurves(str(tmp_path / "mine.json"))
    measured, vgg, resnet = view.table().parts
    assert measured.rows[3] == ("VGG-16", "8", "6.4", "2 GiB", "")
    assert vgg.heads[:3] == ("batch", "here", "C5.18xlarge")
    k80 = vgg.heads.index("K80")
    assert [row[k80] for row in vgg.rows if row[0] == "128"] == ["OOM"]
    assert "ResNet-50" in resnet.caption
    view.close()


def test_what_cannot_be_drawn() -> None:
    with pytest.raises(ArgumentError, match="Did you mean vgg16"):
        BenchCurves(result(), model="vgg19")
    with pytest.raises(ArgumentError, match="no cells"):
        BenchCurves(Result(MACHINE, {}, []))

"""Pictures of notebooks: out of stored outputs, without their words."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from minimx_widgets.course.starting import pictures

ROOT = Path(__file__).parents[4]
SVG = "{http://www.w3.org/2000/svg}"


def drawn(address: str) -> ElementTree.Element:
    kind, _, data = address.partition(";base64,")
    assert kind == "data:image/svg+xml"
    return ElementTree.fromstring(base64.b64decode(data))


@pytest.mark.parametrize(
    "path",
    sorted((ROOT / "notebooks").glob("*.ipynb")),
    ids=lambda path: path.stem,
)
def test_every_notebook_has_a_picture_that_tells_no_answer(path: Path) -> None:
    picture = drawn(pictures.picture(path))
    assert "".join(picture.itertext()).strip() == ""
    assert not any("label" in name for one in picture.iter() for name in one.attrib)
    assert len(list(picture.iter())) > 10


def test_the_richest_stored_picture_is_taken(tmp_path: Path) -> None:
    def output(shapes: int) -> dict[str, object]:
        lines = "<line x1='1'/>" * shapes
        return {"data": {"image/svg+xml": f"<svg xmlns='{SVG[1:-1]}'>{lines}</svg>"}}

    cells = [
        {"cell_type": "code", "source": "", "outputs": [output(number)]}
        for number in (1, 3, 2)
    ]
    path = tmp_path / "a.ipynb"
    path.write_text(json.dumps({"cells": cells}))
    assert len(drawn(pictures.picture(path))) == 3


@pytest.mark.parametrize("text", ["", "{", '{"cells": []}'])
def test_without_a_stored_picture_there_is_none(tmp_path: Path, text: str) -> None:
    path = tmp_path / "a.ipynb"
    assert pictures.picture(path) == ""
    path.write_text(text)
    assert pictures.picture(path) == ""


@pytest.mark.parametrize(
    ("anchor", "left"), [("start", 100.0), ("middle", 80.0), ("end", 60.0)]
)
def test_a_word_becomes_a_bar_at_its_place(anchor: str, left: float) -> None:
    text = f"<text x='100' y='50' text-anchor='{anchor}' fill='#123'>97 KiB!!</text>"
    svg = f"<svg xmlns='{SVG[1:-1]}' font-size='10'><g>{text}</g></svg>"
    (bar,) = ElementTree.fromstring(pictures.without_words(svg)).iter(f"{SVG}rect")
    assert float(bar.attrib["x"]) == left
    assert float(bar.attrib["width"]) == 40
    assert float(bar.attrib["y"]) + float(bar.attrib["height"]) == 50
    assert bar.attrib["fill"] == "#123"


def test_what_is_no_svg_is_refused() -> None:
    with pytest.raises(ValueError, match="no SVG"):
        pictures.without_words("<svg")

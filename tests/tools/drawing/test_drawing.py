"""A drawing shows itself without Graphviz's program, and says what takes it."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import graphviz
import pytest

import minimx as mx
from minimx.tools.drawing.dot import digraph
from minimx.tools.drawing.drawing import SVG, Drawing

SPACE = {"svg": "http://www.w3.org/2000/svg"}


@pytest.fixture
def drawing() -> Drawing:
    data = mx.sym.var("data<&>")
    hidden = mx.sym.FullyConnected(data, num_hidden=4, name="fc")
    return digraph(mx.sym.BatchNorm(hidden, name="bn").graph, title="net")


@pytest.fixture
def without_dot(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))


def places(picture: str) -> dict[str, float]:
    """How far down each node is, by its last line."""
    root = ElementTree.fromstring(picture)
    found = {}
    for group in root.iterfind("svg:g", SPACE):
        words, rect = group.find("svg:title", SPACE), group.find("svg:rect", SPACE)
        assert words is not None and words.text and rect is not None
        found[words.text.split("\n")[:2][-1]] = float(rect.attrib["y"])
    return found


def test_our_own_picture_has_every_node_and_every_edge(drawing: Drawing) -> None:
    picture = drawing.svg()
    found = places(picture)
    assert len(found) == drawing.source.count("fillcolor=") == 9
    assert found["data<&>"] < found["fc"] < found["bn"]
    edges = ElementTree.fromstring(picture).findall("svg:polyline", SPACE)
    assert len(edges) == drawing.source.count("->") == 8
    assert picture.count("stroke-dasharray") == 2  # both moving averages


def test_it_runs_upwards_if_asked_to() -> None:
    net = mx.sym.exp(mx.sym.sin(mx.sym.var("x"), name="sin"), name="exp")
    found = places(mx.viz.plot_network(net, shape={"x": (2, 3)}).svg())
    assert found["x"] > found["sin"] > found["exp"]
    assert "2×3" in mx.viz.plot_network(net, shape={"x": (2, 3)}).svg()


@pytest.mark.usefixtures("without_dot")
def test_a_notebook_shows_it_without_the_program(drawing: Drawing) -> None:
    assert drawing._repr_mimebundle_() == {SVG: drawing.svg()}
    assert drawing._repr_mimebundle_(exclude=[SVG]) == {}
    assert drawing.source.startswith("digraph net {")


@pytest.mark.usefixtures("without_dot")
def test_what_takes_the_program_says_so(drawing: Drawing, tmp_path: Path) -> None:
    with pytest.raises(graphviz.ExecutableNotFound, match="apt-get install graphviz"):
        drawing.render("net", directory=tmp_path)
    assert (tmp_path / "net").read_text(encoding="utf-8") == drawing.source
    with pytest.raises(graphviz.ExecutableNotFound, match="`.svg..` gives"):
        drawing.pipe("png")


def test_a_copy_is_its_own(drawing: Drawing) -> None:
    other = drawing.copy()
    other.node("more")
    other.edge("more", "n0", "here")
    assert "more" in other.source and "more" not in drawing.source
    assert len(places(other.svg())) == len(places(drawing.svg())) + 1


def test_an_empty_drawing_is_a_picture() -> None:
    assert ElementTree.fromstring(Drawing("empty").svg()).attrib["width"] == "24"

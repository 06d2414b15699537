"""A graph as boxes and lines: what is in them, and that both faces agree."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest

from minimx.core.graph.values.specs import every_spec
from minimx_widgets import svg
from minimx_widgets.pictures.graph_picture import (
    Box,
    GraphPicture,
    backward_half,
    box_of,
    draw,
    shared_prefix,
)
from minimx_widgets.training.subject import Subject
from tests.widgets import graphs
from tests.widgets.pictures.fitting import faults


@pytest.fixture
def picture() -> GraphPicture:
    subject = Subject.of(graphs.deep(2), {"data": (4, 8)}, "View")
    specs = every_spec(subject.graph, subject.variables)
    nodes = subject.graph.nodes
    place = {node: k for k, node in enumerate(nodes)}
    lines = [
        (place[entry.node], place[node], "kept")
        for node in nodes
        for entry in node.inputs
    ]
    return GraphPicture.of([box_of(node, specs) for node in nodes], lines)


def test_a_box_tells_settings_and_shapes(picture: GraphPicture) -> None:
    facts = {box.name: dict(box.facts) for box in picture.boxes}
    assert facts["net_fc0"]["num_hidden"] == "8"
    assert facts["net_fc0"]["output"] == "4×8 float32, 128 B"
    assert facts["data"] == {"node": "data", "output": "4×8 float32, 128 B"}


def test_names_are_short_where_all_begin_alike(picture: GraphPicture) -> None:
    message = picture.as_message()
    assert {row[1] for row in message["boxes"]} >= {"data", "fc0", "act1", "fc1_bias"}
    assert shared_prefix(["conv0_weight", "dense0"]) == ""


def test_the_backward_half_is_known_by_what_it_computes() -> None:
    _, gradient, _ = graphs.accounts(graphs.deep(3), data=(2, 8))
    back = backward_half(gradient.after)
    forward = [node for node in gradient.after if node not in back]
    assert {node.name for node in forward} == {n.name for n in gradient.before}
    assert any(node.op is None for node in back), "the gradient that comes in"
    assert backward_half(gradient.before) == set()


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("scale", [0.3, 1.0])
def test_the_drawing_holds_every_box(
    picture: GraphPicture, scale: float, dark: bool
) -> None:
    parts = draw(picture, x=0, y=0, scale=scale, dark=dark)
    root = ET.fromstring(svg.picture(800, 600, parts, title="t", dark=dark))
    titles = [node.text or "" for node in root.iter() if node.tag.endswith("title")]
    for box in picture.boxes:
        assert any(title.startswith(f"node: {box.name}\n") for title in titles)
    words = [node.text for node in root.iter() if node.tag.endswith("text")]
    assert ("FullyConnected" in words) == (scale == 1.0), "no words too small to read"


def test_a_badge_has_its_own_space() -> None:
    box = Box("net_dense0_fwd", "FullyConnected", "variable", badge="4.25 MiB")
    parts = draw(GraphPicture.of([box], []), x=9, y=9, scale=1.0, dark=False)
    drawing = svg.picture(300, 100, parts, title="t", dark=False)
    assert ">4.25 MiB<" in drawing
    assert "<title>FullyConnected</title>" in drawing, "it is cut"
    assert faults(drawing) == []

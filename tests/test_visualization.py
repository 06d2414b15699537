"""A network as a table and as a drawing. The table was compared with MXNet 1.9.1."""

from __future__ import annotations

from typing import Any

import pytest

import minimx as mx
from minimx import gluon, symbol, viz


def network() -> Any:
    data = symbol.var("data")
    conv = symbol.Convolution(data, kernel=(3, 3), num_filter=4, name="conv")
    norm = symbol.BatchNorm(conv, name="bn")
    both = symbol.Concat(norm, conv, dim=1, name="both")
    dense = symbol.FullyConnected(both, num_hidden=10, name="fc")
    return symbol.SoftmaxOutput(dense, name="softmax")


def fields(text: str) -> list[list[str]]:
    """The words of every line that has some."""
    lines = [line.split() for line in text.splitlines()]
    return [line for line in lines if line and set(line[0]) not in ({"_"}, {"="})]


def test_a_table_of_layers(capsys: pytest.CaptureFixture[str]) -> None:
    viz.print_summary(network(), shape={"data": (1, 3, 8, 8)})
    text = capsys.readouterr().out
    assert fields(text)[1:] == [
        ["data(null)", "3x8x8", "0"],
        ["conv(Convolution)", "4x6x6", "112", "data"],
        ["bn(BatchNorm)", "4x6x6", "8", "conv"],
        ["both(Concat)", "8x6x6", "0", "bn"],
        ["conv"],
        ["fc(FullyConnected)", "10", str(8 * 36 * 10 + 10), "both"],
        ["softmax(SoftmaxOutput)", "10", "0", "fc"],
        ["Total", "params:", str(112 + 8 + 2890)],
    ]
    assert {len(line) for line in text.splitlines()[:3]} == {120}


def test_weights_that_are_shared_count_once(
    capsys: pytest.CaptureFixture[str],
) -> None:
    weight, x = symbol.var("w"), symbol.var("x")
    for name in ("one", "two"):
        x = symbol.FullyConnected(x, weight, num_hidden=3, no_bias=True, name=name)
    viz.print_summary(x, {"x": (2, 3)}, 40, (0.5, 0.7, 0.8, 1.0))
    text = capsys.readouterr().out
    assert fields(text)[-1] == ["Total", "params:", "9"]
    assert {len(line) for line in text.splitlines() if "par" not in line} == {40}


def test_a_table_of_a_block_is_that_of_its_graph(
    capsys: pytest.CaptureFixture[str],
) -> None:
    net = gluon.model_zoo.vision.squeezenet1_1()
    viz.print_summary(net(symbol.var("data")), {"data": (1, 3, 224, 224)})
    assert fields(capsys.readouterr().out)[-1][-1] == "1235496"


def test_without_shapes_nothing_is_known(capsys: pytest.CaptureFixture[str]) -> None:
    viz.print_summary(network())
    assert fields(capsys.readouterr().out)[2] == ["conv(Convolution)", "0", "data"]


def test_a_drawing() -> None:
    net = network()
    settings: Any = {"shape": {"data": (1, 3, 8, 8)}, "save_format": "svg"}
    drawing = viz.plot_network(
        net, "net", node_attrs={"fontname": "Courier"}, **settings
    )
    assert drawing.format == "svg"
    assert drawing.source.startswith("digraph net {")
    assert "fontname=Courier" in drawing.source
    assert "1×4×6×6" in drawing.source
    assert "conv_weight" not in drawing.source
    assert "softmax_label" in drawing.source
    whole = viz.plot_network(net, hide_weights=False).source
    assert "conv_weight" in whole
    assert "bn_moving_var" in whole
    assert "×" not in whole


def test_names_that_occur_twice_are_told() -> None:
    x = symbol.var("data")
    for _ in range(2):
        x = symbol.FullyConnected(x, name="fc", num_hidden=2)
    with pytest.warns(UserWarning, match="same name in your graph: fc, fc_bias"):
        viz.plot_network(x)


@pytest.mark.parametrize("draw", [viz.print_summary, viz.plot_network])
def test_what_cannot_be_shown(draw: Any) -> None:
    with pytest.raises(ValueError, match="do not tell all others"):
        draw(network(), shape={"softmax_label": (1,)})
    with pytest.raises(TypeError, match="symbol"):
        draw(mx.nd.ones(2))

"""What goes into a view of graphs: any kind of network, with the shapes it needs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minimx as mx
from minimx.core.errors import ArgumentError, ShapeError
from minimx.gluon import nn
from minimx_widgets.training.networks import lenet
from minimx_widgets.training.subject import Subject


def test_a_block_and_its_symbol_are_the_same_subject() -> None:
    net = lenet(28, 10)
    block = Subject.of(net, {"data": (2, 1, 28, 28)}, "View")
    symbol = Subject.of(net(mx.sym.var("data")), {"data": (2, 1, 28, 28)}, "View")
    names = [node.name for node in block.graph]
    assert names == [node.name for node in symbol.graph]
    assert list(block.variables.values()) == list(symbol.variables.values())


class Scaled(nn.HybridBlock):
    """A block written in the manner of MXNet 2."""

    def __init__(self) -> None:
        super().__init__()
        self.dense = nn.Dense(3, in_units=5)

    def forward(self, x: Any, by: Any) -> Any:
        return self.dense(x) * by


def test_blocks_of_mxnet_2_get_their_inputs_in_order() -> None:
    net = Scaled()
    net.initialize()
    subject = Subject.of(net, {"x": (2, 5), "by": (2, 3)}, "View")
    assert subject.given == ("data0", "data1")
    shapes = {node.name: spec.shape for node, spec in subject.variables.items()}
    assert (shapes["data0"], shapes["data1"]) == ((2, 5), (2, 3))
    assert [node.name.rpartition("_")[2] for node in subject.wanted] == [
        "weight",
        "bias",
    ]


def test_everything_but_the_data_wants_a_gradient() -> None:
    net = mx.sym.BatchNorm(mx.sym.FullyConnected(mx.sym.var("x"), num_hidden=3))
    subject = Subject.of(net, {"x": (2, 5)}, "View")
    names = [node.name for node in subject.wanted]
    assert [name.rpartition("_")[2] for name in names] == [
        "weight",
        "bias",
        "gamma",
        "beta",
    ]
    assert len(subject.variables) == 7


def test_an_array_brings_its_type() -> None:
    net = mx.sym.sin(mx.sym.var("x"))
    subject = Subject.of(net, {"x": np.zeros((2, 3), "float16")}, "View")
    (spec,) = subject.variables.values()
    assert (spec.shape, spec.dtype) == ((2, 3), np.dtype("float16"))


def test_a_misspelt_input_is_named_with_its_neighbour() -> None:
    net = mx.sym.sin(mx.sym.var("data"))
    with pytest.raises(ArgumentError, match=r"no input 'dat'.*data"):
        Subject.of(net, {"dat": (2, 3)}, "View")


def test_open_shapes_are_named() -> None:
    net = mx.sym.sin(mx.sym.var("data"))
    with pytest.raises(ShapeError, match="the shapes of data are not known"):
        Subject.of(net, {}, "View")


def test_a_block_without_inputs_and_other_things_have_no_graph() -> None:
    with pytest.raises(ArgumentError, match="Give the shape of each"):
        Subject.of(lenet(28, 10), {}, "View")
    with pytest.raises(ArgumentError, match="ndarray has no graph"):
        Subject.of(np.zeros(3), {}, "View")

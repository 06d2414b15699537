"""MXNET_SUBGRAPH_BACKEND=ONEDNN is alive, where oneDNN is installed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minimx as mx
from minimx.fast.onednn import library as dnnl
from tests.core.knobs.proofs import defaults, proves, turned
from tests.core.knobs.test_pass_liveness import as_block, as_symbol
from tests.quantization.networks import images, network

__all__ = ["defaults"]

pytestmark = pytest.mark.skipif(not dnnl.library(), reason="oneDNN is not installed")
SHAPE = (1, 3, 8, 8)


def operators(graph: Any) -> list[str]:
    """The operators of a graph, those inside of regions too."""
    found: list[str] = []
    for node in graph:
        if node.op is not None:
            region = node.op.name == "_onednn_region"
            found += operators(node.op.graph) if region else [node.op.name]
    return found


def convolved(space: Any, x: Any) -> Any:
    """A convolution of constants, relu, and a sum."""
    weight = space.ones((4, 3, 3, 3)) * 0.1
    out = space.Convolution(x, weight, kernel=(3, 3), num_filter=4, no_bias=True)
    return space.relu(out) + 1


@pytest.mark.parametrize("way", [as_symbol, as_block])
@pytest.mark.parametrize("name", ["ONEDNN", "MKLDNN"])
@proves("MXNET_SUBGRAPH_BACKEND")
def test_a_layer_is_one_node(way: Any, name: str) -> None:
    outs = []

    def observe() -> int:
        graph, out = way(convolved, SHAPE)
        outs.append(out)
        return operators(graph).count("_sg_mkldnn_conv")

    assert turned(observe, MXNET_SUBGRAPH_BACKEND=name) == (0, 1)
    np.testing.assert_allclose(outs[1], outs[0], rtol=1e-5)


def test_regions_take_them_with_the_same_bits() -> None:
    """A fused layer costs no copies more than its parts, which regions join anyway."""
    x = images(4)
    net = network(x)
    outs, graphs = [], []
    with mx.knobs(MXNET_CUDNN_HEUR_MODE=0):
        for name in ("NONE", "ONEDNN"):
            with mx.knobs(MXNET_SUBGRAPH_BACKEND=name):
                net.hybridize(clear=True)
                outs.append(net(x).asnumpy())
                (ready,) = net._graphs.values()
                (variant,) = ready.op._variants.values()
                graphs.append([n.op.name for n in variant.prepared.graph if n.op])
    np.testing.assert_array_equal(*outs)
    assert graphs[0] == graphs[1]
    assert "_onednn_region" in graphs[0]


@pytest.mark.parametrize("way", [as_symbol, as_block])
@proves("MXNET_SUBGRAPH_BACKEND")
def test_its_use_is_told(way: Any, capsys: pytest.CaptureFixture[str]) -> None:
    with mx.knobs(MXNET_SUBGRAPH_BACKEND="ONEDNN"):
        way(convolved, SHAPE)
    assert "Subgraph backend ONEDNN is activated: 1 patterns" in capsys.readouterr().out

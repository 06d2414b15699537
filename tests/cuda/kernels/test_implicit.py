"""Convolution as a product that is never stored, against the direct one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numba import cuda

import minimx as mx
from minimx.core.errors import OperatorError
from minimx.core.kernels.convolution import DATA, FORWARD, WEIGHT, Geometry
from minimx.core.ops.registry import lookup
from minimx.core.ops.spec import Spec
from minimx.cuda import toolkit
from minimx.cuda.kernels.core import conv
from minimx.cuda.launches.core.conv import algorithm
from minimx.fast.convolution import algorithms
from minimx.fast.convolution.algorithms import on_cuda

#: images, channels, height, width, filters, kernel, stride, dilate, pad, groups, out
SHAPES = {
    "plain": Geometry(2, 3, 5, 4, 5, 3, 3, 1, 1, 1, 1, 0, 0, 1, 3, 2),
    "strided": Geometry(1, 2, 6, 5, 3, 3, 2, 2, 2, 1, 1, 1, 1, 1, 3, 3),
    "dilated": Geometry(2, 2, 5, 5, 2, 2, 2, 1, 2, 2, 1, 1, 0, 1, 5, 2),
    "groups": Geometry(1, 4, 4, 4, 6, 3, 3, 1, 1, 1, 1, 1, 1, 2, 4, 4),
}
MAKERS = {
    FORWARD: conv.forward,
    DATA: conv.data_gradient,
    WEIGHT: conv.weight_gradient,
}


def arrays(direction: str, at: Geometry) -> tuple[list[Any], list[Any]]:
    """What is read, and what is written."""
    drawn = np.random.default_rng(3)

    def some(*shape: int) -> Any:
        return drawn.normal(size=shape).astype("float32")

    data = some(at.images, at.channels, at.height, at.width)
    weight = some(at.filters, at.channels // at.groups, at.kernel_h, at.kernel_w)
    out = some(at.images, at.filters, at.out_h, at.out_w)
    bias = some(at.filters)
    return {
        FORWARD: ([data, weight, bias], [out]),
        DATA: ([out, weight], [data]),
        WEIGHT: ([out, data], [weight, bias]),
    }[direction]


@pytest.mark.usefixtures("working")
@pytest.mark.parametrize("at", SHAPES.values(), ids=SHAPES)
@pytest.mark.parametrize("direction", MAKERS)
def test_tiles_give_what_the_plain_sum_gives(
    direction: str, at: Geometry, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(algorithms, "SHORTEST", 4)
    found = []
    for one in on_cuda(direction, at, 4):
        ins, outs = arrays(direction, at)
        there = [cuda.to_device(np.full_like(x, np.nan)) for x in outs]
        MAKERS[direction](one, at)(*map(cuda.to_device, ins), *there)
        found.append([x.copy_to_host() for x in there])
    assert algorithms.tiles(WEIGHT, at).parts > 1
    for direct, tiled in zip(*found, strict=True):
        np.testing.assert_allclose(tiled, direct, rtol=2e-5, atol=2e-6)


def chosen(**settings: Any) -> str:
    """Which algorithm a layer of many channels gets."""
    op: Any = lookup("Convolution").of(
        kernel=(3, 3), num_filter=64, no_bias=True, **settings
    )
    data = Spec.of((8, 64, 28, 28), np.dtype("float32"))
    return "".join(algorithm(op, way, data).name[0] for way in MAKERS)


@pytest.mark.skipif("not toolkit.simulated()", reason="a real device measures")
def test_the_knobs_of_the_tuner_act_on_cuda() -> None:
    assert toolkit.simulated()
    assert chosen() == "iii"
    assert chosen(cudnn_off=True) == "ddd"
    with mx.knobs(MXNET_CUDNN_DISABLED_CONV_DGRAD_ENGINES="9"):
        assert chosen() == "idi"
    with (
        mx.knobs(MXNET_CUDNN_DISABLED_CONV_FWD_ENGINES="0,9"),
        pytest.raises(OperatorError, match=r"implicit \(9\)"),
    ):
        chosen()
    # The parts of the weight's gradient need memory, and a limit may forbid them.
    assert chosen(workspace=0) == "iid"
    assert chosen(workspace=0, cudnn_tune="fastest") == "iii"

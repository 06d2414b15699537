"""The knobs of tensor cores: what a GPU's products cost, and how they round."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minimx as mx
from minimx import nd
from minimx.core.device import Device, cpu, gpu
from minimx.core.knobs import knobs
from tests.core.knobs.proofs import proves, turned

DRAW = np.random.default_rng(5)
IMAGES = DRAW.standard_normal((2, 8, 10, 10)).astype(np.float32)
WEIGHT = DRAW.standard_normal((4, 8, 3, 3)).astype(np.float32)
MATRIX = DRAW.standard_normal((24, 24)).astype(np.float32)


def product_ns(dtype: str, device: Device, graph: bool = False) -> int:
    """How long a product of matrices takes on the virtual clock."""
    a = nd.ones((512, 512), device, dtype=dtype)
    if graph:
        x = mx.sym.var("x", dtype=dtype)
        bound = mx.sym.dot(x, x).bind(device, {"x": a})
        bound.forward()
        nd.waitall()
    with mx.Record() as record:
        bound.forward() if graph else nd.dot(a, a)
        nd.waitall()
    ops = record.ops()
    return int((ops["t_end"] - ops["t_start"])[-1])


@proves("MXNET_CUDA_ALLOW_TENSOR_CORE")
@pytest.mark.parametrize("graph", [False, True])
def test_products_of_halves_are_quick_on_tensor_cores(graph: bool) -> None:
    with knobs(MINIMX_CLOCK="virtual"):
        quick, slow = turned(
            lambda: product_ns("float16", gpu(0), graph), MXNET_CUDA_ALLOW_TENSOR_CORE=0
        )
        assert quick < slow / 3
        on_cpu = turned(
            lambda: product_ns("float16", cpu(), graph), MXNET_CUDA_ALLOW_TENSOR_CORE=0
        )
        assert on_cpu[0] == on_cpu[1]
        assert product_ns("float32", gpu(0), graph) > 3 * quick


def convolved(device: Device, way: str) -> Any:
    """A convolution in one of the ways of computing it."""
    x, w = nd.array(IMAGES, device), nd.array(WEIGHT, device)
    words: Any = {"kernel": (3, 3), "num_filter": 4, "no_bias": True}
    if way == "graph":
        made = mx.sym.Convolution(mx.sym.var("x"), mx.sym.var("w"), **words)
        return made.bind(device, {"x": x, "w": w}).forward()[0].asnumpy()
    if way == "gradient":
        w.attach_grad()
        with mx.autograd.record():
            out = nd.Convolution(x, w, **words)
        out.backward(out.detach())
        return w.grad.asnumpy()
    if way == "dot":
        return nd.dot(nd.array(MATRIX, device), nd.array(MATRIX, device)).asnumpy()
    return nd.Convolution(x, w, **words).asnumpy()


@proves("MXNET_CUDA_TENSOR_OP_MATH_ALLOW_CONVERSION")
@pytest.mark.parametrize("way", ["call", "graph", "gradient", "dot"])
def test_floats_are_rounded_to_halves_where_that_is_allowed(way: str) -> None:
    exact = convolved(cpu(), way)

    def error() -> float:
        return float(np.abs(convolved(gpu(0), way) - exact).max() / np.abs(exact).max())

    def rounded() -> bool:
        return error() > 1e-5

    word = "MXNET_CUDA_TENSOR_OP_MATH_ALLOW_CONVERSION"
    assert turned(rounded, **{word: 1}) == (False, True)
    with knobs(**{word: 1}):
        assert 1e-5 < error() < 5e-3
        assert turned(rounded, MXNET_CUDA_ALLOW_TENSOR_CORE=0) == (True, False)
        np.testing.assert_array_equal(convolved(cpu(), way), exact)

"""Convolutions of integers by oneDNN: the same exact sums as without it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import minimx as mx
from minimx.contrib.quantization import quantize_net
from minimx.core.ops import registry
from minimx.core.ops.spec import Spec
from minimx.fast.onednn import library as dnnl
from minimx.operators.quantized.products import QuantizedConvolution
from tests.core.knobs.proofs import defaults
from tests.core.ops.interpreter import run
from tests.quantization.networks import images, network

__all__ = ["defaults"]

found = dnnl.loaded()
pytestmark = pytest.mark.skipif(
    found is None or not found.integers,
    reason="oneDNN is not installed, or the processor does not add integers",
)


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    registry.forget_plans()
    yield
    registry.forget_plans()


def sums(kind: str, words: dict[str, Any], x: Any, w: Any) -> Any:
    ends = [np.array([-1.0], "float32"), np.array([1.0], "float32")]
    op = QuantizedConvolution.of(num_filter=len(w), no_bias=True, **words)
    arrays = (x.astype(kind), w.astype("int8"), *ends, *ends)
    both = []
    for enabled in (1, 0):
        with mx.knobs(MXNET_ONEDNN_ENABLED=enabled):
            op.plans.clear()
            plan = op.plan(tuple(Spec.of(a.shape, a.dtype) for a in arrays))
            both.append((run(op, *arrays)[0], plan.workspace))
    return both


@given(
    st.sampled_from(["int8", "uint8"]),
    st.sampled_from([1, 2, 4]),
    st.integers(1, 9),
    st.sampled_from([(1, 1), (3, 3), (2, 5)]),
    st.sampled_from([(1, 1), (2, 1)]),
    st.integers(0, 99),
)
@settings(max_examples=30, deadline=None)
def test_the_sums_are_the_same(
    kind: str, groups: int, channels: int, kernel: Any, stride: Any, seed: int
) -> None:
    rng, ends = np.random.default_rng(seed), np.iinfo(kind)
    x = rng.integers(ends.min, ends.max + 1, (2, channels * groups, 7, 8))
    w = rng.integers(-128, 128, (3 * groups, channels, *kernel))
    words = {"kernel": kernel, "stride": stride, "num_group": groups, "pad": (1, 2)}
    (mine, room), (plain, other) = sums(kind, words, x, w)
    np.testing.assert_array_equal(mine, plain)
    assert room != other  # they took two ways


@pytest.mark.parametrize("kind", ["int8", "uint8"])
def test_the_largest_products_are_not_cut_off(kind: str) -> None:
    """16 bits do not hold two of them."""
    x = np.full((1, 64, 4, 4), np.iinfo(kind).max)
    w = np.full((16, 64, 3, 3), -128)
    (mine, _), (plain, _) = sums(kind, {"kernel": (3, 3)}, x, w)
    assert (mine == np.iinfo(kind).max * -128 * 64 * 9).all()
    np.testing.assert_array_equal(mine, plain)


def test_a_network_has_the_same_bits() -> None:
    x = images(4)
    net = network(x)
    made = quantize_net(net, calib_data=[x], calib_mode="naive")
    outs = []
    for enabled in (1, 0):
        with mx.knobs(MXNET_ONEDNN_ENABLED=enabled):
            registry.forget_plans()
            outs.append(made(x).asnumpy())
    np.testing.assert_array_equal(*outs)

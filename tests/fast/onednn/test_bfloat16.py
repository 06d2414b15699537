"""bfloat16 by the processor's own instruction: its errors, its bits, its refusals."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import minimx as mx
from minimx import nd
from minimx.core import autograd
from minimx.core.dtypes import bfloat16
from minimx.core.kernels.convolution import DATA, FORWARD, WEIGHT, Algorithm, Geometry
from minimx.core.kernels.cpu import matmul
from minimx.core.knobs import knobs
from minimx.core.operators.conv import Convolution
from minimx.fast.convolution.algorithms import known
from minimx.fast.convolution.choosing import decided
from minimx.fast.onednn import convolution as onednn
from minimx.fast.onednn import library as dnnl
from minimx.fast.onednn import products as onednn_products
from tests.core.kernels.test_convolution import (
    DIRECTIONS,
    LENET,
    Arrays,
    bounds,
    geometries,
)

#: Half the distance of 1 to the next bfloat16: what one rounding costs at most.
ROUNDING = 2.0**-8
#: The same for the sums, which are float32.
SUMMING = 2.0**-23


def takes() -> bool:
    """Whether oneDNN is here and the processor knows bfloat16."""
    pytest.importorskip("ml_dtypes")
    found = dnnl.loaded()
    return found is not None and found.bfloat16


there = pytest.mark.skipif(
    not takes(), reason="no oneDNN, or no instruction for bfloat16"
)


def drawn(*shape: int) -> Any:
    """Normal numbers of bfloat16."""
    return np.random.default_rng(0).standard_normal(shape).astype(bfloat16())


def offered(direction: str, at: Geometry, narrow: str = "bfloat16") -> Algorithm:
    every = known(direction, at, 4, 2, narrow)
    return next(one for one in every if one.name == "onednn")


@there
@given(geometries())
@settings(max_examples=25, deadline=None)
def test_a_convolution_is_rounded_once(at: Geometry) -> None:
    narrow, wide = Arrays(at, "bfloat16"), Arrays(at)
    for name in ("data", "weight", "bias", "dout"):
        setattr(wide, name, getattr(narrow, name).astype("float64"))
    for direction in DIRECTIONS:
        algorithm = offered(direction, at)
        assert (algorithm.dtype, "bf16" in algorithm.notes) == ("bfloat16", True)
        summing = bounds(at)[direction] * 4 * SUMMING
        pairs = zip(
            narrow.run_algorithm(direction, algorithm),
            wide.run(direction, 0),
            strict=True,
        )
        for got, wanted in pairs:
            assert got.dtype == bfloat16()
            off = np.abs(got.astype("float64") - wanted)
            assert (off <= ROUNDING * np.abs(wanted) + summing).all()


@there
@given(
    st.integers(1, 3),
    *(st.integers(1, 70) for _ in range(3)),
    st.booleans(),
    st.booleans(),
)
@settings(max_examples=60, deadline=None)
def test_a_product_is_rounded_once(
    stack: int, m: int, k: int, n: int, ta: bool, tb: bool
) -> None:
    a = drawn(stack, *((k, m) if ta else (m, k)))
    b = drawn(stack, *((n, k) if tb else (k, n)))
    out = np.full((stack, m, n), np.nan, bfloat16())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(onednn_products, "WORTH", 0)
        assert onednn_products.multiply(a, b, out, ta, tb)
    left, right = (x.astype("float64") for x in (a, b))
    left = left.swapaxes(1, 2) if ta else left
    right = right.swapaxes(1, 2) if tb else right
    wanted = left @ right
    summing = k * SUMMING * (np.abs(left) @ np.abs(right))
    off = np.abs(out.astype("float64") - wanted)
    assert (off <= ROUNDING * np.abs(wanted) + summing).all()


@there
@pytest.mark.parametrize(("ta", "tb"), [(0, 1), (1, 0), (0, 0)])
@pytest.mark.parametrize("lengths", [(64, 512, 128), (16, 40_000, 8)])
def test_bits_do_not_depend_on_threads(
    lengths: tuple[int, int, int], ta: int, tb: int
) -> None:
    m, k, n = lengths
    a, b = drawn(*((k, m) if ta else (m, k))), drawn(*((n, k) if tb else (k, n)))
    seen = set()
    for number in (1, 2, 3, 2, 1):
        out = np.empty((m, n), bfloat16())
        with knobs(OMP_NUM_THREADS=number):
            assert onednn_products.multiply(a, b, out, bool(ta), bool(tb))
        seen.add(out.tobytes())
    assert len(seen) == 1


@there
def test_threads_share_what_is_prepared() -> None:
    """And MXNET_ONEDNN_CACHE_NUM takes away what others compute with."""
    a, b = drawn(96, 300), drawn(80, 300)

    def multiplied(place: int) -> bytes:
        out = np.empty((96, 80), bfloat16())
        for _ in range(20):
            knobs.set(MXNET_ONEDNN_CACHE_NUM=place % 3)
            assert onednn_products.multiply(a, b, out, False, True)
        return out.tobytes()

    try:
        with ThreadPoolExecutor(4) as pool:
            assert len(set(pool.map(multiplied, range(8)))) == 1
    finally:
        knobs.reset("MXNET_ONEDNN_CACHE_NUM")


@there
@pytest.mark.parametrize("direction", [FORWARD, DATA])
def test_bits_of_a_convolution_do_not_depend_on_threads(direction: str) -> None:
    at = Geometry(3, 32, 14, 14, 48, 3, 3, 1, 1, 1, 1, 1, 1, 1, 14, 14)
    arrays, seen = Arrays(at, "bfloat16"), set()
    for number in (1, 2, 3, 1):
        with knobs(OMP_NUM_THREADS=number):
            (out,) = arrays.run_algorithm(direction, offered(direction, at))
        seen.add(out.tobytes())
    assert len(seen) == 1
    assert offered(direction, at).deterministic
    assert not offered(WEIGHT, at).deterministic


def layers(**turned: Any) -> tuple[int, list[Any]]:
    """What oneDNN was asked for by two layers, and their outputs and gradients."""
    rng = np.random.default_rng(0)

    def array(*shape: int) -> Any:
        made = nd.array(rng.standard_normal(shape) / 4).astype("bfloat16")
        made.attach_grad()
        return made

    x, w, b = array(4, 16, 14, 14), array(16, 16, 3, 3), array(16)
    v, c = array(64, 16 * 12 * 12), array(64)
    before = mx.runtime.onednn_primitives()
    with knobs(**turned), autograd.record():
        y = nd.Convolution(x, w, b, kernel=(3, 3), num_filter=16)
        out = nd.FullyConnected(y, v, c, num_hidden=64)
    with knobs(**turned):
        out.backward()
        nd.waitall()
    after = mx.runtime.onednn_primitives()
    asked = after.hits + after.misses - before.hits - before.misses
    found = [out, *(one.grad for one in (x, w, b, v, c))]
    return asked, [one.astype("float32").asnumpy() for one in found]


@there
def test_layers_take_it_and_may_leave_it() -> None:
    asked, fast = layers()
    unasked, readable = layers(MXNET_ONEDNN_ENABLED=0)
    assert unasked == 0
    # Forward and the data's gradient of both, and the weight's of the dense one.
    assert asked >= 5
    for got, wanted in zip(fast, readable, strict=True):
        # Both round each of two layers once.
        worst = np.abs(got - wanted).max() / np.abs(wanted).max()
        assert worst < 4 * ROUNDING


@there
def test_a_bias_is_added_before_the_result_is_rounded() -> None:
    a, b, bias = drawn(64, 128), drawn(64, 128), drawn(64)
    outs = []
    for enabled in (1, 0):
        out = np.empty((64, 64), bfloat16())
        with knobs(MXNET_ONEDNN_ENABLED=enabled):
            matmul.biased(a, b, bias, out)
        outs.append(out.astype("float64"))
    wide = [x.astype("float64") for x in (a, b, bias)]
    wanted = wide[0] @ wide[1].T + wide[2]
    sums = np.abs(wide[0]) @ np.abs(wide[1]).T + np.abs(wide[2])
    for out in outs:
        off = np.abs(out - wanted)
        assert (off <= ROUNDING * np.abs(wanted) + 128 * SUMMING * sums).all()


class Plain:
    """A processor without the instruction."""

    bfloat16 = False


def test_without_the_instruction_arrays_are_widened(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(dnnl, "loaded", Plain)
    monkeypatch.setattr(onednn, "loaded", Plain)
    onednn.offers.cache_clear()
    try:
        assert onednn.offered(FORWARD, LENET, "bfloat16") is None
        assert "instruction" in onednn.missing("bfloat16")
        a = drawn(64, 128)
        out = np.full((64, 64), np.nan, bfloat16())
        assert not onednn_products.multiply(a, a, out, False, True)
        assert np.isnan(out.astype("float32")).all()
        matmul.product(a, a, out, False, True)
        wide = a.astype("float32")
        np.testing.assert_array_equal(out, (wide @ wide.T).astype(out.dtype))
    finally:
        onednn.offers.cache_clear()


def test_float16_has_sums_of_its_own_and_bfloat16_has_not() -> None:
    pytest.importorskip("ml_dtypes")
    bfloat16()
    conv = Convolution.of(kernel=(3, 3), num_filter=8, no_bias=True)
    names = {}
    for dtype in ("float16", "bfloat16"):
        spec = nd.ones((2, 8, 9, 9), dtype=dtype).spec
        found = conv.choice(FORWARD, spec)
        decided(found)
        names[dtype] = {one.algorithm.name for one in found}
    assert names["float16"] - names["bfloat16"] == {"sliced"}

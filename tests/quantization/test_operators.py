"""Operators on integers of eight bits, against the same on real numbers.

A real number is off by half a level at most once it is an integer; what follows for a
result is added up for each operator.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import minimx as mx
from minimx import nd
from minimx.operators.quantized.products import exact_type

RNG = np.random.default_rng(5)
contrib: Any = nd.contrib


def reals(*shape: int, low: float = -1.0, high: float = 1.0) -> Any:
    return nd.array(RNG.uniform(low, high, shape))


def integers(x: Any, kind: str = "int8") -> Any:
    """As parameters are quantized: levels of 1 / 127 or 1 / 255 of the largest."""
    return contrib.quantize(x, x.min(), x.max(), out_type=kind)


def level(*triple: Any) -> float:
    values, low, high = triple
    top = {np.int8: 127, np.uint8: 255, np.int32: 2**31 - 1}[values.dtype]
    return float(max(abs(low.asscalar()), abs(high.asscalar())) / top)


def real(*triple: Any) -> Any:
    """The numbers that integers stand for."""
    return triple[0].asnumpy().astype(float) * level(*triple)


def convolved(parts: Any, words: Any) -> Any:
    """The convolution of the numbers that integers stand for."""
    numbers = [nd.array(real(*part), dtype="float64") for part in parts]
    function: Any = nd.Convolution
    return function(*numbers, **words)


@pytest.mark.parametrize("kind", ["int8", "uint8"])
@pytest.mark.parametrize("groups", [1, 2])
def test_a_convolution(kind: str, groups: int) -> None:
    x = reals(2, 4, 7, 6, low=0 if kind == "uint8" else -1)
    w, b = reals(6, 4 // groups, 3, 3), reals(6)
    words: Any = {"kernel": (3, 3), "num_filter": 6, "num_group": groups, "pad": (1, 0)}
    words |= {"stride": (2, 1), "dilate": (1, 2)}
    parts = [integers(x, kind), integers(w), integers(b)]
    arrays = [part[0] for part in parts] + [end for part in parts for end in part[1:]]
    found = real(*contrib.quantized_conv(*arrays, **words))
    exact = convolved(parts, words)
    # The bias loses less than a level of the output: the product of the other two.
    # And it is in the levels of what was rounded, which are a 250th away.
    slack = 1.01 * level(*parts[0]) * level(*parts[1]) + np.abs(b.asnumpy()).max() / 250
    np.testing.assert_allclose(found, exact.asnumpy(), rtol=1e-5, atol=slack)
    wanted = nd.Convolution(x, w, b, **words).asnumpy()
    off = 0.5 * sum(level(*part) for part in parts) * 4 // groups * 9 + slack
    assert np.abs(found - wanted).max() < max(off, 0.2)


@pytest.mark.parametrize("kernel", [(3,), (2, 3, 2)])
def test_lines_and_volumes(kernel: tuple[int, ...]) -> None:
    x, w = reals(2, 3, *[5] * len(kernel)), reals(4, 3, *kernel)
    words: Any = {"kernel": kernel, "num_filter": 4, "no_bias": True}
    parts = [integers(x), integers(w)]
    arrays = [part[0] for part in parts] + [end for part in parts for end in part[1:]]
    found = real(*contrib.quantized_conv(*arrays, **words))
    exact = convolved(parts, words)
    np.testing.assert_allclose(found, exact.asnumpy(), rtol=1e-5, atol=1e-6)


@given(st.integers(1, 1500), st.sampled_from(["int8", "uint8"]), st.integers(0, 99))
@settings(max_examples=30, deadline=None)
def test_sums_of_products_are_exact(terms: int, kind: str, seed: int) -> None:
    """At their largest, too: all products have the same sign."""
    rng = np.random.default_rng(seed)
    ends = np.iinfo(kind)
    x = np.full((3, terms), ends.max)
    x[1] = rng.integers(ends.min, ends.max + 1, terms)
    w = np.full((2, terms), -128)
    w[1] = rng.integers(-128, 128, terms)
    one = [nd.array([-127.0]), nd.array([127.0])]
    arrays = nd.array(x, dtype=kind), nd.array(w, dtype="int8")
    out, low, high = contrib.quantized_fully_connected(
        *arrays, *one, *one, num_hidden=2, no_bias=True
    )
    assert out.dtype == np.int32
    np.testing.assert_array_equal(out.asnumpy(), x.astype(np.int64) @ w.T)
    assert high.asscalar() == -low.asscalar() > 0


def test_where_single_precision_ends() -> None:
    for kind, largest in (("uint8", 255), ("int8", 128)):
        most = 2**24 // largest
        assert exact_type(np.dtype(kind), most) == np.float32
        assert exact_type(np.dtype(kind), most + 1) == np.float64


@pytest.mark.parametrize("total", [2**24 - 1, 2**24 + 1])
def test_sums_just_within_and_just_beyond_it(total: int) -> None:
    """2**24 + 1 is no number of float32."""
    x, w = [255] * 519, [127] * 518 + [7]
    if total > 2**24:
        x, w = [*x, 2], [*w, 1]
    assert sum(a * b for a, b in zip(x, w, strict=True)) == total
    one = [nd.array([-127.0]), nd.array([127.0])]
    arrays = nd.array([x], dtype="uint8"), nd.array([w], dtype="int8")
    words = {"num_hidden": 1, "no_bias": True}
    out = contrib.quantized_fully_connected(*arrays, *one, *one, **words)[0]
    assert int(out.asscalar()) == total


def test_a_range_of_nothing() -> None:
    zeros = nd.zeros((2, 3), dtype="int8")
    none = nd.zeros(1)
    dense = contrib.quantized_fully_connected(
        zeros, zeros, nd.ones(2, dtype="int8"), *[none] * 4,
        nd.array([-1]), nd.array([1]),
        num_hidden=2,
    )  # fmt: skip
    assert [float(part.asnumpy().max()) for part in dense] == [0, 0, 0]
    total = contrib.quantized_elemwise_add(zeros, zeros, *[none] * 4)
    assert [float(part.asnumpy().max()) for part in total] == [0, 0, 0]
    joined = contrib.quantized_concat(zeros, zeros, *[none] * 4, dim=1)
    assert joined[0].shape == (2, 6)


@given(st.sampled_from(["int8", "uint8"]), st.sampled_from(["int8", "uint8"]))
@settings(deadline=None)
def test_sums_and_products(one: str, two: str) -> None:
    a = contrib.quantize_v2(reals(5, 6, low=0 if one == "uint8" else -1), out_type=one)
    b = contrib.quantize_v2(
        reals(5, 6, low=0 if two == "uint8" else -2, high=2), out_type=two
    )
    values = [contrib.dequantize(*part).asnumpy() for part in (a, b)]
    arrays = a[0], b[0], *a[1:], *b[1:]
    ends = {"min_calib_range": -3.0, "max_calib_range": 3.0}
    for op, wanted in (
        (contrib.quantized_elemwise_add, values[0] + values[1]),
        (contrib.quantized_elemwise_mul, values[0] * values[1]),
    ):
        found = contrib.dequantize(*op(*arrays, **ends)).asnumpy()
        assert np.abs(found - wanted).max() <= 1.01 * 3 / 127.5
        wide = real(*op(*arrays))
        np.testing.assert_allclose(wide, wanted, rtol=0.01, atol=1e-5)


IMAGE = nd.ones((1, 4, 5, 5), dtype="int8")
WEIGHT = nd.ones((4, 4, 3, 3), dtype="int8")
LOW, HIGH = nd.array([-1.0]), nd.array([1.0])
ENDS = (LOW, HIGH)


@pytest.mark.parametrize(
    ("name", "arrays", "words", "error", "match"),
    [
        ("conv", (IMAGE.astype("float32"), WEIGHT, *ENDS, *ENDS), {"no_bias": True},
         "DTypeError", "data is float32, and is to be int8 or uint8"),
        ("conv", (IMAGE, WEIGHT.astype("uint8"), *ENDS, *ENDS), {"no_bias": True},
         "DTypeError", "weight is uint8, and is to be int8"),
        ("conv", (IMAGE, WEIGHT[:2], *ENDS, *ENDS), {"no_bias": True},
         "ShapeError", "weight is"),
        ("conv", (IMAGE, WEIGHT, nd.zeros(2), *ENDS, LOW), {"no_bias": True},
         "ShapeError", "a range, two arrays of one element"),
        ("act", (IMAGE, *ENDS), {"act_type": "tanh"}, "OperatorError", "only|relu"),
        ("pooling", (IMAGE, *ENDS), {"kernel": (2, 2), "pool_type": "sum"},
         "OperatorError", "'max' and 'avg'"),
        ("concat", (IMAGE, IMAGE), {}, "OperatorError", "three inputs for an array"),
        ("elemwise_add", (IMAGE, IMAGE[:, :2], *ENDS, *ENDS), {},
         "ShapeError", "not stretched"),
        ("batch_norm", (IMAGE, *[nd.ones(4)] * 4, *ENDS), {},
         "OperatorError", "no measured range"),
    ],
)  # fmt: skip
def test_bad_inputs(
    name: str, arrays: Any, words: dict[str, Any], error: str, match: str
) -> None:
    if name == "conv":
        words = {"kernel": (3, 3), "num_filter": 4, **words}
    with pytest.raises(getattr(mx.errors, error), match=match):
        getattr(contrib, f"quantized_{name}")(*arrays, **words)


def test_fused_operators_refuse_what_makes_no_sense() -> None:
    from minimx.core.ops.registry import lookup

    with pytest.raises(mx.errors.OperatorError, match="set with_sum too"):
        lookup("_sg_mkldnn_conv").of(kernel=(3,), num_filter=2, with_postsum_act=True)


def test_types_in_graphs_are_known_before_shapes() -> None:
    data = mx.sym.var("data")
    ints, low, high = mx.sym.contrib.quantize_v2(data, out_type="uint8")
    weight = mx.sym.var("weight")
    ends = [mx.sym.var(f"{end}_weight") for end in ("min", "max")]
    space: Any = mx.sym.contrib
    dense = space.quantized_fully_connected(
        ints, weight, low, high, *ends, num_hidden=3, no_bias=True, name="fc"
    )
    args, outs, _ = dense.infer_type(data="float32")
    assert [np.dtype(kind).name for kind in args] == [
        "float32", "int8", "float32", "float32"]  # fmt: skip
    assert [np.dtype(kind).name for kind in outs] == ["int32", "float32", "float32"]
    shapes, outs, _ = dense.infer_shape(data=(4, 7))
    assert shapes == [(4, 7), (3, 7), (1,), (1,)]
    assert outs == [(4, 3), (1,), (1,)]

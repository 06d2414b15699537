"""oneDNN's convolutions, where the library is installed, against the direct ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

from minimx import nd
from minimx.core.kernels.convolution import Algorithm, Geometry
from minimx.core.knobs import knobs
from minimx.fast.convolution.algorithms import known
from minimx.fast.onednn import convolution as onednn
from tests.core.kernels.test_convolution import (
    DIRECTIONS,
    LENET,
    Arrays,
    bounds,
    geometries,
)

there = pytest.mark.skipif(not onednn.library(), reason="oneDNN is not installed")


def offered(direction: str, at: Geometry, itemsize: int = 4) -> Algorithm:
    return next(one for one in known(direction, at, itemsize) if one.name == "onednn")


@there
@given(geometries())
@settings(max_examples=60, deadline=None)
def test_it_agrees_with_the_direct_algorithm(at: Geometry) -> None:
    single, double = Arrays(at, "float32"), Arrays(at)
    for direction in DIRECTIONS:
        algorithm = offered(direction, at)
        assert algorithm.unfit == ""
        bound = bounds(at)[direction] * 4 * float(np.finfo("float32").eps)
        pairs = zip(
            single.run_algorithm(direction, algorithm),
            double.run(direction, 0),
            strict=True,
        )
        for got, wanted in pairs:
            np.testing.assert_allclose(got, wanted, rtol=0, atol=bound)


@there
def test_operators_take_it_and_may_leave_it() -> None:
    x, w = (
        nd.random.normal(shape=(4, 64, 14, 14)),
        nd.random.normal(shape=(64, 64, 3, 3)),
    )
    settings: Any = {"kernel": (3, 3), "num_filter": 64, "no_bias": True}
    with knobs(MXNET_CUDNN_HEUR_MODE=0):
        fast = nd.Convolution(x, w, **settings).asnumpy()
    with knobs(MXNET_ONEDNN_ENABLED=0):
        readable = nd.Convolution(x, w, **settings).asnumpy()
    np.testing.assert_allclose(fast, readable, rtol=1e-3, atol=1e-3)


def test_without_it_nothing_is_offered_and_the_reason_is_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(onednn, "loaded", lambda: None)
    onednn.offers.cache_clear()
    try:
        for direction in DIRECTIONS:
            assert "pip install" in offered(direction, LENET).unfit
            assert offered(direction, LENET, 8).unfit == "only for float32"
    finally:
        onednn.offers.cache_clear()

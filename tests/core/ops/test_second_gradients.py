"""Gradients of gradients of a network's operators, through arrays and the tape."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minimx as mx
from minimx.core import autograd
from minimx.nd import functions
from tests.core.ops.sample import numbers
from tests.core.ops.samples import norm

#: An operator, its settings, and the shapes of the inputs it is differentiated by.
CALLS: list[tuple[str, dict[str, Any], list[tuple[int, ...]]]] = [
    ("softmax", {}, [(3, 4)]),
    ("log_softmax", {"axis": 0}, [(3, 4)]),
    ("LayerNorm", {}, [(3, 4), (4,), (4,)]),
    ("LayerNorm", {"axis": 0}, [(3, 4), (3,), (3,)]),
    ("GroupNorm", {"num_groups": 2}, [(2, 4, 2), (2,), (2,)]),
    ("InstanceNorm", {}, [(2, 3, 3), (3,), (3,)]),
    ("LRN", {"nsize": 3, "alpha": 1.0}, [(2, 4, 2, 1)]),
    ("UpSampling", {"scale": 2}, [(1, 2, 2, 2), (1, 1, 4, 4)]),
    (
        "UpSampling",
        {"scale": 2, "sample_type": "bilinear", "num_filter": 2},
        [(1, 2, 2, 2), (2, 1, 4, 4)],
    ),
    ("_contrib_BilinearResize2D", {"height": 3, "width": 2}, [(1, 2, 2, 3)]),
    ("_contrib_AdaptiveAvgPooling2D", {"output_size": 2}, [(1, 2, 3, 3)]),
    ("im2col", {"kernel": (2, 2)}, [(1, 2, 3, 3)]),
    ("col2im", {"kernel": (2, 2), "output_size": (3, 3)}, [(1, 8, 4)]),
    ("Correlation", {"pad_size": 1}, [(1, 2, 2, 3), (1, 2, 2, 3)]),
    (
        "GridGenerator",
        {"transform_type": "affine", "target_shape": (2, 3)},
        [(2, 6)],
    ),
    ("GridGenerator", {"transform_type": "warp"}, [(1, 2, 3, 2)]),
    ("BilinearSampler", {}, [(1, 2, 3, 4), (1, 2, 2, 3)]),
    ("SpatialTransformer", {"target_shape": (2, 3)}, [(1, 2, 4, 3), (1, 6)]),
    (
        "_contrib_DeformableConvolution",
        {"kernel": (2, 2), "num_filter": 2},
        [(1, 2, 3, 4), (1, 8, 2, 3), (2, 2, 2, 2), (2,)],
    ),
    (
        "_contrib_ModulatedDeformableConvolution",
        {"kernel": (2, 2), "num_filter": 2, "no_bias": True},
        [(1, 2, 3, 4), (1, 8, 2, 3), (1, 4, 2, 3), (2, 2, 2, 2)],
    ),
    ("L2Normalization", {}, [(3, 4)]),
    ("L2Normalization", {"mode": "channel"}, [(2, 3, 2)]),
    ("L2Normalization", {"mode": "spatial"}, [(2, 3, 2)]),
    ("BatchNorm", {"fix_gamma": False}, [(3, 2, 2), (2,), (2,)]),
    (
        "BatchNorm",
        {"fix_gamma": False, "use_global_stats": True},
        [(3, 2, 2), (2,), (2,)],
    ),
    ("FullyConnected", {"num_hidden": 2}, [(3, 4), (2, 4), (2,)]),
    ("Pooling", {"kernel": (2, 2)}, [(1, 2, 3, 3)]),
    ("Pooling", {"kernel": (2, 2), "pool_type": "avg"}, [(1, 2, 3, 3)]),
    (
        "Pooling",
        {"kernel": (2, 2), "pool_type": "lp", "p_value": 3},
        [(1, 2, 3, 3)],
    ),
    ("Pooling", {"kernel": (2, 2), "layout": "NHWC"}, [(1, 3, 3, 2)]),
    ("Pooling", {"kernel": (2, 2, 1)}, [(1, 2, 3, 3, 2)]),
    (
        "Deconvolution",
        {
            "kernel": (2, 2),
            "num_filter": 2,
            "stride": (1, 2),
            "adj": (0, 1),
            "no_bias": False,
        },
        [(1, 2, 3, 4), (2, 2, 2, 2), (2,)],
    ),
    (
        "Convolution",
        {"kernel": (2, 2, 1), "num_filter": 2, "pad": (1, 0, 0)},
        [(1, 2, 3, 3, 2), (2, 2, 2, 2, 1), (2,)],
    ),
    (
        "Convolution",
        {"kernel": (2, 2), "num_filter": 2, "stride": (1, 2), "pad": (1, 0)},
        [(1, 2, 3, 4), (2, 2, 2, 2), (2,)],
    ),
]


@pytest.mark.parametrize(
    ("name", "settings", "shapes"),
    CALLS,
    ids=[f"{c[0]}-{k}" for k, c in enumerate(CALLS)],
)
def test_the_second_gradient_is_the_slope_of_the_first(
    name: str, settings: dict[str, Any], shapes: list[tuple[int, ...]]
) -> None:
    """In one random direction for all inputs together."""
    inputs = [numbers(*s, seed=k) for k, s in enumerate(shapes)]
    ways = [numbers(*s, seed=k + 9) for k, s in enumerate(shapes)]
    function = functions.FUNCTIONS[name]
    states = [mx.nd.array(s, dtype="float64") for s in norm.MOVING]
    states = states if name == "BatchNorm" else []

    def slope(arrays: list[Any]) -> Any:
        """The derivative of sum(out**3) along the ways, still differentiable."""
        for array in arrays:
            array.attach_grad()
        with autograd.record():
            out = function(*arrays, *states, **settings)
            total = (out * out * out).sum()
            found = autograd.grad(total, arrays, create_graph=True)
            pairs = zip(found, ways, strict=True)
            return sum((g * mx.nd.array(w, dtype="float64")).sum() for g, w in pairs)

    def arrays_at(step: float) -> list[Any]:
        pairs = zip(inputs, ways, strict=True)
        return [mx.nd.array(x + step * w, dtype="float64") for x, w in pairs]

    here = arrays_at(0)
    slope(here).backward()
    second = sum((a.grad.asnumpy() * w).sum() for a, w in zip(here, ways, strict=True))
    step = 1e-5
    right, left = slope(arrays_at(step)), slope(arrays_at(-step))
    difference = float((right - left).asscalar()) / (2 * step)
    np.testing.assert_allclose(second, difference, rtol=1e-5, atol=1e-6)

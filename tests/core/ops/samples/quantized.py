"""Rows for operators on integers of eight bits.

The ranges of most inputs end at 127 or 127.5, so that the integers are the numbers.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.core.ops import oracles
from tests.core.ops.sample import Sample

TOP = 2147483647


def integers(*shape: int, low: int = -127, high: int = 128, seed: int = 0) -> Any:
    return np.random.default_rng(seed).integers(low, high, shape)


def ends(low: float, high: float) -> tuple[Any, Any]:
    return np.array([low], "float32"), np.array([high], "float32")


SIGNED = ends(-127, 127)
HALF = ends(-127.5, 127.5)
UNSIGNED = ends(0, 255)
IMAGE = integers(2, 3, 5, 6, low=0, high=256).astype("uint8")
DARK = integers(2, 3, 5, 6, seed=4).astype("int8")
WEIGHT = integers(4, 3, 3, 2, seed=1).astype("int8")
BIAS = integers(4, seed=2).astype("int8")
ROWS_IN = integers(3, 700, seed=3).astype("int8")
TABLE = integers(5, 700, seed=5).astype("int8")
NUMBERS = [np.linspace(a, b, 3).astype("float32") for a, b in ((1, 2), (-9, 9), (3, 5))]
VARIANCE = np.array([0.5, 1.0, 4.0], "float32")


def row(op: str, inputs: tuple[Any, ...], oracle: Any, **settings: Any) -> Sample:
    return Sample(op, inputs, settings, oracle, ("float32",), smooth=False)


def wide(found: Any, low: float = -TOP, high: float = TOP) -> tuple[Any, ...]:
    """Exact sums in a range whose level is 1."""
    return (np.asarray(found).astype(np.int32), *ends(low, high))


def convolution(x: Any, w: Any) -> Any:
    return oracles.Convolution(pad=(1, 1)).forward(x.astype(float), w.astype(float))


def pooled(reduce: Any, x: Any) -> Any:
    """Windows of two by two, side by side."""
    samples, channels, height, width = x.shape
    shape = samples, channels, height // 2, 2, width // 2, 2
    return reduce(x[:, :, : height // 2 * 2].astype(float).reshape(shape), axis=(3, 5))


def normalized(x: Any, gamma: Any, beta: Any, mean: Any, var: Any, *rest: Any) -> Any:
    column = (v.reshape(-1, 1, 1) for v in (gamma, beta, mean, var))
    gamma, beta, mean, var = column
    slope = gamma / np.sqrt(var + 1e-3)
    found = x * slope / np.sqrt(1.001) + beta - mean * slope  # eps twice, as in MXNet
    return np.clip(np.rint(found * 0.51), -128, 127).astype("int8"), *ends(-250, 200)


CONV = {"kernel": (3, 2), "num_filter": 4, "pad": (1, 1)}
POOL = {"kernel": (2, 2), "stride": (2, 2)}
ROWS = [
    row(
        "_contrib_quantized_conv",
        (IMAGE, WEIGHT, BIAS, *UNSIGNED, *SIGNED, *SIGNED),
        lambda x, w, b, *rest: wide(convolution(x, w) + b.reshape(-1, 1, 1)),
        **CONV,
    ),
    row(
        "_contrib_quantized_conv",
        (DARK, WEIGHT, *SIGNED, *SIGNED),
        lambda x, w, *rest: wide(convolution(x, w)),
        no_bias=True,
        **CONV,
    ),
    row(
        "_contrib_quantized_fully_connected",
        (ROWS_IN, TABLE, BIAS[[0, 1, 2, 3, 0]], *SIGNED, *SIGNED, *SIGNED),
        lambda x, w, b, *rest: wide(x.astype(int) @ w.T.astype(int) + b),
        num_hidden=5,
    ),
    row(
        "_contrib_quantized_fully_connected",
        (IMAGE[0], TABLE[:, :6], *UNSIGNED, *SIGNED),
        lambda x, w, *rest: wide(x.astype(int) @ w.T.astype(int)),
        num_hidden=5,
        no_bias=True,
        flatten=False,
    ),
    row(
        "_contrib_quantized_act",
        (DARK, *SIGNED),
        lambda x, *rest: (np.maximum(x, 0), *SIGNED),
        act_type="relu",
    ),
    row(
        "_contrib_quantized_flatten",
        (IMAGE, *UNSIGNED),
        lambda x, *rest: (x.reshape(2, -1), *UNSIGNED),
    ),
    row(
        "_contrib_quantized_pooling",
        (DARK, *SIGNED),
        lambda x, *rest: (pooled(np.max, x).astype("int8"), *SIGNED),
        **POOL,
    ),
    row(
        "_contrib_quantized_pooling",
        (IMAGE, *UNSIGNED),
        lambda x, *rest: (np.rint(pooled(np.mean, x)).astype("uint8"), *UNSIGNED),
        pool_type="avg",
        **POOL,
    ),
    row(
        "_contrib_quantized_embedding",
        (np.array([[0, 4], [2, 2]], "float32"), TABLE, *SIGNED),
        lambda n, table, *rest: (table[n.astype(int)], *SIGNED),
        input_dim=5,
        output_dim=700,
    ),
    row(
        "_contrib_quantized_concat",
        (DARK, DARK[:, :1], *ends(-127, 100), *ends(-60, 127)),
        lambda a, b, *rest: (np.concatenate([a, b], 1), *ends(-127, 127)),
        dim=1,
    ),
    row(
        "_contrib_quantized_concat",
        (IMAGE, DARK, *ends(0, 255.5), *ends(-127.5, 30)),
        lambda a, b, *rest: (
            np.concatenate(
                [
                    np.minimum(np.rint(a * (127.5 / 255.5)), 127),
                    np.rint(b * (127.5 / 255.5)),
                ],
                1,
            ).astype("int8"),
            *ends(-127.5, 255.5),
        ),
        dim=1,
    ),
    row(
        "_contrib_quantized_elemwise_add",
        (DARK, DARK[::-1], *HALF, *HALF),
        lambda a, b, *rest: (
            np.clip(np.rint((a.astype(float) + b) / 2), -128, 127).astype("int8"),
            *ends(-255, 200),
        ),
        min_calib_range=-255.0,
        max_calib_range=200.0,
    ),
    row(
        "_contrib_quantized_elemwise_add",
        (IMAGE, IMAGE[::-1], *ends(0, 255.5), *ends(0, 255.5)),
        lambda a, b, *rest: (
            np.clip(np.rint((a.astype(float) + b) / 4), 0, 255).astype("uint8"),
            *ends(0, 1022),
        ),
        min_calib_range=0.0,
        max_calib_range=1022.0,
    ),
    row(
        "_contrib_quantized_elemwise_mul",
        (DARK, DARK[::-1], *SIGNED, *SIGNED),
        lambda a, b, *rest: wide(a.astype(int) * b),
    ),
    row(
        "_contrib_quantized_elemwise_mul",
        (DARK, DARK[::-1], *HALF, *HALF),
        lambda a, b, *rest: (
            np.trunc(a.astype(float) * b / 128).astype("int8"),
            *ends(-16320, 16320),
        ),
        min_calib_range=-16320.0,
        max_calib_range=16320.0,
    ),
    row(
        "_contrib_quantized_elemwise_mul",
        (DARK, DARK[::-1], *HALF, *HALF),
        lambda a, b, *rest: a.astype(float) * b,
        enable_float_output=True,
    ),
    row(
        "_contrib_quantized_batch_norm",
        (DARK, *NUMBERS, VARIANCE, *HALF),
        normalized,
        fix_gamma=False,
        min_calib_range=-250.0,
        max_calib_range=200.0,
    ),
    row(
        "_contrib_quantize_asym",
        (np.array([-1, 0.02, 3.0], "float32"),),
        lambda x: (np.array([0, 65, 255], "uint8"), *ends(255 / 4, 255 - 3 * 255 / 4)),
    ),
    row(
        "_contrib_quantize_asym",
        (DARK,),
        lambda x: ((x.astype(int) + 128).astype("uint8"), *ends(1, 128)),
    ),
]


# -- a threshold, from a histogram -----------------------------------------------------

# Even numbers, and one bin far away: it is better to cut that off.
COUNTS = np.zeros(41, "float32")
COUNTS[14:27], COUNTS[40] = 1000, 1
EDGES = np.linspace(-4, 4, 42).astype("float32")


# -- layers in one operator ------------------------------------------------------------

REALS = (IMAGE / 255).astype("float32")
REAL_WEIGHT = (WEIGHT / 127).astype("float32")
REAL_BIAS = (BIAS / 127).astype("float32")
PARAMETERS = [np.linspace(a, b, 4).astype("float32") for a, b in ((1, 2), (-1, 1))]
PARAMETERS += [np.linspace(a, b, 4).astype("float32") for a, b in ((0, 1), (1, 2))]
MORE = np.linspace(-3, 3, 2 * 4 * 5 * 7).reshape(2, 4, 5, 7).astype("float32")


def layer(x: Any, w: Any, b: Any, *rest: Any) -> Any:
    gamma, beta, mean, var, more = (
        v.reshape(-1, 1, 1) if v.ndim == 1 else v for v in rest
    )
    out = convolution(x, w) + b.reshape(-1, 1, 1)
    out = (out - mean) / np.sqrt(var + 1e-3) * gamma + beta
    return np.maximum(out + more, 0)


def exact(x: Any, w: Any, *rest: Any) -> Any:
    """Filters whose largest weight is 127 become integers as they are."""
    sums = convolution(x, w)
    out = np.clip(np.rint(np.maximum(sums, 0) / 1000), 0, 255)
    return out.astype("uint8"), *ends(0, 255500)


FILTERS = WEIGHT.copy()
FILTERS[:, 0, 0, 0] = 127
ROWS += [
    row(
        "_contrib_calibrate_entropy",
        (COUNTS, EDGES),
        None,
        num_quantized_bins=7,
    ),
    Sample(
        "_sg_mkldnn_conv",
        (REALS, REAL_WEIGHT, REAL_BIAS, *PARAMETERS, MORE),
        {
            **CONV,
            "with_bn": True,
            "with_sum": True,
            "with_postsum_act": True,
            "fix_gamma": False,
        },
        layer,
        ("float32",),
        smooth=False,
        tolerance=128,
    ),
    row(
        "_sg_mkldnn_conv",
        (IMAGE, FILTERS.astype("float32"), *ends(0, 255.5)),
        exact,
        no_bias=True,
        with_act=True,
        quantized=True,
        min_calib_range=0.0,
        max_calib_range=255500.0,
        **CONV,
    ),
    Sample(
        "_sg_mkldnn_fully_connected",
        (REALS[0], REAL_WEIGHT.reshape(4, 18)[:, :6], REAL_BIAS),
        {"num_hidden": 4, "flatten": False, "with_act": True},
        lambda x, w, b: np.maximum(x @ w.T + b, 0),
        ("float32",),
        smooth=False,
        tolerance=32,
    ),
    row(
        "_sg_mkldnn_fully_connected",
        (DARK, np.full((2, 90), 2, "float32"), *HALF),
        lambda x, w, *rest: (
            np.clip(np.rint(2 * x.reshape(2, 90).sum(1) / 8), -128, 127)
            .astype("int8")
            .repeat(2)
            .reshape(2, 2),
            *ends(-1020, 1000),
        ),
        num_hidden=2,
        no_bias=True,
        quantized=True,
        min_calib_range=-1020.0,
        max_calib_range=1000.0,
    ),
]

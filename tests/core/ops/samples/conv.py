"""Rows for convolution and pooling, with their gradients."""

from __future__ import annotations

from typing import Any

import numpy as np

from minimx.core.operators.conv import Convolution
from minimx.core.operators.pooling import Pooling
from tests.core.ops import oracles
from tests.core.ops.sample import Sample, numbers

IMAGE = numbers(2, 4, 6, 5)
WEIGHT = numbers(6, 4, 3, 2, low=-1, high=1)
GROUPED = numbers(6, 2, 3, 2, low=-1, high=1)
BIAS = numbers(6)

# What the constructor of the oracle calls it, and what MXNet does.
_CASES: list[dict[str, Any]] = [
    {},
    {"stride": (2, 1)},
    {"pad": (1, 2)},
    {"dilate": (2, 1), "pad": (1, 0)},
    {"stride": (2, 3), "pad": (1, 1), "dilate": (1, 2)},
    {"groups": 2, "pad": (1, 1), "stride": (2, 2)},
]


def _convolutions() -> list[Sample]:
    rows = []
    for case in _CASES:
        oracle = oracles.Convolution(**case)
        weight = GROUPED if "groups" in case else WEIGHT
        settings = {k if k != "groups" else "num_group": v for k, v in case.items()}
        settings |= {"kernel": (3, 2), "num_filter": 6}
        plain = {**settings, "no_bias": True}
        dout = numbers(2, 6, *oracle.stops((6, 5), (3, 2)))
        rows += [
            Sample(
                "Convolution",
                (IMAGE, weight, BIAS),
                settings,
                oracle.forward,
                tolerance=64,
            ),
            Sample(
                "_backward_Convolution_data",
                (dout, weight),
                {"conv": Convolution.of(**plain), "shape": IMAGE.shape},
                lambda d, w, o=oracle: o.data(d, w, IMAGE.shape),
                tolerance=64,
            ),
            Sample(
                "_backward_Convolution_weight",
                (dout, IMAGE),
                {"conv": Convolution.of(**settings)},
                lambda d, x, o=oracle, w=weight: o.weight(d, x, w.shape),
                tolerance=256,
            ),
        ]
    return rows


def _folded() -> list[Sample]:
    """A convolution that normalizes in prediction, and bends."""
    numbers_of = [numbers(6, low=0.5, high=1.5, seed=k) for k in range(4)]
    plain = oracles.Convolution(pad=(1, 1))

    def oracle(bend: Any, fixed: bool) -> Any:
        def run(x: Any, weight: Any, *rest: Any) -> Any:
            *bias, gamma, beta, mean, var = (v.reshape(-1, 1, 1) for v in rest)
            out = plain.forward(x, weight) + (bias[0] if bias else 0)
            scale = (1 if fixed else gamma) / np.sqrt(var + 1e-3)
            return bend((out - mean) * scale + beta)

        return run

    settings: dict[str, Any] = {"kernel": (3, 2), "num_filter": 6, "pad": (1, 1)}
    more = {"fix_gamma": False, "act_type": "tanh", "no_bias": True}
    return [
        Sample(
            "_sg_minimx_conv",
            (IMAGE, WEIGHT, BIAS, *numbers_of),
            settings,
            oracle(lambda y: y, True),
            tolerance=128,
        ),
        Sample(
            "_sg_minimx_conv",
            (IMAGE, WEIGHT, *numbers_of),
            settings | more,
            oracle(np.tanh, False),
            tolerance=64,
        ),
    ]


def _special_convolutions() -> list[Sample]:
    ones = numbers(5, 4, 1, 1)
    line, taps = numbers(2, 4, 7), numbers(3, 4, 3)
    flat = oracles.Convolution((1, 2), (0, 1))
    depthwise = numbers(4, 1, 3, 3)
    settings = {"kernel": (3, 3), "num_filter": 4, "num_group": 4, "no_bias": True}
    one_weight = {"kernel": (1, 1), "num_filter": 5, "no_bias": True}
    return [
        Sample(
            "Convolution",
            (IMAGE, ones),
            one_weight,
            lambda x, w: np.einsum("nchw,fc->nfhw", x, w[:, :, 0, 0]),
            tolerance=64,
        ),
        Sample(
            "_backward_Convolution_weight",
            (numbers(2, 5, 6, 5), IMAGE),
            {"conv": Convolution.of(**one_weight)},
            lambda d, x: np.einsum("nfhw,nchw->fc", d, x)[..., None, None],
            tolerance=256,
            note="1x1",
        ),
        Sample(
            "Convolution",
            (line, taps, numbers(3)),
            {"kernel": (3,), "num_filter": 3, "stride": 2, "pad": 1},
            lambda x, w, b: flat.forward(x[:, :, None], w[:, :, None], b)[:, :, 0],
            tolerance=64,
            note="1-D",
        ),
        Sample(
            "Convolution",
            (IMAGE, depthwise),
            settings,
            oracles.Convolution(groups=4).forward,
            tolerance=64,
            note="depthwise",
        ),
    ]


_POOLS: list[tuple[dict[str, Any], tuple[int, int], dict[str, Any]]] = [
    # settings, stops of a 6 × 5 image, what else the oracle must know
    ({"kernel": (2, 2), "stride": (2, 2)}, (3, 2), {"stride": (2, 2)}),
    ({"kernel": (3, 2)}, (4, 4), {}),
    (
        {"kernel": (3, 3), "stride": (2, 2), "pad": (1, 1)},
        (3, 3),
        {"stride": (2, 2), "pad": (1, 1)},
    ),
    (
        {"kernel": (2, 2), "stride": (2, 2), "pooling_convention": "full"},
        (3, 3),
        {"stride": (2, 2)},
    ),
    (
        {"kernel": (3, 3), "stride": (2, 1), "pad": (1, 1), "count_include_pad": False},
        (3, 5),
        {"stride": (2, 1), "pad": (1, 1), "count_pad": False},
    ),
]


def _pools() -> list[Sample]:
    rows = []
    for kind in ("max", "avg", "sum"):
        for settings, out, more in _POOLS:
            oracle = oracles.Pooling(kind, settings["kernel"], out, **more)
            named = {"pool_type": kind, **settings}
            rows.append(
                Sample("Pooling", (IMAGE,), named, oracle.forward, tolerance=16)
            )
            if kind != "max":
                rows.append(
                    Sample(
                        "_backward_Pooling_avg",
                        (numbers(2, 4, *out),),
                        {"pool": Pooling.of(**named), "shape": IMAGE.shape},
                        lambda d, o=oracle: o.spread(d, IMAGE.shape),
                        tolerance=16,
                    )
                )
    return rows


def _special_pools() -> list[Sample]:
    row = np.array([[[3.0, 1.0, 2.0, 5.0, 4.0]]])
    pool = Pooling.of(kernel=(2,), stride=(1,))
    won = np.array([[[0, 1, 1, 0]]], np.uint8)
    return [
        Sample(
            "Pooling",
            (IMAGE,),
            {"global_pool": True, "pool_type": "avg"},
            lambda x: x.mean((2, 3), keepdims=True),
        ),
        Sample(
            "Pooling",
            (IMAGE,),
            {"global_pool": True},
            lambda x: x.max((2, 3), keepdims=True),
        ),
        Sample(
            "Pooling",
            (row,),
            {"kernel": (2,), "stride": (1,)},
            lambda x: np.maximum(x[..., :-1], x[..., 1:]),
            note="1-D",
        ),
        Sample(
            "_backward_Pooling",
            (np.array([[[1.0, 2.0, 3.0, 4.0]]]), won),
            {"pool": pool, "shape": (1, 1, 5)},
            lambda d, t: np.array([[[1.0, 0.0, 2.0, 7.0, 0.0]]]),
        ),
        Sample(
            "_pick_Pooling",
            (row, won),
            {"pool": pool, "shape": (1, 1, 5)},
            lambda d, t: np.array([[[3.0, 2.0, 5.0, 5.0]]]),
        ),
    ]


ROWS = [
    *_convolutions(),
    *_folded(),
    *_special_convolutions(),
    *_pools(),
    *_special_pools(),
]

"""Rows for normalization and its gradients."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.core.ops.oracles import normalized
from tests.core.ops.sample import Sample, numbers

CUBE = numbers(2, 3, 4)
IMAGES = numbers(3, 2, 4, 2)
GAMMA, BETA = numbers(2, seed=1), numbers(2, seed=2)
MOVING = numbers(2, low=-1, high=1, seed=3), numbers(2, low=0.5, high=2, seed=4)
_EPS = 1e-3


def _batch_norms() -> list[Sample]:
    def trained(x: Any, g: Any, b: Any, m: Any, v: Any) -> Any:
        x_hat = normalized(x, (0, 2, 3), _EPS)
        return x_hat * g[:, None, None] + b[:, None, None]

    def fixed(x: Any, g: Any, b: Any, m: Any, v: Any) -> Any:
        return normalized(x, (0, 2, 3), _EPS) + b[:, None, None]

    def moving(x: Any, g: Any, b: Any, m: Any, v: Any) -> Any:
        m, v, g, b = (a[:, None, None] for a in (m, v, g, b))
        return (x - m) / np.sqrt(v + _EPS) * g + b

    def dense(x: Any, g: Any, b: Any, m: Any, v: Any) -> Any:
        return normalized(x, (0,), _EPS) * g + b

    def last(x: Any, g: Any, b: Any, m: Any, v: Any) -> Any:
        x_hat = normalized(x, (0, 1), _EPS)
        mean, variance = x.mean((0, 1)), x.var((0, 1))
        return x_hat * g + b, mean, 1 / np.sqrt(variance + _EPS)

    inputs = (IMAGES, GAMMA, BETA, *MOVING)
    free, train = {"fix_gamma": False}, {"fix_gamma": False, "training": True}
    three = (True, True, True, False, False)
    some = (True, False, True, False, False)
    return [
        Sample("BatchNorm", inputs, train, trained, smooth=three, tolerance=32),
        Sample(
            "BatchNorm", inputs, {"training": True}, fixed, smooth=some, tolerance=32
        ),
        Sample("BatchNorm", inputs, free, moving, smooth=three, tolerance=32),
        Sample(
            "BatchNorm",
            (numbers(5, 2), GAMMA, BETA, *MOVING),
            train,
            dense,
            smooth=three,
            tolerance=32,
            note="dense",
        ),
        Sample(
            "BatchNorm",
            (numbers(3, 4, 2), GAMMA, BETA, *MOVING),
            {**train, "axis": -1, "output_mean_var": True},
            last,
            smooth=False,
            tolerance=32,
        ),
    ]


def _batch_norm_gradients() -> list[Sample]:
    mean, variance = IMAGES.mean((0, 2, 3)), IMAGES.var((0, 2, 3))
    invstd = 1 / np.sqrt(variance + _EPS)
    stats = (GAMMA, mean, invstd)

    def gradient(d: Any, x: Any, g: Any, m: Any, s: Any) -> Any:
        g, m, s = (a[:, None, None] for a in (g, m, s))
        x_hat, axes = (x - m) * s, (0, 2, 3)
        inner = d - d.mean(axes, keepdims=True)
        inner -= x_hat * (d * x_hat).mean(axes, keepdims=True)
        return inner * g * s, (d * x_hat).sum(axes), d.sum(axes)

    settings: dict[str, Any] = {
        "eps": _EPS,
        "fix_gamma": False,
        "batch": True,
        "axis": 1,
    }
    settings["shape"] = IMAGES.shape
    dout = numbers(3, 2, 4, 2, seed=9)
    return [
        Sample(
            "_backward_BatchNorm",
            (dout, IMAGES, *stats),
            settings,
            gradient,
            smooth=False,
            tolerance=64,
        ),
        Sample(
            "_backward_BatchNorm",
            (dout, IMAGES, *stats[1:]),
            {**settings, "batch": False, "fix_gamma": True},
            smooth=False,
        ),
        *_again(stats[1], stats[2]),
    ]


def _again(mean: Any, invstd: Any) -> list[Sample]:
    def again(x: Any, g: Any, b: Any, m: Any, s: Any) -> Any:
        g, b, m, s = (a[:, None, None] for a in (g, b, m, s))
        return (x - m) * s * g + b

    def fixed(x: Any, g: Any, b: Any, m: Any, s: Any) -> Any:
        return np.maximum(again(x, np.ones_like(g), b, m, s), 0)

    inputs = (IMAGES, GAMMA, BETA, mean, invstd)
    free, cut = {"fix_gamma": False}, {"relu": True}
    return [
        Sample("_batch_norm_again", inputs, free, again, smooth=False, tolerance=32),
        Sample("_batch_norm_again", inputs, cut, fixed, smooth=False, tolerance=32),
    ]


def _layer_norms() -> list[Sample]:
    gamma, beta = numbers(4, seed=1), numbers(4, seed=2)
    middle = numbers(3, seed=1), numbers(3, seed=2)

    def layer(x: Any, g: Any, b: Any) -> Any:
        return normalized(x, (-1,), 1e-5) * g + b

    def across(x: Any, g: Any, b: Any) -> Any:
        x_hat = normalized(x, (1,), 1e-5)
        std = np.sqrt(x.var(1, keepdims=True) + 1e-5)
        return x_hat * g[:, None] + b[:, None], x.mean(1, keepdims=True), std

    mean, variance = CUBE.mean(2, keepdims=True), CUBE.var(2, keepdims=True)
    stats = mean, np.sqrt(variance + 1e-5)
    settings = {"shape": CUBE.shape, "eps": 1e-5, "axis": 2}
    return [
        Sample("LayerNorm", (CUBE, gamma, beta), {}, layer, tolerance=32),
        Sample(
            "LayerNorm",
            (CUBE, *middle),
            {"axis": 1, "output_mean_var": True},
            across,
            smooth=False,
            tolerance=32,
        ),
        Sample(
            "LayerNorm",
            (CUBE, *middle),
            {"axis": 1},
            lambda x, g, b: across(x, g, b)[0],
            tolerance=32,
        ),
        Sample(
            "_backward_LayerNorm",
            (CUBE + 1, CUBE, gamma, *stats),
            settings,
            smooth=False,
        ),
    ]


def _l2_norms() -> list[Sample]:
    def length(x: Any, axes: Any) -> Any:
        return np.sqrt((x * x).sum(axes, keepdims=True) + 1e-10)

    modes: dict[str, Any] = {"instance": (1, 2, 3), "channel": 1, "spatial": (2, 3)}
    seen = IMAGES.reshape(3, 2, 8)
    norm = np.sqrt((seen * seen).sum(1))

    def gradient(d: Any, x: Any, n: Any) -> Any:
        d, y, n = d.reshape(3, 2, 8), x.reshape(3, 2, 8) / n[:, None], n[:, None]
        return ((d - y * (d * y).sum(1, keepdims=True)) / n).reshape(x.shape)

    return [
        *(
            Sample(
                "L2Normalization",
                (IMAGES,),
                {"mode": mode},
                lambda x, axes=axes: x / length(x, axes),
            )
            for mode, axes in modes.items()
        ),
        Sample(
            "_backward_L2Normalization",
            (numbers(3, 2, 4, 2, seed=9), IMAGES, norm),
            {"shape": IMAGES.shape, "vectors": (3, 2, 8), "eps": 1e-10},
            gradient,
            smooth=False,
            tolerance=32,
        ),
    ]


ROWS = [*_batch_norms(), *_batch_norm_gradients(), *_layer_norms(), *_l2_norms()]

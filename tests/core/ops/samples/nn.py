"""Rows for products, activations, dropout, softmax and losses."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import special

from minimx.operators.layers.softmax import SoftmaxOutput
from tests.core.ops.oracles import softmax
from tests.core.ops.sample import Sample, numbers

X = numbers(3, 4)
CUBE = numbers(2, 3, 4)
LABEL = np.array([2, 0, 3], np.int32)


def _products() -> list[Sample]:
    rows = []
    for ta in (False, True):
        for tb in (False, True):
            settings = {"transpose_a": ta, "transpose_b": tb}
            a, b = (
                numbers(*(4, 3) if ta else (3, 4)),
                numbers(*(5, 4) if tb else (4, 5)),
            )
            stack = np.stack([a, a + 1]), np.stack([b, b - 1])

            def oracle(a: Any, b: Any, ta: bool = ta, tb: bool = tb) -> Any:
                a = a.swapaxes(-1, -2) if ta else a
                return a @ (b.swapaxes(-1, -2) if tb else b)

            twice = lambda a, b, f=oracle: 2 * f(a, b)  # noqa: E731
            scaled = {**settings, "alpha": 2.0}
            rows += [
                Sample("dot", (a, b), settings, oracle, tolerance=64),
                Sample("batch_dot", stack, settings, oracle, tolerance=64),
                Sample("_linalg_gemm2", stack, scaled, twice, tolerance=64),
            ]
    integers = np.arange(6, dtype=np.int32).reshape(2, 3)
    return [
        *rows,
        Sample(
            "dot", (numbers(4), numbers(4) + 1), {}, np.dot, tolerance=64, note="1-D"
        ),
        Sample(
            "dot",
            (CUBE, numbers(4, 2, 3)),
            {},
            lambda a, b: np.tensordot(a, b, 1),
            tolerance=64,
            note="n-D",
        ),
        Sample(
            "dot",
            (CUBE, numbers(3, 5, 2)),
            {"transpose_a": True, "transpose_b": True},
            lambda a, b: np.tensordot(a, b, ((0,), (2,))),
            tolerance=64,
            note="n-D",
        ),
        Sample("dot", (integers, integers.T), {}, np.dot, smooth=False, note="int"),
        Sample(
            "FullyConnected",
            (CUBE, numbers(5, 12), numbers(5)),
            {"num_hidden": 5},
            lambda x, w, b: x.reshape(2, 12) @ w.T + b,
            tolerance=64,
        ),
        Sample(
            "FullyConnected",
            (CUBE, numbers(5, 4)),
            {"num_hidden": 5, "no_bias": True, "flatten": False},
            lambda x, w: x @ w.T,
            tolerance=64,
        ),
    ]


def _activations() -> list[Sample]:
    curves: dict[str, Any] = {
        "relu": lambda x: np.maximum(x, 0),
        "sigmoid": special.expit,
        "tanh": np.tanh,
        "softrelu": lambda x: np.logaddexp(x, 0),
        "softsign": lambda x: x / (1 + abs(x)),
    }
    leaky: dict[str, Any] = {
        "leaky": lambda x: np.where(x > 0, x, 0.25 * x),
        "elu": lambda x: np.where(x > 0, x, 0.25 * np.expm1(x)),
        "selu": lambda x: (
            1.0507009873554805 * np.where(x > 0, x, 1.6732632423543772 * np.expm1(x))
        ),
        "gelu": lambda x: x * special.ndtr(x),
    }
    with_slope = lambda x: np.where(x > 0, x, 0.3 * x)  # noqa: E731
    with_scale = lambda x: np.where(x > 0, x, 0.3 * np.expm1(x))  # noqa: E731
    prelu = lambda x, g: np.where(x > 0, x, x * g[:, None])  # noqa: E731
    return [
        *(Sample("Activation", (X,), {"act_type": k}, f) for k, f in curves.items()),
        *(Sample("LeakyReLU", (X,), {"act_type": k}, f) for k, f in leaky.items()),
        Sample("_leaky", (X,), {"slope": 0.3}, with_slope),
        Sample("_elu", (X,), {"slope": 0.3}, with_scale),
        Sample("_selu", (X,), {}, leaky["selu"]),
        Sample("_gelu", (X,), {}, leaky["gelu"]),
        Sample(
            "_prelu", (X, numbers(1, 4)), {}, lambda x, g: np.where(x > 0, x, x * g)
        ),
        Sample("LeakyReLU", (CUBE, numbers(3)), {"act_type": "prelu"}, prelu),
        Sample(
            "LeakyReLU", (CUBE, numbers(1)), {"act_type": "prelu"}, prelu, note="one"
        ),
    ]


def _dropouts() -> list[Sample]:
    bits = np.array([0b10100110, 0b1001], np.uint8)
    mask = np.array([[0, 1, 1, 0], [0, 1, 0, 1], [1, 0, 0, 1]])
    shared = np.array([[0], [1], [1]])
    return [
        Sample("Dropout", (X,), {"p": 0.5}, np.copy, note="predict"),
        Sample("Dropout", (X,), {"p": 0.4, "training": True}),
        Sample("Dropout", (X,), {"p": 0.4, "mode": "always", "axes": (1,)}),
        Sample(
            "_mask_Dropout",
            (X, bits),
            {"scale": 2.0, "axes": ()},
            lambda x, b: 2 * x * mask,
        ),
        Sample(
            "_mask_Dropout",
            (X, bits[:1]),
            {"scale": 2.0, "axes": (1,)},
            lambda x, b: 2 * x * shared,
        ),
    ]


def _softmaxes() -> list[Sample]:
    y, log_y = softmax(CUBE, 1), np.log(softmax(X))

    def of_softmax(d: Any, y: Any) -> Any:
        return y * (d - (d * y).sum(1, keepdims=True)) * 2

    def of_log(d: Any, y: Any) -> Any:
        return d - np.exp(y) * d.sum(1, keepdims=True)

    back = {"axis": 1, "scale": 2.0, "log": False}
    return [
        Sample("softmax", (CUBE,), {}, softmax),
        Sample(
            "softmax",
            (CUBE,),
            {"axis": 1, "temperature": 0.5},
            lambda x: softmax(2 * x, 1),
            tolerance=16,
        ),
        Sample("softmax", (X * 300,), {}, softmax, ("float32", "float64"), note="huge"),
        Sample("softmin", (CUBE,), {"axis": 0}, lambda x: softmax(-x, 0)),
        Sample("log_softmax", (CUBE,), {}, lambda x: np.log(softmax(x)), tolerance=16),
        Sample(
            "log_softmax",
            (CUBE,),
            {"axis": 0, "temperature": 4},
            lambda x: np.log(softmax(x / 4, 0)),
            tolerance=16,
        ),
        Sample("_backward_softmax", (CUBE + 1, y), back, of_softmax, smooth=False),
        Sample(
            "_backward_softmax",
            (X + 1, log_y),
            {"axis": 1, "scale": 1.0, "log": True},
            of_log,
            smooth=False,
            tolerance=32,
        ),
    ]


def _softmax_outputs() -> list[Sample]:
    one_hot = np.eye(4)[LABEL]
    places = np.array([[[2, 0, 1, 1], [0, -1, 2, -1]]], np.int32).reshape(2, 4)
    across = np.moveaxis(np.eye(3)[np.maximum(places, 0)], -1, 1)
    counted = (places >= 0)[:, None]
    many = {"multi_output": True, "use_ignore": True}
    valid = SoftmaxOutput.of(**many, normalization="valid", grad_scale=2.0)
    softened = np.where(one_hot == 1, 0.7, 0.1)
    return [
        Sample("SoftmaxOutput", (X, LABEL), {}, lambda x, t: softmax(x), smooth=False),
        Sample(
            "SoftmaxOutput",
            (CUBE, places),
            many,
            lambda x, t: softmax(x, 1),
            smooth=False,
        ),
        Sample(
            "_backward_SoftmaxOutput",
            (LABEL, softmax(X)),
            {"forward": SoftmaxOutput.of(normalization="batch")},
            lambda t, y: (y - one_hot) / 3,
        ),
        Sample(
            "_backward_SoftmaxOutput",
            (LABEL, softmax(X)),
            {"forward": SoftmaxOutput.of(smooth_alpha=0.3)},
            lambda t, y: y - softened,
            note="smooth",
        ),
        Sample(
            "_backward_SoftmaxOutput",
            (places, softmax(CUBE, 1)),
            {"forward": SoftmaxOutput.of(**many)},
            lambda t, y: (y - across) * counted / 4,
            note="null",
        ),
        Sample(
            "_backward_SoftmaxOutput",
            (places, softmax(CUBE, 1)),
            {"forward": valid},
            lambda t, y: (y - across) * counted * 2 / 6,
            note="valid",
        ),
        Sample(
            "_backward_SoftmaxOutput",
            (softmax(X + X[::-1]), softmax(X)),
            {"forward": SoftmaxOutput.of()},
            lambda t, y: y - t,
            note="probabilities",
        ),
    ]


def _losses() -> list[Sample]:
    return [
        Sample(
            "softmax_cross_entropy",
            (X, LABEL),
            {},
            lambda x, t: -np.log(softmax(x))[range(3), t].sum(),
            tolerance=32,
        ),
        Sample("LinearRegressionOutput", (X, X + 1), {}, lambda x, t: x, smooth=False),
        Sample("MAERegressionOutput", (X, X + 1), {}, lambda x, t: x, smooth=False),
        Sample(
            "LogisticRegressionOutput",
            (X, X + 1),
            {},
            lambda x, t: special.expit(x),
            smooth=False,
        ),
    ]


ROWS = [
    *_products(),
    *_activations(),
    *_dropouts(),
    *_softmaxes(),
    *_softmax_outputs(),
    *_losses(),
]

"""Rows for the ends of networks, and for softmax over rows of different lengths."""

from __future__ import annotations

from typing import Any

import numpy as np

from minimx.operators.layers.softmax import SoftmaxOutput
from tests.core.ops.oracles import softmax
from tests.core.ops.sample import Sample, numbers

X = numbers(3, 4)
CUBE = numbers(2, 3, 4)
LABEL = np.array([2, 0, 3], np.int32)
LENGTH = np.array([[1, 4, 2], [3, 0, 4]], np.int32)
ACROSS = np.array([[2, 0, 3, 1], [1, 2, 3, 0]], np.int32)


def by_length(x: Any, length: Any, log: bool = False) -> Any:
    """Row by row, along the last axis."""
    out = np.zeros_like(x)
    for place in np.ndindex(*length.shape):
        n = length[place]
        if n:
            row = softmax(x[place][:n])
            out[place][:n] = np.log(row) if log else row
    return out


def _lengths() -> list[Sample]:
    over = {"use_length": True}
    along = lambda x, n: np.moveaxis(by_length(np.moveaxis(x, 1, -1), n), -1, 1)  # noqa: E731
    return [
        Sample("softmax", (CUBE, LENGTH), over, by_length, tolerance=16),
        Sample("softmax", (CUBE, ACROSS), {**over, "axis": 1}, along, tolerance=16),
        Sample("softmin", (CUBE, LENGTH), over, lambda x, n: by_length(-x, n)),
        Sample(
            "log_softmax", (CUBE, LENGTH), over,
            lambda x, n: by_length(x, n, log=True), tolerance=16,
        ),
        Sample(
            "_hide_beyond", (CUBE, LENGTH), {"axis": 2, "value": 0.5},
            lambda x, n: np.where(np.arange(4) < n[..., None], x, 0.5),
        ),
        Sample("softmax", (X,), {"dtype": "float64"}, softmax, ("float64",)),
        Sample(
            "softmax", (LABEL.reshape(1, 3),), {"dtype": "float32"}, softmax,
            note="integers",
        ),
    ]  # fmt: skip


def _outputs() -> list[Sample]:
    same = lambda x, *_: x  # noqa: E731
    svm = {"margin": 0.7, "regularization_coefficient": 0.5}
    counted = SoftmaxOutput.of(normalization="valid", ignore_label=0)
    one_hot = np.eye(4)[LABEL]
    return [
        Sample("make_loss", (X,), {}, same, smooth=False),
        *(
            Sample("MakeLoss", (X,), {"normalization": n}, same, smooth=False)
            for n in ("null", "batch", "valid")
        ),
        Sample("SVMOutput", (X, LABEL), svm, same, smooth=False),
        Sample("SoftmaxActivation", (X,), {}, softmax),
        Sample(
            "SoftmaxActivation", (CUBE,), {"mode": "channel"}, lambda x: softmax(x, 1)
        ),
        Sample(
            "_backward_SoftmaxOutput", (LABEL, softmax(X)), {"forward": counted},
            lambda t, y: (y - one_hot) / 2, note="counted",
        ),
    ]  # fmt: skip


ROWS = [*_lengths(), *_outputs()]

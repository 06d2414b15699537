"""The gradients of outputs are those of a loss, whatever gradient arrives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from minimx import nd
from minimx.core import autograd
from minimx.core.errors import OperatorError, ShapeError

X = np.random.default_rng(1).normal(size=(4, 3)).astype(np.float32)
LABEL = np.array([2, 0, 1, 2])


def gradient(function: Any) -> Any:
    x = nd.array(X)
    x.attach_grad()
    with autograd.record():
        out = function(x)
    out.backward(nd.ones(out.shape) * 17)  # ignored
    return x.grad.asnumpy()


def slopes(loss: Any) -> Any:
    found = np.zeros_like(X, np.float64)
    for place in np.ndindex(*X.shape):
        step = np.zeros_like(found)
        step[place] = 1e-6
        found[place] = (loss(X + step) - loss(X - step)) / 2e-6
    return found


@pytest.mark.parametrize("linear", [False, True])
def test_svm_output_descends_the_margin_loss(linear: bool) -> None:
    sides = np.where(np.eye(3)[LABEL] == 1, 1.0, -1.0)

    def loss(x: Any) -> Any:
        missing = np.maximum(0, 0.8 - sides * x)
        return 0.5 * (missing if linear else missing**2).sum()

    settings: dict[str, Any] = {
        "margin": 0.8,
        "regularization_coefficient": 0.5,
        "use_linear": linear,
    }
    found = gradient(lambda x: nd.SVMOutput(x, nd.array(LABEL), **settings))
    np.testing.assert_allclose(found, slopes(loss), rtol=1e-4, atol=1e-5)


def test_make_loss_counts_what_it_divides_by() -> None:
    above = (X > 0.1).sum()
    each = {
        "null": 3.0,
        "batch": 3.0 / 4,
        "valid": 3.0 / above,
    }
    for normalization, wanted in each.items():
        settings = {"grad_scale": 3.0, "valid_thresh": 0.1}
        found = gradient(
            lambda x, n=normalization, s=settings: nd.MakeLoss(x, normalization=n, **s)
        )
        np.testing.assert_allclose(found, np.full_like(X, wanted), rtol=1e-6)
    np.testing.assert_array_equal(gradient(nd.make_loss), np.ones_like(X))


def test_lessons() -> None:
    with pytest.raises(OperatorError, match="choose null, batch"):
        nd.MakeLoss(nd.array(X), normalization="mean")
    with pytest.raises(ShapeError, match="class number for each row"):
        nd.SVMOutput(nd.array(X), nd.array([1, 2]))
    with pytest.raises(ShapeError, match="no places beside its channels"):
        nd.SoftmaxActivation(nd.array(X), mode="channel")
    with pytest.raises(ShapeError, match="without axis"):
        nd.softmax(nd.array(X), nd.array([1, 2], dtype="int32"), use_length=True)

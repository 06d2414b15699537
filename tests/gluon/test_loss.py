"""Losses. The numbers were measured with MXNet 1.9.1."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from minimx import nd
from minimx.core import autograd
from minimx.core.errors import ArgumentError
from minimx.gluon import loss

P = [
    [1.79, 0.44, 0.1, -1.86],
    [-0.28, -0.35, -0.08, -0.63],
    [-0.04, -0.48, -1.31, 0.88],
]
B = [[0.68, 0.59, 0.02, 0.56], [0.26, 0.42, 0.28, 0.69], [0.44, 0.16, 0.54, 0.78]]
SIGN = [[-1, -1, 1, -1], [-1, -1, 1, 1], [-1, -1, -1, -1]]
CLASS = [1, 3, 0]
WEIGHTS = [[1.0], [0.5], [2.0]]
POSITIVE = [[1.0, 2.0, 3.0, 4.0]]
PROBABILITY = (1 / (1 + np.exp(-np.array(P)))).tolist()
BITS = [[0, 0, 1, 0], [0, 0, 1, 1], [0, 0, 0, 0]]
LOGITS = (np.array(P) - np.log(np.exp(P).sum(1, keepdims=True))).tolist()

CASES: list[tuple[Any, list[Any], list[float]]] = [
    (loss.L2Loss(), [P, B], [0.88968, 0.34456, 0.50906]),
    (loss.L2Loss(weight=3.0), [P, B, WEIGHTS], [2.66903, 0.51684, 3.05437]),
    (loss.L1Loss(), [P, B], [0.94, 0.7475, 0.7675]),
    (loss.L1Loss(weight=0.5), [P, B, WEIGHTS], [0.47, 0.18687, 0.7675]),
    (loss.HuberLoss(rho=0.6), [P, B], [0.73852, 0.46025, 0.52258]),
    (loss.SigmoidBCELoss(), [P, B], [0.83336, 0.71353, 0.68407]),
    (loss.SigmoidBCELoss(weight=2.0), [P, B, WEIGHTS], [1.66672, 0.71353, 2.73627]),
    (loss.SigmoidBCELoss(), [P, B, None, POSITIVE], [1.7551, 1.45601, 1.34371]),
    (loss.SigmoidBCELoss(True), [PROBABILITY, B], [0.83336, 0.71353, 0.68407]),
    (
        loss.SigmoidBCELoss(True),
        [PROBABILITY, B, None, POSITIVE],
        [1.7551, 1.45601, 1.34371],
    ),
    (loss.SoftmaxCELoss(), [P, CLASS], [1.73509, 1.70027, 1.48934]),
    (loss.SoftmaxCELoss(sparse_label=False), [P, B], [3.58672, 2.44285, 2.89813]),
    (loss.SoftmaxCELoss(from_logits=True), [P, CLASS], [-0.44, 0.63, 0.04]),
    (loss.SoftmaxCELoss(weight=2.0), [P, CLASS, WEIGHTS], [3.47019, 1.70027, 5.95735]),
    (loss.KLDivLoss(), [LOGITS, B], [2.61023, 1.1158, 1.71714]),
    (loss.KLDivLoss(from_logits=False), [P, B], [2.61023, 1.1158, 1.71714]),
    (loss.HingeLoss(), [P, SIGN], [1.2825, 1.02, 0.84]),
    (loss.SquaredHingeLoss(margin=0.5), [P, SIGN], [1.57192, 0.42105, 0.5291]),
    (loss.LogisticLoss(), [P, SIGN], [0.91766, 0.7218, 0.65522]),
    (loss.LogisticLoss(label_format="binary"), [P, BITS], [0.91766, 0.7218, 0.65522]),
    (loss.TripletLoss(), [P, B, SIGN], [0.0, 0.0, 0.25]),
    (loss.PoissonNLLLoss(), [P, B], [1.36121]),
    (
        loss.PoissonNLLLoss(from_logits=False, compute_full=True),
        [np.abs(P).tolist(), (5 * np.array(B)).tolist()],
        [3.14354],
    ),
    (loss.CosineEmbeddingLoss(margin=0.1), [P, B, [1, -1, -1]], [0.84267, 0.0, 0.0]),
]


def arrays(values: list[Any]) -> list[Any]:
    return [None if value is None else nd.array(value) for value in values]


@pytest.mark.parametrize(("made", "values", "expected"), CASES, ids=range(len(CASES)))
def test_losses_are_those_of_mxnet(
    made: Any, values: list[Any], expected: list[float]
) -> None:
    found = made(*arrays(values)).asnumpy().ravel()
    np.testing.assert_allclose(found, expected, atol=2e-5)


@pytest.mark.parametrize(("made", "values", "expected"), CASES, ids=range(len(CASES)))
def test_gradients_are_slopes(made: Any, values: list[Any], expected: Any) -> None:
    inputs = arrays(values)
    pred = inputs[0]
    pred.attach_grad()
    with autograd.record():
        total = made(*inputs).sum()
    total.backward()
    numbers = np.array(values[0], np.float32)
    step = 1e-2
    for place in ((0, 1), (1, 2), (2, 3)):
        sums = []
        for sign in (1, -1):
            moved = numbers.copy()
            moved[place] += sign * step
            sums.append(float(made(nd.array(moved), *inputs[1:]).sum().asscalar()))
        slope = (sums[0] - sums[1]) / (2 * step)
        assert pred.grad.asnumpy()[place] == pytest.approx(slope, abs=2e-2)


def test_classes_on_another_axis() -> None:
    scores = np.random.default_rng(0).normal(size=(2, 5, 3)).astype(np.float32)
    labels = np.array([[0, 1, 2], [3, 4, 0]])
    found = loss.SoftmaxCrossEntropyLoss(axis=1)(nd.array(scores), nd.array(labels))
    shares = np.exp(scores) / np.exp(scores).sum(1, keepdims=True)
    chosen = np.take_along_axis(shares, labels[:, None], 1)[:, 0]
    np.testing.assert_allclose(found.asnumpy(), -np.log(chosen).mean(1), rtol=1e-5)


def test_large_scores_do_not_overflow() -> None:
    scores = nd.array([[1000.0, -1000.0]])
    assert loss.SoftmaxCELoss()(scores, nd.array([1])).asscalar() == 2000.0
    found = loss.SigmoidBCELoss()(scores, nd.array([[0.0, 1.0]])).asscalar()
    assert found == 1000.0


def test_labels_take_the_shape_of_predictions() -> None:
    found = loss.L2Loss()(nd.ones((4, 1)), nd.zeros((4,)))
    assert found.asnumpy().tolist() == [0.5] * 4


def test_losses_print_as_in_mxnet() -> None:
    assert repr(loss.L2Loss()) == "L2Loss(batch_axis=0, w=1.0)"
    assert repr(loss.SoftmaxCELoss()) == "SoftmaxCrossEntropyLoss(batch_axis=0, w=None)"


def test_wrong_settings_are_named() -> None:
    with pytest.raises(ArgumentError, match="sample_weight"):
        loss.L2Loss(weight=nd.ones((2,)))  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="'signed'"):
        loss.LogisticLoss(label_format="plain")

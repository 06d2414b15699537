"""Running scores. Numbers without another source were measured with MXNet 1.9.1."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minimx import metric, nd
from minimx.errors import ArgumentError, ShapeError

LABEL = nd.array([1, 1, 0, 0])
PROB = nd.array([[0.3, 0.7], [0.6, 0.4], [0.2, 0.8], [0.9, 0.1]])
LABEL4 = nd.array([2, 0, 3])
SCORES4 = nd.array([[0.1, 0.2, 0.3, 0.4], [0.4, 0.3, 0.2, 0.1], [0.25, 0.3, 0.2, 0.25]])
TARGET, GUESS = nd.array([1.0, 2.0, 3.0]), nd.array([1.5, 2.5, 1.0])


@pytest.mark.parametrize(
    ("made", "label", "pred", "name", "once", "twice"),
    [
        (metric.Accuracy(), LABEL, PROB, "accuracy", 0.5, 0.5),
        (metric.F1(), LABEL, PROB, "f1", 0.5, 0.5),
        (metric.F1(average="micro"), LABEL, PROB, "f1", 0.5, 0.5),
        (metric.MCC(), LABEL, PROB, "mcc", 0.0, 0.0),
        (metric.TopKAccuracy(2), LABEL4, SCORES4, "top_k_accuracy_2", 1.0, 1.0),
        (metric.MAE(), TARGET, GUESS, "mae", 1.0, 1.0833333),
        (metric.MSE(), TARGET, GUESS, "mse", 1.5, 1.8958334),
        (metric.RMSE(), TARGET, GUESS, "rmse", 1.2247449, 1.369285),
        (metric.CrossEntropy(), LABEL, PROB, "cross-entropy", 0.746941, 1.0935147),
        (metric.NegativeLogLikelihood(), LABEL, PROB, "nll-loss", 0.746941, 1.0935147),
        (metric.Perplexity(None), LABEL, PROB, "perplexity", 2.110534, 2.984746),
        (metric.Perplexity(0), LABEL, PROB, "perplexity", 1.889822, 2.672612),
        (metric.PearsonCorrelation(), TARGET, GUESS, "pearsonr", -0.327327, -0.327327),
        (metric.Loss(), None, GUESS, "loss", 1.6666667, 1.25),
    ],
)
def test_scores_are_those_of_mxnet(
    made: Any, label: Any, pred: Any, name: str, once: float, twice: float
) -> None:
    assert math.isnan(made.get()[1])
    made.update([label], [pred])
    assert made.get() == (name, pytest.approx(once, abs=1e-6))
    half = nd.array(pred.asnumpy() / 2)
    made.update([label], [half])
    assert made.get_name_value() == [(name, pytest.approx(twice, abs=1e-6))]
    assert made.get_global() == (name, pytest.approx(twice, abs=1e-6))


@given(st.lists(st.lists(st.integers(0, 3), min_size=1, max_size=8), max_size=5))
def test_accuracy_is_the_share_over_all_batches(batches: list[list[int]]) -> None:
    made = metric.Accuracy()
    right = count = 0
    for labels in batches:
        made.update(nd.array(labels), nd.array([1] * len(labels)))
        right += labels.count(1)
        count += len(labels)
    expected = right / count if count else math.nan
    assert made.get()[1] == pytest.approx(expected, nan_ok=True)


def test_accuracy_of_scores_along_another_axis() -> None:
    made = metric.Accuracy(axis=2)
    made.update(nd.array([[0, 1]]), nd.array([[[0.9, 0.1], [0.2, 0.8]]]))
    assert made.get() == ("accuracy", 1.0)


def test_local_and_global_sums() -> None:
    made = metric.Accuracy()
    made.update(nd.array([1]), nd.array([1]))
    made.reset_local()
    made.update(nd.array([1]), nd.array([0]))
    assert made.get()[1] == 0.0
    assert made.get_global()[1] == 0.5
    made.reset()
    assert math.isnan(made.get_global()[1])


def test_micro_and_macro_f1_differ() -> None:
    macro, micro = metric.F1(), metric.F1(average="micro")
    for labels, chosen in (([1, 0, 1, 1], [1, 0, 1, 0]), ([0, 1], [1, 1])):
        scores = np.eye(2)[chosen]
        macro.update(nd.array(labels), nd.array(scores))
        micro.update(nd.array(labels), nd.array(scores))
    assert macro.get()[1] == pytest.approx((0.8 + 2 / 3) / 2)
    assert micro.get()[1] == pytest.approx(0.75)


def test_several_metrics_report_together() -> None:
    both = metric.create(["acc", "ce"])
    both.update([LABEL], [PROB])
    names, values = both.get()
    assert names == ["accuracy", "cross-entropy"]
    assert values == pytest.approx([0.5, 0.746941])
    assert str(both).startswith("EvalMetric: {'accuracy': 0.5")
    assert isinstance(both, metric.CompositeEvalMetric)
    assert isinstance(both.get_metric(0), metric.Accuracy)
    with pytest.raises(ArgumentError, match="no metric 5"):
        both.get_metric(5)
    both.reset()
    assert all(map(math.isnan, both.get()[1]))


def test_a_function_becomes_a_metric() -> None:
    def off_by(label: Any, pred: Any) -> float:
        return float(abs(label - pred).max())

    made = metric.create(off_by)
    made.update([TARGET], [GUESS])
    assert made.get() == ("off_by", 2.0)
    weighted = metric.np(lambda label, pred: (6.0, 3))
    assert weighted.name == "custom(<lambda>)"
    weighted.update([TARGET, TARGET], [GUESS, GUESS])
    assert weighted.get()[1] == 2.0


def test_named_arrays() -> None:
    made = metric.Accuracy(output_names=["softmax"], label_names=["class"])
    made.update_dict({"class": LABEL, "other": TARGET}, {"softmax": PROB, "x": GUESS})
    assert made.get()[1] == 0.5


def test_config_makes_the_same_metric_again() -> None:
    config = metric.TopKAccuracy(top_k=3).get_config()
    assert config["metric"] == "TopKAccuracy"
    assert config["top_k"] == 3


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda: metric.create("acuracy"), ArgumentError, "accuracy?"),
        (lambda: metric.TopKAccuracy(1), ArgumentError, "use Accuracy"),
        (lambda: metric.F1(average="all"), ArgumentError, "'macro'"),
        (lambda: metric.F1().update(nd.array([2]), PROB), ArgumentError, "two classes"),
        (lambda: metric.Accuracy().update([LABEL], []), ShapeError, "1 label arrays"),
        (
            lambda: metric.Accuracy().update(nd.array([1, 0]), PROB),
            ShapeError,
            "2 labels for 4",
        ),
        (
            lambda: metric.MSE().update(TARGET, nd.array([[1.0, 2.0, 3.0]])),
            ShapeError,
            "one shape",
        ),
        (
            lambda: metric.CrossEntropy().update(TARGET, PROB),
            ShapeError,
            r"\(N, classes\)",
        ),
    ],
)
def test_wrong_use_is_explained(make: Any, error: Any, words: str) -> None:
    with pytest.raises(error, match=words):
        make()

"""Running scores. Numbers without another source were measured with MXNet 1.9.1."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minimx import gluon, metric, nd
from minimx.core.errors import ArgumentError, ShapeError

LABEL = nd.array([1, 1, 0, 0])
PROB = nd.array([[0.3, 0.7], [0.6, 0.4], [0.2, 0.8], [0.9, 0.1]])
LABEL4 = nd.array([2, 0, 3])
SCORES4 = nd.array([[0.1, 0.2, 0.3, 0.4], [0.4, 0.3, 0.2, 0.1], [0.25, 0.3, 0.2, 0.25]])
GUESS4 = nd.array([1, 0, 0, 1])
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
        (
            metric.PearsonCorrelation(average="micro"),
            TARGET,
            GUESS,
            "pearsonr",
            -0.3273268,
            -0.2371708,
        ),
        (metric.Loss(), None, GUESS, "loss", 1.6666667, 1.25),
        (metric.Torch(), None, GUESS, "torch", 1.6666667, 1.25),
        (metric.Caffe(), None, GUESS, "caffe", 1.6666667, 1.25),
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


def test_one_update_with_several_arrays_is_one_batch() -> None:
    macro, micro = metric.F1(), metric.F1(average="micro")
    for made in (macro, micro):
        made.update([nd.array([1, 0]), nd.array([1, 1])], [nd.array(np.eye(2))] * 2)
    assert (macro.num_inst, micro.num_inst) == (1, 4)
    assert macro.get() == micro.get() == ("f1", pytest.approx(0.4))


@given(
    st.lists(st.lists(st.floats(-9, 9, width=16), min_size=2, max_size=5), min_size=1),
    st.integers(0, 10_000_000),
)
def test_correlation_over_all_batches(batches: list[list[float]], far: int) -> None:
    made = metric.PearsonCorrelation(average="micro")
    pairs = [(np.array(one) + far, np.array(one[::-1])) for one in batches]
    for label, pred in pairs:
        made.update(label, pred)
    label, pred = (np.concatenate(part) for part in zip(*pairs, strict=True))
    if min(label.std(), pred.std()) > 0.01:
        expected = np.corrcoef(label, pred)[0, 1]
        assert made.get()[1] == pytest.approx(expected, abs=1e-6)


def test_correlation_of_classes_counts_every_sample_once() -> None:
    made = metric.PCC()
    assert math.isnan(made.get()[1])
    labels, first, second = [0, 1, 2, 2, 1], [0, 2, 2, 1, 1], [0, 0, 3, 1, 1]
    made.update(nd.array(labels), nd.array(first))
    assert made.get()[1] == pytest.approx(0.375)
    made.update(nd.array(labels), nd.array(np.eye(4)[second]))
    assert made.get()[1] == pytest.approx(0.2988071523335984)
    made.reset_local()
    assert made.get_global()[1] == pytest.approx(0.2988071523335984)
    assert math.isnan(made.get()[1])


@given(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 1)), min_size=1))
def test_of_two_classes_both_correlations_say_the_same(
    pairs: list[tuple[int, int]],
) -> None:
    labels, chosen = np.array(pairs).T
    many, two = metric.PCC(), metric.MCC()
    many.update(nd.array(labels), nd.array(chosen))
    two.update(nd.array(labels), nd.array(np.eye(2)[chosen]))
    if len(set(labels)) == len(set(chosen)) == 2:
        assert many.get()[1] == pytest.approx(two.get()[1])


def test_names_of_2_0() -> None:
    assert gluon.metric is metric
    f = metric.Fbeta(beta=2)
    f.update(LABEL, nd.array(np.eye(2)[[1, 0, 1, 1]]))  # 1 of 3 said, 1 of 2 found
    assert f.get() == ("fbeta", pytest.approx(5 * (1 / 3) / 2 / (4 / 3 + 1 / 2)))
    one = metric.Fbeta()
    one.update(LABEL, PROB)
    assert one.get()[1] == 0.5
    accuracy = metric.BinaryAccuracy(threshold=0.6)
    accuracy.update(nd.array([1, 1, 0]), nd.array([0.7, 0.6, 0.5]))
    assert accuracy.get()[1] == pytest.approx(2 / 3)
    vectors, others = nd.array([[3.0, 4.0], [1.0, 0.0]]), nd.array([[0, 0], [0, 2]])
    distance, angle = metric.MeanPairwiseDistance(), metric.MeanCosineSimilarity()
    for made in (distance, angle):
        made.update(vectors, others)
    assert distance.get()[1] == pytest.approx((5 + math.sqrt(5)) / 2)
    assert angle.get()[1] == 0.0
    angle.update(vectors, 3 * vectors)
    assert angle.get()[1] == pytest.approx(0.5)


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


@pytest.mark.parametrize(
    "made",
    [
        metric.Accuracy(axis=0),
        metric.TopKAccuracy(top_k=3),
        metric.F1(average="micro", name="mine"),
        metric.Perplexity(-1),
        metric.PCC(output_names=["a"]),
        metric.create(["acc", metric.Fbeta(beta=3)]),
    ],
)
def test_config_makes_the_same_metric_again(made: metric.EvalMetric) -> None:
    config = made.get_config()
    for stored in (config, json.dumps(config)):
        again = metric.create(stored)
        assert type(again) is type(made)
        assert again.get_config() == config
        assert again.name == made.name


def test_shapes_may_be_checked() -> None:
    assert metric.check_label_shapes(LABEL, GUESS4, wrap=True) == ([LABEL], [GUESS4])
    assert metric.check_label_shapes(LABEL, GUESS4) == (LABEL, GUESS4)
    assert metric.check_label_shapes(LABEL, GUESS4, shape=True) == (LABEL, GUESS4)
    with pytest.raises(ValueError, match=r"shape \(4,\) .* shape \(3,\)"):
        metric.check_label_shapes(LABEL, GUESS, shape=True)
    with pytest.raises(ValueError, match="2 label arrays and 1"):
        metric.check_label_shapes([LABEL, LABEL], [GUESS])


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda: metric.create("acuracy"), ArgumentError, "accuracy?"),
        (lambda: metric.TopKAccuracy(1), ArgumentError, "use Accuracy"),
        (lambda: metric.F1(average="all"), ArgumentError, "'macro'"),
        (lambda: metric.F1().update(nd.array([2]), PROB), ArgumentError, "two classes"),
        (lambda: metric.F1().update(LABEL, GUESS), ShapeError, r"must be \(N, 2\)"),
        (lambda: metric.PCC().update(nd.array([1]), PROB), ShapeError, "1 labels"),
        (lambda: metric.PCC().update([-LABEL], [LABEL]), ArgumentError, "class -1"),
        (lambda: metric.Fbeta(beta=0), ArgumentError, "positive"),
        (lambda: metric.PearsonCorrelation(average="all"), ArgumentError, "'micro'"),
        (lambda: metric.create('{"name": "acc"}'), ArgumentError, '"metric": "name"'),
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

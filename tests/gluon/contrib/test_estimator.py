"""A training loop with handlers at its moments."""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minimx as mx
from minimx import gluon, metric, nd
from minimx.core.errors import DataError
from minimx.gluon import nn
from minimx.gluon.contrib import estimator as room

CPU = mx.cpu()
Estimator: Any = room.Estimator  # it is also given what it refuses
Early: Any = room.EarlyStoppingHandler


def loader(samples: int = 8, batch: int = 2) -> gluon.data.DataLoader:
    points = np.random.default_rng(1).normal(size=(samples, 3)).astype("float32")
    labels = (points.sum(1) > 0).astype("float32")
    return gluon.data.DataLoader(
        gluon.data.ArrayDataset(nd.array(points), nd.array(labels)), batch_size=batch
    )


def made(ctx: Any = CPU, rate: float = 0.5, **settings: Any) -> Any:
    net = nn.HybridSequential()
    net.add(nn.Dense(2, in_units=3))
    net.initialize(mx.init.Xavier(), ctx=ctx)
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": rate})
    loss = gluon.loss.SoftmaxCrossEntropyLoss()
    return Estimator(net, loss, trainer=trainer, context=ctx, **settings)


def scores(metrics: list[metric.EvalMetric]) -> dict[str, float]:
    return dict(pair for one in metrics for pair in one.get_name_value())


@pytest.mark.parametrize("ctx", [CPU, [mx.cpu(), mx.gpu(0)]])
def test_a_network_learns_and_is_validated(
    ctx: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    mx.random.seed(1)
    est = made(ctx)
    est.fit(loader(), val_data=loader(), epochs=15)
    found = scores(est.train_metrics)
    assert found["training accuracy"] == 1.0
    assert found["training softmaxcrossentropyloss"] < 0.3
    assert scores(est.val_metrics)["validation accuracy"] == 1.0
    said = capsys.readouterr().out
    assert "Training begin: using optimizer SGD" in said
    assert "Train for 15 epochs." in said
    assert "[Epoch 14] Finished in" in said
    assert "Validation Begin" in said
    assert "Train finished" in said


def test_a_step_of_the_loop_is_one_of_the_trainer() -> None:
    est = made()
    net = nn.Dense(2, in_units=3)
    net.initialize()
    net.weight.set_data(est.net[0].weight.data())
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.5})
    est.fit(loader(), batches=3)
    for data, label in list(loader())[:3]:
        with mx.autograd.record():
            loss = est.loss(net(data), label)
        loss.backward()
        trainer.step(2)
    np.testing.assert_array_equal(
        net.weight.data().asnumpy(), est.net[0].weight.data().asnumpy()
    )


class Diary(
    room.TrainBegin,
    room.EpochBegin,
    room.BatchBegin,
    room.BatchEnd,
    room.EpochEnd,
    room.TrainEnd,
):
    """Writes down what it is told."""

    def __init__(self, stop: str = "") -> None:
        self.seen = ""
        self.stop = stop

    def train_begin(self, estimator: Any, *args: Any, **kwargs: Any) -> None:
        self.seen += "["

    def epoch_begin(self, estimator: Any, *args: Any, **kwargs: Any) -> None:
        self.seen += "("

    def batch_begin(self, estimator: Any, *args: Any, **kwargs: Any) -> None:
        assert len(kwargs["batch"]) == 2
        self.seen += "b"

    def batch_end(self, estimator: Any, *args: Any, **kwargs: Any) -> bool:
        assert set(kwargs) == {"batch", "pred", "label", "loss"}
        self.seen += "e"
        return self.seen.endswith(self.stop) if self.stop else False

    def epoch_end(self, estimator: Any, *args: Any, **kwargs: Any) -> bool:
        self.seen += ")"
        return False

    def train_end(self, estimator: Any, *args: Any, **kwargs: Any) -> None:
        self.seen += "]"


@pytest.mark.parametrize(
    ("how", "stop", "expected"),
    [
        ({"epochs": 2}, "", "[(bebe)(bebe)]"),
        ({"batches": 3}, "", "[(bebe)(be)]"),
        ({"epochs": 2}, "(be", "[(be)(be)]"),
    ],
)
def test_handlers_are_told_in_order(how: Any, stop: str, expected: str) -> None:
    diary = Diary(stop)
    made().fit(loader(4), event_handlers=diary, **how)
    assert diary.seen == expected


def test_handlers_go_by_priority() -> None:
    est = made()
    kinds = [type(one) for one in est._prepare_default_handlers(loader(), [Diary()])]
    assert kinds[0] is room.GradientUpdateHandler
    assert set(kinds[1:3]) == {room.MetricHandler, room.ValidationHandler}
    assert kinds[-1] is room.LoggingHandler


def test_training_ends_when_it_gets_no_better() -> None:
    est = made(rate=0.0)
    early = room.EarlyStoppingHandler(est.train_metrics[0], patience=2, mode="max")
    est.fit(loader(), epochs=9, event_handlers=[early])
    assert (early.stopped_epoch, early.current_epoch) == (2, 3)
    falling = room.EarlyStoppingHandler(
        est.train_metrics[1], mode="min", min_delta=1.0, baseline=10.0, patience=1
    )
    est.fit(loader(), epochs=9, event_handlers=[falling])
    assert falling.best == pytest.approx(scores(est.train_metrics).popitem()[1])
    assert falling.current_epoch == 2


@pytest.mark.parametrize("mode", ["min", "max"])
def test_more_or_less_is_better(mode: str) -> None:
    watch = room.events.Watch("x", metric.Accuracy(), mode, 0.1)
    assert watch.improves(0.5)
    watch.best = 0.5
    assert watch.improves(0.3) is (mode == "min")
    assert watch.improves(0.7) is (mode == "max")
    assert not watch.improves(0.55)
    with pytest.warns(RuntimeWarning, match="no value"):
        assert watch.value() is None


def test_checkpoints_are_kept_and_resumed(tmp_path: Path) -> None:
    est = made()
    est.net.hybridize()
    keep: Any = {"model_dir": str(tmp_path / "new"), "model_prefix": "m", "mode": "min"}
    best: Any = {"save_best": True, "monitor": est.train_metrics[1], "verbose": 1}
    saving = room.CheckpointHandler(max_checkpoints=2, **best, **keep)
    est.fit(loader(), epochs=3, event_handlers=[saving])
    names = {"epoch1batch8", "epoch2batch12", "best"}
    kinds = ("params", "states")
    files = {f"m-{name}.{kind}" for name in names for kind in kinds}
    assert set(os.listdir(tmp_path / "new")) == files | {"m-symbol.json"}
    assert saving.best == pytest.approx(est.train_metrics[1].get()[1])

    other = made()
    resuming = room.CheckpointHandler(resume_from_checkpoint=True, **keep)
    other.fit(loader(), epochs=5, event_handlers=[resuming])
    assert other.max_epoch == 2
    assert (tmp_path / "new" / "m-epoch4batch20.params").exists()
    est.fit(loader(), epochs=2)
    np.testing.assert_array_equal(
        est.net[0].weight.data().asnumpy(), other.net[0].weight.data().asnumpy()
    )
    with pytest.raises(ValueError, match="nothing is left of 5"):
        made().fit(loader(), epochs=5, event_handlers=[resuming])
    with pytest.raises(AssertionError, match="batch_period=None"):
        made().fit(loader(), batches=50, event_handlers=[resuming])
    (tmp_path / "new" / "m-epoch4batch20.states").unlink()
    with pytest.raises(DataError, match=r"batch20\.states is missing"):
        made().fit(loader(), epochs=9, event_handlers=[resuming])


def test_resuming_from_nothing_begins_anew(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    saving = room.CheckpointHandler(
        str(tmp_path), epoch_period=None, batch_period=2, resume_from_checkpoint=True
    )
    made().fit(loader(), batches=4, event_handlers=[saving])
    said = capsys.readouterr().out
    assert "No checkpoint found" in said
    assert "The graph is not saved" in said
    assert len(list(tmp_path.glob("*.params"))) == 2


def test_reports_after_some_batches(capsys: pytest.CaptureFixture[str]) -> None:
    est = made()
    report = room.LoggingHandler(2, est.train_metrics)
    est.fit(loader(10), batches=5, event_handlers=[report])
    said = capsys.readouterr().out
    for number, samples in ((0, 2), (2, 6), (4, 10)):
        assert f"[Epoch 0][Batch {number}][Samples {samples}] time/interval" in said
    assert "[Batch 1]" not in said
    assert "Train for 5 batches." in said


def test_validation_between_batches() -> None:
    est = made()
    diary = Diary()
    handler = room.ValidationHandler(
        loader(4), est.evaluate, epoch_period=None, batch_period=2, event_handlers=diary
    )
    est.fit(loader(8), epochs=1, event_handlers=[handler])
    assert diary.seen == "(bebe)" * 2


def test_another_network_and_loss_for_validation() -> None:
    est = made(val_loss=gluon.loss.SoftmaxCrossEntropyLoss(weight=3.0))
    half = nn.HybridSequential()
    half.add(est.net[0])
    est.val_net = half
    est.evaluate(loader())
    losses = [3 * est.loss(half(x), y).asnumpy() for x, y in loader()]
    found = scores(est.val_metrics)["validation softmaxcrossentropyloss"]
    assert found == pytest.approx(np.concatenate(losses).mean(), rel=1e-5)


class Twice(room.BatchProcessor):
    """A processor that has its own way with a batch."""

    def fit_batch(self, estimator: Any, train_batch: Any, batch_axis: int = 0) -> Any:
        super().fit_batch(estimator, train_batch, batch_axis)
        return super().fit_batch(estimator, train_batch, batch_axis)


def test_what_is_done_with_a_batch_is_open() -> None:
    est = made(batch_processor=Twice())
    est.fit(loader(), batches=1)
    assert est.trainer.optimizer.num_update == 1


def test_what_is_missing_is_added() -> None:
    net = nn.Dense(2, in_units=3)
    with pytest.warns(UserWarning, match="No trainer specified"):
        est = Estimator(net, gluon.loss.L2Loss(), context=CPU)
    assert est.trainer.learning_rate == 0.001
    assert [one.name for one in est.train_metrics] == ["training l2loss"]
    assert net.weight.data().shape == (2, 3)
    trainer = gluon.Trainer(net.collect_params(), "sgd")
    with pytest.warns(UserWarning, match="already fully initialized"):
        Estimator(net, est.loss, initializer="ones", trainer=trainer, context=CPU)
    own = [metric.Accuracy(), metric.Loss("mine")]
    est = made(train_metrics=metric.create(own))
    assert est.train_metrics == own
    assert [one.name for one in est.val_metrics] == [
        "validation accuracy",
        "validation mine",
    ]
    assert room.estimator._check_context(None) == [mx.gpu(0)]
    assert math.isinf(room.LoggingHandler().priority)


@pytest.mark.parametrize(
    ("use", "error", "words"),
    [
        (lambda est: est.fit([1], epochs=1), ValueError, "DataLoader"),
        (lambda est: est.evaluate([1]), ValueError, "DataLoader"),
        (lambda est: est.fit(loader()), ValueError, "one of the two"),
        (lambda est: est.fit(loader(), epochs=1, batches=1), ValueError, "one of the"),
        (
            lambda est: est.fit(loader(), epochs=1, event_handlers=[3]),
            ValueError,
            "int",
        ),
        (
            lambda est: est.fit(
                loader(), epochs=1, event_handlers=room.MetricHandler(metric.MSE())
            ),
            ValueError,
            "nobody updates",
        ),
        (lambda est: made(train_metrics=["acc"]), ValueError, "must be EvalMetrics"),
        (lambda est: made(batch_processor=3), ValueError, "no fit_batch"),
        (lambda est: Estimator(est.net, loss="l2"), ValueError, r"gluon\.loss"),
        (lambda est: room.estimator._check_context("cpu"), ValueError, "a device or a"),
        (
            lambda est: room.estimator._check_context(mx.gpu(100)),
            AssertionError,
            "is not there",
        ),
        (lambda est: room.LoggingHandler("batch"), ValueError, "'epoch' or a"),
        (lambda est: Early("acc"), ValueError, "monitor must be"),
        (
            lambda est: Estimator(est.net, est.loss, trainer="sgd", context=CPU),
            ValueError,
            "must be a gluon.Trainer",
        ),
    ],
)
def test_wrong_use_is_explained(use: Any, error: Any, words: str) -> None:
    with pytest.raises(error, match=words):
        use(made())


def test_unclear_modes_are_told() -> None:
    with pytest.warns(UserWarning, match="more is better"):
        room.EarlyStoppingHandler(metric.Accuracy())
    with (
        pytest.warns(RuntimeWarning, match="is none of"),
        pytest.warns(UserWarning, match="more is better"),
    ):
        room.EarlyStoppingHandler(metric.Accuracy(), mode="most")

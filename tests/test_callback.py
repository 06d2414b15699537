"""Reports and checkpoints."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minimx as mx
from minimx import callback, metric, nd
from minimx.core.errors import ArgumentError


def batch(number: int, score: Any = None) -> callback.BatchEndParam:
    return callback.BatchEndParam(epoch=3, nbatch=number, eval_metric=score)


def accuracy() -> metric.EvalMetric:
    made = metric.Accuracy()
    made.update(nd.array([1, 0]), nd.array([1, 1]))
    return made


def test_speed_is_reported_every_few_batches(caplog: Any) -> None:
    caplog.set_level(logging.INFO)
    score = accuracy()
    report = callback.Speedometer(batch_size=10, frequent=2)
    for number in range(5):
        report(batch(number, score))
    lines = [one.message for one in caplog.records if one.name == "root"]
    assert len(lines) == 2
    assert lines[0].startswith("Epoch[3] Batch [0-2]\tSpeed: ")
    assert "accuracy=0.500000" in lines[0]
    assert "accuracy=nan" in lines[1]  # reset after the first report
    assert score.get_global()[1] == 0.5
    assert report.last_speed > 0


def test_a_new_epoch_starts_the_clock_again(caplog: Any) -> None:
    caplog.set_level(logging.INFO)
    report = callback.Speedometer(10, frequent=1, auto_reset=False)
    for number in (0, 1, 0):
        report(batch(number))
    assert len(caplog.records) == 1


def test_the_bar_grows(capsys: Any) -> None:
    bar = callback.ProgressBar(total=4, length=8)
    for number in (1, 4):
        bar(batch(number))
    assert capsys.readouterr().err == "[==------] 25%\r[========] 100%\r"


def test_metrics_are_logged(caplog: Any) -> None:
    caplog.set_level(logging.INFO)
    log = callback.log_train_metric(2, auto_reset=True)
    score = accuracy()
    for number in range(3):
        log(batch(number, score))
    callback.LogValidationMetricsCallback()(batch(0, accuracy()))
    callback.LogValidationMetricsCallback()(batch(0))
    assert [record.message for record in caplog.records] == [
        "Iter[3] Batch[0] Train-accuracy=0.500000",
        "Iter[3] Batch[2] Train-accuracy=nan",
        "Epoch[3] Validation-accuracy=0.500000",
    ]


def test_checkpoints_of_every_second_epoch(tmp_path: Path) -> None:
    save = callback.do_checkpoint(tmp_path / "net", period=2)
    for epoch in range(4):
        save(epoch, None, {"w": nd.ones((1,))}, {"mean": nd.zeros((1,))})
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "net-0002.params",
        "net-0004.params",
    ]
    assert sorted(nd.load(tmp_path / "net-0002.params")) == ["arg:w", "aux:mean"]
    with pytest.raises(ArgumentError, match="period=0"):
        callback.do_checkpoint("net", 0)


def test_a_module_saves_itself(tmp_path: Path) -> None:
    net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, name="fc")
    module = mx.mod.Module(net, label_names=None)
    module.bind([("data", (1, 3))])
    module.init_params()
    module.init_optimizer()
    save = callback.module_checkpoint(module, tmp_path / "m", 2, True)
    for epoch in range(3):
        save(epoch, net, {}, {})
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == ["m-0002.params", "m-0002.states", "m-symbol.json"]
    _, arguments, _ = mx.model.load_checkpoint(str(tmp_path / "m"), 2)
    assert arguments["fc_weight"].shape == (2, 3)
    with pytest.raises(ArgumentError, match="period=0"):
        callback.module_checkpoint(module, "m", 0)


class Arrays:
    """A metric whose values are arrays, as those of detection are."""

    def get_name_value(self) -> list[tuple[str, Any]]:
        return [("each", np.array([1.0, 2.0])), ("one", nd.ones(1)), ("plain", 0.5)]

    def reset_local(self) -> None:
        """Nothing is kept."""


def test_values_may_be_arrays(caplog: Any) -> None:
    caplog.set_level(logging.INFO)
    report = callback.Speedometer(batch_size=10, frequent=1)
    for number in range(2):
        report(batch(number, Arrays()))
    callback.LogValidationMetricsCallback()(batch(0, Arrays()))
    callback.log_train_metric(1)(batch(0, Arrays()))
    first, *others = caplog.messages
    assert first.endswith("\teach=[1. 2.]\tone=1.000000\tplain=0.500000")
    assert [line.split("-")[1] for line in others] == [
        "each=[1. 2.]", "one=1.000000", "plain=0.500000",
    ] * 2  # fmt: skip

"""Metrics for TensorBoard: what is written, and the error where nothing can write."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

import pytest

import minimx as mx
from minimx.callback import BatchEndParam
from minimx.contrib import tensorboard


class Writer:
    """Takes what a SummaryWriter takes."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.written: list[tuple[str, float, int]] = []

    def add_scalar(self, tag: str, value: float, global_step: int) -> None:
        self.written.append((tag, value, global_step))


@pytest.fixture
def package(monkeypatch: pytest.MonkeyPatch) -> None:
    found: Any = ModuleType("tensorboardX")
    found.SummaryWriter = Writer
    monkeypatch.setitem(sys.modules, "tensorboardX", found)


def half_right() -> mx.metric.EvalMetric:
    metric = mx.metric.create(["acc", "ce"])
    metric.update([mx.nd.array([0, 1])], [mx.nd.array([[1, 0], [1, 0]])])
    return metric


def test_each_metric_is_written_under_its_name(package: None, tmp_path: Any) -> None:
    callback = mx.contrib.tensorboard.LogMetricsCallback(tmp_path, prefix="train")
    callback(BatchEndParam(3, 0, half_right()))
    callback(BatchEndParam(3, 1, None))
    writer = callback.summary_writer
    names = [(tag, step) for tag, _, step in writer.written]
    assert names == [("train-accuracy", 3), ("train-cross-entropy", 3)]
    assert writer.written[0][1] == 0.5
    assert writer.folder == str(tmp_path)


def test_without_a_prefix(package: None, tmp_path: Any) -> None:
    callback = tensorboard.LogMetricsCallback(str(tmp_path))
    callback(BatchEndParam(0, 0, half_right()))
    assert [tag for tag, *_ in callback.summary_writer.written] == [
        "accuracy",
        "cross-entropy",
    ]


def test_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in tensorboard.WRITERS:
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ImportError, match="pip install tensorboardX"):
        tensorboard.LogMetricsCallback("logs")


def test_a_module_calls_it_while_it_fits(package: None) -> None:
    callback = tensorboard.LogMetricsCallback("logs")
    data = mx.sym.var("data")
    net = mx.sym.SoftmaxOutput(
        mx.sym.FullyConnected(data, num_hidden=2), name="softmax"
    )
    batches = mx.io.NDArrayIter(mx.nd.ones((8, 3)), mx.nd.zeros(8), 4)
    mx.mod.Module(net).fit(batches, num_epoch=2, batch_end_callback=callback)
    assert [step for _, _, step in callback.summary_writer.written] == [0, 0, 1, 1]

"""Compute times of layers, from a recorded step."""

from __future__ import annotations

import pytest

import minimx as mx
from minimx import autograd, gluon, nd
from minimx.core.errors import ArgumentError
from minimx.core.record import Record
from minimx.kvstore.simulation import Workload


def recorded(hybrid: bool) -> tuple[Record, gluon.Block]:
    net = gluon.nn.HybridSequential()
    net.add(gluon.nn.Dense(32, activation="relu"), gluon.nn.Dense(10))
    net.initialize()
    if hybrid:
        net.hybridize()
    trainer = gluon.Trainer(net.collect_params(), "sgd")
    loss = gluon.loss.SoftmaxCrossEntropyLoss()
    x, y = nd.ones((16, 64)), nd.zeros((16,))

    def step() -> None:
        with autograd.record():
            value = loss(net(x), y)
        value.backward()
        trainer.step(16)
        mx.nd.waitall()

    step()
    with Record() as record:
        step()
    return record, net


@pytest.mark.parametrize("hybrid", [False, True])
def test_a_recorded_step_becomes_a_table(hybrid: bool) -> None:
    record, net = recorded(hybrid)
    table = Workload.from_record(record, net)
    assert [layer.elements for layer in table.layers] == [10, 320, 32, 2048]
    assert [layer.rows for layer in table.layers] == [10, 10, 32, 32]
    ops = record.ops()
    ops = ops[[op not in ops["inside"] for op in ops["op"]]]
    phases = record.texts(ops["phase"])
    spent = sum(
        int(end - start)
        for start, end, phase in zip(ops["t_start"], ops["t_end"], phases, strict=True)
        if phase in ("forward", "backward")
    )
    assert table.compute_seconds == pytest.approx(spent * 1e-9)
    assert all(one.backward > 0 for one in table.layers if one.elements > 32)
    assert table.dispatch == 0.0
    operations = int((ops["t_end"] - ops["t_start"]).sum()) * 1e-9
    known = Workload.from_record(record, net, processor=operations + 0.5)
    assert known.layers == table.layers
    assert known.dispatch == pytest.approx(0.5)


def test_updates_do_not_make_a_device_the_busiest_one() -> None:
    record, net = recorded(hybrid=False)
    before = Workload.from_record(record, net)
    t = int(record.ops()["t_end"].max())
    record.op(10_000, "sgd_update", "", "update", "cpu(9)", "cpu(9)/0", t, t, t,
              t + 10**10, 0, 0, False)  # fmt: skip
    assert Workload.from_record(record, net).layers == before.layers


def test_a_record_without_a_backward_pass_is_an_error() -> None:
    _, net = recorded(hybrid=False)
    with Record() as record:
        net(nd.ones((16, 64)))
        mx.nd.waitall()
    with pytest.raises(ArgumentError, match="no backward pass"):
        Workload.from_record(record, net)

"""What is urgent overtakes ordinary work, with the priority that it was given."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import minimx as mx
from minimx import nd
from minimx.core import autograd, engine
from minimx.core.device import cpu, gpu
from minimx.core.engine import Var
from minimx.core.knobs import knobs
from minimx.core.record import Record
from minimx.gluon import Parameter, Trainer

SOON = 10.0  # seconds until a test that hangs gives up


@pytest.fixture
def blocked() -> Iterator[Callable[[], None]]:
    """The only worker of ordinary CPU work is busy until this is called."""
    engine.wait_all()
    gate, closed = threading.Event(), threading.Event()

    def block() -> None:
        closed.set()
        gate.wait(SOON)

    with knobs(MXNET_ENGINE_TYPE="ThreadedEnginePerDevice"):
        engine.push(block, cpu(), [], [Var()], "gate")
        assert closed.wait(SOON)
        yield gate.set
        gate.set()
        engine.wait_all()


def told(record: Record) -> list[tuple[str, str, int]]:
    """Name, worker without its number, and priority of each operation, as pushed."""
    ops = record.ops()
    ops = ops[ops["op"].argsort()]
    workers = [worker.partition("/")[0] for worker in record.texts(ops["worker"])]
    return list(
        zip(record.texts(ops["name"]), workers, ops["priority"].tolist(), strict=True)
    )


def test_a_block_makes_plain_work_urgent_and_ends(threaded: str) -> None:
    with Record() as record:
        for device in (cpu(), gpu()):
            with engine.urgent(-3):
                with engine.urgent(2):
                    engine.push(lambda: None, device, [], [Var()], "inner")
                engine.push(lambda: None, device, [], [Var()], "outer")
                engine.push(lambda: None, device, [], [Var()], "own", priority=9)
            engine.push(lambda: None, device, [], [Var()], "after")
        engine.wait_all()
    rows = [(name, priority) for name, _, priority in told(record)]
    assert rows == [("inner", 2), ("outer", -3), ("own", 9), ("after", 0)] * 2
    if threaded == "ThreadedEnginePerDevice":
        lanes = [worker for _, worker, _ in told(record)]
        assert lanes == ["cpu priority"] * 3 + ["cpu(0)"] + ["gpu(0) priority"] * 3 + [
            "gpu(0)"
        ]


def test_other_threads_are_not_urgent(threaded: str) -> None:
    with Record() as record:
        with engine.urgent(5):
            thread = threading.Thread(
                target=engine.push, args=(int, cpu(), [], [Var()], "theirs")
            )
            thread.start()
            thread.join()
        engine.wait_all()
    assert [priority for _, _, priority in told(record)] == [0]


def test_summing_in_a_store_does_not_wait_behind_ordinary_work(
    blocked: Callable[[], None],
) -> None:
    kv = mx.kv.create("local")
    out = nd.array([0, 0])
    kv.init(0, nd.array([0, 0]))
    ordinary = nd.array([1, 1]) + 1  # waits behind the gate
    with Record() as record:
        kv.push(0, [nd.array([1, 2]), nd.array([10, 20])], priority=-7)
        kv.pull(0, out, priority=-7)
        assert out.asnumpy().tolist() == [11, 22]  # while the gate is closed
        assert "gate" not in [name for name, _, _ in told(record)]
    rows = told(record)
    assert rows
    assert {row[1:] for row in rows} == {("cpu priority", -7)}
    blocked()
    assert ordinary.asnumpy().tolist() == [2, 2]


@pytest.mark.parametrize("in_store", [False, True])
@pytest.mark.parametrize("devices", [[cpu(0), cpu(1)], [gpu(0), cpu(0)]])
def test_a_trainer_sums_the_first_parameters_first(
    in_store: bool, devices: list[Any]
) -> None:
    parameters = [Parameter(f"w{i}", shape=(3,), init="ones") for i in range(4)]
    for parameter in parameters:
        parameter.initialize(ctx=devices)
    trainer = Trainer(parameters, "sgd", update_on_kvstore=in_store)

    def step() -> None:
        with autograd.record():
            losses = [
                sum((w * w).sum() for w in weights)
                for weights in zip(*(p.list_data() for p in parameters), strict=True)
            ]
        autograd.backward(losses)
        engine.wait_all()
        trainer.step(1)
        engine.wait_all()

    step()
    with Record() as record:
        step()
    rows = [row for row in told(record) if "priority" in row[1]]
    assert {priority for _, _, priority in rows} == {0, -1, -2, -3}
    # Parameter by parameter, as MXNet pushes them; a sum is never ordinary work.
    order = [priority for _, _, priority in rows]
    assert order == sorted(order, reverse=True)
    sums = [row for row in rows if "add" in row[0]]
    assert len(sums) == 4


def test_a_module_sums_the_first_parameters_first() -> None:
    data = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, name="a")
    net = mx.sym.LinearRegressionOutput(data, mx.sym.var("label"), name="out")
    module = mx.mod.Module(net, label_names=["label"], context=[mx.cpu(0), mx.cpu(1)])
    module.bind([("data", (4, 3))], [("label", (4, 2))])
    module.init_params()
    module.init_optimizer(kvstore="local")
    batch = mx.io.DataBatch([nd.ones((4, 3))], [nd.ones((4, 2))])
    module.forward_backward(batch)
    engine.wait_all()
    with Record() as record:
        module.update()
        engine.wait_all()
    urgent = {priority for _, worker, priority in told(record) if "prio" in worker}
    assert urgent == {0, -1}

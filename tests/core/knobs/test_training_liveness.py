"""The knobs of training move what they say: where, and how many at once, is updated."""

from __future__ import annotations

from minimx.core import autograd, engine
from minimx.core.device import cpu, gpu
from minimx.core.record import Record
from minimx.gluon import Parameter, Trainer
from tests.core.knobs.proofs import defaults, proves, turned

__all__ = ["defaults"]  # pytest finds the fixture here


@proves("MXNET_OPTIMIZER_AGGREGATION_SIZE")
def test_the_aggregation_size_is_how_many_weights_one_update_changes() -> None:
    weights = [Parameter(f"w{i}", shape=(3,), init="ones") for i in range(12)]
    for weight in weights:
        weight.initialize()
    trainer = Trainer(weights, "sgd", {"learning_rate": 0.1})

    def observe() -> int:
        with autograd.record():
            total = sum((w.data() * w.data()).sum() for w in weights)
        total.backward()
        engine.wait_all()
        with Record() as record:
            trainer.step(1)
            engine.wait_all()
        return sum("update" in name for name in record.texts(record.ops()["name"]))

    assert turned(observe, MXNET_OPTIMIZER_AGGREGATION_SIZE=1) == (3, 12)
    assert turned(observe, MXNET_OPTIMIZER_AGGREGATION_SIZE=6) == (3, 2)


@proves("MXNET_UPDATE_ON_KVSTORE")
def test_the_optimizer_runs_in_the_store_or_on_every_device() -> None:
    weight = Parameter("w", shape=(3,), init="ones")
    weight.initialize(ctx=[cpu(0), gpu(0)])

    def observe() -> int:
        trainer = Trainer([weight], "sgd", {"learning_rate": 0.1})
        with autograd.record():
            losses = [(w * w).sum() for w in weight.list_data()]
        autograd.backward(losses)
        engine.wait_all()
        with Record() as record:
            trainer.step(1)
            engine.wait_all()
        return sum("update" in name for name in record.texts(record.ops()["name"]))

    assert turned(observe, MXNET_UPDATE_ON_KVSTORE=0) == (1, 2)

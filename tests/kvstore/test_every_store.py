"""On every store a network learns the same: with Trainer, Module and estimator."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import minimx as mx
from minimx import gluon, nd
from minimx.core.knobs import knobs
from minimx.kvstore import BETWEEN_PROCESSES
from minimx.kvstore.dist import job as jobs
from minimx.kvstore.policy import ON_DEVICES


class OfOnesOwn(mx.kv.KVStoreBase):
    """No more than what an author must write."""

    def broadcast(self, key: Any, value: Any, out: Any, priority: int = 0) -> None:
        for one in out:
            value.copyto(one)

    def pushpull(
        self, key: Any, value: Any, out: Any = None, priority: int = 0
    ) -> None:
        total = sum(one.asnumpy() for one in value)
        for one in value if out is None else out:
            one[:] = total

    @staticmethod
    def is_capable(capability: str) -> bool:
        return False


NAMES = [*ON_DEVICES, *BETWEEN_PROCESSES, "horovod", "teststore", "ofonesown"]
every = pytest.mark.parametrize("name", NAMES)
DRAW = np.random.default_rng(2)
X = DRAW.normal(size=(24, 6)).astype("float32")
Y = DRAW.integers(0, 3, 24).astype("float32")
STEPS, RATE, BATCH = 6, 0.5, 8


@pytest.fixture(autouse=True)
def _machine(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(jobs, "_job", None)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: name)
    monkeypatch.setitem(mx.kv.KVStoreBase.kv_registry, "ofonesown", OfOnesOwn)
    with knobs(MINIMX_SIM_GPUS=2):
        yield
        nd.waitall()


def devices(name: str | None) -> list[mx.Context]:
    return [mx.cpu()] if name is None else [mx.gpu(0), mx.gpu(1)]


def with_trainer(name: str | None) -> dict[str, Any]:
    net, trainer = trained_by(name)
    loss_of = gluon.loss.SoftmaxCrossEntropyLoss()
    for step in range(STEPS):
        at = slice(BATCH * step % 24, BATCH * step % 24 + BATCH)
        with mx.autograd.record():
            losses = [
                loss_of(net(x), y)
                for x, y in zip(
                    gluon.utils.split_and_load(nd.array(X[at]), devices(name)),
                    gluon.utils.split_and_load(nd.array(Y[at]), devices(name)),
                    strict=True,
                )
            ]
        mx.autograd.backward(losses)
        trainer.step(BATCH)
    return weights(net, name)


def with_estimator(name: str | None) -> dict[str, Any]:
    net, trainer = trained_by(name)
    estimator = gluon.contrib.estimator.Estimator(
        net, gluon.loss.SoftmaxCrossEntropyLoss(), trainer=trainer,
        context=devices(name),
    )  # fmt: skip
    estimator.logger.disabled = True
    data = gluon.data.DataLoader(gluon.data.ArrayDataset(X, Y), BATCH)
    estimator.fit(data, batches=STEPS)
    return weights(net, name)


def trained_by(name: str | None) -> tuple[Any, Any]:
    net = gluon.nn.Dense(3, in_units=6, prefix="net_")
    net.initialize(mx.init.Constant(0.1), ctx=devices(name))
    rate = {"learning_rate": RATE}
    return net, gluon.Trainer(net.collect_params(), "sgd", rate, kvstore=name)


def weights(net: Any, name: str | None) -> dict[str, Any]:
    found = {k: [x.asnumpy() for x in p.list_data()] for k, p in
             net.collect_params().items()}  # fmt: skip
    for first, *others in found.values():
        for other in others:
            np.testing.assert_array_equal(first, other)
    return {key: first for key, (first, *_) in found.items()}


def with_module(name: str | None) -> dict[str, Any]:
    out = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=3, name="fc")
    out = mx.sym.SoftmaxOutput(out, name="softmax")
    module = mx.mod.Module(out, context=devices(name))
    store = None if name is None else mx.kv.create(name)
    module.fit(
        mx.io.NDArrayIter(X, Y, BATCH, label_name="softmax_label"),
        kvstore=store,
        optimizer_params={"learning_rate": RATE, "rescale_grad": 1 / BATCH},
        initializer=mx.init.Constant(0.1),
        num_epoch=STEPS * BATCH // 24,
    )
    return {key: value.asnumpy() for key, value in module.get_params()[0].items()}


@every
@pytest.mark.parametrize("train", [with_trainer, with_estimator, with_module])
def test_all_stores_learn_the_same(
    name: str, train: Callable[[str | None], dict[str, Any]]
) -> None:
    expected, found = train(None), train(name)
    assert found.keys() == expected.keys()
    for key in expected:
        np.testing.assert_allclose(found[key], expected[key], rtol=0, atol=1e-6)

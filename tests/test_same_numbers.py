"""A program's result does not depend on engine, pool, bulking, threads or device."""

from typing import Any

import numpy as np
import pytest

import minimx as mx
from minimx import gluon, nd
from minimx.core import autograd

RNG = np.random.default_rng(0)
IMAGES = RNG.random((32, 1, 16, 16), dtype=np.float32)
LABELS = RNG.integers(0, 4, 32).astype("float32")


def lenet(dropout: Any) -> Any:
    net = gluon.nn.HybridSequential()
    with net.name_scope():
        net.add(
            gluon.nn.Conv2D(6, 3, activation="relu"),
            gluon.nn.BatchNorm(),
            gluon.nn.MaxPool2D(2, 2),
            gluon.nn.Conv2D(8, 3),
            gluon.nn.Activation("tanh"),
            gluon.nn.AvgPool2D(2, 2),
            gluon.nn.Flatten(),
            gluon.nn.Dropout(dropout),
            gluon.nn.Dense(16, activation="sigmoid"),
            gluon.nn.Dense(4),
        )
    return net


def trained_weights(device: Any, steps: Any = 3, dropout: Any = 0.3) -> Any:
    """All parameters, as bytes, after a few steps from a fixed start."""
    mx.random.seed(11)
    net = lenet(dropout)
    net.initialize(mx.init.Xavier(), ctx=device)
    loss_of = gluon.loss.SoftmaxCrossEntropyLoss()
    trainer = gluon.Trainer(
        net.collect_params(), "sgd", {"learning_rate": 0.1, "momentum": 0.9}
    )
    x, y = nd.array(IMAGES, ctx=device), nd.array(LABELS, ctx=device)
    for _ in range(steps):
        with autograd.record():
            loss = loss_of(net(x), y)
        loss.backward()
        trainer.step(len(IMAGES))
    parts = [p.data().asnumpy().tobytes() for p in net.collect_params().values()]
    return [loss.asnumpy().tobytes(), *parts]


@pytest.fixture(scope="module")
def reference() -> Any:
    with mx.knobs(MXNET_ENGINE_TYPE="NaiveEngine"):
        return trained_weights(mx.cpu())


@pytest.mark.parametrize("engine", ["ThreadedEngine", "ThreadedEnginePerDevice"])
@pytest.mark.parametrize("pool", ["Naive", "Round", "Unpooled"])
def test_engine_and_pool(reference: Any, engine: Any, pool: Any) -> None:
    with mx.knobs(MXNET_ENGINE_TYPE=engine, MXNET_CPU_MEM_POOL_TYPE=pool):
        assert trained_weights(mx.cpu()) == reference


def test_simulated_gpu_on_every_engine_and_pool() -> None:
    # Each device draws its own random numbers, so what is compared draws none.
    expected = trained_weights(mx.cpu(), dropout=0)
    for engine in ("NaiveEngine", "ThreadedEngine", "ThreadedEnginePerDevice"):
        for pool in ("Naive", "Round", "Unpooled"):
            with mx.knobs(MXNET_ENGINE_TYPE=engine, MXNET_GPU_MEM_POOL_TYPE=pool):
                assert trained_weights(mx.gpu(0), dropout=0) == expected


@pytest.mark.parametrize(
    "settings",
    [
        {"MXNET_EXEC_BULK_EXEC_TRAIN": False},
        {"MXNET_EXEC_BULK_EXEC_MAX_NODE_TRAIN_BWD": 2},
        {"MXNET_CPU_WORKER_NTHREADS": 4},
        {"OMP_NUM_THREADS": 1},
        {"MXNET_CPU_PARALLEL_SIZE": 1},
        {"MXNET_USE_NAIVE_STORAGE_MANAGERS": 1},
        {"MXNET_OPTIMIZER_AGGREGATION_SIZE": 1},
        {"MINIMX_CLOCK": "virtual"},
    ],
    ids=lambda settings: next(iter(settings)),
)
def test_other_knobs(reference: Any, settings: Any) -> None:
    with mx.knobs(**settings):
        assert trained_weights(mx.cpu()) == reference


def test_recording_changes_nothing(reference: Any) -> None:
    with mx.Record() as record:
        assert trained_weights(mx.cpu()) == reference
    assert len(record.ops()) > 100


def test_turning_knobs_while_it_trains_changes_nothing(reference: Any) -> None:
    """Engine and pool change between any two steps, under running work."""
    changes = [
        {"MXNET_ENGINE_TYPE": "NaiveEngine", "MXNET_CPU_MEM_POOL_TYPE": "Round"},
        {"MXNET_ENGINE_TYPE": "ThreadedEngine", "MXNET_CPU_MEM_POOL_TYPE": "Unpooled"},
        {"MXNET_ENGINE_TYPE": "ThreadedEnginePerDevice"},
    ]
    import threading

    stop = threading.Event()

    def turn() -> None:
        while not stop.is_set():
            for change in changes:
                mx.knobs.set(**change)

    turner = threading.Thread(target=turn)
    turner.start()
    try:
        assert trained_weights(mx.cpu()) == reference
    finally:
        stop.set()
        turner.join()
        mx.knobs.reset("MXNET_ENGINE_TYPE", "MXNET_CPU_MEM_POOL_TYPE")

"""A CUDA device as programs see it: memory, copies, engines, errors, training."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minimx as mx
from minimx.core import engine, storage
from minimx.core.drivers import driver_for
from minimx.core.errors import DeviceError
from minimx.cuda import toolkit
from minimx.cuda.driver import DeviceBytes, Working, current_stream
from minimx.cuda.kernels import fused

GPU = mx.gpu(0)
nn = mx.gluon.nn


def test_gpu_0_is_a_cuda_device() -> None:
    driver = driver_for(GPU)
    assert isinstance(driver, Working)
    assert GPU.backend == driver.backend == "cuda"
    assert mx.num_gpus() >= toolkit.stack().count >= 1
    assert "CUDA" in repr(driver)
    block = storage.pool_for(GPU).alloc(1000)
    assert isinstance(block.data, DeviceBytes)
    free, total = mx.context.gpu_memory_info(0)
    assert 0 < free < total
    block.free()


def test_what_could_not_be_computed_reads_as_zeros_once_it_was_told() -> None:
    with mx.knobs(MXNET_ENGINE_TYPE="ThreadedEngine"):
        zeros = mx.nd.zeros((1000,), ctx=GPU)

        def fail() -> None:
            raise DeviceError("on purpose.")

        spoiled = mx.nd.empty((1000,), ctx=GPU)
        engine.push(fail, GPU, (), (spoiled.chunk,), "failing")
        with pytest.raises(DeviceError, match="on purpose"):
            spoiled.wait_to_read()
        assert not (spoiled + zeros).asnumpy().any()


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int64", "bool"])
def test_numbers_go_there_and_come_back(dtype: str) -> None:
    numbers = np.arange(6).reshape(2, 3).astype(dtype)
    there = mx.nd.array(numbers, ctx=GPU, dtype=dtype)
    assert there.context is GPU
    np.testing.assert_array_equal(there.asnumpy(), numbers)
    for other in (mx.cpu(), mx.cpu_pinned(), mx.gpu(0)):
        np.testing.assert_array_equal(there.copyto(other).asnumpy(), numbers)


def test_bfloat16_and_arrays_without_axes_or_elements() -> None:
    pytest.importorskip("ml_dtypes")
    with mx.knobs(MINIMX_CUDA_VERBOSE=0):
        x = mx.nd.ones((3,), ctx=GPU, dtype="bfloat16")
        assert (x + x).astype("float32").asnumpy().tolist() == [2, 2, 2]
    with mx.np_shape():
        one = mx.np.ones((), ctx=GPU)
        assert float(one + one) == 2
        with mx.knobs(MINIMX_CUDA_VERBOSE=0):
            none = mx.np.ones((0, 3), ctx=GPU)
            assert (none + none).asnumpy().shape == (0, 3)


def test_parts_can_be_assigned() -> None:
    x = mx.nd.zeros((3, 4), ctx=GPU)
    x[1, 1:3] = 7
    x[2] = mx.nd.arange(4, ctx=GPU)
    x[:, 0] = np.array([4, 5, 6])
    expected = [[4, 0, 0, 0], [5, 7, 7, 0], [6, 1, 2, 3]]
    assert x.asnumpy().tolist() == expected
    assert x[1:, 1:3].asnumpy().tolist() == [[7, 7], [1, 2]]


def test_every_worker_has_a_stream_of_its_own() -> None:
    gate = threading.Barrier(2, timeout=20)
    driver: Any = driver_for(GPU)
    seen = []

    def look() -> None:
        gate.wait()  # two workers of MXNET_GPU_WORKER_NTHREADS are here at once
        with driver.working() as stream:
            assert current_stream() is stream
            seen.append(stream)

    for _ in range(2):
        engine.push(look, GPU, (), (), name="look")
    engine.wait_all()
    assert seen[0] is not seen[1]
    assert current_stream() == 0


@pytest.mark.parametrize(
    "kind", ["NaiveEngine", "ThreadedEngine", "ThreadedEnginePerDevice"]
)
def test_every_engine_gives_the_same_to_the_bit(kind: str) -> None:
    def work() -> bytes:
        x = mx.nd.array(np.linspace(-1, 1, 24).reshape(4, 6), ctx=GPU)
        y = mx.nd.dot(x, x, transpose_b=True)
        for _ in range(3):
            y = mx.nd.softmax(y) * y.sum(axis=0)
        found: bytes = y.asnumpy().tobytes()
        return found

    expected = work()
    with mx.knobs(MXNET_ENGINE_TYPE=kind):
        assert work() == expected


def test_an_operator_without_a_kernel_visits_the_host() -> None:
    with pytest.warns(UserWarning, match="_npi_eig has no CUDA kernel"):
        found, _ = mx.np.linalg.eig(mx.np.array([[2, 0], [0, 4]], ctx=GPU))
        np.testing.assert_allclose(found.asnumpy(), [2, 4], atol=1e-6)
    assert found.context is GPU


def test_states_that_a_host_kernel_changes_come_back() -> None:
    w, g = mx.nd.ones((3,), ctx=GPU), mx.nd.ones((3,), ctx=GPU)
    history = mx.nd.zeros(
        (3,), ctx=GPU, dtype="float64"
    )  # has no CUDA implementation beside float32
    here = [x.copyto(mx.cpu()) for x in (w, g, history)]
    step: Any = mx.nd.contrib.group_adagrad_update
    with mx.knobs(MINIMX_CUDA_VERBOSE=0):
        step(w, g, history, lr=0.1, out=w)
    step(*here, lr=0.1, out=here[0])
    assert history.asnumpy().any()
    for mine, its in zip((w, g, history), here, strict=True):
        np.testing.assert_array_equal(mine.asnumpy(), its.asnumpy())


@pytest.mark.skipif("not toolkit.simulated()", reason="a real device is too large")
def test_memory_runs_out_and_the_program_goes_on() -> None:
    assert toolkit.simulated()
    storage.empty_cache(GPU)
    with mx.knobs(MINIMX_SIM_GPU_MEMORY="1MiB"):
        held = mx.nd.ones((100, 1000), ctx=GPU)
        held.wait_to_read()
        with pytest.raises(mx.MXNetError, match="3.8 MiB"):
            mx.nd.zeros((1000, 1000), ctx=GPU).wait_to_read()
        assert held[0, :2].asnumpy().tolist() == [1, 1]
        del held
        assert mx.nd.zeros((10,), ctx=GPU).asnumpy().sum() == 0
        engine.wait_all()


def test_memory_without_elements_costs_nothing_and_all_of_it_comes_back() -> None:
    storage.empty_cache(GPU)
    engine.wait_all()
    before = storage.stats(GPU).n_live
    x = mx.nd.ones((4, 4), ctx=GPU)
    (x + x).wait_to_read()
    assert storage.stats(GPU).n_live > before
    del x
    engine.wait_all()
    assert storage.stats(GPU).n_live == before


# -- training --------------------------------------------------------------------------


def mlp() -> Any:
    net = nn.HybridSequential()
    net.add(nn.Dense(8, activation="relu"), nn.Dropout(0), nn.Dense(3))
    return net, (6, 5)


def lenet() -> Any:
    """LeNet's layers, on images of 12 by 12."""
    net = nn.HybridSequential()
    net.add(
        nn.Conv2D(2, 3, activation="tanh"), nn.MaxPool2D(2, 2),
        nn.Conv2D(3, 2, activation="tanh"), nn.MaxPool2D(2, 2),
        nn.Flatten(), nn.Dense(6, activation="tanh"), nn.Dense(3),
    )  # fmt: skip
    return net, (3, 1, 12, 12)


class Residual(mx.gluon.HybridBlock):
    """What a ResNet is made of: a block, its shortcut, and the pooled end."""

    def __init__(self) -> None:
        super().__init__()
        self.body, self.head = nn.HybridSequential(), nn.HybridSequential()
        self.body.add(
            nn.Conv2D(3, 3, 2, 1, use_bias=False), nn.BatchNorm(),
            nn.Activation("relu"), nn.Conv2D(3, 3, 1, 1, use_bias=False),
            nn.BatchNorm(),
        )  # fmt: skip
        self.short = nn.Conv2D(3, 1, 2, use_bias=False)
        self.head.add(nn.GlobalAvgPool2D(), nn.Flatten(), nn.Dense(3))

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        """A sum, bent, pooled and told apart."""
        return self.head(F.Activation(self.body(x) + self.short(x), act_type="relu"))


def resnet() -> Any:
    return Residual(), (3, 2, 6, 6)


def curve(make: Callable[[], Any], at: Any, rule: str, **hybrid: Any) -> list[float]:
    """The losses of a few steps on a device, from the same start."""
    mx.random.seed(1)
    net, shape = make()
    net.initialize(mx.init.Xavier(), ctx=mx.cpu())
    numbers = np.random.default_rng(0)
    x = mx.nd.array(numbers.normal(size=shape))
    y = mx.nd.array(np.arange(shape[0]) % 3)
    net(x)
    net.collect_params().reset_ctx(at)
    if hybrid:
        net.hybridize(**hybrid)
    x, y = x.as_in_context(at), y.as_in_context(at)
    settings = {"learning_rate": 0.05, **({"momentum": 0.9} if rule == "sgd" else {})}
    trainer = mx.gluon.Trainer(net.collect_params(), rule, settings)
    loss_of = mx.gluon.loss.SoftmaxCrossEntropyLoss()
    losses = []
    for _ in range(3):
        with mx.autograd.record():
            loss = loss_of(net(x), y).mean()
        loss.backward()
        trainer.step(1)
        losses.append(float(loss.asscalar()))
    return losses


@pytest.mark.parametrize("rule", ["sgd", "adam"])
@pytest.mark.parametrize("make", [mlp, lenet, resnet])
def test_a_network_learns_as_on_the_cpu(make: Callable[[], Any], rule: str) -> None:
    expected = curve(make, mx.cpu(), rule)
    np.testing.assert_allclose(curve(make, GPU, rule), expected, rtol=1e-4)
    assert expected[-1] < expected[0]


@pytest.mark.parametrize(
    "settings",
    [
        {"static_alloc": False},
        {"static_alloc": True, "static_shape": True},
    ],
)
@pytest.mark.parametrize("make", [mlp, resnet])
def test_a_graph_learns_as_its_operators(
    make: Callable[[], Any], settings: dict[str, bool]
) -> None:
    with mx.knobs(MXNET_USE_FUSION=0):
        plain, graph = curve(make, GPU, "sgd"), curve(make, GPU, "sgd", **settings)
    assert graph == plain


class Curves(mx.gluon.HybridBlock):
    """Nothing but pointwise operators, a stretched one among them."""

    def hybrid_forward(self, F: Any, x: Any, y: Any) -> Any:
        """A few curves."""
        z = F.sigmoid(x) * 0.5 + F.broadcast_mul(F.exp(-x), y)
        return F.sqrt(F.abs(z) + 1) - F.transpose(F.transpose(x) * 2)


def test_fused_operators_are_one_kernel_with_the_same_bits() -> None:
    x = mx.nd.array(np.linspace(-2, 2, 12).reshape(3, 4), ctx=GPU)
    y = mx.nd.array([[1.0], [2.0], [3.0]], ctx=GPU)
    found, made = [], []
    for fusion in (0, 1):
        made.append(fused._compiled.cache_info().currsize)
        with mx.knobs(MXNET_USE_FUSION=fusion, MINIMX_FUSION_LEAST=1):
            net = Curves()
            net.hybridize(static_alloc=True)
            for array in (x, y):
                array.attach_grad()
            with mx.autograd.record():
                out = net(x, y)
            out.backward()
            found.append([a.asnumpy().tobytes() for a in (out, x.grad, y.grad)])
    assert found[0] == found[1]
    assert fused._compiled.cache_info().currsize > made[1] == made[0]


@pytest.mark.skipif("not toolkit.simulated()", reason="a real device records")
def test_graphs_say_once_that_the_simulator_does_not_record_launches(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("minimx.cuda.captures._warned", False)

    def run() -> list[float]:
        net = nn.Dense(1, in_units=2)
        net.initialize(mx.init.One(), ctx=GPU)
        net.hybridize(static_alloc=True, static_shape=True)
        x = mx.nd.ones((1, 2), ctx=GPU)
        return [float(net(x).asscalar()) for _ in range(3)]

    with mx.knobs(MXNET_ENABLE_CUDA_GRAPHS=1):
        with pytest.warns(UserWarning, match="simulator .* records none"):
            assert run() == [2, 2, 2]
        assert run() == [2, 2, 2]  # not again

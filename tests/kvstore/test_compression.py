"""Gradients in one or two bits: what MXNet 1.9.1 sends, and what is kept for later."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import minimx as mx
from minimx import nd
from minimx.core.errors import ArgumentError, DTypeError
from minimx.core.knobs import knobs
from minimx.kvstore import packing
from minimx.kvstore.compression import Compression, packed_bytes


@pytest.fixture(autouse=True)
def _machine() -> Iterator[None]:
    with knobs(MINIMX_SIM_GPUS=8):
        yield


GRADIENT = [0.3, 0.6, -0.7, 0.5, -0.5, 0.1]
#: What two devices with this gradient each pull after each push, under MXNet 1.9.1.
PULLED = [
    [0, 1, -1, 1, -1, 0],
    [1, 1, -1, 1, -1, 0],
    [0, 1, -1, 1, -1, 0],
    [1, 1, -1, 1, -1, 0],
]


def test_the_numbers_of_mxnet() -> None:
    kv = mx.kv.create("device")
    kv.set_gradient_compression({"type": "2bit", "threshold": 0.5})
    kv.init("w", nd.zeros(6))
    out = nd.zeros(6)
    for expected in PULLED:
        kv.push("w", [nd.array(GRADIENT, ctx=mx.gpu(i)) for i in range(2)])
        kv.pull("w", out)
        assert out.asnumpy().tolist() == expected


def reference(kind: str, gradient: Any, residual: Any, threshold: float) -> list[float]:
    """What is sent, and the residual changed, number by number."""
    sent = []
    for i, g in enumerate(gradient):
        residual[i] += g
        if kind == "1bit":
            value = 1.0 if residual[i] > threshold else -1.0
        elif residual[i] >= threshold:
            value = threshold
        else:
            value = -threshold if residual[i] <= -threshold else 0.0
        residual[i] -= np.float32(value)
        sent.append(value)
    return sent


@pytest.mark.parametrize("kind", ["2bit", "1bit"])
@pytest.mark.parametrize("n", [1, 15, 16, 33, 5000])
def test_packing_and_unpacking_say_what_is_sent(kind: str, n: int) -> None:
    rng = np.random.default_rng(n)
    compression = Compression({"type": kind, "threshold": 0.25})
    residual = np.zeros(n, np.float32)
    for _ in range(3):
        gradient = rng.normal(0, 0.5, n).astype(np.float32)
        packed = compression.pack("w", 0, nd.array(gradient))
        assert packed.shape == (packed_bytes(kind, n),)
        out = nd.zeros(n)
        compression.unpack(packed, out)
        expected = reference(kind, gradient, residual, 0.25)
        assert out.asnumpy().tolist() == expected


def test_the_layout_of_bits() -> None:
    gradient = np.array([1, -1, 0, 1, -1] + [0] * 11, np.float32)
    packed, rest = np.zeros(4, np.uint8), np.zeros(16, np.float32)
    packing.pack2(gradient, rest, np.float32(0.5), packed)
    assert packed.tolist() == [0b11100011, 0b10000000, 0, 0]
    packed, rest = np.zeros(4, np.uint8), np.zeros(5, np.float32)
    packing.pack1(gradient[:5], rest, np.float32(0.5), packed)
    assert packed.tolist() == [0b10010000, 0, 0, 0]


def test_fewer_bytes_travel() -> None:
    def bytes_of(params: dict[str, Any] | None) -> int:
        kv = mx.kv.create("device")
        if params:
            kv.set_gradient_compression(params)
        kv.init(0, nd.zeros(16_000))
        values = [nd.ones(16_000, ctx=mx.gpu(i)) for i in range(2)]
        nd.waitall()
        with mx.Record() as record:
            kv.push(0, values)
            nd.waitall()
        return int(record.comm()["nbytes"].sum())

    assert bytes_of(None) == 64_000
    assert bytes_of({"type": "2bit"}) == 4_000
    assert bytes_of({"type": "1bit"}) == 2_000


@pytest.mark.parametrize(
    ("params", "text"),
    [
        ({"type": "3bit"}, "'2bit' or '1bit', not '3bit'"),
        ({"type": "2bit", "threshold": 0}, "above 0, not 0"),
        ({"type": "1bit", "threshold": "high"}, "a number, not 'high'"),
        ({"type": "2bit", "threshold": "x"}, "not 'x'"),
        ({"type": "2bit", "threshold": float("nan")}, "not nan"),
        ({"type": "2bit", "treshold": 1}, "Did you mean threshold"),
    ],
)
def test_wrong_settings_are_explained(params: dict[str, Any], text: str) -> None:
    with pytest.raises(ArgumentError, match=text):
        mx.kv.create("device").set_gradient_compression(params)


def test_what_cannot_be_compressed() -> None:
    with pytest.raises(ArgumentError, match="adds on the host"):
        mx.kv.create("local").set_gradient_compression({"type": "2bit"})
    kv = mx.kv.create("device")
    kv.set_gradient_compression({"type": "2bit"})
    kv.init("h", nd.zeros(2, dtype="float16"))
    half = [nd.ones(2, ctx=mx.gpu(i), dtype="float16") for i in range(2)]
    with pytest.raises(DTypeError, match="'h' is float16"):
        kv.push("h", half)


@pytest.mark.parametrize("kind", ["2bit", "1bit"])
@pytest.mark.parametrize(("devices", "on_store"), [(2, False), (3, True), (8, False)])
def test_a_trainer_learns_from_few_bits(
    kind: str, devices: int, on_store: bool
) -> None:
    target = np.array([[1.0, -2.0, 0.5]], np.float32)
    x = np.random.default_rng(0).normal(size=(8 * devices, 3)).astype(np.float32)
    places = [mx.gpu(i) for i in range(devices)]
    net = mx.gluon.nn.Dense(1, use_bias=False, in_units=3)
    net.initialize(mx.init.Zero(), ctx=places)
    trainer = mx.gluon.Trainer(
        net.collect_params(),
        "sgd",
        {"learning_rate": 0.05},
        compression_params={"type": kind},
        update_on_kvstore=on_store,
    )
    parts = mx.gluon.utils.split_and_load(nd.array(x), places)
    wanted = mx.gluon.utils.split_and_load(nd.array(x @ target.T), places)
    for _ in range(400):
        with mx.autograd.record():
            pairs = zip(parts, wanted, strict=True)
            losses = [((net(part) - right) ** 2).mean() / 5 for part, right in pairs]
        mx.autograd.backward(losses)
        trainer.step(devices)
    for at in places:
        found = net.weight.data(at).asnumpy()
        np.testing.assert_allclose(found, target, atol=0.1)


def pushed_by_a_trainer(given: Any) -> list[list[float]]:
    """The weights after each of two steps of two devices that push 0.3 each."""
    weight = mx.gluon.Parameter("w", shape=(2,))
    weight.initialize(mx.init.Zero(), ctx=[mx.gpu(0), mx.gpu(1)])
    settings = {"learning_rate": 1.0}
    trainer = mx.gluon.Trainer([weight], "sgd", settings, compression_params=given)
    found = []
    for _ in range(2):
        with mx.autograd.record():
            losses = [(0.3 * one).sum() for one in weight.list_data()]
        mx.autograd.backward(losses)
        trainer.step(1)
        found.append(weight.list_data()[1].asnumpy().tolist())
    return found


def test_a_trainer_keeps_what_packing_lost() -> None:
    assert pushed_by_a_trainer({"type": "2bit"}) == [[0, 0], [-1, -1]]
    assert pushed_by_a_trainer(None)[0] == pytest.approx([-0.6, -0.6])


@pytest.mark.parametrize(("kvstore", "sent"), [("device", True), ("local", False)])
def test_a_module_compresses_where_the_store_can(kvstore: str, sent: bool) -> None:
    net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, name="one")
    mod = mx.mod.Module(
        mx.sym.SoftmaxOutput(net, name="softmax"),
        context=[mx.gpu(0), mx.gpu(1)],
        compression_params={"type": "2bit", "threshold": 0.1},
    )
    mod.bind([("data", (4, 3))], [("softmax_label", (4,))])
    mod.init_params(mx.init.One())
    if not sent:
        with pytest.raises(ArgumentError, match="not compressed"):
            mod.init_optimizer(kvstore=kvstore)
        assert not mod.optimizer_initialized
        return
    mod.init_optimizer(kvstore=kvstore)
    with mx.Record() as record:
        mod.forward_backward(mx.io.DataBatch([nd.ones((4, 3))], [nd.ones(4)]))
        mod.update()
        nd.waitall()
    names = record.texts(record.ops()["name"])
    assert names.count("Quantize2bit") == 4

"""Looks at the numbers of a network while it trains."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minimx as mx
from minimx import amp, gluon, nd
from minimx.core import autograd
from minimx.core.errors import ArgumentError
from minimx.numerics import Histogram, looks, watch


@pytest.fixture(autouse=True)
def off_afterwards() -> Iterator[None]:
    amp.shutdown()
    yield
    amp.shutdown()


def network(hybrid: bool = False) -> Any:
    mx.random.seed(3)
    net = gluon.nn.HybridSequential(prefix="net_")
    with net.name_scope():
        net.add(
            gluon.nn.Conv2D(4, 3, activation="relu"),
            gluon.nn.MaxPool2D(2),
            gluon.nn.Dense(3),
        )
    net.initialize(mx.init.Xavier())
    if hybrid:
        net.hybridize()
    return net


def trained(
    net: Any, steps: int = 4, factor: float = 1.0, **more: Any
) -> tuple[mx.Record, Any]:
    """A record of some steps, every other one looked at, and the trainer."""
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
    scaled = amp.is_active()
    if scaled:
        amp.init_trainer(trainer)
    x = nd.array(np.random.default_rng(0).standard_normal((8, 1, 8, 8)))
    with mx.Record() as record, watch(net, trainer, **({"interval": 2} | more)):
        for _ in range(steps):
            with autograd.record():
                loss = (net(x).astype("float32") ** 2).mean() * factor
                if scaled:
                    with amp.scale_loss(loss, trainer) as big:
                        autograd.backward(big)
            if not scaled:
                loss.backward()
            trainer.step(1)
            net(x)  # predictions are nobody's business
    return record, trainer


def test_weights_gradients_and_activations_every_few_steps() -> None:
    net = network()
    record, _ = trained(net)
    found = looks(record)
    assert {one.step for one in found} == {1, 3}
    names = [(one.kind, one.layer, one.name) for one in found if one.step == 3]
    assert names[:3] == [
        ("activation", f"net/{layer}", "output")
        for layer in ("conv0", "pool0", "dense0")
    ]
    parameters = [
        ("net/conv0", "net_conv0_bias"),
        ("net/conv0", "net_conv0_weight"),
        ("net/dense0", "net_dense0_bias"),
        ("net/dense0", "net_dense0_weight"),
    ]
    assert names[3:7] == [("weight", *one) for one in parameters]
    assert names[7:] == [("gradient", *one) for one in parameters]
    relu = next(one for one in found if one.layer == "net/conv0")
    assert relu.histogram.size == 8 * 4 * 6 * 6
    assert relu.histogram.zeros > 0  # after the activation
    assert {one.dtype for one in found} == {one.used for one in found} == {"float32"}


def test_what_is_noted_is_what_was_there() -> None:
    net = network()
    net(nd.ones((1, 1, 8, 8)))
    weight = net[2].weight
    before = Histogram.of(weight.data())
    record, _ = trained(net, steps=1)
    (one,) = [
        look for look in looks(record, "weight", 1) if look.name == "net_dense0_weight"
    ]
    assert one.histogram.counts.tolist() == before.counts.tolist()
    gradient = next(
        look for look in looks(record, "gradient") if look.name == "net_dense0_weight"
    )
    now = Histogram.of(weight.grad())
    assert gradient.histogram.counts.tolist() == now.counts.tolist()
    assert gradient.histogram.squares == now.squares


def test_a_graph_shows_the_same_as_single_calls() -> None:
    plain, graph = (looks(trained(network(hybrid))[0]) for hybrid in (False, True))
    assert len(plain) == len(graph)
    for one, other in zip(plain, graph, strict=True):
        assert (one.kind, one.layer, one.step) == (other.kind, other.layer, other.step)
        assert one.histogram.counts.tolist() == other.histogram.counts.tolist()


def test_looking_changes_no_result() -> None:
    seen = network()
    trained(seen, interval=1)
    unseen = network()  # draws its first weights when it is first called
    trained(unseen, interval=1000, activations=False)
    for one, other in zip(
        seen.collect_params().values(), unseen.collect_params().values(), strict=True
    ):
        np.testing.assert_array_equal(one.data().asnumpy(), other.data().asnumpy())


def test_a_skipped_step_names_what_overflowed() -> None:
    amp.init()
    record, trainer = trained(network(), steps=5, factor=100.0, interval=100)
    scaler = trainer._amp_loss_scaler
    scaling = record.scalings()
    assert scaling["step"].tolist() == [1, 2, 3, 4, 5]
    assert scaler.skipped == scaling["skipped"].sum() >= 2
    assert scaling["scale"][:3].tolist() == [65536, 65536, 32768]
    first = scaling[0]
    name, layer = record.texts([first["tensor"], first["layer"]])
    assert name.startswith(layer.replace("/", "_"))
    seen = {one.name: one for one in looks(record, "gradient", step=2)}
    guilty = [
        one for one in seen.values() if one.histogram.infinite + one.histogram.nan
    ]
    assert guilty[-1].name == record.texts([scaling["tensor"][1]])[0]
    assert len(guilty) == scaling["many"][1]
    assert seen[name].scale == 65536
    assert {one.used for one in seen.values()} == {"float16"}
    good = scaling[~scaling["skipped"]]
    assert set(record.texts(good["tensor"])) <= {""}


def test_nothing_is_counted_while_nobody_records() -> None:
    net = network()
    trainer = gluon.Trainer(net.collect_params(), "sgd")
    x = nd.ones((2, 1, 8, 8))
    with watch(net, trainer, interval=1) as looking:
        with autograd.record():
            loss = net(x).sum()
        loss.backward()
        trainer.step(1)
        assert looking._waiting == []
        with mx.Record() as record:
            with autograd.record():
                loss = net(x).sum()
            loss.backward()
            trainer.step(1)
            looking.close()
    assert {one.step for one in looks(record)} == {2}
    assert not trainer._watchers
    assert not net._forward_hooks and not net[0]._forward_pre_hooks


def test_a_saved_record_shows_the_same(tmp_path: Path) -> None:
    record, _ = trained(network())
    loaded = mx.Record.load(record.save(tmp_path / "run.npz"))
    for one, other in zip(looks(record), looks(loaded), strict=True):
        assert (one.name, one.scale) == (other.name, other.scale)
        assert one.histogram.counts.tolist() == other.histogram.counts.tolist()


def test_looks_that_lost_their_counts_are_left_out() -> None:
    whole, _ = trained(network(), interval=1)
    short = mx.Record(capacity=60)
    for table in ("tensors", "exponents"):
        for row in whole._rings[table].since()[1]:
            short._rings[table].add(row)
    assert 0 < len(looks(short)) < len(short.tensors())


def test_what_cannot_be_watched_is_refused() -> None:
    net = network()
    trainer = gluon.Trainer(net.collect_params(), "sgd")
    with pytest.raises(ArgumentError, match=r"gluon\.Trainer"):
        watch(net, net)
    with pytest.raises(ArgumentError, match="interval=0"):
        watch(net, trainer, 0)
    assert not trainer._watchers


def on_two_devices(kvstore: Any, in_store: bool | None = False) -> mx.Record:
    """A record of one step on two simulated GPUs, each with half of the batch."""
    devices = [mx.gpu(0), mx.gpu(1)]
    net = gluon.nn.Dense(3, prefix="net_")
    net.initialize(mx.init.One(), ctx=devices)
    trainer = gluon.Trainer(
        net.collect_params(), "sgd", {"learning_rate": 0.1}, kvstore=kvstore,
        update_on_kvstore=in_store,
    )  # fmt: skip
    x = nd.array([[1.0, 2.0], [4.0, 8.0], [16.0, 32.0]])
    halves = x[:1].as_in_context(devices[0]), x[1:].as_in_context(devices[1])
    with mx.Record() as record, watch(net, trainer):
        with autograd.record():
            losses = [net(half) for half in halves]
        autograd.backward(losses)
        trainer.step(1)
    return record


def counted(record: mx.Record, kind: str) -> dict[str, tuple[int, float]]:
    """How many numbers each array had, and their norm."""
    return {
        one.name: (one.histogram.size, round(one.histogram.norm, 4))
        for one in looks(record, kind)
    }


def test_on_two_devices_each_has_its_own_activations() -> None:
    with mx.knobs(MINIMX_SIM_GPUS=2):
        record = on_two_devices("device")
    assert counted(record, "activation") == {
        "output of gpu(0)": (3, round(3 * 3**0.5, 4)),
        "output of gpu(1)": (6, round((3 * (12**2 + 48**2)) ** 0.5, 4)),
    }
    # Summed by the store before they are looked at, so that all devices have the same.
    assert counted(record, "gradient")["net_weight"] == (
        6,
        round((3 * (21**2 + 42**2)) ** 0.5, 4),
    )
    assert list(counted(record, "weight")) == ["net_bias", "net_weight"]


@pytest.mark.parametrize("kvstore", [None, "device"])
def test_gradients_that_differ_between_devices_are_counted_on_each(
    kvstore: str | None,
) -> None:
    """Without a store, or in one that sums while it updates."""
    with mx.knobs(MINIMX_SIM_GPUS=2):
        record = on_two_devices(kvstore, in_store=None)
    gradients = counted(record, "gradient")
    assert gradients["net_weight of gpu(0)"] == (6, round((3 * 5) ** 0.5, 4))
    second = (3 * (20**2 + 40**2)) ** 0.5
    assert gradients["net_weight of gpu(1)"] == (6, round(second, 4))
    weights = list(counted(record, "weight"))
    assert ("net_weight of gpu(1)" in weights) == (kvstore is None)
    assert len(weights) == (4 if kvstore is None else 2)


def called_twice_on_each_device(steps: int) -> mx.Record:
    devices = [mx.gpu(0), mx.gpu(1)]
    net = gluon.nn.HybridSequential(prefix="net_")
    net.add(gluon.nn.Dense(3, in_units=2))
    net.initialize(mx.init.One(), ctx=devices)
    net.hybridize()
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
    with mx.Record() as record, watch(net, trainer, interval=2):
        for _ in range(steps):
            with autograd.record():
                for device in (*devices, *devices):
                    net(nd.ones((4, 2), ctx=device)).backward()
            trainer.step(1)
    return record


def test_a_graph_on_two_devices_is_looked_at_once_on_each() -> None:
    with mx.knobs(MINIMX_SIM_GPUS=2):
        record = called_twice_on_each_device(3)
    found = [(one.step, one.name) for one in looks(record, "activation")]
    rows = [f"output of gpu({i})" for i in range(2)]
    assert found == [(step, row) for step in (1, 3) for row in rows]

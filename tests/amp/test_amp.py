"""Mixed precision while a program runs: who computes in which type, and what learns."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import minimx as mx
from minimx import amp, gluon
from minimx.core import autograd
from minimx.core.errors import ArgumentError

nd = mx.nd


@pytest.fixture(autouse=True)
def off_afterwards() -> Iterator[None]:
    amp.shutdown()
    yield
    amp.shutdown()


def kind(x: Any) -> str:
    return str(np.dtype(x.dtype).name)


X = np.linspace(-1, 1, 12, dtype=np.float32).reshape(3, 4)


# Who computes in which type


@pytest.mark.parametrize("target", ["float16", "bfloat16"])
def test_products_are_narrow_and_sums_are_not(target: str) -> None:
    amp.init(target)
    x, w = nd.array(X), nd.array(X)
    narrow = nd.FullyConnected(x, w, num_hidden=3, no_bias=True)
    assert kind(narrow) == target
    assert kind(nd.relu(narrow)) == target
    assert kind(nd.softmax(narrow)) == "float32"
    assert kind(narrow.sum()) == "float32"
    assert kind(narrow + narrow) == target
    assert kind(narrow + nd.ones((3, 3))) == "float32"
    assert kind(nd.concat(narrow, nd.ones((3, 3)), dim=0)) == "float32"
    assert kind(nd.Activation(narrow, act_type="softrelu")) == "float32"
    assert kind(nd.Activation(narrow, act_type="tanh")) == target
    assert kind(x * 2) == "float32"


def test_whole_numbers_and_doubles_stay_what_they_are() -> None:
    amp.init()
    assert kind(nd.ones((2,), dtype="int32") + nd.ones((2,), dtype="int32")) == "int32"
    wide = nd.ones((2, 4), dtype="float64")
    out = nd.FullyConnected(wide, wide, num_hidden=2, no_bias=True)
    assert kind(out) == "float64"


def test_places_to_look_at_are_not_rounded() -> None:
    amp.init()
    many = nd.zeros((1, 5000), dtype="float16")
    many[0, 2049] = 7
    assert nd.pick(many, nd.array([2049])).asscalar() == 7
    assert nd.take(many, nd.array([2049]), axis=1).asscalar() == 7


def test_what_wants_one_type_gets_that_of_the_data() -> None:
    amp.init()
    x, slope = nd.array(X, dtype="float16"), nd.ones((1,)) * 0.25
    out = nd.LeakyReLU(x, slope, act_type="prelu")
    assert kind(out) == "float16"
    np.testing.assert_allclose(out.asnumpy(), np.where(X > 0, X, X / 4), atol=1e-3)


def test_gradients_come_back_in_the_types_of_the_parameters() -> None:
    amp.init()
    x, w = nd.array(X), nd.array(X)
    for each in (x, w):
        each.attach_grad()
    with autograd.record():
        loss = nd.FullyConnected(x, w, num_hidden=3, no_bias=True).sum()
    loss.backward()
    assert kind(x.grad) == kind(w.grad) == "float32"
    np.testing.assert_allclose(
        w.grad.asnumpy(), np.tile(X.sum(axis=0), (3, 1)), atol=2e-3
    )


def test_off_again_everything_is_as_before() -> None:
    w = nd.array(X)
    amp.init()
    assert amp.is_active()
    amp.shutdown()
    assert not amp.is_active()
    assert kind(nd.FullyConnected(w, w, num_hidden=3, no_bias=True)) == "float32"


def test_lists_may_be_given() -> None:
    amp.init(target_precision_ops=["exp"], fp32_ops=["FullyConnected"])
    w = nd.array(X)
    assert kind(nd.exp(w)) == "float16"
    assert kind(nd.FullyConnected(w, w, num_hidden=3, no_bias=True)) == "float32"


def test_symbols_are_written_down_with_their_conversions() -> None:
    amp.init()
    x = mx.sym.var("data")
    out = mx.sym.softmax(mx.sym.FullyConnected(x, num_hidden=3, name="fc"))
    names = [node.op.name for node in out.graph if node.op is not None]
    assert names.count("amp_cast") == 4
    executor = out.simple_bind(mx.cpu(), data=(3, 4))
    assert kind(executor.forward()[0]) == "float32"
    inner = out.get_internals()["fc_output"].simple_bind(mx.cpu(), data=(3, 4))
    assert kind(inner.forward()[0]) == "float16"


@pytest.mark.parametrize("static", [None, False, True])
def test_a_block_computes_the_same_as_calls_and_as_a_graph(static: bool | None) -> None:
    amp.init()
    mx.random.seed(3)
    net = gluon.nn.HybridSequential()
    net.add(
        gluon.nn.Conv2D(4, 3, activation="relu"),
        gluon.nn.BatchNorm(),
        gluon.nn.Dense(5),
    )
    net.initialize(mx.init.Xavier())
    x = nd.random.uniform(shape=(2, 1, 6, 6))
    expected = net(x)
    assert kind(expected) == "float16"
    if static is not None:
        net.hybridize(static_alloc=static, static_shape=static)
        np.testing.assert_array_equal(net(x).asnumpy(), expected.asnumpy())
        assert kind(net(x)) == "float16"
    assert {kind(p.data()) for p in net.collect_params().values()} == {"float32"}


# Training


def trained(target: str | None, scaled: bool, small: float = 1.0) -> tuple[float, Any]:
    """The last loss of a small network, and its trainer; `small` scales the loss."""
    amp.shutdown()
    if target is not None:
        amp.init(target)
    mx.random.seed(11)
    net = gluon.nn.HybridSequential()
    net.add(gluon.nn.Dense(16, activation="tanh"), gluon.nn.Dense(1))
    net.initialize(mx.init.Xavier())
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1 / small})
    if scaled:
        amp.init_trainer(trainer)
    x = nd.array(np.random.default_rng(0).standard_normal((32, 8)))
    y = (x * nd.arange(8)).sum(axis=1, keepdims=True).tanh()
    for _ in range(60):
        with autograd.record():
            loss = ((net(x).astype("float32") - y) ** 2).mean() * small
            if scaled:
                with amp.scale_loss(loss, trainer) as big:
                    autograd.backward(big)
        if not scaled:
            loss.backward()
        trainer.step(1)
    return float(loss.asscalar()) / small, trainer


def test_scaled_losses_save_small_gradients() -> None:
    reference, _ = trained(None, scaled=False, small=2.0**-20)
    lost, _ = trained("float16", scaled=False, small=2.0**-20)
    saved, trainer = trained("float16", scaled=True, small=2.0**-20)
    wide, _ = trained("bfloat16", scaled=False, small=2.0**-20)
    assert saved == pytest.approx(reference, rel=0.01)
    assert wide == pytest.approx(reference, rel=0.05)
    assert lost > 1.5 * reference
    assert trainer._amp_loss_scaler.loss_scale >= 1


def test_a_step_that_overflows_changes_nothing() -> None:
    amp.init()
    net = gluon.nn.Dense(1, in_units=2)
    net.initialize()
    trainer = gluon.Trainer(net.collect_params(), "adam")
    amp.init_trainer(trainer)
    before = net.weight.data().asnumpy()
    x = nd.array([[1e3, 1e3]])
    with autograd.record():
        loss = net(x) * 1e3
        with amp.scale_loss(loss, trainer) as scaled:
            autograd.backward(scaled)
    trainer.step(1)
    np.testing.assert_array_equal(net.weight.data().asnumpy(), before)
    assert trainer._amp_loss_scaler.skipped == 1
    for _ in range(20):
        with autograd.record():
            loss = net(x) * 1e-3
            with amp.scale_loss([loss], trainer) as scaled:
                assert isinstance(scaled, list)
                autograd.backward(scaled)
        trainer.step(1)
    assert np.abs(net.weight.data().asnumpy() - before).max() > 0


def test_gradients_are_clipped_after_they_are_unscaled() -> None:
    amp.init()
    net = gluon.nn.Dense(1, in_units=2, use_bias=False)
    net.initialize(mx.init.One())
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 1.0})
    amp.init_trainer(trainer)
    with autograd.record():
        loss = net(nd.array([[3.0, 4.0]])).astype("float32") * 0.01
        with amp.scale_loss(loss, trainer) as scaled:
            autograd.backward(scaled)
    gradient = net.weight.list_grad()[0]
    assert gluon.utils.clip_global_norm([gradient.copy()], 1) > 1000
    amp.unscale(trainer)
    np.testing.assert_allclose(gradient.asnumpy(), [[0.03, 0.04]], rtol=1e-2)
    trainer.step(1)
    np.testing.assert_allclose(net.weight.data().asnumpy(), [[0.97, 0.96]], rtol=1e-3)


# Bad input


def test_what_comes_too_early_or_is_the_wrong_thing_is_refused() -> None:
    net = gluon.nn.Dense(1, in_units=2)
    net.initialize()
    trainer = gluon.Trainer(net.collect_params(), "sgd")
    with pytest.raises(ArgumentError, match="call mx.amp.init"):
        amp.init_trainer(trainer)
    with (
        pytest.raises(ArgumentError, match="has no loss scaler"),
        amp.scale_loss(nd.ones((1,)), trainer),
    ):
        pass
    with pytest.raises(ArgumentError, match="has no loss scaler"):
        amp.unscale(trainer)
    with pytest.raises(ArgumentError, match="float16 and bfloat16"):
        amp.init("float32")
    with pytest.raises(ArgumentError, match="no operator called 'Convolve'"):
        amp.init(target_precision_ops=["Convolve"])
    with pytest.raises(ArgumentError, match="in float16 and in float32"):
        amp.init(target_precision_ops=["exp"], fp32_ops=["exp"])
    assert not amp.is_active()
    amp.init()
    amp.init()
    with pytest.raises(ArgumentError, match="with float16 is on"):
        amp.init("bfloat16")
    with pytest.raises(ArgumentError, match=r"no gluon\.Trainer"):
        amp.init_trainer(mx.optimizer.SGD())  # type: ignore[arg-type]
    stored = gluon.Trainer(net.collect_params(), "sgd", update_on_kvstore=True)
    with pytest.raises(ArgumentError, match="cannot skip a step"):
        amp.init_trainer(stored)
    amp.init_trainer(trainer)
    with pytest.warns(UserWarning, match="it keeps it"):
        amp.init_trainer(trainer)

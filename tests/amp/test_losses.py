"""Losses that ignore the gradient that arrives: the scale reaches them all the same."""

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
DRAW = np.random.default_rng(3)
X = DRAW.standard_normal((6, 4)).astype("float32")
CLASSES = np.array([0, 2, 1, 1, 0, 2], dtype="float32")
Y = DRAW.standard_normal((6, 3)).astype("float32")


@pytest.fixture(autouse=True)
def off_afterwards() -> Iterator[None]:
    amp.shutdown()
    yield
    amp.shutdown()


#: name -> the loss of scores, for calls and for symbols
LOSSES: dict[str, Any] = {
    "SoftmaxOutput": lambda f, x: f.SoftmaxOutput(x, f.labels(CLASSES)),
    "SVMOutput": lambda f, x: f.SVMOutput(x, f.labels(CLASSES)),
    "LinearRegressionOutput": lambda f, x: f.LinearRegressionOutput(x, f.labels(Y)),
    "LogisticRegressionOutput": lambda f, x: f.LogisticRegressionOutput(
        x, f.labels(abs(Y))
    ),
    "MAERegressionOutput": lambda f, x: f.MAERegressionOutput(x, f.labels(Y)),
    "MakeLoss": lambda f, x: f.MakeLoss(f.square(x)),
    "make_loss": lambda f, x: f.make_loss(f.square(x)),
}


class Net(gluon.HybridBlock):
    """A layer and a loss output."""

    def __init__(self, loss: str) -> None:
        super().__init__()
        self.loss = LOSSES[loss]
        with self.name_scope():
            self.layer = gluon.nn.Dense(3, in_units=4)

    def hybrid_forward(self, F: Any, x: Any, y: Any) -> Any:  # noqa: N803
        class Functions:
            def __getattr__(self, name: str) -> Any:
                return getattr(F, name)

            def labels(self, _: Any) -> Any:
                return y

        scores = F.broadcast_add(self.layer(x), 0 * F.sum(y))
        return self.loss(Functions(), scores)


def gradient(loss: str, hybridized: bool, scaled: bool) -> tuple[Any, Any]:
    """The gradient of the weight after a backward pass, and the trainer."""
    mx.random.seed(1)
    net = Net(loss)
    net.initialize(mx.init.Xavier())
    if hybridized:
        net.hybridize(static_alloc=True, static_shape=True)
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.01})
    y = {"SoftmaxOutput": CLASSES, "SVMOutput": CLASSES}.get(loss, Y)
    if scaled:
        amp.init_trainer(trainer)
        trainer._amp_loss_scaler._loss_scale = 64.0
        trainer._amp_loss_scaler._next_loss_scale = 64.0
    with autograd.record():
        out = net(nd.array(X), nd.array(y))
        if scaled:
            with amp.scale_loss(out, trainer) as big:
                autograd.backward(big)
    if not scaled:
        out.backward()
    return net.layer.weight.grad().asnumpy(), (trainer, net)


@pytest.mark.parametrize("hybridized", [False, True])
@pytest.mark.parametrize("loss", list(LOSSES))
def test_the_gradient_of_a_loss_output_is_scaled(loss: str, hybridized: bool) -> None:
    expected, (trainer, net) = gradient(loss, hybridized, scaled=False)
    trainer.step(1)
    weight = net.layer.weight.data().asnumpy()
    amp.init()
    big, (trainer, net) = gradient(loss, hybridized, scaled=True)
    assert np.abs(expected).max() > 0.1
    np.testing.assert_allclose(big / 64, expected, atol=4e-3 * np.abs(expected).max())
    trainer.step(1)
    np.testing.assert_allclose(net.layer.weight.data().asnumpy(), weight, atol=5e-3)
    with autograd.record():
        out = net(nd.array(X), nd.array(CLASSES if loss[0] == "S" else Y))
    out.backward()
    after = np.abs(net.layer.weight.grad().asnumpy()).max()
    assert after < 4 * np.abs(expected).max(), "after the step nothing is scaled"


def module(small: float, kvstore: Any = None) -> Any:
    data = mx.sym.var("data")
    hidden = mx.sym.FullyConnected(data, num_hidden=3, name="fc")
    symbol = mx.sym.SoftmaxOutput(hidden, name="softmax", grad_scale=small)
    made = mx.mod.Module(symbol)
    made.bind([("data", X.shape)], [("softmax_label", CLASSES.shape)])
    mx.random.seed(2)
    made.init_params(mx.init.Xavier())
    made.init_optimizer(kvstore, "sgd", {"learning_rate": 0.5 / small})
    return made


def trained(made: Any, steps: int = 20) -> Any:
    batch = mx.io.DataBatch([nd.array(X)], [nd.array(CLASSES)])
    for _ in range(steps):
        made.forward_backward(batch)
        made.update()
    return made.get_params()[0]["fc_weight"].asnumpy()


def test_a_module_learns_from_gradients_that_float16_would_lose() -> None:
    small = 2.0**-26
    expected = trained(module(small))
    amp.init()
    start = module(small).get_params()[0]["fc_weight"].asnumpy()
    lost = trained(module(small))
    assert np.abs(lost - start).max() == 0, "every gradient was rounded to zero"
    made = module(small)
    amp.init_trainer(made)
    np.testing.assert_allclose(trained(made), expected, atol=2e-2)


def test_a_module_skips_what_overflows() -> None:
    amp.init()
    made = module(2.0**3)
    start = made.get_params()[0]["fc_weight"].asnumpy()
    amp.init_trainer(made)
    np.testing.assert_array_equal(trained(made, steps=2), start)
    scaler = made._trained.scaler
    assert scaler.skipped == 2 and scaler.next_loss_scale == 16384
    assert np.abs(trained(made, steps=6) - start).max() > 0
    assert made._trained.optimizer.rescale_grad == 1 / len(X)


def test_modules_that_cannot_be_scaled_are_refused() -> None:
    plain = module(1.0)
    amp.init()
    with pytest.raises(ArgumentError, match=r"after mx\.amp\.init"):
        amp.init_trainer(plain)
    with pytest.raises(ArgumentError, match="init_optimizer first"):
        amp.init_trainer(mx.mod.Module(plain.symbol))


def test_files_hold_nothing_of_it() -> None:
    amp.init()
    symbol = mx.sym.SoftmaxOutput(mx.sym.var("x"))
    assert "_amp_scaled_loss" in symbol.tojson(remove_amp_cast=False)
    assert "amp" not in symbol.tojson()

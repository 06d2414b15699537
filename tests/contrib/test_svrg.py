"""Gradients without the noise of their batch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minimx as mx
from minimx.contrib.svrg_optimization.svrg_module import SVRGModule
from minimx.core.errors import ArgumentError
from minimx.io import NDArrayIter
from minimx.module import Module

RNG = np.random.RandomState(0)
X = RNG.randn(60, 3).astype("float32")
W = np.array([[1.0, -2.0, 0.5]], "float32")
Y = X @ W.T + RNG.randn(60, 1).astype("float32")  # no weights fit all examples
BEST = np.linalg.lstsq(X, Y, rcond=None)[0].T


def line() -> Any:
    net = mx.sym.FullyConnected(
        mx.sym.var("data"), num_hidden=1, no_bias=True, name="w"
    )
    return mx.sym.LinearRegressionOutput(net, mx.sym.var("y"), name="lin")


def trained(kind: Any, epochs: int = 12, **kwargs: Any) -> Any:
    mod = kind(line(), ["data"], ["y"], **kwargs)
    mod.fit(
        NDArrayIter(X, Y, 4, label_name="y"), eval_metric="mse", num_epoch=epochs,
        initializer=mx.init.Zero(), optimizer_params={"learning_rate": 0.1},
    )  # fmt: skip
    return mod


def distance(mod: Any) -> float:
    return float(abs(mod.get_params()[0]["w_weight"].asnumpy() - BEST).max())


@pytest.mark.parametrize("context", [mx.cpu(), [mx.cpu(0), mx.cpu(1)]])
def test_it_comes_to_rest_where_plain_steps_keep_jumping(context: Any) -> None:
    plain = distance(trained(Module, context=context))
    calm = distance(trained(SVRGModule, context=context, update_freq=2))
    assert calm < 1e-3 < plain / 5


def test_at_the_copy_every_batch_has_the_gradient_of_all_data() -> None:
    mod = SVRGModule(line(), ["data"], ["y"], update_freq=1)
    data = NDArrayIter(X, Y, 4, label_name="y")
    mod.bind(data.provide_data, data.provide_label)
    mod.init_params(mx.init.Zero())
    mod.init_optimizer(optimizer_params={"learning_rate": 0.0})
    mod.update_full_grads(data)
    data.reset()
    wanted = (X @ np.zeros((3, 1)) - Y).T @ X / 60 * 4
    for batch in data:
        mod.forward_backward(batch)
        mod.update()
        found = mod._group.grad_arrays[0][0]
        assert found is not None
        np.testing.assert_allclose(found.asnumpy(), wanted, rtol=1e-4)
    mod.reshape([("data", (2, 3))], [("y", (2, 1))])
    assert mod._mod_aux.data_shapes[0].shape == (2, 3)


def test_how_often_is_a_number() -> None:
    with pytest.raises(ArgumentError, match="update_freq=0"):
        SVRGModule(line(), ["data"], ["y"], update_freq=0)
    with pytest.raises(TypeError, match="number of epochs"):
        SVRGModule(line(), ["data"], ["y"], update_freq=0.5)  # type: ignore[arg-type]
